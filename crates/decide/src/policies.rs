//! Schedulers compared: what the runs of a command under several policies say against the first.

use crate::bench::Against;
use crate::compare::runs_needed;
use crate::verdict::{Change, RunOrder, Verdict, judge_all, overall};
use serde::Serialize;
use swtch_sched::{Better, Comparison, MetricRuns, PolicyRuns};
use swtch_stats::{RATIO_CONFIDENCE, holm, rank_sum};

/// The document of `swtch sched compare --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedPolicies {
    /// Of all policies against the first; absent for a single one.
    pub verdict: Option<Verdict>,
    /// Every policy but the first against that one.
    pub against_first: Vec<PolicyChanges>,
    /// The runs.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// How a policy differs from the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyChanges {
    /// Its name, with options.
    pub policy: String,
    /// The verdict of the figures that decide.
    pub verdict: Verdict,
    /// The figures of the runs without a recorder.
    pub changes: Vec<Change>,
    /// The figures of what the command printed. They have no part in the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricChange>,
    /// Where the verdict is `unclear`: about how many runs of each would decide at this noise; absent where no number would.
    pub runs_needed: Option<u64>,
}

/// How a figure of what the command printed differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricChange {
    /// What it is.
    pub name: String,
    /// Which values are better.
    pub better: Better,
    /// Its median over that of the first policy; absent where that is 0.
    pub ratio: Option<f64>,
    /// The chance of such a difference between like runs by their ranks, corrected for the figures of this policy (Holm).
    pub p_holm: f64,
    /// Better, worse, or not distinguishable.
    pub against_first: Against,
}

/// Compares every policy with the first.
pub fn compare_policies(comparison: Comparison) -> ComparedPolicies {
    // Each round begins with another policy, so the runs of all are in mixed order.
    let order = if comparison.exact { RunOrder::Exact } else { RunOrder::Mixed };
    let Some((first, others)) = comparison.runs.split_first() else {
        return ComparedPolicies { verdict: None, against_first: Vec::new(), comparison };
    };
    let mut changes: Vec<Vec<Change>> = others.iter().map(|other| against(first, other, order)).collect();
    let verdict = judge_all(&mut changes);
    let found = others.iter().zip(changes).map(|(run, changes)| {
        let verdict = overall(&changes);
        let runs_needed = (verdict == Verdict::Unclear).then(|| runs_needed(&changes, run.count)).flatten();
        let metrics = metrics_against(first, run, comparison.exact);
        PolicyChanges { policy: run.policy.clone(), verdict, changes, metrics, runs_needed }
    });
    let against_first: Vec<PolicyChanges> = found.collect();
    ComparedPolicies { verdict: (!against_first.is_empty()).then_some(verdict), against_first, comparison }
}

/// A figure of a policy's runs by its name in verdicts, what one of its units is there, and its values.
type Taken = (&'static str, f64, fn(&PolicyRuns) -> &[f64]);

fn against(first: &PolicyRuns, other: &PolicyRuns, order: RunOrder) -> Vec<Change> {
    let figures: [Taken; 3] = [
        ("elapsed", 1e9, |run| &run.seconds.values),
        ("switches", 1.0, |run| &run.context_switches.values),
        ("involuntary", 1.0, |run| &run.involuntary.values),
    ];
    let change = |(name, unit, of): Taken| {
        let values = |run| of(run).iter().map(|value| value * unit).collect::<Vec<f64>>();
        Change::between(name.parse().ok()?, &values(first), &values(other), order)
    };
    figures.into_iter().filter_map(change).collect()
}

fn metrics_against(first: &PolicyRuns, other: &PolicyRuns, exact: bool) -> Vec<MetricChange> {
    let of_first = |name: &str| first.metrics.iter().find(|metric| metric.name == name);
    let pairs: Vec<_> =
        other.metrics.iter().filter_map(|metric| Some((of_first(&metric.name)?, metric))).collect();
    let p = pairs.iter().map(|(old, new)| match (exact, old.figure.median == new.figure.median) {
        (true, same) => f64::from(u8::from(same)),
        _ => rank_sum(&old.figure.values, &new.figure.values).unwrap_or(1.0),
    });
    let p = holm(&p.collect::<Vec<_>>());
    let change = |((old, new), p_holm): (&(&MetricRuns, &MetricRuns), f64)| {
        let (before, after) = (old.figure.median, new.figure.median);
        let differs = p_holm < 1.0 - RATIO_CONFIDENCE;
        MetricChange {
            name: new.name.clone(),
            better: new.better,
            ratio: (before != 0.0).then(|| after / before),
            p_holm,
            against_first: if differs { Against::of(after, before, new.better) } else { Against::Same },
        }
    };
    pairs.iter().zip(p).map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_sched::{Machine, RunFigure};

    fn compared(exact: bool, factor: f64) -> ComparedPolicies {
        let runs = |policy: &str, factor: f64| {
            let values = [1.0, 1.01, 0.99, 1.0, 1.02].map(|value: f64| value * factor);
            PolicyRuns {
                policy: policy.to_owned(),
                ops: None,
                count: values.len(),
                seconds: RunFigure::of(&values),
                context_switches: RunFigure::of(&[100.0; 5]),
                involuntary: RunFigure::of(&[0.0; 5]),
                machine_context_switches: None,
                wait_ns: None,
                bill: None,
                trace: None,
                metrics: vec![MetricRuns {
                    name: "rps".to_owned(),
                    better: Better::Larger,
                    figure: RunFigure::of(&values),
                }],
                output: String::new(),
                unavailable: Vec::new(),
            }
        };
        let machine = Machine { kernel: "7.3".to_owned(), cpus: 4, vm: None };
        let runs = vec![runs("stock", 1.0), runs("rr", factor)];
        compare_policies(Comparison { command: vec!["make".to_owned()], machine, exact, runs })
    }

    #[test]
    fn policies_have_the_verdicts_of_commands() {
        let of = |exact, factor| compared(exact, factor).against_first[0].verdict;
        assert_eq!(of(false, 1.2), Verdict::Worse);
        assert_eq!(of(false, 0.8), Verdict::Better);
        assert_eq!(of(false, 1.0), Verdict::Same);
        assert_eq!(of(true, 1.000_001), Verdict::Worse, "the same command gives the same figures");
        assert_eq!(of(true, 1.0), Verdict::Same);
        let document = serde_json::to_value(compared(false, 1.2)).unwrap();
        assert_eq!(document["verdict"], "worse");
        assert_eq!(document["against_first"][0]["changes"][0]["metric"], "elapsed");
        assert_eq!(document["runs"][1]["policy"], "rr", "{document}");
        let printed = &document["against_first"][0]["metrics"][0];
        assert_eq!((&printed["name"], &printed["against_first"]), (&"rps".into(), &"better".into()));
        assert_eq!(document["runs"][1]["metrics"][0]["better"], "larger");
        // A guest's document is read without what was decided there.
        assert_eq!(serde_json::from_value::<Comparison>(document).unwrap().runs.len(), 2);
    }
}
