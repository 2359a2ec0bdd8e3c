//! Fair sharing of cores of several kinds: the policies of `swtch_fairness`, as a scheduler.
//!
//! As the original (Kim and Huh, "Exploring the design space of fair scheduling supports for asymmetric multicore systems", IEEE TC
//! 67(8), 2018). Time goes in rounds of 30 ms, of which an application is to spend a share on fast cores. A fast core whose application
//! has had its slice and is ahead swaps it with the one on a slow core that is furthest behind. Every 2 s a controller computes the
//! shares again from sampled speeds.
//!
//! What the slides leave as future work is as in the live scheduler (`schedulers/fair`): up to four kinds of cores, applications of several
//! tasks, weights by nice values, and applications that come and go, upon which shares are computed again at once. An application's tasks are
//! those of one application of the workload; without one, those of a process.

mod estimate;
mod kinds;
mod options;
mod sharing;

pub use options::AsymmetricOptions;

use super::placement;
use crate::error::SimError;
use crate::hook::Family;
use crate::kernel::Kernel;
use crate::policy::{Arrival, Departure, Policy};
use estimate::{LEAST_SAMPLE_NS, SpeedupEstimate};
use kinds::{ByKind, Kinds};
use sharing::Application;
use std::collections::BTreeMap;
use swtch_fairness::{Guaranteed, Interval, Policy as Rule};

/// Shares are kept as parts of this.
const WHOLE: i64 = 1 << 20;
/// A task that is behind by less than this more than another is not worth a swap, ns.
const WORTH_NS: i64 = 1_000_000;
/// Rounds that a task may be ahead or behind at most: what is older is forgiven.
const REMEMBERED_ROUNDS: i64 = 8;
/// The weight of a task of nice 0.
const NICE_0: u64 = 1024;

#[derive(Clone, Debug, Default)]
struct Runner {
    /// Its application: a place in [`Asymmetric::estimates`].
    application: usize,
    /// Its weight, 1024 for nice 0.
    weight: u64,
    /// Its share of its own time on every kind of core, in parts of [`WHOLE`]; together that.
    shares: ByKind<i64>,
    /// Time on every kind of core that it is owed (positive) or has had too much, ns; together 0.
    lag_ns: ByKind<i64>,
    /// Of its present time on the CPU, what is in `lag_ns` already.
    counted_ns: u64,
    /// How long it has run, by its weight.
    virtual_ns: u64,
    alive: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Its kind, 0 for the fastest.
    kind: usize,
    /// It comes here next, whatever else waits.
    handed: Option<u32>,
    /// It runs elsewhere and is on its way here.
    expected: Option<u32>,
    /// Where the running task goes when it leaves.
    sends_to: Option<u32>,
    /// It lets others run first.
    yielded: Option<u32>,
}

/// How far the estimates were off when shares were computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EstimationErrors {
    /// How many were compared.
    pub count: u64,
    /// Sum of the relative errors.
    pub sum: f64,
    /// The largest.
    pub worst: f64,
}

/// A policy for asymmetric cores.
#[derive(Clone, Debug)]
pub struct Asymmetric {
    rule: Rule,
    options: AsymmetricOptions,
    runners: Vec<Runner>,
    slots: Vec<Slot>,
    waiting: Vec<u32>,
    kinds: Kinds,
    /// Applications by what holds their tasks together: `true` and a place in the workload's table, or `false` and a process.
    applications: BTreeMap<(bool, u32), usize>,
    estimates: Vec<SpeedupEstimate>,
    next_control_ns: u64,
    guaranteed: Option<Guaranteed>,
    next_choice_ns: u64,
    errors: EstimationErrors,
    controls: u64,
}

impl Asymmetric {
    /// By this rule.
    pub fn new(rule: Rule, options: AsymmetricOptions) -> Self {
        Self {
            rule,
            options,
            runners: Vec::new(),
            slots: Vec::new(),
            waiting: Vec::new(),
            kinds: Kinds::default(),
            applications: BTreeMap::new(),
            estimates: Vec::new(),
            next_control_ns: 0,
            guaranteed: None,
            next_choice_ns: u64::MAX,
            errors: EstimationErrors::default(),
            controls: 0,
        }
    }

    /// From a text such as `min-fair` or `min-fair:min-fairness=0.9,sampled=false`: a rule's name, and parameters of it and of the scheduler.
    ///
    /// # Errors
    /// When there is no such rule or parameter, or a value cannot be.
    pub fn from_text(text: &str) -> Result<Self, SimError> {
        let (rule, options) = options::parse(text)?;
        Ok(Self::new(rule, options))
    }

