//! The engine: takes the events in order, lets tasks' programs go on, and asks the policy what the kernel would ask it.
//!
//! Every event is handled by one CPU. What the kernel does there takes time ([`Costs`]). That time is added up while the event is
//! handled and then charged to that CPU: its task's work goes on later.

mod accounting;
mod balance;
mod channel;
mod children;
mod dispatch;
mod events;
mod execute;
mod mutex;
mod objects;
mod pipes;
mod quota;
mod report;
mod sleeps;
mod teams;
mod ticks;
mod timers;
mod wake;

#[cfg(test)]
mod tests;

use crate::cgroups::Groups;
use crate::costs::Costs;
use crate::error::SimError;
use crate::hook::{Family, Hook};
use crate::jitter::{Jitter, Perturbation};
use crate::kernel::{Kernel, NONE, RunState, Task};
use crate::machine::{Machine, REFERENCE_SPEED};
use crate::period::Period;
use crate::policy::Policy;
use crate::prefetch::WORTH_FETCHING;
use crate::sink::Sink;
use crate::stats::{CgroupStats, CpuTimes, RunStats, TaskStats};
use crate::workload::{NEW_PROCESS, TaskClass, TaskSpec, Workload};
use accounting::SpinLock;
use children::Children;
use events::{NEVER, Tournament};
use objects::Objects;
use quota::Quotas;
use std::collections::{BTreeMap, BTreeSet};
use ticks::Ticks;
use timers::Timers;

pub use report::EngineOutcome;

/// How a run is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seed of everything random.
    pub seed: u64,
    /// Simulated time after which a workload that has not ended is an error, ns.
    pub limit_ns: u64,
    /// Simulates the ticks that decide nothing, too. Only to check that it makes no difference.
    pub every_tick: bool,
    /// What the seed changes besides what the workload itself says is random.
    pub jitter: Jitter,
}

impl Default for Options {
    /// Seed 1, an hour of simulated time, no jitter. A [`Plan`](crate::plan::Plan) has what [`Overrides`](crate::plan::Overrides) says
    /// instead.
    fn default() -> Self {
        Self { seed: 1, limit_ns: 3_600_000_000_000, every_tick: false, jitter: Jitter::NONE }
    }
}

/// What the engine remembers of a task besides what policies see.
#[derive(Clone, Debug, Default)]
struct TaskState {
    children: u32,
    /// The children whose end it waits for.
    awaits: Option<Children>,
    /// The barrier's generation it waits for the end of.
    barrier: Option<u32>,
    /// It is among the barrier's waiters.
    parked: bool,
    /// It works on a piece of its team's loop.
    has_piece: bool,
    /// It was woken because there is room in a pipe, and has not written yet.
    has_waited_for_room: bool,
    request_since_ns: u64,
    /// When it was answered, and has not begun its request.
    answered_ns: Option<u64>,
    /// When its sleep is to end.
    due_ns: u64,
    /// When each of its timers, and its period, was due last.
    timers_ns: Option<Box<[Option<u64>; 5]>>,
    background: bool,
    /// Of a process that has had another task before.
    is_thread: bool,
    /// It is about to end, and has come into its last group.
    is_regrouped: bool,
    working_set_bytes: u64,
    /// Of the step that it is at, what fetching memory from afar takes, in units of 1/1024 ns.
    distant: u64,
}

