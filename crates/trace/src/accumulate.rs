//! From events to tables. Pure: no clock, no files, the same events give the same tables.

mod arrivals;
mod distribution;
mod interruptions;
mod intervals;
mod late;
mod quota;
mod recent;
mod rows;
mod task;
#[cfg(test)]
mod tests;
mod waits;

pub use crate::tables::Tables;
pub use late::Late;
pub use task::Migrations;

use crate::event::{Event, Idle, Interrupts, Life, LifeKind, PrevState, Scheduling, Spinning, Switch, Wake};
use crate::model::{MigrationTotals, ProcessTotals, SwitchTotals, Totals};
use crate::tables::{CpuRow, SwitchRow, WaitStart};
use crate::timeline::CpuTimeline;
use arrivals::Arrivals;
use distribution::Distribution;
use interruptions::Interruptions;
use intervals::Intervals;
use quota::Stopped;
use rustc_hash::{FxHashMap, FxHashSet};
use swtch_topology::Host;
use task::{CgroupName, TaskState};
use waits::{CpuSet, Front, IdleCpus, Programs};

/// Which CPUs share caches: a number for the level 2 and one for the level 3 cache of each CPU.
#[derive(Clone, Debug, Default)]
pub struct CacheGroups {
    /// By CPU; CPUs with the same number share a level 2 cache.
    pub l2: Vec<u32>,
    /// By CPU; CPUs with the same number share a level 3 cache.
    pub l3: Vec<u32>,
}

impl CacheGroups {
    /// By the machine's facts. A CPU whose cache is not known shares it with no other.
    ///
    /// ```
    /// use swtch_trace::accumulate::CacheGroups;
    /// assert!(CacheGroups::of(&swtch_topology::Host::default()).l2.is_empty());
    /// ```
    pub fn of(host: &Host) -> Self {
        let groups = |level: u32| {
            let most = host.cpus.iter().map(|cpu| cpu.id).max().map_or(0, |id| id as usize + 1);
            let mut of: Vec<u32> = (0..most as u32).map(|cpu| cpu + (1 << 16)).collect();
            let caches = host.caches.iter().filter(|cache| cache.level == level);
            for (cache, number) in caches.zip(0..) {
                for cpu in &cache.shared_by {
                    if let Some(slot) = of.get_mut(*cpu as usize) {
                        *slot = number;
                    }
                }
            }
            of
        };
        Self { l2: groups(2), l3: groups(3) }
    }
}

/// How much of the past is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Everything, for a recording.
    Whole,
    /// As little as possible, for a watch without end. A task that ended is in one snapshot and then forgotten. Quantiles, longest times and
    /// pairs are of the time since the last snapshot; histograms and intervals are left out. Sums are since the beginning, as in a recording.
    Recent,
}

/// The facts that are known of a task that existed before the recording began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskInfo {
    /// The task.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its parent process.
    pub parent_pid: Option<u32>,
    /// Its name.
    pub comm: String,
    /// It has no user space.
    pub kernel_thread: bool,
    /// The path of its cgroup.
    pub group: Option<String>,
    /// How it is scheduled.
    pub scheduling: Scheduling,
}

impl TaskInfo {
    /// Something in the life of the task. Events name its cgroup by number, if at all.
    pub fn life(&self, at_ns: u64, kind: LifeKind) -> Event {
        Event::Life(Life {
            at_ns,
            tid: self.tid,
            pid: self.pid,
            parent_pid: self.parent_pid.unwrap_or(0),
            comm: self.comm.clone(),
            kernel_thread: self.kernel_thread,
            group: None,
            scheduling: self.scheduling.clone(),
            kind,
        })
    }
}

/// Sums over all tasks of the scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Voluntary switches.
    pub voluntary: u64,
    /// Involuntary switches.
    pub involuntary: u64,
    /// Switches from the idle task.
    pub idle: u64,
    /// Wake-ups.
    pub wakeups: u64,
    /// Migrations.
    pub migrations: Migrations,
    /// Processes created.
    pub forked: u64,
    /// Threads created, those of new processes among them.
    pub threads_created: u64,
    /// Programs executed.
    pub execs: u64,
    /// Processes ended.
    pub exited: u64,
    /// Most processes at once.
    pub processes_peak: u64,
    /// Time on CPUs, ns.
    pub run_ns: u64,
    /// Direct cost measured in place, ns, and of how many switches.
    pub cost_ns: u64,
    /// Switches whose cost was measured.
    pub costs: u64,
}

