//! The clock the figures are taken with: the CPU's counter, fenced and calibrated, or `clock_gettime`.
//!
//! A [`Clock`] is a small copyable value: reading it allocates nothing and, with a counter, makes no call.

mod calibration;
#[cfg_attr(target_arch = "x86_64", path = "tsc.rs")]
#[cfg_attr(any(target_arch = "aarch64", target_arch = "riscv64"), path = "fenced.rs")]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
    path = "none.rs"
)]
mod counter;

use rustix::time::{ClockId, clock_gettime};

pub(crate) use calibration::Calibration;

/// A calibrated clock. A reading is in ticks; [`Clock::ns`] turns a difference of readings into nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    source: Source,
    ns_per_tick: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Counter,
    ClockGettime,
}

impl Clock {
    /// The best clock this machine has, calibrated for `CALIBRATION_MS`, with what is known about it.
    pub(crate) fn calibrated() -> (Self, swtch_profile::model::Clock) {
        match counter::usable() {
            Ok(()) => {
                let calibration = Calibration::against_monotonic_raw(counter::start);
                match calibration {
                    Some(found) => Self::described(Source::Counter, Some(found), None),
                    None => Self::fallback("the counter does not advance steadily".to_owned()),
                }
            }
            Err(why) => Self::fallback(why),
        }
    }

    /// The portable clock, whatever the machine has: for tests and for machines without a usable counter.
    pub(crate) fn fallback(why: String) -> (Self, swtch_profile::model::Clock) {
        Self::described(Source::ClockGettime, None, Some(why))
    }

    fn described(
        source: Source,
        calibration: Option<Calibration>,
        fallback_why: Option<String>,
    ) -> (Self, swtch_profile::model::Clock) {
        let clock = Self { source, ns_per_tick: calibration.map_or(1.0, |found| 1e9 / found.frequency_hz) };
        let (resolution_ns, overhead_ns) = clock.resolution_and_overhead_ns();
        let facts = swtch_profile::model::Clock {
            source: match source {
                Source::Counter => counter::NAME.to_owned(),
                Source::ClockGettime => "clock_gettime".to_owned(),
            },
            frequency_hz: calibration.map(|found| found.frequency_hz),
            calibration_ppm: calibration.map(|found| found.uncertainty_ppm),
            resolution_ns,
            overhead_ns,
            fallback_why,
        };
        (clock, facts)
    }

    /// A reading before the work: nothing that follows starts before it.
    #[inline(always)]
    pub(crate) fn start(self) -> u64 {
        match self.source {
            Source::Counter => counter::start(),
            Source::ClockGettime => monotonic_ns(),
        }
    }

    /// A reading after the work: everything that precedes is finished before it.
    #[inline(always)]
    pub(crate) fn stop(self) -> u64 {
        match self.source {
            Source::Counter => counter::stop(),
            Source::ClockGettime => monotonic_ns(),
        }
    }

    /// Nanoseconds in a difference of readings.
    #[inline]
    pub(crate) fn ns(self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }

    /// Smallest step between two readings, and the time of one reading (median of repeated pairs), ns.
    fn resolution_and_overhead_ns(self) -> (f64, f64) {
        const PAIRS: usize = 2000;
        let mut smallest = u64::MAX;
        let mut last = self.start();
        for _ in 0..PAIRS {
            let now = self.start();
            if now > last {
                smallest = smallest.min(now - last);
            }
            last = now;
        }
        let costs: Vec<f64> = (0..PAIRS / 20)
            .map(|_| {
                let before = self.start();
                for _ in 0..20 {
                    std::hint::black_box(self.stop());
                }
                self.ns(self.stop() - before) / 21.0
            })
            .collect();
        let resolution = if smallest == u64::MAX { 1.0 } else { self.ns(smallest) };
        (resolution, swtch_stats::median(&costs))
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One second of the clock is one second of CLOCK_MONOTONIC, to a part in a thousand. A rate read from
    /// /proc/cpuinfo would miss by per cents: that is the momentary or nominal frequency.
    #[test]
    fn agrees_with_the_kernels_clock() {
        let (clock, facts) = Clock::calibrated();
        let best = (0..5)
            .map(|_| {
                let (wall, ticks) = (monotonic_ns(), clock.start());
                std::thread::sleep(std::time::Duration::from_millis(40));
                let (ticks, wall) = (clock.stop() - ticks, monotonic_ns() - wall);
                (clock.ns(ticks) / wall as f64 - 1.0).abs()
            })
            .fold(f64::INFINITY, f64::min);
        assert!(best < 1e-3, "{} is off by {best}", facts.source);
    }

    #[test]
    fn the_portable_clock_works_everywhere() {
        let (clock, facts) = Clock::fallback("asked for".to_owned());
        assert_eq!(facts.source, "clock_gettime");
        assert!(facts.frequency_hz.is_none() && facts.fallback_why.is_some());
        let before = clock.start();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(clock.ns(clock.stop() - before) >= 2e6);
    }

    #[test]
    fn resolution_and_overhead_are_measured() {
        let (_, facts) = Clock::calibrated();
        assert!(facts.resolution_ns > 0.0 && facts.resolution_ns < 1e6);
        assert!(facts.overhead_ns > 0.0 && facts.overhead_ns < 1e6);
    }
}