    /// How far the estimates were off when shares were computed.
    pub fn estimation_errors(&self) -> EstimationErrors {
        self.errors
    }

    /// How often shares were computed.
    pub fn controls(&self) -> u64 {
        self.controls
    }

    /// Charges the running task's time to its kind of core.
    fn account(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) {
        let ran_ns = kernel.ran_ns(cpu);
        let kind = self.slots[cpu].kind;
        let lag_ns = self.lag_now(kernel, cpu, task);
        self.runners[task].lag_ns = self.remembered(lag_ns);
        self.runners[task].counted_ns = 0;
        self.runners[task].virtual_ns += virtual_ns(ran_ns, self.runners[task].weight);
        if self.options.sampled && ran_ns >= LEAST_SAMPLE_NS {
            let off = (kernel.rng.unit_f64() * 2.0 - 1.0) * self.options.noise;
            let speed = f64::from(kernel.speed_of(task, self.kinds.types[kind])) * (1.0 + off);
            self.estimates[self.runners[task].application].add(self.kinds.count(), kind, speed);
        }
    }

    /// The part of a debt to a task that is not forgiven. All debts shrink alike, so that together it stays 0.
    fn remembered(&self, mut lag_ns: ByKind<i64>) -> ByKind<i64> {
        let most = REMEMBERED_ROUNDS * self.options.round_ns as i64;
        let largest = lag_ns.iter().map(|lag| lag.abs()).max().unwrap_or(0);
        if largest > most {
            for lag in &mut lag_ns {
                *lag = (i128::from(*lag) * i128::from(most) / i128::from(largest)) as i64;
            }
            self.balance(&mut lag_ns);
        }
        lag_ns
    }

    /// What rounding loses is the slowest kind's.
    fn balance(&self, parts: &mut ByKind<i64>) {
        let slowest = self.kinds.count().saturating_sub(1);
        parts[slowest] = -parts[..slowest].iter().sum::<i64>();
    }

    /// Time on every kind of core that a running task is owed now, ns.
    fn lag_now(&self, kernel: &Kernel, cpu: usize, task: usize) -> ByKind<i64> {
        let (runner, here) = (&self.runners[task], self.slots[cpu].kind);
        let ran_ns = (kernel.ran_ns(cpu) - runner.counted_ns.min(kernel.ran_ns(cpu))) as i64;
        let mut lag_ns = runner.lag_ns;
        for (kind, lag) in lag_ns.iter_mut().enumerate().take(self.kinds.count().saturating_sub(1)) {
            *lag += part_of(runner.shares[kind], ran_ns) - if kind == here { ran_ns } else { 0 };
        }
        self.balance(&mut lag_ns);
        lag_ns
    }

    /// Time after which a running task has had its slice of the round on its CPU, ns.
    fn slice_ns(&self, kernel: &Kernel, cpu: usize, task: usize) -> u64 {
        let share = self.runners[task].shares[self.slots[cpu].kind];
        let ns = part_of(share, self.options.round_ns as i64) as u64;
        ns.max(kernel.costs.tick_period_ns)
    }

