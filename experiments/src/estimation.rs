//! Kim and Huh's scheduler with everything that an ideal schedule leaves out. Speeds are sampled, shares are handed out in rounds, tasks
//! are swapped (IEEE TC 67(8), 2018, and slides).

use crate::mix::{Percent, SIZE, published_policies};
use crate::mixes::{DIVERSE, Figures, SIMILAR};
use crate::parallel;
use crate::registry::Options;
use crate::speedups::{self, Application};
use crate::table::{Grid, Row, Table};
use anyhow::{Context, Result};
use swtch_fairness::{Ddof, Metrics};
use swtch_sim::costs::Costs;
use swtch_sim::machine::{CoreType, Machine, MachineCpu, REFERENCE_SPEED, named};
use swtch_sim::policies::{Asymmetric, Eevdf};
use swtch_sim::policy::Policy;
use swtch_sim::sink::Nothing;
use swtch_sim::workloads::Mix;
use swtch_sim::workloads::mix::{MixApplication, Phase};
use swtch_sim::{Engine, EngineOutcome};
use swtch_stats::median;
use swtch_topology::Host;
use swtch_units::CpuId;

/// Simulated time of a run, ns: a hundred intervals of the controller.
const SPAN_NS: u64 = 200_000_000_000;
/// Memory that an application wants to find in the caches when it comes back, bytes.
const WORKING_SET_BYTES: u64 = 1 << 20;
/// How long a phase lasts on a slow core on average, ns.
const PHASE_NS: f64 = 10e9;
/// By how much a phase's speedup differs from the application's.
const PHASES: [f64; 4] = [0.0, 1.0, 0.0, -1.0];
/// That difference at most.
const SWING: f64 = 0.05;
/// Noise of a sample, by which the mean error of the estimates is 2.70 %.
const NOISE: f64 = 0.095;
/// Runs for the error of the estimates.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// Applications that run for ever, with phases if `swing` is not 0; no two change at the same time.
fn mix(speedups: &[f64], swing: f64) -> Mix {
    let slow = |speedup: f64| (f64::from(REFERENCE_SPEED) / speedup) / f64::from(REFERENCE_SPEED);
    let phase = |speedup: f64, place: usize| Phase {
        speeds: Vec::new(),
        speedup: Some(speedup),
        work_ns: (PHASE_NS * slow(speedup) * (1.0 + 0.13 * place as f64)) as u64,
    };
    let application = |(place, speedup): (usize, &f64)| MixApplication {
        name: format!("{place}"),
        phases: PHASES.map(|part| phase((speedup * (1.0 + swing * part)).max(1.0), place)).to_vec(),
        working_set_bytes: WORKING_SET_BYTES,
        ..MixApplication::default()
    };
    Mix { applications: speedups.iter().enumerate().map(application).collect(), repeat: true }
}

fn simulate<P: Policy>(
    machine: &Machine,
    mix: &Mix,
    policy: P,
    seed: u64,
) -> Result<EngineOutcome<P, Nothing>> {
    let mut workload = mix.build(machine)?;
    workload.duration_ns = Some(SPAN_NS);
    let options = swtch_sim::Options { seed, ..swtch_sim::Options::default() };
    Ok(Engine::new(machine.clone(), Costs::typical(), workload, policy, Nothing, options)?.run()?)
}

/// Work that each task has done.
fn work<P>(outcome: &EngineOutcome<P, Nothing>) -> Vec<f64> {
    outcome.stats.tasks.iter().map(|task| task.work as f64).collect()
}

/// What is between an ideal schedule and a real one, a step at a time.
#[derive(Clone, Copy, Debug)]
struct Step {
    name: &'static str,
    parameters: &'static str,
    swing: f64,
}

const STEPS: [Step; 4] = [
    Step { name: "rounds and swaps", parameters: "sampled=false", swing: 0.0 },
    Step { name: "and at least 4 % on either", parameters: "noise=0", swing: 0.0 },
    Step { name: "and noise", parameters: "", swing: 0.0 },
    Step { name: "and phases", parameters: "", swing: SWING },
];

