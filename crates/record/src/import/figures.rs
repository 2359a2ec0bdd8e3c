//! What the header and the tables say, and what they must not.

use super::{Counts, Format};
use std::collections::BTreeMap;
use std::path::Path;
use swtch_topology::Host;
use swtch_topology::host::Cpu;
use swtch_trace::accumulate::{Sums, Tables};
use swtch_trace::event::{Event, Switch};
use swtch_trace::fields;
use swtch_trace::model::{Ended, Field, Header, Lost, Origin, Provenance, Scope, SwitchTotals};

/// What no such text says.
const SPINNING_UNSEEN: &str =
    "the events do not say what a task did when it lost its CPU; only BPF programs look at its code";
const NEVER_SAID: [(Field, &str); 12] = [
    (fields::TASKS_SPINNING, SPINNING_UNSEEN),
    (fields::TASKS_YIELDS, SPINNING_UNSEEN),
    (fields::PROVENANCE_STARTED_UNIX_NS, "the text has the time since the machine's start only"),
    (fields::HOST, "the text does not describe the machine beyond the CPUs that had switches"),
    (fields::SWITCHES_COST_NS, "only BPF programs see what a switch takes; the Profile gives the cost"),
    (
        fields::TOTALS_MIGRATIONS,
        "the text does not say which caches CPUs share; intervals.migrations has all moves",
    ),
    (fields::TASKS_PROCESS_SWITCHES, "the text does not say whether a switch changed the address space"),
    (
        fields::TASKS_KERNEL_THREAD,
        "the text does not tell threads of the kernel from others; all are taken for others",
    ),
    (
        fields::TOTALS_PROCESSES_FORKED,
        "a fork in the text may have made a thread or a process; totals.threads_created has both",
    ),
    (fields::TOTALS_PROCESSES_PEAK, "tasks that were there before the text and did not run are not in it"),
    (fields::TOTALS_CPU_NS, "the text has events of the scheduler only"),
    (fields::INTERRUPTS, "the text has events of the scheduler only"),
];

const NO_PROCESSES: &str =
    "the text does not say which thread belongs to which process; every thread is listed on its own";
const SILENT_EXITS: &str = "no exit in the text says whether it was a process's last";
const NO_WAKEUPS: &str =
    "the text has neither sched_waking nor sched_wakeup; waits and wakers are unknown too";
const NO_FORKS: &str = "the text has no sched_process_fork: there was none, or it was not recorded";
const NO_EXECS: &str = "the text has no sched_process_exec: there was none, or it was not recorded";
const NO_INTERRUPTS: &str =
    "the text of perf does not mark interrupts: the task that an interrupt stopped counts as the waker";

/// What is gathered in addition to the events.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) counts: Counts,
    /// Events that the recorder itself lost, by CPU, and how often it does not say how many.
    lost: BTreeMap<u32, u64>,
    losses_without_number: u64,
    span_ns: Option<(u64, u64)>,
    cpus: BTreeMap<u32, Idle>,
    /// Processes that ended, while every exit says whether it was a process's last.
    processes_exited: Option<u64>,
    exits_are_silent: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    since_ns: Option<u64>,
    ns: u64,
}

impl Gathered {
    /// Takes note of events that the recorder lost.
    pub(super) fn loses(&mut self, cpu: u32, events: Option<u64>) {
        match events {
            Some(events) => {
                let sum = self.lost.entry(cpu).or_default();
                *sum = sum.saturating_add(events);
            }
            None => self.losses_without_number += 1,
        }
    }

    /// Takes note of an event, in the order of time.
    pub(super) fn sees(&mut self, event: &Event) {
        let at_ns = event.at_ns();
        self.span_ns = Some((self.span_ns.map_or(at_ns, |(first_ns, _)| first_ns), at_ns));
        if let Event::Switch(Switch { cpu, prev_tid, next_tid, .. }) = event {
            let idle = self.cpus.entry(*cpu).or_default();
            if let (0, Some(since_ns)) = (*prev_tid, idle.since_ns) {
                idle.ns += at_ns - since_ns;
            }
            idle.since_ns = (*next_tid == 0).then_some(at_ns);
        }
    }

    /// Takes note of an exit; `last` says whether no thread of the process was left.
    pub(super) fn exits(&mut self, last: Option<bool>) {
        match last {
            Some(last) => *self.processes_exited.get_or_insert(0) += u64::from(last),
            None => self.exits_are_silent = true,
        }
    }

    pub(super) fn last_ns(&self) -> u64 {
        self.span_ns.map_or(0, |(_, last_ns)| last_ns)
    }

