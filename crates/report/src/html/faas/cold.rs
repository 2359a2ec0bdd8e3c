//! Cold starts: what a new process takes, by tier.

use swtch_faas::tiers::ColdStart;

use super::figures::cells;
use super::money::million;
use super::{Functions, studies};
use crate::html::prelude::*;

const INTRO: &str = "A new process starts its runtime, then loads the function, and its first call is slower than later ones. The bill is \
                     that of the first call, with the start where the platform bills it. Where a platform gives new processes a whole \
                     CPU until they are ready, these had no quota until then.";

/// The section; nothing where no start was measured.
pub(super) fn section(subjects: Functions<'_>) -> Option<Section> {
    let rows = studies(subjects).flat_map(|(one, tiers)| {
        tiers.cold_starts.iter().map(move |start| one.row(&start.tier, cells_of(start)))
    });
    let rows: Vec<TableRow> = rows.collect();
    let table = (!rows.is_empty())
        .then(|| Table::new("Starts of new processes, and their first calls.", "Tier", rows));
    Section::new("cold-starts", "Cold starts", INTRO).put(table).unless_empty()
}

fn cells_of(start: &ColdStart) -> Vec<Cell> {
    let mut figures = Vec::new();
    let parts = [
        ("Runtime", start.runtime_ns),
        ("Initialisation", start.init_ns),
        ("First call", start.first_call_ns),
        ("Together", start.total_ns),
    ];
    for (title, estimate) in parts {
        figures.extend(cells(title, estimate.as_ref(), text::ns));
    }
    figures.extend(cells("Cost of a million", start.cost_usd.map(million).as_ref(), text::dollars));
    let billed = start.init_billed.map(|billed| if billed { "with the start" } else { "the call only" });
    figures
        .extend([Cell::or_dash("Billed", billed.map(str::to_owned)), Cell::number("n", start.n.to_string())]);
    figures
}
