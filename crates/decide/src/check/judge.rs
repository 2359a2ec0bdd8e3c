//! Whether the figures of a budget are within its limits, and why not.

use super::CheckError;
use super::baseline::BudgetBaseline;
use super::budget::{Budget, FigureLimit, Place};
use super::guest::Ensemble;
use super::who::{self, WhoDifference};
use crate::{Bound, Change, Limit, RunOrder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use swtch_stats::{RATIO_CONFIDENCE, median, median_interval_sorted, sorted};
use swtch_units::words;

words! {
    /// What a check says of a budget.
    pub enum Status("status") {
        /// It is within its limits.
        Kept = "kept",
        /// It is not.
        Broken = "broken",
        /// It has no baseline yet, and its fixed limits hold.
        New = "new",
    }
}

/// A change is an alarm only where like runs differ so much with at most this probability. That is one alarm of 200 checks of an unchanged
/// program, at most.
const LARGEST_P: f64 = 0.005;
/// Pairs of tasks that a result names.
const NAMED: usize = 10;

/// What a check found. Published as `docs/schemas/check-1.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// `swtch/check/1`.
    pub schema: String,
    /// `broken` where a budget is; else `new` where a budget is; else `kept`.
    pub status: Status,
    /// The commit of the directory of the budgets, where it is in a git repository.
    pub commit: Option<String>,
    /// The time of that commit, or of the check, in UTC.
    pub time: String,
    /// The budgets, in the order of their file.
    pub budgets: Vec<BudgetResult>,
}

/// What a check found of one budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetResult {
    /// Its name.
    pub name: String,
    /// Its command.
    pub command: String,
    /// Where it ran.
    #[serde(rename = "where")]
    pub place: Place,
    /// Whether it is kept.
    pub status: Status,
    /// How often the command ran.
    pub runs: usize,
    /// How long that took, s.
    pub seconds: f64,
    /// Its figures.
    pub metrics: Vec<MetricResult>,
    /// Why it is broken.
    pub why: Option<String>,
    /// Which tasks make more switches than in the baseline, or fewer; the largest differences.
    pub who: Vec<WhoDifference>,
    /// A recording of it, unless it is kept.
    pub trace: Option<PathBuf>,
}

/// One figure of a budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricResult {
    /// The figure, such as `switches`.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Median of the runs.
    pub value: f64,
    /// Lower end of the median's 95 % interval.
    pub ci_low: Option<f64>,
    /// Upper end of it.
    pub ci_high: Option<f64>,
    /// Median of the baseline; absent for a figure that is new.
    pub baseline: Option<f64>,
    /// The largest value that is within the limits; absent where nothing limits it.
    pub limit: Option<f64>,
    /// Whether it is within its limits.
    pub status: Status,
    /// The median, the baseline and the limit as people read them.
    pub shown: Shown,
}

/// Values as people read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// The median.
    pub value: String,
    /// The baseline's.
    pub baseline: String,
    /// The limits as they are written.
    pub limit: String,
    /// The difference from the baseline.
    pub change: String,
}

/// Judges one budget.
pub(super) fn judge(
    budget: &Budget,
    ensemble: &Ensemble,
    old: Option<&BudgetBaseline>,
) -> Result<BudgetResult, CheckError> {
    if let Some(old) = old {
        comparable(budget, ensemble, old)?;
    }
    let mut metrics = Vec::new();
    let mut reasons = Vec::new();
    for limit in &budget.limits {
        let name = limit.figure.to_string();
        let values = ensemble.figures.get(&name).map_or(&[][..], Vec::as_slice);
        let before = old.and_then(|old| old.figures.get(&name)).map(Vec::as_slice);
        let (metric, reason) = of_figure(limit, values, before, budget.place);
        metrics.push(metric);
        reasons.extend(reason);
    }
    let has = |status| metrics.iter().any(|metric| metric.status == status);
    let status = match () {
        () if has(Status::Broken) => Status::Broken,
        () if has(Status::New) => Status::New,
        () => Status::Kept,
    };
    let mut who = old.map_or_else(Vec::new, |old| who::differences(&old.who, &ensemble.who));
    who.truncate(NAMED);
    let why = (!reasons.is_empty()).then(|| {
        let named = who.iter().filter(|who| who.difference > 0.0).take(1).map(WhoDifference::words);
        [reasons.join("; ")].into_iter().chain(named).collect::<Vec<_>>().join(": ")
    });
    let command: Vec<String> =
        budget.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(BudgetResult {
        name: budget.name.clone(),
        command: command.join(" "),
        place: budget.place,
        status,
        runs: budget.runs,
        seconds: ensemble.seconds,
        metrics,
        why,
        who,
        trace: None,
    })
}

