//! A bench of schedulers, as text.

use swtch_decide::{Against, BenchDocument, Cell};
use swtch_units::TextTable;

const NONE: &str = "-";

/// A figure of a load a line, a scheduler a column, the worst of each below; then why, where a cell is better or worse.
pub fn bench(document: &BenchDocument) -> String {
    let Some((stock, others)) = document.schedulers.split_first() else {
        return "no scheduler ran\n".to_owned();
    };
    let titles = ["load", "figure", stock.as_str()].into_iter().chain(others.iter().map(String::as_str));
    let mut table = TextTable::new(titles).left([1]);
    for row in document.cells.chunks(document.schedulers.len()) {
        let Some((first, cells)) = row.split_first() else { continue };
        let named = [first.load.clone(), first.metric.clone(), median(first)];
        table.row(named.into_iter().chain(cells.iter().map(mark)));
    }
    let worst = others.iter().map(|scheduler| {
        let cells = document.cells.iter().filter(|cell| cell.scheduler == *scheduler);
        cells.filter_map(Cell::cost).reduce(f64::max).map_or(NONE.to_owned(), |worst| format!("{worst:.2}  "))
    });
    table.row(["worst".to_owned(), String::new(), String::new()].into_iter().chain(worst));
    format!("{table}\n{}{}", whys(document), footer(document))
}

fn median(cell: &Cell) -> String {
    format!("{} {}", shown(cell.median), cell.unit)
}

/// Four digits that say something.
fn shown(value: f64) -> String {
    let decimals = if value.abs() >= 1000.0 {
        0
    } else if value.abs() >= 10.0 {
        2
    } else {
        4
    };
    format!("{value:.decimals$}")
}

/// The ratio to stock and its mark.
fn mark(cell: &Cell) -> String {
    let sign = match cell.against_stock {
        Some(Against::Better) => "+",
        Some(Against::Worse) => "-",
        Some(Against::Same) => "=",
        None => " ",
    };
    cell.ratio.map_or(NONE.to_owned(), |ratio| format!("{ratio:.2} {sign}"))
}

/// Of the cells that differ.
fn whys(document: &BenchDocument) -> String {
    let differs = |cell: &&Cell| matches!(cell.against_stock, Some(Against::Better | Against::Worse));
    let mut table = TextTable::untitled().left([1, 2]);
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for cell in document.cells.iter().filter(differs) {
        let place = (cell.load.as_str(), cell.scheduler.as_str());
        if !seen.contains(&place) {
            seen.push(place);
            table.row([place.0, place.1, cell.why.as_str()]);
        }
    }
    if seen.is_empty() {
        String::new()
    } else {
        format!("{}\n", table.under("Switches of a run where a cell differs:"))
    }
}

fn footer(document: &BenchDocument) -> String {
    let (differ, of) = document.chance();
    let count = document.runs;
    format!(
        "Linux {}, {} CPUs, in a virtual machine that counts instructions: time is instructions, 1 ns each; medians of {count} runs\n\
         columns are ratios to stock: + better, - worse, = not distinguishable, corrected for the number of cells (Holm)\n\
         'stock again' is the stock class with other seeds: {differ} of its {of} cells differ, by chance\n",
        document.kernel, document.cpus
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_sched::Better;

    #[test]
    fn the_worst_of_each_scheduler_is_always_there() {
        let cell = |load: &str, scheduler: &str, ratio: Option<f64>, against_stock| Cell {
            load: load.to_owned(),
            scheduler: scheduler.to_owned(),
            metric: "time".to_owned(),
            unit: "s".to_owned(),
            better: Better::Smaller,
            median: 0.09,
            ci_low: None,
            ci_high: None,
            ratio,
            against_stock,
            why: "7 voluntary, 1 involuntary".to_owned(),
        };
        let cells = vec![
            cell("a", "stock", None, None),
            cell("a", "rr", Some(0.5), Some(Against::Better)),
            cell("b", "stock", None, None),
            cell("b", "rr", Some(3.25), Some(Against::Same)),
        ];
        let schedulers = vec!["stock".to_owned(), "rr".to_owned()];
        let document = BenchDocument { kernel: "7.3".to_owned(), cpus: 4, runs: 5, schedulers, cells };
        let text = bench(&document);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "a      time    0.0900 s  0.50 +", "{text}");
        assert!(lines[3].starts_with("worst") && lines[3].ends_with("3.25"), "{text}");
        assert!(text.contains("a  rr  7 voluntary") && !text.contains("b  rr"), "{text}");
    }
}
