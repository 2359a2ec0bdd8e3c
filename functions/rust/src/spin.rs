//! Threads that spin and note when they did not run. Rust has no runtime beside them, so no processes are needed.

use crate::clock::{CPU, WALL, ns};
use crate::host::{cpus_allowed, pin};
use crate::request::{Request, number};
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
    let spinners = number(request, "spinners") as usize;
    let allowed = cpus_allowed();
    let place = |number: usize| match spinners {
        _ if !(request["pin"] == true) => None,
        1 => sched_getcpu().ok(),
        _ => (spinners == allowed.len()).then(|| allowed[number]),
    };
    let places: Vec<Option<usize>> = (0..spinners).map(place).collect();
    let begin = ns(WALL) + START_NS;
    let end = begin + (number(request, "spin_ms") * 1e6) as i64;
    let most = MOST_INTERVALS / spinners;
    let started: Vec<_> = places.into_iter().map(|cpu| thread::spawn(move || spin_one(begin, end, most, cpu))).collect();
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
    // Where it cannot be pinned it runs anywhere, which is seen by its gaps.
    let _ = cpu.map(|cpu| pin(&[cpu]));
    while ns(WALL) < begin {}
    let mut intervals = Vec::with_capacity(4096);
    let mut charged_cpu = ns(CPU);
    let mut last = ns(WALL);
    let (mut start, mut charged) = (last, last);
    let mut close = |start: i64, last: i64| {
        let now_cpu = ns(CPU);
        intervals.push([start - begin, last - begin, now_cpu - charged_cpu]);
        charged_cpu = now_cpu;
        intervals.len()
    };
    while last < end {
        let now = ns(WALL);
        if now - last > GAP_NS {
            if close(start, last) >= most {
                return intervals;
            }
            start = now;
        }
        last = now;
        if now - charged > CHARGE_NS {
            ns(CPU);
            charged = now;
        }
    }
    close(start, last);
    intervals
}
