//! How much faster an application is on faster cores, from samples (Kim and Huh, IEEE TC 67(8), 2018, section 5).

use crate::kinds::ByKind;

/// Samples whose mean is the first estimate.
const FIRST_SAMPLES: u32 = 5;
/// What a new sample counts for after that.
const NEW_SHARE: f64 = 0.3;
/// Samples from shorter times on a kind of core are dropped, ns.
const LEAST_SAMPLE_NS: u64 = 1_200_000;
/// Speedups outside of this range are dropped while there are few samples, and after that brought into it. An application that gains
/// nothing from a fast core is to be known as such.
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
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    kinds: usize,
    speeds: ByKind<Speed>,
    speedups: Option<ByKind<f64>>,
}

impl Estimate {
    /// Nothing, on a machine with this many kinds of cores.
    pub fn of(kinds: usize) -> Self {
        Self { kinds, speeds: ByKind::default(), speedups: None }
    }

    /// Adds what was done in an interval on each kind of core. Too short a time, or no work, says nothing.
    pub fn add(&mut self, work: &ByKind<u64>, ran_ns: &ByKind<u64>) {
        for (kind, speed) in self.speeds.iter_mut().enumerate() {
            speed.add(work[kind], ran_ns[kind]);
        }
        let speeds = &self.speeds[..self.kinds];
        let samples = speeds.iter().map(|speed| speed.samples).min().unwrap_or(0);
        let Some(slowest) = speeds.last().filter(|_| samples > 0) else { return };
        let mut speedups = ByKind::default();
        for (speedup, speed) in speedups.iter_mut().zip(speeds) {
            *speedup = speed.work_per_ns / slowest.work_per_ns;
        }
        let can_be = speedups[..self.kinds].iter().all(|speedup| SPEEDUPS.contains(speedup));
        if samples >= FIRST_SAMPLES || can_be {
            speedups[..self.kinds]
                .iter_mut()
                .for_each(|speedup| *speedup = speedup.clamp(*SPEEDUPS.start(), *SPEEDUPS.end()));
            self.speedups = Some(speedups);
        }
    }

    /// Its speedup on each kind of core over the slowest, once it has been seen on all; the last ones that can be.
    pub fn speedups(&self) -> Option<ByKind<f64>> {
        self.speedups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Work and time on each of two kinds.
    fn add(estimate: &mut Estimate, fast: (u64, u64), slow: (u64, u64)) {
        estimate.add(&[fast.0, slow.0, 0, 0], &[fast.1, slow.1, 0, 0]);
    }

    fn speedup(estimate: &Estimate) -> Option<f64> {
        estimate.speedups().map(|speedups| speedups[0])
    }

    #[test]
    fn the_first_five_are_averaged_and_later_ones_weigh_three_tenths() {
        let mut estimate = Estimate::of(2);
        add(&mut estimate, (0, 0), (100 * MS, 100 * MS));
        assert_eq!(speedup(&estimate), None);
        for sample in [1, 2, 3, 2, 2] {
            add(&mut estimate, (sample * 100 * MS, 100 * MS), (0, 0));
        }
        assert!((speedup(&estimate).unwrap() - 2.0).abs() < 1e-12);
        add(&mut estimate, (300 * MS, 100 * MS), (0, 0));
        assert!((speedup(&estimate).unwrap() - 2.3).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_is_dropped() {
        let mut estimate = Estimate::of(2);
        add(&mut estimate, (2 * MS, MS), (100 * MS, 100 * MS));
        assert_eq!(speedup(&estimate), None, "1 ms is too short");
        add(&mut estimate, (200 * MS, 100 * MS), (0, 0));
        (0..50).for_each(|_| add(&mut estimate, (900 * MS, 100 * MS), (0, 0)));
        assert!(speedup(&estimate).unwrap() <= 4.0);
    }

    #[test]
    fn who_gains_nothing_is_known_after_five_samples() {
        let mut estimate = Estimate::of(2);
        (0..4).for_each(|_| add(&mut estimate, (90 * MS, 100 * MS), (100 * MS, 100 * MS)));
        assert_eq!(speedup(&estimate), None);
        add(&mut estimate, (90 * MS, 100 * MS), (100 * MS, 100 * MS));
        assert_eq!(speedup(&estimate), Some(1.0));
    }

    #[test]
    fn three_kinds_are_compared_with_the_slowest_once_all_were_seen() {
        let mut estimate = Estimate::of(3);
        estimate.add(&[300 * MS, 0, 100 * MS, 0], &[100 * MS, 0, 100 * MS, 0]);
        assert_eq!(estimate.speedups(), None);
        estimate.add(&[0, 200 * MS, 0, 0], &[0, 100 * MS, 0, 0]);
        let found = estimate.speedups().unwrap();
        assert!(
            found.iter().zip([3.0, 2.0, 1.0, 0.0]).all(|(found, real)| (found - real).abs() < 1e-12),
            "{found:?}"
        );
    }
}
