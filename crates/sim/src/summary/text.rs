//! The document as text: a row per policy.

mod replay;

use super::{SimulationDocument, Summary};
use crate::recorded::Recorded;
use crate::stats::Durations;
use crate::workload::KERNEL_THREADS;
use swtch_units::{TextTable, format_ns};

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

/// The workload's tasks, those among them that others make; the kernel's own threads are not.
fn own_tasks(document: &SimulationDocument) -> u64 {
    let of_run = |run: &Summary| {
        let own = run.tasks.iter().filter(|row| row.name != KERNEL_THREADS);
        own.map(|row| row.tasks).sum::<u64>()
    };
    document.runs.first().map_or(document.workload.tasks, of_run)
}

/// The comparison; the recording is the first row, if there is one.
fn runs(document: &SimulationDocument) -> String {
    let (machine, workload) = (&document.machine, &document.workload);
    let recorded = document.recorded.as_ref();
    let mut text = replay::answer(document);
    text.push_str(&format!(
        "{} ({} tasks) on {} ({} CPUs), seed {}, costs of {}\n",
        workload.name,
        own_tasks(document),
        machine.name,
        machine.cpus,
        document.seed,
        document.costs
    ));
    for warning in &document.warnings {
        text.push_str(&format!("{warning}\n"));
    }
    text.push('\n');
    let mut table = TextTable::new(COLUMNS.map(|(title, _)| title));
    if let Some(recorded) = recorded {
        table.row(recorded_row(recorded));
    }
    if let Some(ensemble) = &document.ensemble {
        for run in &ensemble.policies {
            table.row(replay::row(run));
        }
    } else {
        for run in &document.runs {
            table.row(COLUMNS.map(|(_, cell)| cell(run)));
        }
    }
    text.push_str(&table.to_string());
    if document.runs.iter().any(|run| !run.complete) {
        text.push_str("* ended by the duration, before its tasks\n");
    }
    text.push_str(&replay::distances(document));
    text.push_str(&replay::effects(document));
    text.push_str(&shares(document));
    text.push_str(&cgroups(document));
    text.push_str(&requests(document));
    text.push_str(&fairness(document));
    text
}

fn recorded_row(recorded: &Recorded) -> [String; COLUMNS.len()] {
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let waits = recorded.wait_ns;
    [
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
    let uses = places.iter().map(|place| first.cpu_ns.parts()[*place].0);
    let mut table = TextTable::new(std::iter::once("CPU time").chain(uses));
    for run in &document.runs {
        let parts = run.cpu_ns.parts();
        let cells = places.iter().map(|place| percent(run.cpu_ns.share(parts[*place].1)));
        table.row(std::iter::once(run.policy.clone()).chain(cells));
    }
    format!("\n{table}")
}

/// What cgroups got, and for how long a quota stopped them.
fn cgroups(document: &SimulationDocument) -> String {
    if document.runs.iter().all(|run| run.cgroups.is_empty()) {
        return String::new();
    }
    let mut table =
        TextTable::new(["cgroup", "policy", "on CPUs", "throttled", "of periods", "time throttled"]);
    for run in &document.runs {
        for cgroup in &run.cgroups {
            table.row([
                cgroup.name.clone(),
                run.policy.clone(),
                ns(cgroup.run_ns),
                cgroup.throttled_periods.to_string(),
                cgroup.periods.to_string(),
                ns(cgroup.throttled_ns),
            ]);
        }
    }
    format!("\n{table}")
}

fn requests(document: &SimulationDocument) -> String {
    let found: Vec<(&Summary, Durations)> =
        document.runs.iter().filter_map(|run| Some((run, run.request_ns?))).collect();
    if found.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(["requests", "count", "p50", "p90", "p99", "longest"]);
    for (run, times) in found {
        let count = times.count.to_string();
        let times = [times.p50, times.p90, times.p99, times.max].map(maybe);
        table.row([run.policy.clone(), count].into_iter().chain(times));
    }
    format!("\n{table}")
}

fn fairness(document: &SimulationDocument) -> String {
    let found: Vec<_> = document.runs.iter().filter_map(|run| Some((run, run.fairness.as_ref()?))).collect();
    let Some((_, first)) = found.first() else { return String::new() };
    let titles = ["applications", "throughput", "min fairness", "uniformity"];
    // More columns than a terminal is wide stay in the JSON.
    let shown = first.applications.len().min(8);
    let names = first.applications[..shown].iter().map(|application| application.name.as_str());
    let mut table = TextTable::new(titles.into_iter().chain(names));
    for (run, fairness) in &found {
        let metrics = [fairness.throughput, fairness.min_fairness, fairness.uniformity];
        let performances = fairness.applications[..shown].iter().map(|one| one.performance);
        let figures = metrics.into_iter().chain(performances).map(|value| format!("{value:.3}"));
        table.row(std::iter::once(run.policy.clone()).chain(figures));
    }
    let more = match first.applications.len() - shown {
        0 => String::new(),
        more => format!("{more} more applications are in --json\n"),
    };
    format!("\n{table}performance is relative to the run under {}\n{more}", first.relative_to)
}

/// Calls of the hooks, and their time.
fn hooks(document: &SimulationDocument) -> String {
    let mut table = TextTable::new(["hook", "policy", "calls", "time", "of that spinning", "mean", "basis"]);
    let Some(first) = document.runs.first() else { return String::new() };
    let called = |place: &usize| document.runs.iter().any(|run| run.hooks[*place].calls > 0);
    for place in (0..first.hooks.len()).filter(called) {
        for run in &document.runs {
            let hook = &run.hooks[place];
            let mean = hook.mean_ns.map_or_else(|| "-".to_owned(), format_ns);
            table.row([
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
    format!("\n{table}")
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
