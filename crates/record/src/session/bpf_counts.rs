//! A recording by BPF programs that only count.

use super::aggregate::{Aggregates, aggregate};
use super::group_names::GroupNames;
use super::members::Members;
use super::present::Present;
use super::source::{Progress, Source, Status};
use crate::clock::{monotonic_ns, process_cpu_ns};
use crate::error::RecordError;
use crate::options::{Cost, Options, Target};
use crate::sources::counts::{Classes, Counter, CpuCounts, TaskCounts};
use crate::system::Cgroup;
use crate::task_info;
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;
use swtch_trace::accumulate::{CacheGroups, History};
use swtch_trace::fields;
use swtch_trace::model::{Header, RecorderCost, Totals};
use swtch_trace::tables::{CgroupRow, HistogramRow, IntervalRow, Merge, SwitchRow, Tables, TaskRow};

/// How often it is looked who has ended: their place is needed for others.
const PERIOD: Duration = Duration::from_millis(50);
/// How often all tasks are asked for, ns; that costs some microseconds a task.
const ASK_EVERY_NS: u64 = 500_000_000;
/// So many ended tasks have rows of their own; of more, those of one control group and name share one, without a number.
const MOST_ENDED: usize = 20_000;
/// So many intervals at most; then two become one.
const MOST_INTERVALS: usize = 1024;
/// Tasks whose own histograms are kept; the busiest ones.
const TASK_HISTOGRAMS: usize = 100;

pub(super) struct BpfCounts {
    counter: Counter,
    members: Members,
    alive: Present,
    /// With the numbers of their control groups.
    ended: Vec<(u64, TaskRow)>,
    aggregates: Aggregates,
    groups: GroupNames,
    ended_histograms: Vec<TaskCounts>,
    intervals: Vec<IntervalRow>,
    before: IntervalStart,
    start_ns: u64,
    peak: u64,
    asked: Cost,
    /// For one who asks without end: the tasks at the last question, and the sums of those that ended before it.
    last: HashMap<(u32, u64), TaskCounts>,
    gone: Option<TaskRow>,
    history: History,
}

