//! Interrupts of the whole machine while the models ran, by line.

use std::collections::BTreeMap;

use swtch_study::Study;

use super::Studies;
use crate::html::prelude::*;

/// Lines in the chart; the table has all.
const MOST: usize = 14;

/// How often a line came by the second in each study that has it.
type Rates<'a> = Vec<(One<'a, Study>, f64)>;

/// The section. Absent if no run counted interrupts.
pub(super) fn section(subjects: Studies<'_>) -> Option<Section> {
    let rates = subjects
        .iter()
        .flat_map(|one| rates(one.of).into_iter().map(move |(line, rate)| (line, (one, rate))));
    let mut lines: Vec<(String, Rates<'_>)> = Vec::new();
    rates.for_each(|(line, rate)| gathered(&mut lines, line).push(rate));
    let most = |rates: &Rates<'_>| rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    lines.sort_by(|one, other| most(&other.1).total_cmp(&most(&one.1)).then_with(|| one.0.cmp(&other.0)));
    let mut rows = Vec::new();
    let mut chart = Amounts::default();
    for (place, (line, rates)) in lines.iter().enumerate() {
        for (one, rate) in rates {
            rows.push(one.row(line, vec![Cell::figure("A second", *rate, text::amount)]));
            if place < MOST {
                let figure = text::amount(*rate);
                let tip = vec![one.prefixed(line), format!("{figure} a second")];
                chart.bar(line, Amount { colour: one.colour(), value: *rate, figure, tip });
            }
        }
    }
    let caption = "Interrupts a second while models ran, by line.";
    let table = Table::new(caption, "Line", rows);
    let intro = "They are the whole machine’s, not only the models’.";
    let figure = |chart| Figure::new("figure-interrupt-lines", caption, caption, table, chart);
    Section::new("interrupts", "Interrupts by line", intro)
        .put(chart.some().map(figure).map(|figure| figure.legend(subjects.legend())))
        .unless_empty()
}

/// How often each line came by the second, over all runs that report it.
fn rates(study: &Study) -> BTreeMap<String, f64> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut ns = 0;
    for run in study.runs.iter().filter(|run| !run.interrupts.is_empty()) {
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
