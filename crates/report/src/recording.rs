//! What a recording came to, for people and for machines.

use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use swtch_cost::{Advice, Bill, Caveat};
use swtch_stats::LEAST_WINDOWS;
use swtch_trace::model::{Header, Sampled, Scope};
use swtch_trace::tables::{InterruptRow, PreemptionRow, StackRow, TaskRow};
use swtch_trace::{TraceView, figures};
use swtch_units::format_ns;

/// A Trace's figures and its bill. This is the one place that decides which of them are shown.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// What was recorded. Pairs and interrupts are the most frequent first, cgroups those with most switches.
    pub trace: TraceView<'a>,
    /// What it cost.
    pub bill: &'a Bill,
    /// What besides the workload could explain the figures.
    pub caveats: &'a [Caveat],
    /// What stands out, where that was asked for.
    pub advice: Option<&'a [Advice]>,
}

/// The windows that estimates are from, and their share of the time; absent where every switch was seen.
pub(crate) fn windows(header: &Header) -> Option<String> {
    let Sampled { windows, share, .. } = header.sampled.values().next()?;
    let windows = if *windows == 1 { "1 window".to_owned() } else { format!("{windows} windows") };
    Some(format!("{windows}, {:.1} % of the time", 100.0 * share))
}

/// That figures are estimates from windows of time, and how sure the cost is; absent where every switch was seen.
pub(crate) fn sampled(header: &Header) -> Option<String> {
    let of = header.sampled.get("totals.switch_cost_ns").or_else(|| header.sampled.values().next())?;
    let windows = windows(header)?;
    let mut text = format!("Sampled: waits, slices, costs and cold caches are estimates from {windows}");
    if let Some((low, high)) = of.ci_low.zip(of.ci_high) {
        let (low, high) = (format_ns(low), format_ns(high));
        text.push_str(&format!("; all switches cost {low} to {high} (95 %)"));
    }
    if of.windows < LEAST_WINDOWS {
        text.push_str("; they are too few to decide by, --sample 100% sees every switch");
    }
    Some(text)
}

impl Summary<'_> {
    /// The summary as `swtch record --json` prints it. A figure that is unavailable is `null` and has its reason in `unavailable`.
    pub fn json(&self) -> Value {
        let Self { trace: TraceView { header, .. }, bill, .. } = self;
        let totals = &header.totals;
        let names = self.names();
        let command = match &header.scope {
            Scope::Command { command, .. } => Some(command),
            _ => None,
        };
        json!({
            "schema": "swtch/record/2",
            "command": command,
            "scope": header.scope,
            "exit_status": header.exit_status,
            "ended": header.provenance.ended,
            "duration_ns": header.duration_ns,
            "source": source(&header.provenance.recorder),
            "why": header.provenance.why,
            "context_switches": totals.context_switches,
            "migrations": totals.migrations,
            "wakeups": totals.wakeups,
            "lost": header.lost_events(),
            "losses": header.lost,
            "sampled": header.sampled,
            "switches_per_second": figures::switches_per_second(header),
            "machine_cpu_ns": totals.cpu_ns,
            "processes": totals.processes,
            "throttled": totals.throttled,
            "pressure": totals.pressure,
            "interrupts": self.trace.tables.interrupts.iter().filter(|row| row.cpu.is_none()).map(interrupt).collect::<Vec<_>>(),
            "tasks": self.shown_tasks().into_iter().map(|row| task(row, header)).collect::<Vec<_>>(),
            "cgroups": self.trace.tables.cgroups,
            "preemptions": self.trace.tables.preemptions.iter().map(|row| preemption(row, &names)).collect::<Vec<_>>(),
            "stacks": self.trace.tables.stacks.iter().map(stack).collect::<Vec<_>>(),
            "reconciliation": header.reconciliation,
            "recorder": header.recorder,
            "cost": {
                "direct_ns": bill.direct_ns,
                "in_place": bill.in_place,
                "indirect_ns": bill.indirect_ns,
                "indirect_from": bill.indirect_from,
                "share": bill.share,
                "measured_in_place": bill.measured_in_place,
                "switch_ns": bill.switch_ns,
                "tasks_cpu_ns": bill.cpu_ns,
                "tasks": bill.tasks,
                "causes": bill.causes,
                "money": bill.money,
            },
            "waits": bill.waits,
            "caveats": self.caveats,
            "spoiled": self.caveats.iter().any(Caveat::spoils),
            "advice": self.advice,
            "sources": header.sources,
            "unavailable": header.unavailable,
        })
    }

    /// The tasks of the scope, those with most switches first.
    pub(crate) fn shown_tasks(&self) -> Vec<&TaskRow> {
        let mut tasks: Vec<&TaskRow> = self.trace.tables.in_scope().collect();
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.switches()), task.tid));
        tasks
    }

    /// The names of the tasks by thread id. Pairs are many, so the tasks are gone through once.
    pub(crate) fn names(&self) -> TaskNames<'_> {
        let mut names = HashMap::new();
        for task in &self.trace.tables.tasks {
            names.entry(task.tid).or_insert(task.comm.as_str());
        }
        TaskNames(names)
    }
}