    pub(super) fn header(&self, format: Format, path: &Path) -> Header {
        let (first_ns, last_ns) = self.span_ns.unwrap_or_default();
        let made_by = match format {
            Format::PerfScript => "perf script",
            Format::Ftrace => "ftrace",
        };
        let from =
            if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
        let provenance = Provenance {
            origin: Origin::Imported,
            swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
            recorder: format.name().to_owned(),
            why: format!("imported from {from}, the text of {made_by}"),
            started_monotonic_ns: first_ns,
            ended: Ended::Complete,
            ..Provenance::default()
        };
        let cpus = self.cpus.keys().map(|id| Cpu { id: *id, online: true, ..Cpu::default() }).collect();
        let mut header = Header::new(provenance, Host { cpus, ..Host::default() }, Scope::Machine);
        header.duration_ns = last_ns - first_ns;
        for table in ["switches", "tasks", "cpus", "wakes", "preemptions", "histograms", "intervals"] {
            header.sources.insert(table.to_owned(), format.name().to_owned());
        }
        header
    }

    pub(super) fn fill_totals(&self, sums: Sums, header: &mut Header) {
        let counts = &self.counts;
        let totals = &mut header.totals;
        totals.context_switches = SwitchTotals {
            voluntary: Some(sums.voluntary),
            involuntary: Some(sums.involuntary),
            idle: Some(sums.idle),
        };
        totals.wakeups = (counts.wakeups > 0).then_some(sums.wakeups);
        totals.threads_created = (counts.forks > 0).then_some(sums.threads_created);
        totals.processes.execs = (counts.execs > 0).then_some(sums.execs);
        totals.processes.exited = self.processes_exited.filter(|_| !self.exits_are_silent);
    }

    /// Events that the recorder itself lost.
    pub(super) fn fill_lost(&self, format: Format, header: &mut Header) {
        let more = self.losses_without_number;
        header.lost.extend(self.lost.iter().map(|(cpu, events)| Lost {
            cpu: Some(*cpu),
            events: *events,
            what: "events of all kinds, lost by the recorder".to_owned(),
        }));
        if more > 0 {
            let why = format!("the text says {more} times that events were lost, and not how many");
            header.miss(fields::LOST, why);
        } else if format == Format::PerfScript {
            let why =
                "the text of perf script does not say what perf lost; perf sched record prints it at its end";
            header.miss(fields::LOST, why);
        }
    }

    pub(super) fn fill_unavailable(&self, format: Format, processes: bool, header: &mut Header) {
        let counts = &self.counts;
        let Counts { malformed, misplaced, lines, .. } = counts;
        let left_out = [
            (*malformed, format!("{malformed} of {lines} lines could not be parsed and were left out")),
            (
                *misplaced,
                format!("{misplaced} events came thousands of lines after later ones and were left out"),
            ),
        ];
        for (_, why) in left_out.into_iter().filter(|(count, _)| *count > 0) {
            header.miss(fields::SWITCHES, why);
        }
        let silent_exits = self.processes_exited.is_none() || self.exits_are_silent;
        let sometimes = [
            (!processes, fields::TASKS_PID, NO_PROCESSES),
            (silent_exits, fields::TOTALS_PROCESSES_EXITED, SILENT_EXITS),
            (counts.wakeups == 0, fields::TOTALS_WAKEUPS, NO_WAKEUPS),
            (counts.forks == 0, fields::TOTALS_THREADS_CREATED, NO_FORKS),
            (counts.execs == 0, fields::TOTALS_PROCESSES_EXECS, NO_EXECS),
            (format == Format::PerfScript, fields::WAKES_INTERRUPTS, NO_INTERRUPTS),
        ];
        let here = sometimes.into_iter().filter(|(is_so, ..)| *is_so).map(|(_, field, why)| (field, why));
        for (field, why) in NEVER_SAID.into_iter().chain(here) {
            header.miss(field, why);
        }
    }

    /// Takes out what the events cannot show, so that it is absent and not zero.
    pub(super) fn clean(&self, tables: &mut Tables) {
        for task in &mut tables.tasks {
            task.migrations_same_l2 = None;
            task.migrations_same_l3 = None;
            task.migrations_across = None;
            task.process_switches = None;
            task.thread_switches = None;
            // The placeholder of an unknown parent.
            task.parent_pid = task.parent_pid.filter(|pid| *pid != 0);
        }
        for row in &mut tables.intervals {
            row.wakeups = row.wakeups.filter(|_| self.counts.wakeups > 0);
            row.forks = None;
            row.tasks = None;
            row.processes = None;
        }
        for row in &mut tables.cpus {
            let idle = self.cpus.get(&row.cpu).copied().unwrap_or_default();
            row.idle_ns = idle.ns + idle.since_ns.map_or(0, |since_ns| self.last_ns() - since_ns);
            row.lost = self.lost.get(&row.cpu).copied().unwrap_or(0);
        }
    }
}
