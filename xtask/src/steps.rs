//! The steps of `cargo xtask test`, in order.

use crate::again::{Again, try_again};
use crate::process::{Took, cargo, kept, say, stream, timed};
use crate::step::Counts;
use crate::summary::{StepResult, all_passed, summary};
use crate::wheel::{self as package, PYTHON};
use crate::{
    architecture, book, check_list, circles, dependency_list, features, imports, junit, language, licences,
    metadata, packages, rust_tests, unsafe_code, workflows,
};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

type Run = fn() -> Result<Counts>;

/// Cheap checks first.
const STEPS: [(&str, Run); 20] = [
    ("format", format),
    ("imports", || Ok(Counts::of_complaints(imports::complaints(&metadata::workspace()?)))),
    ("circles", || Ok(Counts::of_complaints(circles::complaints(&metadata::workspace()?)?))),
    ("unsafe", || Ok(Counts::of_complaints(unsafe_code::complaints(&metadata::workspace()?)?))),
    ("dependencies", || Ok(Counts::of_complaints(dependency_list::complaints(&metadata::workspace()?)?))),
    ("packages", packages::check),
    ("workflows", workflows::check),
    ("features", || Ok(Counts::of_complaints(features::complaints()?))),
    ("checks", || Ok(Counts::of_complaints(check_list::complaints()?))),
    ("architecture", || Ok(Counts::of_complaints(architecture::complaints(&metadata::workspace()?)?))),
    ("language", || Ok(Counts::of_complaints(language::complaints()?))),
    ("licences", || licences::check(&metadata::workspace()?)),
    ("ruff", ruff),
    (BUILD, build),
    (WHEEL, wheel),
    ("book", book),
    ("clippy", clippy),
    ("docs", docs),
    ("rust", rust_tests::all),
    ("stubs", stubs),
];
/// After these two everything is built and installed.
const BUILD: &str = "build";
const WHEEL: &str = "wheel";

/// What runs at the same time as everything after [`WHEEL`], [`AT_A_TIME`] of them and then as many as are free: most tests wait more than they
/// compute. The longest come first. They are waited for at the end, and what they print is shown then, so that nothing is mixed.
const BESIDE: [(&str, Run); 6] = [
    ("guests", rust_tests::guests),
    ("faas", || pytest(FAAS_TESTS, "faas", &[])),
    ("functions", || pytest(FUNCTION_TESTS, "functions", &[])),
    ("python", || pytest(PYTHON_TESTS, "python", &[NOT_FAAS])),
    ("browser", || pytest(BROWSER_TESTS, "browser", &[])),
    // Last: it compiles, and tests that measure come to nothing beside that.
    ("foreign", rust_tests::foreign),
];
const AT_A_TIME: usize = 2;
const PYTHON_TESTS: &[&str] = &["python/tests"];
const FAAS_TESTS: &[&str] = &["python/tests/faas"];
const NOT_FAAS: &str = "--ignore=python/tests/faas";
const FUNCTION_TESTS: &[&str] = &["functions/python/tests", "tests/functions"];
const BROWSER_TESTS: &[&str] = &["tests/browser"];

/// How tests that failed beside others are run again.
const AGAIN: [(&str, Again); 7] = [
    ("rust", rust_tests::again),
    ("foreign", rust_tests::again),
    ("guests", rust_tests::again),
    ("faas", |_| pytest(FAAS_TESTS, "faas", &FAILED_ONES)),
    ("python", |_| pytest(PYTHON_TESTS, "python", &[&[NOT_FAAS][..], &FAILED_ONES].concat())),
    ("functions", |_| pytest(FUNCTION_TESTS, "functions", &FAILED_ONES)),
    ("browser", |_| pytest(BROWSER_TESTS, "browser", &FAILED_ONES)),
];
/// pytest keeps which they are.
const FAILED_ONES: [&str; 3] = ["--last-failed", "--last-failed-no-failures", "none"];

pub(crate) fn names() -> Vec<&'static str> {
    STEPS.iter().chain(&BESIDE).map(|(name, _)| *name).collect()
}

