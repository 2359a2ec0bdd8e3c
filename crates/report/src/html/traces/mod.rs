//! The page of Traces: what ran, what it paid, and how that is known.

mod advice;
mod answer;
mod cgroups;
mod distributions;
mod interrupts;
mod metrics;
mod over_time;
mod pairs;
mod processors;
mod recording;
mod stalls;
mod tasks;
mod timeline;
mod totals;

use swtch_cost::{Advice, Bill, Caveat, CostModel, Inputs, Price, advise, bill, caveats};
use swtch_topology::Host;
use swtch_trace::Trace;
use swtch_trace::model::{Ended, Origin, Scope, Unavailable};

use super::page::{Block, Notice, Page, Section};
use super::sections::{Subject, Subjects, host};
use super::{NamedProfile, SCRIPT, STYLE, text};
use crate::recording::Summary;

/// The Traces on the page.
type Traces<'a> = Subjects<'a, NamedTrace>;

/// A Trace, the name it goes by on the page, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTrace {
    name: String,
    trace: Trace,
    bill: Bill,
    caveats: Vec<Caveat>,
    advice: Vec<Advice>,
    prices: Option<Prices>,
}

/// Where the prices come from.
#[derive(Clone, Debug, PartialEq)]
struct Prices {
    name: String,
    host: Host,
}

impl NamedTrace {
    /// Prices `trace` by a Profile, where there is one, and in money, where a price is given.
    pub fn new(
        name: impl Into<String>,
        trace: Trace,
        prices: Option<&NamedProfile>,
        price: Option<Price>,
    ) -> Self {
        let model = prices.map(|prices| CostModel::of(&prices.profile));
        let inputs = Inputs::of(&trace, model.as_ref(), price);
        let bill = bill(inputs);
        let (caveats, advice) = (caveats(inputs, &bill), advise(inputs, &bill));
        let prices =
            prices.map(|prices| Prices { name: prices.name.clone(), host: prices.profile.host.clone() });
        Self { name: name.into(), trace, bill, caveats, advice, prices }
    }

    fn summary(&self) -> Summary<'_> {
        let Self { trace, bill, caveats, .. } = self;
        let swtch_trace::Trace { header, tasks, preemptions, cgroups, interrupts, .. } = trace;
        Summary { header, tasks, preemptions, cgroups, interrupts, bill, caveats, advice: None }
    }

    /// Length of the run, at least one nanosecond.
    fn duration_ns(&self) -> f64 {
        self.trace.header.duration_ns.max(1) as f64
    }
}

impl Subject for NamedTrace {
    const KIND: &'static str = "Trace";
    const HEAD: &'static str = "Trace";

    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> String {
        format!("source {}", self.trace.header.provenance.recorder)
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        self.trace.header.unavailable.iter().collect()
    }
}

/// The page as data.
pub(super) fn page(subjects: Traces<'_>) -> Page {
    let (subtitle, profiles) = subjects.in_lines(circumstances);
    Page {
        title: title(subjects),
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
fn sections(subjects: Traces<'_>) -> Vec<Section> {
    let machine =
        subjects.fact_table("Facts about the machine", |named| host::facts(&named.trace.header.host));
    let mut sections = Vec::new();
    sections.extend(advice::section(subjects));
    sections.extend([
        totals::section(subjects),
        over_time::section(subjects),
        processors::section(subjects),
        tasks::section(subjects),
    ]);
    sections.extend(cgroups::section(subjects));
    sections.extend([
        pairs::section(subjects),
        distributions::section(subjects),
        interrupts::section(subjects),
        stalls::section(subjects),
        recording::section(subjects),
        Section { id: "machine", title: "The machine", blocks: vec![Block::Table(machine)] },
    ]);
    sections
}

fn title(subjects: Traces<'_>) -> String {
    let what = if subjects.several() {
        let names: Vec<String> = subjects.iter().map(|(_, named)| named.name.clone()).collect();
        text::joined(&names)
    } else {
        match &subjects.0[0].trace.header.scope {
            Scope::Machine => "the whole machine".to_owned(),
            scope => scope_phrase(scope),
        }
    };
    format!("What context switches cost {}", text::shortened(&what, 120))
}

/// What was recorded.
fn scope_phrase(scope: &Scope) -> String {
    match scope {
        Scope::Command { command, .. } => format!("“{}”", command.join(" ")),
        Scope::Processes { pids } => {
            let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
            format!("{} {}", if pids.len() == 1 { "process" } else { "processes" }, text::joined(&pids))
        }
        Scope::Cgroup { path } => format!("control group {path}"),
        Scope::Machine => "every task on the machine".to_owned(),
    }
}

/// The run in a line.
fn circumstances(named: &NamedTrace) -> String {
    let header = &named.trace.header;
    let mut parts =
        vec![text::shortened(&scope_phrase(&header.scope), 90), text::moment(named.duration_ns())];
    parts.extend(host::words(&header.host));
    parts.push(text::date(header.provenance.started_unix_ns / 1_000_000_000));
    if header.provenance.origin != Origin::Recorded {
        parts.insert(0, format!("{}, not recorded", origin(header.provenance.origin)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Recorded => "recorded",
        Origin::Imported => "imported",
        Origin::Simulated => "simulated",
    }
}

/// What must be known before a figure is read: a recording that did not finish, events that were lost, foreign prices.
fn notices(subjects: Traces<'_>) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (i, named) in subjects.iter() {
        let header = &named.trace.header;
        let mut say = |text: String| {
            notices.push(Notice { text: subjects.prefixed(i, &text), items: Vec::new() });
        };
        match header.provenance.ended {
            Ended::Complete | Ended::Duration => {}
            Ended::Recording => say(
                "This Trace did not finish: it is still being recorded, or its recorder was killed. What was written until \
                 then is shown; the totals may be a few seconds older than the tables."
                    .to_owned(),
            ),
            ended => say(format!("The recording ended early: {ended}. What came before is shown.")),
        }
        let lost: u64 = header.lost.iter().map(|lost| lost.events).sum();
        if lost > 0 {
            say(format!(
                "{} events were lost: every count is too low by some of them. Which, and where, stands under “How it was \
                 recorded”.",
                text::count(lost)
            ));
        }
        if let Some(prices) = &named.prices
            && (&prices.host.architecture, &prices.host.cpu_model)
                != (&header.host.architecture, &header.host.cpu_model)
        {
            say(format!("The prices come from {}, which was measured on another processor.", prices.name));
        }
    }
    notices
}

fn colophon(subjects: Traces<'_>) -> String {
    let sources: Vec<String> = subjects
        .iter()
        .map(|(i, named)| {
            let run = &named.trace.header.provenance;
            let line = format!("{} by {}, swtch {}", origin(run.origin), run.recorder, run.swtch_version);
            subjects.prefixed(i, &line)
        })
        .collect();
    format!("{}. A figure that is not known is a dash, never a zero.", text::capitalised(&sources.join("; ")))
}
