//! Interrupts of the whole machine while the models ran, by line.

use super::super::charts::amounts::{self, Amount, Thing};
use super::super::page::{Block, Cell, Figure, Section, Table};
use super::super::text;
use super::{NamedStudy, Studies};
use std::collections::BTreeMap;

/// Lines in the chart; the table has all.
const MOST: usize = 14;

/// The section; nothing when no run tells of interrupts.
pub(super) fn section(subjects: Studies<'_>) -> Option<Section> {
    let rates: Vec<BTreeMap<String, f64>> = subjects.iter().map(|(_, named)| rates(named)).collect();
    let mut lines: Vec<(&String, f64)> = Vec::new();
    for (line, rate) in rates.iter().flatten() {
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, most)) => *most = most.max(*rate),
            None => lines.push((line, *rate)),
        }
    }
    if lines.is_empty() {
        return None;
    }
    lines.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    let caption = "Interrupts a second while models ran, by line.";
    let mut table = Table::new(caption, &subjects.head("Line", &["A second"]));
    let mut things = Vec::new();
    for (place, (line, _)) in lines.iter().enumerate() {
        let mut bars = Vec::new();
        for (i, _) in subjects.iter() {
            let Some(rate) = rates[i].get(*line).copied() else { continue };
            let figure = text::amount(rate);
            table.row((*line).clone(), subjects.cells(i, vec![Cell::sorted(figure.clone(), rate)]));
            let tip = vec![subjects.prefixed(i, line), format!("{figure} a second")];
            bars.push(Amount { colour: subjects.look(i, 0).class(), value: rate, figure, tip });
        }
        if place < MOST {
            things.push(Thing { label: (*line).clone(), bars });
        }
    }
    let figure =
        Figure::new("figure-interrupt-lines", caption, table, |size| amounts::draw(&things, caption, size))
            .legend(subjects.legend());
    let blocks = vec![
        Block::paragraph("They are everybody’s on the machine, not only the models’."),
        Block::Figure(figure),
    ];
    Some(Section { id: "interrupts", title: "Interrupts by line", blocks })
}

/// How often each line came by the second, over all runs that tell.
fn rates(named: &NamedStudy) -> BTreeMap<String, f64> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut ns = 0;
    for run in named.study.runs.iter().filter(|run| !run.interrupts.is_empty()) {
        let Some(duration_ns) = run.duration_ns else { continue };
        ns += duration_ns;
        for interrupt in &run.interrupts {
            let (Some(line), Some(count)) = (&interrupt.line, interrupt.count) else { continue };
            let what = match (&interrupt.kind, &interrupt.name) {
                (Some(kind), _) if kind == "soft" => "soft",
                (_, Some(name)) => name.as_str(),
                _ => "",
            };
            *counts.entry(format!("{line} {what}").trim_end().to_owned()).or_default() += count;
        }
    }
    let seconds = ns as f64 / 1e9;
    counts.retain(|_, count| *count > 0);
    if seconds > 0.0 {
        counts.into_iter().map(|(line, count)| (line, count as f64 / seconds)).collect()
    } else {
        BTreeMap::new()
    }
}