impl Sums {
    /// Enters what every source that sees all events knows: switches, migrations, wake-ups, processes and threads.
    pub fn fill(&self, totals: &mut Totals) {
        totals.context_switches = SwitchTotals {
            voluntary: Some(self.voluntary),
            involuntary: Some(self.involuntary),
            idle: Some(self.idle),
        };
        totals.migrations = MigrationTotals {
            same_l2: Some(self.migrations.same_l2),
            same_l3: Some(self.migrations.same_l3),
            across: Some(self.migrations.across),
        };
        totals.wakeups = Some(self.wakeups);
        totals.processes = ProcessTotals {
            forked: Some(self.forked),
            execs: Some(self.execs),
            exited: Some(self.exited),
            peak: Some(self.processes_peak),
        };
        totals.threads_created = Some(self.threads_created);
    }
}

#[derive(Debug)]
struct CpuState {
    /// The last task that ran here; idle does not count, it leaves the caches alone.
    last_tid: u32,
    /// The task that came last, idle too.
    current_tid: u32,
    timeline: CpuTimeline<Front>,
    row: CpuRow,
}

#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    count: u64,
    ns: u64,
}

/// Takes events in the order of time, gives tables at any moment.
///
/// A switch is two moments. The task that leaves leaves when the scheduler is entered. The task that comes is chosen later and comes when
/// the scheduler is left, `cost_ns` later. A CPU that is stolen between the two may choose a task that ran, slept and was woken meanwhile
/// on another CPU. So each half is taken at its own time: only then do the events of one task follow each other.
#[derive(Debug, Default)]
pub struct Accumulator {
    start_ns: u64,
    caches: CacheGroups,
    /// The tasks that count, when not all do.
    members: Option<FxHashSet<u32>>,
    tasks: FxHashMap<u32, TaskState>,
    ended: Vec<(u32, TaskState)>,
    processes: FxHashSet<u32>,
    cpus: Vec<CpuState>,
    programs: Programs,
    idle: IdleCpus,
    stopped: Stopped,
    /// While tasks that count wait, the source says which CPUs are idle.
    told_idle: bool,
    /// The source sees only when tasks come and leave, not between which tasks a CPU switches.
    sees_halves: bool,
    /// The source says whether tasks waited on their CPUs.
    sees_spinning: bool,
    wakes: FxHashMap<(u32, u32), Edge>,
    preemptions: FxHashMap<(u32, u32), Edge>,
    thread_costs: Distribution,
    process_costs: Distribution,
    idle_costs: Distribution,
    interrupted_costs: Distribution,
    all_waits: Distribution,
    all_slices: Distribution,
    intervals: Intervals,
    interruptions: Interruptions,
    sums: Sums,
    arrivals: Arrivals,
    late: Late,
    /// The latest event so far, ns of CLOCK_MONOTONIC.
    reached_ns: u64,
}

impl Accumulator {
    /// Begins at `start_ns` (CLOCK_MONOTONIC). With `scoped`, only the tasks made known by [`follow`](Self::follow) and their descendants count;
    /// the others are named where they preempt or wake one of those.
    pub fn new(start_ns: u64, caches: CacheGroups, scoped: bool) -> Self {
        Self {
            start_ns,
            caches,
            members: scoped.then(FxHashSet::default),
            intervals: Intervals::new(start_ns),
            ..Self::default()
        }
    }

    /// The source sees only when tasks come and leave, not between which tasks a CPU switches. So the task that has the CPU while another
    /// waits is not known.
    pub fn sees_halves(&mut self) {
        self.sees_halves = true;
    }

    /// Only some tasks count, and while one of them waits the source says by [`Event::Idle`] which CPUs are idle.
    pub fn is_told_idle(&mut self) {
        self.told_idle = true;
    }

