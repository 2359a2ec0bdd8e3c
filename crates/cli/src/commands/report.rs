//! `swtch report`.

use crate::args::ReportArgs;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use swtch_profile::file;
use swtch_report::files::{FilesError, page};

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let paths = if args.files.is_empty() { vec![own()?] } else { args.files.clone() };
    let (kind, page) = page(&paths, args.profile.as_deref(), args.price).map_err(|error| match error {
        FilesError::Usage(problem) => WrongUsage(problem).into(),
        error => anyhow::Error::from(error),
    })?;
    file::replace(&args.out, |sink| sink.write_all(page.as_bytes()))?;
    let written = args.out.display();
    if args.json.asked() {
        let summary = serde_json::json!({ "page": written.to_string(), "bytes": page.len(), kind: paths });
        output::json(&args.json, &summary)?;
    } else {
        output::print(&format!("Page: {written}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// This machine's Profile.
fn own() -> anyhow::Result<PathBuf> {
    let path =
        file::own_path().context("no profile given, and no home directory to look for this machine's in")?;
    if !path.exists() {
        bail!("no profile given, and this machine has none yet; run 'swtch measure --quick' first");
    }
    Ok(path)
}
