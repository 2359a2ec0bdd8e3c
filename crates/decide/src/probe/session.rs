//! Runs a command and interrupts it, round after round, until the figures are narrow or the time is over.

use super::estimate::{LEAST_ROUNDS, Observation, Rounds, further};
use super::marked::Marked;
use super::{InterruptionCost, Probe, ProbeEnded, ProbeError, ProbePlan, ProbeProgress, ProgressBy, SCHEMA};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use swtch_cost::{CostModel, Range};
use swtch_measure::{Block, Interrupter, Treatment, Until};
use swtch_record::{ChildCommand, CommandStart};
use swtch_stats::{Rng, median};
use swtch_topology::Host;
use swtch_units::{CpuId, Observer, last_lines};

/// A block, if the program comes far enough in it.
const BLOCK_NS: u64 = 20_000_000;
/// The longest block, for programs that say seldom how far they are.
const LONGEST_BLOCK_NS: u64 = 400_000_000;
/// Units of progress that a block should hold: one more or less is then lost in the noise.
const UNITS_A_BLOCK: f64 = 20.0;
/// Units that the longest block has to hold.
const LEAST_UNITS: f64 = 4.0;
/// From one interruption to the next, where little is touched: 4,000 a second.
const FAST_NS: u64 = 250_000;
/// The same where much is touched, at least: 500 a second, so that the program refills its caches between two.
const SLOW_NS: u64 = 2_000_000;
/// The part of a period that touching memory may take.
const TOUCHED_PART: u64 = 8;
/// The part of a period that the spans may take that an interruption slows, and one more, where single spans tell what it cost.
const SLOWED_PART: u64 = 2;
/// A longer time from one interruption to the next is not worth it: too few would fit into the time. Whole blocks tell then.
const SLOWEST_NS: u64 = 32_000_000;
/// How long a launch of a program lasts whose single spans tell what an interruption cost, at least. Where its memory lies in the caches is drawn
/// anew with each launch, and with it what refilling takes.
const LAUNCH: Duration = Duration::from_secs(3);
/// How many times as long as what comes before its first span.
const TIMES_STARTUP: u32 = 4;
/// Rounds that a launch has at least.
const ROUNDS_A_LAUNCH: u32 = 8;
/// How long the program is watched before anything is compared: spans are written once a second.
const PILOT: Duration = Duration::from_millis(2_500);
/// Time at the beginning of a run that is not compared: a program that begins is not steady.
const BEGINNING: Duration = Duration::from_millis(100);
/// The shortest run that can be compared as a whole.
const LEAST_RUN: Duration = Duration::from_millis(100);
/// How long a command that cannot be counted may take to end.
const ENDING: Duration = Duration::from_millis(20);
/// A look at the figures after this number of rounds.
const ROUNDS_A_LOOK: u64 = 20;
/// Rounds of whole runs that a probe should have the time for.
const WANTED_RUN_ROUNDS: u64 = 12;

