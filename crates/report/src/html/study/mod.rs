//! The page of studies: what workloads do under many settings, and what to change.

mod answer;
mod interrupts;
mod latency;
mod models;
mod over_time;
mod runs;
mod settings;

use swtch_study::Study;
use swtch_study::model::{Run, Summary};

use super::page::{Block, Notice, Page, Section};
use super::sections::{Subject, Subjects, host};
use super::{SCRIPT, STYLE, text};

/// The studies on the page.
type Studies<'a> = Subjects<'a, NamedStudy>;

/// A study and the name it goes by on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedStudy {
    /// A label: the folder's name, or the machine's.
    pub name: String,
    /// The figures.
    pub study: Study,
}

impl Subject for NamedStudy {
    const KIND: &'static str = "study";
    const HEAD: &'static str = "Study";

    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> String {
        self.study.provenance.runtime.as_ref().map_or_else(|| self.study.kind.clone(), runtime)
    }

    fn unavailable(&self) -> Vec<(&str, &str)> {
        let missing =
            self.study.unavailable.iter().chain(self.study.runs.iter().flat_map(|run| &run.unavailable));
        let mut all: Vec<(&str, &str)> = missing.map(|missing| (&*missing.what, &*missing.why)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl NamedStudy {
    /// Each workload's summary under the settings that gave most images a second, by number and name.
    fn best(&self) -> Vec<&Summary> {
        let throughput =
            |summary: &Summary| summary.images_per_second.map_or(0.0, |estimate| estimate.median);
        let mut best: Vec<&Summary> = Vec::new();
        for summary in &self.study.summaries {
            match best.iter_mut().find(|known| known.workload == summary.workload) {
                Some(known) if throughput(known) < throughput(summary) => *known = summary,
                Some(_) => {}
                None => best.push(summary),
            }
        }
        best.sort_by(|one, other| one.workload.cmp(&other.workload));
        best
    }

    /// The runs that a summary is of.
    fn runs_of<'a>(&'a self, summary: &'a Summary) -> impl Iterator<Item = &'a Run> {
        let same = |run: &&Run| run.workload == summary.workload && run.settings == summary.settings;
        self.study.runs.iter().filter(same)
    }
}

fn runtime(runtime: &swtch_study::model::Runtime) -> String {
    let version = runtime.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    format!("{}{version}", runtime.name)
}

/// The page as data.
pub(super) fn page(subjects: Studies<'_>) -> Page {
    let (subtitle, profiles) = subjects.in_lines(circumstances);
    let names: Vec<String> = subjects.iter().map(|(_, named)| named.name.clone()).collect();
    Page {
        title: format!("What the operating system does to AI workloads on {}", text::joined(&names)),
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

/// From the answer to the evidence.
fn sections(subjects: Studies<'_>) -> Vec<Section> {
    let machine = subjects.fact_table("Facts about the machine", |named| host::facts(&named.study.host));
    let missing = subjects.reasons(0..subjects.0.len(), |_| true);
    let mut blocks = vec![Block::Table(machine)];
    if !missing.is_empty() {
        blocks.push(Block::Notice(Notice {
            text: "What could not be had, and why:".to_owned(),
            items: missing,
        }));
    }
    let mut sections = Vec::new();
    sections.extend(answer::advice(subjects));
    sections.extend(models::sections(subjects));
    sections.extend(settings::section(subjects));
    sections.push(over_time::section(subjects));
    sections.extend(interrupts::section(subjects));
    sections.push(runs::section(subjects));
    sections.push(Section { id: "machine", title: "The machine", blocks });
    sections
}

/// The study in a line.
fn circumstances(named: &NamedStudy) -> String {
    let Study { host, provenance, runs, .. } = &named.study;
    let mut parts = vec![format!("{} runs", text::count(runs.len() as u64))];
    parts.extend(provenance.runtime.as_ref().map(runtime));
    parts.extend(host::words(host));
    parts.push(provenance.created_at.chars().take(10).collect());
    parts.join(" · ")
}

/// What the reader must know first: runs that others disturbed.
fn notices(subjects: Studies<'_>) -> Vec<Notice> {
    subjects
        .iter()
        .filter_map(|(i, named)| {
            let disturbed = named.study.runs.iter().filter(|run| run.disturbed.is_some()).count();
            let sentence = format!(
                "{disturbed} of {} runs were disturbed by other programs or by the hypervisor; the table of runs says by what.",
                named.study.runs.len()
            );
            (disturbed > 0).then(|| Notice { text: subjects.prefixed(i, &sentence), items: Vec::new() })
        })
        .collect()
}

fn colophon(subjects: Studies<'_>) -> String {
    let written: Vec<String> = subjects
        .iter()
        .map(|(i, named)| {
            let provenance = &named.study.provenance;
            subjects
                .prefixed(i, &format!("swtch {}, {}", provenance.swtch_version, provenance.command.join(" ")))
        })
        .collect();
    written.join(" · ")
}
