//! Which version of a scheduler made a load slower: the first bad one between a good one and a bad one, unattended.
//!
//! Every version that is looked at has several boots, as in `swtch sched bench`, and is on the side of the good or the bad one that its median is nearer to.

mod versions;

pub use versions::{RepositoryVersions, Versions};

use crate::SchedProgress;
use crate::bench::{BenchJob, columns};
use crate::better::Better;
use crate::compare::RunFigure;
use crate::error::SchedError;
use serde::Serialize;
use std::collections::BTreeSet;
use swtch_stats::{RATIO_CONFIDENCE, rank_sum};
use swtch_units::{Observer, TextTable};
use versions::Ready;

/// What to search.
#[derive(Clone, Debug)]
pub struct BisectJob {
    /// The versions, the good one first and the bad one last.
    pub versions: Versions,
    /// The boots of each version; its only load has the figure first that decides.
    pub bench: BenchJob,
}

/// What a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// As the good one.
    Good,
    /// As the bad one.
    Bad,
    /// It was not built, so it says nothing.
    Skipped,
}

/// A version that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BisectStep {
    /// Its name.
    pub version: String,
    /// What it is.
    pub judged: Judged,
    /// The figure, one value a boot; absent where it did not run to the end.
    #[serde(flatten)]
    pub figure: Option<RunFigure>,
    /// The chance of such a difference from the good one between boots of one version.
    pub p_good: Option<f64>,
    /// The same of the bad one: where both are small, more than one version changed the figure.
    pub p_bad: Option<f64>,
    /// Why it was skipped, or how the load failed under it.
    pub why: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bisected {
    /// The load.
    pub load: String,
    /// The figure that decides.
    pub metric: String,
    /// The last good version.
    pub last_good: String,
    /// The first bad version.
    pub first_bad: String,
    /// Versions between these two that were not built: the first bad one may be among them.
    pub skipped: Vec<String>,
    /// The figure of the first bad version over that of the last good one.
    pub ratio: Option<f64>,
    /// The versions, in the order in which they were looked at.
    pub steps: Vec<BisectStep>,
}

/// Finds the first bad version.
///
/// # Errors
/// When the good and the bad version do not differ, either cannot be built, or a guest fails.
pub fn bisect(job: &BisectJob, observer: &mut dyn Observer<SchedProgress>) -> Result<Bisected, SchedError> {
    let names = job.versions.names()?;
    let ([first, .., last], Some((load, metric))) =
        (names.as_slice(), job.bench.loads.first().and_then(|load| Some((load, load.metrics.first()?))))
    else {
        return Err(SchedError::Wish(
            "give two versions at least, the good one first and the bad one last".to_owned(),
        ));
    };
    let mut search = Search { job, better: metric.better, ends: None, steps: Vec::new() };
    let good = search.values_of(first, observer)?;
    let bad = search.values_of(last, observer)?;
    search.take_ends(first, last, good, bad)?;
    let place = narrow(names.len(), |place| search.judge(&names[place], observer))?;
    let (low, high) = place;
    let median = |name: &str| {
        let step = search.steps.iter().find(|step| step.version == *name)?;
        step.figure.as_ref().map(|figure| figure.median)
    };
    let ratio = median(&names[high]).zip(median(&names[low])).filter(|(_, good)| *good != 0.0);
    Ok(Bisected {
        load: load.name.clone(),
        metric: metric.name.clone(),
        last_good: names[low].clone(),
        first_bad: names[high].clone(),
        skipped: names[low + 1..high].to_vec(),
        ratio: ratio.map(|(bad, good)| bad / good),
        steps: search.steps,
    })
}

/// The good place below the first bad one, among `count` places in a row. Where places are skipped, those between are all skipped.
fn narrow(
    count: usize,
    mut judge: impl FnMut(usize) -> Result<Judged, SchedError>,
) -> Result<(usize, usize), SchedError> {
    let (mut low, mut high) = (0, count - 1);
    let mut skipped = BTreeSet::new();
    loop {
        let middle = usize::midpoint(low, high);
        // The nearest to the middle that is not known to be of no use.
        let open = (low + 1..high).filter(|place| !skipped.contains(place));
        let Some(place) = open.min_by_key(|place| place.abs_diff(middle)) else { return Ok((low, high)) };
        match judge(place)? {
            Judged::Good => low = place,
            Judged::Bad => high = place,
            Judged::Skipped => {
                skipped.insert(place);
            }
        }
    }
}