/// Probes a command. The call blocks for at most the time limit and a run's end; this thread is of the real-time class meanwhile.
///
/// # Errors
/// When the command cannot be interrupted, fails, or does not say how far it is.
pub fn probe(plan: &ProbePlan, observer: &mut dyn Observer<ProbeProgress>) -> Result<Probe, ProbeError> {
    let host = Host::read(Path::new("/"))?;
    let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let sizes = plan.sizes_bytes.clone().unwrap_or_else(|| sizes(&host, plan.cpu));
    let mut session = Session::begin(plan, &sizes, observer)?;
    let progress = session.pilot()?;
    let treatments = session.treatments(&sizes, progress)?;
    session.plan_launches(treatments.len() as u32);
    let ended = session.gather(&treatments, progress)?;
    session.stop()?;
    let figures = session.figures(&treatments, progress)?;
    let elapsed = session.began.elapsed();
    let marked = session.marked(progress)?;
    let observations = session.observations(progress, &marked);
    let sum = |of: fn(&Observation<'_>) -> f64| observations.iter().map(of).sum::<f64>().max(1.0);
    let cpu_s = sum(|observation| observation.block.cpu_ns as f64) / 1e9;
    Ok(Probe {
        schema: SCHEMA.to_owned(),
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s,
        elapsed_s: elapsed.as_secs_f64(),
        command: plan.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        cpu: session.interrupter.cpu,
        cpu_model: host.cpu_model,
        progress,
        progress_per_cpu_s: observations.iter().map(|observation| observation.progress).sum::<f64>() / cpu_s,
        runs: session.runs,
        rounds: session.rounds,
        block_ns: (progress != ProgressBy::Runs).then_some(session.block_ns),
        ended,
        switches_per_cpu_s: figures.switches_per_cpu_s,
        bill_share: figures.bill_share(plan),
        further_s: (figures.further > 1.0).then_some(elapsed.as_secs_f64() * (figures.further - 1.0)),
        interruption_ns: figures.interruption_ns,
        refill_ns: figures.refill_ns,
    })
}

/// Level 1, level 2, and four times level 2 where a further cache holds that: what is displaced by little, much, and most other programs.
fn sizes(host: &Host, cpu: Option<u32>) -> Vec<u64> {
    let cpu = cpu.or_else(|| host.limits.allowed_cpus.last().copied()).unwrap_or(0);
    let caches: Vec<u64> = host.data_caches_of(CpuId::new(cpu)).iter().map(|cache| cache.bytes).collect();
    match caches[..] {
        [] => vec![48 << 10, 1 << 20, 8 << 20],
        [one] => vec![one, 4 * one],
        [one, two] => vec![one, two],
        [one, two, .., last] => vec![one, two, last.min(4 * two)],
    }
}

/// What was found.
struct Figures {
    interruption_ns: Vec<InterruptionCost>,
    refill_ns: Vec<InterruptionCost>,
    switches_per_cpu_s: f64,
    /// How many times what was done until every interval is narrow.
    further: f64,
}

impl Figures {
    /// Its own switches at their price, and at most the dearest refill after each.
    fn bill_share(&self, plan: &ProbePlan) -> Range {
        let bare = || self.interruption_ns.iter().filter(|cost| cost.displaced_bytes == 0);
        let priced = plan.model.as_ref().and_then(CostModel::any_switch_ns);
        let most_ns = || bare().map(|cost| cost.ci_high).fold(0.0, f64::max);
        let direct = priced.unwrap_or_else(|| Range { low: 0.0, high: most_ns() });
        let refill_ns = self.refill_ns.iter().map(|cost| cost.ci_high).fold(0.0, f64::max);
        let share = direct.plus(Range { low: 0.0, high: refill_ns }).times(self.switches_per_cpu_s / 1e9);
        Range { low: share.low.min(1.0), high: share.high.min(1.0) }
    }
}

struct Session<'a> {
    plan: &'a ProbePlan,
    observer: &'a mut dyn Observer<ProbeProgress>,
    interrupter: Interrupter,
    began: Instant,
    /// Its spans are there.
    folder: tempfile::TempDir,
    errors: File,
    child: Option<(ChildCommand, Instant)>,
    runs: u64,
    rounds: u64,
    block_ns: u64,
    /// By the time from one interruption to the next: how many spans one may slow, where single spans tell that.
    slowed: BTreeMap<u64, usize>,
    /// How long it took until its first span, where its single spans tell.
    startup: Option<Duration>,
    /// How long a launch lasts, where the program is started again and again.
    launch: Option<Duration>,
    blocks: Vec<Done>,
}

/// A block of a round, in which run of the program.
struct Done {
    round: u64,
    run: u64,
    treatment: Treatment,
    block: Block,
}

