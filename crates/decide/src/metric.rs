//! The figures that decisions are about: each once, with its name, its unit, and how a Trace gives it.

use swtch_cost::{Bill, is_over};
use swtch_trace::tables::TaskRow;
use swtch_trace::{TraceView, fields, figures};
use swtch_units::Unit;

/// A Trace with its bill.
#[derive(Clone, Copy, Debug)]
pub struct PricedTrace<'a> {
    /// The Trace.
    pub trace: TraceView<'a>,
    /// What its switches cost.
    pub bill: &'a Bill,
    /// The requests that it served, where its spans or the caller say so.
    pub requests: Option<u64>,
}

/// A kind of figure.
pub struct Metric {
    /// As people write it, in `--fail-if` and in budgets.
    pub name: &'static str,
    /// What it is, such as `context switches`.
    pub noun: &'static str,
    /// More of it, such as `more context switches`; more is worse.
    pub more: &'static str,
    /// Less of it.
    pub less: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Whether it grows with the time that is recorded. Only then it has a rate.
    pub adds_up: bool,
    /// Whether the verdict depends on it; the others explain.
    pub decides: bool,
    /// Whether it decides only where no other figure does: it varies most between like runs.
    pub yields: bool,
    /// The least change that matters, as a share: two figures are the same where the whole interval is smaller.
    pub margin: f64,
    take: fn(PricedTrace<'_>) -> Option<f64>,
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

macro_rules! metrics {
    ($($name:literal, $unit:ident, [$($flag:ident)*], $margin:literal, $noun:literal, $more:literal, $less:literal, $take:expr;)*) => {
        /// All metrics, those that decide first.
        pub static METRICS: &[Metric] = &[$(Metric {
            name: $name, noun: $noun, more: $more, less: $less, unit: Unit::$unit, margin: $margin, take: $take,
            $($flag: true,)*
            ..REST
        }),*];
    };
}

/// What a metric is unless its row says more.
const REST: Metric = Metric {
    name: "",
    noun: "",
    more: "",
    less: "",
    unit: Unit::Count,
    adds_up: false,
    decides: false,
    yields: false,
    margin: 0.0,
    take: |_| None,
};

metrics! {
    "switches", Count, [adds_up decides], 0.05, "context switches", "more context switches", "fewer context switches",
        |of| figures::switches(of.trace.header).map(|count| count as f64);
    "cpu.time", Time, [adds_up decides], 0.05, "CPU time", "more CPU time", "less CPU time",
        |of| Some(of.bill.cpu_ns).filter(|ns| *ns > 0.0);
    "elapsed", Time, [decides], 0.05, "time from start to end", "more time from start to end", "less time from start to end",
        |of| is_over(of.trace.header).then_some(of.trace.header.duration_ns as f64);
    "wait.p99", Time, [decides yields], 0.25, "99th percentile of the waits", "longer waits at the 99th percentile", "shorter waits at the 99th percentile",
        |of| wait(of, 0.99);
    "voluntary", Count, [adds_up], 0.05, "voluntary switches", "more voluntary switches", "fewer voluntary switches",
        |of| of.trace.header.totals.context_switches.voluntary.map(|count| count as f64);
    "involuntary", Count, [adds_up], 0.05, "involuntary switches", "more involuntary switches", "fewer involuntary switches",
        |of| of.trace.header.totals.context_switches.involuntary.map(|count| count as f64);
    "wakeups", Count, [adds_up], 0.05, "wake-ups", "more wake-ups", "fewer wake-ups",
        |of| of.trace.header.totals.wakeups.map(|count| count as f64);
    "migrations", Count, [adds_up], 0.05, "migrations", "more migrations", "fewer migrations", migrations;
    "wait.total", Time, [adds_up], 0.05, "time in run queues", "more time in run queues", "less time in run queues", wait_total;
    "wait.p50", Time, [], 0.25, "median wait", "longer median waits", "shorter median waits", |of| wait(of, 0.5);
    "wait.p90", Time, [], 0.25, "90th percentile of the waits", "longer waits at the 90th percentile", "shorter waits at the 90th percentile",
        |of| wait(of, 0.9);
    "wait.longest", Time, [], 0.25, "longest wait", "longer longest waits", "shorter longest waits", |of| wait(of, 1.0);
    "switch_cost", Time, [], 0.05, "direct cost of a switch", "higher direct cost of a switch", "lower direct cost of a switch",
        |of| of.bill.switch_ns.map(swtch_cost::Range::middle);
    "bill", Share, [], 0.05, "share of the switches at most", "higher share of the switches at most", "lower share of the switches at most",
        |of| of.bill.share.map(|range| range.high);
    "instructions", Count, [adds_up], 0.05, "instructions", "more instructions", "fewer instructions",
        |of| sum(of, |task| task.instructions);
    "instructions_per_switch", Ratio, [], 0.05, "instructions for each switch", "more instructions for each switch",
        "fewer instructions for each switch", |of| per(sum(of, |task| task.instructions)?, figures::switches(of.trace.header)?);
    "cache_misses", Count, [adds_up], 0.05, "cache misses", "more cache misses", "fewer cache misses", |of| sum(of, |task| task.cache_misses);
    "switches_per_request", Ratio, [], 0.05, "switches for each request", "more switches for each request",
        "fewer switches for each request", |of| per(figures::switches(of.trace.header)? as f64, of.requests?);
}

fn per(amount: f64, of: u64) -> Option<f64> {
    (of > 0).then(|| amount / of as f64)
}

fn migrations(of: PricedTrace<'_>) -> Option<f64> {
    let moves = &of.trace.header.totals.migrations;
    Some((moves.same_l2? + moves.same_l3? + moves.across?) as f64)
}

fn wait(of: PricedTrace<'_>, share: f64) -> Option<f64> {
    figures::quantile_ns(&of.trace.tasks, &of.trace.histograms, "wait", "all", share).map(|ns| ns as f64)
}

fn wait_total(of: PricedTrace<'_>) -> Option<f64> {
    let is_known = !of.trace.header.lacks(&fields::TASKS_WAIT_NS);
    is_known.then(|| of.trace.in_scope().map(|task| task.wait_ns as f64).sum())
}

/// Over the tasks, where every one has it.
fn sum(of: PricedTrace<'_>, count: fn(&TaskRow) -> Option<u64>) -> Option<f64> {
    let counts: Option<Vec<f64>> =
        of.trace.in_scope().map(|task| count(task).map(|count| count as f64)).collect();
    counts.filter(|counts| !counts.is_empty()).map(|counts| counts.iter().sum())
}

/// A metric, or its amount a second. Written `switches` and `switches.rate`.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What it is a figure of.
    pub metric: &'static Metric,
    /// By the second of the recording; only of metrics that add up.
    pub is_rate: bool,
}

/// What a name must end in for a figure a second.
pub(crate) const RATE: &str = ".rate";

/// A name that is not one of a figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a figure: figures are {names}, and {RATE} after {rates}", names = names(|_| true), rates = names(|metric| metric.adds_up))]
pub struct UnknownFigure(String);

fn names(wanted: fn(&Metric) -> bool) -> String {
    let names: Vec<&str> = METRICS.iter().filter(|metric| wanted(metric)).map(|metric| metric.name).collect();
    names.join(", ")
}

impl std::str::FromStr for Figure {
    type Err = UnknownFigure;

