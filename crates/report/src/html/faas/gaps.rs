//! When a single invocation ran and when it stood still.

use super::super::charts::markers::{block_item, idle_item};
use super::super::charts::stretches::{self, Gap, Lane};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::{median, text};
use super::figures::{tier_look, tier_names, typical};
use super::{Functions, NamedFaas, THROTTLING, responses, studies};
use swtch_faas::Response;
use swtch_faas::response::Timeline;

const INTRO: &str = "A thread that does nothing but read the clock sees when it was not let run: no counter and no privilege is needed. Under a quota the gaps end where \
                     a period begins; short ones elsewhere are other programs’ turns.";

/// One invocation over time, and whose it is.
struct Watched {
    label: String,
    colour: String,
    timeline: Timeline,
    left_out: u64,
}

/// The section.
pub(super) fn section(subjects: Functions<'_>) -> Section {
    let mut section = Section::new("gaps", "When it ran and when it stood still", INTRO);
    let all = watched(subjects);
    section.put(figure(&all, studies(subjects).next().is_some()));
    section.put(subjects.lacking("gaps over time", |field| field.is_of(&[THROTTLING]), has));
    section
}

fn has(named: &NamedFaas) -> bool {
    let timed = |response: &Response| response.timeline().is_some();
    match (named.response(), named.tiers()) {
        (Some(response), _) => timed(response),
        (_, Some(tiers)) => {
            tiers.invocations.iter().filter_map(|invocation| invocation.response.as_ref()).any(timed)
        }
        (None, None) => false,
    }
}

fn watched(subjects: Functions<'_>) -> Vec<Watched> {
    let mut all = Vec::new();
    let mut watch = |label: String, colour: String, response: &Response| {
        let left_out = response.throttling.as_ref().map_or(0, |throttling| throttling.gaps_left_out);
        all.extend(response.timeline().map(|timeline| Watched { label, colour, timeline, left_out }));
    };
    for (i, response) in responses(subjects) {
        let label = subjects.name(i).unwrap_or_else(|| super::place(response));
        watch(label, subjects.colour(i), response);
    }
    let names = tier_names(subjects);
    for (i, tiers) in studies(subjects) {
        for (place, tier) in names.iter().enumerate() {
            if let Some(response) = typical(tiers, tier) {
                let look = if subjects.several() { subjects.look(i, 0) } else { tier_look(place) };
                watch(subjects.prefixed(i, tier), look.class(), response);
            }
        }
    }
    all
}

fn figure(all: &[Watched], of_studies: bool) -> Option<Figure> {
    if all.is_empty() {
        return None;
    }
    let caption = if of_studies {
        "When one invocation of each tier ran and when it stood still: the one that stood still for a middling time."
    } else {
        "When the invocation ran and when it stood still."
    };
    let mut table = Table::new(caption, "Invocation");
    let lane = |watched: &Watched| {
        let Timeline { length_ns, gaps } = &watched.timeline;
        let lengths = || gaps.iter().map(|(_, length)| *length as f64);
        let between = gaps.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0 + pair[0].1) as f64);
        let cells = vec![
            Cell::time("Watched", *length_ns),
            Cell::figure("Standing still", Some(watched.timeline.share_in_gaps()), text::percent),
            Cell::number("Gaps", text::count(gaps.len() as u64)),
            Cell::figure("Longest", lengths().reduce(f64::max), text::ns),
            Cell::figure("Middle one", median(lengths()), text::ns),
            Cell::figure("Ran between, middle one", median(between), text::ns),
            Cell::number("Not in the list", text::count(watched.left_out)),
        ];
        table.row(watched.label.clone(), cells);
        let gap = |(start, length): &(u64, u64)| Gap { from: *start as f64, to: (start + length) as f64 };
        Lane {
            label: watched.label.clone(),
            colour: watched.colour.clone(),
            length: *length_ns as f64,
            gaps: gaps.iter().map(gap).collect(),
        }
    };
    let lanes: Vec<Lane> = all.iter().map(lane).collect();
    let legend = vec![block_item("fill ink", "running"), idle_item("standing still")];
    let draw = |size| stretches::draw(&lanes, caption, size);
    Some(Figure::new("figure-gaps", caption, table, draw).legend(legend))
}
