use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// How long the counter is compared with the kernel's clock, ms: long enough for a few parts in a million.
const CALIBRATION_MS: u64 = 40;

/// The counter's rate, from two brackets `CALIBRATION_MS` apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    /// Ticks a second.
    pub frequency_hz: f64,
    /// Half the width of the two brackets over the time between them, parts per million.
    pub uncertainty_ppm: f64,
}

/// A counter reading between two readings of CLOCK_MONOTONIC_RAW.
#[derive(Clone, Copy)]
struct Bracket {
    ticks: u64,
    middle_ns: f64,
    width_ns: f64,
}

impl Calibration {
    /// Compares `counter` with CLOCK_MONOTONIC_RAW, which no time daemon bends; `None` when it stands still or runs back.
    pub(crate) fn against_monotonic_raw(counter: fn() -> u64) -> Option<Self> {
        let first = tightest_bracket(counter);
        std::thread::sleep(Duration::from_millis(CALIBRATION_MS));
        let last = tightest_bracket(counter);
        let ticks = last.ticks.checked_sub(first.ticks).filter(|ticks| *ticks > 0)?;
        let span_ns = last.middle_ns - first.middle_ns;
        (span_ns > 0.0).then(|| Self {
            frequency_hz: ticks as f64 / span_ns * 1e9,
            uncertainty_ppm: f64::midpoint(first.width_ns, last.width_ns) / span_ns * 1e6,
        })
    }
}

/// An interruption between the readings widens a bracket, so the narrowest of many is nearest the truth.
fn tightest_bracket(counter: fn() -> u64) -> Bracket {
    let raw_ns = || {
        let time = clock_gettime(ClockId::MonotonicRaw);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let one = || {
        let before = raw_ns();
        let ticks = counter();
        let after = raw_ns();
        Bracket { ticks, middle_ns: f64::midpoint(before, after), width_ns: after - before }
    };
    (0..200).map(|_| one()).min_by(|a, b| a.width_ns.total_cmp(&b.width_ns)).unwrap_or_else(one)
}
