//! What a difference means: worse, better, the same, or unclear.

use crate::metric::Figure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_stats::{
    LEAST_LAUNCHES, Side, compare_launches, compare_pairs, compare_runs, holm, median, rank_sum,
};
use swtch_units::input_error::Checks;
use swtch_units::{Unit, words};

words! {
    /// What a comparison says.
    pub enum Verdict("verdict") {
        /// The new side is worse.
        Worse = "worse",
        /// The new side is better.
        Better = "better",
        /// The two differ by less than what matters.
        Same = "same",
        /// The runs do not decide.
        Unclear = "unclear",
    }
}

/// How the values of two sides came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOrder {
    /// Independent runs, those of both sides in mixed order.
    Mixed,
    /// Runs in turns: those at the same place of both sides ran one after the other.
    Pairs,
    /// Runs of one side, then of the other: a change of the machine between them looks like one of the program. So intervals are wider.
    Apart,
    /// The same input gives the same value, as in a simulation: any difference is one.
    Exact,
}

/// How a figure differs between two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The figure, such as `switches` or `switches.rate`.
    pub metric: String,
    /// The unit of `old` and `new`: `ns`, `count`, `ratio`, `per-second`, `share` or `ns-per-ns`.
    pub unit: String,
    /// Median of the old runs.
    pub old: f64,
    /// Median of the new runs.
    pub new: f64,
    /// `new` over `old`; absent where `old` is 0.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's 95 % interval; absent without repeats.
    pub ci_low: Option<f64>,
    /// Upper end of it.
    pub ci_high: Option<f64>,
    /// Probability of such a difference between like runs, corrected for the number of figures by Holm's method; absent without repeats.
    pub p_holm: Option<f64>,
    /// What it says.
    pub verdict: Verdict,
    /// Why it says nothing.
    pub reason: Option<String>,
}

/// The least change that matters of a figure that is not one of [`METRICS`](crate::METRICS), as a share.
const MARGIN: f64 = 0.05;
/// With at most this probability is any figure called worse or better when none is.
const LARGEST_P: f64 = 1.0 - swtch_stats::RATIO_CONFIDENCE;

impl Change {
    /// A figure on both sides, one value a run; absent where a side has none. The verdict follows from [`judge`].
    pub fn between(figure: Figure, old: &[f64], new: &[f64], order: RunOrder) -> Option<Self> {
        Self::named(&figure.to_string(), figure.unit(), old, new, order)
    }

    /// The same of a figure that is not one of [`METRICS`](crate::METRICS), of which more is worse.
    pub fn named(metric: &str, unit: Unit, old: &[f64], new: &[f64], order: RunOrder) -> Option<Self> {
        let side = |runs| Side { figure: median(runs), launches: runs };
        Self::of_sides(metric, unit, side(old), side(new), order)
    }

    /// The same where the figure of a side is not the median of its runs.
    pub fn of_sides(metric: &str, unit: Unit, old: Side<'_>, new: Side<'_>, order: RunOrder) -> Option<Self> {
        let (before, after) = (old.figure, new.figure);
        if !(before.is_finite() && after.is_finite()) {
            return None;
        }
        let ratio = (before != 0.0).then(|| after / before);
        let mut change = Self {
            metric: metric.to_owned(),
            unit: unit.name().to_owned(),
            old: before,
            new: after,
            ratio,
            ci_low: None,
            ci_high: None,
            p_holm: None,
            verdict: Verdict::Unclear,
            reason: None,
        };
        let tested = match order {
            RunOrder::Exact => {
                (change.ci_low, change.ci_high) = (ratio, ratio);
                change.p_holm = Some(if before == after { 1.0 } else { 0.0 });
                return Some(change);
            }
            RunOrder::Mixed => compare_runs(old.launches, new.launches),
            RunOrder::Pairs => compare_pairs(old.launches, new.launches)
                .or_else(|_| compare_runs(old.launches, new.launches)),
            RunOrder::Apart => compare_launches(old, new),
        };
        let fewest = old.launches.len().min(new.launches.len());
        match tested {
            Ok(found) => {
                (change.ci_low, change.ci_high) = (Some(found.interval.low), Some(found.interval.high));
                change.p_holm = Some(found.p);
            }
            Err(_) if fewest < LEAST_LAUNCHES => {
                change.reason = Some(format!(
                    "{fewest} {} of a side: how far like runs differ is known from {LEAST_LAUNCHES} on",
                    if fewest == 1 { "run" } else { "runs" }
                ));
            }
            // A count that is 0 in a run has no ratio; its ranks still say whether it rose.
            Err(_) => change.p_holm = rank_sum(old.launches, new.launches),
        }
        Some(change)
    }