    /// Names a task, whether it counts or not.
    pub fn name(&mut self, known: &TaskInfo) {
        let task = self.tasks.entry(known.tid).or_default();
        task.pid = Some(known.pid);
        task.parent_pid = known.parent_pid;
        task.rename(&known.comm);
        task.kernel_thread = known.kernel_thread;
        task.schedule(&known.scheduling);
        if let Some(path) = &known.group {
            task.group = Some(CgroupName::Path(path.clone()));
        }
    }

    /// Names a task that counts and was there from the start.
    pub fn follow(&mut self, known: &TaskInfo) {
        self.name(known);
        if let Some(members) = &mut self.members {
            members.insert(known.tid);
        }
        if let Some(task) = self.tasks.get_mut(&known.tid) {
            task.was_in_front = false;
        }
        self.exists(known.tid, known.pid, self.start_ns);
    }

    /// The tasks that have come up and have not been named.
    pub fn nameless(&self) -> Vec<u32> {
        self.tasks.iter().filter(|(_, task)| task.pid.is_none()).map(|(tid, _)| *tid).collect()
    }

    /// The name of a task that is known.
    pub fn comm(&self, tid: u32) -> Option<&str> {
        self.tasks.get(&tid).map(|task| task.comm.as_str())
    }

    /// The tasks that count and exist.
    pub fn living(&self) -> Vec<u32> {
        self.tasks.keys().copied().filter(|tid| self.counts(*tid)).collect()
    }

    /// Sets the cgroup that a task is in now, because no event reports a move.
    pub fn regroup(&mut self, tid: u32, path: String) {
        if let Some(task) = self.tasks.get_mut(&tid) {
            task.group = Some(CgroupName::Path(path));
        }
    }

    /// Sets how a task is scheduled now, because no event reports a change. Where it may use other CPUs than was assumed, its waits were compared
    /// with the wrong idle CPUs.
    pub fn reschedule(&mut self, tid: u32, scheduling: &Scheduling) {
        if let Some(task) = self.tasks.get_mut(&tid) {
            task.schedule(scheduling);
        }
    }

    /// How many tasks exist, of those that count or have come up.
    pub fn task_count(&self) -> u64 {
        self.members.as_ref().map_or(self.tasks.len(), FxHashSet::len) as u64
    }

    /// The tasks that count and exist; none when all count.
    pub fn members(&self) -> Vec<u32> {
        self.members.iter().flatten().copied().collect()
    }

    /// Whether a task was last seen to come to this CPU and not to leave it.
    pub fn is_running(&self, tid: u32, cpu: u32) -> bool {
        let now = self.tasks.get(&tid).map(|task| task.now);
        now.is_some_and(|now| now.running_since_ns.is_some() && now.cpu == Some(cpu))
    }

    /// Sums so far.
    pub fn sums(&self) -> Sums {
        self.sums
    }

    /// Events that came after later ones.
    pub fn late(&self) -> &Late {
        &self.late
    }

    /// Takes an event; the rows of the switches that it completes go to `rows`, in the order of time.
    pub fn take(&mut self, event: &Event, rows: &mut impl Extend<SwitchRow>) {
        let at_ns = event.at_ns();
        if at_ns < self.reached_ns {
            self.late.add(event);
        }
        self.reached_ns = self.reached_ns.max(at_ns);
        self.arrive_until(at_ns);
        match event {
            Event::Switch(switch) => self.switch(switch),
            // The idle task is not woken, nor made; a damaged file may say so.
            Event::Wake(wake) if wake.wakee_tid != 0 => self.wake(wake),
            Event::Life(life) if life.tid != 0 => self.life(life),
            Event::Interrupts(interrupts) => self.interrupts(interrupts),
            Event::Idle(idle) => self.idle(idle),
            Event::Wake(_) | Event::Life(_) => {}
        }
        self.arrivals.take_rows(rows);
    }

    /// Takes the arrivals that are still to come: no event follows.
    pub fn end(&mut self, rows: &mut impl Extend<SwitchRow>) {
        self.arrive_until(u64::MAX);
        self.arrivals.take_rows(rows);
    }

    /// Takes the arrivals up to `at_ns`.
    fn arrive_until(&mut self, at_ns: u64) {
        while let Some((switch, place)) = self.arrivals.next_until(at_ns) {
            self.arrive(&switch, switch.left_ns(), place);
        }
    }

