//! How rows of one table merge: two parts of one thing into the whole, and the difference between two snapshots of it.
//!
//! Each column names its rule in [`table!`](crate::table). The rules agree with each other: `merge(a, delta(b, a))` is `b`.

use crate::Columns;
use crate::growth::Growth;
use std::cmp::Ordering;

/// How a column of type `T` merges.
pub trait Rule<T> {
    /// What the reference page says of it.
    const MEANING: &'static str;

    /// Merges a later part into `sum`.
    fn merge(sum: &mut T, later: &T);

    /// The difference between two snapshots.
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

/// Counts and times add up. If one part is unknown, the whole is unknown.
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

    /// The difference between `earlier` and this snapshot. Counters that fell are counted in `growth`.
    #[must_use]
    fn delta(&self, earlier: &Self, growth: &Growth) -> Self;

    /// Compares the keys.
    fn order(&self, other: &Self) -> Ordering;
}

/// Pairs the rows of two tables by their keys, in the order of the keys. Several rows with one key are paired one by one.
fn join<'a, R: Merge>(earlier: &'a [R], later: &'a [R]) -> Vec<(Option<&'a R>, Option<&'a R>)> {
    let sorted = |rows: &'a [R]| {
        let mut sorted: Vec<&R> = rows.iter().collect();
        sorted.sort_by(|one, other| one.order(other));
        sorted.into_iter().peekable()
    };
    let (mut earlier, mut later) = (sorted(earlier), sorted(later));
    let mut pairs = Vec::new();
    loop {
        let order = match (earlier.peek(), later.peek()) {
            (Some(one), Some(other)) => one.order(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return pairs,
        };
        pairs.push((earlier.next_if(|_| order.is_le()), later.next_if(|_| order.is_ge())));
    }
}

/// Two parts of a table as one, in the order of the keys. `finish` gets each row that both parts had: merged, earlier, later.
pub fn merge_rows<R: Merge>(earlier: &[R], later: &[R], finish: impl Fn(&mut R, &R, &R)) -> Vec<R> {
    let rows = join(earlier, later).into_iter().filter_map(|pair| match pair {
        (Some(one), Some(other)) => {
            let mut merged = one.clone();
            merged.merge(other);
            finish(&mut merged, one, other);
            Some(merged)
        }
        (one, other) => one.or(other).cloned(),
    });
    rows.collect()
}

/// The difference between two snapshots of a table, in the order of the keys; a row that did not change is left out. `finish` gets each row that
/// both have: the difference, earlier, later.
pub fn delta_rows<R: Merge>(
    later: &[R],
    earlier: &[R],
    growth: &Growth,
    finish: impl Fn(&mut R, &R, &R),
) -> Vec<R> {
    let rows = join(earlier, later).into_iter().filter_map(|pair| match pair {
        (Some(one), Some(other)) if one == other => None,
        (Some(one), Some(other)) => {
            let mut delta = other.delta(one, growth);
            finish(&mut delta, one, other);
            Some(delta)
        }
        (_, other) => other.cloned(),
    });
    rows.collect()
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
