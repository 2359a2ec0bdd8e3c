//! Durations counted in classes whose width grows with the value, so that memory does not grow with simulated time.

/// Classes in each doubling; a value is known to 1/64.
const STEPS: u64 = 64;
const STEPS_BITS: u32 = STEPS.trailing_zeros();

/// Counts of durations, ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; class_of(u64::MAX) + 1], count: 0, sum_ns: 0, max_ns: 0 }
    }
}

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.counts[class_of(ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, ns.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The longest, ns; `None` without any.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// The smallest duration that at least this share (0 to 1) of all are at most as long as, to 1/64 of it, ns; `None` without any.
    ///
    /// ```
    /// let mut histogram = swtch_sim::histogram::Histogram::default();
    /// (1..=100).for_each(|ns| histogram.add(ns));
    /// assert_eq!((histogram.quantile_ns(0.5), histogram.quantile_ns(1.0)), (Some(50), Some(100)));
    /// ```
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let rank = ((share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let class = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(upper_end_of(class).min(self.max_ns))
    }
}

fn class_of(ns: u64) -> usize {
    let doubling = (64 - ns.leading_zeros()).saturating_sub(STEPS_BITS + 1);
    (u64::from(doubling) * STEPS + (ns >> doubling)) as usize
}

/// The largest value of a class.
fn upper_end_of(class: usize) -> u64 {
    let class = class as u64;
    if class < 2 * STEPS {
        return class;
    }
    let doubling = class / STEPS - 1;
    let first = class % STEPS + STEPS;
    ((u128::from(first) + 1) << doubling).wrapping_sub(1).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other_without_gaps() {
        for ns in (0..5000).chain([u64::MAX / 3, u64::MAX - 1, u64::MAX]) {
            let class = class_of(ns);
            assert!(upper_end_of(class) >= ns, "{ns}");
            assert!(class == 0 || upper_end_of(class - 1) < ns, "{ns}");
        }
    }

    #[test]
    fn quantiles_are_within_a_64th() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.5), None);
        (1..=1_000_000).for_each(|ns| histogram.add(ns));
        for share in [0.01, 0.5, 0.9, 0.99] {
            let (found, exact) = (histogram.quantile_ns(share).unwrap() as f64, share * 1e6);
            assert!(found >= exact && found <= exact * (1.0 + 1.0 / 64.0), "{share}: {found}");
        }
        assert_eq!((histogram.max_ns(), histogram.count()), (Some(1_000_000), 1_000_000));
    }
}
