//! How far the simulator is off: loads that ran under schedulers in a virtual machine, beside their simulation.
//!
//! The simulator gets the machine, the kernel's rules and a Profile measured in the same virtual machine; nothing is calibrated.

mod host;
mod simulating;

pub use host::{HostJob, accuracy_on_host};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use simulating::{Simulated, simulated};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use swtch_profile::{Profile, file};
use swtch_sched::{
    BenchJob, Column, Load, LoadMetric, Policy, Run, SchedError, SchedProgress, SimulatedFigure,
    SimulatedLoad, bench, loads_named, run_in_guest,
};
use swtch_sim::plan::PlanError;
use swtch_sim::policies::fair_class_of;
use swtch_stats::median;
use swtch_units::Observer;
use swtch_vm::{KeptOutput, Spec};
use thiserror::Error;

/// Schema of the document.
pub const ACCURACY_SCHEMA: &str = "swtch/accuracy/1";

/// The file of the guest's Profile, beside the document.
pub const GUEST_PROFILE: &str = "profile.json";

/// Policies whose times on a load differ by less are in no order.
const CLEAR: f64 = 1.1;

/// The table of errors: `swtch sched accuracy --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccuracyDocument {
    /// What this document is.
    pub schema: String,
    /// The version that wrote it.
    pub swtch_version: String,
    /// The kernel of the guest, or of this machine.
    pub kernel: String,
    /// CPUs of the guest, or those that the loads could use here.
    pub cpus: u32,
    /// Runs of each load under each policy, at least.
    pub runs: usize,
    /// Digests of all that the guest of each scheduler got: the same give the same figures.
    pub inputs: Vec<String>,
    /// The errors of all rows.
    pub errors: Errors,
    /// Every load under every policy.
    pub rows: Vec<AccuracyRow>,
    /// Policies that cannot be simulated, and why.
    pub missing: BTreeMap<String, String>,
}

/// The errors of a table, parts of the real figure: 0.1 is 10 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// Of the time.
    pub seconds: ErrorFigures,
    /// Of the switches.
    pub context_switches: ErrorFigures,
    /// Of wake-ups, sleeps and requests: how late, and how long. None where no load tells any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latencies: Option<ErrorFigures>,
    /// Pairs of policies that the simulator puts in the right order, of those whose times on a load differ by more than 10 %.
    pub ordered: u32,
    /// How many such pairs there are.
    pub pairs: u32,
}

/// The errors of one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorFigures {
    /// Half of the rows are off by less.
    pub median: f64,
    /// The row that is off most.
    pub worst: f64,
    /// How far the reference is off from itself: the stock class once more, with other seeds; the median of its rows.
    pub chance: Option<f64>,
}

/// A load under a policy, real and simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccuracyRow {
    /// The load.
    pub load: String,
    /// The policy it ran under.
    pub policy: String,
    /// Where it ran.
    pub reference: Reference,
    /// What was simulated: a workload by its name, or the text of a file, as `swtch simulate` takes them.
    pub work: String,
    /// Under which policy of the simulator.
    pub simulated_policy: String,
    /// Time, by the program's own clock.
    pub seconds: RealAndSimulated,
    /// Switches of all its tasks, those of starting and ending it among them.
    pub context_switches: RealAndSimulated,
    /// Other figures that the load tells and its simulation has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<LatencyRow>,
    /// Runs that the real figures are medians of. In a virtual machine the simulated ones are of several seeds for each.
    #[serde(default)]
    pub runs: usize,
    /// Runs that are left out, since what a switch cost before and after them differed by more than 15 %.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: usize,
}

/// How late tasks were, or how long requests took, real and simulated, us.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRow {
    /// The load's name of it, such as `wake-up p99`.
    pub figure: String,
    /// Which times of the simulation it is.
    pub simulated_by: SimulatedFigure,
    /// Both, us.
    pub us: RealAndSimulated,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Where a load ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// In a virtual machine that counts instructions.
    Guest,
    /// On this machine. Each run has a simulation of its own, with what a switch cost just before and just after it.
    Host,
}