impl<'a> Session<'a> {
    fn begin(
        plan: &'a ProbePlan,
        sizes: &[u64],
        observer: &'a mut dyn Observer<ProbeProgress>,
    ) -> Result<Self, ProbeError> {
        Ok(Self {
            interrupter: Interrupter::new(plan.cpu, sizes)?,
            plan,
            observer,
            began: Instant::now(),
            folder: tempfile::tempdir().map_err(ProbeError::Scratch)?,
            errors: tempfile::tempfile().map_err(ProbeError::Scratch)?,
            child: None,
            runs: 0,
            rounds: 0,
            block_ns: BLOCK_NS,
            slowed: BTreeMap::new(),
            startup: None,
            launch: None,
            blocks: Vec::new(),
        })
    }

    fn command(&self) -> String {
        self.plan.command.first().map_or(String::new(), |program| program.to_string_lossy().into_owned())
    }

    /// Where a run of the command writes its spans: the first is number 1.
    fn spans_file(&self, run: u64) -> PathBuf {
        self.folder.path().join(format!("spans-{run}"))
    }

    fn time_is_over(&self) -> bool {
        self.began.elapsed() >= self.plan.time_limit
    }

    /// Starts the command, unless it runs.
    fn start(&mut self) -> Result<(), ProbeError> {
        if self.child.is_none() {
            let quiet = self.errors.try_clone().map_err(ProbeError::Scratch)?;
            let environment: Vec<(OsString, OsString)> =
                vec![("SWTCH_SPANS".into(), self.spans_file(self.runs + 1).into())];
            let quiet = Some(Arc::new(quiet));
            let start = CommandStart {
                quiet,
                own_group: true,
                dies_with_parent: true,
                environment,
                ..CommandStart::default()
            };
            let child = ChildCommand::start(&self.plan.command, None, &start)?;
            // A command that ends at once cannot be counted; `collect` says what came of it.
            if let Err(error) = self.interrupter.attach(child.pid())
                && !child.ends_within(ENDING)
            {
                return Err(error.into());
            }
            self.child = Some((child, Instant::now()));
            self.runs += 1;
        }
        Ok(())
    }

    /// Whether the run has ended.
    fn run_ended(&self) -> bool {
        self.child.as_ref().is_none_or(|(child, _)| child.ends_within(Duration::ZERO))
    }

    /// Collects a run that has ended by itself.
    fn collect(&mut self) -> Result<(), ProbeError> {
        let Some((child, _)) = self.child.take() else { return Ok(()) };
        let end = child.collect().map_err(ProbeError::Scratch)?;
        if end.status != 0 {
            let said = last_lines(&mut self.errors);
            return Err(ProbeError::Failed { command: self.command(), status: end.status, said });
        }
        Ok(())
    }

    /// Ends the run; the last one may still have spans to write.
    fn stop(&mut self) -> Result<(), ProbeError> {
        if let Some((child, _)) = self.child.take() {
            child.signal(rustix::process::Signal::TERM.as_raw());
            if !child.ends_within(Duration::from_secs(2)) {
                child.signal(rustix::process::Signal::KILL.as_raw());
            }
            child.collect().map_err(ProbeError::Scratch)?;
        }
        Ok(())
    }

    fn block(&mut self, treatment: Treatment, until: Until) -> Option<Block> {
        let child = self.child.as_ref().map(|(child, _)| child);
        let over = self.began + self.plan.time_limit;
        let mut ended = || {
            let whole = until == Until::ProgramEnds;
            child.is_none_or(|child| child.ends_within(Duration::ZERO)) || (whole && Instant::now() >= over)
        };
        self.interrupter.block(treatment, until, &mut ended)
    }

