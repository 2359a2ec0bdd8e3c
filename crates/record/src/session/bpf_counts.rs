//! A recording, or a watch, by BPF programs that only count.

mod tasks;
mod times;

use super::aggregate::Aggregates;
use super::group_names::GroupNames;
use super::members::Members;
use super::source::{Counted, Progress, Source, Status, own_cost};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Cost, Options, Target};
use crate::sources::counts::{ClassSums, Counter, CpuCounts, TaskCounts};
use crate::system::Cgroup;
use crate::task_info;
use std::collections::BTreeMap;
use std::time::Duration;
use swtch_trace::accumulate::{CacheGroups, History, Migrations, Sums};
use swtch_trace::fields;
use swtch_trace::growth::Growth;
use swtch_trace::model::{Header, Totals};
use swtch_trace::tables::{CgroupRow, HistogramRow, IntervalRow, Merge, SwitchRow, Tables, TaskRow};
use tasks::CountedTasks;
use times::times;

/// How often ended tasks are taken: other tasks need their place.
const PERIOD: Duration = Duration::from_millis(50);
/// How often all tasks are asked for, ns; that costs some microseconds a task.
const ASK_EVERY_NS: u64 = 500_000_000;
/// This number of ended tasks have rows of their own; of more, those of one cgroup and name share one, without a number.
const MOST_ENDED: usize = 20_000;
/// The same between two snapshots of a watch, which is to take little memory for days.
const MOST_ENDED_OF_WATCH: usize = 5_000;
/// Intervals at most; then two become one.
const MOST_INTERVALS: usize = 1024;
/// Tasks whose own histograms are kept; the busiest ones.
const TASK_HISTOGRAMS: usize = 100;
/// The kinds of switches whose costs are distributed.
const KINDS: [&str; 3] = ["kind thread", "kind process", "kind idle"];
/// Memory of the kernel for each task that is counted.
const TASK_BYTES: u64 = 700;

pub(super) struct BpfCounts {
    counter: Counter,
    members: Members,
    /// Those that exist.
    tasks: CountedTasks,
    /// With the numbers of their cgroups.
    ended: Vec<(u64, TaskRow)>,
    aggregates: Aggregates,
    ended_sums: Sums,
    groups: GroupNames,
    ended_histograms: Vec<TaskCounts>,
    intervals: Vec<IntervalRow>,
    /// When the last interval ended, ns, and the sums then.
    before: (u64, Sums),
    start_ns: u64,
    peak: u64,
    asked: Cost,
    /// The CPUs as last read, and counters of theirs that fell.
    cpus: CpuCounts,
    cpus_fell: u64,
    /// Costs by kind, in classes.
    costs: [ClassSums; 3],
    /// Their sums when a watch last asked for them, ns.
    cost_ns: [u64; 3],
    history: History,
}

impl BpfCounts {
    /// Counts the target's tasks and those in `also`.
    pub(super) fn begin(
        options: &Options,
        history: History,
        group: Option<&Cgroup>,
        also: &[u32],
        header: &Header,
    ) -> Result<Self, RecordError> {
        let scoped = options.target != Target::Machine;
        let groups = GroupNames::begin();
        let in_place = options.cost == Cost::InPlace;
        let mut counter =
            Counter::load(scoped, groups.is_of_cpu(), in_place, &CacheGroups::of(&header.host))?;
        let mut members = Members::of(&options.target, group);
        for tid in members.tids().iter().chain(also) {
            counter.set_followed(*tid, true);
        }
        // Before anything is counted.
        let cpus = counter.cpus();
        counter.attach()?;
        let start_ns = header.provenance.started_monotonic_ns;
        Ok(Self {
            counter,
            members,
            tasks: CountedTasks::new(history == History::Recent),
            ended: Vec::new(),
            aggregates: Aggregates::default(),
            ended_sums: Sums::default(),
            groups,
            ended_histograms: Vec::new(),
            intervals: Vec::new(),
            before: (start_ns, Sums::default()),
            start_ns,
            peak: 0,
            asked: options.cost,
            cpus,
            cpus_fell: 0,
            costs: Default::default(),
            cost_ns: [0; 3],
            history,
        })
    }

