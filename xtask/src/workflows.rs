//! The workflows of continuous integration and releases, by actionlint.

use crate::process::stream;
use crate::step::Counts;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Where tools/setup puts it.
const ACTIONLINT: &str = "target/tools/bin/actionlint";

/// The step. Its own checks only: what it would start besides is not installed everywhere.
pub(crate) fn check() -> Result<Counts> {
    if !Path::new(ACTIONLINT).is_file() {
        return Ok(Counts::skipped("workflows", "actionlint is not here; `make setup` builds it"));
    }
    let program = std::path::absolute(ACTIONLINT)?;
    Ok(Counts::of_command(&stream(Command::new(program).args(["-no-color", "-shellcheck=", "-pyflakes="]))?))
}
