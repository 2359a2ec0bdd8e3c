//! Limits of figures as people write them: `switches > +5%`, `wait.p99 > 20ms`.

use crate::metric::{Figure, UnknownFigure};
use crate::verdict::{Change, Verdict};
use std::fmt;
use std::str::FromStr;
use swtch_units::{Inequality, percent};

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A value in the figure's unit.
    Value(f64),
    /// A change from the old figure, as a share of it: 0.05 for `+5%`.
    Change(f64),
}

impl Bound {
    /// Reads `20ms`, or `+5%` and `-5%`.
    ///
    /// # Errors
    /// When it is neither a value of the figure nor a change.
    pub fn read(figure: Figure, text: &str) -> Result<Self, LimitError> {
        let signed = text.strip_prefix('+').map(|rest| (1.0, rest));
        let signed = signed.or_else(|| text.strip_prefix('-').map(|rest| (-1.0, rest)));
        let found = match signed {
            Some((sign, rest)) => percent(rest).map(|share| Self::Change(sign * share)),
            None => figure.unit().read(text).map(Self::Value),
        };
        found.ok_or_else(|| LimitError::Value {
            value: text.to_owned(),
            figure: figure.to_string(),
            example: figure.unit().example(),
        })
    }

    /// The bound in the figure's unit; absent for a change where there is no old figure.
    pub fn value(self, old: Option<f64>) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Change(share) => old.map(|old| old * (1.0 + share)),
        }
    }
}

/// A figure is above or below a bound.
#[derive(Clone, Debug)]
pub struct Limit {
    text: String,
    /// The figure.
    pub figure: Figure,
    /// Above rather than below.
    pub is_above: bool,
    /// What it is compared with.
    pub bound: Bound,
}

/// A text that is not a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// It has another form.
    #[error(
        "'{0}' is not a limit: write FIGURE > VALUE or FIGURE < VALUE, such as 'switches > +5%' or 'wait.p99 > 20ms', or a verdict such as 'worse'"
    )]
    Form(String),
    /// There is no such figure.
    #[error(transparent)]
    Figure(#[from] UnknownFigure),
    /// The value is not one of the figure.
    #[error("'{value}' is not a value of {figure}: write {example}, or a change such as +5%")]
    Value {
        /// What was written.
        value: String,
        /// The figure.
        figure: String,
        /// A value of its kind.
        example: &'static str,
    },
}

impl FromStr for Limit {
    type Err = LimitError;

    /// ```
    /// use swtch_decide::{Bound, Limit};
    /// let limit: Limit = "switches>+5%".parse()?;
    /// assert_eq!((limit.to_string().as_str(), limit.bound), ("switches > +5%", Bound::Change(0.05)));
    /// assert!("switches > many".parse::<Limit>().is_err());
    /// # Ok::<(), swtch_decide::LimitError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, LimitError> {
        let form = || LimitError::Form(text.to_owned());
        let Inequality { name, is_above, value } = Inequality::split(text).ok_or_else(form)?;
        let figure: Figure = name.parse()?;
        Ok(Self::new(figure, is_above, Bound::read(figure, value)?, value))
    }
}

impl Limit {
    /// A limit of `bound`, which is written as `value`.
    pub fn new(figure: Figure, is_above: bool, bound: Bound, value: &str) -> Self {
        let text = format!("{figure} {} {value}", if is_above { '>' } else { '<' });
        Self { text, figure, is_above, bound }
    }

    /// Whether a figure is beyond the limit; absent for a change where there is no old figure.
    pub fn is_beyond(&self, old: Option<f64>, new: f64) -> Option<bool> {
        let bound = self.bound.value(old)?;
        Some(if self.is_above { new > bound } else { new < bound })
    }

    /// Whether the limit holds of a change: the figure is beyond it, and a change is not one that like runs show among themselves. Without an
    /// interval, of a single pair, only the figures count.
    pub fn holds_of(&self, change: &Change) -> bool {
        let is_noise = match (self.bound, change.ci_low, change.ci_high) {
            (Bound::Change(_), Some(low), Some(high)) => low <= 1.0 && high >= 1.0,
            _ => false,
        };
        !is_noise && self.is_beyond(Some(change.old), change.new) == Some(true)
    }
}

/// What makes a comparison fail.
#[derive(Clone, Debug)]
pub enum FailIf {
    /// A figure of Traces is beyond a bound.
    Limit(Limit),
    /// The verdict, of files of any kind.
    Verdict(Verdict),
}

impl FailIf {
    /// The limit, where it is one.
    pub fn limit(&self) -> Option<&Limit> {
        match self {
            Self::Limit(limit) => Some(limit),
            Self::Verdict(_) => None,
        }
    }

    /// The verdict, where it is one.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Limit(_) => None,
            Self::Verdict(verdict) => Some(*verdict),
        }
    }
}

impl FromStr for FailIf {
    type Err = LimitError;

    /// ```
    /// use swtch_decide::{FailIf, Verdict};
    /// assert!(matches!("worse".parse(), Ok(FailIf::Verdict(Verdict::Worse))));
    /// assert!(matches!("switches > +5%".parse(), Ok(FailIf::Limit(_))));
    /// ```
    fn from_str(text: &str) -> Result<Self, LimitError> {
        let verdict = Verdict::ALL.iter().find(|verdict| verdict.name() == text.trim());
        verdict.map_or_else(|| text.parse().map(Self::Limit), |verdict| Ok(Self::Verdict(*verdict)))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::RunOrder;

    #[test]
    fn a_mistake_is_one_line_with_what_is_possible() {
        for (text, words) in [
            ("", "write FIGURE > VALUE"),
            ("switches", "write FIGURE > VALUE"),
            ("switches >= 3", "write FIGURE > VALUE"),
            ("switch > 3", "figures are switches, cpu.time"),
            ("switches > many", "such as 1200"),
            ("switches > +5", "such as +5%"),
            ("wait.p99 > 20", "such as 20ms"),
            ("bill > 5", "such as 30%"),
            ("bill > 500%", "such as 30%"),
        ] {
            let error = text.parse::<Limit>().unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn a_limit_holds_beyond_its_bound_and_beyond_the_noise() {
        let holds = |text: &str, old: &[f64], new: &[f64]| {
            let limit: Limit = text.parse().unwrap();
            limit.holds_of(&Change::between(limit.figure, old, new, RunOrder::Mixed).unwrap())
        };
        assert!(holds("switches > +5%", &[100.0], &[106.0]) && !holds("switches > +5%", &[100.0], &[104.0]));
        assert!(holds("switches < -5%", &[100.0], &[94.0]) && !holds("switches < -5%", &[100.0], &[96.0]));
        assert!(holds("switches > 20", &[100.0], &[21.0]) && !holds("switches > 20", &[100.0], &[20.0]));
        let (noisy, clear) = ([80.0, 100.0, 120.0], [99.0, 100.0, 101.0]);
        assert!(!holds("switches > +5%", &noisy, &noisy.map(|count| count + 8.0)));
        assert!(holds("switches > +5%", &clear, &clear.map(|count| count + 8.0)));
    }
}
