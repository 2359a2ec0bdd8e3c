//! EEVDF, the fair class since Linux 6.6, with the rules of 6.18, 7.2 or 7.3 (kernel/sched/fair.c).
//!
//! A task is eligible when it has had at most its share: its virtual run time is at most the weighted average of all. Of the eligible
//! ones the one with the earliest virtual deadline runs, until its slice is over. A task that sleeps while it owes time stays in
//! the queue until it is eligible (`DELAY_DEQUEUE`).

use super::run_queues::{DeadlineQueues, QueuedEntity, Sequence};
use super::wake_affine::WakeAffine;
use crate::hook::Family;
use crate::kernel::Kernel;
use crate::policy::{Arrival, Balancing, Departure, Policy};
use crate::prefetch::prefetch;
use crate::workload::TaskClass;

/// `normalized_sysctl_sched_base_slice`, ns.
const BASE_SLICE_NS: u64 = 700_000;
/// `sysctl_sched_migration_cost`: a task that ran so recently has its data in the cache, ns.
pub(super) const HOT_NS: u64 = 500_000;
/// What the kernel finds a look for work to cost when a CPU becomes idle, about (`max_newidle_lb_cost`), ns.
pub(super) const NEW_IDLE_COST_NS: u64 = 5_000;
/// The shortest time for which a slice's timer is set (`hrtick_start`), ns.
const LEAST_TIMER_NS: u64 = 10_000;
/// How far a timer that is set may be off (`hrtick_needs_rearm`), ns.
const TIMER_SLACK_NS: u64 = 5_000;
/// Tasks looked at for one to move (`SCHED_NR_MIGRATE_BREAK`).
pub(super) const MOVED_AT_MOST: usize = 32;

/// What the class knows of a task: one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Entity {
    sequence: Sequence,
    vruntime: i64,
    deadline: i64,
    /// While it runs: no eligible task takes its place before this vruntime (`vprot`).
    protected: i64,
    /// What it is owed (positive) or owes when it leaves.
    lag: i64,
    weight: u32,
    class: TaskClass,
    /// In a tree.
    queued: bool,
    /// In a tree though it sleeps.
    delayed: bool,
    /// Its deadline is relative to its virtual run time: it is on its way to another CPU.
    relative: bool,
    /// It has just been made, and no look for preemption has met it yet.
    fresh: bool,
}

impl QueuedEntity for Entity {
    #[inline]
    fn sequence(&self) -> Sequence {
        self.sequence
    }

    #[inline]
    fn set_sequence(&mut self, sequence: Sequence) {
        self.sequence = sequence;
    }

    #[inline]
    fn deadline(&self) -> i64 {
        self.deadline
    }

    #[inline]
    fn vruntime(&self) -> i64 {
        self.vruntime
    }
}

/// The kernel whose kernel/sched/fair.c the class follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Rules {
    #[default]
    V6_18,
    V7_2,
    V7_3,
}

/// The queue of a CPU, its tree aside.
#[derive(Clone, Copy, Debug, Default)]
struct CfsRq {
    /// Sum of weight times (virtual run time - zero) of the tasks in the tree.
    weighted: i64,
    /// Sum of their weights.
    load: i64,
    /// What virtual run times are counted from, so that the sum stays small.
    zero: i64,
    /// Tasks in the tree.
    queued: u32,
    /// The task that ran last and could go on: it is protected while its slice lasts.
    last: Option<u32>,
    /// When its timer ends the running task's slice, since 7.2 (`rq->hrtick_timer`).
    timer_ns: Option<u64>,
}

/// EEVDF.
#[derive(Clone, Debug, Default)]
pub struct Eevdf {
    slice_ns: Option<u64>,
    rules: Rules,
    slice: i64,
    tick_ns: i64,
    entities: Vec<Entity>,
    rqs: Vec<CfsRq>,
    queues: DeadlineQueues,
    wakes: WakeAffine,
}

impl Eevdf {
    /// With the kernel's base slice: 0.7 ms times 1 + log2 of the CPUs, of which at most eight count.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a base slice of one's own (`/sys/kernel/debug/sched/base_slice_ns`).
    pub fn with_slice_ns(slice_ns: u64) -> Self {
        Self { slice_ns: Some(slice_ns), ..Self::default() }
    }

