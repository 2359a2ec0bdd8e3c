//! CFS, the fair class before Linux 6.6, with the rules of 6.5 (kernel/sched/fair.c).

use super::eevdf::{HOT_NS, MOVED_AT_MOST, NEW_IDLE_COST_NS, by_class, cpus_factor, real_ns_for, virtual_ns};
use super::run_queues::RunQueues;
use super::wake_affine::WakeAffine;
use crate::hook::Family;
use crate::kernel::Kernel;
use crate::policy::{Arrival, Balancing, Departure, Policy};
use crate::workload::TaskClass;

/// `sysctl_sched_latency` for one CPU, ns.
const LATENCY_NS: u64 = 6_000_000;
/// `sysctl_sched_min_granularity` for one CPU, ns.
const LEAST_SLICE_NS: u64 = 750_000;
/// `sysctl_sched_wakeup_granularity` for one CPU, ns.
const WAKEUP_NS: u64 = 1_000_000;
/// `sched_nr_latency`: with more tasks, slices are no longer shortened.
const TASKS_IN_LATENCY: u64 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    vruntime: i64,
    weight: u32,
    class: TaskClass,
    queued: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct CfsRq {
    /// `min_vruntime`: never goes back.
    least: i64,
    /// Weights of the queued tasks, the running one left out.
    load: u64,
    queued: u64,
    /// The one that yielded.
    skip: Option<u32>,
    /// The one that was preempted by a wake-up: it goes on first if that is not unfair (`LAST_BUDDY`).
    last: Option<u32>,
}

/// CFS.
#[derive(Clone, Debug, Default)]
pub struct Cfs {
    latency: u64,
    least_slice: u64,
    wakeup: i64,
    least_idle_ns: u64,
    entities: Vec<Entity>,
    rqs: Vec<CfsRq>,
    queues: RunQueues,
    wakes: WakeAffine,
}

impl Cfs {
    /// With the times of Linux 6.5, which grow with the CPUs.
    pub fn new() -> Self {
        Self { least_idle_ns: NEW_IDLE_COST_NS, ..Self::default() }
    }

    /// As in the kernels before 5.16, where a CPU that was idle for less than 0.5 ms at a time looked for no work elsewhere.
    pub(crate) fn before_5_16() -> Self {
        Self { least_idle_ns: HOT_NS, ..Self::default() }
    }

    fn vruntime_now(&self, kernel: &Kernel, cpu: usize, task: usize) -> i64 {
        let entity = &self.entities[task];
        entity.vruntime + virtual_ns(kernel.ran_ns(cpu) as i64, entity.weight)
    }

    /// The running task's virtual run time, if one runs that is not in the tree.
    fn running(&self, kernel: &Kernel, cpu: usize) -> Option<(usize, i64)> {
        let task = kernel.current(cpu).filter(|task| !self.entities[*task].queued)?;
        Some((task, self.vruntime_now(kernel, cpu, task)))
    }