    fn arrive(&mut self, switch: &Switch, at_ns: u64, place: Option<u64>) {
        let (waited_ns, waker_tid) = self.comes(switch, at_ns);
        if switch.prev_tid == 0 {
            self.cost(switch, switch.next_tid);
        }
        self.arrivals.complete(place, waited_ns, waker_tid);
    }

    fn counts(&self, tid: u32) -> bool {
        tid != 0 && self.members.as_ref().is_none_or(|members| members.contains(&tid))
    }

    fn task(&mut self, tid: u32, at_ns: u64) -> &mut TaskState {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        let task =
            self.tasks.entry(tid).or_insert_with(|| TaskState { first_ns: since_ns, ..TaskState::default() });
        task.last_ns = task.last_ns.max(since_ns);
        task
    }

    /// Whether the task has had a later event: this one says no more where the task is now.
    fn is_late(&self, tid: u32, at_ns: u64) -> bool {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        self.tasks.get(&tid).is_some_and(|task| since_ns < task.last_ns)
    }

    fn switch(&mut self, switch: &Switch) {
        let index = switch.cpu as usize;
        if index >= self.cpus.len() {
            self.add_cpus(index + 1);
        }
        // What this CPU did before, it did before.
        if let Some((before, place)) = self.arrivals.pending_on(switch.cpu) {
            self.arrive(&before, before.left_ns().min(switch.at_ns.max(before.at_ns)), place);
        }
        self.had_cpu(switch);
        self.leaves_unseen(switch);
        let ran_ns = self.leaves(switch);
        if switch.prev_tid != 0 {
            self.cost(switch, switch.prev_tid);
        }
        // Switches between other tasks only show which task ran before a task that waits.
        if self.counts(switch.prev_tid) || self.counts(switch.next_tid) {
            let row = &mut self.cpus[index].row;
            row.switches += u64::from(switch.prev_tid != 0);
            row.idle_switches += u64::from(switch.prev_tid == 0);
        }
        if switch.prev_state == PrevState::Dead {
            self.ends(switch.prev_tid, switch.at_ns);
        }
        let row = SwitchRow {
            at_ns: switch.at_ns.saturating_sub(self.start_ns),
            cpu: switch.cpu,
            prev_tid: switch.prev_tid,
            next_tid: switch.next_tid,
            prev_state: switch.prev_state.into(),
            ran_ns,
            waited_ns: None,
            cost_ns: switch.cost_ns,
            waker_tid: None,
            throttled: switch.throttled,
        };
        // The rows are in the order of time; one that comes too late has no place any more, and is counted as late.
        let late = switch.at_ns < self.reached_ns;
        let place = (!late).then(|| self.arrivals.add_row(row));
        if switch.cost_ns.is_some_and(|cost_ns| cost_ns > 0) {
            self.arrivals.add(*switch, place);
        } else {
            self.arrive(switch, switch.at_ns, place);
        }
    }

    /// Handles a switch whose leaving task is not the one that came last. The one that came last left without an event, at an unknown time. Its
    /// running time must not go on until the end.
    fn leaves_unseen(&mut self, switch: &Switch) {
        let current_tid = self.cpus[switch.cpu as usize].current_tid;
        if current_tid == switch.prev_tid {
            return;
        }
        if let Some(task) = self.tasks.get_mut(&current_tid)
            && task.now.cpu == Some(switch.cpu)
            && task.now.running_since_ns.is_some_and(|since_ns| since_ns <= switch.at_ns)
        {
            task.now.running_since_ns = None;
        }
    }