    /// Takes over from another source. Returns the time (CLOCK_MONOTONIC), and the counts before it, which are not part of the counts to come.
    pub(super) fn take_over(&mut self, header: &mut Header) -> (u64, Tables) {
        self.ask();
        self.take_ended();
        self.intervals.clear();
        let histograms = self.histograms(usize::MAX);
        (self.before.0, Tables { histograms, ..self.fill_but_histograms(header) })
    }

    /// Counts these tasks, too.
    pub(super) fn follow(&self, tids: &[u32]) {
        for tid in tids {
            self.counter.set_followed(*tid, true);
        }
    }

    /// A task's row; in a watch, quantiles and longest times are of the time since it was as `before`.
    fn row(&self, task: &TaskCounts, before: Option<&TaskCounts>) -> TaskRow {
        // Switches whose cost was not measured leave the sum unknown; where there was none, it is nothing.
        let cost = self.counter.measures_cost() && (task.costs > 0 || task.arrivals == 0);
        let [waits, slices] = times(task, before);
        let [same_l2, same_l3, across] = task.migrations;
        TaskRow {
            tid: task.tid,
            pid: task.pid,
            parent_pid: Some(task.parent_pid),
            comm: task.comm.clone(),
            kernel_thread: task.kernel_thread,
            in_scope: true,
            first_ns: task.first_ns.saturating_sub(self.start_ns),
            last_ns: task.last_ns.saturating_sub(self.start_ns),
            voluntary: task.voluntary,
            involuntary: task.involuntary,
            // Not traced: every sleep ends in one, and nothing else does.
            wakeups: task.voluntary,
            run_ns: task.run_ns,
            wait_ns: task.wait_ns,
            waits: task.arrivals,
            wait_p50_ns: waits.quantile_ns(0.5),
            wait_p90_ns: waits.quantile_ns(0.9),
            wait_p99_ns: waits.quantile_ns(0.99),
            wait_max_ns: waits.max_ns,
            slice_p50_ns: slices.quantile_ns(0.5),
            slice_max_ns: slices.max_ns,
            migrations_same_l2: Some(same_l2),
            migrations_same_l3: Some(same_l3),
            migrations_across: Some(across),
            cold_switch_ins: Some(task.cold_switch_ins),
            switch_cost_ns: cost.then_some(task.cost_ns),
            process_switches: Some(task.process_switches),
            thread_switches: Some(task.arrivals.saturating_sub(task.process_switches)),
            ..TaskRow::default()
        }
    }

    fn take_ended(&mut self) {
        for mut task in self.counter.ended() {
            // One that was there at the last reading would count twice.
            let before = self.tasks.end(&mut task);
            self.add_ended(task, before.as_ref());
        }
    }

    fn add_ended(&mut self, task: TaskCounts, before: Option<&TaskCounts>) {
        let is_watch = self.history == History::Recent;
        let before = before.filter(|_| is_watch);
        add(&mut self.ended_sums, &task);
        let row = self.row(&task, before);
        self.groups.note(task.group);
        let most = if is_watch { MOST_ENDED_OF_WATCH } else { MOST_ENDED };
        if self.ended.len() >= most {
            // What it did before is in the snapshots before.
            let row =
                before.map_or(row.clone(), |before| row.delta(&self.row(before, None), &Growth::default()));
            self.aggregates.add(task.group, &row);
            return;
        }
        self.ended.push((task.group, row));
        if !is_watch {
            self.ended_histograms.push(task);
            keep_busiest(&mut self.ended_histograms);
        }
    }

    /// Reads the CPUs: after the tasks, so that all switches of those are among theirs.
    fn read_cpus(&mut self) {
        let before = std::mem::replace(&mut self.cpus, self.counter.cpus());
        let growth = Growth::default();
        for (now, before) in self.cpus.cost_classes().zip(before.cost_classes()) {
            let kinds = before.as_chunks().0.iter().zip(now.as_chunks().0);
            for (sums, (before, now)) in self.costs.iter_mut().zip(kinds) {
                sums.grow(before, now, &growth);
            }
        }
        self.cpus_fell += growth.fell() + self.cpus.fell(&before);
    }

