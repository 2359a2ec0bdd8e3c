//! The settings that may help a command, and what in its recording speaks for each.

use super::NotTried;
use crate::runs::{PlannedCommand, RunPlan};
use std::collections::BTreeMap;
use std::path::Path;
use swtch_cost::{Advice, stands_out};
use swtch_record::Scheduling;
use swtch_trace::TraceView;
use swtch_trace::tables::SchedPolicy;
use swtch_units::{CpuList, format_ns};

/// The longest slice that the kernel takes (kernel/sched/syscalls.c, v6.18: 100 ms), and one that is well above its default of some 3 ms.
const LONG_SLICE_NS: u64 = 20_000_000;
/// The first release whose ordinary tasks have a slice of their own.
const SLICES_SINCE: (u32, u32) = (6, 12);

/// Which settings may be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The environment variable that says how many threads the command starts.
    pub threads_variable: String,
    /// Whether the real-time class may be tried: it goes before everything else on the machine.
    pub fifo: bool,
    /// How many settings are run at most.
    pub most: usize,
}

/// What a setting changes, for a prediction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    /// This number of threads.
    Threads(u32),
    /// These CPUs only; whether they are others than now.
    Cpus { cpus: Vec<u32>, elsewhere: bool },
    /// The class for batches.
    Batch,
    /// A slice of this length, ns.
    Slice(u64),
    /// The real-time class.
    Fifo,
    /// A value that the user names.
    Named,
}

/// A setting that may help.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) what: String,
    pub(super) command: String,
    pub(super) because: Option<String>,
    pub(super) setting: Setting,
    pub(super) run: PlannedCommand,
}

/// Of the command as it is, what may be set otherwise. Those that cannot be tried here go to `not_tried`.
pub(super) fn candidates(
    plan: &RunPlan,
    wanted: &Wanted,
    trace: TraceView<'_>,
    advice: &[Advice],
    not_tried: &mut Vec<NotTried>,
) -> Vec<Candidate> {
    let Some((present, named)) = plan.commands.split_first() else { return Vec::new() };
    let because = |reasons: &[&str]| {
        let found = advice.iter().find(|one| reasons.contains(&one.what.as_str()));
        found.map(|one| one.what.clone())
    };
    let mut found: Vec<Candidate> = named
        .iter()
        .map(|command| Candidate {
            what: command.name.clone(),
            command: command.name.clone(),
            because: Some("you named it".to_owned()),
            setting: Setting::Named,
            run: command.clone(),
        })
        .collect();
    let with = |what: String, prefix: String, setting: Setting, scheduling: Scheduling, reasons: &[&str]| {
        Candidate {
            what,
            command: format!("{prefix} {}", prefixed(present)),
            because: because(reasons),
            setting,
            run: PlannedCommand {
                name: format!("{prefix} {}", present.name),
                scheduling: Some(scheduling),
                ..present.clone()
            },
        }
    };
    let crowded = [stands_out::MORE_THREADS_THAN_CPUS, stands_out::HANDED_ROUND, stands_out::THROTTLED];
    let allowed = allowed_cpus();
    let busy = trace.in_scope().filter(|task| task.run_ns > 0).count() as u32;
    let mut counts = vec![allowed.len() as u32, 1];
    counts.dedup();
    for threads in counts.into_iter().filter(|threads| *threads < busy) {
        let variable = &wanted.threads_variable;
        let setting = Setting::Threads(threads);
        let words = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let mut one =
            with(words, format!("env {variable}={threads}"), setting, Scheduling::default(), &crowded);
        one.run.environment.push((variable.into(), threads.to_string().into()));
        found.push(one);
    }
    let pinned = [
        stands_out::WAKING_ACROSS_CPUS,
        stands_out::HANDED_ROUND,
        stands_out::INTERRUPTS,
        stands_out::OTHERS_IN_FRONT,
    ];
    for cpu in quiet_cpus(trace, &allowed) {
        let scheduling = Scheduling { cpus: Some(vec![cpu]), ..Scheduling::default() };
        found.push(with(
            format!("CPU {cpu} only"),
            format!("taskset -c {cpu}"),
            Setting::Cpus { cpus: vec![cpu], elsewhere: !allowed.contains(&cpu) },
            scheduling,
            &pinned,
        ));
    }
    let often = [stands_out::MORE_THREADS_THAN_CPUS, stands_out::HANDED_ROUND];
    let batch = Scheduling { policy: Some((SchedPolicy::Batch, 0)), ..Scheduling::default() };
    found.push(with(
        "the class for batches".to_owned(),
        "chrt -b 0".to_owned(),
        Setting::Batch,
        batch,
        &often,
    ));
    let what = format!("slices of {}", format_ns(LONG_SLICE_NS as f64));
    if trace.header.host.kernel.major_minor().is_some_and(|release| release >= SLICES_SINCE) {
        let slice = Scheduling { slice_ns: Some(LONG_SLICE_NS), ..Scheduling::default() };
        let prefix = format!("chrt -o -T {LONG_SLICE_NS} 0");
        found.push(with(what, prefix, Setting::Slice(LONG_SLICE_NS), slice, &often));
    } else {
        not_tried.push(NotTried { what, why: "tasks have slices of their own since Linux 6.12".to_owned() });
    }
    if wanted.fifo {
        let fifo = Scheduling { policy: Some((SchedPolicy::Fifo, 1)), ..Scheduling::default() };
        let reasons = [stands_out::OTHERS_IN_FRONT];
        found.push(with(
            "the real-time class".to_owned(),
            "chrt -f 1".to_owned(),
            Setting::Fifo,
            fifo,
            &reasons,
        ));
    } else {
        let why = "it goes before everything else on the machine; --fifo tries it".to_owned();
        not_tried.push(NotTried { what: "the real-time class".to_owned(), why });
    }
    let has_sched_ext = Path::new("/sys/kernel/sched_ext").exists();
    let why = if has_sched_ext {
        "they are loaded for the whole machine; 'swtch sched compare -- COMMAND' tries them"
    } else {
        "this kernel has no sched_ext; 'swtch sched compare --vm -- COMMAND' tries them in a virtual machine"
    };
    not_tried.push(NotTried { what: "schedulers of sched_ext".to_owned(), why: why.to_owned() });
    if advice.iter().any(|one| one.what == stands_out::THROTTLED) {
        let why = "that changes the cgroup for all in it; see cpu.max".to_owned();
        not_tried.push(NotTried { what: "a larger quota".to_owned(), why });
    }
    found
}

