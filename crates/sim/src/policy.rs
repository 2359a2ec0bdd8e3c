//! What a scheduling class is to the engine: the kernel's hooks.
//!
//! The names are those of `struct sched_class` (Linux 6.18, kernel/sched/sched.h), whose rules apply. The running task is in no queue.
//! `pick_next` takes one out, and `put_prev` puts it back if it can go on.

use crate::hook::Family;
use crate::kernel::Kernel;

/// Why a CPU is chosen for a task, or why a task comes into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is new.
    Fork,
    /// It was woken.
    Wakeup,
    /// It was moved from another CPU's queue.
    Migration,
}

/// Why a task leaves a queue or a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It waits for something.
    Sleep,
    /// It ended.
    Exit,
    /// It is moved to another CPU's queue.
    Migration,
    /// The quota of its cgroup is used up.
    Throttle,
}

/// A scheduling policy. CPUs and tasks are places in the tables of `Kernel`.
///
/// A policy may keep state by task and by CPU, and must be deterministic. It must give the same answers whether or not `tick` is called
/// at ticks before [`decision_at`](Self::decision_at).
pub trait Policy {
    /// Its name, such as `eevdf`.
    fn name(&self) -> &str;

    /// How its hooks cost.
    fn family(&self) -> Family;

    /// The machine and the tasks of the beginning are known; [`task_new`](Self::task_new) announces more.
    fn start(&mut self, _kernel: &mut Kernel) {}

    /// A task was made. It has a place in the tables but is in no queue.
    fn task_new(&mut self, kernel: &mut Kernel, task: usize);

    /// Chooses a CPU for a task that is new or woken. `waker_cpu` is where that happens. It must be one the task may use.
    fn select_cpu(&mut self, kernel: &mut Kernel, task: usize, why: Arrival, waker_cpu: usize) -> usize;

    /// Takes a task into the queue of `cpu`.
    fn enqueue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Arrival);

    /// Lets a task go, be it queued or running (`kernel.current(cpu)`); in the latter case [`put_prev`](Self::put_prev) follows.
    fn dequeue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Departure);

    /// Takes the next task out of the queue to run it on `cpu`. A task of another CPU's queue may be given too; the engine then moves it.
    fn pick_next(&mut self, kernel: &mut Kernel, cpu: usize) -> Option<usize>;

    /// The task leaves the CPU; if `runnable`, it goes back into the queue.
    fn put_prev(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, runnable: bool);

    /// A timer tick while `task` runs. Whether another task should be picked.
    fn tick(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) -> bool;

    /// From when on a tick may answer yes if nothing else happens before, ns; `None`: never. The engine leaves out the ticks before.
    fn decision_at(&self, kernel: &Kernel, cpu: usize, task: usize) -> Option<u64>;

    /// When a timer of its own ends the running task's slice, besides ticks (`HRTICK`), ns; [`Policy::tick`] is called then, too.
    fn slice_timer_at(&self, _cpu: usize) -> Option<u64> {
        None
    }

    /// `woken` has just come into the queue of `cpu`, where `current` runs. Whether it takes its place at once; by default it waits.
    fn wakeup_preempt(&mut self, _kernel: &mut Kernel, _cpu: usize, _current: usize, _woken: usize) -> bool {
        false
    }

    /// A running task comes into another group and back into its queue (`sched_move_task`); a choice follows.
    fn regroup(&mut self, _kernel: &mut Kernel, _cpu: usize, _task: usize) {}

    /// The running task lets others run. `put_prev` and `pick_next` follow.
    fn yield_task(&mut self, kernel: &mut Kernel, cpu: usize, task: usize);

    /// Whether it heeds cgroups' weights (`Kernel::effective_weight`) and lets the engine keep their quotas.
    fn has_cgroups(&self) -> bool {
        false
    }

    /// How queues are evened out; by default not at all.
    fn balancing(&self) -> Balancing {
        Balancing::default()
    }

    /// A queued task of `from` that may be moved to `to`. Asked only where [`balancing`](Self::balancing) says so.
    fn movable(&self, _kernel: &Kernel, _from: usize, _to: usize) -> Option<usize> {
        None
    }

    /// When [`timer`](Self::timer) wants to be called next, ns.
    fn timer_at(&self) -> Option<u64> {
        None
    }

    /// The policy's own timer, not bound to a CPU.
    fn timer(&mut self, _kernel: &mut Kernel) {}

    /// The engine is about to wake this task: a policy may fetch what it knows of it from memory.
    fn prepare(&self, _task: usize) {}

    /// Runnable tasks that the policy will never run by itself, and where it has left them, in words. Asked when nothing happens any more
    /// or a task has waited for longer than [`watchdog_ns`](Self::watchdog_ns).
    fn lost_tasks(&self, _kernel: &Kernel) -> Option<String> {
        None
    }

    /// For how long a runnable task may wait until the policy is taken to have failed, ns; `None`: for any time.
    fn watchdog_ns(&self) -> Option<u64> {
        None
    }

    /// What went wrong in the policy itself, such as a scheduler in C that gave up. The run ends then.
    fn error(&self) -> Option<String> {
        None
    }
}

/// How queues are evened out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balancing {
    /// A CPU that becomes idle takes a task from the fullest queue.
    pub when_idle: bool,
    /// It does so only if its idle times are at least this long on average, ns (`sched_migration_cost`).
    pub least_idle_ns: u64,
    /// Ticks bring work to idle CPUs and even queues out.
    pub periodic: bool,
}
