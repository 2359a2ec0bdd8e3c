//! A recording, or a watch, by BPF programs that only count.

mod living;
mod prices;
mod tasks;
mod times;

use super::aggregate::Aggregates;
use super::group_names::GroupNames;
use super::members::Members;
use super::source::{Counted, Progress, Source, Status, own_cost};
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::error::RecordError;
use crate::options::{Cost, Options, Target};
use crate::sources::counts::{ClassSums, Counter, CpuCounts, TaskCounts};
use crate::system::Cgroup;
use crate::task_info;
use living::add;
use prices::Prices;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use swtch_stats::ClusterRatio;
use swtch_trace::accumulate::{CacheGroups, History, Migrations, Sums};
use swtch_trace::fields;
use swtch_trace::figures::OUTLIER_MEDIANS;
use swtch_trace::growth::Growth;
use swtch_trace::model::{Header, MigrationTotals, Sampled, Totals};
use swtch_trace::tables::{CgroupRow, HistogramRow, IntervalRow, Merge, SwitchRow, Tables, TaskRow};
use tasks::CountedTasks;
use times::times;

/// How often ended tasks are taken: other tasks need their place.
const PERIOD: Duration = Duration::from_millis(50);
/// How often all tasks are asked for, ns, and the part of one CPU that this may take. It is less often where there are thousands of
/// them.
const ASK_EVERY_NS: u64 = 500_000_000;
const ASK_SHARE: u64 = 1000;
/// Where ends were lost, how often all tasks are listed: those that are in no list then are over, ns.
const WHOLE_LIST_EVERY_NS: u64 = 10_000_000_000;
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
/// Memory of the kernel for each task that is counted, if windows saw it: 700 bytes of counts, and what it was at the last list.
const TASK_BYTES: u64 = 1100;
/// Tasks that are ending at the end of a recording are waited for at most so long.
const LONGEST_ENDING: Duration = Duration::from_millis(200);
/// Why a figure that only a switch can tell is not there.
const UNSEEN: &str = "no window saw a switch that tells it; --sample 100% sees every switch";
/// Of the intervals of figures that are sampled.
const CONFIDENCE: f64 = 0.95;
/// Columns that switches tell, beside the costs.
const SEEN_COLUMNS: [&str; 10] = [
    "tasks.wait_p50_ns",
    "tasks.wait_p90_ns",
    "tasks.wait_p99_ns",
    "tasks.wait_max_ns",
    "tasks.slice_p50_ns",
    "tasks.slice_max_ns",
    "tasks.cold_switch_ins",
    "tasks.process_switches",
    "tasks.thread_switches",
    "histograms",
];

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
    /// When a recording asks for all tasks again, ns.
    next_ask_ns: u64,
    /// When all tasks are listed again where ends were lost, ns.
    next_whole_ns: u64,
    /// A snapshot has only the tasks that did something since the one before; then also as they were then, those that ended.
    only_changes: bool,
    ended_before: Vec<(u64, TaskRow)>,
    /// All tasks have a price since there are prices.
    all_priced: bool,
    peak: u64,
    asked: Cost,
    /// The CPUs as last read, and counters of theirs that fell.
    cpus: CpuCounts,
    cpus_fell: u64,
    /// Costs by kind, in classes.
    costs: [ClassSums; 3],
    /// Their sums when a watch last asked for them, ns.
    cost_ns: [u64; 3],
    /// The cost of all switches, and costs and waits in classes, as a watch last reported them. An estimate that falls stands still, for
    /// sums never fall.
    told_ns: u64,
    told_costs: [ClassSums; 3],
    told_waits: ClassSums,
    /// Tasks that are about to end.
    underway: u64,
    /// The one level of cache that all CPUs have in common, if it is the same of all pairs. Then moves need not be seen to be told apart.
    only_level: Option<usize>,
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
        let caches = CacheGroups::of(&header.host);
        // While a recording writes its tables, it reads nothing.
        let ended_bytes = if history == History::Whole { 4 << 20 } else { 512 << 10 };
        let mut counter =
            Counter::load(scoped, groups.is_of_cpu(), in_place, options.sample, &caches, ended_bytes)?;
        let mut members = Members::of(&options.target, group);
        for tid in members.tids().iter().chain(also) {
            counter.set_followed(*tid, true);
        }
        let mut tasks = CountedTasks::new(history == History::Recent, monotonic_ns(), header.host.cpus.len());
        let listed = counter.attach()?;
        tasks.list(listed, monotonic_ns(), false);
        let cpus = counter.cpus();
        let start_ns = header.provenance.started_monotonic_ns;
        Ok(Self {
            counter,
            members,
            tasks,
            ended: Vec::new(),
            aggregates: Aggregates::default(),
            ended_sums: Sums::default(),
            groups,
            ended_histograms: Vec::new(),
            intervals: Vec::new(),
            before: (start_ns, Sums::default()),
            start_ns,
            next_ask_ns: start_ns + ASK_EVERY_NS,
            next_whole_ns: 0,
            only_changes: false,
            ended_before: Vec::new(),
            all_priced: false,
            peak: 0,
            asked: options.cost,
            cpus,
            cpus_fell: 0,
            costs: Default::default(),
            cost_ns: [0; 3],
            told_ns: 0,
            told_costs: Default::default(),
            told_waits: ClassSums::default(),
            underway: 0,
            only_level: only_level(&caches),
            history,
        })
    }

    /// Takes over from another source. Returns the time (CLOCK_MONOTONIC), and the counts before it, which are not part of the counts to come.
    pub(super) fn take_over(&mut self, header: &mut Header) -> (u64, Tables) {
        self.ask(false);
        self.take_ended();
        self.intervals.clear();
        let histograms = self.histograms(usize::MAX);
        let mut tables = self.fill_but_histograms(header);
        // What no window has seen yet is nothing, so that what comes later is the difference.
        let Totals { switch_cost_ns, migrations, .. } = &mut header.totals;
        let MigrationTotals { same_l2, same_l3, across } = migrations;
        for total in [same_l2, same_l3, across] {
            total.get_or_insert(0);
        }
        if self.counter.measures_cost() {
            switch_cost_ns.get_or_insert(0);
        }
        for row in &mut tables.tasks {
            let columns = [
                &mut row.migrations_same_l2,
                &mut row.migrations_same_l3,
                &mut row.migrations_across,
                &mut row.cold_switch_ins,
                &mut row.process_switches,
                &mut row.thread_switches,
            ];
            for column in columns {
                column.get_or_insert(0);
            }
            if self.counter.measures_cost() {
                let cost_ns = *row.switch_cost_ns.get_or_insert(0);
                row.switch_cost_ci_low_ns = Some(cost_ns);
                row.switch_cost_ci_high_ns = Some(cost_ns);
            }
        }
        (self.before.0, Tables { histograms, ..tables })
    }

    /// Counts these tasks, too.
    pub(super) fn follow(&mut self, tids: &[u32]) {
        for tid in tids {
            if !self.counter.set_followed(*tid, true) {
                self.tasks.adopt(&[*tid]);
            }
        }
    }

    /// A task's row; in a watch, quantiles and longest times are of the time since it was as `before`.
    fn row(&self, task: &TaskCounts, before: Option<&TaskCounts>) -> TaskRow {
        let seen = &task.seen;
        let [waits, slices] = times(task, before);
        let [same_l2, same_l3, across] = self.moves(task);
        // A watch gives the time between two snapshots only.
        let prices = self.prices().filter(|_| self.history == History::Whole);
        let (ci_low_ns, ci_high_ns) = prices.and_then(|prices| prices.interval(task)).map(Into::into).unzip();
        let process_switches = self.scaled(seen.process_switches, seen.arrivals, task.arrivals);
        TaskRow {
            tid: task.tid,
            pid: task.pid,
            parent_pid: Some(task.parent_pid),
            comm: task.comm.clone(),
            kernel_thread: task.kernel_thread,
            policy: task.policy,
            nice: Some(task.nice),
            realtime_priority: task.realtime_priority,
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
            migrations_same_l2: same_l2,
            migrations_same_l3: same_l3,
            migrations_across: across,
            cold_switch_ins: self.scaled(seen.cold_switch_ins, seen.with_last, task.arrivals),
            switch_cost_ns: self.task_cost_ns(task),
            switch_cost_ci_low_ns: ci_low_ns,
            switch_cost_ci_high_ns: ci_high_ns,
            process_switches,
            thread_switches: process_switches.map(|process| task.arrivals.saturating_sub(process)),
            ..TaskRow::default()
        }
    }

    /// The cost of the switches to a task, ns. Switches whose cost was not measured leave it unknown; where there was none, it is nothing.
    fn task_cost_ns(&self, task: &TaskCounts) -> Option<u64> {
        if !self.counter.measures_cost() || task.arrivals == 0 {
            return self.counter.measures_cost().then_some(0);
        }
        if self.counter.sees_all() {
            return (task.seen.costs > 0).then_some(task.seen.cost_ns);
        }
        Some(self.prices()?.of_task(task))
    }

    /// What a switch costs, where that is sampled.
    fn prices(&self) -> Option<Prices> {
        let is_sampled = self.counter.measures_cost() && !self.counter.sees_all();
        is_sampled.then(|| Prices::of(&self.cpus, self.counter.sampled().1))?
    }

    /// What was seen at `of` switches, scaled to `all` of them; unknown where none was seen and there were some.
    fn scaled(&self, seen: u64, of: u64, all: u64) -> Option<u64> {
        if self.counter.sees_all() || all == 0 {
            return Some(if all == 0 { 0 } else { seen });
        }
        (of > 0).then(|| (seen as f64 * all as f64 / of as f64).round() as u64)
    }

    /// A task's moves within a level 2 cache, within a level 3 cache, across. Their sum is the kernel's.
    fn moves(&self, task: &TaskCounts) -> [Option<u64>; 3] {
        let seen = task.seen.migrations;
        if self.counter.sees_all() {
            return seen.map(Some);
        }
        // A move that no switch follows is none of the task's.
        self.split(task.moves.min(task.arrivals), seen.map(|seen| seen as f64))
    }

    fn take_ended(&mut self) {
        let (ended, underway) = self.counter.ended();
        self.underway = underway;
        for mut task in ended {
            // One that was there at the last reading would count twice.
            let (is_counted, before) = self.tasks.end(&mut task);
            if is_counted {
                if let (History::Recent, Some(prices)) = (self.history, self.prices()) {
                    prices.price(&mut task);
                }
                self.add_ended(task, before.as_ref());
            }
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
        if let Some(before) = before.filter(|_| self.only_changes) {
            let row = self.row(before, None);
            self.ended_before.push((before.group, row));
        }
        self.ended.push((task.group, row));
        if !is_watch {
            self.ended_histograms.push(task);
            keep_busiest(&mut self.ended_histograms);
        }
    }

    /// Waits for the last switches of the tasks that are ending.
    fn wait_for_ends(&mut self) {
        let begun = Instant::now();
        loop {
            self.take_ended();
            if self.underway == 0 || begun.elapsed() > LONGEST_ENDING {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
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

    /// Asks for the tasks that changed, or for `all`.
    fn ask(&mut self, all: bool) {
        let ends_were_lost = self.cpus.sum(|cpu| cpu.ended_lost) > 0;
        let is_due = ends_were_lost && monotonic_ns() >= self.next_whole_ns;
        let listed = self.counter.tasks(all || is_due);
        // None of the counts includes an event from here on.
        let listed_ns = monotonic_ns();
        if is_due {
            self.next_whole_ns = listed_ns + WHOLE_LIST_EVERY_NS;
        }
        self.read_cpus();
        // A reading that fails leaves the older figures; the next one, or the last, may do.
        if let Ok(mut list) = listed {
            let own_tid = task_info::own_tid();
            // Followed for a moment only, to start the command.
            list.tasks.retain(|task| self.members.is_all() || task.tid != own_tid);
            for task in &list.tasks {
                self.groups.note(task.group);
            }
            for task in self.tasks.list(list, listed_ns, ends_were_lost) {
                self.add_ended(task, None);
            }
            if let (History::Recent, Some(prices)) = (self.history, self.prices()) {
                if std::mem::replace(&mut self.all_priced, true) {
                    self.tasks.update_listed(|task| prices.price(task));
                } else {
                    self.tasks.update(|task| prices.price(task));
                }
            }
        }
        let processes = self.tasks.living().processes;
        self.peak = self.peak.max(processes);
        self.add_interval(listed_ns, processes);
    }

    /// The sums of all tasks so far.
    fn sums(&self) -> Sums {
        let (ended, living) = (&self.ended_sums, &self.tasks.living().sums);
        Sums {
            voluntary: ended.voluntary + living.voluntary,
            involuntary: ended.involuntary + living.involuntary,
            run_ns: ended.run_ns + living.run_ns,
            migrations: Migrations {
                across: ended.migrations.across + living.migrations.across,
                ..Migrations::default()
            },
            idle: self.cpus.sum(|cpu| cpu.idle_switches),
            forked: self.cpus.sum(|cpu| cpu.forks),
            threads_created: self.cpus.sum(|cpu| cpu.threads),
            execs: self.cpus.sum(|cpu| cpu.execs),
            exited: self.cpus.sum(|cpu| cpu.exits),
            processes_peak: self.peak,
            ..Sums::default()
        }
    }

    /// The switches that the cost is of: all of the machine, or those of the tasks.
    fn priced_switches(&self, sums: &Sums) -> u64 {
        let all = self.cpus.all_switches();
        if self.members.is_all() && all > 0 { all } else { sums.voluntary + sums.involuntary }
    }

    /// Their cost by the windows, ns a switch.
    fn cost_of_switch(&self) -> &ClusterRatio {
        self.counter.cost_of_switch(!(self.members.is_all() && self.cpus.all_switches() > 0))
    }

    /// Direct cost of all switches, ns: as it was seen, or scaled by the kernel's count. Where no window saw any, nothing is known.
    fn cost_ns(&self, sums: &Sums) -> Option<u64> {
        if !self.counter.measures_cost() {
            return None;
        }
        let switches = self.priced_switches(sums);
        if self.counter.sees_all() {
            let of_tasks = self.cpus.sum(|cpu| cpu.arrivals_cost_ns);
            return Some(if self.members.is_all() {
                self.cpus.cost_ns_by_kind().iter().sum()
            } else {
                of_tasks
            });
        }
        if switches == 0 {
            return Some(0);
        }
        // A CPU that is taken away in a switch that is seen, on a quiet machine, would be taken away in many.
        let most_ns = monotonic_ns().saturating_sub(self.start_ns) as f64 * self.cpus.rows().len() as f64;
        Some((self.cost_of_switch().value()? * switches as f64).min(most_ns).round() as u64)
    }

    /// Moves by level of cache, by what was seen of them.
    fn split(&self, moves: u64, seen: [f64; 3]) -> [Option<u64>; 3] {
        match self.only_level {
            Some(level) => std::array::from_fn(|index| Some(if index == level { moves } else { 0 })),
            None => split(moves, seen),
        }
    }

    /// Says which totals are estimates, and how sure they are.
    fn explain_sampling(&self, header: &mut Header, sums: &Sums, moves: u64) {
        header.sampled.clear();
        if self.counter.sees_all() {
            return;
        }
        let (share, windows) = self.counter.sampled();
        let of_column = Sampled { share, windows, ..Sampled::default() };
        let of_total = |ratio: &ClusterRatio, whole: u64| {
            let interval = ratio.interval(CONFIDENCE);
            Sampled {
                ci_low: interval.map(|interval| interval.low * whole as f64),
                ci_high: interval.map(|interval| interval.high * whole as f64),
                ..of_column
            }
        };
        let mut columns: Vec<&str> = SEEN_COLUMNS.to_vec();
        if self.counter.measures_cost() {
            columns.push("tasks.switch_cost_ns");
            let cost = of_total(self.cost_of_switch(), self.priced_switches(sums));
            header.sampled.insert("totals.switch_cost_ns".to_owned(), cost);
        }
        header.sampled.extend(columns.into_iter().map(|column| (column.to_owned(), of_column)));
        if self.only_level.is_some() {
            return;
        }
        for (level, ratio) in ["same_l2", "same_l3", "across"].iter().zip(self.counter.move_shares()) {
            header.sampled.insert(format!("totals.migrations.{level}"), of_total(ratio, moves));
            header.sampled.insert(format!("tasks.migrations_{level}"), of_column);
        }
    }

    fn rows(&self) -> Vec<TaskRow> {
        let prices = self.prices();
        let named = |number: u64, row: TaskRow| self.named(prices, number, row);
        let mut rows: Vec<TaskRow> =
            self.ended.iter().map(|(number, row)| named(*number, row.clone())).collect();
        rows.extend(self.aggregates.rows().map(|(number, row)| named(number, row.clone())));
        // Those that no list had since did nothing, and are there.
        let there_ns = self.tasks.there_until_ns().unwrap_or(0).saturating_sub(self.start_ns);
        let alive = |(now, before): (&TaskCounts, Option<&TaskCounts>)| {
            let row = self.row(now, before);
            named(now.group, TaskRow { last_ns: row.last_ns.max(there_ns), ..row })
        };
        if self.only_changes {
            rows.extend(self.tasks.listed().map(alive));
        } else {
            rows.extend(self.tasks.iter().map(alive));
        }
        rows.sort_by_key(|row| (row.tid, row.first_ns));
        rows
    }

    fn named(&self, prices: Option<Prices>, number: u64, row: TaskRow) -> TaskRow {
        TaskRow {
            cgroup: self.groups.name(number),
            // Of one that ended before the first window, too.
            switch_cost_ns: row.switch_cost_ns.or_else(|| Some(prices?.of_unseen(row.waits))),
            ..row
        }
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
    fn histograms(&mut self, most_tasks: usize) -> Vec<HistogramRow> {
        let mut rows = self.cost_rows();
        let alive = self.tasks.iter().map(|(task, _)| task);
        let mut busiest: Vec<&TaskCounts> = self.ended_histograms.iter().chain(alive).collect();
        busiest.sort_by_key(|task| (std::cmp::Reverse(task.arrivals), task.tid, task.first_ns));
        for task in busiest.into_iter().take(most_tasks) {
            let of = format!("task {}", task.tid);
            // Only those that were seen: one of a few cannot be scaled.
            rows.extend(HistogramRow::of("wait", &of, task.seen.waits.rows()));
            rows.extend(HistogramRow::of("slice", &of, task.seen.slices.rows()));
        }
        rows
    }

    /// The costs that were seen, scaled to all switches.
    fn cost_rows(&mut self) -> Vec<HistogramRow> {
        let factor = self.factor();
        for (told, seen) in self.told_costs.iter_mut().zip(&self.costs) {
            if self.history == History::Whole {
                *told = ClassSums::default();
            }
            told.raise(seen, factor);
        }
        let kinds = KINDS.iter().zip(&self.told_costs);
        kinds.flat_map(|(of, sums)| HistogramRow::of("cost", of, sums.rows())).collect()
    }

    /// How many switches there were for one that was seen.
    fn factor(&self) -> f64 {
        let (seen, all) = (self.cpus.sum(|cpu| cpu.seen), self.cpus.all_switches());
        if self.counter.sees_all() || all < seen || seen == 0 { 1.0 } else { all as f64 / seen as f64 }
    }

    fn fill_but_histograms(&mut self, header: &mut Header) -> Tables {
        let sums = self.sums();
        header.totals = Totals::default();
        sums.fill(&mut header.totals);
        header.totals.wakeups = None;
        let mut cost_ns = self.cost_ns(&sums);
        if let (History::Recent, Some(ns)) = (self.history, &mut cost_ns) {
            *ns = (*ns).max(self.told_ns);
            self.told_ns = *ns;
        }
        header.totals.switch_cost_ns = cost_ns;
        let moves = sums.migrations.across;
        let [same_l2, same_l3, across] = if self.counter.sees_all() {
            self.seen_moves().map(Some)
        } else {
            self.split(moves, self.counter.move_shares().map(|share| share.value().unwrap_or(0.0)))
        };
        header.totals.migrations = MigrationTotals { same_l2, same_l3, across };
        if !self.members.is_all() {
            header.totals.context_switches.idle = None;
        }
        header.lost = self.cpus.lost().into();
        self.fill_gaps(header);
        self.explain_sampling(header, &sums, moves);
        header.recorder = own_cost(Some(self.counter.memory_bytes()));
        Tables { cpus: self.cpus.rows(), cgroups: self.unlisted(), tasks: self.rows(), ..Tables::default() }
    }

    fn seen_moves(&self) -> [u64; 3] {
        [
            self.cpus.sum(|cpu| cpu.migrations[0]),
            self.cpus.sum(|cpu| cpu.migrations[1]),
            self.cpus.sum(|cpu| cpu.migrations[2]),
        ]
    }

    /// A snapshot of a watch: what is over is in it once, and forgotten.
    fn recent(&mut self, header: &mut Header) -> Tables {
        self.ask(!self.only_changes);
        // After the list: otherwise a task that ended just before it would be in neither, and its switches in the next snapshot.
        self.take_ended();
        let mut tables = self.fill_but_histograms(header);
        tables.histograms = self.cost_rows();
        if let Some(changes) = self.tasks.changes() {
            let seen: u64 = changes.waits.rows().map(|(_, _, count)| count).sum();
            let is_part = !self.counter.sees_all() && seen > 0 && changes.arrivals > seen;
            let factor = if is_part { changes.arrivals as f64 / seen as f64 } else { 1.0 };
            self.told_waits.raise(&changes.waits, factor);
            tables.histograms.extend(HistogramRow::of("wait", "all", self.told_waits.rows()));
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
            fields::TASKS_SPINNING,
            fields::TASKS_YIELDS,
            fields::TOTALS_WAKEUPS,
            fields::INTERVALS_WAKEUPS,
            fields::INTERVALS_MIGRATIONS,
        ];
        header.miss_all(uncounted, "events are counted, not kept; --events keeps them");
        if !self.members.is_all() {
            let why = "counted for the whole machine only";
            header.miss(fields::TOTALS_CONTEXT_SWITCHES_IDLE, why);
        }
        if header.totals.migrations.across.is_none() {
            header.miss(fields::TOTALS_MIGRATIONS, UNSEEN);
        }
        if !self.counter.measures_cost() && self.counter.sees_some() {
            header.miss(fields::TASKS_SWITCH_COST_NS, self.asked.why_not_in_place());
        } else if header.totals.switch_cost_ns.is_none() {
            header.miss(fields::TASKS_SWITCH_COST_NS, UNSEEN);
        }
        for table in ["tasks", "cpus", "histograms", "intervals"] {
            header.set_source(table, "bpf, counts");
        }
        let source = "the kernel's own sums, read by bpf";
        for column in ["voluntary", "involuntary", "run_ns", "wait_ns"] {
            header.set_source(&format!("tasks.{column}"), source);
        }
        let (share, windows) = self.counter.sampled();
        let source = if self.counter.sees_all() {
            "bpf, counts; in classes of half an octave".to_owned()
        } else {
            format!(
                "bpf, sampled in {windows} windows, {:.1} % of the time; in classes of half an octave",
                100.0 * share
            )
        };
        for column in ["wait_p50_ns", "wait_p90_ns", "wait_p99_ns", "slice_p50_ns"] {
            header.set_source(&format!("tasks.{column}"), &source);
        }
        let (outliers, ns) = (self.cpus.sum(|cpu| cpu.outliers), self.cpus.sum(|cpu| cpu.outliers_ns));
        if outliers > 0 {
            let left_out = format!(
                "{source}; {outliers} of the switches, {ns} ns together, count as the others: each took more than {OUTLIER_MEDIANS} medians, \
                 as when a hypervisor takes the CPU"
            );
            header.set_source("tasks.switch_cost_ns", &left_out);
        }
        header.set_source("tasks.wakeups", "as many as voluntary switches");
    }

    /// The waits by cgroup since this was last asked. Those of a cgroup of which none was seen yet are kept for the next time.
    fn group_waits(&mut self) -> BTreeMap<Option<String>, Vec<HistogramRow>> {
        let Some(changes) = self.tasks.changes() else { return BTreeMap::new() };
        let all = std::mem::take(&mut changes.group_waits);
        let mut found: BTreeMap<Option<String>, Vec<HistogramRow>> = BTreeMap::new();
        for (number, waits) in all {
            let seen: u64 = waits.seen.rows().map(|(_, _, count)| count).sum();
            if seen > 0 {
                let factor = if self.counter.sees_all() {
                    1.0
                } else {
                    (waits.arrivals as f64 / seen as f64).max(1.0)
                };
                let mut scaled = ClassSums::default();
                scaled.raise(&waits.seen, factor);
                let name = self.groups.name(number);
                found.entry(name).or_default().extend(HistogramRow::of("wait", "cgroup", scaled.rows()));
            } else if self.tasks.living().groups.contains_key(&number)
                && let Some(changes) = self.tasks.changes()
            {
                changes.group_waits.insert(number, waits);
            }
        }
        found
    }
}

impl Source for BpfCounts {
    fn set_followed(&self, tid: u32, on: bool) {
        let _ = self.counter.set_followed(tid, on);
    }

    fn poll(&mut self) -> Vec<SwitchRow> {
        // One that cannot be opened now may be opened later; the number of windows is in the header.
        let _ = self.counter.poll_windows();
        self.take_ended();
        let now_ns = monotonic_ns();
        let newcomers = self.members.newcomers(now_ns);
        self.follow(&newcomers);
        // A watch without end asks with each snapshot.
        if self.history == History::Whole && now_ns >= self.next_ask_ns {
            let before_ns = thread_cpu_ns();
            self.ask(false);
            self.next_ask_ns = now_ns + ASK_EVERY_NS.max((thread_cpu_ns() - before_ns) * ASK_SHARE);
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
        Status { period: PERIOD.min(self.counter.window_wait()), alive: self.members.alive(), progress }
    }

    fn finish(&mut self, _: u64) -> Vec<SwitchRow> {
        if !self.counter.sees_all() {
            self.counter.close_window();
        }
        self.wait_for_ends();
        self.ask(true);
        // A task that ended between the two is in both, and counted once.
        self.take_ended();
        self.groups.poll_again();
        Vec::new()
    }

    fn ends_ns(&self, asked_ns: u64) -> u64 {
        asked_ns.max(self.before.0)
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

    fn only_changes(&mut self) {
        self.only_changes = true;
    }

    fn tasks_before(&mut self) -> Option<Vec<TaskRow>> {
        let prices = self.prices();
        let ended = std::mem::take(&mut self.ended_before);
        let ended = ended.into_iter().map(|(number, row)| self.named(prices, number, row));
        let listed = self.tasks.listed().filter_map(|(_, before)| {
            let before = before?;
            Some(self.named(prices, before.group, self.row(before, None)))
        });
        self.only_changes.then(|| ended.chain(listed).collect())
    }

    fn counted(&mut self) -> Counted {
        let factor = self.factor();
        let before_ns = self.cost_ns;
        for (told, seen) in self.cost_ns.iter_mut().zip(self.cpus.cost_ns_by_kind()) {
            *told = (*told).max((seen as f64 * factor).round() as u64);
        }
        let now_ns = self.cost_ns;
        let cost_ns = |kind: usize| now_ns[kind] - before_ns[kind];
        let cpus_fell = std::mem::take(&mut self.cpus_fell);
        let mut group_threads: BTreeMap<String, u64> = BTreeMap::new();
        for (number, threads) in &self.tasks.living().groups {
            if let Some(name) = self.groups.name(*number) {
                *group_threads.entry(name).or_default() += threads;
            }
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
        let group_waits = self.group_waits();
        Counted {
            group_waits,
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

/// The level of cache that two CPUs share, if that is the same of all pairs. It is 0 for level 2, 1 for level 3, 2 for
/// neither.
fn only_level(caches: &CacheGroups) -> Option<usize> {
    let cpus: Vec<(&u32, &u32)> = caches.l2.iter().zip(&caches.l3).collect();
    let levels: BTreeSet<usize> = cpus
        .iter()
        .enumerate()
        .flat_map(|(index, one)| cpus[..index].iter().map(move |other| (one, other)))
        .map(|(one, other)| {
            if one.0 == other.0 {
                0
            } else if one.1 == other.1 {
                1
            } else {
                2
            }
        })
        .collect();
    (levels.len() == 1).then(|| levels.into_iter().next()).flatten()
}

/// Shares of a whole, by weights; none is known where the weights are all 0 and the whole is not. The parts add up to the whole.
fn split(whole: u64, weights: [f64; 3]) -> [Option<u64>; 3] {
    let all: f64 = weights.iter().sum();
    if whole == 0 {
        return [Some(0); 3];
    }
    if all <= 0.0 {
        return [None; 3];
    }
    let first = (whole as f64 * weights[0] / all).round() as u64;
    let both = ((whole as f64 * (weights[0] + weights[1]) / all).round() as u64).clamp(first, whole);
    [Some(first), Some(both - first), Some(whole - both)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_told_apart_by_what_was_seen_and_add_up() {
        assert_eq!(split(10, [1.0, 2.0, 1.0]), [Some(3), Some(5), Some(2)]);
        assert_eq!(split(1, [1.0, 1.0, 1.0]), [Some(0), Some(1), Some(0)]);
        assert_eq!((split(7, [0.0; 3]), split(0, [0.0; 3])), ([None; 3], [Some(0); 3]));
        let caches = |l2: &[u32], l3: &[u32]| CacheGroups { l2: l2.to_vec(), l3: l3.to_vec() };
        assert_eq!(only_level(&caches(&[0, 0], &[0, 0])), Some(0));
        assert_eq!(only_level(&caches(&[0, 1, 2], &[0, 0, 0])), Some(1));
        assert_eq!(only_level(&caches(&[0, 0, 1], &[0, 0, 0])), None);
        assert_eq!(only_level(&caches(&[0], &[0])), None);
    }
}
