//! How fast applications are on each kind of core, from samples (Kim and Huh, IEEE TC 67(8), 2018, section 5).

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
    fast: Speed,
    slow: Speed,
    /// The last speedup in range.
    speedup: Option<f64>,
}

impl SpeedupEstimate {
    /// Adds a sample of its work per ns on a kind of core.
    pub(super) fn add(&mut self, on_fast: bool, work_per_ns: f64) {
        if on_fast {
            self.fast.add(work_per_ns);
        } else {
            self.slow.add(work_per_ns);
        }
        if self.fast.samples > 0 && self.slow.samples > 0 {
            let speedup = self.fast.value / self.slow.value;
            if SPEEDUPS.contains(&speedup) {
                self.speedup = Some(speedup);
            }
        }
    }

    /// Its speedup on a fast core, once it has been seen on both.
    pub(super) fn speedup(&self) -> Option<f64> {
        self.speedup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_five_are_averaged_and_later_ones_weigh_three_tenths() {
        let mut estimate = SpeedupEstimate::default();
        estimate.add(false, 1.0);
        assert_eq!(estimate.speedup(), None);
        for sample in [1.0, 2.0, 3.0, 2.0, 2.0] {
            estimate.add(true, sample);
        }
        assert!((estimate.speedup().unwrap() - 2.0).abs() < 1e-12);
        estimate.add(true, 3.0);
        assert!((estimate.speedup().unwrap() - 2.3).abs() < 1e-12);
        // Too large to be true: the one before stays.
        (0..50).for_each(|_| estimate.add(true, 9.0));
        assert!(estimate.speedup().unwrap() <= 4.0);
    }
}