    /// Asks for all tasks.
    fn ask(&mut self) {
        let listed = self.counter.tasks();
        // None of the counts includes an event from here on.
        let listed_ns = monotonic_ns();
        self.read_cpus();
        let ends_were_lost = self.cpus.sum(|cpu| cpu.ended_lost) > 0;
        // A reading that fails leaves the older figures; the next one, or the last, may do.
        if let Ok(mut listed) = listed {
            let own_tid = task_info::own_tid();
            // Followed for a moment only, to start the command.
            listed.retain(|task| self.members.is_all() || task.tid != own_tid);
            for task in &listed {
                self.groups.note(task.group);
            }
            for task in self.tasks.list(listed, listed_ns, ends_were_lost) {
                self.add_ended(task, None);
            }
        }
        let processes = self.tasks.iter().filter(|task| task.now.tid == task.now.pid).count() as u64;
        self.peak = self.peak.max(processes);
        self.add_interval(listed_ns, processes);
    }

    /// The sums of all tasks so far.
    fn sums(&self) -> Sums {
        let mut sums = self.ended_sums;
        self.tasks.iter().for_each(|task| add(&mut sums, &task.now));
        if self.members.is_all() {
            sums.cost_ns = self.cpus.cost_ns_by_kind().iter().sum();
        }
        Sums {
            idle: self.cpus.sum(|cpu| cpu.idle_switches),
            forked: self.cpus.sum(|cpu| cpu.forks),
            threads_created: self.cpus.sum(|cpu| cpu.threads),
            execs: self.cpus.sum(|cpu| cpu.execs),
            exited: self.cpus.sum(|cpu| cpu.exits),
            processes_peak: self.peak,
            ..sums
        }
    }

    fn rows(&self) -> Vec<TaskRow> {
        let named = |number: u64, row: TaskRow| TaskRow { cgroup: self.groups.name(number), ..row };
        let mut rows: Vec<TaskRow> =
            self.ended.iter().map(|(number, row)| named(*number, row.clone())).collect();
        rows.extend(self.aggregates.rows().map(|(number, row)| named(number, row.clone())));
        let alive = self.tasks.iter();
        rows.extend(alive.map(|task| named(task.now.group, self.row(&task.now, task.before.as_deref()))));
        rows.sort_by_key(|row| (row.tid, row.first_ns));
        rows
    }

    fn add_interval(&mut self, at_ns: u64, processes: u64) {
        let now = (at_ns, self.sums());
        let before = std::mem::replace(&mut self.before, now);
        if self.history == History::Recent {
            return;
        }
        let since = |of: fn(&Sums) -> u64| of(&now.1).saturating_sub(of(&before.1));
        self.intervals.push(IntervalRow {
            at_ns: before.0 - self.start_ns,
            length_ns: (now.0 - before.0).max(1),
            voluntary: Some(since(|sums| sums.voluntary)),
            involuntary: Some(since(|sums| sums.involuntary)),
            idle_switches: self.members.is_all().then_some(since(|sums| sums.idle)),
            run_ns: Some(since(|sums| sums.run_ns)),
            forks: Some(since(|sums| sums.forked)),
            tasks: Some(self.tasks.len() as u64),
            processes: Some(processes),
            ..IntervalRow::default()
        });
        if self.intervals.len() > MOST_INTERVALS {
            self.intervals = self.intervals.chunks(2).map(merged).collect();
        }
    }

    /// How many tasks of each cgroup have no row of their own.
    fn unlisted(&self) -> Vec<CgroupRow> {
        let shared = self.aggregates.more_tasks().filter_map(|(number, tasks)| {
            Some(CgroupRow { path: self.groups.name(number)?, tasks, ..CgroupRow::default() })
        });
        shared.collect()
    }