/// What is run before every commit: what takes seconds. The tests that do come after them.
const QUICK: [&str; 10] = [
    "format",
    "clippy",
    "architecture",
    "imports",
    "circles",
    "unsafe",
    "dependencies",
    "checks",
    "language",
    "ruff",
];

/// The steps of [`QUICK`] and the quick tests; whether none failed.
pub(crate) fn check() -> bool {
    let mut steps = named(&STEPS, |name| QUICK.contains(&name));
    steps.push(("rust", rust_tests::quick));
    run_steps(&steps, &[])
}

fn named(steps: &[(&'static str, Run)], chosen: impl Fn(&str) -> bool) -> Vec<(&'static str, Run)> {
    steps.iter().filter(|(name, _)| chosen(name)).copied().collect()
}

/// Runs all steps, or those named; whether none failed.
pub(crate) fn test(wanted: &[String]) -> Result<bool> {
    if let Some(unknown) = wanted.iter().find(|name| !names().contains(&name.as_str())) {
        bail!("no step is called '{unknown}'; they are {}", names().join(" "));
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    Ok(run_steps(&named(&STEPS, is_wanted), &named(&BESIDE, is_wanted)))
}

/// Runs steps, none hidden by the failure of another, and those `beside` them; whether none failed.
fn run_steps(steps: &[(&'static str, Run)], beside: &[(&'static str, Run)]) -> bool {
    let begin =
        steps.iter().rposition(|(name, _)| [BUILD, WHEEL].contains(name)).map_or(0, |built| built + 1);
    let (first, rest) = steps.split_at(begin);
    let run_one = |(name, run): &(&'static str, Run)| {
        say(&format!("\n=== {name}"));
        let (counts, took) = timed(run);
        result(name, counts, took)
    };
    let mut results: Vec<StepResult> = first.iter().map(run_one).collect();
    let next = AtomicUsize::new(0);
    let take_turns = || {
        let mut done = Vec::new();
        while let place = next.fetch_add(1, Ordering::Relaxed)
            && let Some(step) = beside.get(place)
        {
            done.push((place, kept(|| run_one(step))));
        }
        done
    };
    std::thread::scope(|scope| {
        let begun: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(take_turns)).collect();
        results.extend(rest.iter().map(run_one));
        let mut done = take_turns();
        for beside in begun {
            done.extend(beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done.sort_by_key(|(place, _)| *place);
        for (_, (result, lines)) in done {
            say(&lines.join("\n"));
            results.push(result);
        }
    });
    try_again(&mut results, |name| AGAIN.iter().find(|(step, _)| *step == name).map(|(_, again)| *again));
    println!("{}", summary(&results));
    all_passed(&results)
}

/// What a step came to.
fn result(name: &'static str, counts: Result<Counts>, took: Took) -> StepResult {
    let counts = counts.unwrap_or_else(|error| {
        say(&format!("error: {error:#}"));
        Counts::failed(format!("{error:#}"))
    });
    StepResult { name, counts, took }
}

fn format() -> Result<Counts> {
    Ok(Counts::of_command(&stream(cargo().args(["fmt", "--all", "--check"]))?))
}

fn clippy() -> Result<Counts> {
    let arguments = ["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"];
    Ok(Counts::of_command(&stream(cargo().args(arguments))?))
}

fn docs() -> Result<Counts> {
    let mut command = cargo();
    command
        .args(["doc", "--release", "--workspace", "--no-deps", "--keep-going"])
        .env("RUSTDOCFLAGS", "-D warnings");
    Ok(Counts::of_command(&stream(&mut command)?))
}

/// Everything, the tests among it. Dependencies of the tests alone give other dependencies more features. Without them most of it would be
/// built once more for them. Without `--lib`: the Python module is the one library that nothing here needs, and maturin, with settings of
/// its own, would compile it a second time. Left out as a package, it would leave its dependencies with other features.
const EVERYTHING: [&str; 6] = ["build", "--release", "--workspace", "--bins", "--tests", "--examples"];

/// The tests, and the programs that they start.
fn build() -> Result<Counts> {
    Ok(Counts::of_command(&stream(cargo().args(EVERYTHING))?))
}

/// The package for Python, installed where its tests run.
fn wheel() -> Result<Counts> {
    if !Path::new("pyproject.toml").is_file() {
        return Ok(Counts::skipped(WHEEL, "there is no pyproject.toml yet"));
    }
    if let Some(skipped) = without_python(WHEEL) {
        return Ok(skipped);
    }
    for (what, outcome) in [("maturin", package::build(&EVERYTHING)?), ("pip", package::install()?)] {
        if !outcome.succeeded {
            return Ok(Counts::failed(format!("{what}: {}", outcome.status)));
        }
    }
    Ok(Counts { passed: 1, ..Counts::default() })
}

/// The book builds: every link leads somewhere, and every page is in the index.
fn book() -> Result<Counts> {
    match without_python("book") {
        Some(skipped) => Ok(skipped),
        None => Ok(Counts::of_command(&book::build_here()?)),
    }
}

fn ruff() -> Result<Counts> {
    if let Some(skipped) = without_python("ruff") {
        return Ok(skipped);
    }
    let mut counts = Counts::default();
    for arguments in [&["check", "."][..], &["format", "--check", "."]] {
        let outcome = stream(Command::new(PYTHON).args(["-m", "ruff"]).args(arguments))?;
        if outcome.succeeded {
            counts.passed += 1;
        } else {
            counts.failures.push(format!("ruff {}", arguments[0]));
        }
    }
    Ok(counts)
}

/// The package's types, and its stubs against the module that was built and installed.
fn stubs() -> Result<Counts> {
    if !Path::new("python/swtch").is_dir() {
        return Ok(Counts::skipped("stubs", "there is no python/swtch yet"));
    }
    if let Some(skipped) = without_python("stubs") {
        return Ok(skipped);
    }
    let mut counts = Counts::default();
    for (tool, options) in
        [("mypy", &[][..]), ("mypy.stubtest", &["swtch._native", "--mypy-config-file", "pyproject.toml"])]
    {
        let outcome = stream(Command::new(PYTHON).args(["-m", tool]).args(options))?;
        if outcome.succeeded {
            counts.passed += 1;
        } else {
            counts.failures.push(format!("{tool}: {}", outcome.status));
        }
    }
    Ok(counts)
}

/// The tests in some directories, or those of them that `options` choose; they find the program in the environment variable `SWTCH_BIN`.
fn pytest(directories: &[&str], name: &str, options: &[&str]) -> Result<Counts> {
    if let Some(directory) = directories.iter().find(|directory| !Path::new(directory).is_dir()) {
        return Ok(Counts::skipped(name, format!("there is no {directory} yet")));
    }
    if let Some(skipped) = without_python(name) {
        return Ok(skipped);
    }
    let report = format!("target/junit-{name}.xml");
    // Last run's report must not be counted again when this run writes none.
    let _ = std::fs::remove_file(&report);
    let mut command = Command::new(PYTHON);
    command
        .args(["-m", "pytest", "-q", "-rs", "-o", &format!("cache_dir=target/pytest-{name}")])
        .args(options)
        .args(directories)
        .arg(format!("--junitxml={report}"))
        .env("SWTCH_BIN", std::path::absolute("target/release/swtch")?);
    let outcome = stream(&mut command)?;
    let written = std::fs::read_to_string(&report).unwrap_or_default();
    Ok(junit::counts(&written).with_status(&outcome))
}

fn without_python(name: &str) -> Option<Counts> {
    let missing = !Path::new(PYTHON).exists();
    missing.then(|| Counts::skipped(name, format!("there is no {PYTHON}; `make setup` installs it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_step_is_refused_before_anything_runs() {
        let error = test(&["clipy".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("'clipy'") && error.to_string().contains("clippy"));
    }

    #[test]
    fn what_is_quick_is_a_step() {
        assert!(QUICK.iter().all(|name| names().contains(name)));
    }

    #[test]
    fn a_directory_that_is_not_there_is_a_skip_with_its_reason() {
        let counts = pytest(&["no/such/directory"], "x", &[]).unwrap();
        assert_eq!(
            (counts.passed, counts.skips[0].reason.as_str()),
            (0, "there is no no/such/directory yet")
        );
    }
}
