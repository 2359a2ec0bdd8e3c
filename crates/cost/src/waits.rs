//! How long tasks waited for a CPU, by program, and behind what: the table `waits` with the tasks' names, parents and nice values.

use crate::model::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use swtch_stats::class_quantile;
use swtch_trace::TraceView;
use swtch_trace::tables::{HistogramRow, InFront, SchedPolicy, TaskRow, WaitStart};

/// Waits after wake-ups decide which program comes first where they are at least this part of the recording. They delay answers; a wait after a
/// preemption only makes work longer.
const LEAST_WOKEN_OF_DURATION: f64 = 0.01;
/// Waits come before the cost of switches only if one of a hundred takes at least this, ns.
const LEAST_P99_NS: u64 = 1_000_000;

/// The waits of the recorded tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// How long the tasks waited in run queues in all, ns.
    pub wait_ns: u64,
    /// How often.
    pub waits: u64,
    /// Median of one wait, ns.
    pub p50_ns: Option<u64>,
    /// 99 waits of 100 were at most this long, ns.
    pub p99_ns: Option<u64>,
    /// The longest wait, ns.
    pub max_ns: Option<u64>,
    /// The program of the longest wait.
    pub longest_of: Option<String>,
    /// By program, the one that suffered most first: programs of low priority last, those that waited longest after wake-ups first.
    pub programs: Vec<ProgramWaits>,
}

/// The waits of the tasks of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramWaits {
    /// Its name.
    pub program: String,
    /// Its tasks that waited.
    pub tasks: u64,
    /// How often they waited.
    pub waits: u64,
    /// How long in all, ns.
    pub wait_ns: u64,
    /// Of this, after wake-ups, ns.
    pub woken_ns: u64,
    /// Of this, after preemptions, ns.
    pub preempted_ns: u64,
    /// Median of one wait, ns; absent where the Trace lacks the distribution of one of the tasks.
    pub p50_ns: Option<u64>,
    /// 99 waits of 100 were at most this long, ns; absent like the median.
    pub p99_ns: Option<u64>,
    /// The longest wait, ns.
    pub max_ns: Option<u64>,
    /// Of `wait_ns`, time in which another CPU was idle that the tasks may use; absent where that is not known.
    pub idle_elsewhere_ns: Option<u64>,
    /// The CPUs that the tasks may use, where it is the same for all and known.
    pub cpus_allowed: Option<String>,
    /// The nice value, where all tasks have the same and it is known.
    pub nice: Option<i32>,
    /// What had the CPU meanwhile, the longest first. The parts add up to `wait_ns`.
    pub behind: Vec<WaitPart>,
}

/// What had the CPU during a part of a program's waiting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitPart {
    /// What it is.
    pub cause: InFront,
    /// The name of the tasks in front, where tasks were.
    pub program: Option<String>,
    /// How long, ns.
    pub ns: u64,
    /// As a part of the program's waiting.
    pub share: f64,
    /// Of `ns`, in waits after wake-ups.
    pub woken_ns: u64,
    /// Of `ns`, in waits after preemptions.
    pub preempted_ns: u64,
    /// Tasks of that name.
    pub tasks: u64,
    /// The process that made them, where all have the same and it has another name.
    pub parent_pid: Option<u32>,
    /// Their nice value, where all have the same and it is known.
    pub nice: Option<i32>,
    /// Their policy, where all have the same and it is known.
    pub policy: Option<SchedPolicy>,
    /// They are threads of the kernel.
    pub kernel_threads: bool,
    /// They were recorded.
    pub in_scope: bool,
}