    /// Distributions of costs, and of the busiest tasks.
    fn histograms(&self, most_tasks: usize) -> Vec<HistogramRow> {
        let mut rows = self.cost_rows();
        let alive = self.tasks.iter().map(|task| &task.now);
        let mut busiest: Vec<&TaskCounts> = self.ended_histograms.iter().chain(alive).collect();
        busiest.sort_by_key(|task| (std::cmp::Reverse(task.arrivals), task.tid, task.first_ns));
        for task in busiest.into_iter().take(most_tasks) {
            let of = format!("task {}", task.tid);
            rows.extend(HistogramRow::of("wait", &of, task.waits.rows()));
            rows.extend(HistogramRow::of("slice", &of, task.slices.rows()));
        }
        rows
    }

    fn cost_rows(&self) -> Vec<HistogramRow> {
        let kinds = KINDS.iter().zip(&self.costs);
        kinds.flat_map(|(of, sums)| HistogramRow::of("cost", of, sums.rows())).collect()
    }

    fn fill_but_histograms(&self, header: &mut Header) -> Tables {
        let sums = self.sums();
        header.totals = Totals::default();
        sums.fill(&mut header.totals);
        header.totals.wakeups = None;
        header.totals.switch_cost_ns = self.counter.measures_cost().then_some(sums.cost_ns);
        if !self.members.is_all() {
            header.totals.context_switches.idle = None;
        }
        header.lost = self.cpus.lost().into();
        self.fill_gaps(header);
        header.recorder = own_cost(Some(self.counter.memory_bytes()));
        Tables { cpus: self.cpus.rows(), cgroups: self.unlisted(), tasks: self.rows(), ..Tables::default() }
    }

    /// A snapshot of a watch: what is over is in it once, and forgotten.
    fn recent(&mut self, header: &mut Header) -> Tables {
        self.ask();
        // After the list: otherwise a task that ended just before it would be in neither, and its switches in the next snapshot.
        self.take_ended();
        let mut tables = self.fill_but_histograms(header);
        tables.histograms = self.cost_rows();
        if let Some(changes) = self.tasks.changes() {
            tables.histograms.extend(HistogramRow::of("wait", "all", changes.waits.rows()));
        }
        self.ended.clear();
        self.aggregates = Aggregates::default();
        tables
    }

    fn fill_gaps(&self, header: &mut Header) {
        header.unavailable.clear();
        let uncounted = [
            fields::SWITCHES,
            fields::WAKES,
            fields::PREEMPTIONS,
            fields::WAITS,
            fields::TASKS_IDLE_ELSEWHERE_NS,
            fields::TASKS_NICE,
            fields::TOTALS_WAKEUPS,
            fields::INTERVALS_WAKEUPS,
            fields::INTERVALS_MIGRATIONS,
        ];
        header.miss_all(uncounted, "events are counted, not kept; --events keeps them");
        if !self.members.is_all() {
            let why = "counted for the whole machine only";
            header.miss(fields::TOTALS_CONTEXT_SWITCHES_IDLE, why);
        }
        if !self.counter.measures_cost() {
            header.miss(fields::TASKS_SWITCH_COST_NS, self.asked.why_not_in_place());
        }
        for table in ["tasks", "cpus", "histograms", "intervals"] {
            header.set_source(table, "bpf, counts");
        }
        let source = "the kernel's own sums, read by bpf";
        for column in ["voluntary", "involuntary", "run_ns", "wait_ns"] {
            header.set_source(&format!("tasks.{column}"), source);
        }
        let source = "bpf, counts; in classes of half an octave";
        for column in ["wait_p50_ns", "wait_p90_ns", "wait_p99_ns", "slice_p50_ns"] {
            header.set_source(&format!("tasks.{column}"), source);
        }
        header.set_source("tasks.wakeups", "as many as voluntary switches");
    }
}

impl Source for BpfCounts {
    fn set_followed(&self, tid: u32, on: bool) {
        self.counter.set_followed(tid, on);
    }

    fn poll(&mut self) -> Vec<SwitchRow> {
        self.take_ended();
        let now_ns = monotonic_ns();
        let newcomers = self.members.newcomers(now_ns);
        self.follow(&newcomers);
        // A watch without end asks with each snapshot.
        if self.history == History::Whole && now_ns.saturating_sub(self.before.0) >= ASK_EVERY_NS {
            self.ask();
        }
        self.groups.poll(now_ns);
        Vec::new()
    }

