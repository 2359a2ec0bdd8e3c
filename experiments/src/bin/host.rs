//! `host PROFILE.json [RUNS [PART-OF-NAME]]`: real programs on this machine next to their simulation on preset `host`.
//!
//! Runs `perf bench sched pipe`, `perf bench sched messaging` (hackbench) and tasks that only compute under the stock kernel. It counts
//! their switches with `perf stat`, simulates the same with the costs of the Profile, and prints both. For a quiet machine; figures belong
//! to it.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use swtch_profile::Profile;
use swtch_sim::costs::Costs;
use swtch_sim::machine::named;
use swtch_sim::run::{Setting, run};
use swtch_sim::sink::Nothing;
use swtch_sim::workload::Workload;
use swtch_sim::workloads::{Hackbench, PingPong, Spin};
use swtch_stats::median;
use swtch_units::CpuId;

/// Runs of each program without an option.
const RUNS: usize = 5;
/// Iterations of the loop that a task which only computes does.
const SPIN_ITERATIONS: u64 = 1_000_000_000;

/// A program, and the workload that stands for it.
struct Case {
    name: &'static str,
    /// `perf bench` with these arguments; none: this many tasks that only compute.
    program: Result<&'static [&'static str], u32>,
    simulated: Workload,
}

fn cases(spin_work_ns: u64) -> Result<Vec<Case>> {
    let hackbench_of = |groups: u32, loops: u32, channel: &str, tasks: &str| -> Result<Workload> {
        let json =
            serde_json::json!({ "groups": groups, "loops": loops, "channel": channel, "tasks": tasks });
        Ok(serde_json::from_value::<Hackbench>(json)?.build()?)
    };
    let hackbench = |channel: &str, tasks: &str| hackbench_of(10, 500, channel, tasks);
    let pipe = |loops: u32, tasks: &str| -> Result<Workload> {
        let json = serde_json::json!({ "loops": loops, "message_bytes": 4, "tasks": tasks });
        Ok(serde_json::from_value::<PingPong>(json)?.build()?)
    };
    let spin = |tasks| Spin { tasks, work_ns: spin_work_ns, ..Spin::default() }.build();
    Ok(vec![
        Case {
            name: "pipe, processes",
            program: Ok(&["sched", "pipe", "-l", "20000"]),
            simulated: pipe(20_000, "processes")?,
        },
        Case {
            name: "pipe, processes, on one CPU",
            program: Ok(&["pinned", "sched", "pipe", "-l", "200000"]),
            simulated: pinned(pipe(200_000, "processes")?),
        },
        Case {
            name: "pipe, threads, on one CPU",
            program: Ok(&["pinned", "sched", "pipe", "-T", "-l", "200000"]),
            simulated: pinned(pipe(200_000, "threads")?),
        },
        Case {
            name: "pipe, threads",
            program: Ok(&["sched", "pipe", "-T", "-l", "20000"]),
            simulated: pipe(20_000, "threads")?,
        },
        Case {
            name: "hackbench, processes and pipes",
            program: Ok(&["sched", "messaging", "-p", "-g", "10", "-l", "500"]),
            simulated: hackbench("pipe", "processes")?,
        },
        Case {
            name: "hackbench, threads and pipes",
            program: Ok(&["sched", "messaging", "-t", "-p", "-g", "10", "-l", "500"]),
            simulated: hackbench("pipe", "threads")?,
        },
        Case {
            name: "hackbench, 4 groups, processes and sockets",
            program: Ok(&["sched", "messaging", "-g", "4", "-l", "1000"]),
            simulated: hackbench_of(4, 1000, "socket", "processes")?,
        },
        Case {
            name: "hackbench, 20 groups, threads and sockets",
            program: Ok(&["sched", "messaging", "-t", "-g", "20", "-l", "200"]),
            simulated: hackbench_of(20, 200, "socket", "threads")?,
        },
        Case {
            name: "hackbench, processes and sockets",
            program: Ok(&["sched", "messaging", "-g", "10", "-l", "500"]),
            simulated: hackbench("socket", "processes")?,
        },
        Case { name: "5 tasks that compute", program: Err(5), simulated: spin(5)? },
        Case { name: "8 tasks that compute", program: Err(8), simulated: spin(8)? },
    ])
}

/// All tasks on CPU 0.
fn pinned(mut workload: Workload) -> Workload {
    workload
        .tasks
        .iter_mut()
        .chain(&mut workload.templates)
        .for_each(|task| task.allowed = vec![CpuId::new(0)]);
    workload
}