    /// ```
    /// use swtch_decide::Figure;
    /// let figure: Figure = "switches.rate".parse()?;
    /// assert!(figure.is_rate && figure.metric.name == "switches");
    /// assert!("wait.p99.rate".parse::<Figure>().is_err());
    /// # Ok::<(), swtch_decide::UnknownFigure>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, UnknownFigure> {
        let (name, is_rate) = text.strip_suffix(RATE).map_or((text, false), |name| (name, true));
        let metric = METRICS.iter().find(|metric| metric.name == name && (metric.adds_up || !is_rate));
        metric.map(|metric| Self { metric, is_rate }).ok_or_else(|| UnknownFigure(text.to_owned()))
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}{}", self.metric.name, if self.is_rate { RATE } else { "" })
    }
}

impl Figure {
    /// The figures of a comparison: of what ends, amounts; of what goes on, amounts a second.
    pub fn all(goes_on: bool) -> impl Iterator<Item = Self> {
        METRICS.iter().map(move |metric| Self { metric, is_rate: goes_on && metric.adds_up })
    }

    /// By the name of a metric.
    pub(crate) fn named(name: &str, is_rate: bool) -> Self {
        let metric = METRICS.iter().find(|metric| metric.name == name).unwrap_or(&REST);
        Self { metric, is_rate }
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        match self.metric.unit {
            Unit::Count if self.is_rate => Unit::Rate,
            Unit::Time if self.is_rate => Unit::Load,
            unit => unit,
        }
    }