/// A simulated machine that runs a workload under a policy.
#[derive(Debug)]
pub struct Engine<P, S> {
    kernel: Kernel,
    policy: P,
    sink: S,
    workload: Workload,
    objects: Objects,
    task_states: Vec<TaskState>,
    /// Those that have had a task.
    processes: BTreeSet<u32>,
    /// Where the next search for a number of a process begins.
    next_process: u32,
    /// Stacks of threads that have ended, by process.
    free_stacks: BTreeMap<u32, u32>,
    queue: Tournament,
    timers: Timers,
    /// When idle CPUs are brought work by a tick.
    idle_balance_ns: u64,
    ticks: Ticks,
    locks: Vec<SpinLock>,
    quotas: Quotas,
    stats: RunStats,
    options: Options,
    perturbation: Perturbation,
    /// The CPU on which the workload's first task starts.
    first_cpu: usize,
    /// Kernel time of the event that is being handled, ns.
    elapsed_ns: u64,
    /// Of that, waiting for locks.
    spun_ns: u64,
    checked_ns: u64,
    checks_at_once: u32,
    /// Tasks that have not ended and that count.
    live: usize,
    smt: bool,
    /// Some step has had to fetch memory from afar.
    any_distant: bool,
    /// All CPUs run all tasks at this speed, whatever else happens.
    only_speed: Option<u32>,
    /// The running task of the handling CPU is to give way when the event has been handled.
    need_resched: bool,
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// Sets up a run.
    ///
    /// # Errors
    /// When the workload refers to something that is not there, or to CPUs that are not.
    pub fn new(
        machine: Machine,
        costs: Costs,
        workload: Workload,
        policy: P,
        sink: S,
        options: Options,
    ) -> Result<Self, SimError> {
        workload.check(&machine)?;
        let cpus = machine.cpus.len();
        let smt = machine.has_smt() || machine.takes_turns;
        let mut perturbation = Perturbation::new(options.jitter, options.seed);
        let first_cpu = perturbation.first_cpu(cpus);
        let tick_period = perturbation.tick_period(Period::new(costs.tick_period_ns));
        let ticks = Ticks::new(tick_period, costs.tick_ns);
        let objects = Objects::of(&workload, &costs);
        let mut engine = Self {
            kernel: Kernel::new(machine, costs, tick_period, options.seed),
            policy,
            sink,
            objects,
            workload,
            task_states: Vec::new(),
            processes: BTreeSet::new(),
            next_process: NEW_PROCESS - 1,
            free_stacks: BTreeMap::new(),
            queue: Tournament::new(cpus),
            timers: Timers::default(),
            idle_balance_ns: NEVER,
            ticks,
            locks: vec![SpinLock::default(); cpus],
            quotas: Quotas::default(),
            stats: RunStats { cpus: vec![CpuTimes::default(); cpus], ..RunStats::default() },
            options,
            perturbation,
            first_cpu,
            elapsed_ns: 0,
            spun_ns: 0,
            checked_ns: 0,
            checks_at_once: 0,
            live: 0,
            smt,
            any_distant: false,
            only_speed: None,
            need_resched: false,
        };
        if engine.policy.has_cgroups() {
            engine.kernel.groups = Groups::of(&engine.workload.cgroups);
            engine.quotas = Quotas::of(&engine.workload, cpus);
            engine.stats.cgroups = vec![CgroupStats::default(); engine.workload.cgroups.len()];
        }
        let applications = &engine.workload.applications;
        engine.kernel.speeds = applications.iter().map(|application| application.speeds.clone()).collect();
        let types = &engine.kernel.machine.types;
        let alike = engine.kernel.speeds.is_empty() && types.iter().all(|kind| kind.speed == types[0].speed);
        engine.only_speed = (alike && !smt).then(|| types[0].speed.max(1));
        if let Some(speed) = engine.only_speed {
            engine.kernel.cpus.iter_mut().for_each(|cpu| cpu.speed = speed);
        }
        let specs = std::mem::take(&mut engine.workload.tasks);
        for spec in specs {
            let at_ns = engine.perturbation.start_ns(spec.start_ns);
            let task = engine.make(spec, None);
            engine.timers.add(at_ns, task);
        }
        (0..cpus).for_each(|cpu| engine.set_busy_balance(cpu));
        engine.policy.start(&mut engine.kernel);
        Ok(engine)
    }

    /// A number that no process has.
    fn new_process(&mut self) -> u32 {
        while self.processes.contains(&self.next_process) {
            self.next_process -= 1;
        }
        self.next_process
    }