    /// The half of a switch that concerns the task that leaves; how long it ran, where that was observed.
    fn leaves(&mut self, switch: &Switch) -> Option<u64> {
        let tid = switch.prev_tid;
        if tid == 0 {
            return None;
        }
        let (counts, late) = (self.counts(tid), self.is_late(tid, switch.at_ns));
        let runnable = switch.prev_state == PrevState::Runnable;
        let stopped = runnable && switch.throttled == Some(true);
        let preempted = runnable && !stopped;
        let task = self.task(tid, switch.at_ns);
        let mut since_ns = None;
        if !late {
            // Another task may have run here meanwhile, where switches have no event.
            let came_ns = task.now.running_since_ns.take().filter(|_| !switch.after_gap);
            since_ns = came_ns.filter(|_| task.now.cpu == Some(switch.cpu));
            task.now.cpu = Some(switch.cpu);
            task.now.left_ns = Some(switch.at_ns);
            task.now.queued_ns = runnable.then_some(switch.at_ns).or(task.now.queued_ns);
            task.now.preempted_by = (preempted && switch.next_tid != 0).then_some(switch.next_tid);
            task.now.was_runnable = runnable;
            task.now.was_stopped = stopped;
        }
        if stopped && let Some(group) = self.tasks.get(&tid).and_then(|task| task.group.as_ref()) {
            self.stopped.stops(group, switch.cpu);
        }
        let ran_ns = since_ns.map(|since_ns| switch.at_ns.saturating_sub(since_ns));
        if !counts {
            return ran_ns;
        }
        if runnable && !late {
            self.begins_to_wait(tid, switch.at_ns);
        }
        let Some(task) = self.tasks.get_mut(&tid) else { return ran_ns };
        if let Some(ran_ns) = ran_ns {
            task.slices.add(ran_ns);
        }
        if let Some(spinning) = switch.spinning {
            self.sees_spinning = true;
            if spinning != Spinning::No {
                task.spinning += 1;
                task.spinning_ns += ran_ns.unwrap_or(0);
            }
            task.yields += u64::from(spinning == Spinning::Yield);
        }
        let (voluntary, involuntary) =
            task.switches.add(switch.at_ns, switch.looks_voluntary(), switch.prev_counts);
        self.sums.voluntary = self.sums.voluntary.saturating_add_signed(voluntary);
        self.sums.involuntary = self.sums.involuntary.saturating_add_signed(involuntary);
        self.intervals.add(switch.at_ns, |row| &mut row.voluntary, voluntary);
        self.intervals.add(switch.at_ns, |row| &mut row.involuntary, involuntary);
        if let (Some(since_ns), Some(ran_ns)) = (since_ns, ran_ns) {
            self.intervals.add_run(since_ns, switch.at_ns);
            self.all_slices.add(ran_ns);
            self.sums.run_ns += ran_ns;
            self.cpus[switch.cpu as usize].row.run_ns += ran_ns;
        }
        if preempted && switch.next_tid != 0 {
            self.preemptions.entry((switch.next_tid, tid)).or_default().count += 1;
        }
        ran_ns
    }

    /// The half of a switch that concerns the task that comes, at `at_ns`. Returns how long the task waited and which task woke it, where that is
    /// known.
    fn comes(&mut self, switch: &Switch, at_ns: u64) -> (Option<u64>, Option<u32>) {
        let tid = switch.next_tid;
        self.cpus[switch.cpu as usize].current_tid = tid;
        if tid == 0 {
            return (None, None);
        }
        let (counts, late) = (self.counts(tid), self.is_late(tid, at_ns));
        if switch.prev_tid == 0 && counts {
            self.sums.idle += 1;
            self.intervals.add(switch.at_ns, |row| &mut row.idle_switches, 1);
        }
        let last_tid = std::mem::replace(&mut self.cpus[switch.cpu as usize].last_tid, tid);
        let task = self.task(tid, at_ns);
        task.cold_switch_ins += u64::from(last_tid != tid);
        if late {
            return (None, None);
        }
        // A task may be woken on its way out, before it left.
        let queued_ns = task.now.queued_ns.take().map(|queued| queued.max(task.now.left_ns.unwrap_or(0)));
        let waited_ns = queued_ns.map(|queued_ns| switch.at_ns.saturating_sub(queued_ns));
        let (waker, preempted_by) = (task.now.waker.take(), task.now.preempted_by.take());
        task.now.running_since_ns = Some(at_ns);
        let left_cpu = task.now.cpu.replace(switch.cpu);
        let from = left_cpu.filter(|from| *from != switch.cpu);
        if let (true, Some(waited_ns)) = (counts, waited_ns) {
            task.waits.add(waited_ns);
            self.all_waits.add(waited_ns);
            if let Some(edge) = preempted_by.and_then(|by| self.preemptions.get_mut(&(by, tid))) {
                edge.ns += waited_ns;
            }
        }
        if let (true, Some(queued_ns)) = (counts, queued_ns) {
            self.waited(tid, queued_ns, switch, left_cpu);
        }
        // Hardly any recording has a quota.
        if !self.stopped.is_empty()
            && let Some(group) = self.tasks.get(&tid).and_then(|task| task.group.as_ref())
        {
            self.stopped.comes(group, switch.cpu, switch.at_ns);
        }
        if counts && let Some(waker) = waker {
            // Where the woken one ran: `ns` of a wake's edge counts the times it was the waker's CPU.
            let same = self.tasks.get(&waker).is_some_and(|task| task.now.cpu == Some(switch.cpu));
            if let Some(edge) = self.wakes.get_mut(&(waker, tid)) {
                edge.ns += u64::from(same);
            }
        }
        if let (true, Some(from)) = (counts, from) {
            self.migrates(tid, from, switch);
        }
        (waited_ns, waker)
    }