    /// By the rules of Linux 7.2 (kernel/sched/fair.c). Slices end by a timer of their own (`HRTICK`) and not at the next tick. A task that
    /// slept in the queue keeps at least the lag it went to sleep with. Lag is bounded by a slice and a tick. The preemption check of a
    /// wake-up dequeues the sleeping tasks that it meets in the queue, and one that changes nothing shortens the running task's protection. A
    /// task that is made does not take its parent's place.
    pub fn since_7_2() -> Self {
        Self { rules: Rules::V7_2, ..Self::default() }
    }

    /// By the rules of Linux 7.3 (kernel/sched/fair.c). Besides those of 7.2: a running task that a woken one is to follow loses the
    /// protection of its slice, and a task that is made shortens its parent's.
    pub fn since_7_3() -> Self {
        Self { rules: Rules::V7_3, ..Self::default() }
    }

    #[inline]
    fn is_since_7_2(&self) -> bool {
        self.rules >= Rules::V7_2
    }

    #[inline]
    fn slice_of(&self, weight: u32) -> i64 {
        virtual_ns(self.slice, weight)
    }

    /// The running task's virtual run time now.
    #[inline]
    fn vruntime_now(&self, kernel: &Kernel, cpu: usize, task: usize) -> i64 {
        let entity = &self.entities[task];
        entity.vruntime + virtual_ns(kernel.ran_ns(cpu) as i64, entity.weight)
    }

    /// The running task with its virtual run time of now, its deadline brought forward if its slice is over (`update_deadline`).
    ///
    /// While it is alone, its slices end at ticks that decide nothing and are left out: they are made up for here.
    fn current_now(&self, kernel: &Kernel, cpu: usize, task: usize) -> Entity {
        let mut entity = self.entities[task];
        let vruntime = self.vruntime_now(kernel, cpu, task);
        let slice = self.slice_of(entity.weight);
        if vruntime >= entity.deadline && self.rqs[cpu].queued == 0 {
            let started_ns = kernel.run_start_ns(cpu);
            let start = entity.vruntime;
            // Time of running after which a virtual duration has passed.
            let real_ns = |virtual_ns: i64| real_ns_for(virtual_ns, entity.weight) as u64;
            let first_ns = kernel.tick_at_or_after_ns(started_ns + real_ns(entity.deadline - start));
            if first_ns <= kernel.now_ns {
                let step_ns = real_ns(slice).max(1).next_multiple_of(kernel.costs.tick_period_ns);
                let at_ns = first_ns + (kernel.now_ns - first_ns) / step_ns * step_ns;
                entity.deadline = start + virtual_ns((at_ns - started_ns) as i64, entity.weight) + slice;
            }
        }
        entity.vruntime = vruntime;
        if vruntime >= entity.deadline {
            entity.deadline = vruntime + slice;
        }
        entity
    }

    /// The sums with the running task in them: weighted distance from zero, and load.
    #[inline]
    fn sums(&self, cpu: usize, current: Option<&Entity>) -> (i64, i64) {
        let queue = &self.rqs[cpu];
        match current {
            Some(entity) => {
                let weight = i64::from(entity.weight);
                (queue.weighted + weight * (entity.vruntime - queue.zero), queue.load + weight)
            }
            None => (queue.weighted, queue.load),
        }
    }

    /// The average virtual run time (`avg_vruntime`).
    #[inline]
    fn average(&self, cpu: usize, current: Option<&Entity>) -> i64 {
        let (weighted, load) = self.sums(cpu, current);
        if load == 0 { self.rqs[cpu].zero } else { self.rqs[cpu].zero + weighted.div_euclid(load) }
    }

    #[inline]
    fn insert(&mut self, cpu: usize, task: usize) {
        let entity = &mut self.entities[task];
        entity.queued = true;
        let Entity { vruntime, weight, .. } = *entity;
        let queue = &mut self.rqs[cpu];
        queue.weighted += i64::from(weight) * (vruntime - queue.zero);
        queue.load += i64::from(weight);
        queue.queued += 1;
        self.queues.insert(&mut self.entities, cpu, task);
    }

