//! Which code switches: a flame graph of the stacks.

use serde_json::{Value, json};
use swtch_trace::fields;
use swtch_trace::tables::StackRow;

use super::{PricedTrace, Traces};
use crate::html::page::Flame;
use crate::html::prelude::*;
use crate::stack_weight::StackWeight;
use crate::stacks::{FIELDS, Numbers};

/// Stacks in the graph, by the largest of any of their weights' shares; the rest is summed below the table.
const MOST: usize = 3000;
/// Rows of the table.
const MOST_ROWS: usize = 200;

/// The section; nothing where no Trace has stacks and none says why.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let stacks = |priced: &PricedTrace| !priced.trace.stacks.is_empty();
    let asked = |priced: &PricedTrace| stacks(priced) || priced.trace.header.lacks(&fields::STACKS);
    if !subjects.iter().any(|one| asked(one.of)) {
        return None;
    }
    let intro = "Each box is a function, as wide as what happened in it and in what it called. Choose a box to see it alone, and Escape to go back. \
                 Names that end in _[k] are functions of the kernel.";
    let some = subjects.iter().filter(|one| stacks(one.of));
    let missing = subjects.iter().flat_map(|one| {
        let rows = one.of.unavailable();
        rows.into_iter()
            .filter(|row| row.field.is_of(&FIELDS))
            .map(|row| row.reason.clone())
            .collect::<Vec<_>>()
    });
    let missing: Vec<String> = missing.collect();
    let notice = (!missing.is_empty()).then(|| Notice::new("What is missing in the stacks:", missing));
    Some(
        Section::new("stacks", "Which code switches", intro)
            .put(some.map(|one| flame(subjects, one)))
            .put(notice),
    )
}

fn flame(subjects: Traces<'_>, one: One<'_, PricedTrace>) -> Flame {
    let mut rows: Vec<&StackRow> = one.of.trace.stacks.iter().collect();
    let all = StackWeight::ALL.map(|weight| rows.iter().map(|row| weight.of(row)).sum::<u64>().max(1));
    let share = |row: &StackRow| {
        let shares = StackWeight::ALL.iter().zip(all).map(|(weight, all)| weight.of(row) as f64 / all as f64);
        shares.fold(0.0, f64::max)
    };
    rows.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let left_out = rows.len().saturating_sub(MOST);
    let several = if subjects.several() { format!("-{}", one.index) } else { String::new() };
    let caption = match left_out {
        0 => "Stacks of the tasks, the outermost function first.".to_owned(),
        more => format!(
            "Stacks of the tasks, the outermost function first; {} rare ones are left out.",
            text::count(more as u64)
        ),
    };
    Flame {
        id: format!("figure-stacks{several}"),
        caption: one.prefixed(&caption),
        data: data(&rows[..rows.len().min(MOST)]).to_string(),
        summary: "The stacks as a table".to_owned(),
        table: table(&one.of.trace.stacks, &one.prefixed("Stacks")),
    }
}

/// What the script draws. Each name stands in it once.
fn data(rows: &[&StackRow]) -> Value {
    let mut numbers = Numbers::default();
    let stacks: Vec<Value> = rows
        .iter()
        .map(|row| {
            let frames: Vec<usize> = row.frames.split(';').map(|name| numbers.of(name)).collect();
            let weights = StackWeight::ALL.map(|weight| weight.of(row));
            json!([numbers.of(&row.task), frames, weights])
        })
        .collect();
    let weights: Vec<Value> = StackWeight::ALL
        .iter()
        .map(|weight| {
            let (label, time) = weight.label();
            json!({ "label": label, "time": time })
        })
        .collect();
    json!({ "names": numbers.names, "stacks": stacks, "weights": weights })
}

fn table(rows: &[StackRow], title: &str) -> Table {
    let shown = rows.iter().take(MOST_ROWS).map(|row| {
        let frames: Vec<&str> = row.frames.rsplit(';').collect();
        let cells = vec![
            Cell::text("Task", row.task.as_str()),
            Cell::text("Reason", row.reason.name()),
            Cell::count("Times", row.switches),
            Cell::time("Off the CPU", row.off_cpu_ns),
            Cell::time("Waiting for a CPU", row.wait_ns),
            Cell::time("Cost", row.cost_ns),
            Cell::text("Stack, the innermost first", text::shortened(&frames.join(" < "), 400)),
        ];
        TableRow::new(text::shortened(&row.function, 80), cells)
    });
    let most = if rows.len() > MOST_ROWS { ": the most frequent" } else { "" };
    Table::new(format!("{title}{most}"), "Function", shown).sortable()
}
