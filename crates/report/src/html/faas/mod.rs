//! The page of serverless functions: what switches and throttling cost them, by memory tier, execution time, language and place.

mod answer;
mod figures;
mod gaps;
mod machine;
mod measured;
mod money;
mod quota;
mod sides;
mod tiers;
mod work;

use swtch_faas::tiers::Outcome;
use swtch_faas::{Document, Response, Tiers};
use swtch_topology::{Field, Unavailable};

use super::page::{Block, Notice, Page, Section, Table};
use super::sections::{Subject, Subjects, host};
use super::{SCRIPT, STYLE, text};

/// How the function was stopped, among what may be missing.
const THROTTLING: Field = Field::new("throttling");

/// The documents on the page.
type Functions<'a> = Subjects<'a, NamedFaas>;

/// A document and the name it goes by on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFaas {
    /// A label: the file's stem, or the folder's name.
    pub name: String,
    /// The figures.
    pub document: Document,
}

impl Subject for NamedFaas {
    const KIND: &'static str = "document";
    const HEAD: &'static str = "Document";

    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> String {
        match &self.document {
            Document::Response(response) => format!("one invocation, {}", place(response)),
            Document::Tiers(tiers) => format!("tiers of {}", tiers.tier_set.name),
        }
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        let mut all: Vec<&Unavailable> = match &self.document {
            Document::Response(response) => response.unavailable.iter().collect(),
            Document::Tiers(tiers) => {
                let responses =
                    tiers.invocations.iter().filter_map(|invocation| invocation.response.as_ref());
                tiers.unavailable.iter().chain(responses.flat_map(|response| &response.unavailable)).collect()
            }
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl NamedFaas {
    fn tiers(&self) -> Option<&Tiers> {
        match &self.document {
            Document::Tiers(tiers) => Some(tiers),
            Document::Response(_) => None,
        }
    }

    fn response(&self) -> Option<&Response> {
        match &self.document {
            Document::Response(response) => Some(response),
            Document::Tiers(_) => None,
        }
    }

    /// Whether it ran where functions are deployed.
    fn deployed(&self) -> bool {
        match &self.document {
            Document::Response(response) => response.deployed(),
            Document::Tiers(tiers) => tiers.function.deployed,
        }
    }

    fn created_at(&self) -> &str {
        match &self.document {
            Document::Response(response) => &response.created_at,
            Document::Tiers(tiers) => &tiers.provenance.created_at,
        }
    }
}

/// The studies of tiers among the documents.
fn studies(subjects: Functions<'_>) -> impl Iterator<Item = (usize, &Tiers)> {
    subjects.iter().filter_map(|(i, named)| Some((i, named.tiers()?)))
}

/// The single responses among the documents.
fn responses(subjects: Functions<'_>) -> impl Iterator<Item = (usize, &Response)> {
    subjects.iter().filter_map(|(i, named)| Some((i, named.response()?)))
}

/// A language as its people write it.
fn language(name: &str) -> &str {
    match name {
        "python" => "Python",
        "node" => "Node.js",
        "go" => "Go",
        "java" => "Java",
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

/// The page as data.
pub(super) fn page(subjects: Functions<'_>) -> Page {
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
fn sections(subjects: Functions<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    sections.extend(answer::advice(subjects));
    sections.extend(sides::languages(subjects));
    sections.extend(tiers::section(subjects));
    sections.extend(sides::places(subjects));
    sections.extend(work::section(subjects));
    sections.extend(money::section(subjects));
    sections.push(gaps::section(subjects));
    sections.push(quota::section(subjects));
    sections.push(measured::section(subjects));
    sections.push(machine::section(subjects));
    sections
}

fn title(subjects: Functions<'_>) -> String {
    let whom = match subjects.0 {
        [only] => match &only.document {
            Document::Response(response) => format!("a {} function", language(&response.handler.language)),
            Document::Tiers(tiers) if tiers.function.deployed => tiers.function.name.clone(),
            Document::Tiers(tiers) => {
                let ours = tiers.function.language.as_ref().filter(|_| tiers.function.kind == "handler");
                let function = ours.map_or_else(
                    || tiers.function.name.clone(),
                    |name| format!("a {} function", language(name)),
                );
                format!("{function} on {}", tiers.machine_name)
            }
        },
        several => {
            let names: Vec<String> = several.iter().map(|named| named.name.clone()).collect();
            format!("functions: {}", text::joined(&names))
        }
    };
    format!("What switches and throttling cost {}", text::shortened(&whom, 120))
}

/// A document in a line.
fn circumstances(named: &NamedFaas) -> String {
    let mut parts = match &named.document {
        Document::Response(response) => {
            let mut parts = vec![runtime(response), place(response)];
            parts.push(if response.invocation.cold { "a cold start" } else { "a warm start" }.to_owned());
            parts.extend(machine::words(&response.host));
            parts
        }
        Document::Tiers(tiers) => {
            let counted = |count: usize, of: &str| {
                format!("{} {of}{}", text::count(count as u64), if count == 1 { "" } else { "s" })
            };
            let mut parts = vec![
                counted(tiers.invocations.len(), "invocation"),
                format!("{} of {}", counted(tiers.tiers.len(), "tier"), tiers.tier_set.name),
                if tiers.function.deployed { "deployed" } else { "under this machine’s control groups" }
                    .to_owned(),
            ];
            parts.extend(tiers.function.language.as_deref().map(|name| language(name).to_owned()));
            parts.extend(host::words(&tiers.host));
            parts
        }
    };
    parts.push(named.created_at().chars().take(10).collect());
    parts.join(" · ")
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

/// What the reader must know first: other programs' load, invocations that failed, prices that are old.
fn notices(subjects: Functions<'_>) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (i, tiers) in studies(subjects) {
        let mut say = |text: &str| {
            notices.push(Notice { text: subjects.prefixed(i, text), items: Vec::new() });
        };
        if tiers.is_old() {
            say(
                "An older swtch wrote this study, and its tiers did different amounts of work: nothing here compares them. Run it again.",
            );
        }
        if let Some(share) = tiers.disturbed() {
            say(&format!(
                "Unthrottled work waited for a CPU for {:.0} % of its time: other programs used this machine, and latencies and slow-downs are worse than they are without.",
                share * 100.0
            ));
        }
        let failed =
            tiers.invocations.iter().filter(|invocation| invocation.outcome != Outcome::Complete).count();
        if failed > 0 {
            say(&format!(
                "{failed} of {} invocations did not complete; “How it was measured” says which and why.",
                text::count(tiers.invocations.len() as u64)
            ));
        }
        if let Some(price) = machine::oldest_price(tiers).filter(|price| machine::is_old(price, tiers)) {
            say(&format!(
                "The prices of {} are from {}, more than a year before the study: look them up again before deciding by money.",
                price.platform, price.dated
            ));
        }
    }
    notices
}

fn colophon(subjects: Functions<'_>) -> String {
    let written = |(i, named): (usize, &NamedFaas)| {
        let line = match &named.document {
            Document::Response(response) => {
                format!("{} handler {}", language(&response.handler.language), response.handler.version)
            }
            Document::Tiers(tiers) => {
                let provenance = &tiers.provenance;
                format!("swtch {}, {}", provenance.swtch_version, provenance.command.join(" "))
            }
        };
        subjects.prefixed(i, &line)
    };
    let written: Vec<String> = subjects.iter().map(written).collect();
    format!("{}. A figure that is not known is a dash, never a zero.", written.join(" · "))
}

/// A section's tables and figures, unless there are none.
fn unless_empty(id: &'static str, title: &'static str, intro: &str, blocks: Vec<Block>) -> Option<Section> {
    if blocks.is_empty() {
        return None;
    }
    let blocks = std::iter::once(Block::paragraph(intro)).chain(blocks).collect();
    Some(Section { id, title, blocks })
}

/// A table that can be put in another order.
fn sortable(caption: &str, head: &[&str]) -> Table {
    Table { sortable: true, ..Table::new(caption, head) }
}
