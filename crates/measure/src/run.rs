//! The run: launches conditions in random order, again and again, until each figure is precise or the time is used up.

use crate::batch::Batch;
use crate::clock::Clock;
use crate::condition::Work;
use crate::estimate::{Collected, precise_enough};
use crate::launch::{LaunchError, Size, launch};
use crate::options::Options;
use crate::plan::{Plan, Planned, ProfilePart};
use std::time::{Duration, Instant};
use swtch_profile::model::{Ended, Unavailable};
use swtch_stats::{self as stats, Rng};
use swtch_units::Observer;

/// Length of a batch of small rounds, ns: long against the clock and an interrupt, short against the host's moods.
const BATCH_NS: f64 = 400_000.0;
/// Batches in a launch, at most and at least.
const MOST_BATCHES: u32 = 100;
const FEWEST_BATCHES: u32 = 3;
/// Longest a launch may measure once the shares are spent, ns.
const LONGEST_SLICE_NS: f64 = 60e6;
/// Launches before a condition may stop for precision; the answer itself rests on more.
const FEWEST_LAUNCHES: usize = 5;
const FEWEST_HEADLINE_LAUNCHES: usize = 20;
/// Rounds of the first, unrecorded launch, which only finds out how long a round takes.
const PILOT_ROUNDS: u32 = 16;
/// A launch may take this many times as long as predicted before its guard ends it, and at least this many seconds. Under a
/// quota of a tenth of a CPU all work takes ten times as long and more.
const GUARD_FACTOR: f64 = 60.0;
const SHORTEST_GUARD_S: u32 = 10;

/// How far the run is; observed before each launch.
#[derive(Clone, Debug)]
pub struct Progress {
    /// From 0 to 1.
    pub fraction: f64,
    /// Time until the limit; the run may end sooner.
    pub at_most: Duration,
    /// What is measured next.
    pub condition: String,
}

/// What a run gathered.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) conditions: Vec<(ProfilePart, Collected)>,
    pub(crate) unavailable: Vec<Unavailable>,
    pub(crate) ended: Ended,
    pub(crate) launches: u32,
}

/// One condition on its way.
struct ConditionRun {
    planned: Planned,
    size: Size,
    /// Time of a round and its baseline, ns; unknown before the pilot.
    pair_ns: f64,
    /// Time of a launch beyond its rounds: forks, page faults, ns.
    overhead_ns: f64,
    spent_ns: f64,
    collected: Collected,
    failed: Option<LaunchError>,
    precise: bool,
}

/// A run in progress.
pub(crate) struct MeasureRun<'a> {
    runs: Vec<ConditionRun>,
    clock: Clock,
    precision: f64,
    passes: u32,
    started: Instant,
    deadline: Instant,
    counted: bool,
    observer: &'a mut dyn Observer<Progress>,
    interrupted: bool,
    launches: u32,
}

impl<'a> MeasureRun<'a> {
    pub(crate) fn new(
        plan: &Plan,
        options: &Options,
        clock: Clock,
        (started, deadline): (Instant, Instant),
        counted: bool,
        observer: &'a mut dyn Observer<Progress>,
    ) -> Self {
        Self {
            runs: plan.conditions.iter().cloned().map(ConditionRun::new).collect(),
            clock,
            precision: options.precision(),
            passes: options.preset.launches(),
            started,
            deadline,
            counted,
            observer,
            interrupted: false,
            launches: 0,
        }
    }

    /// Runs to the end; what is complete by then is what there is.
    pub(crate) fn gather(mut self, rng: &mut Rng) -> Gathered {
        let mut pass = 0;
        loop {
            let mut order: Vec<usize> =
                (0..self.runs.len()).filter(|condition_run| self.runs[*condition_run].open()).collect();
            if order.is_empty() || self.over() {
                break;
            }
            rng.shuffle(&mut order);
            if pass == 0 {
                // When the time is short, it goes first to the answer, last to large arrays; later passes are all random.
                order.sort_by_key(|condition_run| {
                    let planned = &self.runs[*condition_run].planned;
                    (planned.part != ProfilePart::Direct, planned.condition.memory_bytes())
                });
            }
            let mut launched = false;
            for condition_run in order {
                if self.over() {
                    break;
                }
                launched |= self.turn(condition_run, pass);
            }
            pass += 1;
            if !launched && pass > self.passes {
                break; // Nothing that is left fits into the time that is left.
            }
        }
        self.finish()
    }