    fn migrates(&mut self, tid: u32, from: u32, switch: &Switch) {
        *self.sums.migrations.class(&self.caches, from, switch.cpu) += 1;
        if let Some(task) = self.tasks.get_mut(&tid) {
            *task.migrations.class(&self.caches, from, switch.cpu) += 1;
        }
        self.intervals.add(switch.at_ns, |row| &mut row.migrations, 1);
    }

    /// The cost of a switch belongs to the task that left; where the idle task left, to the one that came.
    fn cost(&mut self, switch: &Switch, tid: u32) {
        if !self.counts(tid) {
            return;
        }
        let process = switch.address_space_changed == Some(true);
        if let Some(task) = self.tasks.get_mut(&tid) {
            task.process_switches += u64::from(process);
            task.thread_switches += u64::from(switch.address_space_changed == Some(false));
            if let Some(cost_ns) = switch.cost_ns {
                task.cost_ns += u64::from(cost_ns);
                task.costs += 1;
            }
        }
        if let Some(cost_ns) = switch.cost_ns {
            self.sums.cost_ns += u64::from(cost_ns);
            self.sums.costs += 1;
            let kind = match (switch.prev_tid == 0 || switch.next_tid == 0, process) {
                _ if switch.interrupted => &mut self.interrupted_costs,
                (true, _) => &mut self.idle_costs,
                (false, true) => &mut self.process_costs,
                (false, false) => &mut self.thread_costs,
            };
            kind.add(cost_ns.into());
        }
    }

    fn wake(&mut self, wake: &Wake) {
        let (counts, late) = (self.counts(wake.wakee_tid), self.is_late(wake.wakee_tid, wake.at_ns));
        let task = self.task(wake.wakee_tid, wake.at_ns);
        if !late {
            task.now.queued_ns = Some(wake.at_ns);
            task.now.waker = wake.waker_tid.filter(|waker| *waker != 0);
            task.now.was_runnable = false;
        }
        if counts && !late {
            self.begins_to_wait(wake.wakee_tid, wake.at_ns);
        }
        let task = self.task(wake.wakee_tid, wake.at_ns);
        if counts {
            task.wakeups += 1;
            self.sums.wakeups += 1;
            self.intervals.add(wake.at_ns, |row| &mut row.wakeups, 1);
        }
        if let Some(waker) = wake.waker_tid.filter(|waker| *waker != 0)
            && (counts || self.counts(waker))
        {
            self.wakes.entry((waker, wake.wakee_tid)).or_default().count += 1;
        }
    }

