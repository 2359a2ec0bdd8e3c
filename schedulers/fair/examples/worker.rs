//! A program that computes for some seconds, counts what it got done, and says so at the end: `worker SECONDS [FOLDER [time]]`. With a folder
//! it tells `scx_fair --progress FOLDER` where it counts. With `time` it counts the time in which it was not held up, us: emulated CPUs are
//! not equally fast, but their clock is one, and a slow one is then slow by exactly what `--throttle-slow` says.

#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is longer is no turn of another emulated CPU nor an interrupt: then it waited or was held up, which lasts 6 ms at least.
const LONGEST_STEP: Duration = Duration::from_millis(3);

static DONE: AtomicU64 = AtomicU64::new(0);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    if let Some(folder) = arguments.next() {
        let file = format!("{folder}/{}", std::process::id());
        std::fs::write(&file, format!("{:#x}\n", DONE.as_ptr().addr()))
            .expect("the folder can be written to");
    }
    let by_time = arguments.next().is_some_and(|word| word == "time");
    let (start, span) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut number, mut before, mut unheld) = (1_u64, Duration::ZERO, Duration::ZERO);
    while before < span {
        for _ in 0..200 {
            // Some work that no compiler leaves out.
            number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        let now = start.elapsed();
        let step = now.saturating_sub(before);
        before = now;
        if !by_time {
            DONE.fetch_add(1, Ordering::Relaxed);
        } else if step <= LONGEST_STEP {
            unheld += step;
            DONE.store(unheld.as_micros() as u64, Ordering::Relaxed);
        }
    }
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    println!("{} {}", name.trim(), DONE.load(Ordering::Relaxed));
}
