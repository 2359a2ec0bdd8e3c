//! A program that computes for some seconds, counts what it got done, and says so at the end: `worker SECONDS [DIRECTORY]`. With a directory it
//! tells `scx_fair --progress DIRECTORY` where it counts.

#![allow(clippy::print_stdout)]

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
    let mut number = 1_u64;
    while start.elapsed() < span {
        for _ in 0..200 {
            // Some work that no compiler leaves out.
            number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        DONE.fetch_add(1, Ordering::Relaxed);
    }
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    println!("{} {}", name.trim(), DONE.load(Ordering::Relaxed));
}
