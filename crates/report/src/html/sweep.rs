//! The page of a sweep: which policy is best where, as a map for each figure and machine.

use super::prelude::*;
use swtch_sweep::{MapCell, MapFigure, PolicyMap, SeedRange};

/// A map has at most this many workloads; the table has all.
const MOST_ROWS: usize = 60;

impl Subject for PolicyMap {
    const KIND: &'static str = "sweep";
    const HEAD: &'static str = "Sweep";
    const NOTHING: ReportError = ReportError::NoSweeps;

    fn origin(&self) -> String {
        "simulated".to_owned()
    }

    fn line(&self) -> String {
        let runs: u64 = self.cells.iter().map(|cell| cell.runs + cell.failed).sum();
        format!(
            "{} runs · {} machines · {} workloads · {} policies",
            text::count(runs),
            self.machines.len(),
            self.workloads.len(),
            self.policies.len()
        )
    }

    fn notices(&self) -> Vec<String> {
        let failed: u64 = self.cells.iter().map(|cell| cell.failed).sum();
        let notice = format!("{} runs failed or did not end; they are in no figure.", text::count(failed));
        (failed > 0).then_some(notice).into_iter().collect()
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        if self.policies.len() < 2 {
            return vec!["One policy: there is none to compare it with.".to_owned()];
        }
        MapFigure::ALL.into_iter().filter_map(|figure| answer(self, figure)).collect()
    }

    fn written(&self) -> String {
        format!("swtch {}", env!("CARGO_PKG_VERSION"))
    }

    fn title(_subjects: Subjects<'_, Self>) -> String {
        "Policies compared in a sweep".to_owned()
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        let mut sections: Vec<Section> =
            MapFigure::ALL.into_iter().filter_map(|figure| section(subjects, figure)).collect();
        sections.push(how());
        sections
    }
}

/// What a figure is called at the head of a section, and how the best has it.
fn names(figure: MapFigure) -> (&'static str, &'static str, &'static str) {
    match figure {
        MapFigure::Makespan => ("time", "Time to the end", "ends first"),
        MapFigure::Waits => {
            ("waits", "Waits in run queues, 99th percentile", "has the shortest waits (99th percentile)")
        }
        MapFigure::Requests => {
            ("requests", "Requests, 99th percentile", "has the fastest requests (99th percentile)")
        }
        MapFigure::Switches => ("switches", "Context switches", "switches least"),
    }
}

/// Machine and workload by their places.
fn places(map: &PolicyMap) -> impl Iterator<Item = (usize, usize)> {
    (0..map.machines.len())
        .flat_map(|machine| (0..map.workloads.len()).map(move |workload| (machine, workload)))
}

/// `eevdf ends first in 7 of 12 combinations of machine and workload, rr in 2; in 3 no policy is ahead of all others`.
fn answer(map: &PolicyMap, figure: MapFigure) -> Option<String> {
    let found: Vec<_> =
        places(map).filter_map(|(machine, workload)| map.best(machine, workload, figure)).collect();
    let mut ahead: Vec<(usize, usize)> = (0..map.policies.len())
        .map(|policy| {
            let is_ahead =
                |(best, alike): &&(&MapCell, Vec<&MapCell>)| best.policy == policy && alike.is_empty();
            (found.iter().filter(is_ahead).count(), policy)
        })
        .filter(|(count, _)| *count > 0)
        .collect();
    ahead.sort_by_key(|(count, policy)| (std::cmp::Reverse(*count), *policy));
    let decided: usize = ahead.iter().map(|(count, _)| count).sum();
    let (_, _, does) = names(figure);
    let all = match found.len() {
        0 => return None,
        1 => "the only combination of machine and workload".to_owned(),
        all => format!("of {all} combinations of machine and workload"),
    };
    let Some(((most, first), others)) = ahead.split_first() else {
        return Some(format!(
            "No policy {does} in any {all}: the ranges of its seeds overlap with another's."
        ));
    };
    let mut words = match found.len() {
        1 => format!("{} {does} in {all}", map.policies[*first]),
        _ => format!("{} {does} in {most} {all}", map.policies[*first]),
    };
    for (count, policy) in others {
        words.push_str(&format!(", {} in {count}", map.policies[*policy]));
    }
    let open = found.len() - decided;
    if open > 0 {
        words.push_str(&format!("; in {open} no policy is ahead of all others"));
    }
    Some(words + ".")
}

fn section(subjects: Subjects<'_, PolicyMap>, figure: MapFigure) -> Option<Section> {
    let (id, title, _) = names(figure);
    let maps = subjects
        .iter()
        .flat_map(|one| (0..one.of.machines.len()).filter_map(move |machine| map_of(one, machine, figure)));
    let intro = "Each figure over the smallest of its row, medians over the seeds. 1.00 is the best policy for a workload; the \
                 stronger the shade, the further from it. A star: no worse than the best, as the ranges of their seeds overlap.";
    Section::new(id, title, intro).put(maps).unless_empty()
}

