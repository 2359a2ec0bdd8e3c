//! The page of studies: what workloads do under many settings, and what to change.

mod answer;
mod interrupts;
mod latency;
mod models;
mod over_time;
mod runs;
mod settings;

use swtch_study::Study;
use swtch_study::model::{CpuUse, Run, Runtime};
use swtch_topology::Unavailable;

use super::prelude::*;
use super::sections::host;

/// The studies on the page.
type Studies<'a> = Subjects<'a, Study>;

impl Subject for Study {
    const KIND: &'static str = "study";
    const HEAD: &'static str = "Study";
    const NOTHING: ReportError = ReportError::NoStudies;
    const TILES: &'static [KeyFigure<Self>] = &answer::TILES;

    fn origin(&self) -> String {
        self.provenance.runtime.as_ref().map_or_else(|| self.kind.clone(), runtime)
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        let of_runs = self.runs.iter().flat_map(|run| &run.unavailable);
        distinct(self.unavailable.iter().chain(of_runs))
    }

    fn line(&self) -> String {
        let Study { host, provenance, runs, .. } = self;
        let mut parts = vec![format!("{} runs", text::count(runs.len() as u64))];
        parts.extend(provenance.runtime.as_ref().map(runtime));
        parts.extend(host::words(host));
        parts.push(provenance.created_at.chars().take(10).collect());
        parts.join(" · ")
    }

    fn notices(&self) -> Vec<String> {
        let sentence = "An older swtch wrote this study. Its CPU times are left out because they exceeded \
                        the CPUs’. Its advice was not corrected for the number of comparisons. Run it again.";
        self.is_older().then(|| sentence.to_owned()).into_iter().collect()
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        answer::sentences(self)
    }

    fn written(&self) -> String {
        let provenance = &self.provenance;
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
        sections.push(host::section(subjects, |study| &study.host).put(subjects.all_reasons()));
        sections
    }
}

/// What is large enough to explain the figures, in a sentence; nothing when no run was disturbed.
fn interference(study: &Study) -> Option<String> {
    let met: Vec<&Run> = study.complete().filter(|run| run.disturbed.is_some()).collect();
    let share = |part: fn(&CpuUse) -> Option<u64>| {
        let shares = met.iter().filter_map(|run| run.cpu.and_then(|cpu| cpu.share(part(&cpu))));
        median(shares).filter(|share| *share >= 0.005).map(text::percent)
    };
    let others = share(|cpu| cpu.foreign_ns).map(|share| format!("others used {share} of the CPUs"));
    let stolen = share(|cpu| cpu.steal_ns).map(|share| format!("the hypervisor took {share}"));
    let by: Vec<String> = others.into_iter().chain(stolen).collect();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    (!met.is_empty()).then(|| {
        format!(
            "{} of {} runs were disturbed by other programs or by the hypervisor{by}: that alone can explain differences between their \
             throughputs and latencies.",
            met.len(),
            study.complete().count()
        )
    })
}

fn runtime(runtime: &Runtime) -> String {
    let version = runtime.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    format!("{}{version}", runtime.name)
}
