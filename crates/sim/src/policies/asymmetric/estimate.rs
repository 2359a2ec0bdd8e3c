//! How fast applications are on each kind of core, from samples (Kim and Huh, IEEE TC 67(8), 2018, section 5).

use super::kinds::{ByKind, MOST_KINDS};

/// Samples whose mean is the first estimate.
const FIRST_SAMPLES: u32 = 5;
/// What a new sample counts for after that.
const NEW_SHARE: f64 = 0.3;
/// Samples from shorter times on a core are dropped, ns.
pub(super) const LEAST_SAMPLE_NS: u64 = 1_200_000;
/// Speedups outside of this range are dropped.
const SPEEDUPS: std::ops::RangeInclusive<f64> = 1.0..=4.0;

/// An estimate of work per ns.
#[derive(Clone, Copy, Debug, Default)]
struct Speed {
    value: f64,
    samples: u32,
}

impl Speed {
    fn add(&mut self, sample: f64) {
        self.samples += 1;
        if self.samples <= FIRST_SAMPLES {
            self.value += (sample - self.value) / f64::from(self.samples);
        } else {
            self.value += NEW_SHARE * (sample - self.value);
        }
    }
}

/// What is known of an application's speeds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpeedupEstimate {
    speeds: ByKind<Speed>,
    /// The last speedups in range.
    speedups: Option<ByKind<f64>>,
}

impl SpeedupEstimate {
    /// Adds a sample of its work per ns on one of this many kinds of core.
    pub(super) fn add(&mut self, kinds: usize, kind: usize, work_per_ns: f64) {
        self.speeds[kind].add(work_per_ns);
        let speeds = &self.speeds[..kinds];
        // On one kind alone there is nothing to compare.
        if kinds < 2 || speeds.iter().any(|speed| speed.samples == 0) {
            return;
        }
        let mut speedups = [1.0; MOST_KINDS];
        for (speedup, speed) in speedups.iter_mut().zip(speeds) {
            *speedup = speed.value / speeds[kinds - 1].value;
        }
        if speedups.iter().all(|speedup| SPEEDUPS.contains(speedup)) {
            self.speedups = Some(speedups);
        }
    }

    /// Its speedup on each kind of core over the slowest, once it has been seen on all.
    pub(super) fn speedups(&self) -> Option<ByKind<f64>> {
        self.speedups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speedup(estimate: &SpeedupEstimate) -> Option<f64> {
        estimate.speedups().map(|speedups| speedups[0])
    }

    #[test]
    fn the_first_five_are_averaged_and_later_ones_weigh_three_tenths() {
        let mut estimate = SpeedupEstimate::default();
        estimate.add(2, 1, 1.0);
        assert_eq!(speedup(&estimate), None);
        for sample in [1.0, 2.0, 3.0, 2.0, 2.0] {
            estimate.add(2, 0, sample);
        }
        assert!((speedup(&estimate).unwrap() - 2.0).abs() < 1e-12);
        estimate.add(2, 0, 3.0);
        assert!((speedup(&estimate).unwrap() - 2.3).abs() < 1e-12);
        // Too large to be true: the one before stays.
        (0..50).for_each(|_| estimate.add(2, 0, 9.0));
        assert!(speedup(&estimate).unwrap() <= 4.0);
    }

    #[test]
    fn three_kinds_are_compared_with_the_slowest_once_all_were_seen() {
        let mut estimate = SpeedupEstimate::default();
        estimate.add(3, 0, 3.0);
        estimate.add(3, 2, 1.0);
        assert_eq!(estimate.speedups(), None);
        estimate.add(3, 1, 2.0);
        assert_eq!(estimate.speedups().unwrap()[..3], [3.0, 2.0, 1.0]);
    }
}