/// A real figure and the simulated one: medians of the runs, and of the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealAndSimulated {
    /// The real one.
    pub real: f64,
    /// The least of the runs.
    pub real_low: f64,
    /// The greatest.
    pub real_high: f64,
    /// The same by the simulator.
    pub simulated: f64,
}

impl RealAndSimulated {
    /// How far the simulation is off, a part of the real figure; negative: too low.
    pub fn error(self) -> f64 {
        self.simulated / self.real - 1.0
    }
}

/// Why there is no table.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AccuracyError {
    /// The loads could not be run.
    #[error(transparent)]
    Sched(#[from] SchedError),
    /// A load could not be simulated.
    #[error("simulating {work} under {policy}: {source}")]
    Plan {
        /// What.
        work: String,
        /// Under what.
        policy: String,
        /// Why.
        source: Box<PlanError>,
    },
    /// The guest's Profile cannot be read or kept.
    #[error(transparent)]
    Profile(#[from] file::FileError),
    /// A switch could not be measured beside a run.
    #[error(transparent)]
    Measure(#[from] swtch_measure::MeasureError),
    /// A directory cannot be made.
    #[error("making {what}: {source}; is there space, and may it be written?")]
    Io {
        /// Which.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Runs the loads, measures a Profile in the same kind of guest, and simulates them. What the job's directory has is not run again.
///
/// # Errors
/// When a load or a scheduler fails, or the simulator refuses one.
pub fn accuracy(
    job: &BenchJob,
    observer: &mut dyn Observer<SchedProgress>,
) -> Result<(AccuracyDocument, Profile), AccuracyError> {
    let job = with_simulated_loads(job)?;
    let profile = profile(&job, observer)?;
    let benched = bench(&job, observer)?;
    let mut document = AccuracyDocument {
        schema: ACCURACY_SCHEMA.to_owned(),
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: benched.columns.first().map(|column| column.kernel.clone()).unwrap_or_default(),
        cpus: benched.cpus,
        runs: benched.runs,
        inputs: benched.columns.iter().map(Column::inputs).collect(),
        errors: Errors::default(),
        rows: Vec::new(),
        missing: BTreeMap::new(),
    };
    let [stock, again, others @ ..] = benched.columns.as_slice() else { return Ok((document, profile)) };
    document.missing.extend(benched.failed.iter().cloned());
    let column_of = |policy: &Policy| others.iter().find(|column| column.scheduler == policy.to_string());
    let policies = job.policies.iter().filter_map(|policy| Some((policy.clone(), column_of(policy)?)));
    let policies = std::iter::once((Policy::Stock, stock)).chain(policies);
    for (policy, column) in policies {
        let simulated_policy = match of_the_simulator(&policy, &profile) {
            Ok(name) => name,
            Err(why) => {
                document.missing.insert(policy.to_string(), why);
                continue;
            }
        };
        for load in &job.loads {
            let Some((simulated, runs)) = compared(load).zip(runs_of(column, load)) else { continue };
            let Some(work) = work(simulated, stock) else { continue };
            document.rows.push(AccuracyRow {
                load: load.name.clone(),
                policy: policy.to_string(),
                reference: Reference::Guest,
                work,
                simulated_policy: simulated_policy.clone(),
                runs: runs.len(),
                seconds: real(&runs, |run| seconds_of(run, load, simulated)),
                context_switches: real(&runs, Run::switches),
                latencies: latencies(&runs, load, simulated),
                left_out: 0,
            });
        }
    }
    simulate_again(&mut document, &profile)?;
    let chance = |of: &dyn Fn(&Run, &Load, &SimulatedLoad) -> f64| {
        let differences = job.loads.iter().filter_map(|load| {
            let simulated = load.simulated.as_ref()?;
            let middle = |column| {
                Some(median(
                    &runs_of(column, load)?
                        .into_iter()
                        .map(|run| of(run, load, simulated))
                        .collect::<Vec<_>>(),
                ))
            };
            Some((middle(again)? / middle(stock)? - 1.0).abs())
        });
        let differences: Vec<f64> = differences.collect();
        (!differences.is_empty()).then(|| median(&differences))
    };
    document.errors.seconds.chance = chance(&|run, load, simulated| seconds_of(run, load, simulated));
    document.errors.context_switches.chance = chance(&|run, _, _| run.switches());
    Ok((document, profile))
}

/// The job with the loads that can be simulated, and with those whose figures their simulation takes.
fn with_simulated_loads(job: &BenchJob) -> Result<BenchJob, SchedError> {
    let mut job = job.clone();
    job.loads.retain(|load| load.simulated.is_some());
    for alone in job.loads.clone().iter().filter_map(|load| load.simulated.as_ref()?.alone.clone()) {
        if !job.loads.iter().any(|load| load.name == alone) {
            job.loads.extend(loads_named(&[alone])?);
        }
    }
    if job.loads.is_empty() {
        return Err(SchedError::Wish("none of these loads can be simulated; see --list".to_owned()));
    }
    Ok(job)
}

/// A median of fifteen seeds of a chaotic load is off by up to a fifth from that of a hundred, which would pass for an error of the simulator.
/// Seeds cost little.
pub const SEEDS_A_RUN: u64 = 3;

/// Simulates all rows of a table again, and works out its errors; what really ran stays.
///
/// # Errors
/// When the simulator refuses a row.
pub fn simulate_again(document: &mut AccuracyDocument, profile: &Profile) -> Result<(), AccuracyError> {
    // A single CPU has all turns.
    let machine = if document.cpus == 1 { "1".to_owned() } else { format!("emulated:{}", document.cpus) };
    for row in document.rows.iter_mut().filter(|row| row.reference == Reference::Guest) {
        // Rows of older tables do not have it; then it is that of all rows.
        row.runs = if row.runs == 0 { document.runs } else { row.runs };
        let found = (1..=row.runs as u64 * SEEDS_A_RUN).map(|seed| simulated(row, &machine, seed, profile));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        let middle = |of: &dyn Fn(&Simulated) -> f64| median(&found.iter().map(of).collect::<Vec<_>>());
        row.seconds.simulated = middle(&|run| run.seconds);
        row.context_switches.simulated = middle(&|run| run.context_switches);
        for (place, latency) in row.latencies.iter_mut().enumerate() {
            latency.us.simulated = middle(&|run| run.latencies_us[place]);
        }
    }
    document.errors = errors(&document.rows, document.errors);
    Ok(())
}

fn errors(rows: &[AccuracyRow], before: Errors) -> Errors {
    let figures = |of: &dyn Fn(&AccuracyRow) -> Vec<RealAndSimulated>, chance: Option<f64>| {
        let all: Vec<f64> = rows.iter().flat_map(of).map(|figure| figure.error().abs()).collect();
        let worst = all.iter().copied().fold(0.0, f64::max);
        (!all.is_empty()).then(|| ErrorFigures { median: median(&all), worst, chance })
    };
    let latencies = |row: &AccuracyRow| row.latencies.iter().map(|latency| latency.us).collect();
    let (mut ordered, mut pairs) = (0, 0);
    for (place, row) in rows.iter().enumerate() {
        for other in rows[place + 1..].iter().filter(|other| other.load == row.load) {
            let real = row.seconds.real / other.seconds.real;
            if real.max(1.0 / real) > CLEAR {
                pairs += 1;
                ordered += u32::from((real > 1.0) == (row.seconds.simulated > other.seconds.simulated));
            }
        }
    }
    Errors {
        seconds: figures(&|row| vec![row.seconds], before.seconds.chance).unwrap_or_default(),
        context_switches: figures(&|row| vec![row.context_switches], before.context_switches.chance)
            .unwrap_or_default(),
        latencies: figures(&latencies, before.latencies.and_then(|before| before.chance)),
        ordered,
        pairs,
    }
}

/// The simulator's name of a policy, or why it has none.
fn of_the_simulator(policy: &Policy, profile: &Profile) -> Result<String, String> {
    match policy {
        Policy::Stock => {
            let kernel = &profile.host.kernel;
            let class = kernel.major_minor().and_then(fair_class_of);
            class
                .map(str::to_owned)
                .ok_or_else(|| format!("no policy models the fair class of Linux {}", kernel.release))
        }
        Policy::Fifo => Ok("fifo".to_owned()),
        Policy::RoundRobin => Ok("rr".to_owned()),
        Policy::Scheduler { file: Some(file), options, .. } if file.ends_with(".bpf.c") => {
            let values = values_of(options)
                .ok_or_else(|| "of a scheduler's options only --set NAME=NUMBER is simulated".to_owned())?;
            Ok(if values.is_empty() { file.clone() } else { format!("{file}:{}", values.join(",")) })
        }
        Policy::Scheduler { options, .. } if !options.is_empty() => {
            Err("options of schedulers without a source are not simulated".to_owned())
        }
        Policy::Scheduler { name, .. } if name == "flsched" => Ok(name.clone()),
        Policy::Scheduler { .. } => Err("the simulator needs its source: give its FILE.bpf.c".to_owned()),
    }
}

/// The values that options set, `NAME=NUMBER`; nothing where there is another option.
fn values_of(options: &[String]) -> Option<Vec<String>> {
    let mut words = options.iter();
    let mut values = Vec::new();
    while let Some(word) = words.next() {
        let value = if word == "--set" { words.next()?.as_str() } else { word.strip_prefix("--set=")? };
        values.push(value.to_owned());
    }
    Some(values)
}

fn runs_of<'a>(column: &'a Column, load: &'a Load) -> Option<Vec<&'a Run>> {
    let found: Vec<&Run> = column.runs_of(load).collect();
    (!found.is_empty()).then_some(found)
}

/// The work with the time that one of its tasks takes alone, under the stock class.
fn work(simulated: &SimulatedLoad, stock: &Column) -> Option<String> {
    let Some(alone) = &simulated.alone else { return Some(simulated.work.clone()) };
    let boots = stock.boots.iter().flat_map(|boot| &boot.loads).filter(|load| load.load == *alone);
    let seconds: Vec<f64> = boots.flat_map(|load| &load.runs).map(|run| run.seconds).collect();
    let alone_s = (!seconds.is_empty()).then(|| median(&seconds))?;
    Some(with_alone(simulated, alone_s))
}

/// The work with the time that one of its tasks takes alone.
fn with_alone(simulated: &SimulatedLoad, alone_s: f64) -> String {
    simulated.work.replace("{alone}", &format!("{:.0}", alone_s * 1e9))
}

/// The workload of a load that is a row; none where the simulator only takes its figure for others.
fn compared(load: &Load) -> Option<&SimulatedLoad> {
    load.simulated.as_ref().filter(|simulated| simulated.alone.as_ref() != Some(&load.name))
}

fn seconds_of(run: &Run, load: &Load, simulated: &SimulatedLoad) -> f64 {
    let mut figures = load.metrics.iter().zip(&run.metrics);
    let figure = match &simulated.time {
        Some(name) => figures.find(|(metric, _)| metric.name == *name),
        None => figures.next(),
    };
    let operations = f64::from(simulated.operations);
    figure.map_or(run.seconds, |(metric, value)| match metric.unit.as_str() {
        "1/s" => operations / value,
        "ns" => value * 1e-9 * operations,
        "us" => value * 1e-6 * operations,
        _ => value * operations,
    })
}

fn latencies(runs: &[&Run], load: &Load, simulated: &SimulatedLoad) -> Vec<LatencyRow> {
    let row = |(place, metric): (usize, &LoadMetric)| {
        let simulated_by = simulated.figures.get(&metric.name)?.clone();
        let us = real(runs, |run| run.metrics[place]);
        Some(LatencyRow { figure: metric.name.clone(), simulated_by, us })
    };
    load.metrics.iter().enumerate().filter_map(row).collect()
}

fn real(runs: &[&Run], of: impl Fn(&Run) -> f64) -> RealAndSimulated {
    real_values(&runs.iter().map(|run| of(run)).collect::<Vec<_>>())
}

/// The real side of a figure; the other one comes later.
fn real_values(values: &[f64]) -> RealAndSimulated {
    RealAndSimulated {
        real: median(values),
        real_low: values.iter().copied().fold(f64::INFINITY, f64::min),
        real_high: values.iter().copied().fold(0.0, f64::max),
        simulated: 0.0,
    }
}

/// The Profile of such a guest: that of the job's directory, or a new one, which is kept there.
fn profile(job: &BenchJob, observer: &mut dyn Observer<SchedProgress>) -> Result<Profile, AccuracyError> {
    if let Some(path) = job.folder.as_ref().map(|folder| folder.join(GUEST_PROFILE))
        && path.exists()
    {
        return Ok(file::read(&path)?);
    }
    let made = tempfile::tempdir()
        .map_err(|source| AccuracyError::Io { what: "a directory for the Profile".to_owned(), source })?;
    let into = job.folder.as_deref().unwrap_or_else(|| made.path());
    std::fs::create_dir_all(into)
        .map_err(|source| AccuracyError::Io { what: into.display().to_string(), source })?;
    measure(job, into, observer)?;
    Ok(file::read(&into.join(GUEST_PROFILE))?)
}

fn measure(
    job: &BenchJob,
    into: &Path,
    observer: &mut dyn Observer<SchedProgress>,
) -> Result<(), SchedError> {
    let words = ["measure", "--quick", "--out", GUEST_PROFILE];
    let spec = Spec {
        command: std::iter::once(job.program.clone().into()).chain(words.map(Into::into)).collect(),
        deterministic: true,
        fetch: vec![GUEST_PROFILE.into()],
        fetch_into: Some(into.to_owned()),
        ..job.spec.clone()
    };
    let say = |doing: &str| SchedProgress::Step {
        done: 0,
        of: 0,
        next: format!("a Profile of the guest: {doing}"),
    };
    run_in_guest(&spec, &job.program, "the guest's Profile", KeptOutput::new(observer, say))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_sched::SimulatedTimes;
    use swtch_sim::plan::{Overrides, Plan};

    fn profile_of_a_machine() -> Profile {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles/vm.json");
        file::read(&path).unwrap()
    }

    fn row(load: &str, policy: &str, seconds: (f64, f64), switches: (f64, f64)) -> AccuracyRow {
        let beside =
            |(real, simulated)| RealAndSimulated { real, real_low: real, real_high: real, simulated };
        AccuracyRow {
            load: load.to_owned(),
            policy: policy.to_owned(),
            reference: Reference::Guest,
            work: "ping-pong:loops=20".to_owned(),
            simulated_policy: "rr".to_owned(),
            seconds: beside(seconds),
            context_switches: beside(switches),
            latencies: Vec::new(),
            runs: 1,
            left_out: 0,
        }
    }

    #[test]
    fn errors_are_parts_of_the_real_figure_and_only_clear_orders_count() {
        let rows = [
            row("a", "stock", (1.0, 1.2), (100.0, 90.0)),
            row("a", "rr", (2.0, 1.0), (100.0, 150.0)),
            row("a", "fifo", (2.1, 1.5), (100.0, 100.0)),
            row("b", "rr", (9.0, 9.0), (1.0, 1.0)),
        ];
        let found = errors(&rows, Errors::default());
        assert!(
            (found.seconds.worst - 0.5).abs() < 1e-9 && (found.context_switches.worst - 0.5).abs() < 1e-9
        );
        assert!((found.context_switches.median - 0.05).abs() < 1e-9, "{found:?}");
        // stock against rr is the wrong way round; rr and fifo differ by 5 %.
        assert_eq!((found.ordered, found.pairs), (1, 2));
    }

    #[test]
    fn the_time_of_a_load_is_by_the_figure_that_says_so() {
        let mut load = swtch_sched::loads_named(&["schbench-2".to_owned()]).unwrap().remove(0);
        let run =
            Run { seconds: 9.0, voluntary: 1, involuntary: 1, metrics: vec![300.0, 900.0, 1_400.0, 400.0] };
        let simulated = load.simulated.clone().unwrap();
        // 200 requests at 400 a second.
        assert_eq!(seconds_of(&run, &load, &simulated), 0.5);
        let found = latencies(&[&run], &load, &simulated);
        let figures: Vec<(&str, f64)> = found.iter().map(|row| (row.figure.as_str(), row.us.real)).collect();
        assert_eq!(figures, [("wake-up p50", 300.0), ("wake-up p99", 900.0), ("request p99", 1_400.0)]);
        let first = SimulatedLoad { time: None, operations: 1_000, ..simulated };
        assert!((seconds_of(&run, &load, &first) - 0.3).abs() < 1e-9);
        load.metrics[0].unit = "ns".to_owned();
        assert!((seconds_of(&run, &load, &first) - 0.000_3).abs() < 1e-9);
    }

    #[test]
    fn a_seed_tells_the_figures_that_its_row_asks_for() {
        let figure = |times, percent| LatencyRow {
            figure: "any".to_owned(),
            simulated_by: SimulatedFigure { times, percent },
            us: RealAndSimulated { real: 1.0, real_low: 1.0, real_high: 1.0, simulated: 0.0 },
        };
        let row = AccuracyRow {
            work: "schbench:workers=4,requests=20,work_ns=100000,think_ns=300000,from_start=true".to_owned(),
            latencies: vec![
                figure(SimulatedTimes::Request, 50.0),
                figure(SimulatedTimes::Answer, 50.0),
                figure(SimulatedTimes::Lateness, 0.0),
            ],
            ..row("schbench", "rr", (1.0, 1.0), (1.0, 1.0))
        };
        let found = simulated(&row, "1", 1, &profile_of_a_machine()).unwrap();
        let [request_us, answer_us, lateness_us] = found.latencies_us[..] else {
            panic!("{:?}", row.latencies)
        };
        // A request sleeps for 300 us and computes for 100, beside three others; an answer takes a switch, and so does the end of a sleep.
        assert!((400.0..900.0).contains(&request_us), "{request_us}");
        assert!(answer_us > 0.1 && lateness_us > 0.1 && lateness_us < 400.0, "{answer_us} {lateness_us}");
    }

    #[test]
    fn a_policy_without_a_source_is_missing_with_its_reason() {
        let profile = profile_of_a_machine();
        let of = |text: &str| of_the_simulator(&text.parse().unwrap(), &profile);
        assert_eq!(of("mine.bpf.c"), Ok("mine.bpf.c".to_owned()));
        assert_eq!((of("flsched"), of("rr")), (Ok("flsched".to_owned()), Ok("rr".to_owned())));
        assert!(of("lavd").unwrap_err().contains("FILE.bpf.c"));
        assert_eq!(of("mine.bpf.c --set a=1 --set=b=2"), Ok("mine.bpf.c:a=1,b=2".to_owned()));
        assert!(of("mine.bpf.c --slice 5ms").unwrap_err().contains("--set"));
        assert!(of("flsched --slice 5ms").unwrap_err().contains("options"));
        assert!(of("stock").is_ok());
    }

    #[test]
    fn every_load_that_stands_for_a_workload_can_be_simulated() {
        let profile = profile_of_a_machine();
        let simulated: Vec<_> =
            swtch_sched::loads().iter().filter_map(|load| load.simulated.clone()).collect();
        assert!(simulated.len() >= 12, "{}", simulated.len());
        for SimulatedLoad { work, .. } in simulated {
            let work = work.replace("{alone}", "1000000");
            Plan::of(simulating::work(&work), "", &Overrides::default(), Some(&profile))
                .unwrap_or_else(|error| panic!("{work}: {error}"));
        }
    }
}
