//! What a recorded run of a load says: why its figures are what they are.

use crate::compare::counted::Prepared;
use crate::compare::record_into;
use crate::error::SchedError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::Path;
use swtch_cost::{Inputs, Range, bill};
use swtch_trace::{Trace, TraceView, figures};

/// Pairs of programs of which one preempted the other; those with fewer preemptions are left out.
const MOST_PAIRS: usize = 3;

/// One run of a load that was recorded, after all that were counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// Moves of its tasks between CPUs.
    pub migrations: Option<u64>,
    /// Half of all waits in run queues were at most this long, ns.
    pub wait_p50_ns: Option<u64>,
    /// 99 of 100 waits.
    pub wait_p99_ns: Option<u64>,
    /// The mean direct cost of one switch, ns.
    pub switch_ns: Option<f64>,
    /// The direct cost of all switches as a share of the CPU time of the tasks.
    pub switch_share: Option<f64>,
    /// Which programs preempted which, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted: Vec<PreemptedBy>,
    /// Why figures are missing, where some are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// Preemptions of the tasks of one name by those of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreemptedBy {
    /// The program that lost the CPU.
    pub of: String,
    /// The program that took it.
    pub by: String,
    /// How often.
    pub count: u64,
}

/// Runs a load with a recorder. A run that fails with it has the reason: the counted runs are there without it.
pub(super) fn run(one: &Prepared, words: &[OsString], program: &Path) -> Result<RecordedRun, SchedError> {
    let scratch = tempfile::tempdir().map_err(SchedError::system("making a directory for a Trace"))?;
    let folder = scratch.path().join("run.swtch");
    let read = || Ok(of(Trace::open(&folder)?.view()));
    match record_into(program, one, words, &folder, &mut || false).and_then(|()| read()) {
        Ok(recorded) => Ok(recorded),
        Err(SchedError::Interrupted) => Err(SchedError::Interrupted),
        Err(error) => Ok(RecordedRun { unavailable: Some(error.to_string()), ..RecordedRun::default() }),
    }
}

fn of(trace: TraceView<'_>) -> RecordedRun {
    let bill = bill(Inputs { trace, model: None, price: None });
    let wait = |share| figures::quantile_ns(&trace.tasks, &trace.histograms, "wait", "all", share);
    let moves = trace
        .in_scope()
        .map(|task| Some(task.migrations_same_l2? + task.migrations_same_l3? + task.migrations_across?));
    let direct = bill.direct_ns.map(Range::middle);
    let mut reasons: Vec<&str> = trace.header.unavailable.iter().map(|row| row.reason.as_str()).collect();
    reasons.dedup();
    let mut recorded = RecordedRun {
        migrations: moves.sum(),
        wait_p50_ns: wait(0.5),
        wait_p99_ns: wait(0.99),
        switch_ns: bill.switch_ns.map(Range::middle),
        switch_share: direct.filter(|_| bill.cpu_ns > 0.0).map(|ns| ns / bill.cpu_ns),
        preempted: preempted(trace),
        unavailable: None,
    };
    let lacks =
        recorded.migrations.is_none() || recorded.wait_p50_ns.is_none() || recorded.switch_ns.is_none();
    recorded.unavailable = (lacks && !reasons.is_empty()).then(|| reasons.join("; "));
    recorded
}

/// By the names of the tasks, as their numbers differ between runs.
fn preempted(trace: TraceView<'_>) -> Vec<PreemptedBy> {
    let tasks: HashMap<u32, (&str, bool)> =
        trace.tasks.iter().map(|task| (task.tid, (task.comm.as_str(), task.in_scope))).collect();
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for row in &trace.preemptions {
        if let (Some((of, true)), Some((by, _))) = (tasks.get(&row.of_tid), tasks.get(&row.by_tid)) {
            *counts.entry((of, by)).or_default() += row.count;
        }
    }
    let pair =
        |((of, by), count): ((&str, &str), u64)| PreemptedBy { of: of.to_owned(), by: by.to_owned(), count };
    let mut pairs: Vec<PreemptedBy> = counts.into_iter().map(pair).collect();
    // A stable sort: pairs of one count keep the order of their names.
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.count));
    pairs.truncate(MOST_PAIRS);
    pairs
}
