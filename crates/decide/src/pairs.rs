//! Which programs switch because of which, and where: a Trace by the names of its tasks, as their numbers differ between runs.

use std::collections::{BTreeMap, HashMap};
use swtch_trace::TraceView;
use swtch_trace::tables::{StackReason, TaskRow};

/// In the place of a task that ended before it could be named.
pub(crate) const GONE: &str = "a task that was gone";
/// In the place of the task that woke, where that was an interrupt.
pub(crate) const INTERRUPT: &str = "an interrupt";
/// A function is named beside a pair where it has at least this part of the pair's difference.
const EXPLAINS: f64 = 0.5;

/// A program, and what it switched for: another program, or a function of its own in which it switched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SwitchedFor {
    /// The program that was switched from.
    pub(crate) task: String,
    /// The one that preempted it, or that woke it again.
    pub(crate) peer: Option<String>,
    /// The function that it was in.
    pub(crate) function: Option<String>,
    /// Whether it was preempted.
    pub(crate) is_involuntary: bool,
}

/// Names of tasks by their numbers.
pub(crate) struct TaskNames<'a>(HashMap<u32, Option<&'a TaskRow>>);

impl<'a> TaskNames<'a> {
    /// Of the tasks of a Trace, but for those to leave out. A thread number is used again; the last task of it has the name.
    pub(crate) fn of(trace: &'a TraceView<'_>, is_left_out: impl Fn(&TaskRow) -> bool) -> Self {
        Self(
            trace.tasks.iter().map(|task| (task.tid, Some(task).filter(|task| !is_left_out(task)))).collect(),
        )
    }

    /// The program of a task; absent where it is left out.
    pub(crate) fn name(&self, tid: u32) -> Option<String> {
        let task = self.0.get(&tid).copied();
        Some(task.map_or(Some(GONE), |task| task.map(|task| program(&task.comm)))?.to_owned())
    }

    /// Whether the task is one of those that were recorded.
    pub(crate) fn is_ours(&self, tid: u32) -> bool {
        self.0.get(&tid).copied().flatten().is_some_and(|task| task.in_scope)
    }
}

/// How often every program switched for every other one, and in every function where there are stacks.
pub(crate) fn switched_for(trace: TraceView<'_>, names: &TaskNames<'_>) -> BTreeMap<SwitchedFor, u64> {
    let mut found = BTreeMap::new();
    let mut add = |task: String, peer: Option<String>, function: Option<String>, is_involuntary, count| {
        *found.entry(SwitchedFor { task, peer, function, is_involuntary }).or_default() += count;
    };
    let preempted = trace.preemptions.iter().map(|row| (row.of_tid, names.name(row.by_tid), true, row.count));
    let woken = trace.wakes.iter().map(|row| {
        let waker = if row.waker_tid == 0 { Some(INTERRUPT.to_owned()) } else { names.name(row.waker_tid) };
        (row.wakee_tid, waker, false, row.count)
    });
    for (tid, peer, is_involuntary, count) in preempted.chain(woken).filter(|row| names.is_ours(row.0)) {
        if let (Some(task), Some(peer)) = (names.name(tid), peer) {
            add(task, Some(peer), None, is_involuntary, count);
        }
    }
    for row in trace.stacks.iter().filter(|row| row.reason != StackReason::Wake) {
        let is_involuntary = row.reason == StackReason::Involuntary;
        add(program(&row.task).to_owned(), None, Some(row.function.clone()), is_involuntary, row.switches);
    }
    found
}

/// The name of a program. Threads of the kernel that work on a queue are one program, whatever the CPU in their names.
pub(crate) fn program(comm: &str) -> &str {
    comm.strip_prefix("kworker/").map_or(comm, |_| "kworker")
}

/// The function that explains a pair's difference, of those of its task, each with its own difference.
pub(crate) fn explaining<'a>(
    difference: f64,
    functions: impl Iterator<Item = (&'a str, f64)>,
) -> Option<&'a str> {
    let same_sign = functions.filter(|(_, of_function)| of_function * difference > 0.0);
    let (function, of_function) = same_sign.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    (of_function.abs() >= EXPLAINS * difference.abs()).then_some(function)
}