    /// The application on a core of a slower kind whose task should be here most, by how much, and where. `own` is what the task that would go
    /// there instead is owed.
    fn furthest_behind(
        &self,
        kernel: &Kernel,
        to: usize,
        own: Option<&ByKind<i64>>,
    ) -> Option<(i64, usize, usize)> {
        let here = self.slots[to].kind;
        let slower = (0..self.slots.len())
            .filter(|cpu| self.slots[*cpu].kind > here && self.slots[*cpu].sends_to.is_none());
        let running = slower.filter_map(|cpu| {
            let (task, there) = (kernel.current(cpu)?, self.slots[cpu].kind);
            if !kernel.may_use(task, to) {
                return None;
            }
            let gain_ns = rather_ns(&self.lag_now(kernel, cpu, task), here, there);
            Some((gain_ns + own.map_or(0, |own| rather_ns(own, there, here)), task, cpu))
        });
        running.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Whether one that waits has run less in all than the running task of a CPU.
    fn is_anyone_due(&self, kernel: &Kernel, cpu: usize, task: usize) -> bool {
        let own = &self.runners[task];
        let own_ns = own.virtual_ns + virtual_ns(kernel.ran_ns(cpu), own.weight);
        let due = |waiting: usize| self.runners[waiting].virtual_ns < own_ns && kernel.may_use(waiting, cpu);
        self.waiting.iter().any(|waiting| due(*waiting as usize))
    }

    /// Counts what the running tasks have had by the shares that end now.
    fn count_runs(&mut self, kernel: &Kernel) {
        for cpu in 0..self.slots.len() {
            if let Some(task) = kernel.current(cpu) {
                let lag_ns = self.lag_now(kernel, cpu, task);
                let runner = &mut self.runners[task];
                runner.lag_ns = lag_ns;
                runner.counted_ns = kernel.ran_ns(cpu);
            }
        }
    }

    /// Begins to move the running task of `from` to `to`.
    fn fetch(&mut self, kernel: &mut Kernel, task: usize, from: usize, to: usize) {
        self.slots[to].expected = Some(task as u32);
        self.slots[from].sends_to = Some(to as u32);
        kernel.kick(from);
    }

    /// The task that should run next on a CPU of those that wait.
    fn choose(&mut self, kernel: &Kernel, cpu: usize) -> Option<usize> {
        let here = self.slots[cpu].kind;
        let yielded = self.slots[cpu].yielded.take().filter(|_| self.waiting.len() > 1);
        let usable = self.waiting.iter().enumerate();
        let usable =
            usable.filter(|(_, task)| Some(**task) != yielded && kernel.may_use(**task as usize, cpu));
        let least_ns = usable.clone().map(|(_, task)| self.runners[*task as usize].virtual_ns).min()?;
        // Those that have run least, to a round; of these, those whose kind of core this is.
        let rank = |task: u32| {
            let runner = &self.runners[task as usize];
            (
                runner.virtual_ns - least_ns > self.options.round_ns,
                self.most_owed(&runner.lag_ns) != here,
                runner.virtual_ns,
            )
        };
        let place = usable.min_by_key(|(_, task)| rank(**task)).map(|(place, _)| place)?;
        Some(self.waiting.remove(place) as usize)
    }

    /// The task was dequeued while it ran: a CPU that expects it stops waiting for it.
    fn forget(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) {
        self.slots[cpu].sends_to = None;
        for other in 0..self.slots.len() {
            if self.slots[other].expected == Some(task as u32) {
                self.slots[other].expected = None;
                kernel.kick(other);
            }
        }
    }

    /// The kind of core that a task is owed most of; of equals the slowest.
    fn most_owed(&self, lag_ns: &ByKind<i64>) -> usize {
        (0..self.kinds.count()).max_by_key(|kind| lag_ns[*kind]).unwrap_or(0)
    }

    /// The applications that have live tasks, with what the controller goes by: sampled speeds, or those that they have.
    fn live(&mut self, kernel: &Kernel) -> Vec<Application> {
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        let mut live: Vec<Application> = Vec::new();
        for (task, runner) in self.runners.iter().enumerate().filter(|(_, runner)| runner.alive) {
            let place = *places.entry(runner.application).or_insert(live.len());
            if place == live.len() {
                let speedups = self.estimates[runner.application].speedups();
                live.push(Application { tasks: Vec::new(), weight: 0.0, speedups });
            }
            live[place].tasks.push(task);
            live[place].weight += runner.weight as f64 / NICE_0 as f64;
        }
        if !self.options.sampled {
            for application in &mut live {
                application.speedups = Some(self.real_speedups(kernel, &application.tasks));
            }
        } else if live.iter().all(|application| application.speedups.is_some()) {
            self.count_errors(kernel, &live);
        }
        live
    }

    /// Over the slowest kind, the mean of these tasks.
    fn real_speedups(&self, kernel: &Kernel, tasks: &[usize]) -> ByKind<f64> {
        let mut speedups = [1.0; kinds::MOST_KINDS];
        for (kind, speedup) in speedups.iter_mut().enumerate().take(self.kinds.count()) {
            let of = |task: &usize| {
                let speed = |kind: usize| f64::from(kernel.speed_of(*task, self.kinds.types[kind]));
                (speed(kind) / speed(self.kinds.count() - 1)).max(1.0)
            };
            *speedup = tasks.iter().map(of).sum::<f64>() / tasks.len() as f64;
        }
        speedups
    }

    fn count_errors(&mut self, kernel: &Kernel, live: &[Application]) {
        for application in live {
            let real = self.real_speedups(kernel, &application.tasks);
            let faster = self.kinds.count().saturating_sub(1);
            let estimated = application.speedups.iter().flat_map(|speedups| &speedups[..faster]);
            for (estimate, real) in estimated.zip(real) {
                let error = (estimate / real - 1.0).abs();
                self.errors.count += 1;
                self.errors.sum += error;
                self.errors.worst = self.errors.worst.max(error);
            }
        }
    }

    /// Computes the shares again.
    fn control(&mut self, kernel: &mut Kernel) {
        let live = self.live(kernel);
        if live.is_empty() {
            return;
        }
        let mut rule = self.rule;
        if let Rule::Guaranteed { threshold, ddof } = rule {
            if live.iter().all(|application| application.speedups.is_some()) {
                if self.guaranteed.is_none() {
                    self.guaranteed = sharing::guaranteed(&self.kinds, &live, threshold, ddof);
                    self.next_choice_ns = kernel.now_ns;
                }
                return;
            }
            rule = Rule::MaxFair;
        }
        self.share_out(kernel, &live, &rule);
        self.controls += 1;
        if self.options.sampled {
            kernel.take_time(0, self.options.controller_ns);
        }
    }

    fn share_out(&mut self, kernel: &mut Kernel, live: &[Application], rule: &Rule) {
        let Ok(shares) = sharing::shares(&self.kinds, live, rule, &self.options) else { return };
        self.count_runs(kernel);
        for (application, shares) in live.iter().zip(shares) {
            let mut rest = WHOLE;
            let mut parts = ByKind::default();
            for (kind, part) in parts.iter_mut().enumerate().take(self.kinds.count()) {
                let own = ((shares[kind] * WHOLE as f64) as i64).clamp(0, rest);
                *part = if self.kinds.is_slowest(kind) { rest } else { own };
                rest -= *part;
            }
            for task in &application.tasks {
                self.runners[*task].shares = parts;
            }
        }
        // Slices are as long as shares are large.
        (0..self.slots.len()).for_each(|cpu| kernel.decide_again(cpu));
    }

    /// Guaranteed fairness decides for the next interval.
    fn choose_interval(&mut self, kernel: &mut Kernel) {
        let live = self.live(kernel);
        let is_known = !live.is_empty() && live.iter().all(|application| application.speedups.is_some());
        let Some(guaranteed) = self.guaranteed.as_mut().filter(|_| is_known) else { return };
        let rule = match guaranteed.next() {
            Some(Interval::MaxFair) => Rule::MaxFair,
            _ => Rule::MaxPerf,
        };
        self.share_out(kernel, &live, &rule);
    }
}

/// Time by weight, ns: that of nice 0 is the time itself.
fn virtual_ns(ns: u64, weight: u64) -> u64 {
    (u128::from(ns) * u128::from(NICE_0) / u128::from(weight.max(1))) as u64
}

/// A share of a time, ns.
fn part_of(share: i64, ns: i64) -> i64 {
    (i128::from(share) * i128::from(ns) / i128::from(WHOLE)) as i64
}

/// By how much more a task is owed a kind of core than another, ns. With two kinds that is what it is owed of it.
fn rather_ns(lag_ns: &ByKind<i64>, kind: usize, than: usize) -> i64 {
    (lag_ns[kind] - lag_ns[than]) / 2
}

impl Policy for Asymmetric {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn family(&self) -> Family {
        Family::RealTime
    }

