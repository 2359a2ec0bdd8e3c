//! Output: standard output that survives a closed pipe, complaints of one line, prices.

use crate::args::JsonArgs;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use swtch_cost::CostModel;
use swtch_profile::{FileError, file};

/// A wish that cannot be met, found only after the arguments were read: status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUsage(pub(crate) String);

/// Writes to standard output. `swtch measure | head` closes it early: that is no failure of this command.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A document as JSON: to the file that was named, or to standard output.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn json(to: &JsonArgs, document: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(document)? + "\n";
    match to.file() {
        Some(path) => file::replace(path, |sink| sink.write_all(text.as_bytes()))?,
        None => print(&text),
    }
    Ok(())
}

/// Whether a file is where standard output goes. Two writers of `/dev/null` do not disturb each other.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    let place = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    let found = place(path);
    found.is_some() && found == place(Path::new("/proc/self/fd/1")) && found != place(Path::new("/dev/null"))
}

/// One line on standard error.
pub(crate) fn complain_text(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The failure, its causes behind it, on one line.
pub(crate) fn complain(error: &anyhow::Error) {
    let chain: Vec<String> = error.chain().map(|cause| cause.to_string().replace('\n', " ")).collect();
    let mut line = String::new();
    for cause in chain {
        // Library errors already say their source; repeat nothing.
        if !line.contains(&cause) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&cause);
        }
    }
    complain_text(&format!("swtch: {line}"));
}

/// Prices by the Profile that was given, or by this machine's where there is one; nothing is measured for it.
///
/// # Errors
/// When the Profile cannot be read.
pub(crate) fn prices(given: Option<&Path>) -> Result<Option<CostModel>, FileError> {
    let profile = given.map_or_else(file::read_own, |path| file::read(path).map(Some))?;
    Ok(profile.as_ref().map(CostModel::of))
}

pub(crate) use file::own_path as own_profile;
