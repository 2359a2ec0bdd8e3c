//! The document as text: a row per policy.

use super::{Durations, SimulationDocument, Summary};
use crate::recorded::{Recorded, Verdict};
use swtch_units::{aligned, format_ns};

/// A title, and the cell below it in the row of a run.
type SummaryColumn = (&'static str, fn(&Summary) -> String);

const COLUMNS: [SummaryColumn; 8] = [
    ("policy", |run| run.policy.clone()),
    ("makespan", |run| ns(run.makespan_ns) + if run.complete { "" } else { "*" }),
    ("voluntary", |run| run.voluntary.to_string()),
    ("involuntary", |run| run.involuntary.to_string()),
    ("migrations", |run| run.migrations.to_string()),
    ("wait p50", |run| maybe(run.wait_ns.p50)),
    ("p90", |run| maybe(run.wait_ns.p90)),
    ("p99", |run| maybe(run.wait_ns.p99)),
];

impl SimulationDocument {
    /// The document for a terminal; `with_hooks` adds the calls of the scheduling class's hooks.
    pub fn text(&self, with_hooks: bool) -> String {
        let hooks = if with_hooks { hooks(self) } else { String::new() };
        runs(self) + &hooks + &assumptions(self)
    }
}

/// The comparison; the recording is the first row, if there is one.
fn runs(document: &SimulationDocument) -> String {
    let (machine, workload) = (&document.machine, &document.workload);
    let recorded = document.recorded.as_ref();
    let mut text = document.verdict.as_ref().map_or_else(String::new, undecided);
    text.push_str(&format!(
        "{} ({} tasks) on {} ({} CPUs), seed {}, costs of {}\n",
        workload.name, workload.tasks, machine.name, machine.cpus, document.seed, document.costs
    ));
    for warning in &document.warnings {
        text.push_str(&format!("{warning}\n"));
    }
    text.push('\n');
    let mut rows = vec![COLUMNS.map(|(title, _)| title.to_owned()).to_vec()];
    rows.extend(recorded.map(recorded_row));
    rows.extend(document.runs.iter().map(|run| COLUMNS.map(|(_, cell)| cell(run)).to_vec()));
    text.push_str(&aligned(&rows, |column| column > 0));
    if document.runs.iter().any(|run| !run.complete) {
        text.push_str("* ended by the duration, before its tasks\n");
    }
    if let Some(line) = recorded.and_then(|recorded| recorded.distance(&document.runs)) {
        text.push_str(&format!("{line}\n"));
    }
    text.push_str(&shares(document));
    text.push_str(&requests(document));
    text.push_str(&fairness(document));
    text
}

/// That the replays do not decide between the policies, and why: the first lines.
fn undecided(verdict: &Verdict) -> String {
    if verdict.decides {
        return String::new();
    }
    let mut text = "Cannot decide between the policies:\n".to_owned();
    for reason in &verdict.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    text + "\n"
}

fn recorded_row(recorded: &Recorded) -> Vec<String> {
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let waits = recorded.wait_ns;
    vec![
        "recorded".to_owned(),
        ns(recorded.makespan_ns),
        count(recorded.voluntary),
        count(recorded.involuntary),
        count(recorded.migrations),
        maybe(waits.p50),
        maybe(waits.p90),
        maybe(waits.p99),
    ]
}

/// CPU time by use. A use that no run has is left out.
fn shares(document: &SimulationDocument) -> String {
    let used = |place: &usize| document.runs.iter().any(|run| run.cpu_ns.parts()[*place].1 > 0);
    let Some(first) = document.runs.first() else { return String::new() };
    let places: Vec<usize> = (0..first.cpu_ns.parts().len()).filter(used).collect();
    let mut titles = vec!["CPU time".to_owned()];
    titles.extend(places.iter().map(|place| first.cpu_ns.parts()[*place].0.to_owned()));
    let mut rows = vec![titles];
    for run in &document.runs {
        let parts = run.cpu_ns.parts();
        let cells = places.iter().map(|place| percent(run.cpu_ns.share(parts[*place].1)));
        rows.push(std::iter::once(run.policy.clone()).chain(cells).collect());
    }
    format!("\n{}", aligned(&rows, |column| column > 0))
}

fn requests(document: &SimulationDocument) -> String {
    let found: Vec<(&Summary, Durations)> =
        document.runs.iter().filter_map(|run| Some((run, run.request_ns?))).collect();
    if found.is_empty() {
        return String::new();
    }
    let mut rows = vec![["requests", "count", "p50", "p90", "p99", "longest"].map(str::to_owned).to_vec()];
    for (run, times) in found {
        let count = times.count.to_string();
        let times = [times.p50, times.p90, times.p99, times.max].map(maybe);
        rows.push([run.policy.clone(), count].into_iter().chain(times).collect());
    }
    format!("\n{}", aligned(&rows, |column| column > 0))
}

fn fairness(document: &SimulationDocument) -> String {
    let found: Vec<_> = document.runs.iter().filter_map(|run| Some((run, run.fairness.as_ref()?))).collect();
    let Some((_, first)) = found.first() else { return String::new() };
    let mut titles = ["applications", "throughput", "min fairness", "uniformity"].map(str::to_owned).to_vec();
    // More columns than a terminal is wide stay in the JSON.
    let shown = first.applications.len().min(8);
    titles.extend(first.applications[..shown].iter().map(|application| application.name.clone()));
    let mut rows = vec![titles];
    for (run, fairness) in &found {
        let mut row = vec![run.policy.clone()];
        row.extend(
            [fairness.throughput, fairness.min_fairness, fairness.uniformity]
                .map(|value| format!("{value:.3}")),
        );
        row.extend(fairness.applications[..shown].iter().map(|one| format!("{:.3}", one.performance)));
        rows.push(row);
    }
    let more = match first.applications.len() - shown {
        0 => String::new(),
        more => format!("{more} more applications are in --json\n"),
    };
    format!(
        "\n{}performance is relative to the run under {}\n{more}",
        aligned(&rows, |column| column > 0),
        first.relative_to
    )
}

/// Calls of the hooks, and their time.
fn hooks(document: &SimulationDocument) -> String {
    let mut rows = vec![
        ["hook", "policy", "calls", "time", "of that spinning", "mean", "basis"].map(str::to_owned).to_vec(),
    ];
    let Some(first) = document.runs.first() else { return String::new() };
    let called = |place: &usize| document.runs.iter().any(|run| run.hooks[*place].calls > 0);
    for place in (0..first.hooks.len()).filter(called) {
        for run in &document.runs {
            let hook = &run.hooks[place];
            let mean = hook.mean_ns.map_or_else(|| "-".to_owned(), format_ns);
            rows.push(vec![
                hook.hook.to_owned(),
                run.policy.clone(),
                hook.calls.to_string(),
                ns(hook.total_ns),
                ns(hook.spin_ns),
                mean,
                hook.basis.to_owned(),
            ]);
        }
    }
    format!("\n{}", aligned(&rows, |column| column > 0))
}

/// The figures that were assumed, not measured.
fn assumptions(document: &SimulationDocument) -> String {
    if document.assumptions.is_empty() {
        return String::new();
    }
    let mut text = "\nAssumed:\n".to_owned();
    for assumption in &document.assumptions {
        text.push_str(&format!("  {}: {} ({})\n", assumption.what, assumption.value, assumption.why));
    }
    text
}

fn ns(ns: u64) -> String {
    format_ns(ns as f64)
}

fn maybe(time_ns: Option<u64>) -> String {
    time_ns.map_or_else(|| "-".to_owned(), ns)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
