//! Whether the replays of a recording can decide anything.
//!
//! A replay is a model of what ran. The policy of the recording shows how far the simulation is off. A difference to another policy
//! that is not larger than that error says nothing.

use super::Summary;
use crate::recorded::Recorded;
use crate::workloads::replay::HandOver;
use serde::Serialize;

/// Differences and errors below half a per cent are none.
const SMALLEST: f64 = 0.005;

/// Whether the replays of a recording tell its policies apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayVerdict {
    /// `false`: the figures of the replays do not decide which policy is better.
    pub decides: bool,
    /// Why not, a sentence each.
    pub reasons: Vec<String>,
    /// How far the replay under the policy of the recording is from the recording; absent where that policy was not replayed.
    pub error: Option<ReplayError>,
}

/// Simulated over recorded, less 1; absent where the recording has no such figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReplayError {
    /// Of the makespan.
    pub makespan: Option<f64>,
    /// Of the switches, voluntary and involuntary.
    pub context_switches: Option<f64>,
    /// Of the median wait.
    pub wait_p50: Option<f64>,
    /// Of the 99th percentile of waits.
    pub wait_p99: Option<f64>,
}

impl ReplayError {
    fn parts(&self) -> [Option<f64>; 4] {
        [self.makespan, self.context_switches, self.wait_p50, self.wait_p99]
    }
}

/// The figures that replays are judged by, in the order of [`ReplayError`].
const FIGURES: [&str; 4] = ["makespan", "context switches", "median wait", "wait p99"];

fn figures(run: &Summary) -> [Option<u64>; 4] {
    [Some(run.makespan_ns), Some(run.context_switches), run.wait_ns.p50, run.wait_ns.p99]
}

/// `of` over `over`, less 1.
fn change(of: Option<u64>, over: Option<u64>) -> Option<f64> {
    let (of, over) = (of?, over.filter(|over| *over > 0)?);
    Some(of as f64 / over as f64 - 1.0)
}

fn percent(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}

impl Recorded {
    fn figures(&self) -> [Option<u64>; 4] {
        let switches = self.voluntary.zip(self.involuntary).map(|(voluntary, other)| voluntary + other);
        [Some(self.makespan_ns), switches, self.wait_ns.p50, self.wait_ns.p99]
    }

    /// Whether the runs of a replay tell their policies apart.
    pub fn verdict(&self, hand_over: &HandOver, runs: &[Summary]) -> ReplayVerdict {
        let mut reasons = Vec::new();
        let same = self.policy.as_deref().and_then(|policy| runs.iter().find(|run| run.policy == policy));
        match (&self.policy, same) {
            (None, _) => reasons.push(
                "The policy of the recording is not known, so the error of the replay is not known either."
                    .to_owned(),
            ),
            (Some(policy), None) => reasons.push(format!(
                "The recording was made under {policy}, which is not among the policies, so the error of the replay is not known: add it to --policies."
            )),
            (Some(_), Some(_)) => {}
        }
        if hand_over.is_most() {
            reasons.push(format!(
                "The workload mostly hands over from task to task ({} of {} wake-ups, {:.1} us of work between two of them): a recording has no message that found its reader awake, so that another policy's batches cannot be replayed.",
                hand_over.by_tasks,
                hand_over.wakeups,
                hand_over.work_ns as f64 / hand_over.by_tasks.max(1) as f64 / 1e3,
            ));
        }
        let error = same.map(|run| self.error_of(run));
        if let (Some(same), Some(error)) = (same, &error) {
            reasons.extend(undecided(same, error, runs));
        }
        ReplayVerdict { decides: reasons.is_empty(), reasons, error }
    }

    fn error_of(&self, run: &Summary) -> ReplayError {
        let (of, over) = (figures(run), self.figures());
        let [makespan, context_switches, wait_p50, wait_p99] =
            std::array::from_fn(|place| change(of[place], over[place]));
        ReplayError { makespan, context_switches, wait_p50, wait_p99 }
    }

    /// How far the run under the recording's own policy is from it, in words.
    pub fn distance(&self, runs: &[Summary]) -> Option<String> {
        let policy = self.policy.as_deref()?;
        let run = runs.iter().find(|run| run.policy == policy)?;
        let part = |simulated: Option<u64>, recorded: Option<u64>| {
            change(simulated, recorded).map_or_else(|| "unknown".to_owned(), percent)
        };
        Some(format!(
            "Error of the replay under {policy}, the policy of the recording: makespan {}, voluntary switches {}, involuntary {}, migrations {}, wait p50 {}, p99 {}.",
            part(Some(run.makespan_ns), Some(self.makespan_ns)),
            part(Some(run.voluntary), self.voluntary),
            part(Some(run.involuntary), self.involuntary),
            part(Some(run.migrations), self.migrations),
            part(run.wait_ns.p50, self.wait_ns.p50),
            part(run.wait_ns.p99, self.wait_ns.p99),
        ))
    }
}

