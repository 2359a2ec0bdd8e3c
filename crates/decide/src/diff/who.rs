//! Which tasks, pairs of tasks and functions differ.

use super::Difference;
use crate::metric::{Figure, PricedTrace, RATE};
use crate::pairs::{GONE, TaskNames, program, switched_for};
use std::collections::{BTreeMap, HashMap};
use swtch_stats::{Interval, difference_of_runs, median};
use swtch_trace::tables::InFront;

/// A difference that is a smaller share of its figure's sum is not shown.
const LEAST_SHARE: f64 = 0.02;
/// Differences shown at most.
const MOST: usize = 16;
/// A pair is not shown by all switches where one kind of them is at least this part of the difference.
const ONE_KIND: f64 = 0.8;

/// What a figure is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Who {
    metric: &'static str,
    task: String,
    peer: Option<String>,
    function: Option<String>,
}

type Amounts = BTreeMap<Who, f64>;

/// The differences between the runs of two sides, those that are the largest part of their figure first.
pub(super) fn differences(
    old: &[PricedTrace<'_>],
    new: &[PricedTrace<'_>],
    is_rate: bool,
) -> Vec<Difference> {
    let has_stacks = old.iter().chain(new).all(|run| !run.trace.stacks.is_empty());
    let amounts = |side: &[PricedTrace<'_>]| -> Vec<Amounts> {
        side.iter().map(|run| amounts(*run, is_rate, has_stacks)).collect()
    };
    let (old, new) = (amounts(old), amounts(new));
    // Tasks have all of a figure; pairs and functions, parts of it.
    let sum = |side: &[Amounts], metric: &str| {
        let of_run = |run: &Amounts| -> f64 {
            run.iter()
                .filter(|(who, _)| who.metric == metric && who.is_task())
                .map(|(_, amount)| amount)
                .sum()
        };
        median(&side.iter().map(of_run).collect::<Vec<f64>>())
    };
    let mut sums: HashMap<&str, f64> = HashMap::new();
    let mut keys: Vec<&Who> = old.iter().chain(&new).flat_map(Amounts::keys).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut found: Vec<Difference> = Vec::new();
    for who in keys.into_iter().filter(|who| who.is_shown()) {
        let whole =
            *sums.entry(who.metric).or_insert_with(|| sum(&old, who.metric).max(sum(&new, who.metric)));
        let values = |side: &[Amounts]| -> Vec<f64> {
            side.iter().map(|run| run.get(who).copied().unwrap_or(0.0)).collect()
        };
        let row = who.difference(&values(&old), &values(&new), whole, is_rate);
        let is_noise = row.ci_low.zip(row.ci_high).is_some_and(|(low, high)| low <= 0.0 && high >= 0.0);
        if row.share.abs() >= LEAST_SHARE && !is_noise {
            found.push(row);
        }
    }
    let kinds: Vec<Difference> = found.iter().filter(|row| row.peer.is_some()).cloned().collect();
    found.retain(|row| {
        let of_pair = |kind: &&Difference| {
            (&kind.task, &kind.peer) == (&row.task, &row.peer) && kind.metric != row.metric
        };
        let says_it = |kind: &Difference| kind.difference.abs() >= ONE_KIND * row.difference.abs();
        let is_pair = row.peer.is_some() && row.metric.trim_end_matches(RATE) == "switches";
        !is_pair || !kinds.iter().filter(of_pair).any(says_it)
    });
    found.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    found.truncate(MOST);
    found
}

impl Who {
    /// Whether it says what no other one does: of single tasks, voluntary switches and wake-ups are most of the switches.
    fn is_shown(&self) -> bool {
        !(self.is_task() && ["voluntary", "wakeups"].contains(&self.metric))
    }

    fn is_task(&self) -> bool {
        self.peer.is_none() && self.function.is_none()
    }

    fn difference(&self, old: &[f64], new: &[f64], whole: f64, is_rate: bool) -> Difference {
        let (before, after) = (median(old), median(new));
        let interval: Option<Interval> = difference_of_runs(old, new);
        let figure = Figure::named(self.metric, is_rate);
        Difference {
            task: self.task.clone(),
            peer: self.peer.clone(),
            function: self.function.clone(),
            metric: figure.to_string(),
            unit: figure.unit().name().to_owned(),
            old: before,
            new: after,
            difference: after - before,
            ci_low: interval.map(|interval| interval.low),
            ci_high: interval.map(|interval| interval.high),
            share: if whole > 0.0 { (after - before) / whole } else { 0.0 },
        }
    }
}

/// Everything that a run says of tasks, pairs and functions.
fn amounts(run: PricedTrace<'_>, is_rate: bool, with_stacks: bool) -> Amounts {
    let trace = run.trace;
    let names = TaskNames::of(&trace, |_| false);
    let mut found = Amounts::new();
    let seconds = trace.header.duration_ns as f64 / 1e9;
    let mut add = |metric, task: String, peer: Option<String>, function: Option<String>, amount: f64| {
        let of_time = if Figure::named(metric, false).unit() == swtch_units::Unit::Time { 1e9 } else { 1.0 };
        let amount = if is_rate { amount / (seconds.max(1e-9) * of_time) } else { amount };
        *found.entry(Who { metric, task, peer, function }).or_default() += amount;
    };
    for task in trace.in_scope() {
        let figures = [
            ("switches", task.switches() as f64),
            ("voluntary", task.voluntary as f64),
            ("involuntary", task.involuntary as f64),
            ("wakeups", task.wakeups as f64),
            ("cpu.time", swtch_trace::figures::cpu_ns(task) as f64),
            ("wait.total", task.wait_ns as f64),
        ];
        for (metric, amount) in figures {
            add(metric, program(&task.comm).to_owned(), None, None, amount);
        }
    }
    for (of, count) in switched_for(trace, &names) {
        match (of.function.is_some(), of.is_involuntary) {
            (true, _) if !with_stacks => {}
            (true, is_involuntary) => {
                let metric = if is_involuntary { "involuntary" } else { "voluntary" };
                add(metric, of.task, None, of.function, count as f64);
            }
            // An involuntary switch has a task that preempted it, a voluntary one a task that woke it again: both are switches of the pair.
            (false, is_involuntary) => {
                for metric in [if is_involuntary { "involuntary" } else { "wakeups" }, "switches"] {
                    add(metric, of.task.clone(), of.peer.clone(), None, count as f64);
                }
            }
        }
    }
    for row in trace.waits.iter().filter(|row| names.is_ours(row.of_tid) && row.behind == InFront::Task) {
        let front = if row.program.is_empty() { GONE } else { program(&row.program) };
        let task = names.name(row.of_tid).unwrap_or_default();
        add("wait.total", task, Some(front.to_owned()), None, row.ns as f64);
    }
    found
}