    fn status(&self) -> Status {
        let progress = Progress {
            switches: Some(if self.members.is_all() {
                self.cpus.sum(|cpu| cpu.switches)
            } else {
                self.before.1.voluntary + self.before.1.involuntary
            }),
            run_ns: Some(self.before.1.run_ns),
            tasks: self.tasks.len() as u64,
            lost: self.cpus.sum(|cpu| cpu.refused + cpu.ended_lost),
            ..Progress::default()
        };
        Status { period: PERIOD, alive: self.members.alive(), progress }
    }

    fn finish(&mut self, _: u64) -> Vec<SwitchRow> {
        self.ask();
        // A task that ended between the two is in both, and counted once.
        self.take_ended();
        self.groups.poll_again();
        Vec::new()
    }

    fn snapshot(&mut self, _: u64, header: &mut Header) -> Tables {
        if self.history == History::Recent {
            return self.recent(header);
        }
        self.read_cpus();
        let tables = self.fill_but_histograms(header);
        // That of a recording names what was lost, not what was not.
        header.lost.retain(|lost| lost.events > 0);
        let histograms = self.histograms(TASK_HISTOGRAMS);
        Tables { histograms, intervals: self.intervals.clone(), ..tables }
    }

    fn counted(&mut self) -> Counted {
        let now_ns = self.cpus.cost_ns_by_kind();
        let before_ns = std::mem::replace(&mut self.cost_ns, now_ns);
        let cost_ns = |kind: usize| now_ns[kind].saturating_sub(before_ns[kind]);
        let cpus_fell = std::mem::take(&mut self.cpus_fell);
        let mut group_threads: BTreeMap<String, u64> = BTreeMap::new();
        for name in self.tasks.iter().filter_map(|task| self.groups.name(task.now.group)) {
            *group_threads.entry(name).or_default() += 1;
        }
        let threads = self.tasks.len() as u64;
        let (quota_ns, backwards, too_long) = self.tasks.changes().map_or_else(Default::default, |changes| {
            let quota_ns = std::mem::take(&mut changes.quota_ns);
            (quota_ns, std::mem::take(&mut changes.backwards), changes.too_long.take())
        });
        let mut named: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for (number, ns) in quota_ns {
            *named.entry(self.groups.name(number)).or_default() += ns;
        }
        Counted {
            cost_ns_by_kind: self.counter.measures_cost().then(|| std::array::from_fn(cost_ns)),
            quota_ns: self.counter.knows_quota().then_some(named),
            threads: Some(threads),
            group_threads,
            backwards: [("tasks", backwards), ("cpus", cpus_fell)].into(),
            too_long,
            task_bytes: threads * TASK_BYTES,
        }
    }
}

/// Adds a task's counts. Switches whose cost was not measured add none.
fn add(sums: &mut Sums, task: &TaskCounts) {
    let [same_l2, same_l3, across] = task.migrations;
    sums.voluntary += task.voluntary;
    sums.involuntary += task.involuntary;
    sums.run_ns += task.run_ns;
    sums.cost_ns += task.cost_ns;
    sums.migrations = Migrations {
        same_l2: sums.migrations.same_l2 + same_l2,
        same_l3: sums.migrations.same_l3 + same_l3,
        across: sums.migrations.across + across,
    };
}

fn keep_busiest(tasks: &mut Vec<TaskCounts>) {
    if tasks.len() > 2 * TASK_HISTOGRAMS {
        tasks.sort_by_key(|task| std::cmp::Reverse(task.arrivals));
        tasks.truncate(TASK_HISTOGRAMS);
    }
}

/// Two intervals as one, which begins with the first and shows the tasks at the end of the second.
fn merged(pair: &[IntervalRow]) -> IntervalRow {
    let mut row = pair[0].clone();
    pair[1..].iter().for_each(|later| row.merge(later));
    row
}
