//! `swtch report`.

use crate::args::ReportArgs;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_faas::is_faas;
use swtch_profile::file;
use swtch_report::html::{
    NamedFaas, NamedProfile, NamedStudy, NamedTrace, render, render_faas, render_studies, render_traces,
};
use swtch_study::is_study;
use swtch_trace::Trace;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let paths = if args.files.is_empty() { vec![own()?] } else { args.files.clone() };
    let (kind, page) = page(&paths, args)?;
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

/// What kind of files they are, and the page of them.
fn page(paths: &[PathBuf], args: &ReportArgs) -> anyhow::Result<(&'static str, String)> {
    let mut kinds = Vec::new();
    for path in paths {
        let kind = kind(path)?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if !kinds.contains(&Kind::Trace) {
        let given = [(args.profile.is_some(), "--profile"), (args.price.is_some(), "--price")];
        if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
            return Err(
                WrongUsage(format!("{option} prices Traces, and there is none among the files")).into()
            );
        }
    }
    match kinds.as_slice() {
        [Kind::Profile] => Ok(("profiles", render(&profiles(paths)?)?)),
        [Kind::Trace] => Ok(("traces", render_traces(&priced(paths, args)?)?)),
        [Kind::Study] => Ok(("studies", render_studies(&studies(paths)?)?)),
        [Kind::Faas] => Ok(("functions", render_faas(&functions(paths)?)?)),
        mixed => {
            let names: Vec<&str> = mixed.iter().map(|kind| kind.words()).collect();
            let hint = if mixed.contains(&Kind::Trace) {
                ", and a Profile to price Traces by with --profile"
            } else {
                ""
            };
            let problem =
                format!("{} do not go into one page; name files of one kind{hint}", names.join(" and "));
            Err(WrongUsage(problem).into())
        }
    }
}

/// What a file or folder is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Profile,
    Trace,
    Study,
    Faas,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::Profile => "Profiles",
            Self::Trace => "Traces",
            Self::Study => "studies",
            Self::Faas => "measurements of functions",
        }
    }
}

/// A Trace is a folder called `NAME.swtch`, or any with a header in it; a file that is nothing else is read as a Profile.
fn kind(path: &Path) -> anyhow::Result<Kind> {
    if path.extension().is_some_and(|extension| extension == "swtch") || path.join("header.json").is_file() {
        return Ok(Kind::Trace);
    }
    if is_study(path) {
        return Ok(Kind::Study);
    }
    if is_faas(path) {
        return Ok(Kind::Faas);
    }
    if path.is_dir() {
        bail!(
            "{} holds nothing to report on: neither a Trace (header.json) nor a study (study.json, tiers.json); check the path",
            path.display()
        );
    }
    Ok(Kind::Profile)
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

/// A response goes by its file's name, a study of tiers by its folder's; one of several languages is a study each.
fn functions(paths: &[PathBuf]) -> anyhow::Result<Vec<NamedFaas>> {
    let named = |path: PathBuf| {
        let document = swtch_faas::read(&path)?;
        let whole = fs::canonicalize(&path).unwrap_or(path);
        let is_tiers = matches!(document, swtch_faas::Document::Tiers(_)) && whole.is_file();
        let named = if is_tiers { whole.parent().unwrap_or(&whole) } else { &whole };
        Ok(NamedFaas { name: name(named), document })
    };
    paths.iter().flat_map(|path| swtch_faas::studies_in(path)).map(named).collect()
}

/// Traces with their bills. Nothing is measured for them: without a Profile the bill says what it lacks.
fn priced(paths: &[PathBuf], args: &ReportArgs) -> anyhow::Result<Vec<NamedTrace>> {
    let prices = file::prices(args.profile.as_deref())?.map(|(name, profile)| NamedProfile { name, profile });
    let priced =
        |path: &PathBuf| Ok(NamedTrace::new(name(path), Trace::open(path)?, prices.as_ref(), args.price));
    paths.iter().map(priced).collect()
}

fn own() -> anyhow::Result<PathBuf> {
    let path =
        file::own_path().context("no profile given, and no home folder to look for this machine's in")?;
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
