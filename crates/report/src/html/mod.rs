//! The report as one HTML file that needs nothing else: no network, no fonts, and no script to be read.
//!
//! [`render`] turns profiles into the page, [`render_traces`] Traces. Their texts (names, kernel versions, reasons) are
//! untrusted and are escaped, in the page by the template engine and in the pictures by `svg`.

pub(crate) mod answer;
mod charts;
mod faas;
pub(crate) mod naming;
mod page;
mod scale;
mod sections;
mod study;
mod svg;
pub(crate) mod text;
mod traces;

use crate::caveats;
use minijinja::Environment;
use minijinja::value::Serde;
use swtch_cost::profile_caveats;
use swtch_profile::Profile;
use thiserror::Error;

pub use faas::NamedFaas;
use page::{Notice, Page, Section};
use sections::Subjects;
pub use study::NamedStudy;
pub use traces::NamedTrace;

const TEMPLATE: &str = include_str!("../../../../web/report.html.j2");
const STYLE: &str = include_str!("../../../../web/report.css");
const SCRIPT: &str = include_str!("../../../../web/report.js");

/// The median of some figures, by the rule of [`swtch_stats::median`]; nothing without any.
fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| swtch_stats::median_in_place(&mut values))
}

/// A profile and the name it goes by on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedProfile {
    /// A label: the file's stem, or the machine's name.
    pub name: String,
    /// The figures.
    pub profile: Profile,
}

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
        "no function to report on; name a response of a handler, or a folder that `swtch faas tiers` writes"
    )]
    NoFunctions,
    /// The template could not be laid out, which is a mistake in swtch.
    #[error("the page could not be laid out; this is a mistake in swtch's template")]
    Template(#[from] minijinja::Error),
}

/// Renders profiles as one HTML page; several stand side by side, each figure against the first profile's.
///
/// The same profiles give the same bytes.
///
/// # Errors
/// [`ReportError::NoProfiles`] when `profiles` is empty.
pub fn render(profiles: &[NamedProfile]) -> Result<String, ReportError> {
    if profiles.is_empty() {
        return Err(ReportError::NoProfiles);
    }
    laid_out(page(Subjects(profiles)))
}

/// Renders Traces as one HTML page; several stand side by side.
///
/// The same Traces give the same bytes. Only the small tables are read, whatever the number of switches.
///
/// # Errors
/// [`ReportError::NoTraces`] when `traces` is empty.
pub fn render_traces(traces: &[NamedTrace]) -> Result<String, ReportError> {
    if traces.is_empty() {
        return Err(ReportError::NoTraces);
    }
    laid_out(traces::page(Subjects(traces)))
}

/// Renders studies as one HTML page; several stand side by side.
///
/// The same studies give the same bytes.
///
/// # Errors
/// [`ReportError::NoStudies`] when `studies` is empty.
pub fn render_studies(studies: &[NamedStudy]) -> Result<String, ReportError> {
    if studies.is_empty() {
        return Err(ReportError::NoStudies);
    }
    laid_out(study::page(Subjects(studies)))
}

/// Renders responses of serverless functions and studies of tiers as one HTML page; several stand side by side.
///
/// The same documents give the same bytes.
///
/// # Errors
/// [`ReportError::NoFunctions`] when `documents` is empty.
pub fn render_faas(documents: &[NamedFaas]) -> Result<String, ReportError> {
    if documents.is_empty() {
        return Err(ReportError::NoFunctions);
    }
    laid_out(faas::page(Subjects(documents)))
}

fn laid_out(page: Page) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    // The name's ending switches HTML escaping on.
    environment.add_template("report.html", TEMPLATE)?;
    Ok(environment.get_template("report.html")?.render(Serde(page))?)
}

fn page(subjects: Subjects<'_>) -> Page {
    let names: Vec<String> = subjects.iter().map(|(_, named)| named.name.clone()).collect();
    let (subtitle, profiles) = subjects.in_lines(|named| machine(&named.profile));
    Page {
        title: format!("What a context switch costs on {}", text::joined(&names)),
        subtitle,
        notices: notices(subjects),
        sentences: answer::sentences(subjects),
        tiles: answer::tiles(subjects),
        profiles,
        sections: sections(subjects),
        colophon: colophon(subjects),
        style: STYLE,
        script: SCRIPT,
    }
}

/// What must be known before a figure is read.
fn notices(subjects: Subjects<'_>) -> Vec<Notice> {
    let of = |(index, named): (usize, &NamedProfile)| {
        let found = profile_caveats(&named.profile);
        let words = found.iter().filter_map(|one| caveats::words(one, "the Profile"));
        let notice = |words: String| Notice {
            text: subjects.prefixed(index, &text::capitalised(&words)),
            items: Vec::new(),
        };
        words.map(notice).collect::<Vec<_>>()
    };
    subjects.iter().flat_map(of).collect()
}

/// The sections, from the answer to the evidence.
fn sections(subjects: Subjects<'_>) -> Vec<Section> {
    sections::comparison::section(subjects)
        .into_iter()
        .chain([
            sections::direct::section(subjects),
            sections::total::section(subjects),
            sections::stride::section(subjects),
            sections::knees::section(subjects),
            sections::ring::section(subjects),
            sections::references::section(subjects),
            sections::noise::section(subjects),
            sections::method::section(subjects),
            sections::host::section(subjects),
        ])
        .collect()
}

/// The machine in a line.
fn machine(profile: &Profile) -> String {
    let host = &profile.host;
    let mut parts = sections::host::words(host);
    parts.extend(host.virtualisation.hypervisor.as_ref().map(|hypervisor| format!("under {hypervisor}")));
    parts.push(text::date(profile.provenance.started_unix_s));
    let source = &profile.provenance.source;
    if source != "measured" {
        parts.insert(0, format!("{source}, not measured"));
    }
    parts.join(" · ")
}

fn colophon(subjects: Subjects<'_>) -> String {
    let sources: Vec<String> = subjects
        .iter()
        .map(|(i, named)| {
            let run = &named.profile.provenance;
            subjects
                .prefixed(i, &format!("{}, {} preset, swtch {}", run.source, run.preset, run.swtch_version))
        })
        .collect();
    format!("{}. Times are per switch unless said otherwise; intervals are 95\u{a0}%.", sources.join("; "))
}