    /// `update_min_vruntime`.
    fn update_least(&mut self, cpu: usize, current: Option<i64>) {
        let first = self.queues.first(cpu).map(|task| self.entities[task].vruntime);
        let least = match (current, first) {
            (Some(a), Some(b)) => a.min(b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return,
        };
        let queue = &mut self.rqs[cpu];
        queue.least = queue.least.max(least);
    }

    /// What the running task, or one that comes, gets of the period (`sched_slice`), ns.
    fn slice_ns(&self, weight: u32, others: u64, load_of_others: u64) -> u64 {
        let tasks = others + 1;
        let period = if tasks > TASKS_IN_LATENCY { tasks * self.least_slice } else { self.latency };
        let share = u128::from(period) * u128::from(weight) / u128::from(load_of_others + u64::from(weight));
        (share as u64).max(self.least_slice)
    }

    fn ideal_ns(&self, cpu: usize, task: usize) -> u64 {
        let queue = &self.rqs[cpu];
        self.slice_ns(self.entities[task].weight, queue.queued, queue.load)
    }

    fn insert(&mut self, cpu: usize, task: usize) {
        let entity = &mut self.entities[task];
        entity.queued = true;
        let Entity { vruntime, weight, .. } = *entity;
        self.rqs[cpu].load += u64::from(weight);
        self.rqs[cpu].queued += 1;
        self.queues.insert(cpu, task, vruntime);
    }

    fn remove(&mut self, cpu: usize, task: usize) {
        self.queues.remove(cpu, task);
        self.entities[task].queued = false;
        let queue = &mut self.rqs[cpu];
        queue.load -= u64::from(self.entities[task].weight);
        queue.queued -= 1;
        self.forget_buddy(cpu, task);
    }

    /// A task that leaves the queue, running or not, stops being its buddy (`clear_buddies`).
    fn forget_buddy(&mut self, cpu: usize, task: usize) {
        let queue = &mut self.rqs[cpu];
        for buddy in [&mut queue.skip, &mut queue.last] {
            if *buddy == Some(task as u32) {
                *buddy = None;
            }
        }
    }

    /// Whether one that waits should take the place of one that runs (`wakeup_preempt_entity` gives 1).
    fn preempts(&self, running: i64, waiting: usize) -> bool {
        let entity = &self.entities[waiting];
        running - entity.vruntime > virtual_ns(self.wakeup, entity.weight)
    }
}

impl Policy for Cfs {
    fn name(&self) -> &'static str {
        "cfs"
    }

    fn family(&self) -> Family {
        Family::Fair
    }

    fn start(&mut self, kernel: &mut Kernel) {
        let factor = cpus_factor(kernel.cpu_count());
        self.latency = LATENCY_NS * factor;
        self.least_slice = LEAST_SLICE_NS * factor;
        self.wakeup = (WAKEUP_NS * factor) as i64;
        self.rqs = vec![CfsRq::default(); kernel.cpu_count()];
        self.queues.set_cpus(kernel.cpu_count());
    }

    fn task_new(&mut self, kernel: &mut Kernel, task: usize) {
        self.entities.push(Entity {
            weight: kernel.weight(task),
            class: kernel.spec(task).class,
            ..Entity::default()
        });
        self.queues.add_task();
        self.wakes.add_task();
    }

    fn select_cpu(&mut self, kernel: &mut Kernel, task: usize, why: Arrival, waker_cpu: usize) -> usize {
        let cpu = self.wakes.select(kernel, task, why, waker_cpu);
        if why == Arrival::Wakeup && cpu != kernel.cpu_of(task) {
            // migrate_task_rq_fair: virtual run times of queues have nothing to do with each other.
            let from = self.rqs[kernel.cpu_of(task)].least;
            self.entities[task].vruntime += self.rqs[cpu].least - from;
        }
        cpu
    }

