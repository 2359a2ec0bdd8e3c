//! The book: the pages of `docs/`, the generated reference and the pictures, laid out by Sphinx (`book/build.py`).

use crate::process::{Outcome, cargo, stream};
use crate::wheel::PYTHON;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

const OUT: &str = "target/book";

/// The chore: builds the command and with it the book.
pub(crate) fn book() -> Result<bool> {
    if !Path::new(PYTHON).exists() {
        bail!("there is no {PYTHON}; run: tools/setup book");
    }
    let command = stream(cargo().args(["build", "--release", "--workspace", "--bin", "swtch"]))?;
    Ok(command.succeeded && build()?.succeeded)
}

/// The book of the command that was built.
pub(crate) fn build() -> Result<Outcome> {
    stream(Command::new(PYTHON).args(["book/build.py", "target/release/swtch", OUT]))
}