/// The names of a Trace's tasks. Of tasks with one id after each other it is the first one's.
pub(crate) struct TaskNames<'a>(HashMap<u32, &'a str>);

impl TaskNames<'_> {
    /// The name of a task, or its id where the Trace has no such task.
    pub(crate) fn of(&self, tid: u32) -> Cow<'_, str> {
        self.0.get(&tid).map_or_else(|| format!("tid {tid}").into(), |name| (*name).into())
    }
}

fn preemption(row: &PreemptionRow, names: &TaskNames<'_>) -> Value {
    json!({
        "by": names.of(row.by_tid),
        "by_tid": row.by_tid,
        "of": names.of(row.of_tid),
        "of_tid": row.of_tid,
        "count": row.count,
        "ns": row.ns,
    })
}

/// `bpf`, `perf` or `procfs`, whatever its mode.
pub(crate) fn source(recorder: &str) -> &str {
    recorder.split('-').next().unwrap_or(recorder)
}

fn interrupt(row: &InterruptRow) -> Value {
    json!({ "kind": row.kind, "line": row.line, "name": row.name, "count": row.count, "ns": row.ns })
}

fn stack(row: &StackRow) -> Value {
    json!({
        "reason": row.reason,
        "task": row.task,
        "function": row.function,
        "frames": row.frames.split(';').collect::<Vec<_>>(),
        "switches": row.switches,
        "off_cpu_ns": row.off_cpu_ns,
        "wait_ns": row.wait_ns,
        "cost_ns": row.cost_ns,
    })
}

fn task(row: &TaskRow, header: &Header) -> Value {
    let sampled = header.sampled.get("tasks.switch_cost_ns").map(|of| Sampled {
        ci_low: row.switch_cost_ci_low_ns.map(|ns| ns as f64),
        ci_high: row.switch_cost_ci_high_ns.map(|ns| ns as f64),
        ..*of
    });
    json!({
        "tid": row.tid,
        "pid": row.pid,
        "comm": row.comm,
        "parent_pid": row.parent_pid,
        "policy": row.policy,
        "nice": row.nice,
        "cpus_allowed": row.cpus_allowed,
        "voluntary": row.voluntary,
        "involuntary": row.involuntary,
        "cpu_ns": figures::cpu_ns(row),
        "run_ns": row.run_ns,
        "wait_ns": {
            "total": row.wait_ns,
            "p50": row.wait_p50_ns,
            "p90": row.wait_p90_ns,
            "p99": row.wait_p99_ns,
            "max": row.wait_max_ns,
        },
        "wakeups": row.wakeups,
        "migrations": row.migrations(),
        "switch_cost_ns": row.switch_cost_ns,
        "sampled": sampled,
        "working_set_bytes": row.working_set_bytes,
    })
}