    fn over(&self) -> bool {
        self.interrupted || Instant::now() >= self.deadline
    }

    /// One launch of one condition, if its share of the time allows; says whether there was one.
    fn turn(&mut self, index: usize, pass: u32) -> bool {
        let weights: f64 = self
            .runs
            .iter()
            .filter(|condition_run| condition_run.open())
            .map(|condition_run| condition_run.planned.weight)
            .sum();
        let left_ns = self.deadline.saturating_duration_since(Instant::now()).as_nanos() as f64;
        let total_ns = (self.deadline - self.started).as_nanos() as f64;
        let condition_run = &mut self.runs[index];
        let passes_left = f64::from(self.passes.saturating_sub(pass).max(1));
        let share_ns = left_ns * condition_run.planned.weight / weights / passes_left;
        let slice_ns = if pass < self.passes { share_ns } else { share_ns.min(LONGEST_SLICE_NS) };
        condition_run.size_for(slice_ns);
        let predicted_ns = condition_run.predicted_ns();
        let first = condition_run.collected.launches.is_empty();
        if !first && (predicted_ns > left_ns || pass < self.passes && predicted_ns > 2.5 * slice_ns) {
            // An expensive condition has had its share of this pass when it has used its share of the time so far.
            let due_ns = (total_ns - left_ns) * condition_run.planned.weight / weights;
            if predicted_ns > left_ns || condition_run.spent_ns + predicted_ns > due_ns {
                return false;
            }
        }
        self.launch(index);
        true
    }

    fn launch(&mut self, index: usize) {
        let now = Instant::now();
        let spent = now.duration_since(self.started).as_secs_f64();
        let total = self.deadline.duration_since(self.started).as_secs_f64();
        let condition_run = &mut self.runs[index];
        let progress = Progress {
            fraction: (spent / total).min(1.0),
            at_most: self.deadline.saturating_duration_since(now),
            condition: condition_run.planned.condition.to_string(),
        };
        self.observer.event(&progress);
        if condition_run.pair_ns == 0.0 {
            condition_run.pilot(self.clock, &mut || self.observer.stop());
        }
        if condition_run.failed.is_none() {
            condition_run.launch(self.clock, &mut || self.observer.stop());
        }
        self.launches += 1;
        self.interrupted |= condition_run.failed == Some(LaunchError::Interrupted) || self.observer.stop();
        let condition_run = &mut self.runs[index];
        let headline = condition_run.planned.weight > 1.0;
        let fewest = if headline { FEWEST_HEADLINE_LAUNCHES } else { FEWEST_LAUNCHES };
        if condition_run.collected.launches.len() >= fewest && condition_run.failed.is_none() {
            let spin_ns = condition_run.usual_spin_ns();
            let kept = condition_run.collected.keep(spin_ns, self.counted);
            let estimate = match condition_run.planned.part {
                ProfilePart::Messages | ProfilePart::Reference => kept.gross(),
                _ => kept.net(),
            };
            condition_run.precise = precise_enough(&estimate, self.precision);
        }
    }

    fn finish(self) -> Gathered {
        let mut gathered = Gathered {
            conditions: Vec::new(),
            unavailable: Vec::new(),
            ended: Ended::Complete,
            launches: self.launches,
        };
        let unfinished = if self.interrupted { Ended::Interrupted } else { Ended::TimeLimit };
        for condition_run in self.runs {
            let ConditionRun { planned, mut collected, failed, precise, .. } = condition_run;
            let what = planned.condition.to_string();
            match failed {
                Some(error) if error != LaunchError::Interrupted => {
                    gathered.unavailable.push(Unavailable::new(what, error.to_string()));
                }
                _ if collected.batches() == 0 => {
                    let why =
                        if self.interrupted { "interrupted before its turn" } else { "no time left for it" };
                    gathered.unavailable.push(Unavailable::new(what, why));
                    gathered.ended = unfinished;
                }
                _ => {
                    collected.ended = if precise { Ended::Precision } else { unfinished };
                    gathered.conditions.push((planned.part, collected));
                }
            }
        }
        if self.interrupted {
            gathered.ended = Ended::Interrupted;
        }
        gathered
    }
}