    #[inline]
    fn remove(&mut self, cpu: usize, task: usize) {
        self.queues.remove(&mut self.entities, cpu, task);
        let entity = &mut self.entities[task];
        entity.queued = false;
        let queue = &mut self.rqs[cpu];
        queue.weighted -= i64::from(entity.weight) * (entity.vruntime - queue.zero);
        queue.load -= i64::from(entity.weight);
        queue.queued -= 1;
    }

    /// Counts from the average from now on.
    #[inline]
    fn move_zero(&mut self, cpu: usize, average: i64) {
        let queue = &mut self.rqs[cpu];
        queue.weighted -= queue.load * (average - queue.zero);
        queue.zero = average;
    }

    /// The running task of a CPU as it is now, its deadline brought up to date (`update_curr`).
    fn running(&mut self, kernel: &Kernel, cpu: usize) -> Option<Entity> {
        let task = kernel.current(cpu)?;
        let entity = &self.entities[task];
        if entity.queued || entity.delayed {
            return None;
        }
        let now = self.current_now(kernel, cpu, task);
        // Its vruntime stays that of the beginning of its time on the CPU, so that rounding does not depend on when it is read.
        self.entities[task].deadline = now.deadline;
        Some(now)
    }

    /// Gives a task that comes its virtual run time and deadline (`place_entity`).
    fn place(&mut self, cpu: usize, task: usize, current: Option<&Entity>, is_new: bool) {
        let average = self.average(cpu, current);
        let (_, load) = self.sums(cpu, current);
        let weight = self.entities[task].weight;
        let slice = self.slice_of(weight);
        let entity = &mut self.entities[task];
        let mut lag = 0;
        if load > 0 && entity.lag != 0 {
            lag = (i128::from(entity.lag) * i128::from(load + i64::from(weight)) / i128::from(load)) as i64;
        }
        entity.vruntime = average - lag;
        if std::mem::take(&mut entity.relative) {
            entity.deadline += entity.vruntime;
        } else {
            entity.deadline = entity.vruntime + if is_new { slice / 2 } else { slice };
        }
        self.move_zero(cpu, average);
    }

    /// Gives a task that is in no tree the weight that it has now in its cgroup (`reweight_entity`). What it is owed stays the same time.
    #[inline]
    fn reweigh(&mut self, kernel: &Kernel, task: usize) {
        let weight = kernel.effective_weight(task);
        let entity = &mut self.entities[task];
        if weight == entity.weight {
            return;
        }
        let scaled = |part: i64| (i128::from(part) * i128::from(entity.weight) / i128::from(weight)) as i64;
        let (lag, deadline) = (scaled(entity.lag), scaled(entity.deadline.saturating_sub(entity.vruntime)));
        let protected = scaled(entity.protected.saturating_sub(entity.vruntime));
        entity.deadline = if entity.relative { scaled(entity.deadline) } else { entity.vruntime + deadline };
        entity.protected = entity.vruntime.saturating_add(protected);
        (entity.lag, entity.weight) = (lag, weight);
    }

    /// What a task is owed when it leaves (`update_entity_lag`).
    fn lag(&self, average: i64, entity: &Entity) -> i64 {
        let most =
            if self.is_since_7_2() { self.slice + self.tick_ns } else { (2 * self.slice).max(self.tick_ns) };
        let most = virtual_ns(most, entity.weight);
        (average - entity.vruntime).clamp(-most, most)
    }

    /// A task that slept in the queue really leaves it.
    fn finish_delayed(&mut self, cpu: usize, task: usize, current: Option<&Entity>) {
        let average = self.average(cpu, current);
        self.remove(cpu, task);
        let lag = self.lag(average, &self.entities[task]);
        let entity = &mut self.entities[task];
        entity.delayed = false;
        // DELAY_ZERO: what it has gained meanwhile is not its own.
        entity.lag = lag.min(0);
    }

    /// The eligible task of the tree with the earliest deadline (`pick_eevdf`).
    #[inline]
    fn earliest(&mut self, cpu: usize, current: Option<&Entity>) -> Option<usize> {
        let (weighted, load) = self.sums(cpu, current);
        let zero = self.rqs[cpu].zero;
        // Never too large here: distances from zero are some slices, loads some thousand times 1024.
        self.queues
            .first_fitting(&self.entities, cpu, |vruntime| weighted >= (vruntime - zero).saturating_mul(load))
    }

