//! The book: the pages of `docs/`, the generated reference and the pictures, laid out by Sphinx (`book/build.py`).

use crate::process::{Outcome, cargo, stream};
use crate::wheel::PYTHON;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

const OUT: &str = "target/book";
/// The command that `make build` made.
const SWTCH: &str = "target/release/swtch";

/// The chore: builds the command and with it the book.
pub(crate) fn book() -> Result<bool> {
    if !Path::new(PYTHON).exists() {
        bail!("there is no {PYTHON}; run: tools/setup book");
    }
    let command = stream(cargo().args(["build", "--release", "--workspace", "--bin", "swtch"]))?;
    Ok(command.succeeded && build_here()?.succeeded)
}

/// The book of the command that was built here.
pub(crate) fn build_here() -> Result<Outcome> {
    stream(&mut build(Path::new(SWTCH), OUT))
}

/// The book of a command, which must run here, for a package: pages stand in place of their photographs, which would take a browser.
pub(crate) fn build_for_packages(swtch: &Path, out: &str) -> Result<Outcome> {
    stream(build(swtch, out).arg("links"))
}

fn build(swtch: &Path, out: &str) -> Command {
    let mut command = Command::new(PYTHON);
    command.arg("book/build.py").arg(swtch).arg(out);
    command
}
