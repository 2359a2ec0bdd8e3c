//! What users install, built into dist/ from this machine: one file a kind of artefact.

mod archive;
mod c_libraries;
mod checksums;
mod deb;
mod image;
mod notices;
mod programs;
pub(crate) mod sbom;
mod target;
mod toolchain;
mod tree;
mod wheels;

use crate::book;
use anyhow::{Context, Result, bail};
use programs::Programs;
use std::fs;
use std::path::Path;
use std::time::Instant;
use target::Target;

/// Where artefacts go.
const DIST: &str = "dist";
/// Where the book is laid out, which archives, packages and wheels carry.
const BOOK: &str = "target/dist/book";

pub(crate) const HELP: &str = "\
cargo xtask dist [--arch x86_64|aarch64|riscv64] [--dev] [KIND...]
                             what users install, into dist/: static, deb, wheel, image (all of them without a KIND); programs
                             builds the programs alone, into target/dist/ARCH, where `swtch vm --arch` finds them;
                             --dev builds without optimisation, to try packaging";

/// A kind of artefact made of the programs of one target.
type Make = fn(&Programs) -> Result<()>;
const KINDS: [(&str, Make); 4] =
    [("static", archive::make), ("deb", deb::make), ("wheel", wheels::make), ("image", image::make)];
/// Asks for no artefact.
const PROGRAMS: &str = "programs";

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Wanted {
    targets: Vec<Target>,
    kinds: Vec<&'static str>,
    optimised: bool,
}

/// The chore. Each step says what it took.
pub(crate) fn dist(arguments: &[String]) -> Result<bool> {
    let wanted = wanted(arguments)?;
    let makes_artefacts = wanted.kinds != [PROGRAMS];
    let builds_for_this_machine = wanted.targets.iter().any(|target| target.arch == std::env::consts::ARCH);
    if makes_artefacts && !builds_for_this_machine {
        // Said before programs are built for minutes.
        programs::Programs::runnable()?;
    }
    for target in &wanted.targets {
        let start = Instant::now();
        let programs = programs::build(*target, wanted.optimised)?;
        println!("\nThe programs for {}: {:.0} s", target.arch, start.elapsed().as_secs_f64());
        if makes_artefacts && target == &wanted.targets[0] {
            fs::create_dir_all(DIST).with_context(|| format!("cannot make {DIST}"))?;
            book()?;
        }
        for (kind, make) in KINDS.iter().filter(|(kind, _)| wanted.kinds.contains(kind)) {
            if target.only.is_some_and(|only| only != *kind) {
                println!("{kind} for {}: none is made", target.arch);
                continue;
            }
            let start = Instant::now();
            make(&programs).with_context(|| format!("cannot make the {kind} for {}", target.arch))?;
            println!("{kind} for {}: {:.0} s", target.arch, start.elapsed().as_secs_f64());
        }
    }
    if makes_artefacts {
        put_documents(Path::new(DIST))?;
        checksums::write(Path::new(DIST))?;
    }
    Ok(true)
}

/// Builds the programs for an architecture that tests run in its guests.
pub(crate) fn programs_for_tests(arch: &str) -> Result<()> {
    programs::build_beside(target::of(arch)?).map(|_| ())
}

/// What is linked in, and the notices of those who wrote it: every artefact has both.
fn put_documents(folder: &Path) -> Result<()> {
    sbom::write(folder)?;
    notices::write(folder)
}

/// The book, by a command that runs here.
fn book() -> Result<()> {
    let start = Instant::now();
    let outcome = book::build_for_packages(&Programs::runnable()?, BOOK)?;
    if !outcome.succeeded {
        bail!("the book: {}", outcome.status);
    }
    println!("The book: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn wanted(arguments: &[String]) -> Result<Wanted> {
    let mut wanted = Wanted { targets: Vec::new(), kinds: Vec::new(), optimised: true };
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--dev" => wanted.optimised = false,
            PROGRAMS => wanted.kinds.push(PROGRAMS),
            "--arch" => wanted.targets.push(target::of(arguments.next().unwrap_or_default())?),
            _ => match KINDS.iter().find(|(kind, _)| *kind == argument) {
                Some((kind, _)) => wanted.kinds.push(kind),
                None => bail!("'{argument}' is not a kind of artefact:\n{HELP}"),
            },
        }
    }
    if wanted.targets.is_empty() {
        wanted.targets = target::ALL.to_vec();
    }
    if wanted.kinds.is_empty() {
        wanted.kinds = KINDS.iter().map(|(kind, _)| *kind).collect();
    }
    Ok(wanted)
}

/// The version of everything, from the root manifest.
fn version() -> Result<String> {
    let manifest = fs::read_to_string("Cargo.toml").context("cannot read Cargo.toml")?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    line.and_then(|rest| rest.split('"').next()).map(str::to_owned).context("Cargo.toml has no version")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn everything_is_made_for_every_target_unless_something_is_named() {
        let names = KINDS.map(|(kind, _)| kind);
        assert!(target::ALL.iter().filter_map(|target| target.only).all(|kind| names.contains(&kind)));
        let all = wanted(&[]).unwrap();
        assert_eq!(
            (all.targets.len(), all.kinds.len(), all.optimised),
            (target::ALL.len(), KINDS.len(), true)
        );
        let one = wanted(&words("--arch aarch64 --dev deb")).unwrap();
        assert_eq!((one.targets[0].arch, one.kinds, one.optimised), ("aarch64", vec!["deb"], false));
        assert_eq!(wanted(&words("--arch aarch64 programs")).unwrap().kinds, [PROGRAMS]);
        assert!(wanted(&words("rpm")).is_err() && wanted(&words("--arch")).is_err());
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        assert_eq!(version().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