    fn start(&mut self, kernel: &mut Kernel) {
        self.kinds = Kinds::of(&kernel.machine, &self.rule);
        self.slots = self.kinds.of_cpu.iter().map(|kind| Slot { kind: *kind, ..Slot::default() }).collect();
    }

    fn task_new(&mut self, kernel: &mut Kernel, task: usize) {
        let spec = kernel.spec(task);
        let key = spec.application.map_or((false, spec.process), |place| (true, place));
        let next = self.estimates.len();
        let application = *self.applications.entry(key).or_insert(next);
        if application == next {
            self.estimates.push(SpeedupEstimate::default());
        }
        let weight = u64::from(kernel.weight(task));
        self.runners.push(Runner { application, weight, ..Runner::default() });
    }

    fn select_cpu(&mut self, kernel: &mut Kernel, task: usize, _why: Arrival, waker_cpu: usize) -> usize {
        let cpus = kernel.cpu_count();
        let idle = kernel.idle();
        let faster = self.kinds.count().saturating_sub(1).max(1);
        let mut of_kinds = (0..faster).filter_map(|kind| {
            idle.first_in(0..cpus, |cpu| self.slots[cpu].kind == kind && kernel.may_use(task, cpu))
        });
        of_kinds
            .next()
            .or_else(|| placement::idle_cpu(kernel, task, waker_cpu))
            .unwrap_or_else(|| placement::least_loaded(kernel, task, waker_cpu))
    }

