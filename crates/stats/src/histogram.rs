//! Values counted in classes whose width grows with the value: the one histogram.
//!
//! A layout is one number, `BITS`. Values below `2^(BITS + 1)` have a class each; above, each octave has `2^BITS` classes of equal width.
//! So the middle of a class is within `1 / 2^(BITS + 1)` of every value in it. Each class of a layout is made up of whole classes of any
//! finer one.

use crate::class_quantile::class_quantile;

/// The class of a value.
///
/// ```
/// use swtch_stats::class_of;
/// assert_eq!([0, 1, 3, 4, 5, 6, 8].map(class_of::<1>), [0, 1, 3, 4, 4, 5, 6]);
/// ```
#[inline]
pub const fn class_of<const BITS: u32>(value: u64) -> usize {
    let octave = (value | 1).ilog2().saturating_sub(BITS);
    ((octave as usize) << BITS) + (value >> octave) as usize
}

/// The first value of a class, and the first value above it. The last class ends at the largest number there is.
///
/// ```
/// use swtch_stats::class_bounds;
/// assert_eq!([1, 3, 4, 5, 6].map(class_bounds::<1>), [(1, 2), (3, 4), (4, 6), (6, 8), (8, 12)]);
/// ```
pub const fn class_bounds<const BITS: u32>(class: usize) -> (u64, u64) {
    let octave = (class >> BITS).saturating_sub(1);
    let step = (class - (octave << BITS)) as u64;
    (step << octave, (step + 1).saturating_mul(1 << octave))
}

/// The classes that hold any value, ascending: from, to (exclusive), count. `counts` has one number for each class of the layout, from the first on.
///
/// ```
/// let found: Vec<_> = swtch_stats::classes::<1, u32>(&[0, 0, 0, 0, 7, 1]).collect();
/// assert_eq!(found, [(4, 6, 7), (6, 8, 1)]);
/// ```
pub fn classes<const BITS: u32, C: Copy + Into<u64>>(
    counts: &[C],
) -> impl Iterator<Item = (u64, u64, u64)> + Clone + '_ {
    let counts = counts.iter().enumerate().map(|(class, count)| (class, (*count).into()));
    counts.filter(|(_, count)| *count > 0).map(|(class, count)| {
        let (from, to) = class_bounds::<BITS>(class);
        (from, to, count)
    })
}

/// Counts of values by class, with their exact number, sum and maximum. Memory is bounded by the layout, whatever is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram<const BITS: u32> {
    /// From the first class to the highest that was needed.
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl<const BITS: u32> Histogram<BITS> {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Counts the same value `count` times.
    #[inline]
    pub fn add_many(&mut self, value: u64, count: u64) {
        let class = class_of::<BITS>(value);
        if class >= self.counts.len() {
            self.grow(class);
        }
        self.counts[class] += count;
        self.count += count;
        self.sum += u128::from(value) * u128::from(count);
        self.max = self.max.max(value);
    }

    /// Whole octaves at once, so that few values find no place.
    #[cold]
    fn grow(&mut self, class: usize) {
        self.counts.resize(((class >> BITS) + 1) << BITS, 0);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The largest; `None` without any.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The classes that hold any value, ascending: from, to (exclusive), count.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64, u64)> + Clone + '_ {
        classes::<BITS, u64>(&self.counts)
    }

    /// The `share`-quantile by the rule of [`class_quantile`], at most the largest value; `None` without any.
    ///
    /// ```
    /// let mut histogram = swtch_stats::Histogram::<6>::default();
    /// (1..=100).for_each(|value| histogram.add(value));
    /// assert_eq!((histogram.quantile(0.5), histogram.quantile(1.0)), (Some(50), Some(100)));
    /// ```
    pub fn quantile(&self, share: f64) -> Option<u64> {
        class_quantile(self.classes(), share, self.max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nests<const BITS: u32>(value: u64) {
        let class = class_of::<BITS>(value);
        let (from, to) = class_bounds::<BITS>(class);
        assert!(from <= value && (value < to || to == u64::MAX), "{value} in {from} to {to}");
        // One value each, or at most this part of the value.
        assert!(to - from == 1 || (to - from) <= from >> BITS, "{from} to {to}");
        if value >= 1 {
            let below = class_of::<BITS>(value - 1);
            assert!(below == class || below + 1 == class, "{value}");
        }
    }

    fn within<const BITS: u32>(values: &[u64], share: f64) {
        let mut histogram = Histogram::<BITS>::default();
        for value in values {
            histogram.add(*value);
        }
        let exact = crate::order_statistic(values, share).unwrap();
        let found = histogram.quantile(share).unwrap();
        assert!(found.abs_diff(exact) <= exact >> (BITS + 1), "{BITS}, {share}: {found} for {exact}");
        assert_eq!(histogram.quantile(1.0).unwrap().max(found), histogram.quantile(1.0).unwrap());
        assert!(histogram.quantile(1.0) <= histogram.max() && histogram.max() == values.last().copied());
        assert_eq!(histogram.count(), values.len() as u64);
        assert_eq!(histogram.sum(), values.iter().map(|value| u128::from(*value)).sum());
        assert_eq!(histogram.classes().map(|class| class.2).sum::<u64>(), values.len() as u64);
    }

    #[test]
    fn classes_follow_each_other_without_gaps() {
        for value in (0..5000).chain([u64::MAX / 3, u64::MAX - 1, u64::MAX]) {
            nests::<1>(value);
            nests::<2>(value);
            nests::<6>(value);
            nests::<7>(value);
        }
    }

    #[test]
    fn an_empty_one_has_no_quantile() {
        let none = Histogram::<2>::default();
        assert_eq!((none.quantile(0.5), none.max(), none.classes().count()), (None, None, 0));
    }

    proptest! {
        #[test]
        fn quantiles_are_off_by_half_a_class_at_most(
            mut values in prop::collection::vec(0_u64..1 << 40, 1..300), share in 0.0..1.0_f64, shift in 0_u32..40,
        ) {
            for value in &mut values {
                *value >>= shift;
            }
            values.sort_unstable();
            within::<1>(&values, share);
            within::<2>(&values, share);
            within::<6>(&values, share);
        }

        #[test]
        fn a_class_is_made_up_of_whole_finer_ones(value in 0_u64..1 << 45) {
            let (from, to) = class_bounds::<7>(class_of::<7>(value));
            prop_assert_eq!(class_of::<6>(from), class_of::<6>(to - 1));
            prop_assert_eq!(class_of::<2>(from), class_of::<2>(to - 1));
            prop_assert_eq!(class_of::<1>(from), class_of::<1>(to - 1));
        }
    }
}
