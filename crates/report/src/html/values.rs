//! What pages do with lists of values.

use std::cmp::Ordering;

/// The median of some figures, by the rule of [`swtch_stats::median`]; nothing without any.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| swtch_stats::median_in_place(&mut values))
}

/// The thing of which a figure is largest, and the figure.
pub(super) fn largest<'a, T>(
    things: impl IntoIterator<Item = &'a T>,
    of: impl Fn(&'a T) -> Option<f64>,
) -> Option<(&'a T, f64)> {
    let figures = things.into_iter().filter_map(|thing| Some((thing, of(thing)?)));
    figures.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// Each value once, ascending.
pub(super) fn distinct<V: PartialOrd>(values: impl IntoIterator<Item = V>) -> Vec<V> {
    let mut values: Vec<V> = values.into_iter().collect();
    values.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    values.dedup();
    values
}

/// Each value once, in the order in which they were met.
pub(super) fn once<V: PartialEq>(values: impl IntoIterator<Item = V>) -> Vec<V> {
    let mut all: Vec<V> = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// The values gathered under a key; keys stay in the order in which they come.
pub(super) fn gathered<K: PartialEq, V: Default>(all: &mut Vec<(K, V)>, key: K) -> &mut V {
    let place = all.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        all.push((key, V::default()));
        all.len() - 1
    });
    &mut all[place].1
}