    /// Watches the program undisturbed, and chooses what tells its progress and how long a block has to be.
    fn pilot(&mut self) -> Result<ProgressBy, ProbeError> {
        let none = self.none();
        let until = Instant::now() + PILOT.min(self.plan.time_limit / 4);
        self.start()?;
        let mut watched = Vec::new();
        while Instant::now() < until && !self.run_ended() {
            if self.observer.stop() {
                self.stop()?;
                return Err(ProbeError::Interrupted);
            }
            watched.extend(self.block(none, Until::Passed(BLOCK_NS)));
        }
        let pilot_began_ns = watched.first().map(|block: &Block| block.begin_ns);
        // A program that begins does what it does not do later.
        watched.drain(..watched.len() / 4);
        let ran = self.child.as_ref().map_or(Duration::ZERO, |(_, started)| started.elapsed());
        let ended = self.run_ended();
        if ended {
            self.collect()?;
            if ran < LEAST_RUN {
                return Err(ProbeError::TooShort { command: self.command(), ns: ran.as_nanos() as f64 });
            }
        }
        let marked = self.marked(ProgressBy::Spans)?;
        // A command that ends is started again in any case.
        self.startup = pilot_began_ns.filter(|_| !ended).and_then(|began_ns| marked.first_after(began_ns));
        let asked = |by| self.plan.progress.is_none_or(|asked| asked == by);
        // A run that ends within a few rounds is compared as a whole.
        if !ended || self.plan.progress.is_some() || ran > 2 * BEGINNING + Duration::from_nanos(16 * BLOCK_NS)
        {
            for by in [ProgressBy::Instructions, ProgressBy::Spans, ProgressBy::SystemCalls] {
                // The median: what it does once says nothing.
                let longest = (LONGEST_BLOCK_NS / BLOCK_NS) as usize;
                let of_chunk = |chunk: &[Block]| chunk.iter().map(|block| progress(block, by, &marked)).sum();
                let units = median(&watched.chunks(longest).map(of_chunk).collect::<Vec<f64>>());
                if asked(by) && units >= LEAST_UNITS {
                    let times = (UNITS_A_BLOCK * longest as f64 / units).clamp(1.0, longest as f64);
                    self.block_ns = (times * BLOCK_NS as f64) as u64;
                    return Ok(by);
                }
            }
        }
        let runs_are_possible = ended && asked(ProgressBy::Runs);
        if runs_are_possible {
            return Ok(ProgressBy::Runs);
        }
        self.stop()?;
        let system_calls: u64 = watched.iter().filter_map(|block| block.system_calls).sum();
        let counted = |block: &Block| block.instructions.is_some();
        let why = format!(
            "in {:.1} s it marked {} spans and made {system_calls} system calls, {}",
            ran.as_secs_f64(),
            marked.count(),
            if watched.iter().any(counted) {
                "and --progress wants no instructions"
            } else {
                "and this machine counts no instructions"
            },
        );
        let needed_ns = self.plan.time_limit.as_nanos() as f64 / (6 * WANTED_RUN_ROUNDS) as f64;
        Err(ProbeError::NoProgress { command: self.command(), why, needed_ns })
    }

    /// A block in which nothing is done but reading the counters.
    fn none(&self) -> Treatment {
        Treatment { displaced_bytes: 0, period_ns: self.block_ns }
    }

