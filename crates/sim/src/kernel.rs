//! The simulated kernel's state, as policies see it.

use crate::cgroups::Groups;
use crate::costs::Costs;
use crate::cpu_set::CpuSet;
use crate::machine::{Machine, REFERENCE_SPEED};
use crate::period::Period;
use crate::prefetch::prefetch;
use crate::workload::TaskSpec;
use swtch_stats::Rng;

/// No task: the CPU is idle.
pub(crate) const NONE: u32 = u32::MAX;

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RunState {
    /// It has not started yet.
    #[default]
    Unborn,
    /// It waits for something.
    Blocked,
    /// It waits in a run queue.
    Queued,
    /// It runs.
    Running,
    /// It could run, but the quota of its cgroup does not let it.
    Throttled,
    /// It has ended.
    Ended,
}

/// A task, as the engine keeps it.
///
/// With many tasks an event costs what it has to fetch from memory. So the first of two cache lines has all that a wake-up or a
/// switch needs. The second has what else a running task needs. Everything else is in `TaskState`.
#[derive(Clone, Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Task {
    pub(crate) state: RunState,
    pub(crate) priority: u8,
    pub(crate) restricted: bool,
    /// It has a working set, which is to be fetched again after others have run.
    pub(crate) refills: bool,
    pub(crate) cpu: u32,
    pub(crate) program: u32,
    pub(crate) pc: u32,
    pub(crate) process: u32,
    /// CPU it ran on last.
    pub(crate) ran_on: u32,
    /// Work left in the step it is at, in units of 1/1024 ns.
    pub(crate) remaining: u64,
    pub(crate) queued_since_ns: u64,
    pub(crate) wait_ns: u64,
    pub(crate) longest_wait_ns: u64,
    pub(crate) wakeups: u64,
    // The second line.
    pub(crate) weight: u32,
    pub(crate) application: u32,
    pub(crate) counters: [u32; 4],
    pub(crate) last_ran_ns: u64,
    /// Work done, in the same units.
    pub(crate) work: u64,
    pub(crate) run_ns: u64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

const _: () = assert!(size_of::<Task>() == 128 && std::mem::offset_of!(Task, weight) == 64);

/// A CPU, as the engine keeps it.
#[derive(Clone, Debug)]
pub(crate) struct CpuState {
    pub(crate) current: u32,
    /// Runnable tasks, the running one among them.
    pub(crate) runnable: u32,
    /// Work per ns of the running task.
    pub(crate) speed: u32,
    pub(crate) core_type: u32,
    /// When the running task's time on the CPU began: when it was picked, so that the switch to it is on its account (`exec_start`).
    pub(crate) run_start_ns: u64,
    /// Up to when its work has been counted; in the future while the kernel is busy.
    pub(crate) work_since_ns: u64,
    /// When an interrupt from another CPU arrives.
    pub(crate) kicked_at_ns: u64,
    pub(crate) balance_at_ns: u64,
    pub(crate) idle_since_ns: u64,
    pub(crate) average_idle_ns: u64,
    pub(crate) last_task: u32,
    pub(crate) spinning: bool,
}

/// The simulated kernel. CPUs and tasks are places in its tables.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The time, ns since the beginning.
    pub now_ns: u64,
    /// The machine.
    pub machine: Machine,
    /// What the kernel's work takes.
    pub costs: Costs,
    /// Random numbers for policies.
    pub rng: Rng,
    /// The wake-up that is being done is a synchronous one: the waker is about to sleep (`WF_SYNC`).
    pub wake_is_sync: bool,
    pub(crate) tick_period: Period,
    pub(crate) cpus: Vec<CpuState>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) specs: Vec<TaskSpec>,
    pub(crate) allowed: Vec<Option<Box<CpuSet>>>,
    /// The task that made each, or [`NONE`].
    pub(crate) parents: Vec<u32>,
    pub(crate) idle: CpuSet,
    pub(crate) overloaded: CpuSet,
    pub(crate) kicked: Vec<u32>,
    /// Time of CPUs that the policy takes for itself.
    pub(crate) taken: Vec<(u32, u64)>,
    /// How long after the handled event the next task is picked, ns, by the run queue's clock.
    pub(crate) pick_delay_ns: u64,
    /// Instructions of a scheduler's callbacks that no CPU has been charged for.
    pub(crate) callback_instructions: u64,
    /// Work per ns by application and kind of core.
    pub(crate) speeds: Vec<Vec<u32>>,
    pub(crate) redecided: Vec<u32>,
    /// Cgroups, where the policy knows them.
    pub(crate) groups: Groups,
}

