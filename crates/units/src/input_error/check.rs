//! Figures that cannot be true, found before anything is printed.
//!
//! Each kind of document has one function that makes its [`Checks`]. Code that prints, writes or compares the document calls it first.

use std::fmt;

/// A figure that cannot be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Its name in the document: `tasks.voluntary`.
    pub figure: String,
    /// What it contradicts, with both values.
    pub reason: String,
}

impl fmt::Display for Impossible {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.figure, self.reason)
    }
}

/// A document is refused because figures in it cannot be true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", said(figures))]
pub struct Refused {
    /// The figures, in the order in which they were checked; at least one.
    pub figures: Vec<Impossible>,
}

/// The first figure, and how many more there are: an error is one line.
fn said(figures: &[Impossible]) -> String {
    match figures {
        [] => "no figure is wrong".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

/// The checks of one document, as they are made.
///
/// ```
/// let mut checks = swtch_units::input_error::Checks::default();
/// checks.at_most("totals.run_ns", 1_900, 2_000, "the wall time of all CPUs in ns");
/// checks.require(false, "tasks.voluntary", || "475 switches for 3 wake-ups".to_owned());
/// let refused = checks.finish().unwrap_err();
/// assert_eq!(refused.to_string(), "tasks.voluntary: 475 switches for 3 wake-ups");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Checks {
    impossible: Vec<Impossible>,
    made: u64,
}

impl Checks {
    /// Requires `holds` of a figure; `reason` says what it contradicts where it does not hold.
    pub fn require(&mut self, holds: bool, figure: &str, reason: impl FnOnce() -> String) {
        self.made += 1;
        if !holds {
            self.impossible.push(Impossible { figure: figure.to_owned(), reason: reason() });
        }
    }

    /// Requires that a figure is at most `bound`, which `what` names with its unit.
    pub fn at_most(&mut self, figure: &str, value: u64, bound: u64, what: &str) {
        self.require(value <= bound, figure, || format!("{value} is more than {what}, {bound}"));
    }

    /// Requires that a figure equals `other`, which `what` names with its unit.
    pub fn equal(&mut self, figure: &str, value: u64, other: u64, what: &str) {
        self.require(value == other, figure, || format!("{value} is not {what}, {other}"));
    }

    /// Requires that a fraction or a ratio is a finite number from 0 on.
    pub fn finite(&mut self, figure: &str, value: f64) {
        self.require(value.is_finite() && value >= 0.0, figure, || {
            format!("{value} is not a number from 0 on")
        });
    }

    /// How many checks were made.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Ends the checks.
    ///
    /// # Errors
    /// [`Refused`] when a figure cannot be true.
    pub fn finish(self) -> Result<(), Refused> {
        if self.impossible.is_empty() { Ok(()) } else { Err(Refused { figures: self.impossible }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_not_refused() {
        let mut checks = Checks::default();
        checks.at_most("a", 1, 1, "b");
        checks.equal("a", 2, 2, "b");
        checks.finite("a", 0.0);
        assert_eq!((checks.made(), checks.finish()), (3, Ok(())));
    }

    #[test]
    fn a_refusal_is_one_line_with_both_values_and_the_number_of_the_others() {
        let mut checks = Checks::default();
        checks.at_most("totals.run_ns", 3, 2, "the wall time of all CPUs in ns");
        checks.finite("share", f64::NAN);
        checks.finite("share", -0.1);
        let refused = checks.finish().unwrap_err();
        assert_eq!(refused.figures.len(), 3);
        let line = "totals.run_ns: 3 is more than the wall time of all CPUs in ns, 2 (and 2 more)";
        assert_eq!(refused.to_string(), line);
    }
}
