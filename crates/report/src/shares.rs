//! Shares of fast cores, for people and for machines.

use serde_json::{Map, Value, json};
use swtch_fairness::{Ddof, Metrics, Solution, TypedShares};
use swtch_units::TextTable;

/// What was asked for: a policy on a machine of fast and slow cores.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The policy's name.
    pub policy: &'a str,
    /// Fast cores.
    pub fast: u32,
    /// Slow cores.
    pub slow: u32,
    /// Speedups of the applications.
    pub speedups: &'a [f64],
}

/// The shares as JSON, `swtch/shares/1`.
pub fn json(asked: &Asked<'_>, solution: &Solution) -> Value {
    let mut found = json!({
        "schema": "swtch/shares/1",
        "policy": asked.policy,
        "fast": asked.fast,
        "slow": asked.slow,
        "speedups": asked.speedups,
        "shares": solution.shares,
        "performance": solution.performance,
        "required": solution.required,
    });
    if let Some(found) = found.as_object_mut() {
        put(found, &solution.metrics);
        found.insert("mix".to_owned(), json!(solution.mix));
        let letters = (!solution.sequence.is_empty()).then(|| solution.letters());
        found.insert("sequence".to_owned(), json!(letters));
    }
    found
}

/// The shares as a table, with what they achieve in a sentence above it.
pub fn text(asked: &Asked<'_>, solution: &Solution) -> String {
    let titles = ["application", "speedup", "required", "share", "performance"];
    let mut table = TextTable::new(titles).right(0);
    let rows = solution.shares.iter().zip(&solution.required).zip(&solution.performance);
    for (((share, required), performance), (number, speedup)) in rows.zip((1..).zip(asked.speedups)) {
        table.row([
            number.to_string(),
            format!("{speedup:.3}"),
            format!("{required:.6}"),
            format!("{share:.6}"),
            format!("{performance:.6}"),
        ]);
    }
    let heading = format!("{} on {} fast and {} slow cores", asked.policy, asked.fast, asked.slow);
    let mut text = format!("{}\n{}", sentence(&solution.metrics), table.under(&heading));
    if let Some(mix) = solution.mix {
        text.push_str(&format!(
            "In the long run {:.2} % of the throughput allocation, the rest max-fair.\n",
            100.0 * mix
        ));
    }
    if !solution.sequence.is_empty() {
        text.push_str(&format!("First intervals (P max-perf, f max-fair): {}\n", solution.letters()));
    }
    text
}

/// Shares on a machine with several kinds of cores, as JSON.
pub fn typed_json(min_fairness: f64, shares: &TypedShares, ddof: Ddof) -> Value {
    let mut found = json!({
        "schema": "swtch/shares/1",
        "policy": "min-fair",
        "min_fairness_asked": min_fairness,
        "shares": shares.shares,
        "performance": shares.performance,
    });
    if let Some(found) = found.as_object_mut() {
        put(found, &Metrics::of(&shares.performance, ddof));
    }
    found
}

/// The same as a table, a column for each kind.
pub fn typed_text(names: &[String], shares: &TypedShares, ddof: Ddof) -> String {
    let kinds = names.iter().map(String::as_str);
    let titles = std::iter::once("application").chain(kinds).chain(["performance"]);
    let mut table = TextTable::new(titles).right(0);
    for ((row, performance), number) in shares.shares.iter().zip(&shares.performance).zip(1..) {
        let mut cells = vec![number.to_string()];
        cells.extend(row.iter().map(|share| format!("{share:.6}")));
        cells.push(format!("{performance:.6}"));
        table.row(cells);
    }
    let heading = "Fraction of the time on each kind of core";
    format!("{}\n{}", sentence(&Metrics::of(&shares.performance, ddof)), table.under(heading))
}

fn put(found: &mut Map<String, Value>, metrics: &Metrics) {
    found.insert("throughput".to_owned(), json!(metrics.throughput));
    found.insert("min_fairness".to_owned(), json!(metrics.min_fairness));
    found.insert("uniformity".to_owned(), json!(metrics.uniformity));
}

fn sentence(metrics: &Metrics) -> String {
    format!(
        "Throughput {:.2} % of max-fair's, minimum fairness {:.2} %, uniformity {:.2} %.\n",
        100.0 * metrics.throughput,
        100.0 * metrics.min_fairness,
        100.0 * metrics.uniformity
    )
}