/// The differences between policies that are not larger than the replay's error.
fn undecided(same: &Summary, error: &ReplayError, runs: &[Summary]) -> Vec<String> {
    let mut reasons = Vec::new();
    for run in runs.iter().filter(|run| run.policy != same.policy) {
        let (of, over) = (figures(run), figures(same));
        let parts = error.parts();
        let hidden: Vec<String> = (0..FIGURES.len())
            .filter_map(|place| {
                let (error, difference) = (parts[place]?, change(of[place], over[place])?);
                // By ratios: +100 % is as far as -50 %.
                let [far, apart] = [error, difference].map(|part| part.max(-0.999_999).ln_1p().abs());
                (far >= apart && far >= SMALLEST)
                    .then(|| format!("{} {} (error {})", FIGURES[place], percent(difference), percent(error)))
            })
            .collect();
        if !hidden.is_empty() {
            reasons.push(format!(
                "The error of the replay is as large as the difference between {} and {}: {}.",
                run.policy,
                same.policy,
                hidden.join(", ")
            ));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Durations;

    fn run(policy: &str, makespan_ns: u64, switches: u64, p50: u64) -> Summary {
        let wait_ns = Durations { count: 9, p50: Some(p50), p90: Some(p50), p99: Some(p50), max: Some(p50) };
        Summary {
            policy: policy.to_owned(),
            makespan_ns,
            voluntary: switches,
            context_switches: switches,
            wait_ns,
            ..Summary::default()
        }
    }

    fn recorded(policy: Option<&str>) -> Recorded {
        let wait_ns =
            Durations { count: 9, p50: Some(1000), p90: Some(1000), p99: Some(1000), max: Some(1000) };
        Recorded {
            trace: "a.swtch".to_owned(),
            policy: policy.map(str::to_owned),
            makespan_ns: 1_000_000,
            voluntary: Some(90),
            involuntary: Some(10),
            migrations: None,
            wait_ns,
        }
    }

    const COMPUTING: HandOver = HandOver { wakeups: 10, by_tasks: 8, work_ns: 8_000_000, cost_ns: 3_000 };

    #[test]
    fn differences_larger_than_the_error_decide() {
        let runs = [run("eevdf", 1_010_000, 101, 1_010), run("rr", 1_300_000, 50, 2_000)];
        let verdict = recorded(Some("eevdf")).verdict(&COMPUTING, &runs);
        assert!(verdict.decides && verdict.reasons.is_empty(), "{verdict:?}");
        assert!((verdict.error.unwrap().makespan.unwrap() - 0.01).abs() < 1e-9);
    }

    /// The case of a queue handed over item by item: -11.3 % under the recording's policy, +4 % between policies.
    #[test]
    fn an_error_as_large_as_the_difference_decides_nothing() {
        let runs = [run("eevdf", 887_000, 100, 1_000), run("rr", 922_000, 200, 3_000)];
        let verdict = recorded(Some("eevdf")).verdict(&COMPUTING, &runs);
        assert!(!verdict.decides);
        assert_eq!(
            verdict.reasons,
            [
                "The error of the replay is as large as the difference between rr and eevdf: makespan +3.9 % (error -11.3 %)."
            ]
        );
        // So do waits alone.
        let runs = [run("eevdf", 1_000_000, 100, 3_000), run("rr", 1_500_000, 300, 2_000)];
        let verdict = recorded(Some("eevdf")).verdict(&COMPUTING, &runs);
        assert!(
            !verdict.decides && verdict.reasons[0].contains("median wait -33.3 % (error +200.0 %)"),
            "{verdict:?}"
        );
    }

    #[test]
    fn hand_over_and_an_unknown_error_decide_nothing() {
        let runs = [run("eevdf", 1_000_000, 100, 1_000), run("rr", 1_500_000, 300, 2_000)];
        let handing = HandOver { work_ns: 80_000, ..COMPUTING };
        let verdict = recorded(Some("eevdf")).verdict(&handing, &runs);
        assert!(
            !verdict.decides && verdict.reasons[0].contains("8 of 10 wake-ups, 10.0 us of work"),
            "{verdict:?}"
        );
        for policy in [None, Some("cfs")] {
            let verdict = recorded(policy).verdict(&COMPUTING, &runs);
            assert!(!verdict.decides && verdict.error.is_none(), "{verdict:?}");
        }
        assert!(!HandOver::default().is_most() && !HandOver { wakeups: 100, ..handing }.is_most());
    }
}