/// The boots of the two ends.
struct Ends {
    good: Vec<f64>,
    bad: Vec<f64>,
    /// Between their medians.
    threshold: f64,
}

struct Search<'a> {
    job: &'a BisectJob,
    better: Better,
    ends: Option<Ends>,
    steps: Vec<BisectStep>,
}

/// What a version's boots gave, or how they failed.
type Values = Result<Vec<f64>, String>;

impl Search<'_> {
    /// Builds a version, and boots with it.
    fn values_of(
        &self,
        version: &str,
        observer: &mut dyn Observer<SchedProgress>,
    ) -> Result<Option<Values>, SchedError> {
        observer.event(&SchedProgress::Step { done: 0, of: 0, next: format!("{version}: preparing") });
        let Ready { policy, search_path, _work } = match self.job.versions.ready(version, &self.job.bench) {
            Ok(ready) => ready,
            Err(error @ (SchedError::NotGotten { .. } | SchedError::NotMade { .. })) => {
                return Ok(Some(Err(error.to_string())).filter(|_| self.ends.is_none()));
            }
            Err(error) => return Err(error),
        };
        let bench = BenchJob { search_path, ..self.job.bench.clone() };
        let (columns, failed) = columns(&bench, &[(version.to_owned(), policy)], 0, observer)?;
        if let Some((_, how)) = failed.into_iter().next() {
            return Ok(Some(Err(how)));
        }
        let load = &bench.loads[0];
        let of = |run: &crate::bench::Run| run.metrics.first().copied();
        Ok(columns.first().map(|column| match column.failed(load) {
            Some(how) => Err(how.to_owned()),
            None => Ok(column.medians_of_boots(load, of)),
        }))
    }

    /// Both ends must be there, and differ.
    fn take_ends(
        &mut self,
        first: &str,
        last: &str,
        good: Option<Values>,
        bad: Option<Values>,
    ) -> Result<(), SchedError> {
        let needed = |name: &str, values: Option<Values>| match values {
            Some(Ok(values)) => Ok(values),
            Some(Err(why)) => Err(SchedError::Ends(format!("{name}: {why}"))),
            None => Err(SchedError::Ends(format!("{name} was not run"))),
        };
        let (good, bad) = (needed(first, good)?, needed(last, bad)?);
        let (of_good, of_bad) = (RunFigure::of(&good), RunFigure::of(&bad));
        let is_worse = self.better.worst(of_good.median, of_bad.median) == of_bad.median;
        let p = rank_sum(&good, &bad).unwrap_or(1.0);
        if !is_worse || p >= 1.0 - RATIO_CONFIDENCE {
            return Err(SchedError::Ends(format!(
                "{last} is not worse than {first}: medians of {} and {}, a difference that boots of one version have with a chance of {p:.2}; try more --boots or another load",
                of_bad.median, of_good.median
            )));
        }
        let threshold = f64::midpoint(of_good.median, of_bad.median);
        for (name, figure, judged) in [(first, of_good, Judged::Good), (last, of_bad, Judged::Bad)] {
            self.steps.push(BisectStep {
                version: name.to_owned(),
                judged,
                figure: Some(figure),
                p_good: (judged == Judged::Bad).then_some(p),
                p_bad: (judged == Judged::Good).then_some(p),
                why: None,
            });
        }
        self.ends = Some(Ends { good, bad, threshold });
        Ok(())
    }

    fn judge(
        &mut self,
        version: &str,
        observer: &mut dyn Observer<SchedProgress>,
    ) -> Result<Judged, SchedError> {
        let values = self.values_of(version, observer)?;
        let Some(Ends { good, bad, threshold }) = &self.ends else { return Ok(Judged::Skipped) };
        let step = |judged, why| BisectStep {
            version: version.to_owned(),
            judged,
            figure: None,
            p_good: None,
            p_bad: None,
            why,
        };
        let step = match values {
            None => step(Judged::Skipped, Some("it cannot be built".to_owned())),
            // A load that fails where it did not fail before is as bad as it gets.
            Some(Err(how)) => step(Judged::Bad, Some(how)),
            Some(Ok(values)) => {
                let figure = RunFigure::of(&values);
                let is_bad = self.better.worst(figure.median, *threshold) == figure.median;
                let judged = if is_bad { Judged::Bad } else { Judged::Good };
                BisectStep {
                    p_good: rank_sum(good, &values),
                    p_bad: rank_sum(bad, &values),
                    figure: Some(figure),
                    ..step(judged, None)
                }
            }
        };
        let judged = step.judged;
        self.steps.push(step);
        Ok(judged)
    }
}

