//! A bench of schedulers in words and as a table of data: for the terminal, the page and other programs.

use crate::export::ExportError;
use crate::tables::{Form, write_rows};
use crate::wording::text::{NONE, percent};
use std::io::Write;
use swtch_columns::table;
use swtch_decide::{Against, BenchDocument, Cell};
use swtch_units::format_ns;

/// The answer: each scheduler but stock, in how many figures it is better or worse, and where it is worst.
pub(crate) fn answer(document: &BenchDocument) -> Vec<String> {
    // The second column of the stock class says what chance does, in its own line.
    document.schedulers.iter().skip(2).map(|scheduler| summary(document, scheduler)).collect()
}

fn summary(document: &BenchDocument, scheduler: &str) -> String {
    let count = |against| document.of(scheduler).filter(|cell| cell.against_stock == Some(against)).count();
    let (better, worse) = (count(Against::Better), count(Against::Worse));
    let of = document.of(scheduler).filter(|cell| cell.failed.is_none()).count();
    let failed = match document.of(scheduler).count() - of {
        0 => String::new(),
        failed => format!(", failed in {failed} more"),
    };
    let text =
        format!("{scheduler}: better than stock in {better} of {of} figures, worse in {worse}{failed}");
    match document.worst(scheduler) {
        Some(cell) if worse > 0 => {
            let times = cell.cost().unwrap_or_default();
            format!("{text}; worst: {} of {}, {times:.2} times as bad", cell.metric, cell.load)
        }
        _ => text,
    }
}

/// In the place of a figure of a load that failed.
const FAILED: &str = "failed";

/// The median with its unit.
pub(crate) fn median(cell: &Cell) -> String {
    cell.median.map_or_else(|| FAILED.to_owned(), |median| format!("{} {}", shown(median), cell.unit))
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
    if cell.failed.is_some() { FAILED.to_owned() } else { marked(cell.ratio, cell.against_stock) }
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

/// What a load does under a scheduler, as the titles of [`reasons`] say.
pub(crate) const REASONS: [&str; 8] = [
    "voluntary",
    "involuntary",
    "migrations",
    "wait p50",
    "p99",
    "a switch",
    "of CPU time",
    "preempted most",
];

/// Switches, migrations, waits, the bill and which task preempts which; a dash where it is not known.
pub(crate) fn reasons(cell: &Cell) -> [String; 8] {
    let number = |count: f64| swtch_units::grouped(&format!("{count:.0}"));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let recorded = cell.reasons.recorded.as_ref();
    let time = |ns: Option<u64>| or_dash(ns.map(|ns| format_ns(ns as f64)));
    let most = recorded.and_then(|recorded| recorded.preempted.first());
    let most = most.map(|pair| format!("{} by {} {} times", pair.of, pair.by, number(pair.count as f64)));
    [
        number(cell.reasons.voluntary),
        number(cell.reasons.involuntary),
        or_dash(recorded.and_then(|recorded| recorded.migrations).map(|count| number(count as f64))),
        time(recorded.and_then(|recorded| recorded.wait_p50_ns)),
        time(recorded.and_then(|recorded| recorded.wait_p99_ns)),
        or_dash(recorded.and_then(|recorded| recorded.switch_ns).map(format_ns)),
        or_dash(recorded.and_then(|recorded| recorded.switch_share).map(percent)),
        or_dash(most),
    ]
}

/// The cells that differ, one a load and scheduler; before those of a load that of the stock class.
pub(crate) fn whys(document: &BenchDocument) -> Vec<&Cell> {
    let differs = |cell: &&Cell| matches!(cell.against_stock, Some(Against::Better | Against::Worse));
    let mut found: Vec<&Cell> = Vec::new();
    for cell in document.cells.iter().filter(differs) {
        let stock = document.cells.iter().find(|one| one.load == cell.load);
        for cell in stock.into_iter().chain([cell]) {
            if !found.iter().any(|one| (&one.load, &one.scheduler) == (&cell.load, &cell.scheduler)) {
                found.push(cell);
            }
        }
    }
    // Figures of one load are rows of the table; here the schedulers of a load follow each other.
    let place = |load: &String| document.cells.iter().position(|cell| cell.load == *load);
    found.sort_by_key(|cell| place(&cell.load));
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
    lines.extend(failed(document));
    if !document.skipped.is_empty() {
        lines.push(format!("{} not run:", counted(document.skipped.len(), "load")));
        lines.extend(document.skipped.iter().map(|(load, why)| format!("  {load}: {why}")));
    }
    lines.extend(
        document.failed.iter().map(|(scheduler, how)| format!("{scheduler} is not in the table: {how}")),
    );
    lines
}

/// The loads that failed, each with the schedulers under which it did, and how under the first.
fn failed(document: &BenchDocument) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>, &str)> = Vec::new();
    for cell in &document.cells {
        let Some(how) = cell.failed.as_deref() else { continue };
        match found.iter_mut().find(|(load, ..)| *load == cell.load) {
            Some((_, schedulers, _)) if schedulers.contains(&cell.scheduler.as_str()) => {}
            Some((_, schedulers, _)) => schedulers.push(&cell.scheduler),
            None => found.push((&cell.load, vec![&cell.scheduler], how)),
        }
    }
    let line = |(load, schedulers, how): &(&str, Vec<&str>, &str)| {
        format!("{load} failed under {}: {how}", schedulers.join(", "))
    };
    found.iter().map(line).collect()
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
        /// Of the boots; absent where the load failed.
        pub median: Option<f64> [none],
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
        /// How the load failed under this scheduler.
        pub failed: Option<String> [none],
        /// Switches by kind, migrations, waits, the bill, and which program preempts which; those of the stock class after them.
        pub why: String [none],
        /// Switches of a run because a task waited.
        pub voluntary: f64 [count],
        /// Those where it could have gone on.
        pub involuntary: f64 [count],
        /// Moves of tasks between CPUs, in the run that was recorded.
        pub migrations: Option<u64> [count],
        /// Median wait in run queues in that run.
        pub wait_p50_ns: Option<u64> [ns],
        /// 99 of 100 waits.
        pub wait_p99_ns: Option<u64> [ns],
        /// Mean direct cost of one switch.
        pub switch_ns: Option<f64> [ns],
        /// The switches' share of the tasks' CPU time.
        pub switch_share: Option<f64> [none],
    }
}

impl From<&Cell> for BenchRow {
    fn from(cell: &Cell) -> Self {
        let recorded = cell.reasons.recorded.as_ref();
        Self {
            load: cell.load.clone(),
            scheduler: cell.scheduler.clone(),
            metric: cell.metric.clone(),
            unit: cell.unit.clone(),
            better: cell.better.name().to_owned(),
            median: cell.median,
            failed: cell.failed.clone(),
            ci_low: cell.ci_low,
            ci_high: cell.ci_high,
            ratio: cell.ratio,
            against_stock: cell.against_stock.map(|against| against.name().to_owned()),
            p_holm: cell.p_holm,
            why: cell.why.clone(),
            voluntary: cell.reasons.voluntary,
            involuntary: cell.reasons.involuntary,
            migrations: recorded.and_then(|recorded| recorded.migrations),
            wait_p50_ns: recorded.and_then(|recorded| recorded.wait_p50_ns),
            wait_p99_ns: recorded.and_then(|recorded| recorded.wait_p99_ns),
            switch_ns: recorded.and_then(|recorded| recorded.switch_ns),
            switch_share: recorded.and_then(|recorded| recorded.switch_share),
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
