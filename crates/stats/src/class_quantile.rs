//! The quantile of counted values: the one rule for every histogram, and for values that are kept as they are.

/// The `share`-quantile of values counted in classes, ascending: `(from, to, count)`, of which `to` is the first value above the class.
///
/// It is the middle of a class, and at most `largest`, where the largest value is known. The class holds the smallest value that at least
/// this share of all values does not exceed. That is the nearest-rank definition (type 1 of Hyndman and Fan 1996). The middle is at most
/// half the class away from that value. That is 12.5 % of it in classes of a quarter of an octave, 25 % in those of half an octave. An end
/// of the class would be off by all of it, always to one side. An interpolation would presume a spread within the class that nothing shows.
///
/// `share` is clamped to 0..=1. Without values there is none.
///
/// ```
/// use swtch_stats::class_quantile;
/// let classes = [(100, 125, 50), (1_000, 1_250, 50)];
/// assert_eq!(class_quantile(classes, 0.5, None), Some(112));
/// assert_eq!(class_quantile(classes, 0.99, Some(1_100)), Some(1_100));
/// assert_eq!(class_quantile([], 0.5, None), None);
/// ```
pub fn class_quantile<C>(classes: C, share: f64, largest: Option<u64>) -> Option<u64>
where
    C: IntoIterator<Item = (u64, u64, u64)>,
    C::IntoIter: Clone,
{
    let mut classes = classes.into_iter();
    let all = classes.clone().fold(0, |sum: u64, (_, _, count)| sum.saturating_add(count));
    let rank = rank(share, all);
    let mut seen: u64 = 0;
    let (from, to, _) = classes.find(|(_, _, count)| {
        seen = seen.saturating_add(*count);
        seen >= rank
    })?;
    Some(middle_of_class(from, to).min(largest.unwrap_or(u64::MAX)))
}

/// The `share`-quantile of ascending values by the same rule: the smallest value that at least this share of all does not exceed.
///
/// ```
/// use swtch_stats::order_statistic;
/// assert_eq!([0.0, 0.5, 0.51, 1.0].map(|share| order_statistic(&[1, 2, 3, 4], share)), [Some(1), Some(2), Some(3), Some(4)]);
/// assert_eq!(order_statistic::<u64>(&[], 0.5), None);
/// ```
pub fn order_statistic<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    sorted.get(rank(share, sorted.len() as u64) as usize - 1).copied()
}

/// The rank of the quantile among `count` values, counted from 1.
fn rank(share: f64, count: u64) -> u64 {
    ((share.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1)
}

/// The value that stands for a class from `from` to below `to`.
///
/// ```
/// assert_eq!((swtch_stats::middle_of_class(5, 6), swtch_stats::middle_of_class(100, 125)), (5, 112));
/// ```
pub fn middle_of_class(from: u64, to: u64) -> u64 {
    from + to.saturating_sub(from) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    /// Classes of a quarter of an octave, as Traces of events have of single tasks.
    #[test]
    fn it_is_within_an_eighth_of_the_value_at_that_rank() {
        let values: Vec<u64> = (1..10_000).map(|i| i * i * 7).collect();
        let mut histogram = Histogram::<2>::default();
        for value in &values {
            histogram.add(*value);
        }
        for share in [0.001, 0.1, 0.5, 0.9, 0.99, 1.0] {
            let exact = order_statistic(&values, share).unwrap() as f64;
            let found = class_quantile(histogram.classes(), share, values.last().copied()).unwrap() as f64;
            assert!((found / exact - 1.0).abs() <= 0.125, "{share}: {found} for {exact}");
        }
    }

    #[test]
    fn shares_are_clamped_and_empty_classes_hold_none() {
        let classes = [(0, 1, 0), (8, 10, 1), (10, 12, 0)];
        assert_eq!(class_quantile(classes, -1.0, None), Some(9));
        assert_eq!(class_quantile(classes, 2.0, None), Some(9));
        assert_eq!(class_quantile([(0, 1, 0)], 0.5, None), None);
    }
}