/// The names by which the simulator knows the published policies, with their parameters.
const SIMULATED: [&str; 3] =
    ["max-perf:waits=true,", "min-fair:waits=true,", "similar-min-fair:waits=true,published=true,"];

/// Published figures of two mixes from two collections of applications, step by step; what estimates and the controller cost.
///
/// # Errors
/// None that are expected.
pub(crate) fn run(options: Options) -> Result<Vec<Table>> {
    let sources = [
        ("2.8 over 0.8 GHz", speedups::estimated()?),
        ("Apple M1", speedups::spec_2017("Apple_M1_P-Core_O3", "bookworm")?),
    ];
    let mut tables = vec![estimates(&sources[0].1)?];
    for (name, applications) in sources {
        tables.push(mechanism(options, name, &applications)?);
    }
    Ok(tables)
}

/// The machine whose cores are all clocked alike, two of them still taken for fast ones.
fn equal_cores() -> Result<Machine> {
    let kind = |name: &str| CoreType { name: name.to_owned(), speed: REFERENCE_SPEED };
    let cpu = |id: u32| MachineCpu {
        id: CpuId::new(id),
        core_type: u32::from(id < 2),
        core: id,
        l2: id,
        l3: 0,
        node: 0,
    };
    let kinds = vec![kind("slow"), kind("fast")];
    Machine::new("6 alike", kinds, (0..6).map(cpu).collect(), Vec::new()).context("a machine of two kinds")
}

fn estimates(applications: &[Application]) -> Result<Table> {
    let speedups = speedups::values(&speedups::evenly_spread(applications, SIZE));
    let sampled = || Asymmetric::from_text(&format!("min-fair:waits=true,noise={NOISE}"));
    let machine = named("2f4s", &Host::default())?;
    let errors = SEEDS.map(|seed| {
        Ok(simulate(&machine, &mix(&speedups, SWING), sampled()?, seed)?.policy.estimation_errors())
    });
    let errors = errors.into_iter().collect::<Result<Vec<_>>>()?;
    let count: u64 = errors.iter().map(|errors| errors.count).sum();
    let mean_percent = 100.0 * errors.iter().map(|errors| errors.sum).sum::<f64>() / count as f64;
    let worst_percent = 100.0 * median(&errors.iter().map(|errors| errors.worst).collect::<Vec<_>>());

    let alike = equal_cores()?;
    let ones = mix(&[1.0; SIZE], 0.0);
    let stock: f64 = work(&simulate(&alike, &ones, Eevdf::new(), 1)?).iter().sum();
    let ours: f64 = work(&simulate(&alike, &ones, sampled()?, 1)?).iter().sum();
    let mut table = Table::new("Estimates and the controller: the diverse mix of 2.8 over 0.8 GHz, 200 s");
    table.rows = vec![
        Row::new("estimation error, mean", 2.70, mean_percent, "%", 0.1).calibrated().decimals(2),
        Row::new("estimation error, worst of a run, median of five runs", 9.92, worst_percent, "%", 2.0)
            .decimals(2),
        Row::computed("estimates compared", count as f64, "").decimals(0),
        Row::new(
            "throughput lost against EEVDF on cores alike, at most",
            0.0,
            100.0 * (1.0 - ours / stock),
            "%",
            0.0,
        )
        .within(f64::NEG_INFINITY, 1.8)
        .decimals(2),
    ];
    Ok(table)
}