    /// None, every rate with nothing displaced, every size.
    fn treatments(&mut self, sizes: &[u64], by: ProgressBy) -> Result<Vec<Treatment>, ProbeError> {
        let marked = self.marked(by)?;
        let mut slowed_by: BTreeMap<u64, usize> = BTreeMap::new();
        let of_size = |bytes: &u64| {
            let touch_ns = self.interrupter.touch_ns(*bytes);
            let slowed = marked.slowed_by(touch_ns).zip(marked.typical_ns());
            let slowed_ns = slowed.map_or(0, |(spans, one_ns)| ((spans + 1) as f64 * one_ns) as u64);
            // Few different ones: each has a treatment of its own that touches nothing.
            let period_ns = |least_ns: u64| match least_ns {
                ..=FAST_NS => FAST_NS,
                _ => SLOW_NS * least_ns.div_ceil(SLOW_NS).next_power_of_two(),
            };
            let touched_ns = touch_ns * TOUCHED_PART;
            let with_spans_ns = period_ns(touched_ns.max(slowed_ns * SLOWED_PART));
            let Some((spans, _)) = slowed.filter(|_| with_spans_ns <= SLOWEST_NS) else {
                return Treatment { displaced_bytes: *bytes, period_ns: period_ns(touched_ns) };
            };
            // At one rate the same number of spans for every size, and for nothing, which they are compared with.
            let most = slowed_by.entry(with_spans_ns).or_default();
            *most = spans.max(*most);
            Treatment { displaced_bytes: *bytes, period_ns: with_spans_ns }
        };
        let sized: Vec<Treatment> = sizes.iter().filter(|bytes| **bytes > 0).map(of_size).collect();
        let bare = sized.iter().map(|treatment| Treatment { displaced_bytes: 0, ..*treatment });
        let fastest = Treatment { displaced_bytes: 0, period_ns: FAST_NS };
        let mut all: Vec<Treatment> = [self.none(), fastest].into_iter().chain(bare).collect();
        all.extend(&sized);
        all.sort_unstable();
        all.dedup();
        self.slowed = slowed_by;
        Ok(all)
    }

    /// Rounds, until the figures are narrow or the time is over.
    fn gather(&mut self, treatments: &[Treatment], by: ProgressBy) -> Result<ProbeEnded, ProbeError> {
        let mut rng = Rng::new(self.plan.seed);
        let mut order = treatments.to_vec();
        loop {
            rng.shuffle(&mut order);
            for treatment in order.iter().copied() {
                if self.observer.stop() {
                    return Ok(ProbeEnded::Interrupted);
                }
                if self.time_is_over() {
                    return Ok(ProbeEnded::TimeLimit);
                }
                self.one(treatment, by)?;
            }
            self.rounds += 1;
            let fraction = self.began.elapsed().as_secs_f64() / self.plan.time_limit.as_secs_f64();
            let at_most = self.plan.time_limit.saturating_sub(self.began.elapsed());
            self.observer.event(&ProbeProgress { rounds: self.rounds, fraction, at_most });
            self.end_launch()?;
            if self.rounds.is_multiple_of(ROUNDS_A_LOOK)
                && self.launches_suffice()
                && self.figures(treatments, by).is_ok_and(|figures| figures.further <= 1.0)
            {
                return Ok(ProbeEnded::Precise);
            }
        }
    }

    /// One block, of a run that goes on or of a whole run.
    fn one(&mut self, treatment: Treatment, by: ProgressBy) -> Result<(), ProbeError> {
        if self.run_ended() {
            self.collect()?;
            self.start()?;
            if by != ProgressBy::Runs {
                std::thread::sleep(BEGINNING);
            }
        }
        let until = if by == ProgressBy::Runs { Until::ProgramEnds } else { Until::Passed(self.block_ns) };
        let block = self.block(treatment, until);
        let whole = by != ProgressBy::Runs || self.run_ended();
        let done = |block| Done { round: self.rounds, run: self.runs, treatment, block };
        self.blocks.extend(block.filter(|_| whole).map(done));
        Ok(())
    }

    /// Has the program started again and again where its single spans tell and the time is enough for that.
    fn plan_launches(&mut self, treatments: u32) {
        let Some(startup) = self.startup.filter(|_| !self.slowed.is_empty()) else { return };
        let round = Duration::from_nanos(self.block_ns) * treatments;
        let launch = LAUNCH.max(startup * TIMES_STARTUP).max(round * ROUNDS_A_LAUNCH);
        let left = self.plan.time_limit.saturating_sub(self.began.elapsed());
        self.launch = (left >= (launch + startup + BEGINNING) * LEAST_ROUNDS as u32).then_some(launch);
    }

