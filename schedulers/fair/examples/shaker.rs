//! Changes the affinities of others, one every millisecond, and says how often it did: `shaker SECONDS PID...`. Where it could not run in
//! time it catches up.

#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let tasks: Vec<libc::pid_t> = arguments.filter_map(|text| text.parse().ok()).collect();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (start, span, mut tried, mut changes) = (Instant::now(), Duration::from_secs_f64(seconds), 0, 0_u64);
    while start.elapsed() < span && !tasks.is_empty() {
        while (tried as u128) < start.elapsed().as_millis() {
            // Each task goes from CPU to CPU, and now and then may use them all.
            let (task, turn) = (tasks[tried % tasks.len()], tried / tasks.len() % (cpus + 1));
            let allowed = if turn < cpus { turn..turn + 1 } else { 0..cpus };
            changes += u64::from(allow(task, allowed));
            tried += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("{changes}");
}

/// Whether a task may now use these CPUs and no others; not one that has ended.
fn allow(task: libc::pid_t, cpus: std::ops::Range<usize>) -> bool {
    // SAFETY: a set of CPUs is an array of numbers, for which 0 is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus {
        // SAFETY: the number is checked against the set's size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set lives until the call returns.
    unsafe { libc::sched_setaffinity(task, size_of_val(&set), &raw const set) == 0 }
}