impl Waits {
    /// Absent where the Trace has no table of waits, or no task waited.
    pub(crate) fn of(trace: TraceView<'_>) -> Option<Self> {
        if trace.waits.is_empty() {
            return None;
        }
        let by_name = tasks_by_name(trace);
        let histograms = TaskWaits::of(trace);
        let mut programs: BTreeMap<&str, ProgramWaits> = BTreeMap::new();
        let mut parts: BTreeMap<(&str, InFrontKey<'_>), WaitPart> = BTreeMap::new();
        let name: HashMap<u32, &str> = trace.in_scope().map(|task| (task.tid, task.comm.as_str())).collect();
        for row in &trace.waits {
            let Some(of) = name.get(&row.of_tid) else { continue };
            let key = (row.behind.to_string(), row.program.as_str());
            let part = parts.entry((of, key)).or_insert_with(|| part(row.behind, &row.program, &by_name));
            part.ns += row.ns;
            *(if row.began == WaitStart::Woken { &mut part.woken_ns } else { &mut part.preempted_ns }) +=
                row.ns;
        }
        for ((of, _), part) in parts {
            let program = programs.entry(of).or_default();
            program.wait_ns += part.ns;
            program.woken_ns += part.woken_ns;
            program.preempted_ns += part.preempted_ns;
            program.behind.push(part);
        }
        let mut programs: Vec<ProgramWaits> = programs
            .into_iter()
            .map(|(name, waits)| with_tasks(name, waits, &by_name, &histograms))
            .collect();
        let woken_counts =
            programs.iter().map(|program| program.woken_ns).max() >= Some(least_woken_ns(trace));
        programs.sort_by_key(|program| {
            let suffered_ns = if woken_counts { program.woken_ns } else { program.wait_ns };
            (program.nice > Some(0), Reverse((suffered_ns, program.wait_ns)))
        });
        let longest = trace.in_scope().max_by_key(|task| task.wait_max_ns);
        let all =
            |share| quantile_of(&trace.histograms, "all", share, longest.and_then(|task| task.wait_max_ns));
        Some(Self {
            wait_ns: trace.in_scope().map(|task| task.wait_ns).sum(),
            waits: trace.in_scope().map(|task| task.waits).sum(),
            p50_ns: all(0.5),
            p99_ns: all(0.99),
            max_ns: longest.and_then(|task| task.wait_max_ns),
            longest_of: longest.map(|task| task.comm.clone()),
            programs,
        })
    }

    /// How long quotas stopped tasks, ns.
    pub fn behind_quota_ns(&self) -> u64 {
        let parts = self.programs.iter().flat_map(|program| &program.behind);
        parts.filter(|part| part.cause == InFront::Quota).map(|part| part.ns).sum()
    }

    /// The program that suffered most.
    pub fn worst(&self) -> Option<&ProgramWaits> {
        self.programs.first()
    }

    /// Whether the waits of the worst program are worse than the cost of all switches. They are if they are longer in all, and each is long
    /// enough for a user to notice.
    pub fn are_worse_than(&self, switches_ns: Option<Range>) -> bool {
        self.worst().is_some_and(|worst| {
            let long = worst.p99_ns.or(worst.max_ns) >= Some(LEAST_P99_NS);
            long && switches_ns.is_none_or(|cost| worst.wait_ns as f64 > cost.high)
        })
    }
}

impl WaitPart {
    /// Whether the tasks in front are those of the waiting program itself.
    pub fn is_of(&self, waiting: &ProgramWaits) -> bool {
        self.program.as_ref() == Some(&waiting.program)
    }
}

type InFrontKey<'a> = (String, &'a str);

fn least_woken_ns(trace: TraceView<'_>) -> u64 {
    (LEAST_WOKEN_OF_DURATION * trace.header.duration_ns as f64) as u64
}

fn tasks_by_name(trace: TraceView<'_>) -> HashMap<&str, Vec<&TaskRow>> {
    let mut by_name: HashMap<&str, Vec<&TaskRow>> = HashMap::new();
    for task in &trace.tables.tasks {
        by_name.entry(&task.comm).or_default().push(task);
    }
    by_name
}

/// What all have, if they have the same.
fn common<T: PartialEq + Clone>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|one| one.as_ref() == Some(&first)).then_some(first)
}