    /// Its value; absent where the Trace does not have it.
    pub fn of(&self, trace: PricedTrace<'_>) -> Option<f64> {
        let seconds = trace.trace.header.duration_ns as f64 / 1e9;
        let amount = (self.metric.take)(trace)?;
        match self.metric.unit {
            _ if !self.is_rate => Some(amount),
            _ if seconds <= 0.0 => None,
            Unit::Time => Some(amount / 1e9 / seconds),
            _ => Some(amount / seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_cost::{Inputs, bill};
    use swtch_topology::Host;
    use swtch_trace::model::{Header, Provenance, Scope};
    use swtch_trace::tables::{HistogramRow, Tables};

    #[test]
    fn a_trace_gives_its_figures_and_rates_of_what_adds_up() {
        let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
        header.duration_ns = 2_000_000_000;
        header.totals.context_switches.voluntary = Some(300);
        header.totals.context_switches.involuntary = Some(100);
        let task = TaskRow {
            tid: 7,
            in_scope: true,
            run_ns: 3_000_000_000,
            wait_ns: 500_000_000,
            instructions: Some(8000),
            ..TaskRow::default()
        };
        let histograms = HistogramRow::of("wait", "all", [(100, 120, 99), (1000, 1250, 1)]).collect();
        let tables = Tables { tasks: vec![task], histograms, ..Tables::default() };
        let trace = tables.view(&header);
        let bill = bill(Inputs { trace, model: None, price: None });
        let priced = PricedTrace { trace, bill: &bill, requests: Some(50) };
        let of = |name: &str| name.parse::<Figure>().unwrap().of(priced);
        for (name, value) in [
            ("switches", 400.0),
            ("switches.rate", 200.0),
            ("involuntary.rate", 50.0),
            ("cpu.time", 3e9),
            ("cpu.time.rate", 1.5),
            ("wait.total.rate", 0.25),
            ("wait.p50", 110.0),
            ("instructions_per_switch", 20.0),
            ("switches_per_request", 8.0),
        ] {
            assert_eq!(of(name), Some(value), "{name}");
        }
        assert_eq!(
            (of("elapsed"), of("migrations"), of("bill"), of("cache_misses")),
            (None, None, None, None)
        );
        assert_eq!("cpu.time.rate".parse::<Figure>().unwrap().unit(), Unit::Load);
    }

    #[test]
    fn every_name_is_read_back_and_an_unknown_one_lists_them() {
        for figure in Figure::all(false).chain(Figure::all(true)) {
            let read: Figure = figure.to_string().parse().unwrap();
            assert_eq!((read.metric.name, read.is_rate), (figure.metric.name, figure.is_rate));
        }
        let error = "wait.p98".parse::<Figure>().unwrap_err().to_string();
        assert!(error.contains("wait.p99") && error.contains(".rate after switches"), "{error}");
    }
}
