//! The page of a bench of schedulers: loads by schedulers with their marks, the worst of each, and every cell with its switches.

use super::prelude::*;
use crate::bench::{answer, circumstances, mark, median, shown, worst};
use swtch_decide::BenchDocument;

impl Subject for BenchDocument {
    const KIND: &'static str = "bench";
    const HEAD: &'static str = "Bench";
    const NOTHING: ReportError = ReportError::NoBenches;

    fn origin(&self) -> String {
        "bench".to_owned()
    }

    fn line(&self) -> String {
        format!(
            "{} figures · {} schedulers · Linux {} · {} CPUs",
            self.cells.len() / self.schedulers.len().max(1),
            self.schedulers.len(),
            self.kernel,
            self.cpus
        )
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        answer(self)
    }

    fn written(&self) -> String {
        format!("swtch {}", self.swtch_version)
    }

    fn title(_subjects: Subjects<'_, Self>) -> String {
        "Schedulers compared on many loads".to_owned()
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        subjects.iter().flat_map(|one| sections(one.of)).collect()
    }
}

fn sections(document: &BenchDocument) -> Vec<Section> {
    let intro =
        "Each figure over that of the stock class. The last line is the worst figure of each scheduler.";
    let inputs = document.schedulers.iter().zip(&document.inputs).map(|(scheduler, inputs)| {
        TableRow::new(scheduler.clone(), vec![Cell::text("Digest", inputs.clone())])
    });
    let how = Section::bare("how", "How it was measured").say_all(circumstances(document));
    let digests = "Of the kernel, the programs and the loads that the guest of each scheduler got: the same give the same figures";
    vec![
        Section::new("table", "Loads and schedulers", intro).put([marks(document)]),
        Section::new(
            "cells",
            "Every figure",
            "The median of the boots, the 95\u{a0}% interval of the median, and why: switches, migrations, waits, the bill, and which program preempts which.",
        )
        .put([every(document)]),
        how.put([Table::new(digests, "Scheduler", inputs)]),
    ]
}

fn marks(document: &BenchDocument) -> Table {
    let rows = document.cells.chunks(document.schedulers.len().max(1)).filter_map(|row| {
        let (stock, others) = row.split_first()?;
        let mut cells =
            vec![Cell::text("Figure", stock.metric.clone()), Cell::number("stock", median(stock))];
        cells.extend(others.iter().map(|cell| {
            let key = cell.cost().unwrap_or_default();
            Cell::sorted(cell.scheduler.clone(), mark(cell), key)
        }));
        Some(TableRow::new(stock.load.clone(), cells))
    });
    let mut last = vec![Cell::text("Figure", ""), Cell::number("stock", "")];
    last.extend(
        document.schedulers.iter().skip(1).map(|name| Cell::number(name.clone(), worst(document, name))),
    );
    Table::new("Ratios to the stock class: + better, - worse, = not distinguishable", "Load", rows)
        .sortable()
        .sums([TableRow::new("worst", last)])
}

fn every(document: &BenchDocument) -> Table {
    let rows = document.cells.iter().map(|cell| {
        let interval = cell.ci_low.zip(cell.ci_high);
        let interval = interval.map(|(low, high)| format!("{} to {}", shown(low), shown(high)));
        TableRow::new(
            cell.load.clone(),
            vec![
                Cell::text("Figure", cell.metric.clone()),
                Cell::text("Scheduler", cell.scheduler.clone()),
                Cell::sorted("Median", median(cell), cell.median.unwrap_or_default()),
                Cell::or_dash("95\u{a0}% interval", interval),
                Cell::text("Against stock", cell.against_stock.map_or("", |against| against.name())),
                Cell::text("Why", cell.why.clone()),
            ],
        )
    });
    Table::new("Every figure of every load under every scheduler", "Load", rows).sortable()
}