impl Kernel {
    pub(crate) fn new(machine: Machine, costs: Costs, tick_period: Period, seed: u64) -> Self {
        let count = machine.cpus.len();
        let cpus = machine.cpus.iter().map(|cpu| CpuState {
            current: NONE,
            runnable: 0,
            speed: REFERENCE_SPEED,
            core_type: cpu.core_type,
            run_start_ns: 0,
            work_since_ns: 0,
            kicked_at_ns: u64::MAX,
            balance_at_ns: u64::MAX,
            idle_since_ns: 0,
            average_idle_ns: 1_000_000,
            last_task: NONE,
            spinning: false,
        });
        Self {
            now_ns: 0,
            tick_period,
            cpus: cpus.collect(),
            machine,
            costs,
            rng: Rng::new(seed),
            wake_is_sync: false,
            tasks: Vec::new(),
            specs: Vec::new(),
            allowed: Vec::new(),
            parents: Vec::new(),
            idle: CpuSet::full(count),
            overloaded: CpuSet::empty(count),
            kicked: Vec::new(),
            taken: Vec::new(),
            pick_delay_ns: 0,
            callback_instructions: 0,
            speeds: Vec::new(),
            redecided: Vec::new(),
            groups: Groups::default(),
        }
    }

    /// How many CPUs there are.
    #[inline]
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }

    /// How many tasks there have been.
    #[inline]
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// The task that runs on a CPU.
    #[inline]
    pub fn current(&self, cpu: usize) -> Option<usize> {
        let current = self.cpus[cpu].current;
        (current != NONE).then_some(current as usize)
    }

    /// How many tasks a CPU has to run, the running one among them.
    #[inline]
    pub fn runnable(&self, cpu: usize) -> u32 {
        self.cpus[cpu].runnable
    }

    /// The CPUs that have nothing to run.
    #[inline]
    pub fn idle(&self) -> &CpuSet {
        &self.idle
    }

    /// Whether all CPUs of a CPU's core have nothing to run.
    pub(crate) fn core_is_idle(&self, cpu: usize) -> bool {
        self.machine.core(cpu).all(|thread| self.idle.contains(thread))
    }

    /// The CPU where a task runs, waits, or ran last.
    #[inline]
    pub(crate) fn cpu_of(&self, task: usize) -> usize {
        self.tasks[task].cpu as usize
    }

    /// What a task is doing.
    #[inline]
    pub fn state(&self, task: usize) -> RunState {
        self.tasks[task].state
    }

    /// Its weight by its nice value, 1024 for 0 (`sched_prio_to_weight`, Linux kernel/sched/core.c).
    #[inline]
    pub fn weight(&self, task: usize) -> u32 {
        self.tasks[task].weight
    }

    /// The weight that it has at this moment beside tasks in no cgroup: its own, divided as its groups' are.
    #[inline]
    pub(crate) fn effective_weight(&self, task: usize) -> u32 {
        let weight = self.tasks[task].weight;
        if self.groups.is_empty() {
            return weight;
        }
        self.specs[task].cgroup.map_or(weight, |group| self.groups.weight(group, weight))
    }

    /// Its real-time priority; higher is served first.
    #[inline]
    pub fn priority(&self, task: usize) -> u8 {
        self.tasks[task].priority
    }

    /// Whether it is one of the kernel's own threads.
    pub fn is_kernel_thread(&self, task: usize) -> bool {
        self.specs[task].kernel_thread
    }

    /// What it was when it started.
    pub fn spec(&self, task: usize) -> &TaskSpec {
        &self.specs[task]
    }

    /// Its application: a place in the workload's table.
    pub fn application(&self, task: usize) -> Option<usize> {
        let application = self.tasks[task].application;
        (application != NONE).then_some(application as usize)
    }

    /// Whether a task may use a CPU.
    #[inline]
    pub(crate) fn may_use(&self, task: usize, cpu: usize) -> bool {
        !self.tasks[task].restricted || self.allowed[task].as_ref().is_none_or(|set| set.contains(cpu))
    }

    /// The CPUs a task may use, if it may not use all.
    pub fn allowed(&self, task: usize) -> Option<&CpuSet> {
        self.allowed[task].as_deref()
    }

    /// The task that made a task, if one of the workload did.
    pub fn parent(&self, task: usize) -> Option<usize> {
        Some(self.parents[task]).filter(|parent| *parent != NONE).map(|parent| parent as usize)
    }

    /// For how long the running task of a CPU has been running now, ns.
    #[inline]
    pub fn ran_ns(&self, cpu: usize) -> u64 {
        self.now_ns.saturating_sub(self.cpus[cpu].run_start_ns)
    }

    /// When the running task was picked, ns.
    #[inline]
    pub(crate) fn run_start_ns(&self, cpu: usize) -> u64 {
        self.cpus[cpu].run_start_ns
    }

    /// For how long a task has run in all, its present time on the CPU included, ns.
    pub fn run_ns(&self, task: usize) -> u64 {
        let cpu = self.cpu_of(task);
        let now = if self.current(cpu) == Some(task) { self.ran_ns(cpu) } else { 0 };
        self.tasks[task].run_ns + now
    }

    /// The tasks, each with the time it ran and the time it waited in run queues, ns.
    pub fn tasks(&self) -> impl Iterator<Item = (&TaskSpec, u64, u64)> + Clone {
        self.specs.iter().zip(&self.tasks).map(|(spec, task)| (spec, task.run_ns, task.wait_ns))
    }

    /// Work per ns that a task does on a kind of core, undisturbed by other threads of the core.
    #[inline]
    pub(crate) fn speed_of(&self, task: usize, core_type: usize) -> u32 {
        let own = self.speeds.get(self.tasks[task].application as usize);
        own.and_then(|speeds| speeds.get(core_type)).copied().unwrap_or(self.machine.types[core_type].speed)
    }

    /// Fetches what waking a task, or a switch to it, needs of it.
    #[inline]
    pub(crate) fn prefetch(&self, task: usize) {
        prefetch(&self.tasks, task);
    }

    /// Takes time of a CPU for the policy's own work outside of its hooks, ns.
    pub(crate) fn take_time(&mut self, cpu: usize, ns: u64) {
        self.taken.push((cpu as u32, ns));
    }

    /// How long ago a queued task ran last, or was woken for the first time, ns.
    #[inline]
    pub(crate) fn since_it_ran_ns(&self, task: usize) -> u64 {
        self.now_ns.saturating_sub(self.tasks[task].last_ran_ns)
    }

    /// The first tick at or after a moment, ns.
    #[inline]
    pub(crate) fn tick_at_or_after_ns(&self, ns: u64) -> u64 {
        self.tick_period.at_or_after_ns(ns)
    }

    /// When the tick of a number of [`Self::ticks_until`] comes, ns.
    #[inline]
    pub(crate) fn tick_ns(&self, number: u64) -> u64 {
        self.tick_period.end_ns(number)
    }

    /// Ticks from the beginning up to a moment, that moment's own included.
    #[inline]
    pub(crate) fn ticks_until(&self, ns: u64) -> u64 {
        self.tick_period.count(ns)
    }

    /// Makes a CPU look again for what to run (`resched_curr`, `scx_bpf_kick_cpu` with preemption).
    pub(crate) fn kick(&mut self, cpu: usize) {
        self.kicked.push(cpu as u32);
    }

    /// The answer of [`decision_at`](crate::policy::Policy::decision_at) has changed for a CPU while it was doing something else.
    pub(crate) fn decide_again(&mut self, cpu: usize) {
        self.redecided.push(cpu as u32);
    }
}
