//! A distribution of times in bounded memory.

use swtch_stats::middle_of_class;

/// So many values are kept as they are; the quantiles are then exact.
const EXACT_VALUES: usize = 1 << 16;
/// Beyond, each octave has so many classes, as a power of two: a quantile is then within 1/128 of its value.
const CLASS_BITS: u32 = 7;

/// Times in ns: exact up to some ten thousand, then in classes of less than a percent.
#[derive(Clone, Debug, Default)]
pub(super) struct Distribution {
    values: Vec<u32>,
    classes: Vec<u32>,
    count: u64,
    total: u64,
    max: u64,
    /// Values since it began anew.
    held: u64,
}

impl Distribution {
    pub(super) fn add(&mut self, ns: u64) {
        self.count += 1;
        self.held += 1;
        self.total += ns;
        self.max = self.max.max(ns);
        match u32::try_from(ns) {
            Ok(value) if self.classes.is_empty() && self.values.len() < EXACT_VALUES => {
                self.values.push(value);
            }
            _ => {
                for value in std::mem::take(&mut self.values) {
                    self.add_to_class(value.into());
                }
                self.add_to_class(ns);
            }
        }
    }

    fn add_to_class(&mut self, ns: u64) {
        let class = class_of(ns);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] = self.classes[class].saturating_add(1);
    }

    /// Forgets the values, for one who asks about the time since the last question only; number and sum go on.
    pub(super) fn begin_anew(&mut self) {
        self.values.clear();
        self.classes.clear();
        self.max = 0;
        self.held = 0;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.total
    }

    pub(super) fn max_ns(&self) -> Option<u64> {
        (self.held > 0).then_some(self.max)
    }

    /// The smallest value that at least this share of all values does not exceed; for several shares in one go.
    pub(super) fn quantiles_ns<const N: usize>(&mut self, shares: [f64; N]) -> [Option<u64>; N] {
        self.values.sort_unstable();
        shares.map(|share| self.quantile_ns(share))
    }

    fn quantile_ns(&self, share: f64) -> Option<u64> {
        let rank = ((share * self.held as f64).ceil() as u64).clamp(1, self.held.max(1));
        if self.classes.is_empty() {
            return self.values.get(rank as usize - 1).map(|value| u64::from(*value));
        }
        let mut seen = 0;
        let class = self.classes.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        let (from, to) = bounds_of(class);
        Some(middle_of_class(from, to).min(self.max))
    }

    /// Classes for a table, of which an octave has four, without empty ones: from, to (exclusive), count.
    pub(super) fn table(&self) -> Vec<(u64, u64, u64)> {
        let mut rows: Vec<(u64, u64, u64)> = Vec::new();
        let mut put = |ns: u64, count: u64| {
            let (from, to) = quarter_octave(ns);
            match rows.binary_search_by_key(&from, |row| row.0) {
                Ok(found) => rows[found].2 += count,
                Err(place) => rows.insert(place, (from, to, count)),
            }
        };
        for value in &self.values {
            put((*value).into(), 1);
        }
        for (class, count) in self.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
            put(bounds_of(class).0, u64::from(*count));
        }
        rows
    }
}

/// Class of a value: one each up to 128 ns, then 128 in each octave.
fn class_of(ns: u64) -> usize {
    let octave = (ns | 1).ilog2().saturating_sub(CLASS_BITS);
    (u64::from(octave) << CLASS_BITS) as usize + (ns >> octave) as usize
}

/// First value of a class, and first value above it.
fn bounds_of(class: usize) -> (u64, u64) {
    let class = class as u64;
    let octave = (class >> CLASS_BITS).saturating_sub(1);
    let step = class - (octave << CLASS_BITS);
    (step << octave, (step + 1) << octave)
}

fn quarter_octave(ns: u64) -> (u64, u64) {
    let octave = (ns | 1).ilog2().saturating_sub(2);
    let step = ns >> octave;
    (step << octave, (step + 1) << octave)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_is_inside_its_class(ns in 0_u64..1 << 45) {
            let (from, to) = bounds_of(class_of(ns));
            prop_assert!(from <= ns && ns < to && (to - from) * 128 <= from.max(128) * 2);
            let (from, to) = quarter_octave(ns);
            prop_assert!(from <= ns && ns < to);
        }

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
            let table = distribution.table();
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
        assert!(distribution.classes.len() < 4096);
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
