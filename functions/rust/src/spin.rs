//! Threads that spin and note when they did not run. Rust has no runtime beside them, so no processes are needed.

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::host::{cpus_allowed, pin};
use crate::request::Request;
use nix::sched::sched_getcpu;
use serde_json::{Value, json};
use std::thread;

/// A jump of the clock beyond this is a gap: interrupts are shorter.
const GAP_NS: i64 = 200_000;
/// How often the kernel is made to charge the running time: it does so when the CPU time is read.
const CHARGE_NS: i64 = 100_000;
/// Intervals of all spinners; with more of them spinning ends early.
const MOST_INTERVALS: usize = 20_000;
/// For all to have started.
const START_NS: i64 = 5_000_000;

/// `cpu` and `throttling.spun` of the document.
pub fn spin(request: &Request) -> (Value, Value) {
    let spinners = request.whole("spinners");
    let allowed = cpus_allowed();
    let place = |number: usize| match spinners {
        _ if !request.pin() => None,
        1 => sched_getcpu().ok(),
        _ => (spinners == allowed.len()).then(|| allowed[number]),
    };
    let places: Vec<Option<usize>> = (0..spinners).map(place).collect();
    let begin = monotonic_ns() + START_NS;
    let end = begin + (request.number("spin_ms") * 1e6) as i64;
    let started: Vec<_> =
        places.into_iter().map(|cpu| thread::spawn(move || spin_one(begin, end, MOST_INTERVALS / spinners, cpu))).collect();
    let seen: Vec<Vec<[i64; 3]>> = started.into_iter().filter_map(|one| one.join().ok()).collect();
    let spun_ns: i64 = seen.iter().flatten().map(|interval| interval[2]).sum();
    let span_ns = seen.iter().filter_map(|one| one.last()).map(|last| last[1]).max().unwrap_or(0);
    let from = format!("gaps of {spinners} spinning threads over {:.2} s", span_ns as f64 / 1e9);
    (
        json!({ "received": spun_ns as f64 / span_ns as f64, "spun_ns": spun_ns, "spinners": spinners }),
        json!({ "span_ns": span_ns, "from": from, "others_cpus": 0, "intervals": seen }),
    )
}

/// Intervals without a gap: start, end, and the CPU time that was charged for each.
fn spin_one(begin: i64, end: i64, most: usize, cpu: Option<usize>) -> Vec<[i64; 3]> {
    if let Some(cpu) = cpu {
        // Where it cannot be pinned it runs anywhere, which is seen by its gaps.
        let _ = pin(&[cpu]);
    }
    while monotonic_ns() < begin {}
    let mut intervals = Vec::with_capacity(4096);
    let mut charged_cpu = thread_cpu_ns();
    let mut last = monotonic_ns();
    let (mut start, mut charged) = (last, last);
    let mut close = |start: i64, last: i64| {
        let now_cpu = thread_cpu_ns();
        intervals.push([start - begin, last - begin, now_cpu - charged_cpu]);
        charged_cpu = now_cpu;
        intervals.len()
    };
    while last < end {
        let now = monotonic_ns();
        if now - last > GAP_NS {
            if close(start, last) >= most {
                return intervals;
            }
            start = now;
        }
        last = now;
        if now - charged > CHARGE_NS {
            thread_cpu_ns();
            charged = now;
        }
    }
    close(start, last);
    intervals
}