    fn life(&mut self, life: &Life) {
        let is_process = life.tid == life.pid;
        match life.kind {
            LifeKind::Fork => {
                // The number may have been another task's: one whose last switch was lost, or one outside the scope.
                if let Some(task) = self.tasks.remove(&life.tid) {
                    self.retire(life.tid, task);
                }
                if let Some(members) = &mut self.members {
                    members.insert(life.tid);
                }
                self.exists(life.tid, life.pid, life.at_ns);
                self.sums.threads_created += 1;
                self.sums.forked += u64::from(is_process);
                self.intervals.add(life.at_ns, |row| &mut row.forks, i64::from(is_process));
            }
            LifeKind::Exec => self.sums.execs += 1,
            LifeKind::Name | LifeKind::Seen => {}
            LifeKind::Exit => self.sums.exited += u64::from(is_process),
        }
        // It begins where it was made.
        let maker = if is_process { life.parent_pid } else { life.pid };
        let inherited = (life.kind == LifeKind::Fork)
            .then(|| self.tasks.get(&maker).and_then(|maker| maker.group.clone()))
            .flatten();
        let seen = life.kind == LifeKind::Seen && !self.counts(life.tid);
        let task = self.task(life.tid, life.at_ns);
        task.group = task.group.take().or(inherited);
        task.was_in_front |= seen;
        task.pid = Some(life.pid);
        // A task whose maker has ended is given to another process.
        if life.kind == LifeKind::Fork {
            task.parent_pid = Some(life.parent_pid);
        }
        task.parent_pid.get_or_insert(life.parent_pid);
        task.rename(&life.comm);
        task.schedule(&life.scheduling);
        task.kernel_thread = life.kernel_thread;
        if let Some(number) = life.group {
            task.group = Some(CgroupName::Number(number));
        }
    }

    fn exists(&mut self, tid: u32, pid: u32, at_ns: u64) {
        self.task(tid, at_ns);
        self.processes.insert(pid);
        self.sums.processes_peak = self.sums.processes_peak.max(self.processes.len() as u64);
        self.note_living(at_ns);
    }

    /// Notes how many tasks and processes exist.
    fn note_living(&mut self, at_ns: u64) {
        let (tasks, processes) = (self.task_count(), self.processes.len() as u64);
        let interval = self.intervals.at(at_ns);
        (interval.tasks, interval.processes) = (Some(tasks), Some(processes));
    }

    /// A task has left for good.
    fn ends(&mut self, tid: u32, at_ns: u64) {
        let ended = self.tasks.remove(&tid);
        let there = ended.is_some();
        if let Some(task) = ended {
            self.processes.remove(&tid);
            self.retire(tid, task);
        }
        if let Some(members) = &mut self.members {
            members.remove(&tid);
        }
        if there {
            self.note_living(at_ns);
        }
    }

    fn retire(&mut self, tid: u32, task: TaskState) {
        if self.counts(tid) || task.was_in_front {
            self.ended.push((tid, task));
        }
    }
}

/// What had the CPUs, and what waits were behind.
impl Accumulator {
    fn add_cpus(&mut self, count: usize) {
        let cpu = || CpuState {
            last_tid: 0,
            current_tid: 0,
            row: CpuRow::default(),
            timeline: CpuTimeline::begin(self.start_ns),
        };
        self.cpus.resize_with(count, cpu);
    }

    /// The number of a task's program as it is called now.
    fn front(&mut self, tid: u32) -> Front {
        if tid == 0 {
            return if self.sees_halves { Front::UNSEEN } else { Front::IDLE };
        }
        let Some(task) = self.tasks.get_mut(&tid) else { return Front::UNSEEN };
        *task.program.get_or_insert_with(|| self.programs.number(&task.comm))
    }

    /// The task that leaves a CPU had it since the switch before. With all CPUs in view, a gap means that switches were lost.
    fn had_cpu(&mut self, switch: &Switch) {
        let known = self.cpus[switch.cpu as usize].current_tid == switch.prev_tid || !switch.after_gap;
        let scoped = self.members.is_some();
        let front = if known || scoped { self.front(switch.prev_tid) } else { Front::UNSEEN };
        self.cpus[switch.cpu as usize].timeline.extend(switch.at_ns, front, 0);
        if !scoped {
            self.idle.note(switch.cpu, switch.next_tid == 0, switch.at_ns);
        }
    }

    fn interrupts(&mut self, interrupts: &Interrupts) {
        let index = interrupts.cpu as usize;
        if index >= self.cpus.len() {
            self.add_cpus(index + 1);
        }
        let front = self.front(self.cpus[index].current_tid);
        let timeline = &mut self.cpus[index].timeline;
        timeline.extend(interrupts.at_ns.saturating_sub(interrupts.over_ns), front, 0);
        timeline.extend(interrupts.at_ns, front, interrupts.ns);
        self.interruptions.add(interrupts, self.start_ns);
    }

    fn idle(&mut self, idle: &Idle) {
        // Where all count, their switches say it.
        if self.members.is_some() {
            self.idle.note_all(idle.cpus, idle.at_ns);
        }
    }