/// The command as it is written behind a program that sets something: a line for the shell needs the shell.
fn prefixed(present: &PlannedCommand) -> String {
    let is_line = present.words.first().is_some_and(|word| word == "sh")
        && present.words.last().is_some_and(|word| word.to_string_lossy() == present.name);
    if is_line { format!("sh -c '{}'", present.name.replace('\'', "'\\''")) } else { present.name.clone() }
}

/// The CPUs of this process.
fn allowed_cpus() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list = list.and_then(|list| list.trim().parse::<CpuList>().ok());
    list.map(|list| list.numbers()).unwrap_or_default()
}

/// A CPU to keep to: the one with the least time in interrupts among those allowed, and the least on the whole machine where that is another.
fn quiet_cpus(trace: TraceView<'_>, allowed: &[u32]) -> Vec<u32> {
    let mut interrupts_ns: BTreeMap<u32, u64> = BTreeMap::new();
    for row in &trace.cpus {
        *interrupts_ns.entry(row.cpu).or_default() += row.irq_ns.unwrap_or(0) + row.softirq_ns.unwrap_or(0);
    }
    for row in &trace.interrupts {
        if let (Some(cpu), Some(ns)) = (row.cpu, row.ns) {
            *interrupts_ns.entry(cpu).or_default() += ns;
        }
    }
    let quietest = |cpus: &mut dyn Iterator<Item = u32>| {
        cpus.min_by_key(|cpu| interrupts_ns.get(cpu).copied().unwrap_or(0))
    };
    let online = trace.header.host.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id);
    let mut found = Vec::new();
    // Of a single CPU it is already the only one.
    if allowed.len() > 1 {
        found.extend(quietest(&mut allowed.iter().copied()));
    }
    let elsewhere = quietest(&mut online.filter(|cpu| !allowed.contains(cpu)));
    found.extend(elsewhere);
    found
}
