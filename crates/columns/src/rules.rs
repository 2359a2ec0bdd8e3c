//! How rows of one table merge: two parts of one thing into the whole, and the difference between two snapshots of it.
//!
//! Each column names its rule in [`table!`](crate::table). The rules agree with each other: `merge(a, delta(b, a))` is `b`.

use crate::Columns;
use crate::growth::Growth;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// How a column of type `T` merges.
pub trait Rule<T> {
    /// What the reference page says of it.
    const MEANING: &'static str;

    /// Merges a later part into `sum`.
    fn merge(sum: &mut T, later: &T);

    /// What came between two snapshots.
    fn delta(later: &T, earlier: &T, growth: &Growth) -> T;

    /// Compares two rows by this column, if it is part of the key.
    fn order(_: &T, _: &T) -> Ordering {
        Ordering::Equal
    }
}

/// Identifies a row within its table.
#[derive(Debug)]
pub struct Key;

impl<T: Clone + Ord> Rule<T> for Key {
    const MEANING: &'static str = "key";

    fn merge(_: &mut T, _: &T) {}

    fn delta(later: &T, _: &T, _: &Growth) -> T {
        later.clone()
    }

    fn order(one: &T, other: &T) -> Ordering {
        one.cmp(other)
    }
}

/// Counts and times add up. What is unknown of one part is unknown of the whole.
#[derive(Debug)]
pub struct Sum;

impl Rule<u64> for Sum {
    const MEANING: &'static str = "sum";

    fn merge(sum: &mut u64, later: &u64) {
        *sum = sum.saturating_add(*later);
    }

    fn delta(later: &u64, earlier: &u64, growth: &Growth) -> u64 {
        growth.of(*earlier, *later)
    }
}

impl Rule<Option<u64>> for Sum {
    const MEANING: &'static str = "sum; unknown of one part, it is unknown of both";

    fn merge(sum: &mut Option<u64>, later: &Option<u64>) {
        *sum = sum.zip(*later).map(|(sum, later)| sum.saturating_add(later));
    }

    fn delta(later: &Option<u64>, earlier: &Option<u64>, growth: &Growth) -> Option<u64> {
        Some(growth.of((*earlier)?, (*later)?))
    }
}

/// The largest value of both parts; absent, it never happened.
#[derive(Debug)]
pub struct Max;

impl<T: Clone + Ord> Rule<T> for Max {
    const MEANING: &'static str = "largest";

    fn merge(largest: &mut T, later: &T) {
        if later > largest {
            *largest = later.clone();
        }
    }

    fn delta(later: &T, _: &T, _: &Growth) -> T {
        later.clone()
    }
}

/// The value of the later part; of the earlier one where the later one has none.
#[derive(Debug)]
pub struct Last;

impl<T: Clone> Rule<Option<T>> for Last {
    const MEANING: &'static str = "last";

    fn merge(value: &mut Option<T>, later: &Option<T>) {
        if later.is_some() {
            value.clone_from(later);
        }
    }

    fn delta(later: &Option<T>, _: &Option<T>, _: &Growth) -> Option<T> {
        later.clone()
    }
}

/// The rule [`Last`] for values that are never absent.
macro_rules! last {
    ($($type:ty)+) => {$(
        impl Rule<$type> for Last {
            const MEANING: &'static str = "last";

            fn merge(value: &mut $type, later: &$type) {
                value.clone_from(later);
            }

            fn delta(later: &$type, _: &$type, _: &Growth) -> $type {
                later.clone()
            }
        }
    )+};
}
last!(u64 u32 bool String);

/// A quantile: those of two parts do not make one of the whole. Where both have histograms, it is computed again from those.
#[derive(Debug)]
pub struct Quantile;

impl Rule<Option<u64>> for Quantile {
    const MEANING: &'static str = "quantile of the merged histograms; without them unknown";

    fn merge(value: &mut Option<u64>, _: &Option<u64>) {
        *value = None;
    }

    fn delta(_: &Option<u64>, _: &Option<u64>, _: &Growth) -> Option<u64> {
        None
    }
}

/// Rows that merge by their key. [`table!`](crate::table) implements it for tables whose columns have rules.
pub trait Merge: Columns + PartialEq {
    /// Merges a later part of the same thing into this one.
    fn merge(&mut self, later: &Self);

    /// What came between `earlier` and this snapshot. Counters that fell are counted in `growth`.
    #[must_use]
    fn delta(&self, earlier: &Self, growth: &Growth) -> Self;

    /// Compares the keys.
    fn order(&self, other: &Self) -> Ordering;
}

/// A row by its key.
struct Keyed<'a, R>(&'a R);

impl<R: Merge> Ord for Keyed<'_, R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(other.0)
    }
}

impl<R: Merge> PartialOrd for Keyed<'_, R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Merge> PartialEq for Keyed<'_, R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<R: Merge> Eq for Keyed<'_, R> {}

/// The rows by their keys. Of several with one key the last counts: an earlier one is over.
fn by_key<R: Merge>(rows: &[R]) -> BTreeMap<Keyed<'_, R>, usize> {
    rows.iter().enumerate().map(|(index, row)| (Keyed(row), index)).collect()
}

/// Two parts of a table as one, in the order of the keys. `finish` gets each row that both parts had: merged, earlier, later.
pub fn merge_rows<R: Merge>(earlier: &[R], later: &[R], finish: impl Fn(&mut R, &R, &R)) -> Vec<R> {
    let mut known = by_key(earlier);
    let mut rows = earlier.to_vec();
    for row in later {
        match known.remove(&Keyed(row)) {
            Some(index) => {
                rows[index].merge(row);
                finish(&mut rows[index], &earlier[index], row);
            }
            None => rows.push(row.clone()),
        }
    }
    rows.sort_by(R::order);
    rows
}

/// What came between two snapshots of a table; a row that did not change is left out. `finish` gets each row that both have: the
/// difference, earlier, later.
pub fn delta_rows<R: Merge>(
    later: &[R],
    earlier: &[R],
    growth: &Growth,
    finish: impl Fn(&mut R, &R, &R),
) -> Vec<R> {
    let mut known = by_key(earlier);
    let mut rows = Vec::new();
    for row in later {
        match known.remove(&Keyed(row)).map(|index| &earlier[index]) {
            Some(before) if before == row => {}
            Some(before) => {
                let mut delta = row.delta(before, growth);
                finish(&mut delta, before, row);
                rows.push(delta);
            }
            None => rows.push(row.clone()),
        }
    }
    rows
}

/// Merges rows of one key within a table, in the order of the keys.
pub fn merge_equal<R: Merge>(mut rows: Vec<R>) -> Vec<R> {
    rows.sort_by(R::order);
    rows.dedup_by(|later, sum| {
        let same = sum.order(later) == Ordering::Equal;
        if same {
            sum.merge(later);
        }
        same
    });
    rows
}
