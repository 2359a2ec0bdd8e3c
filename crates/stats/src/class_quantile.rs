//! The quantile of values that were counted in classes: the one rule for every histogram.

/// The `share`-quantile of values counted in classes, ascending: `(from, to, count)`, of which `to` is the first value above the class.
///
/// It is the middle of the class that holds the smallest value that at least this share of all values does not exceed (the nearest-rank
/// definition, type 1 of Hyndman and Fan 1996), and at most `largest`, where the largest value is known. The middle is at most half the class
/// away from that value: 12.5 % of it in classes of a quarter of an octave, 25 % in those of half an octave. An end of the class would be off
/// by all of it, always to one side; an interpolation would presume a spread within the class that nothing shows.
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
    let rank = ((share.clamp(0.0, 1.0) * all as f64).ceil() as u64).max(1);
    let mut seen: u64 = 0;
    let (from, to, _) = classes.find(|(_, _, count)| {
        seen = seen.saturating_add(*count);
        seen >= rank
    })?;
    Some(middle_of_class(from, to).min(largest.unwrap_or(u64::MAX)))
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

    /// Classes of a quarter of an octave, as Traces of events have them.
    fn class_of(value: u64) -> (u64, u64) {
        let octave = (value | 1).ilog2().saturating_sub(2);
        let step = value >> octave;
        (step << octave, (step + 1) << octave)
    }

    #[test]
    fn it_is_within_an_eighth_of_the_value_at_that_rank() {
        let values: Vec<u64> = (1..10_000).map(|i| i * i * 7).collect();
        let mut classes: Vec<(u64, u64, u64)> = Vec::new();
        for value in &values {
            let (from, to) = class_of(*value);
            match classes.last_mut() {
                Some(last) if last.0 == from => last.2 += 1,
                _ => classes.push((from, to, 1)),
            }
        }
        for share in [0.001, 0.1, 0.5, 0.9, 0.99, 1.0] {
            let rank = (share * values.len() as f64).ceil() as usize;
            let exact = values[rank - 1] as f64;
            let found =
                class_quantile(classes.iter().copied(), share, values.last().copied()).unwrap() as f64;
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
