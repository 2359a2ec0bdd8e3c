//! How far the simulator is off: loads that ran under schedulers in a virtual machine, beside their simulation.
//!
//! The simulator gets the machine, the kernel's rules and a Profile measured in the same virtual machine; nothing is calibrated.

mod document;
mod host;
mod simulating;

pub use document::{
    ACCURACY_SCHEMA, AccuracyDocument, AccuracyRow, ErrorFigures, Errors, LatencyRow, RealAndSimulated,
    Reference,
};
pub use host::{HostJob, accuracy_on_host};

use document::errors;
use simulating::{Simulated, simulated};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use swtch_profile::{Profile, file};
use swtch_sched::{
    BenchJob, Column, Load, LoadMetric, Policy, Run, SchedError, SchedProgress, SimulatedLoad, WHOLE_RUN,
    bench, loads_named, run_in_guest,
};
use swtch_sim::plan::PlanError;
use swtch_sim::policies::fair_class_of;
use swtch_stats::median;
use swtch_units::Observer;
use swtch_vm::{KeptOutput, Spec};
use thiserror::Error;

/// The file of the guest's Profile, beside the document.
pub const GUEST_PROFILE: &str = "profile.json";

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
            let Some(simulated) = compared(load) else { continue };
            let Some(work) = work(simulated, stock) else { continue };
            let runs = match runs_to_compare(&policy, column, load, simulated) {
                Ok(runs) => runs,
                Err(why) => {
                    document.missing.insert(format!("{} under {policy}", load.name), why.to_owned());
                    continue;
                }
            };
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
    let chance = |of: &dyn Fn(&Run, &Load, &SimulatedLoad) -> f64| chance(&job.loads, stock, again, of);
    document.errors.seconds.chance = chance(&|run, load, simulated| seconds_of(run, load, simulated));
    document.errors.context_switches.chance = chance(&|run, _, _| run.switches());
    Ok((document, profile))
}

/// The runs of a load under a policy, or why they are not compared.
fn runs_to_compare<'a>(
    policy: &Policy,
    column: &'a Column,
    load: &'a Load,
    simulated: &'a SimulatedLoad,
) -> Result<Vec<&'a Run>, &'a str> {
    if let Some(why) = simulated.except.get(&policy.to_string()) {
        return Err(why);
    }
    runs_of(column, load).ok_or_else(|| column.failed(load).unwrap_or("it did not run"))
}

/// How far a figure of one column of the stock class is off from the other's: the median of the loads.
fn chance(
    loads: &[Load],
    stock: &Column,
    again: &Column,
    of: &dyn Fn(&Run, &Load, &SimulatedLoad) -> f64,
) -> Option<f64> {
    let differences = loads.iter().filter_map(|load| {
        let simulated = load.simulated.as_ref()?;
        let middle = |column| {
            let figures = runs_of(column, load)?.into_iter().map(|run| of(run, load, simulated));
            Some(median(&figures.collect::<Vec<_>>()))
        };
        Some((middle(again)? / middle(stock)? - 1.0).abs())
    });
    let differences: Vec<f64> = differences.collect();
    (!differences.is_empty()).then(|| median(&differences))
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
        Some(name) if name == WHOLE_RUN => return run.seconds,
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
    use super::document::tests::row;
    use super::*;
    use swtch_sched::{SimulatedFigure, SimulatedTimes, Statistic};
    use swtch_sim::plan::{Overrides, Plan};

    fn profile_of_a_machine() -> Profile {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles/vm.json");
        file::read(&path).unwrap()
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
        let whole = SimulatedLoad { time: Some(WHOLE_RUN.to_owned()), ..simulated.clone() };
        assert_eq!(seconds_of(&run, &load, &whole), 9.0);
        let first = SimulatedLoad { time: None, operations: 1_000, ..simulated };
        assert!((seconds_of(&run, &load, &first) - 0.3).abs() < 1e-9);
        load.metrics[0].unit = "ns".to_owned();
        assert!((seconds_of(&run, &load, &first) - 0.000_3).abs() < 1e-9);
    }

    #[test]
    fn a_seed_tells_the_figures_that_its_row_asks_for() {
        let figure = |times, of, task: Option<&str>| LatencyRow {
            figure: "any".to_owned(),
            simulated_by: SimulatedFigure { times, of, task: task.map(str::to_owned) },
            us: RealAndSimulated { real: 1.0, real_low: 1.0, real_high: 1.0, simulated: 0.0 },
        };
        let row = AccuracyRow {
            work: "schbench:workers=4,requests=20,work_ns=100000,think_ns=300000,from_start=true".to_owned(),
            latencies: vec![
                figure(SimulatedTimes::Request, Statistic::Median, None),
                figure(SimulatedTimes::Answer, Statistic::Median, None),
                figure(SimulatedTimes::Lateness, Statistic::Mean, None),
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
    fn figures_of_tasks_are_of_those_that_are_meant() {
        let cpu = |of, task: Option<&str>| LatencyRow {
            figure: "any".to_owned(),
            simulated_by: SimulatedFigure { times: SimulatedTimes::Cpu, of, task: task.map(str::to_owned) },
            us: RealAndSimulated { real: 1.0, real_low: 1.0, real_high: 1.0, simulated: 0.0 },
        };
        let task =
            |name: &str, ms: u32| format!("[[task]]\nname = \"{name}\"\nprogram = \"compute {ms}ms\"\n");
        let row = AccuracyRow {
            work: task("short", 2) + &task("long", 9),
            latencies: vec![
                cpu(Statistic::Longest, Some("short")),
                cpu(Statistic::Spread, None),
                cpu(Statistic::Mean, None),
            ],
            ..row("own", "rr", (1.0, 1.0), (1.0, 1.0))
        };
        let found = simulated(&row, "1", 1, &profile_of_a_machine()).unwrap();
        let [short_us, spread_us, mean_us] = found.latencies_us[..] else { panic!("{row:?}") };
        // A task ends, too, which takes some time.
        assert!((2_000.0..2_300.0).contains(&short_us), "{short_us}");
        assert!(
            (6_900.0..7_100.0).contains(&spread_us) && (5_500.0..5_800.0).contains(&mean_us),
            "{spread_us} {mean_us}"
        );
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
