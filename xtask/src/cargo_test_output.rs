//! Reads what `cargo test -- --show-output` prints.

use crate::step::{Counts, Skip};

/// The counts over all test programs of one run.
///
/// A test that cannot run on this machine prints `SKIP <test name>: <reason>` and returns. The harness takes it for
/// passed; here it is moved to the skipped ones, once a test, however many such lines it prints.
pub(crate) fn counts(lines: &[String]) -> Counts {
    let mut counts = Counts::default();
    let mut place = Section::Elsewhere;
    let mut skipped_as_passed = 0;
    for line in lines {
        place = place.after(line);
        if matches!(place, Section::Failures) && !line.is_empty() {
            counts.details.push(line.clone());
        }
        let (line, seconds) = without_time(line);
        if let Some(seconds) = seconds
            && let Some((name, _)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        {
            counts.times.push((name.to_owned(), seconds));
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            counts.passed += number_before(result, " passed");
            place = Section::Elsewhere;
        } else if let Some((name, reason)) = ignored(line) {
            counts.skips.push(Skip { name: name.to_owned(), reason: reason.to_owned() });
        } else if let Some(name) = failed(line) {
            counts.failures.push(name.to_owned());
        } else if let (Section::SuccessOf { skips }, Some(reason)) = (&mut place, line.strip_prefix("SKIP "))
        {
            let (name, reason) = reason.split_once(": ").unwrap_or((reason, "no reason given"));
            if *skips == 0 {
                counts.skips.push(Skip { name: name.to_owned(), reason: reason.to_owned() });
                skipped_as_passed += 1;
            } else if let Some(first) = counts.skips.last_mut() {
                first.reason.push_str("; ");
                first.reason.push_str(reason);
            }
            *skips += 1;
        }
    }
    counts.passed = counts.passed.saturating_sub(skipped_as_passed);
    counts
}

/// Where a line is in the report of one test program.
#[derive(Clone, Copy)]
enum Section {
    Elsewhere,
    /// Below `successes:`, outside the output of a test.
    Successes,
    /// In the output of a test that passed, after this many of its `SKIP` lines.
    SuccessOf {
        skips: usize,
    },
    /// Below `failures:`, where the output of the failed tests and then their names stand.
    Failures,
}

impl Section {
    fn after(self, line: &str) -> Self {
        match (self, line) {
            (_, "successes:") => Self::Successes,
            // A failed test stays failed, whatever it printed before.
            (_, "failures:") => Self::Failures,
            (Self::Successes | Self::SuccessOf { .. }, line) if is_test_header(line) => {
                Self::SuccessOf { skips: 0 }
            }
            (place, _) => place,
        }
    }
}

/// Says line by line what a reader wants to see: not what the tests that passed printed, nor their names once more.
pub(crate) fn worth_showing() -> impl FnMut(&str) -> bool + Send {
    let mut place = Section::Elsewhere;
    move |line| {
        place = place.after(line);
        if line.starts_with("test result: ") {
            place = Section::Elsewhere;
        }
        matches!(place, Section::Elsewhere | Section::Failures) || line.starts_with("SKIP ")
    }
}

/// `test a::b ... ok <0.125s>` as the line without its time, and the time.
fn without_time(line: &str) -> (&str, Option<f64>) {
    let split =
        line.strip_prefix("test ").and(line.strip_suffix("s>")).and_then(|rest| rest.rsplit_once(" <"));
    match split.and_then(|(before, seconds)| Some((before, seconds.parse().ok()?))) {
        Some((before, seconds)) => (before, Some(seconds)),
        None => (line, None),
    }
}

fn is_test_header(line: &str) -> bool {
    line.starts_with("---- ") && line.ends_with(" stdout ----")
}

fn number_before(text: &str, unit: &str) -> usize {
    let before = text.split(unit).next().unwrap_or_default();
    before.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Name and reason from `test a::b ... ignored, the reason`.
fn ignored(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    match outcome.strip_prefix("ignored")? {
        "" => Some((name, "ignored without a reason")),
        reason => Some((name, reason.strip_prefix(", ")?)),
    }
}

fn failed(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(text: &str) -> Counts {
        counts(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    const TWO_PROGRAMS: &str = "
     Running unittests src/lib.rs (target/release/deps/swtch_units-0b)

running 3 tests
test cpu::a ... ok
test cpu::b ... ok
test fifo ... ok

successes:

---- cpu::a stdout ----
some output
SKIP-like text

---- fifo stdout ----
SKIP fifo: no right to use real-time classes
SKIP fifo: and one CPU only


successes:
    cpu::a
    cpu::b
    fifo

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests swtch_units

running 2 tests
test crates/units/src/a.rs - a (line 3) ... ok
test crates/units/src/b.rs - b (line 9) ... ignored

test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.20s
";

    #[test]
    fn a_skip_is_taken_from_the_passed_once_and_keeps_all_reasons() {
        let counts = counts_of(TWO_PROGRAMS);
        assert_eq!(counts.passed, 3);
        assert!(counts.failures.is_empty());
        assert_eq!(counts.skips.len(), 2);
        assert_eq!(counts.skips[0].name, "fifo");
        assert_eq!(counts.skips[0].reason, "no right to use real-time classes; and one CPU only");
        assert_eq!(counts.skips[1].reason, "ignored without a reason");
    }

    #[test]
    fn failures_are_named_and_a_skip_does_not_excuse_one() {
        let counts = counts_of(
            "test good ... ok\ntest bad::worse ... FAILED\ntest off ... ignored, needs a GPU\n\nsuccesses:\n\n\
             failures:\n\n---- bad::worse stdout ----\nSKIP bad::worse: not really\npanicked\n\n\
             failures:\n    bad::worse\n\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        );
        assert_eq!(counts.passed, 1);
        assert_eq!(counts.failures, ["bad::worse"]);
        assert!(counts.details.contains(&"panicked".to_owned()));
        assert_eq!(counts.skips, [Skip { name: "off".into(), reason: "needs a GPU".into() }]);
    }

    #[test]
    fn the_time_of_a_test_is_kept_and_hides_no_failure() {
        let counts = counts_of("test a::b ... ok <1.500s>\ntest c ... FAILED <0.002s>\ntest d ... ok");
        assert_eq!(counts.times, [("a::b".to_owned(), 1.5), ("c".to_owned(), 0.002)]);
        assert_eq!(counts.failures, ["c"]);
    }

    #[test]
    fn what_passing_tests_print_is_not_shown_but_skips_and_failures_are() {
        let mut worth_showing = worth_showing();
        let shown: Vec<&str> = TWO_PROGRAMS.lines().filter(|line| worth_showing(line)).collect();
        assert!(!shown.contains(&"some output") && !shown.contains(&"    fifo"));
        assert!(shown.contains(&"SKIP fifo: and one CPU only"));
        assert!(shown.contains(&"test crates/units/src/b.rs - b (line 9) ... ignored"));
        assert!(worth_showing("failures:") && worth_showing("---- bad stdout ----"));
        assert!(worth_showing("panicked"));
    }

    #[test]
    fn output_that_is_no_test_counts_nothing() {
        assert_eq!(counts_of("   Compiling swtch v0.1.0\nSKIP x: y\nwarning: unused"), Counts::default());
    }
}