/// The answer, and the versions that were looked at, as text.
pub fn steps_table(found: &Bisected) -> String {
    let ratio = found.ratio.map_or_else(String::new, |ratio| {
        format!(": {} {ratio:.2} times that of {}", found.metric, found.last_good)
    });
    let mut lines = vec![format!("{} is the first bad version{ratio}", found.first_bad)];
    if !found.skipped.is_empty() {
        lines.push(format!("or one of these, which could not be built: {}", found.skipped.join(", ")));
    }
    let mut table =
        TextTable::new(["version", &found.metric, "boots", "is", "p, as good", "p, as bad"]).left([3]);
    for step in &found.steps {
        let judged = match step.judged {
            Judged::Good => "good",
            Judged::Bad => "bad",
            Judged::Skipped => "skipped",
        };
        let p = |p: Option<f64>| p.map_or_else(String::new, |p| format!("{p:.4}"));
        let median = step.figure.as_ref().map_or_else(String::new, |figure| format!("{:.4}", figure.median));
        let boots = step.figure.as_ref().map_or(0, |figure| figure.values.len());
        table.row([
            step.version.clone(),
            median,
            boots.to_string(),
            judged.to_owned(),
            p(step.p_good),
            p(step.p_bad),
        ]);
    }
    let whys =
        found.steps.iter().filter_map(|step| Some(format!("{}: {}\n", step.version, step.why.as_ref()?)));
    format!("{}\n\n{table}{}", lines.join("\n"), whys.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_place_is_found_in_few_steps() {
        for count in 2..40 {
            for first_bad in 1..count {
                let mut looked = 0;
                let found = narrow(count, |place| {
                    looked += 1;
                    Ok(if place < first_bad { Judged::Good } else { Judged::Bad })
                });
                assert_eq!(found.unwrap(), (first_bad - 1, first_bad));
                assert!(1 << looked <= 2 * count, "{looked} of {count}");
            }
        }
    }

    #[test]
    fn places_that_say_nothing_are_left_out() {
        let judge = |place| {
            Ok(if (3..=5).contains(&place) {
                Judged::Skipped
            } else if place < 4 {
                Judged::Good
            } else {
                Judged::Bad
            })
        };
        assert_eq!(narrow(10, judge).unwrap(), (2, 6), "3 to 5 say nothing");
        assert_eq!(narrow(2, |_| unreachable!()).unwrap(), (0, 1));
    }

    #[test]
    fn the_table_begins_with_the_answer() {
        let step = |version: &str, judged, median: f64| BisectStep {
            version: version.to_owned(),
            judged,
            figure: Some(RunFigure::of(&[median; 8])),
            p_good: Some(0.5),
            p_bad: None,
            why: None,
        };
        let found = Bisected {
            load: "perf-pipe".to_owned(),
            metric: "time".to_owned(),
            last_good: "a@1".to_owned(),
            first_bad: "a@3".to_owned(),
            skipped: vec!["a@2".to_owned()],
            ratio: Some(1.5),
            steps: vec![step("a@1", Judged::Good, 1.0), step("a@3", Judged::Bad, 1.5)],
        };
        let text = steps_table(&found);
        assert!(
            text.starts_with("a@3 is the first bad version: time 1.50 times that of a@1\nor one of these"),
            "{text}"
        );
        assert!(text.contains("a@3      1.5000      8  bad"), "{text}");
    }
}
