//! A bench of schedulers: each load's figures under each scheduler, against the stock class.

use crate::verdict::{Change, RunOrder, Verdict, correct};
use serde::Serialize;
use swtch_sched::{AGAIN, Benched, Better, Column, Figure, Load, LoadMetric, Run};
use swtch_stats::median;
use swtch_units::Unit;

/// The document of `swtch sched bench --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchDocument {
    /// The version that wrote it.
    pub swtch_version: String,
    /// The guest's kernel.
    pub kernel: String,
    /// Its CPUs.
    pub cpus: u32,
    /// Counted runs of each load under each scheduler.
    pub runs: usize,
    /// The schedulers, the stock class first, then the stock class again.
    pub schedulers: Vec<String>,
    /// Digests of all that the guest of each scheduler got (kernel, programs, loads), in their order: the same give the same figures.
    pub inputs: Vec<String>,
    /// Every figure of every load under every scheduler.
    pub cells: Vec<Cell>,
}

/// A figure of a load under a scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The load.
    pub load: String,
    /// The scheduler.
    pub scheduler: String,
    /// The figure.
    pub metric: String,
    /// Of `median`, `ci_low` and `ci_high`.
    pub unit: String,
    /// Which values are better.
    pub better: Better,
    /// Of the runs.
    pub median: f64,
    /// Lower end of the median's interval; absent for a single run.
    pub ci_low: Option<f64>,
    /// Upper end.
    pub ci_high: Option<f64>,
    /// The median over that of the stock class; absent where that is 0, and for the stock class itself.
    pub ratio: Option<f64>,
    /// Better, worse, or not distinguishable; absent for the stock class itself.
    pub against_stock: Option<Against>,
    /// The switches of the runs, next to those of the stock class.
    pub why: String,
}

/// A cell against the stock class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// The runs do not tell them apart.
    Same,
}

impl Against {
    /// In a word, as in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
        }
    }
}

/// Judges every cell; p values are corrected for the number of cells, the second column of the stock class among them.
pub fn judge_bench(benched: &Benched) -> BenchDocument {
    let mut cells = Vec::new();
    let mut changes: Vec<Option<Change>> = Vec::new();
    for load in &benched.loads {
        for (place, metric) in load.metrics.iter().enumerate() {
            let of = |column: &Column| values(column, load, |run| run.metrics.get(place).copied());
            let Some(stock) = benched.columns.first() else { continue };
            for (index, column) in benched.columns.iter().enumerate() {
                let change = (index > 0).then(|| {
                    Change::named(&metric.name, Unit::Ratio, &of(stock), &of(column), RunOrder::Mixed)
                });
                cells.push(cell(load, metric, column, stock, &of(column)));
                changes.push(change.flatten());
            }
        }
    }
    correct(&mut changes.iter_mut().flatten().collect::<Vec<_>>());
    for (cell, change) in cells.iter_mut().zip(changes) {
        cell.ratio = change.as_ref().and_then(|change| change.ratio);
        cell.against_stock = change.map(|change| against(change.verdict, cell.better));
    }
    BenchDocument {
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: benched.columns.first().map(|column| column.kernel.clone()).unwrap_or_default(),
        cpus: benched.cpus,
        runs: benched.runs,
        schedulers: benched.columns.iter().map(|column| column.scheduler.clone()).collect(),
        inputs: benched.columns.iter().map(|column| column.inputs.clone()).collect(),
        cells,
    }
}

impl BenchDocument {
    /// The cells of a scheduler.
    pub fn of<'a>(&'a self, scheduler: &'a str) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().filter(move |cell| cell.scheduler == scheduler)
    }

    /// The cell of a scheduler with the worst figure.
    pub fn worst<'a>(&'a self, scheduler: &'a str) -> Option<&'a Cell> {
        let cost = |cell: &&Cell| cell.cost().unwrap_or(0.0);
        self.of(scheduler)
            .filter(|cell| cell.cost().is_some())
            .max_by(|one, other| cost(one).total_cmp(&cost(other)))
    }

    /// How many cells of the stock class differ from the stock class, and of how many: what chance does.
    pub fn chance(&self) -> (usize, usize) {
        let again: Vec<&Cell> = self.of(AGAIN).collect();
        let differ =
            again.iter().filter(|cell| matches!(cell.against_stock, Some(Against::Better | Against::Worse)));
        (differ.count(), again.len())
    }
}

