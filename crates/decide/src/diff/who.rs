//! Which tasks, pairs of tasks and functions differ.

use super::Difference;
use crate::metric::{Figure, PricedTrace, RATE};
use std::collections::{BTreeMap, HashMap};
use swtch_stats::{Interval, difference_of_runs, median};
use swtch_trace::tables::{InFront, StackReason, TaskRow};

/// A difference that is a smaller share of its figure's sum is not shown.
const LEAST_SHARE: f64 = 0.02;
/// Differences shown at most.
const MOST: usize = 16;
/// A pair is not shown by all switches where one kind of them is at least this part of the difference.
const ONE_KIND: f64 = 0.8;
/// In the place of a task that ended before it could be named.
const GONE: &str = "a task that was gone";
/// In the place of the task that woke, where that was an interrupt.
pub(super) const INTERRUPT: &str = "an interrupt";

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
    let by_tid: HashMap<u32, &TaskRow> = trace.tasks.iter().map(|task| (task.tid, task)).collect();
    let name = |tid: u32| by_tid.get(&tid).map_or(GONE, |task| program(&task.comm)).to_owned();
    let is_ours = |tid: u32| by_tid.get(&tid).is_some_and(|task| task.in_scope);
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
    for row in trace.preemptions.iter().filter(|row| is_ours(row.of_tid)) {
        // An involuntary switch has a task that preempted it, a voluntary one a task that woke it again: both are switches of the pair.
        for metric in ["involuntary", "switches"] {
            add(metric, name(row.of_tid), Some(name(row.by_tid)), None, row.count as f64);
        }
    }
    for row in trace.wakes.iter().filter(|row| is_ours(row.wakee_tid)) {
        let waker = if row.waker_tid == 0 { INTERRUPT.to_owned() } else { name(row.waker_tid) };
        for metric in ["wakeups", "switches"] {
            add(metric, name(row.wakee_tid), Some(waker.clone()), None, row.count as f64);
        }
    }
    for row in trace.waits.iter().filter(|row| is_ours(row.of_tid) && row.behind == InFront::Task) {
        let front = if row.program.is_empty() { GONE } else { program(&row.program) };
        add("wait.total", name(row.of_tid), Some(front.to_owned()), None, row.ns as f64);
    }
    for row in trace.stacks.iter().filter(|row| with_stacks && row.reason != StackReason::Wake) {
        let metric = if row.reason == StackReason::Voluntary { "voluntary" } else { "involuntary" };
        add(metric, program(&row.task).to_owned(), None, Some(row.function.clone()), row.switches as f64);
    }
    found
}

/// The name of a program. Threads of the kernel that work on a queue are one program, whatever the CPU in their names.
fn program(comm: &str) -> &str {
    comm.strip_prefix("kworker/").map_or(comm, |_| "kworker")
}
