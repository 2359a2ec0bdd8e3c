//! The measured costs of switches, and the outliers among them, which do not count as prices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_stats::{class_quantile, middle_of_class};
use swtch_trace::figures::{OUTLIER_MEDIANS, ascending};
use swtch_trace::tables::HistogramRow;

/// Switches in which an interrupt was served are a kind of their own: their time is not the scheduler's.
const INTERRUPTED: &str = "kind interrupted";

/// The direct cost of switches by their medians.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InPlace {
    /// Sum of all that was measured, ns.
    pub sum_ns: f64,
    /// The same, with the median in place of every outlier, ns.
    pub robust_ns: f64,
    /// Median of one switch, ns.
    pub median_ns: f64,
    /// Switches that were interrupted, or took more than 20 times the median of their kind.
    pub outliers: u64,
    /// Their time, ns; it is in `sum_ns`.
    pub outliers_ns: f64,
}

impl InPlace {
    /// From the sum of all costs and their distribution by kind; absent without the distribution.
    pub(crate) fn of(sum_ns: u64, histograms: &[HistogramRow]) -> Option<Self> {
        let costs: Vec<&HistogramRow> = histograms.iter().filter(|row| row.metric == "cost").collect();
        let usual: Vec<&HistogramRow> = costs.iter().copied().filter(|row| row.of != INTERRUPTED).collect();
        // Where every switch was interrupted, there is nothing to compare them with.
        let median_ns = median_ns(if usual.is_empty() { &costs } else { &usual })?;
        let kind_median_ns = |of: &str| {
            let kind: Vec<&HistogramRow> = costs.iter().copied().filter(|row| row.of == of).collect();
            if of == INTERRUPTED { 0.0 } else { self::median_ns(&kind).unwrap_or(median_ns) }
        };
        let is_outlier =
            |row: &HistogramRow| row.from_ns as f64 > OUTLIER_MEDIANS as f64 * kind_median_ns(&row.of);
        let (out, rest): (Vec<&HistogramRow>, Vec<&HistogramRow>) =
            costs.iter().partition(|row| !usual.is_empty() && (row.of == INTERRUPTED || is_outlier(row)));
        let sum = |rows: &[&HistogramRow], of: fn(&HistogramRow) -> f64| -> f64 {
            rows.iter().map(|row| row.count as f64 * of(row)).sum()
        };
        let outliers: u64 = out.iter().map(|row| row.count).sum();
        // The sum is exact and the classes are not: the outliers' part is what the others leave, as far as their classes allow.
        let (least, most) = (sum(&out, |row| row.from_ns as f64), sum(&out, |row| row.to_ns as f64));
        let outliers_ns = (sum_ns as f64 - sum(&rest, middle_ns)).clamp(least, most).min(sum_ns as f64);
        let robust_ns = (sum_ns as f64 - outliers_ns + outliers as f64 * median_ns).min(sum_ns as f64);
        Some(Self { sum_ns: sum_ns as f64, robust_ns, median_ns, outliers, outliers_ns })
    }
}

fn middle_ns(row: &HistogramRow) -> f64 {
    middle_of_class(row.from_ns, row.to_ns) as f64
}

fn median_ns(rows: &[&HistogramRow]) -> Option<f64> {
    class_quantile(ascending(rows.iter().copied()), 0.5, None).map(|ns| ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(of: &str, from_ns: u64, to_ns: u64, count: u64) -> HistogramRow {
        HistogramRow { metric: "cost".to_owned(), of: of.to_owned(), from_ns, to_ns, count }
    }

    /// A recording of 221 switches that took 15.2 ms, 13.1 ms of them in three.
    #[test]
    fn three_stolen_switches_do_not_make_the_price() {
        let rows = [
            row("kind process", 8_192, 10_240, 200),
            row("kind idle", 12_288, 14_336, 18),
            row("kind process", 4_194_304, 5_242_880, 3),
        ];
        let found = InPlace::of(15_200_000, &rows).unwrap();
        assert_eq!((found.outliers, found.median_ns), (3, 9_216.0));
        assert!((12.6e6..=15.0e6).contains(&found.outliers_ns), "{found:?}");
        let per_switch_ns = found.robust_ns / 221.0;
        assert!((8_000.0..14_000.0).contains(&per_switch_ns), "{per_switch_ns}");
        assert_eq!(found.sum_ns, 15_200_000.0);
    }

    #[test]
    fn a_kind_is_compared_with_itself() {
        // To idle, a switch of 200 us is usual here.
        let rows = [row("kind thread", 1_000, 1_100, 100), row("kind idle", 200_000, 210_000, 10)];
        let found = InPlace::of(2_155_000, &rows).unwrap();
        assert_eq!((found.outliers, found.outliers_ns), (0, 0.0));
        assert_eq!(found.robust_ns, 2_155_000.0);
    }

    #[test]
    fn an_interrupted_switch_is_no_price_however_short() {
        let rows = [row("kind thread", 1_000, 1_100, 100), row("kind interrupted", 4_000, 4_100, 10)];
        let found = InPlace::of(145_500, &rows).unwrap();
        assert_eq!(found.outliers, 10);
        assert!((found.robust_ns - 115_500.0).abs() < 1_000.0, "{found:?}");
        // Nothing else was measured: it is all there is.
        assert_eq!(InPlace::of(40_500, &rows[1..]).unwrap().outliers, 0);
    }

    #[test]
    fn without_a_distribution_there_is_no_median() {
        assert_eq!(InPlace::of(5, &[]), None);
    }
}