    /// Sets the timer that ends the slice of a task with others beside it (`hrtick_start_fair`). A difference of 5 us is not worth it
    /// (`hrtick_needs_rearm`), and 10 us is the minimum.
    ///
    /// A task that is alone when it comes does not set it. Then the timer of the previous task stays set, and ends its slice instead.
    fn set_timer(&mut self, kernel: &Kernel, cpu: usize, now: &Entity) {
        if !self.is_since_7_2() || self.rqs[cpu].queued == 0 {
            return;
        }
        let queue = &mut self.rqs[cpu];
        let left_ns = real_ns_for(now.deadline - now.vruntime, now.weight) as u64;
        let at_ns = kernel.now_ns + left_ns.max(LEAST_TIMER_NS);
        if queue.timer_ns.is_none_or(|timer_ns| timer_ns.abs_diff(at_ns) > TIMER_SLACK_NS) {
            queue.timer_ns = Some(at_ns);
        }
    }

    /// A wake-up that changes nothing leaves the running task no more than a slice from now, or from the average if that is earlier
    /// (`update_protect_slice`).
    fn shorten_protection(&mut self, cpu: usize, task: usize, now: &Entity) {
        if !self.is_since_7_2() {
            return;
        }
        let from = now.vruntime.min(self.average(cpu, Some(now)));
        let until = from + self.slice_of(now.weight);
        let protected = &mut self.entities[task].protected;
        *protected = until.min(*protected);
    }

    #[inline]
    fn is_eligible(&self, cpu: usize, current: Option<&Entity>, vruntime: i64) -> bool {
        let (weighted, load) = self.sums(cpu, current);
        weighted >= (vruntime - self.rqs[cpu].zero).saturating_mul(load)
    }
}

/// Virtual time that passes while a task of some weight runs (`calc_delta_fair`), ns.
#[inline]
pub(super) fn virtual_ns(ns: i64, weight: u32) -> i64 {
    if weight == 1024 { ns } else { (i128::from(ns) * 1024 / i128::from(weight)) as i64 }
}

/// The least time of running after which [`virtual_ns`] has reached a value, ns.
#[inline]
pub(super) fn real_ns_for(virtual_ns: i64, weight: u32) -> i64 {
    if weight == 1024 {
        virtual_ns.max(0)
    } else {
        (i128::from(virtual_ns.max(0)) * i128::from(weight)).div_euclid(1024) as i64
            + i64::from((i128::from(virtual_ns.max(0)) * i128::from(weight)).rem_euclid(1024) != 0)
    }
}

/// Whether a woken task preempts the running one where their classes decide that: an idle task gives way to all others, and neither idle nor batch
/// tasks preempt (`wakeup_preempt_fair`).
#[inline]
pub(super) fn by_class(running: TaskClass, woken: TaskClass) -> Option<bool> {
    match (running, woken) {
        (TaskClass::Idle, TaskClass::Normal | TaskClass::Batch) => Some(true),
        (_, TaskClass::Idle | TaskClass::Batch) => Some(false),
        (TaskClass::Normal | TaskClass::Batch, TaskClass::Normal) => None,
    }
}

/// The kernel's factor for its times: 1 + log2 of the CPUs, of which at most eight count (`get_update_sysctl_factor`).
pub(super) fn cpus_factor(cpus: usize) -> u64 {
    u64::from(cpus.clamp(1, 8).ilog2()) + 1
}