    fn enqueue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Arrival) {
        let current = self.running(kernel, cpu);
        self.update_least(cpu, current.map(|(_, vruntime)| vruntime));
        let least = self.rqs[cpu].least;
        let weight = kernel.effective_weight(task);
        self.entities[task].weight = weight;
        match why {
            Arrival::Fork => {
                // START_DEBIT: a new task begins as if it had had its slice.
                let running_load = current.map_or(0, |(running, _)| u64::from(self.entities[running].weight));
                let queue = &self.rqs[cpu];
                let others = queue.queued + u64::from(current.is_some());
                let slice_ns = self.slice_ns(weight, others, queue.load + running_load);
                self.entities[task].vruntime = least + virtual_ns(slice_ns as i64, weight);
            }
            Arrival::Wakeup => {
                // GENTLE_FAIR_SLEEPERS: at most half a latency is made up for, and half a slice of an idle task.
                let entity = &mut self.entities[task];
                let most = if entity.class == TaskClass::Idle { self.least_slice } else { self.latency };
                entity.vruntime = entity.vruntime.max(least - most as i64 / 2);
            }
            Arrival::Migration => self.entities[task].vruntime += least,
        }
        self.insert(cpu, task);
    }

    fn dequeue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Departure) {
        if kernel.current(cpu) == Some(task) {
            // clear_buddies: one that sleeps cannot go on first.
            self.forget_buddy(cpu, task);
            let vruntime = self.vruntime_now(kernel, cpu, task);
            self.entities[task].vruntime = vruntime;
            self.update_least(cpu, Some(vruntime));
            self.forget_buddy(cpu, task);
            return;
        }
        self.remove(cpu, task);
        if why == Departure::Migration {
            let current = self.running(kernel, cpu).map(|(_, vruntime)| vruntime);
            self.update_least(cpu, current);
            self.entities[task].vruntime -= self.rqs[cpu].least;
        }
    }

    fn pick_next(&mut self, _kernel: &mut Kernel, cpu: usize) -> Option<usize> {
        let first = self.queues.first(cpu)?;
        let mut task = first;
        let unfair = |this: &Self, other: usize| this.preempts(this.entities[other].vruntime, first);
        let queue = self.rqs[cpu];
        if queue.skip == Some(first as u32) {
            let second = self.queues.second(cpu);
            task = second.filter(|second| !unfair(self, *second)).unwrap_or(first);
        }
        if let Some(last) = queue.last.map(|last| last as usize).filter(|last| !unfair(self, *last)) {
            task = last;
        }
        self.rqs[cpu].skip = None;
        self.remove(cpu, task);
        let vruntime = self.entities[task].vruntime;
        self.update_least(cpu, Some(vruntime));
        Some(task)
    }

    fn put_prev(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, runnable: bool) {
        if runnable {
            self.entities[task].vruntime = self.vruntime_now(kernel, cpu, task);
            self.entities[task].weight = kernel.effective_weight(task);
            self.insert(cpu, task);
        }
    }

    fn tick(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) -> bool {
        let Some(first) = self.queues.first(cpu) else { return false };
        let ran_ns = kernel.ran_ns(cpu);
        let ideal_ns = self.ideal_ns(cpu, task);
        if ran_ns > ideal_ns {
            self.rqs[cpu].last = None;
            return true;
        }
        let ahead = self.vruntime_now(kernel, cpu, task) - self.entities[first].vruntime;
        ran_ns >= self.least_slice && ahead > ideal_ns as i64
    }

    fn decision_at(&self, kernel: &Kernel, cpu: usize, task: usize) -> Option<u64> {
        let first = self.queues.first(cpu)?;
        let ideal_ns = self.ideal_ns(cpu, task);
        let entity = &self.entities[task];
        let until_ahead = self.entities[first].vruntime + ideal_ns as i64 + 1 - entity.vruntime;
        let ahead_ns = (real_ns_for(until_ahead, entity.weight) as u64).max(self.least_slice);
        Some(kernel.run_start_ns(cpu) + ahead_ns.min(ideal_ns + 1))
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: usize, current: usize, woken: usize) -> bool {
        let running = self.vruntime_now(kernel, cpu, current);
        let classes = by_class(self.entities[current].class, self.entities[woken].class);
        let preempts = classes.unwrap_or_else(|| self.preempts(running, woken));
        if preempts && self.rqs[cpu].queued + 1 >= TASKS_IN_LATENCY {
            self.rqs[cpu].last = Some(current as u32);
        }
        preempts
    }

    fn yield_task(&mut self, _kernel: &mut Kernel, cpu: usize, task: usize) {
        if self.rqs[cpu].queued > 0 {
            self.rqs[cpu].skip = Some(task as u32);
        }
    }

    fn has_cgroups(&self) -> bool {
        true
    }

    fn balancing(&self) -> Balancing {
        Balancing { when_idle: true, least_idle_ns: self.least_idle_ns, periodic: true }
    }

    fn movable(&self, kernel: &Kernel, from: usize, to: usize) -> Option<usize> {
        let fits = |task: usize| kernel.may_use(task, to) && kernel.since_it_ran_ns(task) >= HOT_NS;
        self.queues.late(from, MOVED_AT_MOST, fits)
    }
}
