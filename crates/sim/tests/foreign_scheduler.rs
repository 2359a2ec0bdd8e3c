//! Schedulers that this project did not write run as they are published.
//!
//! They are GPL-2.0-only: nothing of them is kept here or linked into anything that is delivered. Cargo fetches the source of one
//! package, without its dependencies, and checks it against the registry's checksum. The source is in cargo's own cache then.

use std::path::PathBuf;
use std::process::Command;
use swtch_sim::costs::Costs;
use swtch_sim::machine::Machine;
use swtch_sim::program::{Op, Program};
use swtch_sim::scx::{CompileOptions, Object, ScxPolicy, Settings};
use swtch_sim::sink::Nothing;
use swtch_sim::workload::{TaskSpec, Workload};
use swtch_sim::{Engine, EngineOutcome, Options};

/// The directory of a package from crates.io.
fn package(name: &str, version: &str) -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".cargo"))
    });
    let sources = home.expect("CARGO_HOME or HOME is set").join("registry/src");
    let find = || {
        let registries = std::fs::read_dir(&sources).into_iter().flatten().flatten();
        let mut paths = registries.map(|folder| folder.path().join(format!("{name}-{version}")));
        paths.find(|path| path.join("Cargo.toml").exists())
    };
    find().unwrap_or_else(|| {
        // `cargo info` fetches one package alone; `cargo fetch` would fetch some 150 more.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["info", "--registry", "crates-io"])
            .arg(format!("{name}@{version}"))
            .output();
        let output = output.expect("cargo runs");
        find().unwrap_or_else(|| {
            panic!("cannot fetch {name} {version}: {}", String::from_utf8_lossy(&output.stderr))
        })
    })
}

/// The main source of a package; that of cake has its name.
fn source(name: &str, version: &str) -> PathBuf {
    let directory = package(name, version).join("src/bpf");
    let main = directory.join("main.bpf.c");
    if main.exists() { main } else { directory.join(format!("{}.bpf.c", name.trim_start_matches("scx_"))) }
}

/// What the user-space half of a scheduler sets.
fn values(name: &str) -> Settings {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/values/{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap();
    Settings::from_toml(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Half of the tasks compute, half compute a little and sleep.
fn mixed(tasks: u32) -> Workload {
    let sleeper = vec![
        Op::ComputeBetween { low_ns: 50_000, high_ns: 400_000 },
        Op::SleepBetween { low_ns: 500_000, high_ns: 4_000_000 },
        Op::Loop { to: 0, times: 100, counter: 0 },
    ];
    let programs = [vec![Op::Compute { work_ns: 80_000_000 }], sleeper];
    let task = |n: u32| TaskSpec { name: format!("t{n}"), process: n, program: n % 2, ..TaskSpec::default() };
    Workload {
        name: "mixed".to_owned(),
        programs: programs.map(|ops| Program { ops }).to_vec(),
        tasks: (0..tasks).map(task).collect(),
        ..Workload::default()
    }
}

fn run(
    object: &Object,
    settings: &Settings,
    load: Workload,
    every_tick: bool,
) -> EngineOutcome<ScxPolicy, Nothing> {
    let policy = ScxPolicy::new(object, settings.clone()).unwrap();
    let options = Options { every_tick, ..Options::default() };
    let engine = Engine::new(Machine::uniform(4), Costs::free(), load, policy, Nothing, options).unwrap();
    engine.run().unwrap()
}

#[test]
fn beerland_runs_as_published() {
    let object = Object::compile(&source("scx_beerland", "1.1.4"), &CompileOptions::default()).unwrap();
    let settings = values("beerland");
    let outcome = run(&object, &settings, mixed(24), false);
    assert_eq!(swtch_sim::policy::Policy::name(&outcome.policy), "beerland");
    let stats = &outcome.stats;
    assert!(stats.tasks.iter().all(|task| task.ended_ns.is_some()));
    // It spreads work over all CPUs, and ends about when 12 times 80 ms and 12 times 22.5 ms on 4 CPUs do.
    let run_ns: u64 = stats.cpus.iter().map(|cpu| cpu.run_ns).sum();
    assert!(outcome.makespan_ns < run_ns / 4 * 12 / 10, "{} ns for {run_ns} ns of work", outcome.makespan_ns);
    assert!(stats.wakeups == 1200 && stats.voluntary >= 1200 && stats.involuntary > 100);
    // A task that sleeps does not wait behind all that compute.
    let longest = stats.tasks.iter().skip(1).step_by(2).map(|task| task.longest_wait_ns).max();
    assert!(longest < Some(60_000_000), "{longest:?}");

    let again = run(&object, &settings, mixed(24), false);
    assert_eq!(again.stats, outcome.stats);
    let mut with_ticks = run(&object, &settings, mixed(24), true).stats;
    with_ticks.events = again.stats.events;
    assert_eq!(with_ticks, again.stats, "leaving ticks out makes no difference");
}

#[test]
fn tickless_runs_as_published_with_its_timers() {
    let object = Object::compile(&source("scx_tickless", "1.1.4"), &CompileOptions::default()).unwrap();
    let settings = values("tickless");
    let outcome = run(&object, &settings, mixed(24), false);
    assert_eq!(swtch_sim::policy::Policy::name(&outcome.policy), "tickless");
    assert!(outcome.stats.tasks.iter().all(|task| task.ended_ns.is_some()));
    assert!(outcome.stats.involuntary > 0, "its timer makes slices end");
}

/// Their headers are in a package of their own.
#[test]
fn schedulers_with_headers_elsewhere_run_as_published() {
    package("scx_cargo", "1.1.4");
    // The last: how many times as long it may take as CPUs that are always busy. Where a wake-up interrupts none of those that compute, the ones
    // that sleep a hundred times end later than the others.
    let schedulers = [
        ("bpfland", "1.1.4", 1.3),
        ("cake", "1.2.2", 1.3),
        ("cosmos", "1.1.7", 1.3),
        ("flash", "1.1.4", 1.3),
        ("lavd", "1.1.4", 1.6),
        ("p2dq", "1.1.4", 1.6),
        ("rusty", "1.1.4", 1.6),
    ];
    for (name, version, most) in schedulers {
        let source = source(&format!("scx_{name}"), version);
        let settings = values(name);
        let options = CompileOptions { members: settings.members(), ..CompileOptions::default() };
        let object = Object::compile(&source, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let outcome = run(&object, &settings, mixed(24), false);
        assert_eq!(swtch_sim::policy::Policy::name(&outcome.policy), name);
        let stats = &outcome.stats;
        assert!(stats.tasks.iter().all(|task| task.ended_ns.is_some()), "{name}");
        let run_ns: u64 = stats.cpus.iter().map(|cpu| cpu.run_ns).sum();
        assert!(
            (outcome.makespan_ns as f64) < run_ns as f64 / 4.0 * most,
            "{name}: {} ns for {run_ns}",
            outcome.makespan_ns
        );
        assert_eq!(stats.wakeups, 1200, "{name}");
        assert_eq!(run(&object, &settings, mixed(24), false).stats, outcome.stats, "{name}");
    }
}
