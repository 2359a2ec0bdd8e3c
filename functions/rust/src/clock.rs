//! Clocks of the kernel.

use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// That of the wall, which never goes back.
pub const WALL: ClockId = ClockId::CLOCK_MONOTONIC;
/// CPU time of the calling thread.
pub const CPU: ClockId = ClockId::CLOCK_THREAD_CPUTIME_ID;

/// What a clock shows, in ns.
pub fn ns(clock: ClockId) -> i64 {
    clock_gettime(clock).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// How fine its steps are, and what reading it takes.
pub fn describe() -> Value {
    const TIMES: usize = 2000;
    let times: Vec<i64> = (0..TIMES).map(|_| ns(WALL)).collect();
    let finest = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0).min();
    let cost = (times[TIMES - 1] - times[0]) as f64 / TIMES as f64;
    json!({ "resolution_ns": finest.unwrap_or(0), "cost_ns": cost, "source": "CLOCK_MONOTONIC" })
}
