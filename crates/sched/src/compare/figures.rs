//! What a comparison says: the document that `--json` prints, and that comes back from a virtual machine.

use super::counted::Counted;
use super::metric::Metric;
use super::policy::Prepared;
use super::recorded::{BillFigures, Waits};
use super::{Collected, ComparisonJob};
use crate::better::Better;
use crate::error::SchedError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use swtch_stats::{median_interval_or_extremes, quantile_sorted, sorted};

/// What intervals are to hold the median with, where there are enough runs.
const CONFIDENCE: f64 = 0.95;

/// A command under several policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The command, its program first.
    pub command: Vec<String>,
    /// Where it ran.
    pub machine: Machine,
    /// Whether the same comparison gives the same figures: times are then counted instructions, 1 ns each.
    pub exact: bool,
    /// The policies, in the order asked for.
    pub runs: Vec<PolicyRuns>,
}

/// Where a comparison ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// CPUs that could be used.
    pub cpus: usize,
    /// In a virtual machine: `kvm`, `emulation` or `counted-instructions`.
    pub vm: Option<String>,
}

/// A policy's runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyRuns {
    /// Its name, with options.
    pub policy: String,
    /// What the kernel calls the scheduler; absent for the kernel's own.
    pub ops: Option<String>,
    /// Runs that were counted, after one that was not.
    pub count: usize,
    /// From the command's start to its end, s.
    pub seconds: RunFigure,
    /// Switches of the command and of all descendants that were waited for (`getrusage`).
    pub context_switches: RunFigure,
    /// Those of them where the task could have gone on.
    pub involuntary: RunFigure,
    /// Switches of the whole machine meanwhile, from and to the idle task among them (`/proc/stat`).
    pub machine_context_switches: Option<RunFigure>,
    /// Waits in run queues, of one run more that was recorded.
    pub wait_ns: Option<Waits>,
    /// What the switches of that run cost.
    pub bill: Option<BillFigures>,
    /// Its Trace, where it is kept.
    pub trace: Option<PathBuf>,
    /// Figures of what the command printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricRuns>,
    /// What the last counted run printed, on both streams: standard output first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The figures that are unavailable, and why.
    pub unavailable: Vec<String>,
}

/// A figure of what a command printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRuns {
    /// What it is.
    pub name: String,
    /// Which values are better.
    pub better: Better,
    /// Its values.
    #[serde(flatten)]
    pub figure: RunFigure,
}

/// A median and where the true one is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFigure {
    /// Of the counted runs.
    pub median: f64,
    /// Lower end of the interval, from order statistics; absent for a single run, and where figures are exact.
    pub ci_low: Option<f64>,
    /// Upper end.
    pub ci_high: Option<f64>,
    /// The probability that such an interval holds the median: 0.95 or more from 6 runs on, below that what the extremes give.
    pub confidence: Option<f64>,
    /// Of each counted run, in their order.
    #[serde(default)]
    pub values: Vec<f64>,
}

impl RunFigure {
    /// Of values of several runs.
    ///
    /// ```
    /// use swtch_sched::RunFigure;
    ///
    /// let figure = RunFigure::of(&[3.0, 1.0, 2.0, 5.0, 4.0]);
    /// assert_eq!((figure.median, figure.ci_low, figure.ci_high), (3.0, Some(1.0), Some(5.0)));
    /// assert_eq!(figure.confidence, Some(0.9375));
    /// ```
    pub fn of(values: &[f64]) -> Self {
        let sorted = sorted(values);
        let median = if sorted.is_empty() { 0.0 } else { quantile_sorted(&sorted, 0.5) };
        let interval = median_interval_or_extremes(&sorted, CONFIDENCE);
        Self {
            median,
            ci_low: interval.map(|interval| interval.low),
            ci_high: interval.map(|interval| interval.high),
            confidence: interval.map(|interval| interval.coverage),
            values: values.to_vec(),
        }
    }

    /// The ends of the interval; the median, where there is none.
    pub fn ends(&self) -> [f64; 2] {
        [self.ci_low, self.ci_high].map(|end| end.unwrap_or(self.median))
    }

    /// Without an interval.
    #[must_use]
    pub fn exactly(self) -> Self {
        Self { ci_low: None, ci_high: None, confidence: None, ..self }
    }
}

