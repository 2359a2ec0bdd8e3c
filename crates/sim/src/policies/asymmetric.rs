//! Fair sharing of fast and slow cores: the policies of `swtch_fairness`, as a scheduler.
//!
//! As the original (Kim and Huh, "Exploring the design space of fair scheduling supports for asymmetric multicore systems", IEEE TC
//! 67(8), 2018). Time goes in rounds of 30 ms, of which an application is to spend a share on fast cores. A fast core whose application
//! has had its slice and is ahead swaps it with the one on a slow core that is furthest behind. Every 2 s a controller computes the
//! shares again from sampled speeds.

mod estimate;

use super::placement;
use crate::error::SimError;
use crate::hook::Family;
use crate::kernel::Kernel;
use crate::policy::{Arrival, Departure, Policy};
use estimate::{LEAST_SAMPLE_NS, SpeedupEstimate};
use swtch_fairness::{Allocator, Cores, Guaranteed, Interval, Parameters, Policy as Rule, keep_least};

/// Shares are kept as parts of this.
const WHOLE: i64 = 1 << 20;
/// A task that is behind by less than this more than another is not worth a swap, ns.
const WORTH_NS: i64 = 1_000_000;
/// Rounds that a task may be ahead or behind at most: what is older is forgiven.
const REMEMBERED_ROUNDS: i64 = 8;

/// The original's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AsymmetricOptions {
    /// A round, ns.
    pub round_ns: u64,
    /// Time between computations of the shares, ns.
    pub interval_ns: u64,
    /// Speeds are sampled, not known: every application spends at least [`least_share`](Self::least_share) on either kind of core.
    pub sampled: bool,
    /// That least share.
    pub least_share: f64,
    /// A sample is off by at most this part of it, evenly distributed.
    pub noise: f64,
    /// What computing the shares takes each time, ns, on the first CPU.
    pub controller_ns: u64,
}

