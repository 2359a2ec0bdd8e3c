//! A recording by the kernel's perf events.

use super::members::Members;
use super::source::{PERIODS, Progress, SWEEP_EVERY_NS, Source, Status, next_period, own_cost};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Options, Target};
use crate::plan::only_counts;
use crate::sources::perf::convert::{Converter, SampleRecord};
use crate::sources::perf::record::{Record, What};
use crate::sources::perf::{Perf, PerfError};
use crate::system::{Cgroup, Hierarchy};
use crate::task_info;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;
use swtch_trace::accumulate::{Accumulator, CacheGroups, History, Tables};
use swtch_trace::fields;
use swtch_trace::model::{Header, Lost};
use swtch_trace::tables::SwitchRow;

/// Memory for unread records: so much a CPU, and at most so much in all, unless asked otherwise. The kernel locks it, so less may be permitted.
const BUFFER_BYTES_PER_CPU: u64 = 8 << 20;
const MOST_BUFFER_BYTES: u64 = 256 << 20;

const SPINNING_UNSEEN: &str =
    "perf events do not say what a task did when it lost its CPU; BPF programs look at its code";

pub(super) struct PerfEvents {
    perf: Perf,
    converter: Converter,
    accumulator: Accumulator,
    /// That of the tasks' cgroups.
    hierarchy: Option<Hierarchy>,
    /// The whole machine, CPU by CPU; otherwise tasks.
    whole: bool,
    /// Single switches are to be written down.
    keeps: bool,
    /// Seen, and not yet old enough to be in order.
    held: Vec<Record>,
    /// Everything before this moment has been taken, ns.
    horizon_ns: u64,
    history: History,
    period: Duration,
    members: Members,
    /// Tasks that are watched or descend from such.
    watched: HashSet<u32>,
    /// Tasks that are not, by all that was read so far.
    newcomers: Vec<u32>,
    /// How many could not be watched, and why the last one could not.
    refused: Option<(u64, String)>,
}

impl PerfEvents {
    pub(super) fn begin(
        options: &Options,
        history: History,
        group: Option<&Cgroup>,
        header: &mut Header,
    ) -> Result<Self, RecordError> {
        let whole = options.target == Target::Machine;
        let cpus = header.host.cpus.iter().map(|cpu| cpu.id);
        let count = header.host.cpus.len().max(1) as u64;
        let in_all = options.buffer_bytes.unwrap_or(MOST_BUFFER_BYTES.min(BUFFER_BYTES_PER_CPU * count));
        let wanted = (in_all / count).max(1) as usize;
        let perf = Perf::new(cpus, wanted)?;
        if options.buffer_bytes.is_some() && perf.bytes_per_ring() <= wanted / 2 {
            let less = format!(
                "; the buffer is {} KiB a CPU, more is not permitted (kernel.perf_event_mlock_kb, ulimit -l)",
                perf.bytes_per_ring() >> 10
            );
            header.provenance.why.push_str(&less);
        }
        let start_ns = header.provenance.started_monotonic_ns;
        let is_command = matches!(options.target, Target::Command(_));
        let mut new = Self {
            perf,
            converter: Converter::new(whole, is_command.then(std::process::id)),
            accumulator: Accumulator::new(start_ns, CacheGroups::of(&header.host), !whole),
            hierarchy: Hierarchy::find(Path::new("/")),
            whole,
            keeps: !only_counts(options),
            held: Vec::new(),
            horizon_ns: start_ns,
            history,
            period: PERIODS.0,
            members: Members::of(&options.target, group),
            watched: HashSet::new(),
            newcomers: Vec::new(),
            refused: None,
        };
        if !whole {
            new.accumulator.sees_halves();
        }
        if whole {
            for tid in new.members.tids() {
                new.follow(tid);
            }
            // The list only names them; records that come meanwhile would be none of the recording.
            new.perf.watch_machine()?;
        } else if is_command {
            // The command is started by this thread and inherits what watches it: not even its first switch is missed.
            let own = task_info::task(task_info::own_tid(), new.hierarchy.as_ref());
            new.converter.know(own.unwrap_or_default());
            new.perf.watch_own()?;
        } else {
            new.watch_all(matches!(options.target, Target::Processes(_)))?;
        }
        Ok(new)
    }

    /// Watches the tasks that are there. Those that they make meanwhile inherit it; those that others make are found by looking again.
    fn watch_all(&mut self, all_or_error: bool) -> Result<(), RecordError> {
        for _ in 0..100 {
            let there = self.members.tids();
            self.drain();
            let new: Vec<u32> = there.into_iter().filter(|tid| !self.watched.contains(tid)).collect();
            if new.is_empty() {
                break;
            }
            for tid in new {
                match self.watch(tid) {
                    Err(error) if all_or_error && !matches!(error, PerfError::Gone(_)) => {
                        return Err(error.into());
                    }
                    watched => self.count_refused(watched),
                }
            }
        }
        Ok(())
    }

    fn watch(&mut self, tid: u32) -> Result<(), PerfError> {
        // Asked once, whatever the answer.
        self.watched.insert(tid);
        self.perf.watch_task(tid)?;
        self.follow(tid);
        Ok(())
    }