/// A baseline says something only where all but the program is the same. Where the program is the same too, the figures have to be.
fn comparable(budget: &Budget, ensemble: &Ensemble, old: &BudgetBaseline) -> Result<(), CheckError> {
    let names = old.made_with.keys().chain(ensemble.made_with.keys());
    for what in names {
        let value = |of: &std::collections::BTreeMap<String, String>| {
            of.get(what).cloned().unwrap_or_else(|| "nothing".to_owned())
        };
        let (old, new) = (value(&old.made_with), value(&ensemble.made_with));
        if old != new {
            return Err(CheckError::Elsewhere { budget: budget.name.clone(), what: what.clone(), old, new });
        }
    }
    if ensemble.inputs.is_none() || old.inputs != ensemble.inputs {
        return Ok(());
    }
    for (figure, values) in &ensemble.figures {
        if old.figures.get(figure).is_some_and(|before| *before != sorted(values)) {
            return Err(CheckError::Inexact { budget: budget.name.clone(), figure: figure.clone() });
        }
    }
    Ok(())
}

fn of_figure(
    limit: &FigureLimit,
    values: &[f64],
    before: Option<&[f64]>,
    place: Place,
) -> (MetricResult, Option<String>) {
    let (figure, unit) = (limit.figure, limit.figure.unit());
    let value = median(values);
    let interval = median_interval_sorted(&sorted(values), RATIO_CONFIDENCE);
    // Members of an ensemble differ by their seeds only, and so do those of the baseline; a machine is another one on another day.
    let runs = if place == Place::Vm { RunOrder::Mixed } else { RunOrder::Apart };
    let change = before.and_then(|before| Change::between(figure, before, values, runs));
    let over = |bound: &(Bound, String)| Limit::new(figure, true, bound.0, &bound.1);
    // Every value above the middle of the runs that is within the interval may be the median.
    let least = interval.as_ref().map_or(value, |interval| interval.low);
    let beyond_max = limit.max.as_ref().is_some_and(|max| over(max).is_beyond(None, least) == Some(true));
    let beyond_change = limit.change.as_ref().zip(change.as_ref()).is_some_and(|(bound, change)| {
        over(bound).holds_of(change) && change.p_holm.is_some_and(|p| p <= LARGEST_P)
    });
    let status = match () {
        () if beyond_max || beyond_change => Status::Broken,
        () if limit.change.is_some() && change.is_none() => Status::New,
        () => Status::Kept,
    };
    let baseline = before.map(median);
    let bounds = [&limit.max, &limit.change];
    let written: Vec<&str> = bounds.iter().filter_map(|bound| Some(bound.as_ref()?.1.as_str())).collect();
    let words = change.as_ref().map(Change::words);
    let reason = match (beyond_change, beyond_max, &words) {
        (true, _, Some(words)) => Some(words.clone()),
        (_, true, _) => Some(format!("{} {}", unit.show(value), figure.metric.noun)),
        _ => None,
    };
    let metric = MetricResult {
        metric: figure.to_string(),
        unit: unit.name().to_owned(),
        value,
        ci_low: interval.as_ref().map(|interval| interval.low),
        ci_high: interval.as_ref().map(|interval| interval.high),
        baseline,
        limit: bounds.iter().filter_map(|bound| bound.as_ref()?.0.value(baseline)).min_by(f64::total_cmp),
        status,
        shown: Shown {
            value: unit.show(value),
            baseline: baseline.map_or_else(|| "none".to_owned(), |baseline| unit.show(baseline)),
            limit: if written.is_empty() { "none".to_owned() } else { written.join(", ") },
            change: change.map_or_else(String::new, |change| shown(&change)),
        },
    };
    let reason = reason.map(|reason| format!("{reason} (limit {})", metric.shown.limit));
    (metric, reason)
}

