//! The page of serverless functions: what switches and throttling cost them, by memory tier, execution time, language and place.

mod answer;
mod cold;
mod figures;
mod gaps;
mod machine;
mod measured;
mod money;
mod own;
mod quota;
mod sides;
mod tiers;
mod work;

use swtch_faas::tiers::{Ending, Function};
use swtch_faas::{Document, Response, Tiers};
use swtch_topology::{Field, Unavailable};

use super::prelude::*;
use super::sections::host;

/// How the function was stopped, among what may be missing.
const THROTTLING: Field = Field::new("throttling");

/// The documents on the page.
type Functions<'a> = Subjects<'a, Document>;

impl Subject for Document {
    const KIND: &'static str = "document";
    const HEAD: &'static str = "Document";
    const NOTHING: ReportError = ReportError::NoFunctions;
    const TILES: &'static [KeyFigure<Self>] = &answer::TILES;

    fn origin(&self) -> String {
        match self {
            Document::Response(response) => format!("one invocation, {}", place(response)),
            Document::Tiers(tiers) => format!("tiers of {}", tiers.tier_set.name),
        }
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        match self {
            Document::Response(response) => distinct(&response.unavailable),
            Document::Tiers(tiers) => {
                let of_responses = tiers.responses().flat_map(|response| &response.unavailable);
                distinct(tiers.unavailable.iter().chain(of_responses))
            }
        }
    }

    fn line(&self) -> String {
        let (mut parts, created_at) = match self {
            Document::Response(response) => {
                let start = if response.invocation.cold { "a cold start" } else { "a warm start" };
                let mut parts = vec![runtime(response), place(response), start.to_owned()];
                parts.extend(machine::words(&response.host));
                (parts, &response.created_at)
            }
            Document::Tiers(tiers) => {
                let counted = |count: usize, of: &str| {
                    format!("{} {of}{}", text::count(count as u64), if count == 1 { "" } else { "s" })
                };
                let local = "under this machine’s cgroups";
                let mut parts = vec![
                    counted(tiers.invocations.len(), "invocation"),
                    format!("{} of {}", counted(tiers.tiers.len(), "tier"), tiers.tier_set.name),
                    if tiers.function.deployed { "deployed" } else { local }.to_owned(),
                ];
                parts.extend(tiers.function.language.as_deref().map(|name| language(name).to_owned()));
                parts.extend(host::words(&tiers.host));
                (parts, &tiers.provenance.created_at)
            }
        };
        parts.push(created_at.chars().take(10).collect());
        parts.join(" · ")
    }

    /// Other programs' load, invocations that failed, prices that are old.
    fn notices(&self) -> Vec<String> {
        let Some(tiers) = self.tiers() else { return Vec::new() };
        let mut notices = Vec::new();
        if tiers.is_old() {
            notices.push(
                "An older swtch wrote this study, and its tiers did different amounts of work, so this page does not compare them. Run it again."
                    .to_owned(),
            );
        }
        if let Some(share) = tiers.disturbed() {
            notices.push(format!(
                "Unthrottled work waited for a CPU for {:.0} % of its time: other programs used this machine, and latencies and slow-downs are worse than they are without.",
                share * 100.0
            ));
        }
        let failed = tiers.invocations.iter().filter(|one| one.outcome != Ending::Complete).count();
        if failed > 0 {
            notices.push(format!(
                "{failed} of {} invocations did not complete; “How it was measured” says which and why.",
                text::count(tiers.invocations.len() as u64)
            ));
        }
        if let Some(price) = machine::oldest_price(tiers).filter(|price| machine::is_old(price, tiers)) {
            notices.push(format!(
                "The prices of {} are from {}, more than a year before the study: look them up again before deciding by money.",
                price.platform, price.dated
            ));
        }
        notices
    }

    fn answer(&self, alone: bool) -> Vec<String> {
        answer::sentences(self, alone)
    }

    fn written(&self) -> String {
        match self {
            Document::Response(response) => {
                format!("{} handler {}", language(&response.handler.language), response.handler.version)
            }
            Document::Tiers(tiers) => {
                let provenance = &tiers.provenance;
                format!("swtch {}, {}", provenance.swtch_version, provenance.command.join(" "))
            }
        }
    }

    fn title(subjects: Subjects<'_, Self>) -> String {
        let whom = match subjects.0 {
            [only] => function(&only.document),
            _ => format!("functions: {}", subjects.names()),
        };
        format!("What switches and throttling cost {}", text::shortened(&whom, 120))
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        let mut sections = Vec::from_iter(answer::advice(subjects));
        sections.extend(sides::languages(subjects));
        sections.extend(tiers::section(subjects));
        sections.extend(sides::places(subjects));
        sections.extend(work::section(subjects));
        sections.extend(money::section(subjects));
        sections.extend(cold::section(subjects));
        sections.extend(own::section(subjects));
        sections.push(gaps::section(subjects));
        sections.push(quota::section(subjects));
        sections.push(measured::section(subjects));
        sections.push(machine::section(subjects));
        sections
    }

    fn footer(written: &[String]) -> String {
        format!("{}. A figure that is not known is a dash, never a zero.", written.join(" · "))
    }
}

/// What was invoked, in the title.
fn function(document: &Document) -> String {
    match document {
        Document::Response(response) => format!("a {} function", language(&response.handler.language)),
        Document::Tiers(tiers) => {
            let Function { kind, language: written_in, name, deployed, .. } = &tiers.function;
            let ours = written_in.as_ref().filter(|_| kind == "handler" && !deployed);
            let function = ours.map_or_else(|| name.clone(), |name| format!("a {} function", language(name)));
            if *deployed { function } else { format!("{function} on {}", tiers.machine_name) }
        }
    }
}

/// The studies of tiers among the documents.
fn studies(subjects: Functions<'_>) -> impl Iterator<Item = (One<'_, Document>, &Tiers)> {
    subjects.iter().filter_map(|one| Some((one, one.of.tiers()?)))
}

/// The single responses among the documents.
fn responses(subjects: Functions<'_>) -> impl Iterator<Item = (One<'_, Document>, &Response)> {
    subjects.iter().filter_map(|one| Some((one, one.of.response()?)))
}

/// A language as its people write it.
fn language(name: &str) -> &str {
    match name {
        "python" => "Python",
        "node" => "Node.js",
        "go" => "Go",
        "java" => "Java",
        "rust" => "Rust",
        other => other,
    }
}

/// A platform, and its tier where it has one: `AWS Lambda, 128 MB`.
fn place(response: &Response) -> String {
    let platform = &response.platform;
    let name = match platform.name.as_str() {
        "lambda" => "AWS Lambda",
        "gcf" => "Cloud Functions",
        "knative" => "Knative",
        "openfaas" => "OpenFaaS",
        "local" => "on this machine",
        other => other,
    };
    platform.memory_mb.map_or_else(|| name.to_owned(), |memory| format!("{name}, {memory}\u{a0}MB"))
}

/// `Python: CPython 3.11.2, glibc`.
fn runtime(response: &Response) -> String {
    let handler = &response.handler;
    let mut words = language(&handler.language).to_owned();
    if let Some(runtime) = &handler.runtime {
        words.push_str(&format!(": {runtime}"));
    }
    words.extend(handler.runtime_version.iter().map(|version| format!(" {version}")));
    words.extend(handler.libc.iter().map(|libc| format!(", {libc}")));
    words
}
