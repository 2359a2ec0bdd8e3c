//! Interrupts of the whole machine while the models ran, by line.

use super::super::charts::amounts::{self, Amount, Thing};
use super::super::page::{Cell, Section};
use super::super::subjects::gathered;
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
        let most = gathered(&mut lines, line);
        *most = most.max(*rate);
    }
    if lines.is_empty() {
        return None;
    }
    lines.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    let caption = "Interrupts a second while models ran, by line.";
    let known = |line: &String| {
        let of = |(i, _): (usize, &NamedStudy)| Some((i, rates[i].get(line).copied()?));
        subjects.iter().filter_map(of).collect::<Vec<(usize, f64)>>()
    };
    let rows = lines.iter().flat_map(|(line, _)| {
        let row = |(i, rate)| (i, (*line).clone(), vec![Cell::figure("A second", Some(rate), text::amount)]);
        known(line).into_iter().map(row)
    });
    let things = lines.iter().take(MOST).map(|(line, _)| {
        let bar = |(i, value)| {
            let figure = text::amount(value);
            let tip = vec![subjects.prefixed(i, line), format!("{figure} a second")];
            Amount { colour: subjects.colour(i), value, figure, tip }
        };
        Thing { label: (*line).clone(), bars: known(line).into_iter().map(bar).collect() }
    });
    let (table, things) = (subjects.table(caption, "Line", rows), things.collect::<Vec<_>>());
    let intro = "They are everybody’s on the machine, not only the models’.";
    let mut section = Section::new("interrupts", "Interrupts by line", intro);
    let figure = amounts::figure("figure-interrupt-lines", caption, caption, table, &things);
    section.put([figure.legend(subjects.legend())]);
    Some(section)
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
