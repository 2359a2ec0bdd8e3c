//! When a single invocation ran and when it stood still.

use swtch_faas::response::Timeline;
use swtch_faas::{Document, Response};

use super::figures::{tier_look, tier_names, typical};
use super::{Functions, THROTTLING, responses, studies};
use crate::html::prelude::*;

const INTRO: &str = "A thread that only reads the clock sees the gaps in which it did not run; it needs no counter and no privilege. Under a quota the gaps end where a \
                     period begins; short gaps elsewhere are other programs’ time.";

/// One invocation over time, its name and its colour.
type Watched<'a> = (String, String, &'a Response, Timeline);

/// The section.
pub(super) fn section(subjects: Functions<'_>) -> Section {
    let of_studies = studies(subjects).next().is_some();
    let all = watched(subjects);
    let timed = |response: &Response| response.timeline().is_some();
    let has = |document: &Document| match document {
        Document::Response(response) => timed(response),
        Document::Tiers(tiers) => tiers.responses().any(timed),
    };
    Section::new("gaps", "When it ran and when it stood still", INTRO)
        .put((!all.is_empty()).then(|| figure(&all, of_studies)))
        .put(subjects.lacking("gaps over time", &[THROTTLING], has))
}

fn watched(subjects: Functions<'_>) -> Vec<Watched<'_>> {
    let single = responses(subjects).map(|(one, response)| {
        let label = one.name().unwrap_or_else(|| super::place(response));
        (label, one.colour(), response)
    });
    let names = tier_names(subjects);
    let of_tiers = studies(subjects).flat_map(|(one, tiers)| {
        names.iter().enumerate().filter_map(move |(place, tier)| {
            let look = if subjects.several() { one.look(0) } else { tier_look(place) };
            Some((one.prefixed(tier), look.class(), typical(tiers, tier)?))
        })
    });
    let all = single.chain(of_tiers);
    all.filter_map(|(label, colour, response)| Some((label, colour, response, response.timeline()?)))
        .collect()
}

fn figure(all: &[Watched<'_>], of_studies: bool) -> Figure {
    let caption = if of_studies {
        "When one invocation of each tier ran and when it stood still: the one whose time standing still is the median."
    } else {
        "When the invocation ran and when it stood still."
    };
    let row = |(label, _, response, timeline): &Watched<'_>| {
        let gaps = &timeline.gaps;
        let lengths = || gaps.iter().map(|(_, length)| *length as f64);
        let between = gaps.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0 + pair[0].1) as f64);
        let left_out = response.throttling.as_ref().map_or(0, |throttling| throttling.gaps_left_out);
        let cells = vec![
            Cell::time("Watched", timeline.length_ns),
            Cell::figure("Standing still", timeline.share_in_gaps(), text::percent),
            Cell::number("Gaps", text::count(gaps.len() as u64)),
            Cell::figure("Longest", lengths().reduce(f64::max), text::ns),
            Cell::figure("Middle one", median(lengths()), text::ns),
            Cell::figure("Ran between, median", median(between), text::ns),
            Cell::number("Not in the list", text::count(left_out)),
        ];
        TableRow::new(label, cells)
    };
    let lane = |(label, colour, _, timeline): &Watched<'_>| {
        let gap = |(start, length): &(u64, u64)| Gap { from: *start as f64, to: (start + length) as f64 };
        let gaps = timeline.gaps.iter().map(gap).collect();
        Lane { label: label.clone(), colour: colour.clone(), length: timeline.length_ns as f64, gaps }
    };
    let table = Table::new(caption, "Invocation", all.iter().map(row));
    let lanes: Vec<Lane> = all.iter().map(lane).collect();
    let legend = vec![block_item("fill ink", "running"), idle_item("standing still")];
    Figure::new("figure-gaps", caption, caption, table, &lanes).legend(legend)
}
