//! `swtch report`.

use crate::args::ReportArgs;
use crate::output;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_profile::file;
use swtch_report::html::{NamedProfile, render};

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let paths = if args.profiles.is_empty() { vec![own()?] } else { args.profiles.clone() };
    let profiles = paths
        .iter()
        .map(|path| Ok(NamedProfile { name: name(path), profile: file::read(path)? }))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let page = render(&profiles)?;
    file::replace(&args.out, |sink| sink.write_all(page.as_bytes()))?;
    let written = args.out.display();
    if args.json {
        let summary =
            serde_json::json!({ "page": written.to_string(), "bytes": page.len(), "profiles": paths });
        output::print(&format!("{summary}\n"));
    } else {
        output::print(&format!("Page: {written}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn own() -> anyhow::Result<PathBuf> {
    let path = output::own_profile()
        .context("no profile given, and no home folder to look for this machine's in")?;
    if !path.exists() {
        bail!("no profile given, and this machine has none yet; run 'swtch measure --quick' first");
    }
    Ok(path)
}

/// A profile is called by its file's name; this machine's by the machine.
fn name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem == "profile" { "this machine".to_owned() } else { stem }
}
