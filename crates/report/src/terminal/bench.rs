//! A bench of schedulers, as text.

use crate::bench::{REASONS, answer, circumstances, mark, median, reasons, whys, worst};
use swtch_decide::BenchDocument;
use swtch_units::TextTable;

/// The answer. Then a figure of a load a line, a scheduler a column, the worst of each below. Then why, where a cell is better or worse.
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
    let last = others.iter().map(|scheduler| worst(document, scheduler));
    table.row(["worst".to_owned(), String::new(), String::new()].into_iter().chain(last));
    let mut answers = answer(document).join("\n");
    if !answers.is_empty() {
        answers.push_str("\n\n");
    }
    format!("{answers}{table}\n{}{}\n", of_those_that_differ(document), circumstances(document).join("\n"))
}

fn of_those_that_differ(document: &BenchDocument) -> String {
    let mut table = TextTable::new(["load", "scheduler"].into_iter().chain(REASONS)).left([1, 9]);
    let found = whys(document);
    for cell in &found {
        table.row([cell.load.clone(), cell.scheduler.clone()].into_iter().chain(reasons(cell)));
    }
    if found.is_empty() {
        return String::new();
    }
    format!(
        "{}\n",
        table.under("Why, where a cell differs: switches of a run; then those of one that was recorded")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_decide::{Against, Cell, RunReasons};
    use swtch_sched::Better;

    #[test]
    fn the_worst_of_each_scheduler_is_always_there() {
        let cell = |load: &str, scheduler: &str, ratio: Option<f64>, against_stock| Cell {
            load: load.to_owned(),
            scheduler: scheduler.to_owned(),
            metric: "time".to_owned(),
            unit: "s".to_owned(),
            better: Better::Smaller,
            median: Some(0.09),
            ci_low: None,
            ci_high: None,
            ratio,
            against_stock,
            p_holm: None,
            failed: None,
            why: "7 voluntary, 1 involuntary".to_owned(),
            reasons: RunReasons { voluntary: 7.0, involuntary: 1.0, recorded: None },
        };
        let cells = vec![
            cell("a", "stock", None, None),
            cell("a", "rr", Some(0.5), Some(Against::Better)),
            cell("b", "stock", None, None),
            cell("b", "rr", Some(3.25), Some(Against::Same)),
            cell("c", "stock", None, None),
            Cell {
                median: None,
                failed: Some("it ended with status 3".to_owned()),
                ..cell("c", "rr", None, None)
            },
        ];
        let document = BenchDocument {
            swtch_version: "0.1.0".to_owned(),
            kernel: "7.3".to_owned(),
            cpus: 4,
            boots: 8,
            runs: 2,
            schedulers: vec!["stock".to_owned(), "rr".to_owned()],
            inputs: vec!["c0ffee".to_owned(), "f00d".to_owned()],
            cells,
            skipped: [("redis".to_owned(), "it needs redis-server".to_owned())].into(),
            failed: [("bad".to_owned(), "it stalled".to_owned())].into(),
        };
        let text = bench(&document);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "a      time    0.0900 s  0.50 +", "{text}");
        assert!(lines[3].starts_with("c ") && lines[3].ends_with(" failed"), "{text}");
        assert!(lines[4].starts_with("worst") && lines[4].ends_with("3.25"), "{text}");
        assert!(text.contains("\nc failed under rr: it ended with status 3\n"), "{text}");
        assert!(text.ends_with("bad is not in the table: it stalled\n"), "{text}");
        assert!(text.contains("1 load not run:\n  redis: it needs redis-server\n"), "{text}");
        assert!(text.contains("  a     rr ") && !text.contains("b     rr "), "{text}");
    }
}
