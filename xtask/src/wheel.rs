//! The Python wheel.

use crate::process::{Outcome, cargo, stream};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const PYTHON: &str = ".venv/bin/python";
const WHEELS: &str = "target/wheels";
/// The programs that a wheel carries.
pub(crate) const PROGRAMS: [&str; 6] =
    ["swtch", "scx_flsched", "scx_fair", "scx_global_fifo", "scx_file", "swtch-slow"];
/// What a wheel carries here is installed as a command (PEP 427, the data directory).
const SCRIPTS: &str = "python/swtch.data/scripts";

/// Likewise what goes below the environment's own directory: where `swtch faas` looks for its handlers.
const FUNCTIONS: &str = "python/swtch.data/data/share/swtch/functions";
/// Headers of C that are delivered, and where a wheel takes them from: they go to `include` below the environment's own directory.
pub(crate) const HEADERS: &str = "crates/span/include";
const INCLUDE: &str = "python/swtch.data/data/include";
/// Likewise documents; `swtch book` opens the directory `book` in it.
pub(crate) const DOCUMENTS: &str = "python/swtch.data/data/share/doc/swtch";
/// Parts of the handlers' directories that are not deployed.
const NOT_CARRIED: [&str; 6] = ["tests", "test", "vectors", "target", "node_modules", "__pycache__"];

/// The chore: builds the wheel and says where it is.
pub(crate) fn wheel() -> Result<bool> {
    if !Path::new("pyproject.toml").is_file() {
        bail!("there is no pyproject.toml, so there is no wheel to build");
    }
    let mut command = vec!["build", "--release", "--workspace"];
    command.extend(PROGRAMS.iter().flat_map(|name| ["--bin", name]));
    let outcome = build(&command)?;
    if outcome.succeeded {
        println!("The wheel is {}", built()?.display());
    }
    Ok(outcome.succeeded)
}

/// Builds the wheel, the command inside, alone in its directory. It shares the release profile, and so what is built, with everything
/// else. `command`: cargo's arguments that build the command. Where a step before has built, they must be the same. Alone, or without
/// this module or the tests, the command's dependencies have other features. Then most of them would be built once more.
pub(crate) fn build(command: &[&str]) -> Result<Outcome> {
    let command = stream(cargo().args(command))?;
    if !command.succeeded {
        return Ok(command);
    }
    let programs = PROGRAMS.map(|name| Path::new("target/release").join(name));
    carry(programs.clone().into_iter(), None)?;
    for program in programs.iter().filter_map(|program| program.file_name()) {
        // Where there is no strip, the wheel is larger and just as good.
        match stream(Command::new("strip").arg(Path::new(SCRIPTS).join(program))) {
            Ok(outcome) if outcome.succeeded => {}
            _ => println!("the programs in the wheel keep their symbols: strip did not run"),
        }
    }
    if Path::new(WHEELS).is_dir() {
        std::fs::remove_dir_all(WHEELS).with_context(|| format!("cannot empty {WHEELS}"))?;
    }
    stream(Command::new(PYTHON).args(["-m", "maturin", "build", "--release", "--out", WHEELS]))
}

/// Puts programs, headers, the handlers of `swtch faas` and the book, if there is one, where a wheel takes them from.
pub(crate) fn carry(programs: impl Iterator<Item = PathBuf>, book: Option<&Path>) -> Result<()> {
    for old in [SCRIPTS, FUNCTIONS, INCLUDE, DOCUMENTS].into_iter().filter(|old| Path::new(old).is_dir()) {
        std::fs::remove_dir_all(old).with_context(|| format!("cannot empty {old}"))?;
    }
    std::fs::create_dir_all(SCRIPTS).with_context(|| format!("cannot make {SCRIPTS}"))?;
    for program in programs {
        let copy = Path::new(SCRIPTS).join(program.file_name().unwrap_or_default());
        std::fs::copy(&program, &copy).with_context(|| format!("cannot copy to {}", copy.display()))?;
    }
    copy_tree(Path::new("functions"), Path::new(FUNCTIONS))?;
    copy_tree(Path::new(HEADERS), Path::new(INCLUDE))?;
    book.map_or(Ok(()), |book| copy_tree(book, &Path::new(DOCUMENTS).join("book")))
}

/// Copies a directory without what is not delivered.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (name, copy) = (entry.file_name(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            if !NOT_CARRIED.iter().any(|skipped| name == *skipped) {
                copy_tree(&entry.path(), &copy)?;
            }
        } else {
            std::fs::copy(entry.path(), &copy)
                .with_context(|| format!("cannot copy to {}", copy.display()))?;
        }
    }
    Ok(())
}

/// Puts the wheel that was built into .venv.
pub(crate) fn install() -> Result<Outcome> {
    // What it needs is pinned in tools/requirements.txt, so nothing is resolved or fetched here.
    stream(
        Command::new(PYTHON)
            .args(["-m", "pip", "install", "-q", "--force-reinstall", "--no-deps"])
            .arg(built()?),
    )
}

fn built() -> Result<PathBuf> {
    let entries = std::fs::read_dir(WHEELS).with_context(|| format!("cannot list {WHEELS}"))?;
    let mut wheels = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "whl"));
    wheels.next().with_context(|| format!("no wheel in {WHEELS}"))
}