/// `+6.2 % (+6.0 to +6.4)`.
fn shown(change: &Change) -> String {
    let percent = |ratio: f64| format!("{:+.1}", 100.0 * (ratio - 1.0));
    let interval = change.ci_low.zip(change.ci_high);
    let within = interval.map(|(low, high)| format!(" ({} to {})", percent(low), percent(high)));
    change
        .ratio
        .map_or_else(String::new, |ratio| format!("{} %{}", percent(ratio), within.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn limit(max: Option<&str>, change: Option<&str>) -> FigureLimit {
        let figure = "switches".parse().unwrap();
        let bound =
            |text: Option<&str>| text.map(|text| (Bound::read(figure, text).unwrap(), text.to_owned()));
        FigureLimit { figure, max: bound(max), change: bound(change) }
    }

    fn status(limit: &FigureLimit, values: &[f64], before: Option<&[f64]>) -> Status {
        of_figure(limit, values, before, Place::Vm).0.status
    }

    #[test]
    fn a_change_is_broken_beyond_its_limit_and_beyond_the_spread() {
        let old: Vec<f64> = (0..16).map(|index| 1000.0 + f64::from(index % 4)).collect();
        let times = |factor: f64| old.iter().map(|value| value * factor).collect::<Vec<_>>();
        let change = limit(None, Some("+2%"));
        assert_eq!(status(&change, &times(1.05), Some(&old)), Status::Broken);
        assert_eq!(status(&change, &times(1.015), Some(&old)), Status::Kept, "within the limit");
        assert_eq!(status(&change, &times(0.5), Some(&old)), Status::Kept, "better");
        assert_eq!(status(&change, &old, None), Status::New);
        let noisy: Vec<f64> = (0..16).map(|index| 1000.0 + 100.0 * f64::from(index)).collect();
        let more: Vec<f64> = noisy.iter().map(|value| value + 60.0).collect();
        assert_eq!(status(&change, &more, Some(&noisy)), Status::Kept, "like runs differ as much");
        let (_, why) = of_figure(&change, &times(1.05), Some(&old), Place::Vm);
        assert!(why.as_ref().unwrap().contains("% more context switches (limit +2%)"), "{why:?}");
    }

    #[test]
    fn a_fixed_limit_needs_no_baseline() {
        let values = [1210.0; 16];
        let (metric, why) = of_figure(&limit(Some("1200"), None), &values, None, Place::Vm);
        assert_eq!((metric.status, metric.limit, metric.baseline), (Status::Broken, Some(1200.0), None));
        assert!(why.as_ref().unwrap().contains("(limit 1200)"), "{why:?}");
        assert_eq!(status(&limit(Some("1200"), None), &[1190.0; 16], None), Status::Kept);
        assert_eq!(status(&limit(Some("1200"), Some("+2%")), &[1190.0; 16], None), Status::New);
        let wide: Vec<f64> = (0..16).map(|index| 1150.0 + 10.0 * f64::from(index)).collect();
        assert_eq!(
            status(&limit(Some("1200"), None), &wide, None),
            Status::Kept,
            "the interval holds the limit"
        );
    }

    #[test]
    fn a_baseline_of_another_machine_is_refused_and_equal_bytes_must_agree() {
        let budget = Budget { limits: vec![limit(None, Some("+2%"))], ..Budget::example() };
        let ensemble = |kernel: &str, inputs: &str, value: f64| Ensemble {
            made_with: BTreeMap::from([("kernel".to_owned(), kernel.to_owned())]),
            inputs: Some(inputs.to_owned()),
            figures: BTreeMap::from([("switches".to_owned(), vec![value; 16])]),
            who: Vec::new(),
            trace: None,
            seconds: 1.0,
        };
        let old = super::super::of_ensemble(ensemble("7.3", "a", 1000.0));
        let error = |of| judge(&budget, &of, Some(&old)).unwrap_err().to_string();
        let elsewhere = error(ensemble("7.4", "a", 1000.0));
        assert!(
            elsewhere.contains("another kernel: 7.3, not 7.4") && elsewhere.contains("--accept"),
            "{elsewhere}"
        );
        assert!(error(ensemble("7.3", "a", 1001.0)).contains("the same bytes gave other figures"));
        let result = judge(&budget, &ensemble("7.3", "b", 1100.0), Some(&old)).unwrap();
        assert_eq!(result.status, Status::Broken);
    }
}
