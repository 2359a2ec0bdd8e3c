//! The settings that may help a command, and what in its recording speaks for each.

use super::NotTried;
use super::group::GroupPlan;
use crate::runs::{PlannedCommand, RunPlan};
use std::collections::BTreeMap;
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
#[derive(Clone, Debug, PartialEq)]
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
    /// A multiple of the present quota, or none. The present one is of `cpus` CPUs, and stopped the command in this share of the periods.
    Quota { times: Option<u32>, cpus: f64, stopped: f64 },
    /// A cgroup that gets ten times what others get.
    Weight,
    /// A sched_ext scheduler for the command alone.
    Scheduler(String),
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
    /// The cgroup that it needs.
    pub(super) group: Option<GroupPlan>,
    pub(super) run: PlannedCommand,
}

/// Of the command as it is, what may be set otherwise. Those that cannot be tried here go to `not_tried`.
pub(super) fn candidates(
    plan: &RunPlan,
    wanted: &Wanted,
    trace: TraceView<'_>,
    present: &Present<'_>,
    not_tried: &mut Vec<NotTried>,
) -> Vec<Candidate> {
    let named = plan.commands.get(1..).unwrap_or_default();
    let mut found: Vec<Candidate> = named
        .iter()
        .map(|command| Candidate {
            what: command.name.clone(),
            command: command.name.clone(),
            because: Some("you named it".to_owned()),
            setting: Setting::Named,
            group: None,
            run: command.clone(),
        })
        .collect();
    let allowed = allowed_cpus();
    let busy = trace.in_scope().filter(|task| task.run_ns > 0).count() as u32;
    found.extend(present.fewer_threads(&wanted.threads_variable, allowed.len() as u32, busy));
    found.extend(quiet_cpus(trace, &allowed).into_iter().map(|cpu| present.on_cpu(cpu, &allowed)));
    found.push(present.in_class(
        "the class for batches",
        "chrt -b 0",
        Setting::Batch,
        SchedPolicy::Batch,
        &CROWDED,
    ));
    if trace.header.host.kernel.major_minor().is_some_and(|release| release >= SLICES_SINCE) {
        found.push(present.with_long_slices());
    } else {
        let why = "tasks have slices of their own since Linux 6.12".to_owned();
        not_tried.push(NotTried { what: "longer slices".to_owned(), why });
    }
    if wanted.fifo {
        let reasons = [stands_out::OTHERS_IN_FRONT];
        found.push(present.in_class(
            "the real-time class",
            "chrt -f 1",
            Setting::Fifo,
            SchedPolicy::Fifo,
            &reasons,
        ));
    }
    if !wanted.fifo {
        let why = "it goes before everything else on the machine; --fifo tries it".to_owned();
        not_tried.push(NotTried { what: "the real-time class".to_owned(), why });
    }
    found
}

/// What a crowd of threads shows itself by.
const CROWDED: [&str; 4] = [
    stands_out::WAITING_ON_CPUS,
    stands_out::MORE_THREADS_THAN_CPUS,
    stands_out::HANDED_ROUND,
    stands_out::THROTTLED,
];
/// What another CPU, or one for all, helps against.
const MISPLACED: [&str; 4] = [
    stands_out::WAKING_ACROSS_CPUS,
    stands_out::HANDED_ROUND,
    stands_out::INTERRUPTS,
    stands_out::OTHERS_IN_FRONT,
];

/// The command as it is, and what stands out in its recording.
pub(super) struct Present<'a> {
    pub(super) command: &'a PlannedCommand,
    pub(super) advice: &'a [Advice],
}

impl Present<'_> {
    /// With a setting; `prefix` is what makes it on a command line.
    pub(super) fn with(
        &self,
        what: String,
        prefix: &str,
        setting: Setting,
        scheduling: Scheduling,
        reasons: &[&str],
    ) -> Candidate {
        let because = self.advice.iter().find(|one| reasons.contains(&one.what.as_str()));
        Candidate {
            what,
            command: format!("{prefix} {}", prefixed(self.command)),
            because: because.map(|one| one.what.clone()),
            setting,
            group: None,
            run: PlannedCommand {
                name: format!("{prefix} {}", self.command.name),
                scheduling: Some(scheduling),
                ..self.command.clone()
            },
        }
    }

    /// As many threads as CPUs, and one, where more take part.
    fn fewer_threads(&self, variable: &str, cpus: u32, busy: u32) -> Vec<Candidate> {
        let mut counts = vec![cpus, 1];
        counts.dedup();
        let one = |threads: u32| {
            let words = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
            let prefix = format!("env {variable}={threads}");
            let mut one =
                self.with(words, &prefix, Setting::Threads(threads), Scheduling::default(), &CROWDED);
            one.run.environment.push((variable.into(), threads.to_string().into()));
            one
        };
        counts.into_iter().filter(|threads| *threads < busy).map(one).collect()
    }

    fn on_cpu(&self, cpu: u32, allowed: &[u32]) -> Candidate {
        let setting = Setting::Cpus { cpus: vec![cpu], elsewhere: !allowed.contains(&cpu) };
        let scheduling = Scheduling { cpus: Some(vec![cpu]), ..Scheduling::default() };
        self.with(format!("CPU {cpu} only"), &format!("taskset -c {cpu}"), setting, scheduling, &MISPLACED)
    }

    fn in_class(
        &self,
        what: &str,
        prefix: &str,
        setting: Setting,
        policy: SchedPolicy,
        reasons: &[&str],
    ) -> Candidate {
        let priority = u32::from(policy.is_realtime());
        let scheduling = Scheduling { policy: Some((policy, priority)), ..Scheduling::default() };
        self.with(what.to_owned(), prefix, setting, scheduling, reasons)
    }

    fn with_long_slices(&self) -> Candidate {
        let what = format!("slices of {}", format_ns(LONG_SLICE_NS as f64));
        let slice = Scheduling { slice_ns: Some(LONG_SLICE_NS), ..Scheduling::default() };
        let prefix = format!("chrt -o -T {LONG_SLICE_NS} 0");
        self.with(what, &prefix, Setting::Slice(LONG_SLICE_NS), slice, &CROWDED)
    }
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

/// A CPU to keep to. It is the one with the least time in interrupts among those allowed, and the least on the whole machine where that is
/// another.
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
