//! How much faster an application is on fast cores, from samples (Kim and Huh, IEEE TC 67(8), 2018, section 5).

/// Samples whose mean is the first estimate.
const FIRST_SAMPLES: u32 = 5;
/// What a new sample counts for after that.
const NEW_SHARE: f64 = 0.3;
/// Samples from shorter times on a kind of core are dropped, ns.
const LEAST_SAMPLE_NS: u64 = 1_200_000;
/// Speedups outside of this range are dropped while there are few samples, and after that brought into it: an application that gains nothing
/// from a fast core is to be known as such.
const SPEEDUPS: std::ops::RangeInclusive<f64> = 1.0..=4.0;

#[derive(Clone, Copy, Debug, Default)]
struct Speed {
    work_per_ns: f64,
    samples: u32,
}

impl Speed {
    fn add(&mut self, work: u64, ns: u64) {
        if ns < LEAST_SAMPLE_NS || work == 0 {
            return;
        }
        let sample = work as f64 / ns as f64;
        self.samples += 1;
        let weight = if self.samples <= FIRST_SAMPLES { 1.0 / f64::from(self.samples) } else { NEW_SHARE };
        self.work_per_ns += weight * (sample - self.work_per_ns);
    }
}

/// What is known of an application's speeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate {
    fast: Speed,
    slow: Speed,
    speedup: Option<f64>,
}

impl Estimate {
    /// Adds what was done in an interval on each kind of core. Too short a time, or no work, says nothing.
    pub fn add(&mut self, fast: (u64, u64), slow: (u64, u64)) {
        self.fast.add(fast.0, fast.1);
        self.slow.add(slow.0, slow.1);
        if self.fast.samples > 0 && self.slow.samples > 0 {
            let speedup = self.fast.work_per_ns / self.slow.work_per_ns;
            let is_settled = self.fast.samples.min(self.slow.samples) >= FIRST_SAMPLES;
            if is_settled || SPEEDUPS.contains(&speedup) {
                self.speedup = Some(speedup.clamp(*SPEEDUPS.start(), *SPEEDUPS.end()));
            }
        }
    }

    /// Its speedup on a fast core, once it has been seen on both; the last one that can be.
    pub fn speedup(&self) -> Option<f64> {
        self.speedup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_first_five_are_averaged_and_later_ones_weigh_three_tenths() {
        let mut estimate = Estimate::default();
        estimate.add((0, 0), (100 * MS, 100 * MS));
        assert_eq!(estimate.speedup(), None);
        for sample in [1, 2, 3, 2, 2] {
            estimate.add((sample * 100 * MS, 100 * MS), (0, 0));
        }
        assert!((estimate.speedup().unwrap() - 2.0).abs() < 1e-12);
        estimate.add((300 * MS, 100 * MS), (0, 0));
        assert!((estimate.speedup().unwrap() - 2.3).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_is_dropped() {
        let mut estimate = Estimate::default();
        estimate.add((2 * MS, MS), (100 * MS, 100 * MS));
        assert_eq!(estimate.speedup(), None, "1 ms is too short");
        estimate.add((200 * MS, 100 * MS), (0, 0));
        (0..50).for_each(|_| estimate.add((900 * MS, 100 * MS), (0, 0)));
        assert!(estimate.speedup().unwrap() <= 4.0);
    }

    #[test]
    fn who_gains_nothing_is_known_after_five_samples() {
        let mut estimate = Estimate::default();
        (0..4).for_each(|_| estimate.add((90 * MS, 100 * MS), (100 * MS, 100 * MS)));
        assert_eq!(estimate.speedup(), None);
        estimate.add((90 * MS, 100 * MS), (100 * MS, 100 * MS));
        assert_eq!(estimate.speedup(), Some(1.0));
    }
}