    /// Ends a run that has lasted as long as a launch should.
    fn end_launch(&mut self) -> Result<(), ProbeError> {
        let lasted = self.child.as_ref().map(|(_, started)| started.elapsed());
        if self.launch.zip(lasted).is_some_and(|(launch, lasted)| lasted >= launch) {
            self.stop()?;
        }
        Ok(())
    }

    /// Whether there were as many launches as an interval over launches takes.
    fn launches_suffice(&self) -> bool {
        self.launch.is_none() || self.runs > LEAST_ROUNDS as u64
    }

    /// The spans that tell its progress.
    fn marked(&self, by: ProgressBy) -> Result<Marked, ProbeError> {
        let runs = if by == ProgressBy::Spans { self.runs } else { 0 };
        Marked::read((1..=runs).map(|run| self.spans_file(run)))
    }

    /// The blocks with the program's progress in them.
    fn observations<'b>(&'b self, by: ProgressBy, marked: &Marked) -> Vec<Observation<'b>> {
        let observed = |done: &'b Done| {
            let slowed = self.slowed.get(&done.treatment.period_ns);
            Observation {
                round: done.round,
                launch: self.launch.map(|_| done.run),
                treatment: done.treatment,
                block: &done.block,
                progress: progress(&done.block, by, marked),
                after_ns: slowed.and_then(|spans| marked.after_interruptions(&done.block, *spans)),
            }
        };
        self.blocks.iter().map(observed).collect()
    }

    fn figures(&self, treatments: &[Treatment], by: ProgressBy) -> Result<Figures, ProbeError> {
        let marked = self.marked(by)?;
        let observations = self.observations(by, &marked);
        let rounds = Rounds::of(&observations);
        let none = self.none();
        let others = treatments.iter().filter(|treatment| **treatment != none);
        let costs = others.clone().map(|treatment| rounds.interruption(*treatment, none));
        let sized = others.filter(|treatment| treatment.displaced_bytes > 0);
        let refills = sized.map(|treatment| rounds.refill(*treatment));
        let (costs, refills) = (costs.collect::<Option<Vec<_>>>(), refills.collect::<Option<Vec<_>>>());
        let (Some(interruption_ns), Some(refill_ns)) = (costs, refills) else {
            let round_ns = self.began.elapsed().as_nanos() as f64 / self.rounds.max(1) as f64;
            return Err(ProbeError::TooFew {
                command: self.command(),
                rounds: self.rounds,
                needed: LEAST_ROUNDS as u64,
                needed_ns: 2.0 * round_ns * LEAST_ROUNDS.max(self.rounds as usize) as f64,
            });
        };
        // Every block begins with one switch that is ours.
        let undisturbed = || observations.iter().filter(|observation| observation.treatment == none);
        let ours = |block: &Block| block.switches.saturating_sub(block.interruptions.len() as u64);
        let switches: u64 = undisturbed().map(|observation| ours(observation.block)).sum();
        let cpu_ns: u64 = undisturbed().map(|observation| observation.block.cpu_ns).sum();
        let bare = interruption_ns.iter().filter(|cost| cost.displaced_bytes == 0);
        let direct_ns = bare.map(|cost| cost.median).fold(0.0, f64::max);
        let further = further(&refill_ns, direct_ns);
        let switches_per_cpu_s = switches as f64 / (cpu_ns as f64 / 1e9).max(1e-9);
        Ok(Figures { interruption_ns, refill_ns, switches_per_cpu_s, further })
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // After an error; the program must not outlive it.
        let _ = self.stop();
    }
}

fn progress(block: &Block, by: ProgressBy, marked: &Marked) -> f64 {
    match by {
        ProgressBy::Instructions => block.instructions.unwrap_or(0) as f64,
        ProgressBy::SystemCalls => block.system_calls.unwrap_or(0) as f64,
        ProgressBy::Spans => marked.ended_in(block) as f64,
        ProgressBy::Runs => 1.0,
    }
}
