//! `swtch report`.

use crate::args::ReportArgs;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_profile::file;
use swtch_report::files::{FilesError, TraceOptions, page};

/// Where the page goes when no name is given.
const PAGE: &str = "report.html";

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let paths = if args.files.is_empty() { vec![own()?] } else { args.files.clone() };
    let options = TraceOptions {
        profile: args.profile.as_deref(),
        price: args.price,
        spans: args.spans.spans.as_deref(),
        source: args.spans.source(),
        slowest: args.spans.slowest,
    };
    let (kind, page) = page(&paths, &options).map_err(|error| match error {
        FilesError::Usage(problem) => WrongUsage(problem).into(),
        error => anyhow::Error::from(error),
    })?;
    let out = args.out.clone().unwrap_or_else(free);
    file::replace(&out, |sink| sink.write_all(page.as_bytes()))?;
    if args.out.is_none() && out != Path::new(PAGE) {
        output::complain_text(&format!("swtch: {PAGE} exists and is kept; this page is {}", out.display()));
    }
    let written = out.display();
    if args.json.asked() {
        let summary = serde_json::json!({ "page": written.to_string(), "bytes": page.len(), kind: paths });
        output::json(&args.json, &summary)?;
    } else {
        output::print(&format!("Page: {written}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// [`PAGE`], or the first `report-N.html` that does not exist. It is created, so that no other command takes the same name.
fn free() -> PathBuf {
    let mut out = PathBuf::from(PAGE);
    let mut number = 2;
    while File::create_new(&out).is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
        out = PathBuf::from(format!("report-{number}.html"));
        number += 1;
    }
    out
}

/// This machine's Profile.
fn own() -> anyhow::Result<PathBuf> {
    let path = file::own_path()
        .context("no Profile given, and without HOME this machine's cannot be found; name a file")?;
    if !path.exists() {
        bail!("no Profile given, and this machine has none yet; run 'swtch measure --quick' first");
    }
    Ok(path)
}