impl MetricRuns {
    fn exactly(self) -> Self {
        Self { figure: self.figure.exactly(), ..self }
    }
}

impl PolicyRuns {
    /// The same without intervals, for figures that are exact.
    pub(super) fn exact(self) -> Self {
        Self {
            seconds: self.seconds.exactly(),
            context_switches: self.context_switches.exactly(),
            involuntary: self.involuntary.exactly(),
            machine_context_switches: self.machine_context_switches.map(RunFigure::exactly),
            metrics: self.metrics.into_iter().map(MetricRuns::exactly).collect(),
            ..self
        }
    }
}

pub(super) fn comparison(
    job: &ComparisonJob,
    prepared: &[Prepared],
    collected: Vec<Collected>,
) -> Result<Comparison, SchedError> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let machine = Machine {
        kernel: kernel.trim().to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        vm: None,
    };
    let metrics: Vec<Metric> =
        Metric::known_of(&job.command).into_iter().chain(job.metrics.clone()).collect();
    let runs = prepared.iter().zip(collected).map(|(one, collected)| policy_runs(one, &metrics, collected));
    let runs = runs.collect::<Result<_, _>>()?;
    let command = job.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(Comparison { command, machine, exact: false, runs })
}

/// The figures of what the runs printed.
fn metric_runs(metrics: &[Metric], outputs: &[String], policy: &str) -> Result<Vec<MetricRuns>, SchedError> {
    let mut found = Vec::new();
    for metric in metrics {
        let values: Option<Vec<f64>> = outputs.iter().map(|output| metric.value(output)).collect();
        match values {
            Some(values) => found.push(MetricRuns {
                name: metric.name.clone(),
                better: metric.better,
                figure: RunFigure::of(&values),
            }),
            None if metric.is_required() => {
                let (pattern, policy) = (metric.text().to_owned(), policy.to_owned());
                return Err(SchedError::NotPrinted { pattern, policy });
            }
            None => {}
        }
    }
    Ok(found)
}

fn policy_runs(one: &Prepared, metrics: &[Metric], collected: Collected) -> Result<PolicyRuns, SchedError> {
    let Collected { ops, counted, mut outputs, recorded } = collected;
    let figure = |of: fn(&Counted) -> f64| RunFigure::of(&counted.iter().map(of).collect::<Vec<f64>>());
    let machine: Option<Vec<f64>> = counted.iter().map(|run| run.machine.map(|count| count as f64)).collect();
    let mut unavailable = Vec::new();
    if counted.iter().all(|run| run.voluntary + run.involuntary == 0) {
        unavailable.push("context switches: this kernel reports none to getrusage".to_owned());
    }
    if machine.is_none() {
        unavailable.push("switches of the machine: /proc/stat has no ctxt".to_owned());
    }
    match &recorded {
        None => unavailable.push("waits and the bill: nothing was recorded (--no-record)".to_owned()),
        Some(recorded) => unavailable.extend(recorded.missing.iter().map(|why| format!("waits: {why}"))),
    }
    Ok(PolicyRuns {
        policy: one.name.clone(),
        ops,
        count: counted.len(),
        seconds: figure(|run| run.seconds),
        context_switches: figure(|run| (run.voluntary + run.involuntary) as f64),
        involuntary: figure(|run| run.involuntary as f64),
        machine_context_switches: machine.map(|counts| RunFigure::of(&counts)),
        wait_ns: recorded.as_ref().and_then(|recorded| recorded.waits),
        bill: recorded.as_ref().map(|recorded| recorded.bill.clone()),
        trace: recorded.and_then(|recorded| recorded.trace),
        metrics: metric_runs(metrics, &outputs, &one.name)?,
        output: outputs.pop().unwrap_or_default(),
        unavailable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_have_the_confidence_that_they_have() {
        let alone =
            RunFigure { median: 7.0, ci_low: None, ci_high: None, confidence: None, values: vec![7.0] };
        assert_eq!(RunFigure::of(&[7.0]), alone);
        assert_eq!(RunFigure::of(&[1.0, 2.0]).confidence, Some(0.5));
        let six = RunFigure::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((six.median, six.ci_low, six.ci_high), (3.5, Some(1.0), Some(6.0)));
        assert!(six.confidence.unwrap() >= 0.95);
    }
}
