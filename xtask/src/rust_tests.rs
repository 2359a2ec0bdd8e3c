//! The tests in Rust: which programs they are in, and running them, those of the virtual machines beside the others.

use crate::cargo_test_output::{counts, worth_showing};
use crate::process::{cargo, stream_shown};
use crate::step::Counts;
use anyhow::{Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One guest runs at a time, and waits for itself most of the time: the other tests run meanwhile.
const GUESTS: &str = "guests";

/// A program that a test target was compiled to.
#[derive(Clone, Debug, PartialEq)]
struct Program {
    target: String,
    executable: PathBuf,
    /// The crate's directory, where cargo runs its tests.
    directory: PathBuf,
}

/// The command's own tests, and those of them that take little time.
const COMMAND: &str = "cli";
const QUICK: [&str; 5] = ["bad_input", "exchange", "reporting", "sharing", "simulating"];

/// All tests.
pub(crate) fn all() -> Result<Counts> {
    let all = programs(&[])?;
    let (guests, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|program| program.target == GUESTS);
    std::thread::scope(|scope| {
        let guests = scope.spawn(|| run_quietly(&guests));
        let mut sum = Counts::default();
        for program in &others {
            sum.add(run(program, &[])?);
        }
        let documentation = ["test", "--release", "--workspace", "--doc", "--", "--show-output"];
        let outcome = stream_shown(cargo().args(documentation), worth_showing())?;
        sum.add(counts(&outcome.lines).with_status(&outcome));
        match guests.join() {
            Ok(found) => sum.add(found?),
            Err(_) => sum.add(Counts::failed("the thread of the guests' tests panicked")),
        }
        Ok(sum)
    })
}

/// Unit tests, and the quick ones of the command: what is run before every commit.
pub(crate) fn quick() -> Result<Counts> {
    let mut sum = Counts::default();
    for program in programs(&["--lib", "--bins", "--test", COMMAND])? {
        let only: &[&str] = if program.target == COMMAND { &QUICK } else { &[] };
        sum.add(run(&program, only)?);
    }
    Ok(sum)
}

/// Runs a program's tests, or those whose names begin with one of `only`.
fn run(program: &Program, only: &[&str]) -> Result<Counts> {
    let modules = only.iter().map(|module| format!("{module}::"));
    let outcome = stream_shown(command(program).args(modules), worth_showing())?;
    Ok(counts(&outcome.lines).with_status(&outcome))
}

/// Runs them one after another, and shows what each printed once it has ended, so that nothing is mixed.
fn run_quietly(programs: &[Program]) -> Result<Counts> {
    let mut sum = Counts::default();
    for program in programs {
        let outcome = stream_shown(&mut command(program), |_| false)?;
        let mut worth_showing = worth_showing();
        let shown: Vec<&str> =
            outcome.lines.iter().map(String::as_str).filter(|line| worth_showing(line)).collect();
        println!("\n{}: {}\n{}", program.target, outcome.status, shown.join("\n"));
        sum.add(counts(&outcome.lines).with_status(&outcome));
    }
    Ok(sum)
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.executable);
    // The time of each test is behind an unstable option of the harness, which asks for this.
    command.args(["--show-output", "-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    command.current_dir(&program.directory);
    command
}

/// Builds the test programs and lists them.
fn programs(kinds: &[&str]) -> Result<Vec<Program>> {
    let mut command = cargo();
    command.args([
        "test",
        "--release",
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    // The messages are one object a line; everything else is for people.
    let built = stream_shown(command.args(kinds), |line| !line.starts_with('{'))?;
    if !built.succeeded {
        bail!("the tests could not be built: {}", built.status);
    }
    let found: Vec<Program> = built.lines.iter().filter_map(|line| program(line)).collect();
    if found.is_empty() {
        bail!("cargo names no test program");
    }
    Ok(found)
}

/// The program in a line of cargo's messages, if it is about one that runs tests.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    message["profile"]["test"].as_bool().filter(|test| *test)?;
    Some(Program {
        target: message["target"]["name"].as_str()?.to_owned(),
        executable: message["executable"].as_str()?.into(),
        directory: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
    })
}
