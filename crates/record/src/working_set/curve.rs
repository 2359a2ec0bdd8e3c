//! From windows in which a process ran for some time and touched some memory to what it touches between two switches.

/// Lengths of the windows, µs.
pub(super) const WINDOWS_US: [u64; 5] = [500, 2_000, 8_000, 32_000, 128_000];
/// Samples kept of each length; more replace the oldest.
const KEPT: usize = 40;
/// With fewer samples of the shortest windows that are long enough, longer ones are asked too.
const LEAST: usize = 5;
/// The quantile of the samples that is reported: this part of them touched no more. Pages of files count as touched also when another process
/// that maps them ended, so the largest samples say little.
const SHARE: f64 = 0.75;

/// A window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CurvePoint {
    /// For how long the process ran in it at least, all threads together, ns.
    pub(super) run_ns: u64,
    /// What it touched, bytes; whole pages.
    pub(super) touched_bytes: u64,
    /// What it had in memory, bytes.
    pub(super) resident_bytes: u64,
}

/// Samples of a process, by the length of the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    samples: [Vec<CurvePoint>; WINDOWS_US.len()],
    taken: [usize; WINDOWS_US.len()],
}

impl Curve {
    pub(super) fn add(&mut self, window: usize, sample: CurvePoint) {
        let kept = &mut self.samples[window];
        if kept.len() < KEPT {
            kept.push(sample);
        } else {
            kept[self.taken[window] % KEPT] = sample;
        }
        self.taken[window] += 1;
    }

    /// The lengths that were asked least often.
    pub(super) fn wanted(&self) -> impl Iterator<Item = usize> + '_ {
        let least = self.taken.iter().min().copied().unwrap_or(0);
        (0..WINDOWS_US.len()).filter(move |window| self.taken[*window] == least)
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.iter().sum()
    }

    /// What the process touches while it runs for so long, at most. The memory that is touched grows with time and ever more slowly. So a
    /// window in which it ran for longer holds at least as much, and the shortest such one shows it best. To share it out by time would be
    /// too little. Nothing touched is more than what is there, which bounds those that run longer than any window.
    pub(super) fn most_bytes(&self, slice_ns: u64) -> Option<u64> {
        let mut touched: Vec<u64> = Vec::new();
        for samples in &self.samples {
            let long_enough = samples.iter().filter(|one| one.run_ns >= slice_ns);
            touched.extend(long_enough.map(|one| one.touched_bytes));
            if touched.len() >= LEAST {
                break;
            }
        }
        if touched.is_empty() {
            return self.samples.iter().flatten().map(|one| one.resident_bytes).max();
        }
        touched.sort_unstable();
        let rank = (SHARE * touched.len() as f64).ceil() as usize;
        touched.get(rank.saturating_sub(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(run_ns: u64, pages: u64) -> CurvePoint {
        CurvePoint { run_ns, touched_bytes: pages * 4096, resident_bytes: 1 << 20 }
    }

    fn curve(samples: &[(usize, CurvePoint)]) -> Curve {
        let mut curve = Curve::default();
        for (window, sample) in samples {
            curve.add(*window, *sample);
        }
        curve
    }

    #[test]
    fn the_shortest_window_that_holds_a_slice_decides() {
        let short = [1, 2, 3, 4, 5].map(|pages| (0, sample(400_000, pages)));
        let long = [10, 11, 12, 13, 14].map(|pages| (2, sample(7_000_000, pages)));
        let found = curve(&[short, long].concat());
        assert_eq!(found.most_bytes(20_000), Some(4 * 4096));
        assert_eq!(found.most_bytes(400_000), Some(4 * 4096));
        assert_eq!(found.most_bytes(400_001), Some(13 * 4096));
        // Longer than any: all that is there.
        assert_eq!(found.most_bytes(1 << 40), Some(1 << 20));
        assert_eq!(Curve::default().most_bytes(1), None);
    }

    #[test]
    fn a_few_samples_are_joined_by_longer_ones() {
        let few = [(0, sample(400_000, 1))];
        let many = [20, 21, 22, 23].map(|pages| (1, sample(1_500_000, pages)));
        assert_eq!(curve(&[&few[..], &many].concat()).most_bytes(1), Some(22 * 4096));
        // Five are enough: the longest windows are not asked.
        let longest = [(4, sample(1 << 40, 99)); 5];
        assert_eq!(curve(&[&few[..], &many, &longest].concat()).most_bytes(1), Some(22 * 4096));
        assert_eq!(curve(&[few[0], (3, sample(1, 9))]).most_bytes(1), Some(9 * 4096));
    }

    #[test]
    fn windows_without_running_say_nothing() {
        let asleep = [(0, sample(0, 1)); 30];
        let awake = [(1, sample(1_000_000, 5)); 5];
        assert_eq!(curve(&[&asleep[..], &awake].concat()).most_bytes(1_000), Some(5 * 4096));
    }

    #[test]
    fn one_in_four_may_be_larger_and_old_samples_go() {
        let mut found = Curve::default();
        for pages in 1..=20 {
            found.add(0, sample(1_000, pages));
        }
        assert_eq!(found.most_bytes(1), Some(15 * 4096));
        for _ in 0..KEPT {
            found.add(0, sample(1_000, 7));
        }
        assert_eq!((found.most_bytes(1), found.taken()), (Some(7 * 4096), 20 + KEPT));
        assert_eq!(found.wanted().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }

    #[test]
    fn longer_slices_never_touch_less() {
        let found = curve(&[1, 2, 3, 4].map(|pages| (pages as usize, sample(pages * 1_000_000, pages))));
        let all: Vec<u64> = (0..60).filter_map(|step| found.most_bytes(step * 100_000)).collect();
        assert!(all.is_sorted(), "{all:?}");
    }
}