impl Default for AsymmetricOptions {
    /// 30 ms, 2 s, sampled with at least 4 %, and 0.17 ms for the controller: as published. The noise of 10 % is calibrated: estimates
    /// are then off by some 2.7 % on average, as published.
    fn default() -> Self {
        Self {
            round_ns: 30_000_000,
            interval_ns: 2_000_000_000,
            sampled: true,
            least_share: 0.04,
            noise: 0.1,
            controller_ns: 170_000,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Runner {
    /// Its share of its own time on fast cores, in parts of [`WHOLE`].
    share: i64,
    /// Fast time it is owed (positive) or has had too much, ns.
    lag_ns: i64,
    /// Of its present time on the CPU, what is in `lag_ns` already.
    counted_ns: u64,
    total_ns: u64,
    estimate: SpeedupEstimate,
    alive: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    is_fast: bool,
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
    fast_type: usize,
    slow_type: usize,
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
            fast_type: 0,
            slow_type: 0,
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
        let (name, given) = text.split_once(':').unwrap_or((text, ""));
        let fail = |problem: String| super::fault(name, problem);
        let mut parameters = Parameters::default();
        let mut options = AsymmetricOptions::default();
        for pair in given.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = || {
                value
                    .trim()
                    .parse::<f64>()
                    .ok()
                    .filter(|number| *number >= 0.0)
                    .ok_or_else(|| fail(format!("{key} is \"{value}\", expected a number of at least 0")))
            };
            let truth = || {
                value
                    .trim()
                    .parse::<bool>()
                    .map_err(|_| fail(format!("{key} is \"{value}\", expected true or false")))
            };
            match key.trim() {
                "min-fairness" => parameters.min_fairness = Some(number()?),
                "similarity" => parameters.similarity = Some(number()?),
                "published" => parameters.published = Some(truth()?),
                "uniformity" => parameters.uniformity = Some(number()?),
                "r" => parameters.r = Some(number()?),
                "threshold" => parameters.threshold = Some(number()?),
                "variant" => {
                    let variant = swtch_fairness::Variant::from_name(value.trim());
                    parameters.variant = Some(variant.map_err(|error| fail(error.to_string()))?);
                }
                "sampled" => options.sampled = truth()?,
                "noise" => options.noise = number()?.min(0.99),
                "round-ms" => options.round_ns = ((number()? * 1e6) as u64).max(1),
                "interval-ms" => options.interval_ns = ((number()? * 1e6) as u64).max(1),
                "controller-us" => options.controller_ns = (number()? * 1e3) as u64,
                other => {
                    return Err(fail(format!(
                        "there is no parameter \"{other}\"; there are those of `swtch shares`, and sampled, noise, round-ms, interval-ms, controller-us"
                    )));
                }
            }
        }
        let rule = Rule::from_name(name).and_then(|rule| rule.with(&parameters));
        Ok(Self::new(rule.map_err(|error| fail(error.to_string()))?, options))
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
        let is_fast = self.slots[cpu].is_fast;
        let most = REMEMBERED_ROUNDS * self.options.round_ns as i64;
        self.runners[task].lag_ns = self.lag_now(kernel, cpu, task).clamp(-most, most);
        self.runners[task].counted_ns = 0;
        self.runners[task].total_ns += ran_ns;
        if self.options.sampled && ran_ns >= LEAST_SAMPLE_NS {
            let core_type = if is_fast { self.fast_type } else { self.slow_type };
            let off = (kernel.rng.unit_f64() * 2.0 - 1.0) * self.options.noise;
            let speed = f64::from(kernel.speed_of(task, core_type)) * (1.0 + off);
            self.runners[task].estimate.add(is_fast, speed);
        }
    }

    /// Fast time that a running task is owed now, ns.
    fn lag_now(&self, kernel: &Kernel, cpu: usize, task: usize) -> i64 {
        let runner = &self.runners[task];
        let ran_ns = (kernel.ran_ns(cpu) - runner.counted_ns.min(kernel.ran_ns(cpu))) as i64;
        let had_ns = if self.slots[cpu].is_fast { ran_ns } else { 0 };
        runner.lag_ns + (i128::from(runner.share) * i128::from(ran_ns) / i128::from(WHOLE)) as i64 - had_ns
    }

    /// Time after which a running task has had its slice of the round on its CPU, ns.
    fn slice_ns(&self, kernel: &Kernel, cpu: usize, task: usize) -> u64 {
        let share = self.runners[task].share;
        let part = if self.slots[cpu].is_fast { share } else { WHOLE - share };
        let ns = (i128::from(self.options.round_ns) * i128::from(part) / i128::from(WHOLE)) as u64;
        ns.max(kernel.costs.tick_period_ns)
    }

    /// The application on a slow core that is furthest behind, and where.
    fn furthest_behind(&self, kernel: &Kernel, to: usize) -> Option<(i64, usize, usize)> {
        let slow = (0..self.slots.len())
            .filter(|cpu| !self.slots[*cpu].is_fast && self.slots[*cpu].sends_to.is_none());
        let running = slow.filter_map(|cpu| {
            let task = kernel.current(cpu)?;
            kernel.may_use(task, to).then(|| (self.lag_now(kernel, cpu, task), task, cpu))
        });
        running.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Whether one that waits has run less in all than the running task of a CPU.
    fn is_anyone_due(&self, kernel: &Kernel, cpu: usize, task: usize) -> bool {
        let own_ns = self.runners[task].total_ns + kernel.ran_ns(cpu);
        let due = |waiting: usize| self.runners[waiting].total_ns < own_ns && kernel.may_use(waiting, cpu);
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
        let is_fast = self.slots[cpu].is_fast;
        let yielded = self.slots[cpu].yielded.take().filter(|_| self.waiting.len() > 1);
        let usable = self.waiting.iter().enumerate();
        let usable =
            usable.filter(|(_, task)| Some(**task) != yielded && kernel.may_use(**task as usize, cpu));
        let least_ns = usable.clone().map(|(_, task)| self.runners[*task as usize].total_ns).min()?;
        // Those that have run least, to a round; of these, those whose kind of core this is.
        let rank = |task: u32| {
            let runner = &self.runners[task as usize];
            (
                runner.total_ns - least_ns > self.options.round_ns,
                (runner.lag_ns > 0) != is_fast,
                runner.total_ns,
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

    fn cores(&self) -> Option<Cores> {
        let fast = self.slots.iter().filter(|slot| slot.is_fast).count() as u32;
        Cores::new(fast, self.slots.len() as u32 - fast).ok()
    }

    fn live(&self) -> Vec<usize> {
        (0..self.runners.len()).filter(|task| self.runners[*task].alive).collect()
    }

    /// The speedups the controller goes by: sampled, or as they are. `None` while one is not known yet.
    fn speedups(&mut self, kernel: &Kernel, live: &[usize]) -> Option<Vec<f64>> {
        let truth = |task: usize| {
            let fast = f64::from(kernel.speed_of(task, self.fast_type));
            (fast / f64::from(kernel.speed_of(task, self.slow_type))).max(1.0)
        };
        if !self.options.sampled {
            return Some(live.iter().map(|task| truth(*task)).collect());
        }
        let estimates: Option<Vec<f64>> =
            live.iter().map(|task| self.runners[*task].estimate.speedup()).collect();
        let estimates = estimates?;
        for (task, estimate) in live.iter().zip(&estimates) {
            let error = (estimate / truth(*task) - 1.0).abs();
            self.errors.count += 1;
            self.errors.sum += error;
            self.errors.worst = self.errors.worst.max(error);
        }
        Some(estimates)
    }

    /// Computes the shares again.
    fn control(&mut self, kernel: &mut Kernel) {
        let live = self.live();
        let Some(cores) = self.cores() else { return };
        if live.is_empty() {
            return;
        }
        let known = self.speedups(kernel, &live);
        let rule = if known.is_some() { self.rule } else { Rule::MaxFair };
        let speedups = known.unwrap_or_else(|| vec![1.0; live.len()]);
        if let Rule::Guaranteed { threshold, ddof } = rule {
            if self.guaranteed.is_none() {
                self.guaranteed = Guaranteed::new(cores, &speedups, threshold, ddof).ok();
                self.next_choice_ns = kernel.now_ns;
            }
            return;
        }
        self.share_out(kernel, cores, &live, &speedups, &rule);
        self.controls += 1;
        if self.options.sampled {
            kernel.take_time(0, self.options.controller_ns);
        }
    }

    fn share_out(
        &mut self,
        kernel: &mut Kernel,
        cores: Cores,
        live: &[usize],
        speedups: &[f64],
        rule: &Rule,
    ) {
        let mut shares = vec![0.0; live.len()];
        if Allocator::with_capacity(live.len()).allocate(cores, speedups, rule, &mut shares).is_err() {
            return;
        }
        self.count_runs(kernel);
        let budget: f64 = shares.iter().sum();
        if self.options.sampled {
            keep_least(&mut shares, self.options.least_share, budget);
        }
        for (task, share) in live.iter().zip(shares) {
            self.runners[*task].share = ((share * WHOLE as f64) as i64).clamp(0, WHOLE);
        }
        // Slices are as long as shares are large.
        (0..self.slots.len()).for_each(|cpu| kernel.decide_again(cpu));
    }

    /// Guaranteed fairness decides for the next interval.
    fn choose_interval(&mut self, kernel: &mut Kernel) {
        let live = self.live();
        let speedups = self.speedups(kernel, &live);
        let (Some(cores), Some(guaranteed), Some(speedups)) = (self.cores(), &mut self.guaranteed, speedups)
        else {
            return;
        };
        let rule = match guaranteed.next() {
            Some(Interval::MaxFair) => Rule::MaxFair,
            _ => Rule::MaxPerf,
        };
        if !live.is_empty() {
            self.share_out(kernel, cores, &live, &speedups, &rule);
        }
    }
}

impl Policy for Asymmetric {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn family(&self) -> Family {
        Family::RealTime
    }

    fn start(&mut self, kernel: &mut Kernel) {
        let types = &kernel.machine.types;
        let by_speed = |kind: &usize| types[*kind].speed;
        let used = |kind: &usize| kernel.machine.cpus.iter().any(|cpu| cpu.core_type as usize == *kind);
        self.fast_type = (0..types.len()).filter(used).max_by_key(by_speed).unwrap_or(0);
        self.slow_type = (0..types.len()).filter(used).min_by_key(by_speed).unwrap_or(0);
        let is_fast = |cpu: &crate::machine::MachineCpu| cpu.core_type as usize == self.fast_type;
        self.slots =
            kernel.machine.cpus.iter().map(|cpu| Slot { is_fast: is_fast(cpu), ..Slot::default() }).collect();
    }

    fn task_new(&mut self, _kernel: &mut Kernel, _task: usize) {
        self.runners.push(Runner::default());
    }

    fn select_cpu(&mut self, kernel: &mut Kernel, task: usize, _why: Arrival, waker_cpu: usize) -> usize {
        let cpus = kernel.cpu_count();
        let idle = kernel.idle();
        let fast = idle.first_in(0..cpus, |cpu| self.slots[cpu].is_fast && kernel.may_use(task, cpu));
        fast.or_else(|| placement::idle_cpu(kernel, task, waker_cpu))
            .unwrap_or_else(|| placement::least_loaded(kernel, task, waker_cpu))
    }

    fn enqueue(&mut self, kernel: &mut Kernel, _cpu: usize, task: usize, why: Arrival) {
        self.waiting.push(task as u32);
        if why == Arrival::Fork {
            self.runners[task].alive = true;
            let live = self.live().len();
            if let Some(cores) = self.cores() {
                // A new task owes no other task the time before it began.
                let totals = self.runners.iter().filter(|runner| runner.alive).map(|runner| runner.total_ns);
                self.runners[task].total_ns = totals.max().unwrap_or(0);
                self.runners[task].share = (cores.equal_share(live) * WHOLE as f64) as i64;
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
        if chosen.is_none() && self.slots[cpu].is_fast {
            // A fast core does not idle while a slow one works.
            if let Some((_, task, from)) = self.furthest_behind(kernel, cpu) {
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
        match self.furthest_behind(kernel, cpu) {
            Some((lag, other, from)) if self.slots[cpu].is_fast && lag > own + WORTH_NS => {
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
