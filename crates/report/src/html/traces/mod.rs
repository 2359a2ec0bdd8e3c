//! The page of Traces: what ran, what it paid, and how that is known.

mod advice;
mod answer;
mod cgroups;
mod distributions;
mod interrupts;
mod over_time;
mod pairs;
mod processors;
mod recording;
mod spans;
mod stacks;
mod stalls;
mod tasks;
mod timeline;
mod totals;
mod waits;

use swtch_cost::{Advice, Bill, Caveat, CostModel, Inputs, Price, Why, advise, bill, caveats};
use swtch_topology::Host;
use swtch_trace::Trace;
use swtch_trace::model::{Ended, Origin, Scope, Unavailable};

use super::NamedProfile;
use super::prelude::*;
use super::sections::host;
use crate::recording::{Summary, sampled};
use crate::why::headline;

/// The Traces on the page.
type Traces<'a> = Subjects<'a, PricedTrace>;

/// A Trace and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct PricedTrace {
    trace: Trace,
    bill: Bill,
    caveats: Vec<Caveat>,
    advice: Vec<Advice>,
    prices: Option<Prices>,
    /// What made its slow spans slow, or why that is not known; absent without spans.
    spans: Option<Result<Vec<Why>, String>>,
}

/// Where the prices come from.
#[derive(Clone, Debug, PartialEq)]
struct Prices {
    name: String,
    host: Host,
}

impl Named<PricedTrace> {
    /// Prices `trace` by a Profile, where there is one, and in money, where a price is given.
    pub fn new(
        name: impl Into<String>,
        trace: Trace,
        prices: Option<&NamedProfile>,
        price: Option<Price>,
    ) -> Self {
        let model = prices.map(|prices| CostModel::of(&prices.document));
        let inputs = Inputs { trace: trace.view(), model: model.as_ref(), price };
        let bill = bill(inputs);
        let (caveats, advice) = (caveats(inputs, &bill), advise(inputs, &bill));
        let prices =
            prices.map(|prices| Prices { name: prices.name.clone(), host: prices.document.host.clone() });
        Self {
            name: name.into(),
            document: PricedTrace { trace, bill, caveats, advice, prices, spans: None },
        }
    }

    /// Adds what made its slow spans slow, or why that is not known.
    #[must_use]
    pub fn with_spans(mut self, spans: Option<Result<Vec<Why>, String>>) -> Self {
        self.document.spans = spans;
        self
    }
}

impl PricedTrace {
    fn summary(&self) -> Summary<'_> {
        let Self { trace, bill, caveats, .. } = self;
        Summary { trace: trace.view(), bill, caveats, advice: None }
    }

    /// Length of the run, at least one nanosecond.
    fn duration_ns(&self) -> f64 {
        self.trace.header.duration_ns.max(1) as f64
    }
}

impl Subject for PricedTrace {
    const KIND: &'static str = "Trace";
    const HEAD: &'static str = "Trace";
    const NOTHING: ReportError = ReportError::NoTraces;
    const TILES: &'static [KeyFigure<Self>] = &answer::TILES;

    fn origin(&self) -> String {
        format!("source {}", self.trace.header.provenance.recorder)
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        self.trace.header.unavailable.iter().collect()
    }

    fn line(&self) -> String {
        let header = &self.trace.header;
        let mut parts =
            vec![text::shortened(&scope_phrase(&header.scope), 90), text::moment(self.duration_ns())];
        parts.extend(host::words(&header.host));
        parts.push(text::date(header.provenance.started_unix_ns / 1_000_000_000));
        if header.provenance.origin != Origin::Recorded {
            parts.insert(0, format!("{}, not recorded", origin(header.provenance.origin)));
        }
        parts.retain(|part| !part.is_empty());
        parts.join(" · ")
    }

    /// A recording that did not finish, events that were lost, foreign prices.
    fn notices(&self) -> Vec<String> {
        let header = &self.trace.header;
        let mut notices = Vec::new();
        match header.provenance.ended {
            Ended::Complete | Ended::Duration => {}
            Ended::Recording => notices.push(
                "This Trace did not finish: it is still being recorded, or its recorder was killed. The page shows what was \
                 written until then; the totals may be a few seconds older than the tables."
                    .to_owned(),
            ),
            ended => notices.push(format!("The recording ended early: {ended}. The page shows what came before.")),
        }
        let lost: u64 = header.lost.iter().map(|lost| lost.events).sum();
        if lost > 0 {
            notices.push(format!(
                "{} events were lost: every count is too low by some of them. “How it was recorded” lists which, and \
                 where.",
                text::count(lost)
            ));
        }
        notices.extend(sampled(header).map(|words| words + "."));
        if let Some(prices) = &self.prices
            && (&prices.host.architecture, &prices.host.cpu_model)
                != (&header.host.architecture, &header.host.cpu_model)
        {
            notices.push(format!(
                "The prices come from {}, which was measured on another CPU model.",
                prices.name
            ));
        }
        notices
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        let slow = self.spans.as_ref().and_then(|spans| spans.as_ref().ok()?.first());
        [answer::sentence(self)].into_iter().chain(slow.map(headline)).collect()
    }

    fn written(&self) -> String {
        let run = &self.trace.header.provenance;
        format!("{} by {}, swtch {}", origin(run.origin), run.recorder, run.swtch_version)
    }

    fn title(subjects: Subjects<'_, Self>) -> String {
        let what = match subjects.0 {
            [only] => match &only.document.trace.header.scope {
                Scope::Machine => "the whole machine".to_owned(),
                scope => scope_phrase(scope),
            },
            _ => subjects.names(),
        };
        format!("What context switches cost {}", text::shortened(&what, 120))
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        let mut sections = Vec::from_iter(advice::section(subjects));
        sections.extend(spans::section(subjects));
        sections.extend([
            totals::section(subjects),
            over_time::section(subjects),
            processors::section(subjects),
            tasks::section(subjects),
        ]);
        sections.extend(cgroups::section(subjects));
        sections.extend(stacks::section(subjects));
        sections.extend([
            waits::section(subjects),
            pairs::section(subjects),
            distributions::section(subjects),
            interrupts::section(subjects),
            stalls::section(subjects),
            recording::section(subjects),
            host::section(subjects, |priced| &priced.trace.header.host),
        ]);
        sections
    }

    fn footer(written: &[String]) -> String {
        let written = text::capitalised(&written.join("; "));
        format!("{written}. A figure that is not known is a dash, never a zero.")
    }
}

/// What was recorded.
fn scope_phrase(scope: &Scope) -> String {
    match scope {
        Scope::Command { command, .. } => format!("“{}”", command.join(" ")),
        Scope::Processes { pids } => {
            let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
            format!("{} {}", if pids.len() == 1 { "process" } else { "processes" }, text::joined(&pids))
        }
        Scope::Cgroup { path } => format!("cgroup {path}"),
        Scope::Machine => "every task on the machine".to_owned(),
    }
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Recorded => "recorded",
        Origin::Imported => "imported",
        Origin::Simulated => "simulated",
    }
}
