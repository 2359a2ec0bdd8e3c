//! A bench of schedulers: each load's figures under each scheduler, against the stock class.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use swtch_sched::{AGAIN, Benched, Better, Column, Load, LoadMetric, RecordedRun, Run, RunFigure};
use swtch_stats::{RATIO_CONFIDENCE, holm, median, rank_sum};
use swtch_units::format_ns;

/// No table asks for as many.
const MOST_BOOTS: usize = 1_000;

/// The document of `swtch sched bench --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchDocument {
    /// The version that wrote it.
    pub swtch_version: String,
    /// The guest's kernel.
    pub kernel: String,
    /// Its CPUs.
    pub cpus: u32,
    /// Boots of each scheduler: the unit of every interval and test.
    pub boots: usize,
    /// Counted runs of each load in each boot.
    pub runs: usize,
    /// The schedulers, the stock class first, then the stock class again.
    pub schedulers: Vec<String>,
    /// Digests of all that the guest of each scheduler got (kernel, programs, loads), in their order: the same give the same figures.
    pub inputs: Vec<String>,
    /// Every figure of every load under every scheduler.
    pub cells: Vec<Cell>,
    /// The schedulers that a load or the kernel got the better of, and how.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
    /// The loads that did not run because this machine lacks a program, and which.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, String>,
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
    /// Of the boots, each of which has the median of its runs; absent where the load failed.
    pub median: Option<f64>,
    /// Lower end of the median's interval, between boots; absent for a single boot.
    pub ci_low: Option<f64>,
    /// Upper end.
    pub ci_high: Option<f64>,
    /// The median over that of the stock class; absent where that is 0, and for the stock class itself.
    pub ratio: Option<f64>,
    /// Better, worse, or not distinguishable; absent for the stock class itself.
    pub against_stock: Option<Against>,
    /// The chance of such a difference between boots of one scheduler, corrected for the figures of this scheduler; absent for the stock class itself.
    pub p_holm: Option<f64>,
    /// How the load failed under this scheduler, where it did in one of the boots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// In words: the switches of the runs and what a recorded one says, next to those of the stock class.
    pub why: String,
    /// The same as figures, of this scheduler.
    pub reasons: RunReasons,
}

/// What a load does under a scheduler besides its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunReasons {
    /// Switches of a run because a task waited for something; the median of the boots.
    pub voluntary: f64,
    /// Those where it could have gone on.
    pub involuntary: f64,
    /// One run with a recorder; absent in results of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedRun>,
}

/// A cell against the stock class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// The boots do not tell them apart.
    Same,
}

impl Against {
    /// Of a median and the one that it is compared with.
    pub(crate) fn of(median: f64, usual: f64, better: Better) -> Self {
        if median == usual {
            return Self::Same;
        }
        match (median < usual, better) {
            (true, Better::Smaller) | (false, Better::Larger) => Self::Better,
            _ => Self::Worse,
        }
    }

    /// In a word, as in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
        }
    }
}

/// Judges every cell. Boots are compared, by their ranks: runs of one boot are alike, and figures of coarse clocks have ties. The p values of each
/// scheduler are corrected for the number of its figures, so that one that is the stock class itself gets a mark with a chance of 5 %, any mark at all.
pub fn judge_bench(benched: &Benched) -> BenchDocument {
    let mut cells = Vec::new();
    if let Some(stock) = benched.columns.first() {
        for load in &benched.loads {
            for place in 0..load.metrics.len() {
                cells.extend(benched.columns.iter().map(|column| cell(load, place, column, stock)));
            }
        }
        for column in benched.columns.iter().skip(1) {
            correct(&mut cells, &column.scheduler);
        }
    }
    BenchDocument {
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: benched.columns.first().map(|column| column.kernel.clone()).unwrap_or_default(),
        cpus: benched.cpus,
        boots: benched.boots,
        runs: benched.runs,
        schedulers: benched.columns.iter().map(|column| column.scheduler.clone()).collect(),
        inputs: benched.columns.iter().map(Column::inputs).collect(),
        cells,
        failed: benched.failed.iter().cloned().collect(),
        skipped: BTreeMap::new(),
    }
}