impl Policy for Eevdf {
    fn name(&self) -> &'static str {
        match self.rules {
            Rules::V6_18 => "eevdf",
            Rules::V7_2 => "eevdf-7.2",
            Rules::V7_3 => "eevdf-7.3",
        }
    }

    fn family(&self) -> Family {
        Family::Fair
    }

    fn start(&mut self, kernel: &mut Kernel) {
        let cpus = kernel.cpu_count();
        self.slice = self.slice_ns.unwrap_or(BASE_SLICE_NS * cpus_factor(cpus)) as i64;
        self.tick_ns = kernel.costs.tick_period_ns as i64;
        self.rqs = vec![CfsRq::default(); cpus];
        self.queues.set_cpus(cpus);
    }

    fn task_new(&mut self, kernel: &mut Kernel, task: usize) {
        self.entities.push(Entity {
            weight: kernel.weight(task),
            class: kernel.spec(task).class,
            ..Entity::default()
        });
        self.wakes.add_task();
    }

    fn select_cpu(&mut self, kernel: &mut Kernel, task: usize, why: Arrival, waker_cpu: usize) -> usize {
        if self.entities[task].delayed {
            // It has not left its queue: ttwu_runnable.
            return kernel.cpu_of(task);
        }
        self.wakes.select(kernel, task, why, waker_cpu)
    }

    fn enqueue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Arrival) {
        let current = self.running(kernel, cpu);
        // It has fired, for nothing if the running task was alone.
        self.rqs[cpu].timer_ns.take_if(|timer_ns| *timer_ns <= kernel.now_ns);
        if self.entities[task].delayed {
            // requeue_delayed_entity: only what it owes is kept.
            let average = self.average(cpu, current.as_ref());
            let slept_with = if self.is_since_7_2() { self.entities[task].lag } else { i64::MIN };
            (self.entities[task].delayed, self.entities[task].fresh) = (false, false);
            let lag = self.lag(average, &self.entities[task]).max(slept_with);
            let is_elsewhere = self.is_since_7_2() && average - lag != self.entities[task].vruntime;
            if lag > 0 || is_elsewhere {
                self.remove(cpu, task);
                self.entities[task].lag = lag.min(0);
                self.place(cpu, task, current.as_ref(), false);
                self.insert(cpu, task);
            }
            return;
        }
        self.reweigh(kernel, task);
        self.place(cpu, task, current.as_ref(), why == Arrival::Fork);
        self.entities[task].fresh = why == Arrival::Fork;
        self.insert(cpu, task);
        // hrtick_update.
        if let Some(now) = current.filter(|_| self.rqs[cpu].timer_ns.is_none()) {
            self.set_timer(kernel, cpu, &now);
        }
    }

    fn dequeue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Departure) {
        let current = self.running(kernel, cpu);
        if kernel.current(cpu) == Some(task) {
            let Some(now) = current else { return };
            self.entities[task] = now;
            let eligible = self.is_eligible(cpu, Some(&now), now.vruntime);
            if why == Departure::Sleep && !eligible {
                let average = self.average(cpu, Some(&now));
                self.entities[task].lag = self.lag(average, &now);
                self.entities[task].delayed = true;
                self.insert(cpu, task);
                return;
            }
            let average = self.average(cpu, Some(&now));
            self.entities[task].lag = self.lag(average, &now);
            self.move_zero(cpu, average);
            return;
        }
        let average = self.average(cpu, current.as_ref());
        self.remove(cpu, task);
        let lag = self.lag(average, &self.entities[task]);
        let entity = &mut self.entities[task];
        entity.lag = lag;
        if why == Departure::Migration {
            entity.deadline -= entity.vruntime;
            entity.relative = true;
        }
    }

    fn pick_next(&mut self, kernel: &mut Kernel, cpu: usize) -> Option<usize> {
        let last = self.rqs[cpu].last.take();
        loop {
            if self.rqs[cpu].queued == 0 {
                self.rqs[cpu].timer_ns = None;
                return None;
            }
            // RUN_TO_PARITY: the one that ran goes on until its slice is over, while it is eligible.
            let stays = last.map(|task| task as usize).filter(|task| {
                let entity = &self.entities[*task];
                let protected = entity.queued && entity.vruntime < entity.protected;
                protected && self.is_eligible(cpu, None, entity.vruntime)
            });
            let task = match stays.or_else(|| self.earliest(cpu, None)) {
                Some(task) => task,
                // The one with the least virtual run time is always eligible, rounding aside.
                None => self.queues.least(&self.entities, cpu)?,
            };
            if self.entities[task].delayed {
                self.finish_delayed(cpu, task, None);
                continue;
            }
            let average = self.average(cpu, None);
            self.move_zero(cpu, average);
            self.remove(cpu, task);
            // A task that goes on after its slice is not set anew (put_prev_set_next_task).
            if !(self.is_since_7_2() && last == Some(task as u32)) {
                self.entities[task].protected = self.entities[task].deadline;
                let now = self.entities[task];
                self.set_timer(kernel, cpu, &now);
            }
            self.queues.prepare(&self.entities, cpu, |task| kernel.prefetch(task));
            return Some(task);
        }
    }

    fn put_prev(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, runnable: bool) {
        self.rqs[cpu].last = None;
        if !runnable {
            return;
        }
        self.entities[task] = self.current_now(kernel, cpu, task);
        self.reweigh(kernel, task);
        self.rqs[cpu].last = Some(task as u32);
        self.insert(cpu, task);
    }

    #[inline]
    fn tick(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) -> bool {
        if self.rqs[cpu].queued == 0 {
            return false;
        }
        // The timer does not ask whether the slice is over (entity_tick).
        let timer = self.rqs[cpu].timer_ns.take_if(|timer_ns| *timer_ns <= kernel.now_ns);
        timer.is_some() || self.vruntime_now(kernel, cpu, task) >= self.entities[task].protected
    }

    #[inline]
    fn decision_at(&self, kernel: &Kernel, cpu: usize, task: usize) -> Option<u64> {
        if self.rqs[cpu].queued == 0 {
            return None;
        }
        let entity = &self.entities[task];
        let left_ns = real_ns_for(entity.protected - entity.vruntime, entity.weight);
        Some(kernel.run_start_ns(cpu) + left_ns as u64)
    }

    fn has_cgroups(&self) -> bool {
        true
    }

    #[inline]
    fn slice_timer_at(&self, cpu: usize) -> Option<u64> {
        let queue = &self.rqs[cpu];
        queue.timer_ns.filter(|_| queue.queued > 0)
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: usize, current: usize, woken: usize) -> bool {
        let Some(now) = self.running(kernel, cpu) else { return false };
        if let Some(preempts) = by_class(now.class, self.entities[woken].class) {
            if preempts {
                // cancel_protect_slice: the rest of its slice does not keep an idle task on the CPU.
                self.entities[current].protected = i64::MIN;
            }
            return preempts;
        }
        // update_curr: a task without protection makes way when it leaves the kernel, if there are others than the woken one.
        let is_over = self.is_since_7_2() && self.rqs[cpu].queued > 1 && now.vruntime >= now.protected;
        let is_fresh = std::mem::take(&mut self.entities[woken].fresh);
        if is_fresh && self.is_since_7_2() {
            if self.rules >= Rules::V7_3 {
                self.shorten_protection(cpu, current, &now);
            }
            return is_over;
        }
        let eligible = self.is_eligible(cpu, Some(&now), now.vruntime);
        if eligible && now.vruntime < now.protected {
            // RUN_TO_PARITY.
            self.shorten_protection(cpu, current, &now);
            return false;
        }
        let mut best = self.earliest(cpu, Some(&now));
        while let Some(delayed) = best.filter(|best| self.is_since_7_2() && self.entities[*best].delayed) {
            self.finish_delayed(cpu, delayed, Some(&now));
            best = self.earliest(cpu, Some(&now));
        }
        let preempts = best == Some(woken)
            && (!eligible || self.entities[woken].deadline <= self.entities[current].deadline);
        if preempts && self.rules >= Rules::V7_3 {
            // cancel_protect_slice.
            let protected = &mut self.entities[current].protected;
            *protected = now.vruntime.min(*protected);
        } else if !preempts {
            self.shorten_protection(cpu, current, &now);
        }
        preempts || is_over
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) {
        let now = self.current_now(kernel, cpu, task);
        // yield_task_fair: an eligible task forgoes the rest of its slice.
        if self.is_eligible(cpu, Some(&now), now.vruntime) {
            let slice = self.slice_of(now.weight);
            let ran = now.vruntime - self.entities[task].vruntime;
            let entity = &mut self.entities[task];
            entity.vruntime = now.deadline - ran;
            entity.deadline = now.deadline + slice;
        }
    }

    #[inline]
    fn prepare(&self, task: usize) {
        prefetch(&self.entities, task);
        self.wakes.prepare(task);
    }

    fn balancing(&self) -> Balancing {
        Balancing { when_idle: true, least_idle_ns: NEW_IDLE_COST_NS, periodic: true }
    }

    fn movable(&self, kernel: &Kernel, from: usize, to: usize) -> Option<usize> {
        self.queues.late(&self.entities, from, MOVED_AT_MOST, |task| {
            !self.entities[task].delayed && kernel.may_use(task, to) && kernel.since_it_ran_ns(task) >= HOT_NS
        })
    }
}
