//! What a step of the test run came to.

use crate::process::Outcome;

/// Something that could not be tested here, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Skip {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// The counts of one step; a check that is not a test runner counts as one test.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failures: Vec<String>,
    /// Tests that failed beside others and did not when nothing else ran.
    pub(crate) recovered: Vec<String>,
    pub(crate) skips: Vec<Skip>,
    /// What the failed tests printed, to be shown once more at the end, where a reader looks first.
    pub(crate) details: Vec<String>,
    /// Tests and how long each took, s, where that is known.
    pub(crate) times: Vec<(String, f64)>,
}

impl Counts {
    pub(crate) fn passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self { failures: vec![why.into()], ..Self::default() }
    }

    pub(crate) fn skipped(name: &str, reason: impl Into<String>) -> Self {
        Self { skips: vec![Skip { name: name.to_owned(), reason: reason.into() }], ..Self::default() }
    }

    /// A check that succeeded when its command did.
    pub(crate) fn of_command(outcome: &Outcome) -> Self {
        if outcome.succeeded { Self::passed() } else { Self::failed(outcome.status.clone()) }
    }

    /// A check that succeeded when it found nothing to complain of.
    pub(crate) fn of_complaints(complaints: Vec<String>) -> Self {
        for complaint in &complaints {
            println!("error: {complaint}");
        }
        if complaints.is_empty() { Self::passed() } else { Self { failures: complaints, ..Self::default() } }
    }

    /// Adds those of another program of the same step.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
        self.details.extend(other.details);
        self.times.extend(other.times);
    }

    /// Makes sure that a runner that ended badly counts as a failure, even where no test of its own failed.
    pub(crate) fn with_status(mut self, outcome: &Outcome) -> Self {
        if !outcome.succeeded && self.failures.is_empty() {
            self.failures.push(format!("ended with {}", outcome.status));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_end_without_a_failed_test_still_fails() {
        let outcome = Outcome { succeeded: false, status: "exit status: 101".into(), lines: Vec::new() };
        let counts = Counts { passed: 7, ..Counts::default() }.with_status(&outcome);
        assert_eq!((counts.passed, counts.failures.len()), (7, 1));
        assert_eq!(Counts::failed("x").with_status(&outcome).failures, ["x"]);
    }
}
