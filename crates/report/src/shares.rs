//! Shares of fast cores, for people and for machines.

use serde_json::{Map, Value, json};
use swtch_fairness::{Ddof, Demand, Metrics, Solution, TypedShares};
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
    /// Their weights and threads, where they have any.
    pub demands: Option<&'a [Demand]>,
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
        let cpus: Vec<f64> = solution.entitled.iter().map(|own| own.cpus).collect();
        put_demands(found, asked.demands, &cpus);
        let equal = asked.demands.map(|_| solution.entitled.iter().map(|own| own.share).collect::<Vec<_>>());
        found.insert("equal_shares".to_owned(), json!(equal));
    }
    found
}

/// The shares as a table, with what they achieve in a sentence above it.
pub fn text(asked: &Asked<'_>, solution: &Solution) -> String {
    let weighted: &[&str] =
        if asked.demands.is_some() { &["weight", "threads", "CPUs", "entitled"] } else { &[] };
    let titles =
        ["application", "speedup"].iter().chain(weighted).chain(&["required", "share", "performance"]);
    let mut table = TextTable::new(titles.copied()).right(0);
    for (place, speedup) in asked.speedups.iter().enumerate() {
        let mut cells = vec![(place + 1).to_string(), format!("{speedup:.3}")];
        if let Some(demand) = asked.demands.and_then(|demands| demands.get(place)) {
            let own = &solution.entitled[place];
            cells.extend(demand_cells(demand, own.cpus));
            cells.push(format!("{:.6}", own.share));
        }
        for number in [solution.required[place], solution.shares[place], solution.performance[place]] {
            cells.push(format!("{number:.6}"));
        }
        table.row(cells);
    }
    let heading = format!("{} on {} fast and {} slow cores", asked.policy, asked.fast, asked.slow);
    let mut text = format!("{}\n{}", sentence(&solution.metrics), table.under(&heading));
    text.push_str(&mix_sentence(solution.mix));
    if !solution.sequence.is_empty() {
        text.push_str(&format!("First intervals (P max-perf, f max-fair): {}\n", solution.letters()));
    }
    text
}

/// What was asked for on a machine with several kinds of cores.
#[derive(Clone, Debug)]
pub struct TypedAsked<'a> {
    /// The policy's name.
    pub policy: &'a str,
    /// What everyone keeps, where the policy has a guarantee.
    pub min_fairness: Option<f64>,
    /// The names of the kinds.
    pub names: &'a [String],
    /// Weights and threads of the applications, where they have any.
    pub demands: Option<&'a [Demand]>,
    /// How deviations are computed.
    pub ddof: Ddof,
}

/// Shares on a machine with several kinds of cores, as JSON.
pub fn typed_json(asked: &TypedAsked<'_>, shares: &TypedShares) -> Value {
    let mut found = json!({
        "schema": "swtch/shares/1",
        "policy": asked.policy,
        "min_fairness_asked": asked.min_fairness,
        "shares": shares.shares,
        "performance": shares.performance,
        "mix": shares.mix,
    });
    if let Some(found) = found.as_object_mut() {
        put(found, &shares.metrics(asked.ddof));
        put_demands(found, asked.demands, &shares.cpus);
    }
    found
}

/// The same as a table, a column for each kind.
pub fn typed_text(asked: &TypedAsked<'_>, shares: &TypedShares) -> String {
    let weighted: &[&str] = if asked.demands.is_some() { &["weight", "threads", "CPUs"] } else { &[] };
    let kinds = asked.names.iter().map(String::as_str);
    let titles = ["application"].iter().chain(weighted).copied().chain(kinds).chain(["performance"]);
    let mut table = TextTable::new(titles).right(0);
    for (place, (row, performance)) in shares.shares.iter().zip(&shares.performance).enumerate() {
        let mut cells = vec![(place + 1).to_string()];
        if let Some(demand) = asked.demands.and_then(|demands| demands.get(place)) {
            cells.extend(demand_cells(demand, shares.cpus[place]));
        }
        cells.extend(row.iter().map(|share| format!("{share:.6}")));
        cells.push(format!("{performance:.6}"));
        table.row(cells);
    }
    let heading = match asked.demands {
        Some(_) => "Fraction of the time of each thread on each kind of core",
        None => "Fraction of the time on each kind of core",
    };
    let text = format!("{}\n{}", sentence(&shares.metrics(asked.ddof)), table.under(heading));
    text + &mix_sentence(shares.mix)
}

fn demand_cells(demand: &Demand, cpus: f64) -> [String; 3] {
    [format!("{:.3}", demand.weight), demand.threads.to_string(), format!("{cpus:.3}")]
}

fn mix_sentence(mix: Option<f64>) -> String {
    mix.map_or(String::new(), |mix| {
        format!("In the long run {:.2} % of the throughput allocation, the rest max-fair.\n", 100.0 * mix)
    })
}

/// Weights, threads and the CPU time that they entitle to; `null` where there are none.
fn put_demands(found: &mut Map<String, Value>, demands: Option<&[Demand]>, cpus: &[f64]) {
    let weights: Option<Vec<f64>> = demands.map(|all| all.iter().map(|one| one.weight).collect());
    let threads: Option<Vec<u32>> = demands.map(|all| all.iter().map(|one| one.threads).collect());
    found.insert("weights".to_owned(), json!(weights));
    found.insert("threads".to_owned(), json!(threads));
    found.insert("cpus".to_owned(), json!(demands.map(|_| cpus)));
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