fn map_of(one: One<'_, PolicyMap>, machine: usize, figure: MapFigure) -> Option<Figure> {
    let map = one.of;
    let workloads: Vec<usize> =
        (0..map.workloads.len()).filter(|workload| map.best(machine, *workload, figure).is_some()).collect();
    if workloads.is_empty() {
        return None;
    }
    let machine_name = &map.machines[machine];
    let shown: Vec<usize> = workloads.iter().copied().take(MOST_ROWS).collect();
    let cells: Vec<GridCell> = shown
        .iter()
        .enumerate()
        .flat_map(|(row, workload)| cells_of(map, (machine, *workload), row, figure))
        .collect();
    let largest = cells.iter().map(|cell| cell.value).fold(1.0, f64::max);
    let heat_map = HeatMap {
        rows: shown.iter().map(|workload| map.workloads[*workload].clone()).collect(),
        columns: map.policies.iter().map(|policy| text::shortened(policy, 14)).collect(),
        cells,
        rows_name: "workload",
        columns_name: "policy",
        span: (1.0, largest),
        values: Values::Ratios,
    };
    let rows = workloads.iter().flat_map(|workload| table_rows(map, (machine, *workload), figure));
    let (id, title, _) = names(figure);
    let table = Table::new(format!("{title} on {machine_name}"), "Workload", rows).sortable();
    let caption = one.prefixed(&format!("{title} on {machine_name}, over the best policy of each workload."));
    let label = format!("{title} by workload and policy on {machine_name}");
    let left_out = workloads.len() - shown.len();
    let note = format!("{left_out} more workloads are in the table.");
    Some(
        Figure::new(format!("figure-{id}-{}-{machine}", one.index), caption, &label, table, &heat_map)
            .notes((left_out > 0).then_some(note)),
    )
}

fn cells_of(
    map: &PolicyMap,
    (machine, workload): (usize, usize),
    row: usize,
    figure: MapFigure,
) -> Vec<GridCell> {
    let Some((best, alike)) = map.best(machine, workload, figure) else { return Vec::new() };
    let Some(least) = best.figure(figure).map(|range| range.median) else { return Vec::new() };
    let cell = |cell: &MapCell| {
        let range = cell.figure(figure)?;
        Some(GridCell {
            row,
            column: cell.policy,
            value: ratio(range.median, least),
            flagged: alike.iter().any(|one| one.policy == cell.policy),
            tip: vec![
                format!("{} under {}", map.workloads[workload], map.policies[cell.policy]),
                words(figure, range),
                format!("{} runs", cell.runs),
            ],
        })
    };
    map.row(machine, workload).filter_map(cell).collect()
}

/// Nothing over nothing counts as equal.
fn ratio(value: f64, least: f64) -> f64 {
    if value == least { 1.0 } else { value / least.max(1.0) }
}

fn show(figure: MapFigure, value: f64) -> String {
    match figure {
        MapFigure::Switches => text::amount(value),
        _ => text::ns(value),
    }
}

fn words(figure: MapFigure, SeedRange { low, median, high }: SeedRange) -> String {
    format!("{} ({} to {})", show(figure, median), show(figure, low), show(figure, high))
}

fn table_rows(map: &PolicyMap, (machine, workload): (usize, usize), figure: MapFigure) -> Vec<TableRow> {
    let best = map.best(machine, workload, figure).and_then(|(best, _)| best.figure(figure));
    let Some(least) = best.map(|range| range.median) else { return Vec::new() };
    let row = |cell: &MapCell| {
        let range = cell.figure(figure)?;
        let [median, low, high] = [range.median, range.low, range.high].map(|value| show(figure, value));
        let over = ratio(range.median, least);
        Some(TableRow::new(
            map.workloads[workload].clone(),
            vec![
                Cell::text("Policy", map.policies[cell.policy].clone()),
                Cell::sorted("Median", median, range.median),
                Cell::number("Over the best", format!("{over:.3}")),
                Cell::number("Smallest", low),
                Cell::number("Largest", high),
                Cell::count("Runs", cell.runs),
            ],
        ))
    };
    map.row(machine, workload).filter_map(row).collect()
}

fn how() -> Section {
    Section::bare("how", "How to read it")
        .say("Runs are simulated. Those of one workload under one policy on one machine differ in their seed.")
        .say(
            "A policy is ahead where its largest seed is below the smallest of every other policy. With one seed any difference \
             counts, as a simulation gives the same figures twice.",
        )
}
