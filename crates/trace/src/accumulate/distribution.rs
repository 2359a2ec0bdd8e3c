//! A distribution of times in bounded memory.

use swtch_stats::{Histogram, class_quantile, order_statistic};

/// This many values are kept as they are; the quantiles are then exact.
const EXACT_VALUES: usize = 1 << 16;
/// Beyond that, each octave has this many classes, as a power of two. A quantile is then within 1/256 of its value.
const CLASS_BITS: u32 = 7;

/// Times in ns: exact up to some ten thousand, then in classes of less than a percent.
#[derive(Clone, Debug, Default)]
pub(super) struct Distribution {
    /// Values as they are, until there are too many or one is too large: then all are in the classes.
    values: Vec<u32>,
    classes: Histogram<CLASS_BITS>,
    count: u64,
    total: u64,
    /// The largest since it began again.
    max: u64,
}

impl Distribution {
    pub(super) fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total += ns;
        self.max = self.max.max(ns);
        match u32::try_from(ns) {
            Ok(value) if self.classes.count() == 0 && self.values.len() < EXACT_VALUES => {
                self.values.push(value);
            }
            _ => {
                for value in std::mem::take(&mut self.values) {
                    self.classes.add(value.into());
                }
                self.classes.add(ns);
            }
        }
    }

    /// Forgets the values, for a caller that asks only about the time since its last question. The number and the sum go on.
    pub(super) fn begin_anew(&mut self) {
        self.values.clear();
        self.classes = Histogram::default();
        self.max = 0;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.total
    }

    pub(super) fn max_ns(&self) -> Option<u64> {
        (self.classes.count() > 0 || !self.values.is_empty()).then_some(self.max)
    }

    /// The smallest value that at least this share of all values does not exceed; for several shares in one go.
    pub(super) fn quantiles_ns<const N: usize>(&mut self, shares: [f64; N]) -> [Option<u64>; N] {
        self.values.sort_unstable();
        shares.map(|share| match order_statistic(&self.values, share) {
            Some(value) => Some(value.into()),
            None => class_quantile(self.classes.classes(), share, self.max_ns()),
        })
    }

    /// The same in the classes of a table, without empty ones: from, to (exclusive), count.
    pub(super) fn table<const BITS: u32>(&self) -> Vec<(u64, u64, u64)> {
        let mut coarse = Histogram::<BITS>::default();
        for value in &self.values {
            coarse.add((*value).into());
        }
        for (from, _, count) in self.classes.classes() {
            coarse.add_many(from, count);
        }
        coarse.classes().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_exact_while_values_are_few(mut values in prop::collection::vec(0_u32..1 << 30, 1..500)) {
            let mut distribution = Distribution::default();
            for value in &values {
                distribution.add((*value).into());
            }
            values.sort_unstable();
            let [median, most] = distribution.quantiles_ns([0.5, 1.0]);
            prop_assert_eq!(median, Some(values[values.len().div_ceil(2) - 1].into()));
            prop_assert_eq!(most, distribution.max_ns());
            let table = distribution.table::<2>();
            prop_assert_eq!(table.iter().map(|row| row.2).sum::<u64>(), values.len() as u64);
            prop_assert!(table.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }

    #[test]
    fn many_values_keep_within_a_percent() {
        let mut distribution = Distribution::default();
        for i in 0..200_000_u64 {
            distribution.add(i * 37);
        }
        let [p50, p99] = distribution.quantiles_ns([0.5, 0.99]);
        for (found, exact) in [(p50, 3_699_963.0), (p99, 7_325_963.0)] {
            assert!((found.unwrap() as f64 / exact - 1.0).abs() < 0.01, "{found:?} for {exact}");
        }
        assert_eq!((distribution.count(), distribution.max_ns()), (200_000, Some(199_999 * 37)));
        assert!(distribution.values.is_empty());
    }

    #[test]
    fn what_begins_anew_has_quantiles_of_what_came_since() {
        for many in [10, 100_000_u64] {
            let mut distribution = Distribution::default();
            for _ in 0..many {
                distribution.add(5_000_000);
            }
            distribution.begin_anew();
            assert_eq!((distribution.quantiles_ns([0.5]), distribution.max_ns()), ([None], None));
            distribution.add(7);
            assert_eq!((distribution.quantiles_ns([0.5]), distribution.max_ns()), ([Some(7)], Some(7)));
            assert_eq!((distribution.count(), distribution.total_ns()), (many + 1, many * 5_000_000 + 7));
        }
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Distribution::default().quantiles_ns([0.5]), [None]);
        assert_eq!(Distribution::default().max_ns(), None);
    }
}