    /// Counts a task that could not be watched, unless it has ended.
    fn count_refused(&mut self, watched: Result<(), PerfError>) {
        let Err(error) = watched else { return };
        if !matches!(error, PerfError::Gone(_)) {
            let before = self.refused.take().map_or(0, |(count, _)| count);
            self.refused = Some((before + 1, error.to_string()));
        }
    }

    fn follow(&mut self, tid: u32) {
        if let Some(known) = task_info::task(tid, self.hierarchy.as_ref()) {
            self.accumulator.follow(&known);
            self.converter.know(known);
        }
    }

    /// Tasks that came into the cgroup otherwise than by birth. They are watched when they are still strangers a look later: the record
    /// of a birth may come after the child can be seen.
    fn watch_newcomers(&mut self, now_ns: u64) {
        let strangers = std::mem::take(&mut self.newcomers);
        for tid in strangers.into_iter().filter(|tid| !self.watched.contains(tid)).collect::<Vec<_>>() {
            let watched = self.watch(tid);
            self.count_refused(watched);
        }
        self.newcomers = self.members.newcomers(now_ns);
    }

    fn drain(&mut self) -> (f64, u64) {
        let before = self.held.len();
        let drained = self.perf.drain(&mut self.held);
        if !self.whole {
            for record in &self.held[before..] {
                match record.what {
                    What::Fork { tid, .. } => drop(self.watched.insert(tid)),
                    What::Exit { tid, .. } => drop(self.watched.remove(&tid)),
                    _ => {}
                }
            }
        }
        drained
    }

    /// Takes what is older than `horizon_ns`, in order, and returns the switches where they are kept.
    fn take(&mut self, horizon_ns: u64) -> Vec<SwitchRow> {
        // Nearly sorted already, ring by ring: a merge.
        self.held.sort_by_key(|record| record.at_ns);
        self.horizon_ns = self.horizon_ns.max(horizon_ns);
        let old = self.held.partition_point(|record| record.at_ns < horizon_ns);
        let (converter, accumulator) = (&mut self.converter, &mut self.accumulator);
        let mut rows = KeptRows::new(self.keeps);
        for record in self.held.drain(..old) {
            if let What::Fork { parent_tid, .. } = record.what
                && !converter.knows(parent_tid)
                && let Some(known) = task_info::task(parent_tid, self.hierarchy.as_ref())
            {
                converter.know(known);
            }
            converter.take(&record, |record| match record {
                SampleRecord::Event(event) => accumulator.take(&event, &mut rows),
                SampleRecord::Name(known) => accumulator.name(&known),
            });
        }
        rows.rows
    }

    fn add_lost(&self, header: &mut Header) {
        let rows = self.perf.lost().into_iter().filter(|(_, events)| *events > 0);
        header.lost = rows
            .map(|(cpu, events)| Lost {
                cpu: Some(cpu),
                events,
                what: "records (a switch is two), because the buffer was full; a larger --buffer holds more"
                    .to_owned(),
            })
            .chain(self.accumulator.late().rows())
            .collect();
    }

    fn fill_gaps(&self, header: &mut Header) {
        header.unavailable.clear();
        let unseen = [fields::WAKES, fields::TOTALS_WAKEUPS, fields::INTERVALS_WAKEUPS];
        header.miss_all(unseen, "perf events do not report wake-ups; BPF does");
        let waits = [
            fields::TASKS_WAIT_NS,
            fields::TASKS_WAIT_P50_NS,
            fields::TASKS_WAIT_P90_NS,
            fields::TASKS_WAIT_P99_NS,
            fields::TASKS_WAIT_MAX_NS,
        ];
        let why =
            "perf events do not report wake-ups, so only waits after a preemption are known; BPF sees all";
        header.miss_all(waits, why);
        let why = "perf events do not measure a switch; the Profile gives the cost";
        header.miss(fields::TASKS_SWITCH_COST_NS, why);
        header.miss_all([fields::TASKS_SPINNING, fields::TASKS_YIELDS], SPINNING_UNSEEN);
        header.miss(fields::TASKS_WORKING_SET_BYTES, "perf events do not report memory");
        if !self.whole {
            let of_two_tasks = [
                fields::PREEMPTIONS,
                fields::WAITS,
                fields::TASKS_IDLE_ELSEWHERE_NS,
                fields::SWITCHES_NEXT_TID,
                fields::TASKS_COLD_SWITCH_INS,
                fields::TASKS_PROCESS_SWITCHES,
                fields::TOTALS_CONTEXT_SWITCHES_IDLE,
                fields::INTERVALS_IDLE_SWITCHES,
                fields::CPUS_IDLE_SWITCHES,
            ];
            let why = "perf events of a task show when it left and came, not which task ran instead; \
                those of the whole machine (-a) and BPF do";
            header.miss_all(of_two_tasks, why);
        }
        if !self.keeps {
            header.miss(fields::SWITCHES, "counted, not kept; --events keeps them");
        }
        if let Some((count, why)) = &self.refused {
            let why = format!("{count} tasks of the cgroup could not be watched: {why}");
            header.miss(fields::TASKS, why);
        }
    }