impl Cell {
    /// How many times as good or bad as under the stock class: above 1 is worse.
    pub fn cost(&self) -> Option<f64> {
        self.ratio.filter(|ratio| *ratio > 0.0).map(|ratio| match self.better {
            Better::Smaller => ratio,
            Better::Larger => 1.0 / ratio,
        })
    }
}

fn values<T>(column: &Column, load: &Load, of: impl Fn(&Run) -> Option<T>) -> Vec<T> {
    let runs = column.loads.iter().filter(|one| one.load == load.name).flat_map(|one| &one.runs);
    runs.filter_map(of).collect()
}

fn cell(load: &Load, metric: &LoadMetric, column: &Column, stock: &Column, values: &[f64]) -> Cell {
    let figure = Figure::of(values);
    Cell {
        load: load.name.clone(),
        scheduler: column.scheduler.clone(),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        better: metric.better,
        median: figure.median,
        ci_low: figure.ci_low,
        ci_high: figure.ci_high,
        ratio: None,
        against_stock: None,
        why: why(load, column, stock),
    }
}

/// The switches, those of the stock class after them.
fn why(load: &Load, column: &Column, stock: &Column) -> String {
    let words = |column: &Column| {
        let of = |kind: fn(&Run) -> u64| {
            let all = values(column, load, |run| Some(kind(run) as f64));
            if all.is_empty() { 0.0 } else { median(&all) }
        };
        let count = |value: f64| swtch_units::grouped(&format!("{value:.0}"));
        format!(
            "{} voluntary, {} involuntary",
            count(of(|run| run.voluntary)),
            count(of(|run| run.involuntary))
        )
    };
    if column.scheduler == stock.scheduler {
        return words(column);
    }
    format!("{}; stock {}", words(column), words(stock))
}

fn against(verdict: Verdict, better: Better) -> Against {
    match (verdict, better) {
        (Verdict::Better, Better::Smaller) | (Verdict::Worse, Better::Larger) => Against::Better,
        (Verdict::Worse, Better::Smaller) | (Verdict::Better, Better::Larger) => Against::Worse,
        (Verdict::Same | Verdict::Unclear, _) => Against::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_sched::{LoadRuns, loads_named};

    fn benched(better: Better) -> BenchDocument {
        let mut loads = loads_named(&["perf-pipe".to_owned()]).unwrap();
        loads[0].metrics[0].better = better;
        let column = |name: &str, factor: f64| Column {
            scheduler: name.to_owned(),
            identity: String::new(),
            inputs: String::new(),
            kernel: "7.3".to_owned(),
            loads: vec![LoadRuns {
                load: "perf-pipe".to_owned(),
                runs: [1.0, 1.02, 0.98, 1.01, 0.99]
                    .map(|value| Run {
                        seconds: value,
                        voluntary: 4000,
                        involuntary: (7.0 * factor) as u64,
                        metrics: vec![value * factor],
                    })
                    .to_vec(),
            }],
        };
        let columns = vec![column("stock", 1.0), column(AGAIN, 1.0), column("flsched", 2.0)];
        judge_bench(&Benched { loads, cpus: 4, runs: 5, columns, missing: Vec::new() })
    }

    #[test]
    fn every_cell_is_judged_by_what_is_better_there() {
        let document = benched(Better::Smaller);
        let found: Vec<_> = document.cells.iter().map(|cell| cell.against_stock).collect();
        assert_eq!(found, [None, Some(Against::Same), Some(Against::Worse)]);
        assert_eq!((document.chance(), document.cells[2].cost()), ((0, 1), Some(2.0)));
        assert_eq!(
            document.cells[2].why,
            "4,000 voluntary, 14 involuntary; stock 4,000 voluntary, 7 involuntary"
        );
        let larger = benched(Better::Larger);
        assert_eq!(
            (larger.cells[2].against_stock, larger.cells[2].cost()),
            (Some(Against::Better), Some(0.5))
        );
        assert_eq!(serde_json::to_value(&larger).unwrap()["cells"][2]["against_stock"], "better");
    }
}