    /// Takes the ratio away, because of `reason`.
    pub(crate) fn undecided(&mut self, reason: &str) {
        (self.ratio, self.ci_low, self.ci_high, self.p_holm) = (None, None, None, None);
        self.reason = Some(reason.to_owned());
    }

    /// Decimals with which the ratio and its interval are to be printed. There are three, or as many as an end that is not 1 needs to
    /// differ from 1.
    pub fn ratio_decimals(&self) -> usize {
        const FEWEST: usize = 3;
        const MOST: usize = 7;
        let is_shown =
            |end: f64, decimals: usize| format!("{end:.decimals$}") != format!("{:.decimals$}", 1.0);
        let needed =
            |end: f64| (FEWEST..MOST).find(|decimals| end == 1.0 || is_shown(end, *decimals)).unwrap_or(MOST);
        [self.ci_low, self.ci_high].into_iter().flatten().map(needed).max().unwrap_or(FEWEST)
    }

    /// Checks that the ratio is that of the values, and that the verdict follows from its interval.
    pub(crate) fn check(&self, checks: &mut Checks) {
        let name = |field: &str| format!("{} {field}", self.metric);
        if let Some(ratio) = self.ratio {
            checks.require(ratio == self.new / self.old, &name("ratio"), || {
                format!("{ratio} is not {} / {}", self.new, self.old)
            });
        }
        match (self.ci_low, self.ratio, self.ci_high) {
            (Some(low), Some(ratio), Some(high)) => {
                let holds = 0.0 <= low && low <= ratio && ratio <= high;
                checks.require(holds, &name("ratio"), || format!("{ratio} is not within {low} to {high}"));
            }
            (None, _, None) => {}
            _ => checks.require(false, &name("ratio"), || "only a part of its interval is there".to_owned()),
        }
        let mut again = Self { verdict: Verdict::Unclear, ..self.clone() };
        again.conclude();
        checks.require(again.verdict == self.verdict, &name("verdict"), || {
            format!("{}, where its figures say {}", self.verdict, again.verdict)
        });
    }

    /// The figure; absent for a name that this version does not know.
    pub fn figure(&self) -> Option<Figure> {
        self.metric.parse().ok()
    }

    /// One of its values, in words.
    pub fn show(&self, value: f64) -> String {
        show(&self.unit, value)
    }

    /// Whether the verdict depends on it. It does on every figure that is not one of [`METRICS`](crate::METRICS), too.
    pub fn decides(&self) -> bool {
        self.figure().is_none_or(|figure| figure.metric.decides)
    }

    fn margin(&self) -> f64 {
        self.figure().map_or(MARGIN, |figure| figure.metric.margin)
    }

    /// Whether its whole interval is beyond the least change that matters.
    fn is_large(&self) -> bool {
        let (low, high) = (self.ci_low.or(self.ratio), self.ci_high.or(self.ratio));
        let margin = 1.0 + self.margin();
        low.is_none_or(|low| low >= margin) || high.is_none_or(|high| high <= 1.0 / margin)
    }

    fn yields(&self) -> bool {
        self.figure().is_some_and(|figure| figure.metric.yields)
    }

    fn conclude(&mut self) {
        let Some(p) = self.p_holm else { return };
        let margin = self.margin();
        let is_small = |end: f64| end < 1.0 + margin && end > 1.0 / (1.0 + margin);
        self.verdict = if p < LARGEST_P {
            if self.new > self.old { Verdict::Worse } else { Verdict::Better }
        } else if self.new == self.old && p == 1.0 && self.ci_low.is_none()
            || self.ci_low.is_some_and(is_small) && self.ci_high.is_some_and(is_small)
        {
            Verdict::Same
        } else {
            Verdict::Unclear
        };
        let noise = "like runs differ as much";
        self.reason = (self.verdict == Verdict::Unclear).then(|| noise.to_owned());
    }