/// The sums at the end of the last interval.
#[derive(Clone, Copy, Default)]
struct IntervalStart {
    at_ns: u64,
    voluntary: u64,
    involuntary: u64,
    idle: u64,
    run_ns: u64,
    forks: u64,
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
            counter.follow(*tid);
        }
        counter.attach()?;
        let start_ns = header.provenance.started_monotonic_ns;
        let before = IntervalStart { at_ns: start_ns, ..IntervalStart::default() };
        Ok(Self {
            counter,
            members,
            alive: Present::default(),
            ended: Vec::new(),
            aggregates: Aggregates::default(),
            groups,
            ended_histograms: Vec::new(),
            intervals: Vec::new(),
            before,
            start_ns,
            peak: 0,
            asked: options.cost,
            last: HashMap::new(),
            gone: None,
            history,
        })
    }

    /// Takes over from another source: when (CLOCK_MONOTONIC), and the counts before, which are no part of the counts to come.
    pub(super) fn take_over(&mut self, header: &mut Header) -> (u64, Tables) {
        self.take_ended();
        self.ask();
        self.intervals.clear();
        let cpus = self.counter.cpus();
        let histograms = self.histograms(&cpus, usize::MAX);
        (self.before.at_ns, Tables { histograms, ..self.fill_but_histograms(&cpus, header) })
    }

    /// Counts these tasks, too.
    pub(super) fn follow(&self, tids: &[u32]) {
        for tid in tids {
            self.counter.follow(*tid);
        }
    }

    fn row(&self, task: &TaskCounts) -> TaskRow {
        // Switches whose cost was not measured leave the sum unknown; where there was none, it is nothing.
        let cost = self.counter.measures_cost() && (task.costs > 0 || task.arrivals == 0);
        let (waits, slices) = self.times(task);
        TaskRow {
            first_ns: task.first_ns.saturating_sub(self.start_ns),
            last_ns: task.last_ns.saturating_sub(self.start_ns),
            // Not traced: every sleep ends in one, and nothing else does.
            wakeups: task.voluntary,
            wait_p50_ns: waits.quantile_ns(0.5),
            wait_p90_ns: waits.quantile_ns(0.9),
            wait_p99_ns: waits.quantile_ns(0.99),
            wait_max_ns: waits.max_ns,
            slice_p50_ns: slices.quantile_ns(0.5),
            slice_max_ns: slices.max_ns,
            migrations_same_l2: Some(task.migrations[0]),
            migrations_same_l3: Some(task.migrations[1]),
            migrations_across: Some(task.migrations[2]),
            switch_cost_ns: cost.then_some(task.cost_ns),
            thread_switches: Some(task.arrivals.saturating_sub(task.process_switches)),
            ..task.sums()
        }
    }

    /// Waits and slices: since the last question of one who asks without end, otherwise since the beginning.
    fn times<'a>(&self, task: &'a TaskCounts) -> (Times<'a>, Times<'a>) {
        match self.last.get(&(task.tid, task.first_ns)) {
            Some(last) => (
                Times::since(&task.waits, task.wait_max_ns, &last.waits, last.wait_max_ns),
                Times::since(&task.slices, task.slice_max_ns, &last.slices, last.slice_max_ns),
            ),
            None => (
                Times::all(&task.waits, (task.arrivals > 0).then_some(task.wait_max_ns)),
                Times::all(&task.slices, (task.arrivals > 1).then_some(task.slice_max_ns)),
            ),
        }
    }

    fn take_ended(&mut self) {
        let ended = self.counter.ended();
        // Those that were there at the last reading would count twice.
        self.alive.remove(&ended);
        for task in ended {
            self.add_ended(task);
        }
    }

    fn add_ended(&mut self, task: TaskCounts) {
        let row = self.row(&task);
        self.groups.note(task.group);
        if self.ended.len() < MOST_ENDED {
            self.ended.push((task.group, row));
            self.ended_histograms.push(task);
            keep_busiest(&mut self.ended_histograms);
        } else {
            self.aggregates.add(task.group, &row);
        }
    }

    /// Asks for all tasks.
    fn ask(&mut self) {
        let cpus = self.counter.cpus();
        // A reading that fails leaves the older figures; the next one, or the last, may do.
        if let Ok(mut listed) = self.counter.tasks() {
            let own_tid = task_info::own_tid();
            // Followed for a moment only, to start the command.
            listed.retain(|task| self.members.is_all() || task.tid != own_tid);
            for task in &listed {
                self.groups.note(task.group);
            }
            for task in self.alive.list(listed, monotonic_ns(), cpus.ended_lost > 0) {
                self.add_ended(task);
            }
        }
        let processes = self.alive.tasks().iter().filter(|task| task.tid == task.pid).count() as u64;
        self.peak = self.peak.max(processes);
        let rows = self.rows();
        self.add_interval(&rows, &cpus, processes);
    }

    /// Keeps nothing but the sums of the tasks that ended.
    fn forget_ended(&mut self) {
        let (ended, aggregates) = (std::mem::take(&mut self.ended), std::mem::take(&mut self.aggregates));
        for row in ended.iter().map(|(_, row)| row).chain(aggregates.rows().map(|(_, row)| row)) {
            aggregate(&mut self.gone, row);
        }
        self.ended_histograms.clear();
        self.last = self.alive.tasks().iter().map(|task| ((task.tid, task.first_ns), task.clone())).collect();
    }

    fn rows(&self) -> Vec<TaskRow> {
        let named = |number: u64, row: TaskRow| TaskRow { cgroup: self.groups.name(number), ..row };
        let mut rows: Vec<TaskRow> =
            self.ended.iter().map(|(number, row)| named(*number, row.clone())).collect();
        rows.extend(self.aggregates.rows().map(|(number, row)| named(number, row.clone())));
        rows.extend(self.alive.tasks().iter().map(|task| named(task.group, self.row(task))));
        rows.sort_by_key(|row| (row.tid, row.first_ns));
        rows
    }

    fn add_interval(&mut self, rows: &[TaskRow], cpus: &CpuCounts, processes: u64) {
        let sum = |of: fn(&TaskRow) -> u64| rows.iter().chain(&self.gone).map(of).sum::<u64>();
        let now = IntervalStart {
            at_ns: monotonic_ns(),
            voluntary: sum(|row| row.voluntary),
            involuntary: sum(|row| row.involuntary),
            idle: cpus.idle_switches.iter().sum(),
            run_ns: sum(|row| row.run_ns),
            forks: cpus.forks,
        };
        let before = std::mem::replace(&mut self.before, now);
        self.intervals.push(IntervalRow {
            at_ns: before.at_ns - self.start_ns,
            length_ns: (now.at_ns - before.at_ns).max(1),
            voluntary: Some(now.voluntary.saturating_sub(before.voluntary)),
            involuntary: Some(now.involuntary.saturating_sub(before.involuntary)),
            idle_switches: self.members.is_all().then_some(now.idle.saturating_sub(before.idle)),
            run_ns: Some(now.run_ns.saturating_sub(before.run_ns)),
            forks: Some(now.forks.saturating_sub(before.forks)),
            tasks: Some(self.alive.tasks().len() as u64),
            processes: Some(processes),
            ..IntervalRow::default()
        });
        if self.intervals.len() > MOST_INTERVALS {
            self.intervals = self.intervals.chunks(2).map(merged).collect();
        }
    }

    /// How many tasks of each control group have no row of their own.
    fn unlisted(&self) -> Vec<CgroupRow> {
        let shared = self.aggregates.more_tasks().filter_map(|(number, tasks)| {
            Some(CgroupRow { path: self.groups.name(number)?, tasks, ..CgroupRow::default() })
        });
        shared.collect()
    }

    /// Distributions of all, and of the busiest tasks.
    fn histograms(&self, cpus: &CpuCounts, most_tasks: usize) -> Vec<HistogramRow> {
        let mut rows = Vec::new();
        let mut put = |metric: &str, of: &str, classes: &Classes| {
            rows.extend(HistogramRow::of(metric, of, classes.rows()));
        };
        for (of, classes) in ["kind thread", "kind process", "kind idle"].iter().zip(&cpus.costs_by_kind) {
            put("cost", of, classes);
        }
        let mut busiest: Vec<&TaskCounts> = self.ended_histograms.iter().chain(self.alive.tasks()).collect();
        busiest.sort_by_key(|task| std::cmp::Reverse(task.arrivals));
        for task in busiest.into_iter().take(most_tasks) {
            let of = format!("task {}", task.tid);
            put("wait", &of, &task.waits);
            put("slice", &of, &task.slices);
        }
        rows
    }

    fn totals(&self, rows: &[TaskRow], cpus: &CpuCounts) -> Totals {
        let mut totals = cpus.totals(rows, self.gone.as_ref());
        totals.processes.peak = Some(self.peak);
        if !self.members.is_all() {
            totals.context_switches.idle = None;
            let of_tasks = rows.iter().chain(&self.gone).filter_map(|row| row.switch_cost_ns);
            totals.switch_cost_ns = Some(of_tasks.sum());
        }
        totals.switch_cost_ns = totals.switch_cost_ns.filter(|_| self.counter.measures_cost());
        totals
    }

    fn fill_but_histograms(&self, cpus: &CpuCounts, header: &mut Header) -> Tables {
        let rows = self.rows();
        header.totals = self.totals(&rows, cpus);
        header.lost = cpus.lost().into_iter().filter(|lost| lost.events > 0).collect();
        self.fill_gaps(header);
        header.recorder = RecorderCost {
            cpu_ns: Some(process_cpu_ns()),
            bpf_ns: None,
            memory_bytes: Some(self.counter.memory_bytes()),
        };
        Tables { cpus: cpus.rows(cpus), cgroups: self.unlisted(), tasks: rows, ..Tables::default() }
    }

    fn fill_gaps(&self, header: &mut Header) {
        header.unavailable.clear();
        let why = "events are counted, not kept; --events keeps them";
        for what in [
            "switches",
            "wakes",
            "preemptions",
            "totals.wakeups",
            "intervals.wakeups",
            "intervals.migrations",
        ] {
            header.miss(what, why);
        }
        if !self.members.is_all() {
            let why = "counted for the whole machine only";
            header.miss("totals.context_switches.idle", why);
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
    fn launch(&mut self, start: &mut dyn FnMut() -> Result<u32, RecordError>) -> Result<(), RecordError> {
        let own_tid = task_info::own_tid();
        self.counter.follow(own_tid);
        let started = start();
        self.counter.unfollow(own_tid);
        started.map(drop)
    }

    fn poll(&mut self) -> Vec<SwitchRow> {
        self.take_ended();
        let now_ns = monotonic_ns();
        let newcomers = self.members.newcomers(now_ns);
        self.follow(&newcomers);
        // A watch without end asks with each snapshot.
        let due = now_ns.saturating_sub(self.before.at_ns) >= ASK_EVERY_NS;
        if self.history == History::Whole && due {
            self.ask();
        }
        self.groups.poll(now_ns);
        Vec::new()
    }

    fn status(&self) -> Status {
        let cpus = self.counter.cpus();
        let progress = Progress {
            switches: Some(if self.members.is_all() {
                cpus.switches.iter().sum()
            } else {
                self.before.voluntary + self.before.involuntary
            }),
            run_ns: Some(self.before.run_ns),
            tasks: self.alive.tasks().len() as u64,
            lost: cpus.refused + cpus.ended_lost,
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
            self.ask();
            self.take_ended();
        }
        let cpus = self.counter.cpus();
        let tables = self.fill_but_histograms(&cpus, header);
        if self.history == History::Whole {
            return Tables {
                histograms: self.histograms(&cpus, TASK_HISTOGRAMS),
                intervals: self.intervals.clone(),
                ..tables
            };
        }
        self.forget_ended();
        tables
    }
}

/// Times of a task, and the longest.
struct Times<'a> {
    classes: Cow<'a, Classes>,
    max_ns: Option<u64>,
}

impl<'a> Times<'a> {
    fn all(classes: &'a Classes, max_ns: Option<u64>) -> Self {
        Self { classes: Cow::Borrowed(classes), max_ns }
    }

    fn quantile_ns(&self, share: f64) -> Option<u64> {
        self.classes.quantile_ns(share, self.max_ns)
    }

    /// Of those since an earlier moment the longest is known only when it is the longest of all; otherwise its class bounds it.
    fn since(classes: &Classes, max_ns: u64, before: &Classes, max_before_ns: u64) -> Self {
        let classes = classes.since(before);
        let bound_ns = classes.rows().last().map(|(_, to_ns, _)| to_ns.min(max_ns));
        let max_ns = if max_ns > max_before_ns { Some(max_ns) } else { bound_ns };
        Self { classes: Cow::Owned(classes), max_ns }
    }
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