    /// A task that counts is queued: notes how long a CPU that it may use was idle so far.
    fn begins_to_wait(&mut self, tid: u32, at_ns: u64) {
        if self.members.is_some() && !self.told_idle {
            return;
        }
        let Some(task) = self.tasks.get_mut(&tid) else { return };
        if task.cpu_set == CpuSet::Unknown {
            task.cpu_set = self.idle.set(task.scheduling.cpus.as_ref());
        }
        task.now.idle_then_ns = self.idle.ns(task.cpu_set, at_ns);
    }

    /// A task that counts comes after a wait since `queued_ns`: charges the wait to what had the CPU. A task that was preempted and comes on
    /// another CPU waited for the one it left. One that a quota stopped waited for that, until a task of its cgroup came to the CPU.
    fn waited(&mut self, tid: u32, queued_ns: u64, switch: &Switch, left_cpu: Option<u32>) {
        let Some(task) = self.tasks.get(&tid) else { return };
        let preempted = task.now.was_runnable;
        let began = if preempted { WaitStart::Preempted } else { WaitStart::Woken };
        let cpu = left_cpu.filter(|_| preempted).unwrap_or(switch.cpu) as usize;
        let now = self.cpus.get(cpu).map_or(0, |cpu| cpu.current_tid);
        let now = self.front(now);
        let (Some(task), Some(state)) = (self.tasks.get_mut(&tid), self.cpus.get(cpu)) else { return };
        let stopped = preempted && task.now.was_stopped;
        let came_ns = task.group.as_ref().and_then(|group| self.stopped.came_ns(group, cpu as u32));
        let stopped_until_ns = if stopped { came_ns.unwrap_or(switch.at_ns) } else { 0 };
        let mut idle_ns = 0;
        state.timeline.divide(queued_ns, switch.at_ns, Some(now), |held| {
            let quota_ns = stopped_until_ns.clamp(held.from_ns, held.to_ns) - held.from_ns;
            let rest_ns = held.to_ns - held.from_ns - quota_ns;
            if quota_ns > 0 {
                task.behind.add(began, Front::QUOTA, switch.at_ns, quota_ns);
            }
            if quota_ns > 0 && rest_ns == 0 {
                return;
            }
            let interrupt_ns = held.interrupt_ns.min(rest_ns);
            let (front, ns) = (held.front.unwrap_or(Front::UNSEEN), rest_ns - interrupt_ns);
            if interrupt_ns > 0 {
                task.behind.add(began, Front::INTERRUPT, switch.at_ns, interrupt_ns);
            }
            task.behind.add(began, front, switch.at_ns, ns);
            idle_ns += if front == Front::IDLE { ns } else { 0 };
        });
        let idle_now_ns = self.idle.ns(task.cpu_set, switch.at_ns);
        // No other CPU could have taken a task that a quota stopped.
        if let (Some(then_ns), Some(now_ns)) = (task.now.idle_then_ns.take(), idle_now_ns)
            && !stopped
        {
            // While its own CPU is idle, one of them is.
            let one_ns = now_ns.saturating_sub(then_ns);
            let waited_ns = switch.at_ns.saturating_sub(queued_ns);
            task.idle_elsewhere_ns += one_ns.min(waited_ns).saturating_sub(idle_ns);
        }
    }
}

impl Migrations {
    fn class(&mut self, caches: &CacheGroups, from: u32, to: u32) -> &mut u64 {
        let share = |groups: &[u32]| {
            let of = |cpu: u32| groups.get(cpu as usize);
            of(from).is_some() && of(from) == of(to)
        };
        if share(&caches.l2) {
            &mut self.same_l2
        } else if share(&caches.l3) {
            &mut self.same_l3
        } else {
            &mut self.across
        }
    }

    /// Of all kinds.
    pub fn all(&self) -> u64 {
        self.same_l2 + self.same_l3 + self.across
    }
}

impl From<PrevState> for crate::tables::PrevState {
    fn from(state: PrevState) -> Self {
        match state {
            PrevState::Runnable => Self::Runnable,
            PrevState::Sleeping => Self::Sleeping,
            PrevState::Uninterruptible => Self::Uninterruptible,
            PrevState::Dead | PrevState::Other => Self::Other,
        }
    }
}