impl ConditionRun {
    fn new(planned: Planned) -> Self {
        let collected =
            Collected { condition: planned.condition.clone(), launches: Vec::new(), ended: Ended::TimeLimit };
        Self {
            planned,
            size: Size { batches: 0, rounds: 0, warm_up_rounds: 0, guard_s: SHORTEST_GUARD_S },
            pair_ns: 0.0,
            overhead_ns: 0.0,
            spent_ns: 0.0,
            collected,
            failed: None,
            precise: false,
        }
    }

    fn open(&self) -> bool {
        !self.precise && self.failed.is_none()
    }

    fn predicted_ns(&self) -> f64 {
        self.overhead_ns
            + f64::from(self.size.batches)
                * f64::from(self.size.rounds + self.size.warm_up_rounds)
                * self.pair_ns
    }

    /// Sets how many batches the next launch takes, so that it lasts about `slice_ns`.
    fn size_for(&mut self, slice_ns: f64) {
        if self.pair_ns > 0.0 {
            let batch_ns = f64::from(self.size.rounds + self.size.warm_up_rounds) * self.pair_ns;
            let batches = ((slice_ns - self.overhead_ns) / batch_ns).max(0.0) as u32;
            self.size.batches = batches.clamp(FEWEST_BATCHES, MOST_BATCHES);
            let guard_s = GUARD_FACTOR * self.predicted_ns() / 1e9;
            self.size.guard_s = (guard_s as u32).max(SHORTEST_GUARD_S);
        }
    }

    /// The first launch: how long does a round take? From that follow the rounds of a batch, the same in every launch.
    fn pilot(&mut self, clock: Clock, stop: &mut dyn FnMut() -> bool) {
        let large = self.planned.condition.memory_bytes() > 4 << 20;
        let cheap = matches!(self.planned.condition.work, Work::Switch { .. }) && !large;
        let size = Size {
            batches: 2,
            rounds: if cheap { PILOT_ROUNDS } else { 1 },
            warm_up_rounds: 1,
            guard_s: SHORTEST_GUARD_S * 3,
        };
        let began = Instant::now();
        match launch(&self.planned.condition, size, clock, stop) {
            Err(error) => self.failed = Some(error),
            Ok(batches) => {
                let pair_ns = |batch: &Batch| batch.round_ns + batch.baseline_per_round_ns();
                let measured_ns: f64 =
                    batches.iter().map(|batch| pair_ns(batch) * f64::from(size.rounds + 1)).sum();
                let fastest = batches.iter().map(pair_ns).fold(f64::INFINITY, f64::min);
                let took_ns = began.elapsed().as_nanos() as f64;
                self.pair_ns = fastest.max(1.0);
                self.overhead_ns = (took_ns - measured_ns).max(0.0);
                self.size.rounds = (BATCH_NS / self.pair_ns).clamp(2.0, 20_000.0) as u32;
                self.size.warm_up_rounds = (self.size.rounds / 16).clamp(1, 32);
                self.size.batches = FEWEST_BATCHES;
                self.spent_ns += took_ns;
            }
        }
    }

    fn launch(&mut self, clock: Clock, stop: &mut dyn FnMut() -> bool) {
        let began = Instant::now();
        match launch(&self.planned.condition, self.size, clock, stop) {
            Ok(batches) => self.collected.launches.push(batches),
            Err(error) => self.failed = Some(error),
        }
        let took_ns = began.elapsed().as_nanos() as f64;
        let rounds = f64::from(self.size.batches * (self.size.rounds + self.size.warm_up_rounds));
        self.overhead_ns = f64::midpoint(self.overhead_ns, (took_ns - rounds * self.pair_ns).max(0.0));
        self.spent_ns += took_ns;
    }

    fn usual_spin_ns(&self) -> f64 {
        let spins: Vec<f64> = self.collected.launches.iter().flatten().map(|batch| batch.spin_ns).collect();
        stats::median(&spins)
    }
}
