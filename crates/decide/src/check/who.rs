//! Which tasks made the switches of a recorded ensemble, by name: small enough for a baseline, and what a change is explained by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swtch_trace::TraceView;
use swtch_trace::model::Scope;

/// Switches of tasks of one name, of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// The task that was switched from.
    pub task: String,
    /// The task that preempted it, or that woke it again.
    pub peer: Option<String>,
    /// `involuntary` or `voluntary`.
    pub metric: String,
    /// Their number a run.
    pub count: f64,
}

/// How many more switches there are than in the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhoDifference {
    /// The task that was switched from.
    pub task: String,
    /// The task that preempted it, or that woke it again.
    pub peer: Option<String>,
    /// `involuntary` or `voluntary`.
    pub metric: String,
    /// Their number a run, less that of the baseline.
    pub difference: f64,
}

/// This program in a guest: it starts the command and records it.
const OWN: &str = "swtch";
/// What a baseline keeps: the pairs with most switches.
const MOST: usize = 40;

/// Of a Trace of `runs` runs, without what this program adds.
pub(super) fn who(trace: TraceView<'_>, runs: usize) -> Vec<Who> {
    let runner = match &trace.header.scope {
        Scope::Command { pid, .. } => *pid,
        _ => 0,
    };
    // A thread number is used again; the last task of it has the name.
    let named: BTreeMap<u32, &str> = trace
        .tasks
        .iter()
        .filter(|task| task.pid != runner && task.comm != OWN)
        .map(|task| (task.tid, task.comm.as_str()))
        .collect();
    let is_counted: BTreeMap<u32, bool> = trace.tasks.iter().map(|task| (task.tid, task.in_scope)).collect();
    let mut counts: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    let mut add = |of: u32, by: u32, metric, count| {
        if is_counted.get(&of) == Some(&true)
            && let (Some(task), Some(peer)) = (named.get(&of), named.get(&by))
        {
            *counts.entry((task, peer, metric)).or_default() += count;
        }
    };
    trace.preemptions.iter().for_each(|row| add(row.of_tid, row.by_tid, "involuntary", row.count));
    trace.wakes.iter().for_each(|row| add(row.wakee_tid, row.waker_tid, "voluntary", row.count));
    let mut found: Vec<Who> = counts
        .into_iter()
        .map(|((task, peer, metric), count)| Who {
            task: task.to_owned(),
            peer: Some(peer.to_owned()),
            metric: metric.to_owned(),
            count: count as f64 / runs as f64,
        })
        .collect();
    found.sort_by(|one, other| other.count.total_cmp(&one.count));
    found.truncate(MOST);
    found.sort_by(|one, other| {
        (&one.task, &one.peer, &one.metric).cmp(&(&other.task, &other.peer, &other.metric))
    });
    found
}

/// What there is more or less of, the largest difference first.
pub(super) fn differences(old: &[Who], new: &[Who]) -> Vec<WhoDifference> {
    let mut sums: BTreeMap<(&str, Option<&str>, &str), f64> = BTreeMap::new();
    for (side, sign) in [(old, -1.0), (new, 1.0)] {
        for who in side {
            *sums.entry((&who.task, who.peer.as_deref(), &who.metric)).or_default() += sign * who.count;
        }
    }
    let mut found: Vec<WhoDifference> = sums
        .into_iter()
        .filter(|(_, difference)| *difference != 0.0)
        .map(|((task, peer, metric), difference)| WhoDifference {
            task: task.to_owned(),
            peer: peer.map(str::to_owned),
            metric: metric.to_owned(),
            difference,
        })
        .collect();
    found.sort_by(|one, other| other.difference.abs().total_cmp(&one.difference.abs()));
    found
}

impl WhoDifference {
    /// `logger preempts worker 398 times more a run`.
    pub fn words(&self) -> String {
        let Self { task, peer, metric, difference } = self;
        let amount = if difference.abs() >= 10.0 {
            format!("{:.0}", difference.abs())
        } else {
            format!("{:.1}", difference.abs())
        };
        let times = format!("{amount} times {} a run", if *difference > 0.0 { "more" } else { "less" });
        match (peer, metric.as_str()) {
            (Some(peer), "involuntary") => format!("{task} is preempted by {peer} {times}"),
            (Some(peer), _) => format!("{task} waits for {peer} {times}"),
            (None, metric) => format!("{task} makes {metric} switches {times}"),
        }
    }
}
