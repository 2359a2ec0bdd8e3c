//! The report as one HTML file that needs nothing else: no network, no fonts, and no script to be read.
//!
//! [`render`] turns profiles into the page, [`render_traces`] Traces. Their texts (names, kernel versions, reasons) are
//! untrusted and are escaped, in the page by the template engine and in the pictures by `svg`.

mod bench;
mod charts;
mod compared;
mod diff;
mod faas;
mod page;
mod prelude;
mod profile;
mod scale;
mod sections;
mod study;
mod subjects;
mod svg;
mod sweep;
mod traces;
mod tried;
mod values;

use crate::wording::text;
use minijinja::Environment;
use minijinja::value::Serde;
use subjects::{Subject, Subjects};
use thiserror::Error;

pub use subjects::Named;
pub use traces::PricedTrace;

/// A Profile on a page.
pub type NamedProfile = Named<swtch_profile::Profile>;
/// A priced Trace on a page.
pub type NamedTrace = Named<PricedTrace>;
/// A study on a page.
pub type NamedStudy = Named<swtch_study::Study>;
/// Compared commands on a page.
pub type NamedComparison = Named<swtch_decide::compare::CommandComparison>;
/// Tried settings on a page.
pub type NamedTrial = Named<swtch_decide::remedies::TriedSettings>;
/// A bench of schedulers on a page.
pub type NamedBench = Named<swtch_decide::BenchDocument>;
/// A difference on a page.
pub type NamedDiff = Named<swtch_decide::Diff>;
/// A sweep on a page.
pub type NamedSweep = Named<swtch_sweep::PolicyMap>;
/// A response of a function, or a study of tiers, on a page.
pub type NamedFaas = Named<swtch_faas::Document>;

const TEMPLATE: &str = include_str!("../../web/report.html.j2");
const STYLE: &str = include_str!("../../web/report.css");
const SCRIPT: &str = concat!(include_str!("../../web/report.js"), include_str!("../../web/flame.js"));

/// Why there is no page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// There is nothing to report on.
    #[error("no profile to report on; name at least one, as `swtch measure` writes it")]
    NoProfiles,
    /// There is no Trace to report on.
    #[error("no Trace to report on; name at least one, as `swtch record` writes it")]
    NoTraces,
    /// There is no study to report on.
    #[error("no study to report on; name at least one, as `swtch ai run` writes it")]
    NoStudies,
    /// There is no document about functions to report on.
    #[error(
        "no function to report on; name a response of a handler, or a directory that `swtch faas tiers` writes"
    )]
    NoFunctions,
    /// There are no compared commands to report on.
    #[error("no compared commands to report on; run `swtch compare`")]
    NoComparisons,
    /// Nothing was tried.
    #[error("no tried settings to report on")]
    NoTrials,
    /// No scheduler was compared.
    #[error("no bench to report on; run `swtch sched bench`")]
    NoBenches,
    /// There is no sweep to report on.
    #[error("no sweep to report on; name the table that `swtch sweep merge` writes")]
    NoSweeps,
    /// There is no difference to report on.
    #[error("no difference to report on; compare two sides first")]
    NoDifferences,
    /// The template could not be laid out, which is a mistake in swtch.
    #[error("the page could not be laid out; please report this defect of swtch's template")]
    Template(#[from] minijinja::Error),
}

/// Renders profiles as one HTML page; several are side by side, each figure against the first profile's.
///
/// The same profiles give the same bytes.
///
/// # Errors
/// [`ReportError::NoProfiles`] when `profiles` is empty.
pub fn render(profiles: &[NamedProfile]) -> Result<String, ReportError> {
    laid_out(profiles)
}

/// Renders Traces as one HTML page; several are side by side.
///
/// The same Traces give the same bytes. Only the small tables are read, whatever the number of switches.
///
/// # Errors
/// [`ReportError::NoTraces`] when `traces` is empty.
pub fn render_traces(traces: &[NamedTrace]) -> Result<String, ReportError> {
    laid_out(traces)
}

/// Renders studies as one HTML page; several are side by side.
///
/// The same studies give the same bytes.
///
/// # Errors
/// [`ReportError::NoStudies`] when `studies` is empty.
pub fn render_studies(studies: &[NamedStudy]) -> Result<String, ReportError> {
    laid_out(studies)
}

/// Renders responses of serverless functions and studies of tiers as one HTML page; several are side by side.
///
/// The same documents give the same bytes.
///
/// # Errors
/// [`ReportError::NoFunctions`] when `documents` is empty.
pub fn render_faas(documents: &[NamedFaas]) -> Result<String, ReportError> {
    laid_out(documents)
}

/// Renders compared commands as one HTML page.
///
/// # Errors
/// [`ReportError::NoComparisons`] when there are none.
pub fn render_comparisons(comparisons: &[NamedComparison]) -> Result<String, ReportError> {
    laid_out(comparisons)
}

/// Renders settings that were tried on a command as one HTML page.
///
/// # Errors
/// [`ReportError::NoTrials`] when there are none.
pub fn render_trials(trials: &[NamedTrial]) -> Result<String, ReportError> {
    laid_out(trials)
}

/// Renders a bench of schedulers as one HTML page.
///
/// The same figures give the same bytes.
///
/// # Errors
/// When the template cannot be laid out.
pub fn render_bench(bench: &NamedBench) -> Result<String, ReportError> {
    laid_out(std::slice::from_ref(bench))
}

/// Renders tables of sweeps as one HTML page.
///
/// The same tables give the same bytes.
///
/// # Errors
/// [`ReportError::NoSweeps`] when there are none.
pub fn render_sweeps(sweeps: &[NamedSweep]) -> Result<String, ReportError> {
    laid_out(sweeps)
}

/// Renders a difference as one HTML page.
///
/// The same difference gives the same bytes.
///
/// # Errors
/// When the template cannot be laid out.
pub fn render_diff(diff: &NamedDiff) -> Result<String, ReportError> {
    laid_out(std::slice::from_ref(diff))
}

fn laid_out<D: Subject>(subjects: &[Named<D>]) -> Result<String, ReportError> {
    if subjects.is_empty() {
        return Err(D::NOTHING);
    }
    let mut environment = Environment::new();
    // The name's ending switches HTML escaping on.
    environment.add_template("report.html", TEMPLATE)?;
    Ok(environment.get_template("report.html")?.render(Serde(Subjects(subjects).page()))?)
}