/// Seconds, and context switches.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    seconds: f64,
    switches: f64,
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["spin", tasks] => spin(tasks),
        [profile] => compare(profile, RUNS, ""),
        [profile, runs] => runs_of(runs).and_then(|runs| compare(profile, runs, "")),
        [profile, runs, part] => runs_of(runs).and_then(|runs| compare(profile, runs, part)),
        _ => Err(anyhow::anyhow!("usage: host PROFILE.json [RUNS [PART-OF-NAME]]")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The program that only computes, as processes of its own.
fn spin(tasks: &str) -> Result<()> {
    let tasks: u32 = tasks.parse().context("the number of tasks is not a number")?;
    if tasks == 1 {
        let mut state = 1_u64;
        for _ in 0..SPIN_ITERATIONS {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        return Ok(());
    }
    let own = std::env::current_exe()?;
    let children = (0..tasks).map(|_| Command::new(&own).args(["spin", "1"]).spawn());
    let children = children.collect::<std::io::Result<Vec<_>>>()?;
    children.into_iter().try_for_each(|mut child| child.wait().map(drop))?;
    Ok(())
}

fn runs_of(text: &str) -> Result<usize> {
    let runs = text.parse().ok().filter(|runs| *runs > 0);
    runs.with_context(|| format!("RUNS is '{text}'; expected a number of at least 1"))
}

/// Compares every program whose name has the part in it.
fn compare(profile: &str, runs: usize, part: &str) -> Result<()> {
    let text = std::fs::read_to_string(profile).with_context(|| format!("cannot read {profile}"))?;
    let profile: Profile =
        serde_json::from_str(&text).with_context(|| format!("{profile} is not a Profile"))?;
    // With both CPUs busy, as in the mixes: a core at work slows its neighbour down.
    let cpus = std::thread::available_parallelism()?.get() as u32;
    let wanted = |cases: Vec<Case>| cases.into_iter().filter(|case| case.name.contains(part));
    let programs: Vec<_> = wanted(cases(0)?).map(|case| case.program).collect();
    // Interleaved, so that what disturbs the machine for a while disturbs all.
    let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); programs.len()];
    let mut alone_s = Vec::new();
    for _ in 0..runs {
        alone_s.push(measure(&Err(cpus))?.seconds);
        for (program, kept) in programs.iter().zip(&mut measured) {
            kept.push(measure(program)?);
        }
    }
    let work_ns = (median(&alone_s) * 1e9) as u64;
    let (costs, _) = Costs::of(&profile);
    println!(
        "| program | time, s | from, to | simulated | difference | switches | from, to | simulated | difference |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (case, measured) in wanted(cases(work_ns)?).zip(measured) {
        let all_seconds: Vec<f64> = measured.iter().map(|run| run.seconds).collect();
        let all_switches: Vec<f64> = measured.iter().map(|run| run.switches).collect();
        let ((fastest_s, slowest_s), (fewest, most)) = (range(&all_seconds), range(&all_switches));
        let (seconds, switches) = (median(&all_seconds), median(&all_switches));
        let setting = Setting {
            machine: named("host", &profile.host)?,
            costs: costs.clone(),
            workload: case.simulated,
            options: swtch_sim::Options::default(),
        };
        let simulated = run(&setting, "eevdf", Nothing)?;
        let times = (simulated.makespan_ns as f64 / 1e9, simulated.stats.context_switches() as f64);
        let percent = |simulated: f64, real: f64| (simulated / real - 1.0) * 100.0;
        println!(
            "| {} | {seconds:.3} | {fastest_s:.3}, {slowest_s:.3} | {:.3} | {:+.0} % | {switches:.0} | {fewest:.0}, {most:.0} | {:.0} | {:+.0} % |",
            case.name,
            times.0,
            percent(times.0, seconds),
            times.1,
            percent(times.1, switches)
        );
    }
    Ok(())
}

/// The least and the greatest.
fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// Runs a program twice: by itself for its time, and under `perf stat`, which takes time of its own, for its switches.
fn measure(program: &Result<&[&str], u32>) -> Result<Measured> {
    let (seconds, _) = run_once(program, &[])?;
    let (_, counted) = run_once(program, &["perf", "stat", "-x,", "-e", "context-switches", "--"])?;
    let switches = counted.lines().find(|line| line.contains("context-switches"));
    let switches =
        switches.and_then(|line| line.split(',').next()).context("perf stat counted no switches")?;
    Ok(Measured { seconds, switches: switches.parse().context("perf stat printed no number")? })
}

/// Seconds, and what was printed as errors.
fn run_once(program: &Result<&[&str], u32>, under: &[&str]) -> Result<(f64, String)> {
    let own = std::env::current_exe()?.display().to_string();
    let tasks = program.map_or_else(|tasks| tasks.to_string(), |_| String::new());
    let mut words: Vec<&str> = under.to_vec();
    match program {
        Ok(["pinned", arguments @ ..]) => {
            words.extend(["taskset", "-c", "0", "perf", "bench"]);
            words.extend(arguments.iter());
        }
        Ok(arguments) => {
            words.extend(["perf", "bench"]);
            words.extend(arguments.iter());
        }
        Err(_) => words.extend([own.as_str(), "spin", tasks.as_str()]),
    }
    let mut command = Command::new(words[0]);
    let start = Instant::now();
    let output = command.args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {}", words[0]))?;
    let elapsed = start.elapsed().as_secs_f64();
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("{command:?} failed: {errors}");
    }
    // perf bench tells its own time, without its preparations.
    let own = told.lines().find(|line| line.contains("Total time"));
    let own = own.and_then(|line| line.split_whitespace().nth(2)?.parse().ok());
    Ok((own.unwrap_or(elapsed), errors.into_owned()))
}