/// Corrects the p values of a scheduler, and sets its marks by them.
fn correct(cells: &mut [Cell], scheduler: &str) {
    let has_p = |cell: &&mut Cell| cell.scheduler == scheduler && cell.p_holm.is_some();
    let mut of: Vec<&mut Cell> = cells.iter_mut().filter(has_p).collect();
    let p: Vec<f64> = of.iter().filter_map(|cell| cell.p_holm).collect();
    for (cell, p) in of.iter_mut().zip(holm(&p)) {
        cell.p_holm = Some(p);
        if p >= 1.0 - RATIO_CONFIDENCE {
            cell.against_stock = Some(Against::Same);
        }
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

    /// The fewest boots with which a scheduler can get a mark, where these are fewer: below that, even boots without any overlap may come by chance.
    pub fn too_few_boots(&self) -> Option<usize> {
        let figures = self.cells.len() / self.schedulers.len().max(1);
        let enough = |boots: usize| {
            // Two sides of all orders, as many as there are ways to choose half of the boots.
            let orders = (1..=boots).fold(1.0, |ways, n| ways * (boots + n) as f64 / n as f64);
            2.0 / orders * (figures as f64) < 1.0 - RATIO_CONFIDENCE
        };
        if enough(self.boots) { None } else { (self.boots..MOST_BOOTS).find(|boots| enough(*boots)) }
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

/// A cell with its p value as it is, and the mark that it has if that stays small enough.
fn cell(load: &Load, place: usize, column: &Column, stock: &Column) -> Cell {
    let metric: &LoadMetric = &load.metrics[place];
    let of = |column: &Column| column.medians_of_boots(load, |run| run.metrics.get(place).copied());
    let failed = column.failed(load);
    // Those of the boots in which it did not fail would be a figure of the lucky ones.
    let values = if failed.is_some() { Vec::new() } else { of(column) };
    let usual = of(stock);
    let figure = RunFigure::of(&values);
    let stock_median = RunFigure::of(&usual).median;
    let reasons = RunReasons::of(load, column);
    let is_compared = column.scheduler != stock.scheduler && failed.is_none() && stock.failed(load).is_none();
    Cell {
        load: load.name.clone(),
        scheduler: column.scheduler.clone(),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        better: metric.better,
        median: failed.is_none().then_some(figure.median),
        ci_low: figure.ci_low,
        ci_high: figure.ci_high,
        ratio: (is_compared && stock_median != 0.0).then(|| figure.median / stock_median),
        against_stock: is_compared.then(|| Against::of(figure.median, stock_median, metric.better)),
        p_holm: if is_compared { rank_sum(&usual, &values) } else { None },
        failed: failed.map(str::to_owned),
        why: failed.map_or_else(
            || why(&reasons, is_compared.then(|| RunReasons::of(load, stock)).as_ref()),
            |how| format!("failed: {how}"),
        ),
        reasons,
    }
}

impl RunReasons {
    fn of(load: &Load, column: &Column) -> Self {
        let of = |kind: fn(&Run) -> u64| {
            let boots = column.medians_of_boots(load, |run| Some(kind(run) as f64));
            if boots.is_empty() { 0.0 } else { median(&boots) }
        };
        Self {
            voluntary: of(|run| run.voluntary),
            involuntary: of(|run| run.involuntary),
            recorded: column.recorded(load).cloned(),
        }
    }
}

impl Display for RunReasons {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let grouped = |count: f64| swtch_units::grouped(&format!("{count:.0}"));
        write!(
            formatter,
            "{} voluntary, {} involuntary",
            grouped(self.voluntary),
            grouped(self.involuntary)
        )?;
        let Some(recorded) = &self.recorded else { return Ok(()) };
        if let Some(migrations) = recorded.migrations {
            write!(formatter, ", {} migrations", grouped(migrations as f64))?;
        }
        if let (Some(p50), Some(p99)) = (recorded.wait_p50_ns, recorded.wait_p99_ns) {
            write!(formatter, ", waits p50 {} p99 {}", format_ns(p50 as f64), format_ns(p99 as f64))?;
        }
        if let (Some(one), Some(share)) = (recorded.switch_ns, recorded.switch_share) {
            write!(formatter, ", {} a switch ({:.1} % of CPU time)", format_ns(one), 100.0 * share)?;
        }
        if let Some(most) = recorded.preempted.first() {
            write!(formatter, ", {} preempts {} {} times", most.by, most.of, grouped(most.count as f64))?;
        }
        match &recorded.unavailable {
            Some(reason) => write!(formatter, ", not recorded: {reason}"),
            None => Ok(()),
        }
    }
}

/// What a load does under a scheduler, and under the stock class after it.
fn why(reasons: &RunReasons, stock: Option<&RunReasons>) -> String {
    stock.map_or_else(|| reasons.to_string(), |stock| format!("{reasons}; stock {stock}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_sched::{Boot, LoadRuns, loads_named};
    use swtch_stats::Rng;

    /// A table of one load and one figure: a row of boots a scheduler, with runs.
    fn document(better: Better, columns: &[(&str, Vec<Vec<f64>>)]) -> BenchDocument {
        let mut loads = loads_named(&["perf-pipe".to_owned()]).unwrap();
        loads[0].metrics[0].better = better;
        let run = |value: &f64| Run {
            seconds: *value,
            voluntary: 4000,
            involuntary: (7.0 * value) as u64,
            metrics: vec![*value],
        };
        let boot = |(number, runs): (usize, &Vec<f64>)| {
            let recorded = (number == 0).then(|| RecordedRun {
                migrations: Some(1012),
                wait_p50_ns: Some(4600),
                wait_p99_ns: Some(6_820_000),
                ..RecordedRun::default()
            });
            let runs = runs.iter().map(run).collect();
            let loads = vec![LoadRuns { load: "perf-pipe".to_owned(), runs, failed: None, recorded }];
            Boot { number, inputs: String::new(), loads }
        };
        let column = |(name, boots): &(&str, Vec<Vec<f64>>)| Column {
            scheduler: (*name).to_owned(),
            identity: String::new(),
            kernel: "7.3".to_owned(),
            boots: boots.iter().enumerate().map(boot).collect(),
        };
        let boots = columns.first().map_or(0, |(_, boots)| boots.len());
        judge_bench(&Benched {
            loads,
            cpus: 4,
            boots,
            runs: 2,
            columns: columns.iter().map(column).collect(),
            failed: vec![("worst".to_owned(), "it stalled".to_owned())],
            missing: Vec::new(),
        })
    }

    fn three(better: Better) -> BenchDocument {
        let boots = |factor: f64| {
            [1.0, 1.02, 0.98, 1.01, 0.99].map(|value| vec![factor * value, factor * (value + 0.001)]).to_vec()
        };
        document(better, &[("stock", boots(1.0)), (AGAIN, boots(1.0)), ("flsched", boots(2.0))])
    }

    /// One boot of four in which a load failed is a cell that says so, and no figure of the other boots.
    #[test]
    fn a_load_that_failed_has_its_reason_and_no_figure() {
        let loads = loads_named(&["perf-pipe".to_owned(), "stress-fork".to_owned()]).unwrap();
        let run = Run { seconds: 1.0, voluntary: 1, involuntary: 1, metrics: vec![1.0] };
        let column = |name: &str, failing: &[&str]| Column {
            scheduler: name.to_owned(),
            boots: (0..4)
                .map(|number| {
                    let ran = |load: &swtch_sched::Load| {
                        let fails = number == 2 && failing.contains(&load.name.as_str());
                        LoadRuns {
                            load: load.name.clone(),
                            runs: if fails { Vec::new() } else { vec![run.clone()] },
                            failed: fails.then(|| "it ended with status 3".to_owned()),
                            recorded: None,
                        }
                    };
                    Boot { number, inputs: String::new(), loads: loads.iter().map(ran).collect() }
                })
                .collect(),
            ..Column::default()
        };
        let judged = |stock: &[&str], rr: &[&str]| {
            let columns = vec![column("stock", stock), column(AGAIN, &[]), column("rr", rr)];
            let (failed, missing) = (Vec::new(), Vec::new());
            judge_bench(&Benched {
                loads: loads.clone(),
                cpus: 4,
                boots: 4,
                runs: 1,
                columns,
                failed,
                missing,
            })
        };
        let of = |document: &BenchDocument, load: &str| {
            document.of("rr").find(|cell| cell.load == load).cloned().unwrap()
        };
        let document = judged(&[], &["stress-fork"]);
        let [sound, failed] = ["perf-pipe", "stress-fork"].map(|load| of(&document, load));
        assert_eq!((sound.median, sound.against_stock), (Some(1.0), Some(Against::Same)));
        assert_eq!(
            (failed.median, failed.ratio, failed.against_stock, failed.p_holm),
            (None, None, None, None)
        );
        assert_eq!((failed.failed.as_deref(), document.cells.len()), (Some("it ended with status 3"), 6));
        assert_eq!(failed.why, "failed: it ended with status 3");
        // Where the stock class failed there is nothing to compare with.
        let alone = of(&judged(&["perf-pipe"], &[]), "perf-pipe");
        assert_eq!(
            (alone.median, alone.ratio, alone.against_stock, alone.failed),
            (Some(1.0), None, None, None)
        );
    }

    #[test]
    fn every_cell_is_judged_by_what_is_better_there() {
        let document = three(Better::Smaller);
        let found: Vec<_> = document.cells.iter().map(|cell| cell.against_stock).collect();
        assert_eq!(found, [None, Some(Against::Same), Some(Against::Worse)]);
        assert_eq!((document.chance(), document.cells[2].cost()), ((0, 1), Some(2.0)));
        // All five boots of one side before those of the other: one of 252 orders, on two sides.
        assert_eq!(document.cells[2].p_holm, Some(2.0 / 252.0));
        assert_eq!(
            document.cells[2].why,
            "4,000 voluntary, 14 involuntary, 1,012 migrations, waits p50 4.60 µs p99 6.82 ms; \
             stock 4,000 voluntary, 7 involuntary, 1,012 migrations, waits p50 4.60 µs p99 6.82 ms"
        );
        let larger = three(Better::Larger);
        assert_eq!(
            (larger.cells[2].against_stock, larger.cells[2].cost()),
            (Some(Against::Better), Some(0.5))
        );
        let json = serde_json::to_value(&larger).unwrap();
        assert_eq!(
            (&json["cells"][2]["against_stock"], &json["failed"]["worst"]),
            (&"better".into(), &"it stalled".into())
        );
    }

    #[test]
    fn marks_need_boots() {
        let boots = |count: usize, factor: f64| {
            (0..count).map(|n| vec![factor * (1.0 + 0.001 * n as f64)]).collect::<Vec<_>>()
        };
        let of =
            |count| document(Better::Smaller, &[("stock", boots(count, 1.0)), (AGAIN, boots(count, 2.0))]);
        assert_eq!((of(3).too_few_boots(), of(3).chance()), (Some(4), (0, 1)), "one of 10 orders");
        assert_eq!((of(4).too_few_boots(), of(4).chance()), (None, (1, 1)), "one of 35 orders");
    }

    /// What made a column of the stock class 'worse' than itself: runs of one boot are alike, and boots differ by 5 %.
    #[test]
    fn the_stock_class_gets_no_more_marks_than_the_level_says() {
        let mut rng = Rng::new(3);
        let mut uniform = move || rng.unit_f64() - 0.5;
        let mut column = |boots: usize, runs: usize| -> Vec<Vec<f64>> {
            let mut boot = || {
                let level = 1.0 + 0.1 * uniform();
                // The clocks of some programs have few digits.
                (0..runs).map(|_| (1000.0 * (level + 0.02 * uniform())).round() / 1000.0).collect()
            };
            (0..boots).map(|_| boot()).collect()
        };
        let tables = 400;
        let (mut by_boots, mut by_runs) = (0, 0);
        for _ in 0..tables {
            let pair = [("stock", column(8, 2)), (AGAIN, column(8, 2))];
            by_boots += document(Better::Smaller, &pair).chance().0;
            // As if each run of one boot were a boot.
            let [one, other] =
                [column(1, 9), column(1, 9)].map(|boots| boots[0].iter().map(|run| vec![*run]).collect());
            by_runs += document(Better::Smaller, &[("stock", one), (AGAIN, other)]).chance().0;
        }
        // Three standard deviations of 5 % in 400 are 13.
        assert!(by_boots <= 20 + 13, "{by_boots} of {tables}");
        assert!(by_runs > tables / 2, "{by_runs} of {tables}");
    }
}