/// The metrics of a mix under each policy after each step.
fn steps(options: Options, speedups: &[f64]) -> Result<Vec<[Percent; 3]>> {
    let machine = named("2f4s", &Host::default())?;
    let jobs: Vec<(Step, String)> = STEPS
        .into_iter()
        .flat_map(|step| {
            let fair = (step, "max-fair:sampled=false".to_owned());
            let rest = SIMULATED.map(|policy| (step, format!("{policy}noise={NOISE},{}", step.parameters)));
            [fair].into_iter().chain(rest)
        })
        .collect();
    let works = parallel::map(options.threads, &jobs, |(step, policy)| {
        Ok(work(&simulate(&machine, &mix(speedups, step.swing), Asymmetric::from_text(policy)?, 1)?))
    })?;
    let percent = |works: &[Vec<f64>], policy: usize| {
        let performance: Vec<f64> = works[policy + 1].iter().zip(&works[0]).map(|(a, b)| a / b).collect();
        Percent::from(Metrics::of(&performance, Ddof::One))
    };
    Ok(works
        .chunks(1 + SIMULATED.len())
        .map(|works| [0, 1, 2].map(|policy| percent(works, policy)))
        .collect())
}

fn mechanism(options: Options, source: &str, applications: &[Application]) -> Result<Table> {
    let mut table =
        Table::new(format!("The mixes of {source} with rounds, swaps and sampling, in percent of max-fair"));
    let header = ["mix", "policy", "ideal"].map(str::to_owned).into_iter();
    let mut grid =
        Grid { header: header.chain(STEPS.map(|step| step.name.to_owned())).collect(), rows: Vec::new() };
    let mixes: [(&str, Figures, Vec<Application>); 2] = [
        ("diverse", DIVERSE, speedups::evenly_spread(applications, SIZE)),
        ("similar", SIMILAR, speedups::most_alike(applications, SIZE)),
    ];
    for (mix, published, applications) in mixes {
        let speedups = speedups::values(&applications);
        let found = steps(options, &speedups)?;
        for (place, (name, policy)) in published_policies().into_iter().enumerate() {
            // What was published of max-perf fits fixed places and not wavering estimates; see the document.
            let (step, how) = if place == 0 { (0, "speeds known") } else { (2, "sampled") };
            for ((metric, obtained), published) in
                found[step][place].named().into_iter().zip(published[place])
            {
                let what = format!("{source}, {mix}, {name}, {how}: {metric}");
                table.rows.push(Row::new(what, published, obtained, "%", 5.0));
            }
            let shown = |one: Percent| {
                format!("{:.1} / {:.1} / {:.1}", one.throughput, one.min_fairness, one.uniformity)
            };
            let ideal = Percent::of(crate::mix::FAST_CORES, crate::mix::SLOW_CORES, &speedups, &policy)?;
            let cells = [mix.to_owned(), name.to_owned(), shown(ideal)].into_iter();
            grid.rows.push(cells.chain(found.iter().map(|step| shown(step[place]))).collect());
        }
    }
    table.grid = Some(grid);
    for (what, why) in DEPARTURES.iter().filter(|(what, _)| what.starts_with(source)) {
        table.depart(what, why)?;
    }
    Ok(table)
}

/// Rows that do not come out.
const DEPARTURES: [(&str, &str); 8] = [
    ("2.8 over 0.8 GHz, similar, min-fair(85 %), sampled: minimum fairness", TURNS),
    ("2.8 over 0.8 GHz, similar, min-fair(85 %), sampled: uniformity", TURNS),
    ("2.8 over 0.8 GHz, similar, similar-min-fair(0.2, 85 %), sampled: minimum fairness", TURNS),
    ("2.8 over 0.8 GHz, similar, similar-min-fair(0.2, 85 %), sampled: uniformity", TURNS),
    ("Apple M1, diverse, min-fair(85 %), sampled: uniformity", CUT),
    ("Apple M1, diverse, similar-min-fair(0.2, 85 %), sampled: uniformity", NOBODY),
    ("Apple M1, similar, max-perf, speeds known: uniformity", LESS),
    ("Apple M1, similar, min-fair(85 %), sampled: uniformity", NEARLY),
];

const TURNS: &str = "six estimated exactly alike lead in turns, as noise has it; the published ones must have differed a little";
const CUT: &str = "one speedup is 4.41, and the original drops estimates above 4";
const NEARLY: &str = "noise is as large as the differences of these six, so that they lead in turns";
const NOBODY: &str = "no two of those with most are within 0.2";
const LESS: &str = "the six most alike of the M1 gain less than those from 0.8 to 2.8 GHz";
