//! `swtch report`.

use crate::args::ReportArgs;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_profile::file;
use swtch_report::html::{NamedProfile, NamedStudy, NamedTrace, render, render_studies, render_traces};
use swtch_study::is_study;
use swtch_trace::Trace;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let paths = if args.files.is_empty() { vec![own()?] } else { args.files.clone() };
    let traces = paths.iter().filter(|path| is_trace(path)).count();
    let studies = paths.iter().filter(|path| is_study(path)).count();
    let (kind, page) = if traces == 0 {
        let given = [(args.profile.is_some(), "--profile"), (args.price.is_some(), "--price")];
        if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
            return Err(
                WrongUsage(format!("{option} prices Traces, and there is none among the files")).into()
            );
        }
        if studies == paths.len() {
            ("studies", render_studies(&self::studies(&paths)?)?)
        } else if studies == 0 {
            ("profiles", render(&profiles(&paths)?)?)
        } else {
            let problem = "studies do not go into one page with anything else; name studies only, or none";
            return Err(WrongUsage(problem.to_owned()).into());
        }
    } else if traces == paths.len() {
        ("traces", render_traces(&priced(&paths, args)?)?)
    } else {
        return Err(WrongUsage(
            "Profiles and Traces do not go into one page; name the one or the other, and a Profile to price Traces by with --profile"
                .to_owned(),
        )
        .into());
    };
    file::replace(&args.out, |sink| sink.write_all(page.as_bytes()))?;
    let written = args.out.display();
    if args.json {
        let summary = serde_json::json!({ "page": written.to_string(), "bytes": page.len(), kind: paths });
        output::print(&format!("{summary}\n"));
    } else {
        output::print(&format!("Page: {written}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// A folder called `NAME.swtch`, or any with a header in it; what is neither is read as a Profile.
fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "swtch") || path.join("header.json").is_file()
}

fn profiles(paths: &[PathBuf]) -> anyhow::Result<Vec<NamedProfile>> {
    paths.iter().map(|path| Ok(NamedProfile { name: name(path), profile: file::read(path)? })).collect()
}

/// A study goes by its machine's name.
fn studies(paths: &[PathBuf]) -> anyhow::Result<Vec<NamedStudy>> {
    let named = |path: &PathBuf| {
        let study = swtch_study::read(path)?;
        Ok(NamedStudy { name: study.machine_name.clone(), study })
    };
    paths.iter().map(named).collect()
}

/// Traces with their bills. Nothing is measured for them: without a Profile the bill says what it lacks.
fn priced(paths: &[PathBuf], args: &ReportArgs) -> anyhow::Result<Vec<NamedTrace>> {
    let prices = match (&args.profile, output::own_profile()) {
        (Some(path), _) => {
            Some(NamedProfile { name: format!("the Profile {}", path.display()), profile: file::read(path)? })
        }
        (None, Some(path)) if path.exists() => {
            Some(NamedProfile { name: "this machine’s Profile".to_owned(), profile: file::read(&path)? })
        }
        _ => None,
    };
    let priced =
        |path: &PathBuf| Ok(NamedTrace::new(name(path), Trace::open(path)?, prices.as_ref(), args.price));
    paths.iter().map(priced).collect()
}

fn own() -> anyhow::Result<PathBuf> {
    let path = output::own_profile()
        .context("no profile given, and no home folder to look for this machine's in")?;
    if !path.exists() {
        bail!("no profile given, and this machine has none yet; run 'swtch measure --quick' first");
    }
    Ok(path)
}

/// A Profile is called by its file's name, this machine's by the machine, and a Trace by its folder's.
fn name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem == "profile" { "this machine".to_owned() } else { stem }
}
