//! A program that computes for some seconds, counts what it got done, and says so at the end: `worker SECONDS [DIRECTORY]`. With a directory it
//! tells `scx_fair --progress DIRECTORY` where it counts. With `WORKER_CPUS` in its environment it also says for how many ms it ran on each CPU,
//! before what it got done: `worker 0:1500 3:499 81234`.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static DONE: AtomicU64 = AtomicU64::new(0);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    if let Some(directory) = arguments.next() {
        let file = format!("{directory}/{}", std::process::id());
        std::fs::write(&file, format!("{:#x}\n", DONE.as_ptr().addr()))
            .expect("the directory can be written to");
    }
    let (start, span) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut number, mut seen) = (1_u64, Duration::ZERO);
    let mut by_cpu: BTreeMap<libc::c_int, Duration> = BTreeMap::new();
    let says_cpus = std::env::var_os("WORKER_CPUS").is_some();
    loop {
        let now = start.elapsed();
        if says_cpus {
            // SAFETY: the call takes nothing and returns a number.
            *by_cpu.entry(unsafe { libc::sched_getcpu() }).or_default() += now.saturating_sub(seen);
            seen = now;
        }
        if now >= span {
            break;
        }
        for _ in 0..200 {
            // Some work that no compiler leaves out.
            number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        DONE.fetch_add(1, Ordering::Relaxed);
    }
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    print!("{} ", name.trim());
    for (cpu, time) in by_cpu {
        print!("{cpu}:{} ", time.as_millis());
    }
    println!("{}", DONE.load(Ordering::Relaxed));
}
