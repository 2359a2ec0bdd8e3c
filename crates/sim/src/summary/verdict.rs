//! Whether the replays of a recording can decide anything.
//!
//! A replay is a model of what ran. The policy of the recording shows how far the simulation is off. A difference to another policy
//! that is not larger than that error says nothing.

use super::WhatIfEffects;
use crate::ensemble::{Interval, PolicyFigures};
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

fn intervals(run: &PolicyFigures) -> [Option<Interval>; 4] {
    [Some(run.makespan_ns), Some(run.context_switches), run.wait_p50_ns, run.wait_p99_ns]
}

fn figures(run: &PolicyFigures) -> [Option<u64>; 4] {
    intervals(run).map(|interval| interval.map(|interval| interval.median))
}

/// Whether a figure differs from another one by so much that it counts.
fn differs(part: f64) -> bool {
    distance(part) >= SMALLEST
}

/// By ratios: +100 % is as far as -50 %.
fn distance(part: f64) -> f64 {
    part.max(-0.999_999).ln_1p().abs()
}

/// `of` over `over`, less 1.
fn change(of: Option<u64>, over: Option<u64>) -> Option<f64> {
    let (of, over) = (of?, over.filter(|over| *over > 0)?);
    Some(of as f64 / over as f64 - 1.0)
}

fn percent(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}

impl ReplayVerdict {
    /// Takes in what changes to the replay do: what is not larger than the replay's own error says nothing.
    pub(super) fn judge(&mut self, what_if: &WhatIfEffects) {
        let Some(error) = self.error.and_then(|error| error.wait_p99) else { return };
        for effect in &what_if.policies {
            let changes = effect.tasks.iter().filter(|row| row.wait_p99_ns.differs);
            let most = changes
                .filter_map(|row| Some((row.wait_p99_ns.part()?, row.name.as_str())))
                .max_by(|one, other| distance(one.0).total_cmp(&distance(other.0)));
            if let Some((most, name)) =
                most.filter(|(most, _)| differs(error) && distance(error) >= distance(*most))
            {
                self.reasons.push(format!(
                    "The error of the replay's wait p99 ({}) is as large as what the changes do under {}: {} for {name}.",
                    percent(error),
                    effect.policy,
                    percent(most)
                ));
            }
        }
        self.decides = self.reasons.is_empty();
    }
}

impl Recorded {
    fn figures(&self) -> [Option<u64>; 4] {
        let switches = self.voluntary.zip(self.involuntary).map(|(voluntary, other)| voluntary + other);
        [Some(self.makespan_ns), switches, self.wait_ns.p50, self.wait_ns.p99]
    }

    /// Whether the runs of a replay tell their policies apart.
    pub fn verdict(&self, hand_over: &HandOver, runs: &[PolicyFigures]) -> ReplayVerdict {
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
                "The workload mostly hands over from task to task ({}): a recording has no message that found its reader awake, so that another policy's batches cannot be replayed.",
                hand_over.amount(),
            ));
        }
        let error = same.map(|run| self.error_of(run));
        if let (Some(same), Some(error)) = (same, &error) {
            reasons.extend(undecided(same, error, runs));
        }
        reasons.extend(overlapping(runs));
        ReplayVerdict { decides: reasons.is_empty(), reasons, error }
    }

    fn error_of(&self, run: &PolicyFigures) -> ReplayError {
        let (of, over) = (figures(run), self.figures());
        let [makespan, context_switches, wait_p50, wait_p99] =
            std::array::from_fn(|place| change(of[place], over[place]));
        ReplayError { makespan, context_switches, wait_p50, wait_p99 }
    }

    /// How far the run under the recording's own policy is from it, in words.
    pub fn distance(&self, runs: &[PolicyFigures]) -> Option<String> {
        let policy = self.policy.as_deref()?;
        let run = runs.iter().find(|run| run.policy == policy)?;
        let part = |simulated: Option<u64>, recorded: Option<u64>| {
            change(simulated, recorded).map_or_else(|| "unknown".to_owned(), percent)
        };
        Some(format!(
            "Error of the replay under {policy}, the policy of the recording: makespan {}, voluntary switches {}, involuntary {}, migrations {}, wait p50 {}, p99 {}.",
            part(Some(run.makespan_ns.median), Some(self.makespan_ns)),
            part(Some(run.voluntary.median), self.voluntary),
            part(Some(run.involuntary.median), self.involuntary),
            part(Some(run.migrations.median), self.migrations),
            part(run.wait_p50_ns.map(|wait| wait.median), self.wait_ns.p50),
            part(run.wait_p99_ns.map(|wait| wait.median), self.wait_ns.p99),
        ))
    }
}

/// The differences between policies that are not larger than the replay's error.
fn undecided(same: &PolicyFigures, error: &ReplayError, runs: &[PolicyFigures]) -> Vec<String> {
    let mut reasons = Vec::new();
    for run in runs.iter().filter(|run| run.policy != same.policy) {
        let (of, over) = (figures(run), figures(same));
        let parts = error.parts();
        let hidden: Vec<String> = (0..FIGURES.len())
            .filter_map(|place| {
                let (error, difference) = (parts[place]?, change(of[place], over[place])?);
                (differs(error) && distance(error) >= distance(difference))
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

/// The differences between policies that are not larger than those between seeds.
fn overlapping(runs: &[PolicyFigures]) -> Vec<String> {
    let mut reasons = Vec::new();
    let Some((first, others)) = runs.split_first() else { return reasons };
    for run in others {
        let (of, over) = (intervals(run), intervals(first));
        let hidden: Vec<String> = (0..FIGURES.len())
            .filter_map(|place| {
                let (of, over) = (of[place]?, over[place]?);
                let difference = change(Some(of.median), Some(over.median))?;
                (differs(difference) && of.overlaps(&over))
                    .then(|| format!("{} {}", FIGURES[place], percent(difference)))
            })
            .collect();
        if !hidden.is_empty() {
            reasons.push(format!(
                "The runs under {} and under {} overlap from seed to seed: {}.",
                run.policy,
                first.policy,
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

    fn run(policy: &str, makespan_ns: u64, switches: u64, p50: u64) -> PolicyFigures {
        let exactly = |median: u64| Interval { median, ci_low: Some(median), ci_high: Some(median) };
        PolicyFigures {
            policy: policy.to_owned(),
            makespan_ns: exactly(makespan_ns),
            voluntary: exactly(switches),
            context_switches: exactly(switches),
            wait_p50_ns: Some(exactly(p50)),
            wait_p99_ns: Some(exactly(p50)),
            ..PolicyFigures::default()
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

    #[test]
    fn policies_that_differ_by_less_than_seeds_are_not_told_apart() {
        let around = |median: u64| Interval {
            median,
            ci_low: Some(median - median / 4),
            ci_high: Some(median + median / 4),
        };
        let mut runs = [run("eevdf", 1_000_000, 100, 1_000), run("rr", 1_300_000, 300, 2_000)];
        assert!(recorded(Some("eevdf")).verdict(&COMPUTING, &runs).decides);
        for run in &mut runs {
            run.makespan_ns = around(run.makespan_ns.median);
        }
        let verdict = recorded(Some("eevdf")).verdict(&COMPUTING, &runs);
        assert_eq!(
            verdict.reasons,
            ["The runs under rr and under eevdf overlap from seed to seed: makespan +30.0 %."]
        );
    }
}
