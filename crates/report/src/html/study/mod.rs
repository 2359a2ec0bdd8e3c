//! The page of studies: what workloads do under many settings, and what to change.

mod answer;
mod interrupts;
mod latency;
mod models;
mod over_time;
mod runs;
mod settings;

use swtch_study::Study;
use swtch_study::model::{CpuUse, Outcome, Run, SCHEMA, StudyWorkload, Summary};
use swtch_topology::Unavailable;

use super::page::Section;
use super::sections::host;
use super::subjects::{KeyFigure, Subject, Subjects};
use super::{ReportError, text};

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
    const NOTHING: ReportError = ReportError::NoStudies;
    const TILES: &'static [KeyFigure<Self>] = &answer::TILES;

    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> String {
        self.study.provenance.runtime.as_ref().map_or_else(|| self.study.kind.clone(), runtime)
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        let of_runs = self.study.runs.iter().flat_map(|run| &run.unavailable);
        let mut all: Vec<&Unavailable> = self.study.unavailable.iter().chain(of_runs).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn line(&self) -> String {
        let Study { host, provenance, runs, .. } = &self.study;
        let mut parts = vec![format!("{} runs", text::count(runs.len() as u64))];
        parts.extend(provenance.runtime.as_ref().map(runtime));
        parts.extend(host::words(host));
        parts.push(provenance.created_at.chars().take(10).collect());
        parts.join(" · ")
    }

    fn notices(&self) -> Vec<String> {
        let sentence = "An older swtch wrote this study: its CPU times are left out because they exceeded the CPUs’, and its advice was not \
                        corrected for the number of comparisons. Run it again.";
        self.is_older().then(|| sentence.to_owned()).into_iter().collect()
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        answer::sentences(self)
    }

    fn written(&self) -> String {
        let provenance = &self.study.provenance;
        format!("swtch {}, {}", provenance.swtch_version, provenance.command.join(" "))
    }

    fn title(subjects: Subjects<'_, Self>) -> String {
        format!("What the operating system does to AI workloads on {}", subjects.names())
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        let mut sections = Vec::from_iter(answer::advice(subjects));
        sections.extend(models::sections(subjects));
        sections.extend(settings::section(subjects));
        sections.push(over_time::section(subjects));
        sections.extend(interrupts::section(subjects));
        sections.push(runs::section(subjects));
        let mut machine = host::section(subjects, |named| &named.study.host);
        machine.put(subjects.all_reasons());
        sections.push(machine);
        sections
    }

    fn footer(written: &[String]) -> String {
        written.join(" · ")
    }
}

impl NamedStudy {
    /// A summary of each workload, by number and name: of the settings that gave most images a second, if none of its runs was disturbed.
    /// Nothing is best among disturbed runs; then it is of the settings that ran first.
    fn chosen(&self) -> Vec<&Summary> {
        let throughput =
            |summary: &Summary| summary.images_per_second.map_or(0.0, |estimate| estimate.median);
        let met = |workload: &StudyWorkload| {
            self.study.summaries.iter().any(|summary| summary.workload == *workload && summary.disturbed > 0)
        };
        let mut chosen: Vec<&Summary> = Vec::new();
        for summary in &self.study.summaries {
            match chosen.iter_mut().find(|known| known.workload == summary.workload) {
                Some(known) if throughput(known) < throughput(summary) && !met(&summary.workload) => {
                    *known = summary;
                }
                Some(_) => {}
                None => chosen.push(summary),
            }
        }
        chosen.sort_by(|one, other| one.workload.cmp(&other.workload));
        chosen
    }

    /// Whether an older swtch wrote it.
    fn is_older(&self) -> bool {
        self.study.schema != SCHEMA
    }

    /// What is large enough to explain the figures, in a sentence; nothing when no run was disturbed.
    fn interference(&self) -> Option<String> {
        let complete = || self.study.runs.iter().filter(|run| run.outcome == Outcome::Complete);
        let met: Vec<&Run> = complete().filter(|run| run.disturbed.is_some()).collect();
        let median = |part: fn(&CpuUse) -> Option<u64>| {
            let shares = met.iter().filter_map(|run| run.cpu.and_then(|cpu| cpu.share(part(&cpu))));
            super::median(shares).filter(|share| *share >= 0.005)
        };
        let others = median(|cpu| cpu.foreign_ns)
            .map(|share| format!("others used {} of the CPUs", text::percent(share)));
        let stolen =
            median(|cpu| cpu.steal_ns).map(|share| format!("the hypervisor took {}", text::percent(share)));
        let by: Vec<String> = others.into_iter().chain(stolen).collect();
        let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
        (!met.is_empty()).then(|| {
            format!(
                "{} of {} runs were disturbed by other programs or by the hypervisor{by}: that alone can explain differences between their \
                 throughputs and latencies.",
                met.len(),
                complete().count()
            )
        })
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
