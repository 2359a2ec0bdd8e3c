//! A simulated run as a Trace, written while it runs.

use crate::machine::Machine;
use crate::machine::facts::{cache_groups, host};
use crate::plan::Plan;
use crate::recorded::RECORDER;
use crate::run::PolicyRun;
use crate::sink::{SwitchEvent, WakeEvent};
use crate::stats::RunStats;
use crate::summary::HookTimes;
use crate::workload::{Cgroup, TaskClass, TaskSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use swtch_trace::accumulate::{Accumulator, History, Sums, Tables, TaskInfo};
use swtch_trace::check::check;
use swtch_trace::event::{Event, Life, LifeKind, PrevState, Scheduling, Switch, Wake};
use swtch_trace::model::{CpuTime, Ended, Header, Origin, Provenance, Scope, Unavailable};
use swtch_trace::tables::{CgroupRow, SchedPolicy, SwitchRow, TaskRow};
use swtch_trace::{TraceError, Writer};
use swtch_units::{CpuId, CpuList};

/// The first task's number: below are those of the kernel's own, on real machines.
const FIRST_TID: u32 = 1000;
/// Switches that go to the writer at once.
const BATCH: usize = 4096;

/// Takes a run's events and writes them down.
pub(crate) struct TraceWriter {
    writer: Option<Writer>,
    failure: Option<TraceError>,
    header: Header,
    accumulator: Accumulator,
    rows: Vec<SwitchRow>,
    /// The kernel's numbers of CPUs, by their places.
    cpus: Vec<u32>,
    /// Names and processes of the tasks of the beginning, by their places.
    tasks: Vec<NamedTask>,
    /// Tasks that have ended and whose last switch is still to come.
    ended: BTreeSet<usize>,
    /// Whether any cgroup may be stopped.
    has_quota: bool,
}

struct NamedTask {
    name: String,
    process: u32,
    pid: u32,
    /// The path of its cgroup.
    group: Option<String>,
}

fn tid(task: usize) -> u32 {
    FIRST_TID + task as u32
}

fn tid_of(task: Option<usize>) -> u32 {
    task.map_or(0, tid)
}

/// Why such a Trace is there.
fn why(plan: &Plan, policy: &str) -> String {
    let setting = &plan.setting;
    let (workload, machine) = (&setting.workload.name, &setting.machine.name);
    let jitter = if setting.options.jitter.is_none() { "no jitter" } else { "one run with jitter" };
    format!(
        "{workload} under {policy} on {machine}, seed {}, costs of {}, {jitter}",
        setting.options.seed, plan.costs_from
    )
}

/// What times of this run under a policy are not, for the header.
fn caveats(plan: &Plan, policy: &str) -> Vec<Unavailable> {
    let mut caveats = Vec::new();
    if HookTimes::of(policy, &plan.setting.costs) == HookTimes::WithoutCallbacks {
        caveats.push((
            "callbacks",
            "what the scheduler's callbacks execute is not charged: times are too short by an unknown part",
        ));
    }
    if plan.setting.machine.takes_turns || plan.emulated_costs {
        caveats.push((
            "hardware times",
            "the CPUs or the costs are emulated: times say nothing about hardware; compare switches",
        ));
    }
    caveats.into_iter().map(|(field, reason)| Unavailable::new(field, reason)).collect()
}

impl TraceWriter {
    /// Begins the Trace `directory` of a run under a policy.
    ///
    /// # Errors
    /// When the place cannot be written to, or something else is there.
    pub(crate) fn begin(plan: &Plan, policy: &str, folder: &Path) -> Result<Self, TraceError> {
        let machine = &plan.setting.machine;
        let provenance = Provenance {
            origin: Origin::Simulated,
            swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
            recorder: RECORDER.to_owned(),
            why: why(plan, policy),
            policy: Some(policy.to_owned()),
            ..Provenance::default()
        };
        let mut header = Header::new(provenance, host(machine), Scope::Machine);
        header.unavailable = caveats(plan, policy);
        let mut recorder = Self {
            writer: Some(Writer::create_aside(folder, &header)?),
            failure: None,
            header,
            accumulator: Accumulator::new(0, cache_groups(machine), false),
            rows: Vec::with_capacity(BATCH),
            cpus: machine.cpus.iter().map(|cpu| cpu.id.get()).collect(),
            tasks: Vec::new(),
            ended: BTreeSet::new(),
            has_quota: plan.setting.workload.cgroups.iter().any(|cgroup| cgroup.quota.is_some()),
        };
        let workload = &plan.setting.workload;
        let leaders = leaders(&workload.tasks);
        let named = |spec: &TaskSpec| NamedTask {
            name: spec.name.clone(),
            process: spec.process,
            pid: leaders[&spec.process],
            group: group_of(spec, &workload.cgroups),
        };
        recorder.tasks.extend(workload.tasks.iter().map(named));
        Ok(recorder)
    }

    /// Whether writing has failed.
    pub(crate) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// What went wrong in writing, if anything did.
    pub(crate) fn failure(&mut self) -> Option<TraceError> {
        self.failure.take()
    }

    fn take(&mut self, event: &Event) {
        self.accumulator.take(event, &mut self.rows);
        if self.rows.len() >= BATCH {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        if let Some(writer) = self.writer.as_mut().filter(|_| self.failure.is_none()) {
            self.failure = writer.append_switches(&self.rows).err();
        }
        self.rows.clear();
    }

    fn pid(&self, task: usize) -> u32 {
        self.tasks.get(task).map_or_else(|| tid(task), |named| named.pid)
    }

    fn comm(&self, task: usize) -> String {
        self.tasks.get(task).map_or_else(String::new, |named| named.name.clone())
    }

    pub(crate) fn switch(&mut self, event: SwitchEvent) {
        let prev_state = match (event.prev, event.prev_runnable) {
            (None, _) | (_, true) => PrevState::Runnable,
            (Some(task), false) if self.ended.remove(&task) => PrevState::Dead,
            (Some(_), false) => PrevState::Sleeping,
        };
        let processes =
            event.prev.zip(event.next).map(|(prev, next)| (self.process(prev), self.process(next)));
        let (prev_tid, next_tid) = (tid_of(event.prev), tid_of(event.next));
        let switch = Switch {
            address_space_changed: processes.map(|(prev, next)| prev != next),
            throttled: self.has_quota.then_some(event.prev_throttled),
            cost_ns: u32::try_from(event.cost_ns).ok(),
            ..Switch::bare(event.at_ns, self.cpus[event.cpu], prev_tid, next_tid, prev_state)
        };
        self.take(&Event::Switch(switch));
    }

    /// The task's process; of one that was forked, only known at the end, its own.
    fn process(&self, task: usize) -> (bool, u32) {
        self.tasks.get(task).map_or((false, task as u32), |named| (true, named.process))
    }

    pub(crate) fn wake(&mut self, event: WakeEvent) {
        let wake = Wake {
            at_ns: event.at_ns,
            cpu: self.cpus[event.cpu],
            wakee_tid: tid(event.wakee),
            waker_tid: event.waker.map(tid),
            new: false,
        };
        self.take(&Event::Wake(wake));
    }

    pub(crate) fn fork(&mut self, at_ns: u64, parent: Option<usize>, child: usize) {
        let parent_pid = parent.map_or(0, |parent| self.pid(parent));
        if parent.is_none() && at_ns == 0 {
            let (pid, comm) = (self.pid(child), self.comm(child));
            let group = self.tasks.get(child).and_then(|named| named.group.clone());
            let known =
                TaskInfo { tid: tid(child), pid, parent_pid: Some(0), comm, group, ..TaskInfo::default() };
            self.accumulator.follow(&known);
        } else {
            self.life(at_ns, child, parent_pid, LifeKind::Fork);
        }
        // It comes into a queue; the waker of one that was forked is its parent.
        let (wakee_tid, waker_tid) = (tid(child), parent.map(tid));
        self.take(&Event::Wake(Wake { at_ns, cpu: 0, wakee_tid, waker_tid, new: true }));
    }

    pub(crate) fn exit(&mut self, at_ns: u64, task: usize) {
        self.ended.insert(task);
        self.life(at_ns, task, 0, LifeKind::Exit);
    }

    fn life(&mut self, at_ns: u64, task: usize, parent_pid: u32, kind: LifeKind) {
        let (tid, pid, comm) = (tid(task), self.pid(task), self.comm(task));
        let life = Life {
            at_ns,
            tid,
            pid,
            parent_pid,
            comm,
            kernel_thread: false,
            group: None,
            scheduling: Scheduling::default(),
            kind,
        };
        self.take(&Event::Life(life));
    }

    /// Writes what is left, and puts the Trace into its place.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn finish<S>(
        mut self,
        machine: &Machine,
        cgroups: &[Cgroup],
        run: &PolicyRun<S>,
    ) -> Result<(), TraceError> {
        self.accumulator.end(&mut self.rows);
        self.hand_on();
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let sums = self.accumulator.sums();
        let mut tables = self.accumulator.snapshot(run.makespan_ns, History::Whole, &|_| None);
        name_all(&mut tables, &run.tasks, cgroups);
        tables.cgroups = cgroup_rows(&tables.tasks, cgroups, &run.stats);
        add_cpu_times(&mut tables, machine, &run.stats);
        self.header.provenance.ended = if run.complete { Ended::Complete } else { Ended::Duration };
        self.header.duration_ns = run.makespan_ns;
        fill(&mut self.header, sums, &run.stats);
        tables.put_all(&mut writer)?;
        match check(tables.view(&self.header)) {
            Ok(()) => writer.finish(&self.header),
            Err(source) => {
                let path = writer.finish_refused(&self.header)?;
                Err(TraceError::Impossible { path, source })
            }
        }
    }
}

/// The first task of each process.
fn leaders(specs: &[TaskSpec]) -> BTreeMap<u32, u32> {
    specs.iter().enumerate().rev().map(|(task, spec)| (spec.process, tid(task))).collect()
}

/// Names and processes of all tasks, those that were forked among them, and what memory they use.
/// The path of its cgroup, as recordings have it.
fn group_of(spec: &TaskSpec, cgroups: &[Cgroup]) -> Option<String> {
    cgroups.get(spec.cgroup? as usize).map(path)
}

fn path(cgroup: &Cgroup) -> String {
    format!("/{}", cgroup.name)
}

/// The sums of each cgroup's own tasks, and for how long its quota stopped it.
fn cgroup_rows(tasks: &[TaskRow], cgroups: &[Cgroup], stats: &RunStats) -> Vec<CgroupRow> {
    let rows = cgroups.iter().enumerate().map(|(place, cgroup)| {
        let stopped = stats.cgroups.get(place).filter(|_| cgroup.quota.is_some());
        let mut row = CgroupRow {
            path: path(cgroup),
            throttled_periods: stopped.map(|stats| stats.throttled_periods),
            throttled_ns: stopped.map(|stats| stats.throttled_ns),
            ..CgroupRow::default()
        };
        for task in tasks.iter().filter(|task| task.cgroup.as_deref() == Some(&row.path)) {
            row.voluntary += task.voluntary;
            row.involuntary += task.involuntary;
            row.run_ns += task.run_ns;
            row.wait_ns += task.wait_ns;
            row.tasks += 1;
        }
        row
    });
    rows.collect()
}

fn name_all(tables: &mut Tables, specs: &[TaskSpec], cgroups: &[Cgroup]) {
    let leaders = leaders(specs);
    for row in &mut tables.tasks {
        let Some(spec) = row.tid.checked_sub(FIRST_TID).and_then(|task| specs.get(task as usize)) else {
            continue;
        };
        row.comm.clone_from(&spec.name);
        row.pid = leaders[&spec.process];
        row.cgroup = group_of(spec, cgroups);
        row.nice = Some(i32::from(spec.nice));
        row.policy = match spec.class {
            TaskClass::Normal => None,
            TaskClass::Batch => Some(SchedPolicy::Batch),
            TaskClass::Idle => Some(SchedPolicy::Idle),
        };
        let allowed: CpuList = spec.allowed.iter().copied().collect();
        row.cpus_allowed = (!spec.allowed.is_empty()).then(|| allowed.to_string());
        row.working_set_bytes = (spec.working_set_bytes > 0).then_some(spec.working_set_bytes);
    }
}

fn add_cpu_times(tables: &mut Tables, machine: &Machine, stats: &RunStats) {
    for row in &mut tables.cpus {
        let Some(times) = machine.place_of(CpuId::new(row.cpu)).and_then(|place| stats.cpus.get(place))
        else {
            continue;
        };
        row.idle_ns = times.idle_ns;
        row.user_ns = Some(times.user_ns());
        row.system_ns = Some(times.system_ns());
        row.irq_ns = Some(times.tick_ns);
    }
}

fn fill(header: &mut Header, sums: Sums, stats: &RunStats) {
    let totals = &mut header.totals;
    sums.fill(totals);
    totals.wakeups = Some(stats.wakeups);
    totals.switch_cost_ns = Some(sums.cost_ns);
    let times = stats.times();
    totals.cpu_ns = CpuTime {
        user: Some(times.user_ns()),
        system: Some(times.system_ns()),
        irq: Some(times.tick_ns),
        idle: Some(times.idle_ns),
        ..CpuTime::default()
    };
    for table in ["switches", "tasks", "cpus", "cgroups", "wakes", "preemptions", "histograms", "intervals"] {
        header.sources.insert(table.to_owned(), RECORDER.to_owned());
    }
    let cost = "the simulated switch itself, without the scheduling class's hooks";
    header.sources.insert("switches.cost_ns".to_owned(), cost.to_owned());
    let missing = [
        (
            "provenance.started_unix_ns",
            "a simulation has no date, so that the same input gives the same bytes",
        ),
        ("tasks.spinning", "a simulation does not keep whether a task worked when it lost its CPU"),
        ("tasks.yields", "a simulation does not keep whether a task yielded when it lost its CPU"),
        ("host.caches.bytes", "a simulated cache has no size: what refilling takes is in the costs"),
    ];
    header.unavailable.extend(missing.map(|(what, why)| Unavailable::new(what, why)));
}