fn part(cause: InFront, program: &str, by_name: &HashMap<&str, Vec<&TaskRow>>) -> WaitPart {
    let tasks = by_name.get(program).filter(|_| cause == InFront::Task).map_or(&[][..], Vec::as_slice);
    let parent_pid = common(tasks.iter().map(|task| task.parent_pid)).filter(|parent| *parent > 0);
    WaitPart {
        cause,
        program: (cause == InFront::Task).then(|| program.to_owned()),
        ns: 0,
        share: 0.0,
        woken_ns: 0,
        preempted_ns: 0,
        tasks: tasks.len() as u64,
        parent_pid: parent_pid.filter(|_| tasks.len() > 1),
        nice: common(tasks.iter().map(|task| task.nice)),
        policy: common(tasks.iter().map(|task| task.policy)),
        kernel_threads: !tasks.is_empty() && tasks.iter().all(|task| task.kernel_thread),
        in_scope: tasks.iter().any(|task| task.in_scope),
    }
}

/// Adds what the tasks table says of a program.
fn with_tasks(
    name: &str,
    mut waits: ProgramWaits,
    by_name: &HashMap<&str, Vec<&TaskRow>>,
    histograms: &TaskWaits,
) -> ProgramWaits {
    let all = by_name.get(name).map_or(&[][..], Vec::as_slice);
    let waited: Vec<&TaskRow> = all.iter().copied().filter(|task| task.in_scope && task.waits > 0).collect();
    name.clone_into(&mut waits.program);
    waits.tasks = waited.len() as u64;
    waits.waits = waited.iter().map(|task| task.waits).sum();
    waits.max_ns = waited.iter().filter_map(|task| task.wait_max_ns).max();
    [waits.p50_ns, waits.p99_ns] = match &waited[..] {
        [one] => [one.wait_p50_ns, one.wait_p99_ns],
        several => [0.5, 0.99].map(|share| histograms.quantile(several, share, waits.max_ns)),
    };
    waits.idle_elsewhere_ns = waited.iter().map(|task| task.idle_elsewhere_ns).sum();
    waits.cpus_allowed = common(waited.iter().map(|task| task.cpus_allowed.clone()));
    waits.nice = common(waited.iter().map(|task| task.nice));
    for part in &mut waits.behind {
        part.share = part.ns as f64 / waits.wait_ns.max(1) as f64;
    }
    waits.behind.sort_by_key(|part| Reverse(part.ns));
    waits
}

fn quantile_of(rows: &[HistogramRow], of: &str, share: f64, longest_ns: Option<u64>) -> Option<u64> {
    let classes: Vec<(u64, u64, u64)> = rows
        .iter()
        .filter(|row| row.metric == "wait" && row.of == of)
        .map(|row| (row.from_ns, row.to_ns, row.count))
        .collect();
    class_quantile(classes, share, longest_ns)
}

/// The distributions of the waits of single tasks.
struct TaskWaits(HashMap<u32, Vec<(u64, u64, u64)>>);

impl TaskWaits {
    fn of(trace: TraceView<'_>) -> Self {
        let mut by_task: HashMap<u32, Vec<(u64, u64, u64)>> = HashMap::new();
        for row in trace.tables.histograms.iter().filter(|row| row.metric == "wait") {
            if let Some(tid) = row.of.strip_prefix("task ").and_then(|tid| tid.parse().ok()) {
                by_task.entry(tid).or_default().push((row.from_ns, row.to_ns, row.count));
            }
        }
        Self(by_task)
    }

    /// Of all these tasks together, where each has its distribution.
    fn quantile(&self, tasks: &[&TaskRow], share: f64, longest_ns: Option<u64>) -> Option<u64> {
        let mut classes: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for task in tasks {
            for (from, to, count) in self.0.get(&task.tid)? {
                *classes.entry((*from, *to)).or_default() += count;
            }
        }
        let classes = classes.iter().map(|((from, to), count)| (*from, *to, *count));
        class_quantile(classes, share, longest_ns)
    }
}