    /// Takes out what the records do not show.
    fn clear_gaps(&self, header: &mut Header, tables: &mut Tables) {
        header.totals.wakeups = None;
        tables.histograms.retain(|row| row.metric != "wait");
        for row in &mut tables.tasks {
            // Every sleep ends in one, and nothing else does.
            row.wakeups = row.voluntary;
            (row.wait_p50_ns, row.wait_p90_ns, row.wait_p99_ns, row.wait_max_ns) = (None, None, None, None);
            if !self.whole {
                (row.cold_switch_ins, row.process_switches, row.thread_switches) = (None, None, None);
            }
        }
        for row in &mut tables.intervals {
            row.wakeups = None;
        }
        if self.whole {
            return;
        }
        header.totals.context_switches.idle = None;
        tables.preemptions.clear();
        for row in &mut tables.intervals {
            row.idle_switches = None;
        }
        for row in &mut tables.cpus {
            row.idle_switches = 0;
        }
    }

    fn fill_header(&mut self, header: &mut Header) {
        task_info::name_unnamed(&mut self.accumulator, self.hierarchy.as_ref());
        self.accumulator.sums().fill(&mut header.totals);
        self.add_lost(header);
        header.recorder = own_cost(Some(self.perf.memory_bytes()));
        self.fill_gaps(header);
        for table in ["switches", "tasks", "preemptions", "histograms", "intervals", "cpus"] {
            header.set_source(table, "perf");
        }
        for (column, source) in [
            ("tasks.wait_ns", "perf, waits after a preemption only"),
            ("tasks.wakeups", "as many as voluntary switches"),
        ] {
            header.set_source(column, source);
        }
    }
}

/// Switches, where they are kept.
struct KeptRows {
    rows: Vec<SwitchRow>,
    keeps: bool,
}

impl KeptRows {
    fn new(keeps: bool) -> Self {
        Self { rows: Vec::new(), keeps }
    }
}

impl Extend<SwitchRow> for KeptRows {
    fn extend<T: IntoIterator<Item = SwitchRow>>(&mut self, rows: T) {
        if self.keeps {
            self.rows.extend(rows);
        }
    }
}

impl Source for PerfEvents {
    fn poll(&mut self) -> Vec<SwitchRow> {
        let now_ns = monotonic_ns();
        let (full, horizon_ns) = self.drain();
        self.watch_newcomers(now_ns);
        let switches = self.take(horizon_ns);
        self.period = next_period(self.period, full, PERIODS.1);
        switches
    }

    fn status(&self) -> Status {
        let progress = Progress::of_events(&self.accumulator, self.perf.lost_so_far());
        Status { period: self.period, alive: self.members.alive(), progress }
    }

    fn finish(&mut self, end_ns: u64) -> Vec<SwitchRow> {
        // A record of before may be written only after.
        std::thread::sleep(Duration::from_millis(2));
        self.drain();
        self.perf.stop();
        let mut rows = KeptRows { rows: self.take(end_ns), keeps: self.keeps };
        self.held.clear();
        self.accumulator.end(&mut rows);
        task_info::look_again(&mut self.accumulator, self.hierarchy.as_ref());
        rows.rows
    }

    fn snapshot(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        self.fill_header(header);
        let at_ns = if self.history == History::Whole { now_ns } else { self.horizon_ns };
        let mut tables = self.accumulator.snapshot(at_ns, self.history, &|_| None);
        self.clear_gaps(header, &mut tables);
        let lost = self.perf.lost();
        for row in &mut tables.cpus {
            row.lost = lost.iter().find(|(cpu, _)| *cpu == row.cpu).map_or(0, |(_, lost)| *lost);
        }
        if self.history == History::Recent {
            self.accumulator.forget_unless(now_ns.saturating_sub(SWEEP_EVERY_NS), task_info::is_there);
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_trace::event::Event;

    /// Not everything that a task does reaches the accumulator as its own.
    #[test]
    fn an_event_of_either_half_has_a_place() {
        let mut converter = Converter::new(false, None);
        let mut accumulator = Accumulator::new(0, CacheGroups::default(), true);
        accumulator.follow(&task_info::task(std::process::id(), None).unwrap());
        let tid = std::process::id();
        let record = |at_ns, what| Record { at_ns, cpu: 0, pid: tid, tid, what };
        for record in [
            record(100, What::In),
            record(400, What::Out { preempted: true, next: None }),
            record(500, What::In),
            record(900, What::Out { preempted: false, next: None }),
        ] {
            converter.take(&record, |record| {
                if let SampleRecord::Event(event) = record {
                    assert!(matches!(event, Event::Switch(_)));
                    accumulator.take(&event, &mut Vec::new());
                }
            });
        }
        let sums = accumulator.sums();
        assert_eq!((sums.voluntary, sums.involuntary, sums.run_ns), (1, 1, 700));
        let row = &accumulator.snapshot(1000, History::Whole, &|_| None).tasks[0];
        assert_eq!((row.wait_ns, row.waits, row.slice_max_ns), (100, 1, Some(400)));
    }
}
