//! Output: standard output that survives a closed pipe, JSON documents, errors of one line.

use clap::Args;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use swtch_cost::CostModel;
use swtch_profile::{FileError, file};

/// A request that cannot be met, found only after the arguments were read: status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUsage(pub(crate) String);

/// Writes to standard output. `swtch measure | head` closes it early, which is not a failure of this command.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Where a command's document goes: a part of every command that prints one.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON instead of text; =FILE writes it there (- is standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option, reason = "clap's type of an option whose value may be absent")]
    json: Option<Option<PathBuf>>,
}

impl JsonArgs {
    /// Whether JSON is asked for.
    pub(crate) fn asked(&self) -> bool {
        self.json.is_some()
    }

    /// The file it goes to; `None` is standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.json.as_ref()?.as_deref().filter(|path| *path != Path::new("-"))
    }
}

/// A document as JSON: to the file that was named, or to standard output.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn json(to: &JsonArgs, document: &impl Serialize) -> anyhow::Result<()> {
    let text = json_text(document)?;
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

/// A document as text.
pub(crate) fn json_text(document: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// Writes a page beside what a command prints, and reports where on standard error.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn page(path: &Path, text: &str) -> anyhow::Result<()> {
    file::replace(path, |sink| sink.write_all(text.as_bytes()))?;
    complain_text(&format!("Page: {}", path.display()));
    Ok(())
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

/// Prices by the Profile that was given, or by this machine's if it has been measured; nothing is measured for it.
///
/// # Errors
/// When the Profile cannot be read.
pub(crate) fn prices(given: Option<&Path>) -> Result<Option<CostModel>, FileError> {
    Ok(file::prices(given)?.map(|(_, profile)| CostModel::of(&profile)))
}
