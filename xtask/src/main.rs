//! The project's own chores: `cargo xtask NAME`. One file a chore.
#![forbid(unsafe_code)]
// This is a command; what it prints is its result.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod again;
mod architecture;
mod bench;
mod book;
mod cargo_test_output;
mod check_list;
mod circles;
mod dependency_list;
mod dist;
mod features;
mod imports;
mod junit;
mod language;
mod licences;
mod metadata;
mod packages;
mod process;
mod rust_tests;
mod step;
mod steps;
mod summary;
mod unsafe_code;
mod wheel;
mod workflows;

use anyhow::{Result, bail};
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test [STEP...]   every check and test, or those named, with one closing summary
cargo xtask check            what is run before every commit: formats, lints, unit tests, quick tests of the command
cargo xtask bench            the full benchmarks
cargo xtask wheel            the Python wheel, into target/wheels
cargo xtask dist [--arch ARCH] [--dev] [KIND...]   what users install, into dist/: static, deb, wheel, image; programs: those alone
cargo xtask book             the book, into target/book
cargo xtask levels           the table of levels: a crate imports crates of lower levels only

Steps: ";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything that was asked for succeeded.
fn run() -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    std::env::set_current_dir(root)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (chore, rest) =
        arguments.split_first().map_or(("help", &[][..]), |(chore, rest)| (chore.as_str(), rest));
    match chore {
        "test" => steps::test(rest),
        "check" => Ok(steps::check()),
        "bench" => bench::bench(),
        "wheel" => wheel::wheel(),
        "dist" => dist::dist(rest),
        "book" => book::book(),
        "levels" => {
            print!("{}", imports::table());
            Ok(true)
        }
        "help" | "-h" | "--help" => {
            println!("{HELP}{}", steps::names().join(" "));
            Ok(true)
        }
        unknown => bail!("no chore is called '{unknown}'; `cargo xtask help` lists them"),
    }
}
