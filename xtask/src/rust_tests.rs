//! The tests in Rust: which programs they are in, and running them.

use crate::cargo_test_output::{counts, worth_showing};
use crate::dist;
use crate::process::{cargo, say, stream_shown};
use crate::step::Counts;
use anyhow::{Result, bail};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program of the tests in virtual machines.
const GUESTS: &str = "guests";
/// Those of them in machines of other architectures.
const FOREIGN: &str = "architectures::";

/// A program that a test target was compiled to.
#[derive(Clone, Debug, PartialEq)]
struct Program {
    target: String,
    executable: PathBuf,
    /// The crate's directory, where cargo runs its tests.
    directory: PathBuf,
    /// A benchmark that runs small among the tests. It has no tests by name, and takes `--list` for a wish to measure for minutes.
    is_benchmark: bool,
}

/// The command's own tests, and those of them that take little time.
const COMMAND: &str = "cli";
const QUICK: [&str; 5] = ["bad_input", "exchange", "reporting", "sharing", "simulating"];

/// All tests but those in virtual machines.
pub(crate) fn all() -> Result<Counts> {
    let mut sum = Counts::default();
    for program in all_programs()?.iter().filter(|program| program.target != GUESTS) {
        sum.add(run(program, &[])?);
    }
    let documentation = ["test", "--release", "--workspace", "--doc", "--", "--show-output"];
    let outcome = stream_shown(cargo().args(documentation), worth_showing())?;
    sum.add(counts(&outcome.lines).with_status(&outcome));
    Ok(sum)
}

/// The tests in virtual machines.
pub(crate) fn guests() -> Result<Counts> {
    in_guests(&["--skip", FOREIGN])
}

/// The tests in virtual machines of other architectures. Programs for Arm are built before; what cannot be built is skipped with its reason.
pub(crate) fn foreign() -> Result<Counts> {
    if let Err(error) = dist::programs_for_tests("aarch64") {
        say(&format!("the programs for aarch64 could not be built: {error:#}"));
    }
    in_guests(&[FOREIGN])
}

fn in_guests(arguments: &[&str]) -> Result<Counts> {
    let mut sum = Counts::default();
    for program in all_programs()?.iter().filter(|program| program.target == GUESTS) {
        sum.add(run_with(program, arguments)?);
    }
    Ok(sum)
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

/// Runs those tests, one after the other, in whatever program they are; not those in documentation.
pub(crate) fn again(names: &[String]) -> Result<Counts> {
    let mut sum = Counts::default();
    for program in all_programs()?.iter().filter(|program| !program.is_benchmark) {
        let mut command = command(program);
        let listed = command.arg("--list").output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let has = |name: &&String| listed.lines().any(|line| line.strip_suffix(": test") == Some(name));
        let own: Vec<&String> = names.iter().filter(has).collect();
        if !own.is_empty() {
            sum.add(run_with(
                program,
                ["--exact", "--test-threads=1"].into_iter().chain(own.iter().map(|name| name.as_str())),
            )?);
        }
    }
    Ok(sum)
}

/// Runs a program's tests, or those whose names begin with one of `only`.
fn run(program: &Program, only: &[&str]) -> Result<Counts> {
    run_with(program, only.iter().map(|module| format!("{module}::")))
}

fn run_with(program: &Program, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Result<Counts> {
    let outcome = stream_shown(command(program).args(arguments), worth_showing())?;
    Ok(counts(&outcome.lines).with_status(&outcome))
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.executable);
    // The time of each test is behind an unstable option of the harness, which asks for this.
    command.args(["--show-output", "-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    command.current_dir(&program.directory);
    command
}

/// All test programs; they are built and listed once.
fn all_programs() -> Result<&'static [Program]> {
    static ALL: OnceLock<Vec<Program>> = OnceLock::new();
    if let Some(known) = ALL.get() {
        return Ok(known);
    }
    let found = programs(&[])?;
    Ok(ALL.get_or_init(|| found))
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
        is_benchmark: message["target"]["kind"].as_array()?.iter().any(|kind| kind == "bench"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_among_the_tests_are_told_from_tests() {
        let line = |kind: &str, is_test: bool| {
            serde_json::json!({
                "profile": { "test": is_test },
                "target": { "name": "overhead", "kind": [kind] },
                "executable": "/target/overhead-1",
                "manifest_path": "/crates/cli/Cargo.toml",
            })
            .to_string()
        };
        assert!(program(&line("bench", true)).unwrap().is_benchmark);
        assert!(!program(&line("test", true)).unwrap().is_benchmark);
        assert_eq!(program(&line("bin", false)), None);
    }
}
