//! The page of Profiles, section by section: each chooses figures, words and tables; the charts draw.

mod comparison;
mod direct;
pub(super) mod host;
mod knees;
mod method;
mod noise;
mod references;
mod ring;
mod stride;
mod total;

use swtch_cost::profile_caveats;
use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::{Estimate, Unavailable};
use swtch_profile::vocabulary::Flag;

use super::prelude::*;
use super::profile::TILES;
use crate::wording::{caveats, headline};

/// The profiles on the page.
type Profiles<'a> = Subjects<'a, Profile>;

impl Subject for Profile {
    const KIND: &'static str = "profile";
    const HEAD: &'static str = "Profile";
    const NOTHING: ReportError = ReportError::NoProfiles;
    const TILES: &'static [KeyFigure<Self>] = &TILES;

    fn origin(&self) -> String {
        format!("preset {}", self.provenance.preset)
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        self.unavailable.iter().collect()
    }

    fn line(&self) -> String {
        let Profile { host, provenance, .. } = self;
        let mut parts = host::words(host);
        parts.extend(host.virtualisation.hypervisor.as_ref().map(|hypervisor| format!("under {hypervisor}")));
        parts.push(text::date(provenance.started_unix_s));
        if provenance.source != "measured" {
            parts.insert(0, format!("{}, not measured", provenance.source));
        }
        parts.join(" · ")
    }

    fn notices(&self) -> Vec<String> {
        let found = profile_caveats(self);
        let words = found.iter().filter_map(|one| caveats::words(one, "the Profile"));
        words.map(|words| text::capitalised(&words)).collect()
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        vec![headline::sentence(self)]
    }

    fn written(&self) -> String {
        let run = &self.provenance;
        format!("{}, {} preset, swtch {}", run.source, run.preset, run.swtch_version)
    }

    fn title(subjects: Subjects<'_, Self>) -> String {
        format!("What a context switch costs on {}", subjects.names())
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        let mut sections = Vec::from_iter(comparison::section(subjects));
        sections.extend([
            direct::section(subjects),
            total::section(subjects),
            stride::section(subjects),
            knees::section(subjects),
            ring::section(subjects),
            references::section(subjects),
            noise::section(subjects),
            method::section(subjects),
            host::section(subjects, |profile| &profile.host),
        ]);
        sections
    }

    fn footer(written: &[String]) -> String {
        format!(
            "{}. Times are per switch unless said otherwise; intervals are 95\u{a0}%.",
            written.join("; ")
        )
    }
}

impl Profiles<'_> {
    /// As [`Subjects::lacking`], by what a profile holds.
    fn missing(self, what: &str, part: ProfilePart, has: impl Fn(&Profile) -> bool) -> Option<Block> {
        self.lacking_about(what, |field| ProfilePart::of(field).contains(&part), has)
    }
}

/// The lines that a mark shows about its figure.
fn tip(one: One<'_, Profile>, name: &str, estimate: &Estimate) -> Vec<String> {
    let interval = text::ns_range(estimate.ci_low, estimate.ci_high);
    let mut lines = vec![
        one.prefixed(name),
        format!("{} (95\u{a0}%: {interval})", text::ns(estimate.median)),
        format!("undisturbed {}", text::ns(estimate.undisturbed)),
        format!("{} batches from {} launches", text::count(estimate.batches.into()), estimate.launches),
    ];
    if !estimate.flags.is_empty() {
        lines.push(format!("flagged: {}", Flag::list(&estimate.flags)));
    }
    lines
}

/// A figure's cells in a table.
fn estimate_cells(estimate: &Estimate) -> Vec<Cell> {
    vec![
        Cell::number("Median", text::ns(estimate.median)),
        Cell::number("95\u{a0}% interval", text::ns_range(estimate.ci_low, estimate.ci_high)),
        Cell::number("Undisturbed", text::ns(estimate.undisturbed)),
        Cell::number("Mean", text::ns(estimate.mean)),
        Cell::number("Variation", text::percent(estimate.cov)),
        Cell::number("Batches (left out)", format!("{} ({})", estimate.batches, estimate.rejected)),
        Cell::text("Flags", Flag::list(&estimate.flags)),
    ]
}

/// A count of switches, or that the kernel does not count.
fn switches_cell(title: &'static str, switches: Option<f64>) -> Cell {
    Cell::number(title, switches.map_or_else(|| "not counted".to_owned(), |count| format!("{count:.2}")))
}
