//! The table of errors: its rows, and how far they are off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swtch_sched::SimulatedFigure;
use swtch_stats::median;

/// Schema of the document.
pub const ACCURACY_SCHEMA: &str = "swtch/accuracy/1";

/// Policies whose times on a load differ by less are in no order.
const CLEAR: f64 = 1.1;

/// The table of errors: `swtch sched accuracy --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccuracyDocument {
    /// What this document is.
    pub schema: String,
    /// The version that wrote it.
    pub swtch_version: String,
    /// The kernel of the guest, or of this machine.
    pub kernel: String,
    /// CPUs of the guest, or those that the loads could use here.
    pub cpus: u32,
    /// Runs of each load under each policy, at least.
    pub runs: usize,
    /// Digests of all that the guest of each scheduler got: the same give the same figures.
    pub inputs: Vec<String>,
    /// The errors of all rows.
    pub errors: Errors,
    /// Every load under every policy.
    pub rows: Vec<AccuracyRow>,
    /// Policies that cannot be simulated, loads under policies that are not compared (`LOAD under POLICY`), and why.
    pub missing: BTreeMap<String, String>,
}

/// The errors of a table, parts of the real figure: 0.1 is 10 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// Of the time.
    pub seconds: ErrorFigures,
    /// Of the switches.
    pub context_switches: ErrorFigures,
    /// Of wake-ups, sleeps and requests: how late, and how long. None where no load tells any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latencies: Option<ErrorFigures>,
    /// Pairs of policies that the simulator puts in the right order, of those whose times on a load differ by more than 10 %.
    pub ordered: u32,
    /// How many such pairs there are.
    pub pairs: u32,
}

/// The errors of one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorFigures {
    /// Half of the rows are off by less.
    pub median: f64,
    /// The row that is off most.
    pub worst: f64,
    /// How far the reference is off from itself: the stock class once more, with other seeds; the median of its rows.
    pub chance: Option<f64>,
}

/// A load under a policy, real and simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccuracyRow {
    /// The load.
    pub load: String,
    /// The policy it ran under.
    pub policy: String,
    /// Where it ran.
    pub reference: Reference,
    /// What was simulated: a workload's name, or the text of a file; `swtch simulate` accepts both.
    pub work: String,
    /// Under which policy of the simulator.
    pub simulated_policy: String,
    /// Time, by the program's own clock.
    pub seconds: RealAndSimulated,
    /// Switches of all its tasks, those of starting and ending it among them.
    pub context_switches: RealAndSimulated,
    /// Other figures that the load tells and its simulation has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<LatencyRow>,
    /// Runs that the real figures are medians of. In a virtual machine the simulated ones are of several seeds for each.
    #[serde(default)]
    pub runs: usize,
    /// Runs that are left out, since what a switch cost before and after them differed by more than 15 %.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: usize,
}

/// How late tasks were, or how long requests took, real and simulated, us.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRow {
    /// The load's name of it, such as `wake-up p99`.
    pub figure: String,
    /// Which times of the simulation it is.
    pub simulated_by: SimulatedFigure,
    /// Both, us.
    pub us: RealAndSimulated,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Where a load ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// In a virtual machine that counts instructions.
    Guest,
    /// On this machine. Each run has a simulation of its own, with what a switch cost just before and just after it.
    Host,
}

/// A real figure and the simulated one: medians of the runs, and of the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealAndSimulated {
    /// The real one.
    pub real: f64,
    /// The least of the runs.
    pub real_low: f64,
    /// The greatest.
    pub real_high: f64,
    /// The same by the simulator.
    pub simulated: f64,
}

impl RealAndSimulated {
    /// How far the simulation is off, a part of the real figure; negative: too low.
    pub fn error(self) -> f64 {
        self.simulated / self.real - 1.0
    }
}

/// The errors of rows; how far the reference is off from itself stays.
pub(super) fn errors(rows: &[AccuracyRow], before: Errors) -> Errors {
    let figures = |of: &dyn Fn(&AccuracyRow) -> Vec<RealAndSimulated>, chance: Option<f64>| {
        let all: Vec<f64> = rows.iter().flat_map(of).map(|figure| figure.error().abs()).collect();
        let worst = all.iter().copied().fold(0.0, f64::max);
        (!all.is_empty()).then(|| ErrorFigures { median: median(&all), worst, chance })
    };
    let latencies = |row: &AccuracyRow| row.latencies.iter().map(|latency| latency.us).collect();
    let (mut ordered, mut pairs) = (0, 0);
    for (place, row) in rows.iter().enumerate() {
        for other in rows[place + 1..].iter().filter(|other| other.load == row.load) {
            let real = row.seconds.real / other.seconds.real;
            if real.max(1.0 / real) > CLEAR {
                pairs += 1;
                ordered += u32::from((real > 1.0) == (row.seconds.simulated > other.seconds.simulated));
            }
        }
    }
    Errors {
        seconds: figures(&|row| vec![row.seconds], before.seconds.chance).unwrap_or_default(),
        context_switches: figures(&|row| vec![row.context_switches], before.context_switches.chance)
            .unwrap_or_default(),
        latencies: figures(&latencies, before.latencies.and_then(|before| before.chance)),
        ordered,
        pairs,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::accuracy) fn row(
        load: &str,
        policy: &str,
        seconds: (f64, f64),
        switches: (f64, f64),
    ) -> AccuracyRow {
        let beside =
            |(real, simulated)| RealAndSimulated { real, real_low: real, real_high: real, simulated };
        AccuracyRow {
            load: load.to_owned(),
            policy: policy.to_owned(),
            reference: Reference::Guest,
            work: "ping-pong:loops=20".to_owned(),
            simulated_policy: "rr".to_owned(),
            seconds: beside(seconds),
            context_switches: beside(switches),
            latencies: Vec::new(),
            runs: 1,
            left_out: 0,
        }
    }

    #[test]
    fn errors_are_parts_of_the_real_figure_and_only_clear_orders_count() {
        let rows = [
            row("a", "stock", (1.0, 1.2), (100.0, 90.0)),
            row("a", "rr", (2.0, 1.0), (100.0, 150.0)),
            row("a", "fifo", (2.1, 1.5), (100.0, 100.0)),
            row("b", "rr", (9.0, 9.0), (1.0, 1.0)),
        ];
        let found = errors(&rows, Errors::default());
        assert!(
            (found.seconds.worst - 0.5).abs() < 1e-9 && (found.context_switches.worst - 0.5).abs() < 1e-9
        );
        assert!((found.context_switches.median - 0.05).abs() < 1e-9, "{found:?}");
        // stock against rr is the wrong way round; rr and fifo differ by 5 %.
        assert_eq!((found.ordered, found.pairs), (1, 2));
    }
}
