//! `swtch diff`.

use crate::args::diff::DiffArgs;
use crate::output::{self, JsonArgs, WrongUsage};
use anyhow::Context;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use swtch_decide::{Diff, DiffOptions, diff};
use swtch_profile::file;
use swtch_report::html::{NamedDiff, render_diff};
use swtch_report::terminal;

/// The exit status when a limit holds.
const LIMIT: u8 = 3;

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let (old, new) = sides(args)?;
    let options =
        DiffOptions { model: output::prices(args.profile.as_deref())?, fail_if: args.fail_if.clone() };
    let found = diff(old, new, &options).map_err(|error| {
        if error.is_usage() { WrongUsage(error.to_string()).into() } else { anyhow::Error::from(error) }
    })?;
    if let Some(out) = &args.out {
        let name = format!("{} and {}", name(old), name(new));
        let page = render_diff(&NamedDiff { name, document: found.clone() })?;
        file::replace(out, |sink| sink.write_all(page.as_bytes()))?;
    }
    let status = show(&found, &args.json)?;
    if let Some(out) = args.out.as_ref().filter(|_| !args.json.asked()) {
        output::print(&format!("Page: {}\n", out.display()));
    }
    Ok(status)
}

/// Prints what differs, unless its figures contradict each other. The exit status says whether a limit holds.
pub(crate) fn show(found: &Diff, json: &JsonArgs) -> anyhow::Result<ExitCode> {
    found.check().context("the comparison is refused; please report this defect with both sides")?;
    if json.asked() {
        output::json(json, found)?;
    } else {
        output::print(&terminal::diff(found));
    }
    Ok(if found.fails() { ExitCode::from(LIMIT) } else { ExitCode::SUCCESS })
}

/// The files of both sides.
fn sides(args: &DiffArgs) -> Result<(&[PathBuf], &[PathBuf]), WrongUsage> {
    match (&args.files[..], &args.new[..]) {
        (old, new @ [_, ..]) => Ok((old, new)),
        ([old, new], []) => Ok((std::slice::from_ref(old), std::slice::from_ref(new))),
        (files, _) => Err(WrongUsage(format!(
            "{} {} and no --: name OLD and NEW, or several files of each side as OLD... -- NEW...",
            files.len(),
            if files.len() == 1 { "file" } else { "files" }
        ))),
    }
}

fn name(side: &[PathBuf]) -> String {
    let first =
        side.first().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    let first = first.unwrap_or_default();
    match side.len() {
        0 | 1 => first,
        several => format!("{first} and {} more", several - 1),
    }
}