    fn enqueue(&mut self, kernel: &mut Kernel, _cpu: usize, task: usize, why: Arrival) {
        self.waiting.push(task as u32);
        if why == Arrival::Fork {
            self.runners[task].alive = true;
            // A new task owes no other task the time before it began.
            let totals = self.runners.iter().filter(|runner| runner.alive).map(|runner| runner.virtual_ns);
            self.runners[task].virtual_ns = totals.max().unwrap_or(0);
            // Its share is computed at once; until then it goes by the parts of all cores.
            let (all, mut rest) = (self.slots.len() as i64, WHOLE);
            for kind in (0..self.kinds.count()).rev() {
                let part = if kind == 0 { rest } else { WHOLE * i64::from(self.kinds.counts[kind]) / all };
                self.runners[task].shares[kind] = part;
                rest -= part;
            }
            // As many shares as there are applications: all are computed again at once.
            self.next_control_ns = self.next_control_ns.min(kernel.now_ns + 1);
            self.guaranteed = None;
        }
    }

    fn dequeue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Departure) {
        if kernel.current(cpu) == Some(task) {
            self.account(kernel, cpu, task);
            self.forget(kernel, cpu, task);
        } else {
            self.waiting.retain(|waiting| *waiting as usize != task);
        }
        if why == Departure::Exit {
            self.runners[task].alive = false;
            self.next_control_ns = kernel.now_ns;
            self.guaranteed = None;
        }
    }

    fn pick_next(&mut self, kernel: &mut Kernel, cpu: usize) -> Option<usize> {
        if let Some(task) = self.slots[cpu].handed.take() {
            return Some(task as usize);
        }
        if self.slots[cpu].expected.is_some() {
            return None;
        }
        let chosen = self.choose(kernel, cpu);
        if chosen.is_none() && !self.kinds.is_slowest(self.slots[cpu].kind) {
            // A core does not idle while a slower one works.
            if let Some((_, task, from)) = self.furthest_behind(kernel, cpu, None) {
                self.fetch(kernel, task, from, cpu);
            }
        }
        chosen
    }

    fn put_prev(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, runnable: bool) {
        if !runnable {
            return;
        }
        self.account(kernel, cpu, task);
        match self.slots[cpu].sends_to.take() {
            Some(to) => {
                let slot = &mut self.slots[to as usize];
                if slot.expected == Some(task as u32) {
                    slot.expected = None;
                }
                slot.handed = Some(task as u32);
                kernel.kick(to as usize);
            }
            None => self.waiting.push(task as u32),
        }
    }

    fn tick(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) -> bool {
        let ran_ns = kernel.ran_ns(cpu);
        let slice_ns = self.slice_ns(kernel, cpu, task);
        let slices = ran_ns / slice_ns;
        // Only the first tick after the end of a slice decides.
        let ended_ns = kernel.run_start_ns(cpu) + slices * slice_ns;
        if slices == 0
            || kernel.tick_at_or_after_ns(ended_ns) != kernel.now_ns
            || self.slots[cpu].sends_to.is_some()
        {
            return false;
        }
        if self.is_anyone_due(kernel, cpu, task) {
            return true;
        }
        let own = self.lag_now(kernel, cpu, task);
        match self.furthest_behind(kernel, cpu, Some(&own)) {
            Some((gain_ns, other, from)) if gain_ns > WORTH_NS => {
                if self.slots[from].handed.is_some() || !kernel.may_use(task, from) {
                    return false;
                }
                self.fetch(kernel, other, from, cpu);
                self.slots[cpu].sends_to = Some(from as u32);
                true
            }
            _ => false,
        }
    }

    fn decision_at(&self, kernel: &Kernel, cpu: usize, task: usize) -> Option<u64> {
        let slice_ns = self.slice_ns(kernel, cpu, task);
        let started_ns = kernel.run_start_ns(cpu);
        let ended_ns = started_ns + kernel.ran_ns(cpu) / slice_ns * slice_ns;
        let is_ahead = ended_ns > started_ns && kernel.tick_at_or_after_ns(ended_ns) >= kernel.now_ns;
        Some(if is_ahead { ended_ns } else { ended_ns + slice_ns })
    }

    fn yield_task(&mut self, _kernel: &mut Kernel, cpu: usize, task: usize) {
        self.slots[cpu].yielded = Some(task as u32);
    }

    fn timer_at(&self) -> Option<u64> {
        Some(self.next_control_ns.min(self.next_choice_ns))
    }

    fn timer(&mut self, kernel: &mut Kernel) {
        if kernel.now_ns >= self.next_control_ns {
            self.next_control_ns = kernel.now_ns + self.options.interval_ns;
            self.control(kernel);
        }
        if kernel.now_ns >= self.next_choice_ns {
            self.next_choice_ns =
                if self.guaranteed.is_some() { kernel.now_ns + self.options.round_ns } else { u64::MAX };
            self.choose_interval(kernel);
        }
    }
}