    /// The difference in words, `19 % more context switches`; its interval where there is one, `3.1 (2.8 to 3.4) % more CPU time`.
    ///
    /// ```
    /// use swtch_decide::{Change, RunOrder};
    /// let change = |old: &[f64], new: &[f64]| Change::between("switches".parse().unwrap(), old, new, RunOrder::Mixed).unwrap().words();
    /// assert_eq!(change(&[100.0], &[119.0]), "19 % more context switches");
    /// assert_eq!(change(&[100.0], &[1562.0]), "15.6 times the context switches");
    /// assert_eq!(change(&[0.0], &[12.0]), "12 context switches instead of 0");
    /// assert_eq!(change(&[100.0, 101.0, 99.0], &[90.0, 91.0, 89.0]), "10.0 (7.8 to 12.1) % fewer context switches");
    /// assert_eq!(change(&[100.0, 103.0, 97.0], &[101.0, 104.0, 98.0]), "context switches +1 (-6 to 8) %");
    /// ```
    pub fn words(&self) -> String {
        let figure = self.figure();
        let noun = figure.map_or(self.metric.as_str(), |figure| figure.metric.noun);
        if self.new == self.old {
            return format!("no change of {noun}");
        }
        let Some(ratio) = self.ratio.filter(|ratio| *ratio > 0.0) else {
            return match figure {
                Some(_) => format!("{} {noun} instead of {}", self.show(self.new), self.show(self.old)),
                None => format!("{noun}: {} instead of {}", self.show(self.new), self.show(self.old)),
            };
        };
        let interval = self.ci_low.zip(self.ci_high).filter(|(low, high)| low < high);
        if ratio >= MOST_PERCENT || interval.is_some_and(|(_, high)| high >= MOST_END) {
            let within = interval.map_or(String::new(), |(low, high)| format!(" ({low:.1} to {high:.1})"));
            return match figure {
                Some(_) => format!("{ratio:.1}{within} times the {noun}"),
                None => format!("{noun}: {ratio:.1}{within} times as much"),
            };
        }
        let is_open = interval.is_some_and(|(low, high)| low <= 1.0 && high >= 1.0);
        let is_more = ratio >= 1.0;
        let percent = |ratio: f64| 100.0 * if is_more || is_open { ratio - 1.0 } else { 1.0 - ratio };
        let ends = interval
            .map(|(low, high)| if is_more || is_open { [low, high] } else { [high, low] }.map(percent));
        // As many digits as tell the ends apart, and 99.96 % from all.
        let width = ends.map_or(0.0, |[low, high]| high - low);
        let digits = match percent(ratio) {
            nearly if nearly >= 99.0 && !is_more => 2,
            some if ends.is_none() && some >= 9.95 || width >= 9.95 => 0,
            _ => 1,
        };
        let within =
            ends.map_or(String::new(), |[low, high]| format!(" ({low:.digits$} to {high:.digits$})"));
        if is_open {
            // Neither more nor fewer: a sign would contradict one end.
            let colon = if figure.is_none() { ":" } else { "" };
            return format!("{noun}{colon} {:+.digits$}{within} %", percent(ratio));
        }
        let amount = format!("{:.digits$}{within} %", percent(ratio));
        match figure {
            Some(figure) => {
                format!("{amount} {}", if is_more { figure.metric.more } else { figure.metric.less })
            }
            None => format!("{noun}: {amount} {}", if is_more { "more" } else { "less" }),
        }
    }
}

/// A value of a unit by its name in documents, in words.
pub fn show(unit: &str, value: f64) -> String {
    Unit::by_name(unit).map_or_else(|| value.to_string(), |unit| unit.show(value))
}

/// From this ratio on, it is not given in per cent.
const MOST_PERCENT: f64 = 3.0;
/// From this upper end of the interval on, it is not either.
const MOST_END: f64 = 10.0;

/// Corrects the probabilities for their number, and gives the verdicts: of the figures that decide among themselves, of the others among
/// all others. Gives the verdict of all, as `overall` does.
pub fn judge(changes: &mut [Change]) -> Verdict {
    correct(&mut changes.iter_mut().collect::<Vec<_>>());
    overall(&*changes)
}

/// The same of several comparisons. All their figures are one family: the more there are, the likelier one differs by chance.
pub(crate) fn judge_all(comparisons: &mut [Vec<Change>]) -> Verdict {
    correct(&mut comparisons.iter_mut().flatten().collect::<Vec<_>>());
    overall(comparisons.iter().flatten())
}

/// The part of [`judge`] that gives each its verdict, for changes of several comparisons that are one family.
pub(crate) fn correct(changes: &mut [&mut Change]) {
    for family in [true, false] {
        let is_tested = |change: &Change| change.decides() == family && change.p_holm.is_some();
        let places: Vec<usize> = (0..changes.len()).filter(|place| is_tested(changes[*place])).collect();
        let p_values: Vec<f64> = places.iter().filter_map(|place| changes[*place].p_holm).collect();
        for (place, p) in places.into_iter().zip(holm(&p_values)) {
            changes[place].p_holm = Some(p);
            changes[place].conclude();
        }
    }
}

