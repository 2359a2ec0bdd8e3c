//! The page of files: what each file is, which may be on one page, and what each is called there.

use crate::html::{
    NamedFaas, NamedProfile, NamedStudy, NamedSweep, NamedTrace, ReportError, render, render_faas,
    render_studies, render_sweeps, render_traces,
};
use std::fs;
use std::path::{Path, PathBuf};
use swtch_cost::{Price, WhyError, whys};
use swtch_decide::{FileKind, NoDocument};
use swtch_profile::file;
use swtch_sweep::PolicyMap;
use swtch_trace::spans::{SpanSource, Spans, SpansError, beside};
use swtch_trace::{Trace, TraceError};

/// Names of spans on a page.
const MOST_NAMES: usize = 3;

/// Why there is no page of files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// What was asked for does not fit these files.
    #[error("{0}")]
    Usage(String),
    /// A directory has no document in it.
    #[error(transparent)]
    Nothing(#[from] NoDocument),
    /// A Profile cannot be read.
    #[error(transparent)]
    Profile(#[from] file::FileError),
    /// A Trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A study cannot be read.
    #[error(transparent)]
    Study(#[from] swtch_study::StudyError),
    /// A measurement of functions cannot be read.
    #[error(transparent)]
    Faas(#[from] swtch_faas::FileError),
    /// Spans cannot be read.
    #[error(transparent)]
    Spans(#[from] SpansError),
    /// Spans cannot be explained.
    #[error(transparent)]
    Why(#[from] WhyError),
    /// The table of a sweep cannot be read.
    #[error(transparent)]
    Sweep(#[from] swtch_sweep::Error),
    /// The page cannot be rendered.
    #[error(transparent)]
    Page(#[from] ReportError),
}

/// What a page of Traces shows besides them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOptions<'a> {
    /// The Profile to price by; this machine's, if it has one, when absent. Nothing is measured.
    pub profile: Option<&'a Path>,
    /// Prices in money.
    pub price: Option<Price>,
    /// The spans of the only Trace; those beside each Trace when absent.
    pub spans: Option<&'a Path>,
    /// How the spans are read.
    pub source: SpanSource<'a>,
    /// The share of the spans that counts as slow.
    pub slowest: f64,
}

/// The page of `paths`, which are all of one kind, and the kind's name in JSON.
///
/// # Errors
/// When the files are of several kinds, or one cannot be read.
pub fn page(paths: &[PathBuf], options: &TraceOptions<'_>) -> Result<(&'static str, String), FilesError> {
    if paths.iter().any(|path| is_table(path)) {
        return Ok(("sweeps", render_sweeps(&sweeps(paths, options)?)?));
    }
    let kinds = FileKind::among(paths)?;
    let has_traces = kinds.contains(&FileKind::Trace);
    let TraceOptions { profile, price, spans, .. } = options;
    for (given, option, does) in [
        (profile.is_some(), "--profile", "prices"),
        (price.is_some(), "--price", "prices"),
        (spans.is_some(), "--spans", "explains spans of"),
    ] {
        if given && !has_traces {
            let problem = format!("{option} {does} Traces, and there is none among the files");
            return Err(FilesError::Usage(problem));
        }
    }
    if spans.is_some() && paths.len() > 1 {
        return Err(FilesError::Usage("--spans goes with one Trace; name one".to_owned()));
    }
    match kinds.as_slice() {
        [FileKind::Profile] => Ok(("profiles", render(&profiles(paths)?)?)),
        [FileKind::Trace] => Ok(("traces", render_traces(&traces(paths, options)?)?)),
        [FileKind::Study] => Ok(("studies", render_studies(&studies(paths)?)?)),
        [FileKind::Faas] => Ok(("functions", render_faas(&functions(paths)?)?)),
        mixed => {
            let hint = if has_traces { ", and a Profile to price Traces by with --profile" } else { "" };
            let names = FileKind::names(mixed);
            Err(FilesError::Usage(format!("{names} do not go into one page; name files of one kind{hint}")))
        }
    }
}

/// Whether it is the table of a sweep, or should be.
fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}

fn sweeps(paths: &[PathBuf], options: &TraceOptions<'_>) -> Result<Vec<NamedSweep>, FilesError> {
    if options.profile.is_some() || options.price.is_some() || options.spans.is_some() {
        let problem = "--profile, --price and --spans go with Traces, and there is none among the files";
        return Err(FilesError::Usage(problem.to_owned()));
    }
    if let Some(other) = paths.iter().find(|path| !is_table(path)) {
        let problem = format!("{} does not go into one page with tables of sweeps", other.display());
        return Err(FilesError::Usage(problem));
    }
    let read = |path: &PathBuf| Ok(NamedSweep { name: name(path), document: PolicyMap::read(path)? });
    paths.iter().map(read).collect()
}

fn profiles(paths: &[PathBuf]) -> Result<Vec<NamedProfile>, FilesError> {
    paths.iter().map(|path| Ok(NamedProfile { name: name(path), document: file::read(path)? })).collect()
}

fn traces(paths: &[PathBuf], options: &TraceOptions<'_>) -> Result<Vec<NamedTrace>, FilesError> {
    let prices =
        file::prices(options.profile)?.map(|(name, profile)| NamedProfile { name, document: profile });
    let priced = |path: &PathBuf| {
        let trace = Trace::open(path)?;
        let explained = |file: &Path| -> Result<_, FilesError> {
            let spans = Spans::read(file, options.source, trace.view())?;
            Ok(whys(&trace, &spans, MOST_NAMES, options.slowest)?)
        };
        let own = beside(path);
        let spans = match options.spans {
            Some(file) => Some(Ok(explained(file)?)),
            // They were not asked for: the page says what is wrong with them.
            None => own.exists().then(|| explained(&own).map_err(|error| error.to_string())),
        };
        Ok(NamedTrace::new(name(path), trace, prices.as_ref(), options.price).with_spans(spans))
    };
    paths.iter().map(priced).collect()
}

/// A study goes by its machine's name.
fn studies(paths: &[PathBuf]) -> Result<Vec<NamedStudy>, FilesError> {
    let named = |path: &PathBuf| {
        let study = swtch_study::read(path)?;
        Ok(NamedStudy { name: study.machine_name.clone(), document: study })
    };
    paths.iter().map(named).collect()
}

/// A response goes by its file's name, a study of tiers by its directory's; one of several languages is a study each.
fn functions(paths: &[PathBuf]) -> Result<Vec<NamedFaas>, FilesError> {
    let named = |path: PathBuf| {
        let document = swtch_faas::read(&path)?;
        let whole = fs::canonicalize(&path).unwrap_or(path);
        let is_tiers = matches!(document, swtch_faas::Document::Tiers(_)) && whole.is_file();
        let named = if is_tiers { whole.parent().unwrap_or(&whole) } else { &whole };
        Ok(NamedFaas { name: name(named), document })
    };
    paths.iter().flat_map(|path| swtch_faas::studies_in(path)).map(named).collect()
}

/// A Profile goes by its file's name, this machine's by the machine, and a Trace by its directory's name.
fn name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem == "profile" { "this machine".to_owned() } else { stem }
}