    /// Enters a task into the tables.
    fn make(&mut self, mut spec: TaskSpec, parent: Option<usize>) -> usize {
        if spec.process == NEW_PROCESS {
            spec.process = self.new_process();
        }
        let kernel = &mut self.kernel;
        let task = kernel.tasks.len();
        let allowed = (!spec.allowed.is_empty()).then(|| {
            let mut set = crate::cpu_set::CpuSet::empty(kernel.cpus.len());
            let places = spec.allowed.iter().filter_map(|id| kernel.machine.place_of(*id));
            places.for_each(|cpu| set.insert(cpu));
            Box::new(set)
        });
        kernel.tasks.push(Task {
            weight: match spec.class {
                TaskClass::Idle => crate::policies::IDLE_WEIGHT,
                TaskClass::Normal | TaskClass::Batch => crate::policies::weight_of(spec.nice),
            },
            program: spec.program,
            application: spec.application.unwrap_or(NONE),
            process: spec.process,
            priority: spec.priority,
            restricted: allowed.is_some(),
            refills: spec.working_set_bytes > 0,
            ran_on: NONE,
            ..Task::default()
        });
        kernel.allowed.push(allowed);
        kernel.parents.push(parent.map_or(NONE, |parent| parent as u32));
        self.task_states.push(TaskState {
            background: spec.background,
            is_thread: !self.processes.insert(spec.process),
            working_set_bytes: spec.working_set_bytes,
            ..TaskState::default()
        });
        let types = kernel.machine.types.len();
        let run_by_type_ns = if types > 1 { vec![0; types] } else { Vec::new() };
        self.stats.tasks.push(TaskStats { run_by_type_ns, ..TaskStats::default() });
        self.live += usize::from(!spec.background);
        if let Some(group) = spec.cgroup {
            self.quotas.add_member(group, task);
        }
        kernel.specs.push(spec);
        self.policy.task_new(&mut self.kernel, task);
        task
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// A deadlock, a run without end, a program that never lets time pass, an error of the policy's, or a sink that stopped it.
    pub fn run(mut self) -> Result<EngineOutcome<P, S>, SimError> {
        let end_ns = self.workload.duration_ns.unwrap_or(NEVER);
        while self.live > 0 {
            let (cpu_ns, cpu, is_tick) = self.queue.first();
            let timer_ns = self.timers.first_ns();
            let global_ns = self.idle_balance_ns.min(self.policy.timer_at().unwrap_or(NEVER));
            let global_ns = global_ns.min(self.quotas.at_ns());
            let at_ns = cpu_ns.min(timer_ns).min(global_ns);
            if at_ns == NEVER {
                // A policy that has given up may have left tasks behind.
                self.ask_policy()?;
                return Err(self.stall().unwrap_or_else(|| self.deadlock()));
            }
            if at_ns > end_ns {
                break;
            }
            if at_ns > self.options.limit_ns && end_ns == NEVER {
                self.ask_policy()?;
                self.watch_over_policy()?;
                if self.waits_in_vain() {
                    return Err(self.deadlock());
                }
                return Err(SimError::Endless { limit_ns: self.options.limit_ns, tasks: self.live as u64 });
            }
            self.kernel.now_ns = at_ns;
            if is_tick && cpu_ns == at_ns {
                self.tick(cpu);
            } else if timer_ns == at_ns {
                self.timer();
            } else if cpu_ns == at_ns {
                self.cpu_event(cpu)?;
            } else {
                self.global(at_ns);
            }
            self.stats.events += 1;
            if self.stats.events.is_multiple_of(1 << 16) {
                self.check_on(at_ns)?;
            }
        }
        self.ask_policy()?;
        self.watch_over_policy()?;
        Ok(self.finish(end_ns))
    }

    /// An error if the policy has given up.
    fn ask_policy(&self) -> Result<(), SimError> {
        match self.policy.error() {
            Some(problem) => Err(SimError::Policy { policy: self.policy.name().to_owned(), problem }),
            None => Ok(()),
        }
    }

    fn check_on(&mut self, at_ns: u64) -> Result<(), SimError> {
        // No machine here does 64 x 65,536 things in no time at all.
        self.checks_at_once = if at_ns == self.checked_ns { self.checks_at_once + 1 } else { 0 };
        self.checked_ns = at_ns;
        if self.checks_at_once > 64 {
            let task = self.kernel.cpus.iter().map(|cpu| cpu.current).find(|task| *task != NONE);
            return Err(SimError::NoTimePasses { task: self.name_of(task.unwrap_or(0) as usize), at_ns });
        }
        self.watch_over_policy()?;
        if self.waits_in_vain() {
            return Err(self.deadlock());
        }
        self.ask_policy()?;
        if self.sink.goes_on(at_ns, self.stats.events) { Ok(()) } else { Err(SimError::Stopped { at_ns }) }
    }

    /// An idle-balancing tick, the end of a quota's period, or the policy's timer.
    fn global(&mut self, at_ns: u64) {
        if self.quotas.at_ns() == at_ns {
            self.end_period();
        } else if self.idle_balance_ns == at_ns {
            self.idle_balance();
        } else {
            self.elapsed_ns = 0;
            self.policy.timer(&mut self.kernel);
            self.take_kicks();
            self.charge_policy();
        }
    }

    /// The policy's own work outside of its hooks keeps CPUs from their tasks.
    fn charge_policy(&mut self) {
        for (cpu, ns) in std::mem::take(&mut self.kernel.taken) {
            let cpu = cpu as usize;
            self.begin(cpu);
            self.elapsed_ns = ns;
            self.update_curr(cpu);
        }
    }

    /// The interrupt of one timer is that of all of its CPU whose times have come, if their slack is not over (`__hrtimer_run_queues`,
    /// kernel/time/hrtimer.c).
    fn wake_those_due(&mut self, cpu: usize) {
        let (now_ns, slack_ns) = (self.kernel.now_ns, self.timer_slack_ns());
        while slack_ns > 0 && self.timers.first_ns().saturating_sub(slack_ns) <= now_ns {
            let Some(task) = self.timers.first() else { return };
            let sleeps = self.kernel.tasks[task].state == RunState::Blocked;
            if !sleeps || self.task_states[task].due_ns > now_ns || self.kernel.cpu_of(task) != cpu {
                return;
            }
            self.timers.take();
            self.wake(task, cpu, None);
        }
    }

    /// How late the timers of the workload's tasks may be: those of the real-time classes are exact.
    fn timer_slack_ns(&self) -> u64 {
        if self.policy.family() == Family::RealTime { 0 } else { self.kernel.costs.timer_slack_ns }
    }

    /// A task starts by itself, or its sleep is over.
    fn timer(&mut self) {
        let Some(task) = self.timers.take() else { return };
        if self.kernel.tasks[task].state == RunState::Ended {
            // It was killed in its sleep.
            return;
        }
        if self.task_states.len() >= WORTH_FETCHING {
            for next in self.timers.soon() {
                self.kernel.prefetch(next);
                self.policy.prepare(next);
            }
        }
        if self.kernel.tasks[task].state == RunState::Unborn {
            // Tasks that come from outside come everywhere: no CPU pays for starting all of them.
            let cpus = self.kernel.cpu_count();
            let all = (0..cpus).map(|step| (task + self.first_cpu + step) % cpus);
            let cpu = all.into_iter().find(|cpu| self.kernel.may_use(task, *cpu)).unwrap_or(0);
            self.begin(cpu);
            self.launch(task, cpu);
            self.resched_and_update_curr(cpu);
            return;
        }
        let cpu = self.kernel.cpu_of(task);
        self.begin(cpu);
        self.elapsed_ns += self.kernel.costs.interrupt_ns;
        self.wake(task, cpu, None);
        self.wake_those_due(cpu);
        self.resched_and_update_curr(cpu);
    }

    /// The next event of a CPU: an interrupt, or the end of a step.
    fn cpu_event(&mut self, cpu: usize) -> Result<(), SimError> {
        self.begin(cpu);
        let now_ns = self.kernel.now_ns;
        let state = &mut self.kernel.cpus[cpu];
        if state.kicked_at_ns <= now_ns {
            state.kicked_at_ns = NEVER;
            self.need_resched = true;
        }
        let current = state.current;
        if current != NONE && !state.spinning && self.kernel.tasks[current as usize].remaining == 0 {
            self.execute(cpu, current as usize)?;
            if self.need_resched && self.elapsed_ns > 0 {
                self.resched_on_return(cpu);
                return Ok(());
            }
        }
        self.resched_and_update_curr(cpu);
        Ok(())
    }

    /// A task that wakes others spends its own time on it, and gives way when it returns from the kernel.
    fn resched_on_return(&mut self, cpu: usize) {
        self.update_curr(cpu);
        let returns_ns = self.kernel.cpus[cpu].work_since_ns;
        self.kick_at(cpu, returns_ns);
    }

    fn resched_and_update_curr(&mut self, cpu: usize) {
        if self.need_resched {
            self.schedule(cpu, None);
        }
        self.update_curr(cpu);
    }

    /// A tick that may decide something.
    fn tick(&mut self, cpu: usize) {
        self.begin(cpu);
        if let Some(current) = self.kernel.current(cpu) {
            self.need_resched |= self.policy.tick(&mut self.kernel, cpu, current);
            self.charge_callbacks(Hook::Tick);
            self.need_resched |= self.charge_quota(cpu, current);
            self.busy_balance(cpu);
        }
        self.resched_and_update_curr(cpu);
    }

    /// Work per ns of a CPU's running task.
    fn speed_on(&self, cpu: usize) -> u32 {
        let state = &self.kernel.cpus[cpu];
        let machine = &self.kernel.machine;
        let core_type = state.core_type as usize;
        let speed = match state.current {
            NONE => machine.types[core_type].speed,
            task => self.kernel.speed_of(task as usize, core_type),
        };
        if !self.smt {
            return speed.max(1);
        }
        let busy = machine.sharing(cpu).filter(|thread| self.kernel.cpus[*thread].current != NONE).count();
        let factor = machine.smt_speed[busy.clamp(1, machine.smt_speed.len()) - 1];
        ((u64::from(speed) * u64::from(factor)) / u64::from(REFERENCE_SPEED)).max(1) as u32
    }
}
