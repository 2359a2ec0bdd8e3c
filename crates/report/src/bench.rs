//! A bench of schedulers in words and as a table of data: for the terminal, the page and other programs.

use crate::export::ExportError;
use crate::tables::{Form, write_rows};
use crate::wording::text::NONE;
use std::io::Write;
use swtch_columns::table;
use swtch_decide::{Against, BenchDocument, Cell};

/// The answer: each scheduler but stock, in how many figures it is better or worse, and where it is worst.
pub(crate) fn answer(document: &BenchDocument) -> Vec<String> {
    // The second column of the stock class says what chance does, in its own line.
    document.schedulers.iter().skip(2).map(|scheduler| summary(document, scheduler)).collect()
}

fn summary(document: &BenchDocument, scheduler: &str) -> String {
    let count = |against| document.of(scheduler).filter(|cell| cell.against_stock == Some(against)).count();
    let (better, worse) = (count(Against::Better), count(Against::Worse));
    let of = document.of(scheduler).count();
    let text = format!("{scheduler}: better than stock in {better} of {of} figures, worse in {worse}");
    match document.worst(scheduler) {
        Some(cell) if worse > 0 => {
            let times = cell.cost().unwrap_or_default();
            format!("{text}; worst: {} of {}, {times:.2} times as bad", cell.metric, cell.load)
        }
        _ => text,
    }
}

/// The median with its unit.
pub(crate) fn median(cell: &Cell) -> String {
    format!("{} {}", shown(cell.median), cell.unit)
}

/// Four digits that say something.
pub(crate) fn shown(value: f64) -> String {
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
pub(crate) fn mark(cell: &Cell) -> String {
    marked(cell.ratio, cell.against_stock)
}

/// A ratio and its mark.
pub(crate) fn marked(ratio: Option<f64>, against: Option<Against>) -> String {
    let sign = match against {
        Some(Against::Better) => "+",
        Some(Against::Worse) => "-",
        Some(Against::Same) => "=",
        None => " ",
    };
    ratio.map_or(NONE.to_owned(), |ratio| format!("{ratio:.2} {sign}"))
}

/// The worst figure of a scheduler.
pub(crate) fn worst(document: &BenchDocument, scheduler: &str) -> String {
    document.worst(scheduler).and_then(Cell::cost).map_or(NONE.to_owned(), |cost| format!("{cost:.2}  "))
}

/// Load, scheduler and switches of the cells that differ, each once.
pub(crate) fn whys(document: &BenchDocument) -> Vec<&Cell> {
    let differs = |cell: &&Cell| matches!(cell.against_stock, Some(Against::Better | Against::Worse));
    let mut found: Vec<&Cell> = Vec::new();
    for cell in document.cells.iter().filter(differs) {
        if !found.iter().any(|one| (&one.load, &one.scheduler) == (&cell.load, &cell.scheduler)) {
            found.push(cell);
        }
    }
    found
}

/// Where and how it ran, a line each.
pub(crate) fn circumstances(document: &BenchDocument) -> Vec<String> {
    let (differ, of) = document.chance();
    let mut lines = vec![
        format!(
            "Linux {}, {} CPUs, in a virtual machine that counts instructions: time is instructions, 1 ns each; medians of {}, {} of each load in each",
            document.kernel,
            document.cpus,
            counted(document.boots, "boot"),
            counted(document.runs, "run"),
        ),
        "columns are ratios to stock: + better, - worse, = not distinguishable; boots are compared, by their ranks, corrected for the figures of a scheduler (Holm)"
            .to_owned(),
        format!("'stock again' is the stock class with other seeds: {differ} of its {of} figures have a mark, by chance"),
    ];
    lines.extend(document.too_few_boots().map(|enough| {
        format!(
            "{} of each scheduler are too few for any mark on {of} figures: give --boots {enough} or more",
            document.boots
        )
    }));
    lines.extend(
        document.failed.iter().map(|(scheduler, how)| format!("{scheduler} is not in the table: {how}")),
    );
    lines
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

table! {
    /// A figure of a load under a scheduler.
    pub struct BenchRow in "bench" of ["bench/1"];
    {
        /// The load.
        pub load: String [none],
        /// The scheduler.
        pub scheduler: String [none],
        /// The figure.
        pub metric: String [none],
        /// Of `median`, `ci_low` and `ci_high`.
        pub unit: String [none],
        /// Which values are better: `smaller` or `larger`.
        pub better: String [none],
        /// Of the boots.
        pub median: f64 [none],
        /// Lower end of the median's interval; absent for a single boot.
        pub ci_low: Option<f64> [none],
        /// Upper end.
        pub ci_high: Option<f64> [none],
        /// The median over that of the stock class; absent for the stock class itself.
        pub ratio: Option<f64> [none],
        /// `better`, `worse` or `same`; absent for the stock class itself.
        pub against_stock: Option<String> [none],
        /// The chance of such a difference between boots of one scheduler, corrected for the figures of this scheduler.
        pub p_holm: Option<f64> [none],
        /// The switches of a run, by kind.
        pub why: String [none],
    }
}

impl From<&Cell> for BenchRow {
    fn from(cell: &Cell) -> Self {
        Self {
            load: cell.load.clone(),
            scheduler: cell.scheduler.clone(),
            metric: cell.metric.clone(),
            unit: cell.unit.clone(),
            better: cell.better.name().to_owned(),
            median: cell.median,
            ci_low: cell.ci_low,
            ci_high: cell.ci_high,
            ratio: cell.ratio,
            against_stock: cell.against_stock.map(|against| against.name().to_owned()),
            p_holm: cell.p_holm,
            why: cell.why.clone(),
        }
    }
}

/// Writes every cell as a row, to CSV or Parquet; says how many there are.
///
/// # Errors
/// When `sink` does not take it.
pub fn write<W: Write + Send>(document: &BenchDocument, form: Form, sink: W) -> Result<u64, ExportError> {
    write_rows(document.cells.iter().map(BenchRow::from), form, sink)
}