/// Worse or better where a figure that decides is, and no other says the contrary. Waits, which vary most, have a say where the others differ in
/// nothing.
pub(crate) fn overall<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Verdict {
    let deciding: Vec<&Change> = changes.into_iter().filter(|change| change.decides()).collect();
    let has = |yields: bool, verdict: Verdict| {
        deciding.iter().any(|change| change.yields() == yields && change.verdict == verdict)
    };
    let differs = |yields| [has(yields, Verdict::Worse), has(yields, Verdict::Better)];
    let found = if differs(false) == [false, false] { differs(true) } else { differs(false) };
    let large = |verdict| {
        deciding.iter().any(|change| !change.yields() && change.verdict == verdict && change.is_large())
    };
    // A change that may not matter does not contradict one that does.
    match if found == [true, true] { [large(Verdict::Worse), large(Verdict::Better)] } else { found } {
        [true, false] => Verdict::Worse,
        [false, true] => Verdict::Better,
        [false, false] if has(false, Verdict::Same) && !has(false, Verdict::Unclear) => Verdict::Same,
        _ => Verdict::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, old: &[f64], new: &[f64], order: RunOrder) -> Change {
        Change::between(name.parse().unwrap(), old, new, order).unwrap()
    }

    fn verdicts(mut changes: Vec<Change>) -> (Verdict, Vec<Verdict>) {
        let all = judge(&mut changes);
        (all, changes.iter().map(|change| change.verdict).collect())
    }

    #[test]
    fn the_verdict_is_that_of_the_figures_that_decide() {
        let steady = [100.0, 101.0, 99.0, 100.5];
        let more = steady.map(|value| value * 1.2);
        let mixed = |name, old: &[f64; 4], new: &[f64; 4]| change(name, old, new, RunOrder::Mixed);
        let of = |changes| verdicts(changes).0;
        assert_eq!(of(vec![mixed("switches", &steady, &more)]), Verdict::Worse);
        assert_eq!(
            of(vec![mixed("switches", &more, &steady), mixed("cpu.time", &steady, &steady)]),
            Verdict::Better
        );
        assert_eq!(
            of(vec![mixed("switches", &more, &steady), mixed("cpu.time", &steady, &more)]),
            Verdict::Unclear
        );
        assert_eq!(
            of(vec![mixed("switches", &steady, &steady), mixed("voluntary", &steady, &more)]),
            Verdict::Same
        );
        assert_eq!(
            of(vec![mixed("switches", &steady, &more), mixed("wait.p99", &more, &steady)]),
            Verdict::Worse
        );
        assert_eq!(
            of(vec![mixed("switches", &steady, &steady), mixed("wait.p99", &steady, &more)]),
            Verdict::Worse
        );
        assert_eq!(of(vec![]), Verdict::Unclear);
    }

    #[test]
    fn single_runs_decide_nothing_and_exact_ones_everything() {
        let (all, _) = verdicts(vec![change("switches", &[13_000.0], &[203_000.0], RunOrder::Mixed)]);
        assert_eq!(all, Verdict::Unclear, "one program had these counts in two runs");
        let (all, _) = verdicts(vec![change("switches", &[13_000.0], &[13_001.0], RunOrder::Exact)]);
        assert_eq!(all, Verdict::Worse);
        let (all, _) = verdicts(vec![change("switches", &[7.0], &[7.0], RunOrder::Exact)]);
        assert_eq!(all, Verdict::Same);
    }

    #[test]
    fn what_was_zero_is_judged_by_ranks() {
        let rose = change("switches", &[0.0; 5], &[3.0, 4.0, 2.0, 5.0, 3.0], RunOrder::Mixed);
        assert_eq!((rose.ratio, rose.ci_low), (None, None));
        assert_eq!(verdicts(vec![rose]), (Verdict::Worse, vec![Verdict::Worse]));
        let none = change("switches", &[0.0; 5], &[0.0; 5], RunOrder::Mixed);
        assert_eq!(verdicts(vec![none]).0, Verdict::Same);
    }

    #[test]
    fn noise_is_unclear_and_says_why() {
        let mut changes =
            vec![change("switches", &[80.0, 100.0, 120.0], &[90.0, 110.0, 130.0], RunOrder::Mixed)];
        assert_eq!(judge(&mut changes), Verdict::Unclear);
        assert_eq!(changes[0].reason.as_deref(), Some("like runs differ as much"));
    }
}
