//! The closing summary: one table, what failed, what was skipped and why, one last line.

use crate::process::Took;
use crate::step::Counts;
use std::fmt::Write as _;
use swtch_units::TextTable;

/// Of what failed tests printed, the summary repeats this many lines a step; all of it is above.
const DETAIL_LINES: usize = 60;

/// This many tests are named with the time that they took.
const SLOWEST: usize = 10;

pub(crate) struct StepResult {
    pub(crate) name: &'static str,
    pub(crate) counts: Counts,
    pub(crate) took: Took,
}

/// Whether no step failed.
pub(crate) fn all_passed(results: &[StepResult]) -> bool {
    results.iter().all(|result| result.counts.failures.is_empty())
}

/// The summary, whose last line is `N passed, N failed, N skipped` and nothing else.
pub(crate) fn summary(results: &[StepResult]) -> String {
    let mut table = TextTable::new(["step", "passed", "failed", "skipped", "seconds", "CPU seconds"]);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for StepResult { name, counts, took } in results {
        let (failures, skips) = (counts.failures.len(), counts.skips.len());
        let counted = [counts.passed, failures, skips].map(|count| count.to_string());
        let times = [took.seconds, took.cpu_seconds].map(|time| format!("{time:.1}"));
        table.row([(*name).to_owned()].into_iter().chain(counted).chain(times));
        passed += counts.passed;
        failed += failures;
        skipped += skips;
    }
    let mut text = format!("\n{table}");
    let mut times: Vec<(&str, &(String, f64))> = results
        .iter()
        .flat_map(|result| result.counts.times.iter().map(|time| (result.name, time)))
        .collect();
    times.sort_by(|(_, one), (_, other)| other.1.total_cmp(&one.1));
    if !times.is_empty() {
        text.push_str("\nslowest tests, s:\n");
    }
    for (step, (name, seconds)) in times.iter().take(SLOWEST) {
        let _ = writeln!(text, "{seconds:>9.1}  {step}: {name}");
    }
    if skipped > 0 {
        text.push_str("\nskipped:\n");
        for StepResult { name, counts, .. } in results {
            for skip in &counts.skips {
                let _ = writeln!(text, "  {name}: {}: {}", skip.name, skip.reason);
            }
        }
    }
    list(&mut text, "failed beside other tests, passed when nothing else ran", results, |counts| {
        (&counts.recovered, counts.failures.is_empty())
    });
    list(&mut text, "failed", results, |counts| (&counts.failures, true));
    let _ = write!(text, "\n{passed} passed, {failed} failed, {skipped} skipped");
    text
}

/// Names tests of each step, and repeats what the step's failed tests printed where `of` says so.
fn list(
    text: &mut String,
    title: &str,
    results: &[StepResult],
    of: impl Fn(&Counts) -> (&Vec<String>, bool),
) {
    let mut title = Some(title);
    for StepResult { name, counts, .. } in results {
        let (tests, has_details) = of(counts);
        if tests.is_empty() {
            continue;
        }
        if let Some(title) = title.take() {
            let _ = writeln!(text, "\n{title}:");
        }
        for test in tests {
            let _ = writeln!(text, "  {name}: {test}");
        }
        for detail in counts.details.iter().take(if has_details { DETAIL_LINES } else { 0 }) {
            let _ = writeln!(text, "    {detail}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Skip;

    #[test]
    fn adds_up_and_ends_with_the_plain_line() {
        let skip = Skip { name: "fifo".into(), reason: "no right to use real-time classes".into() };
        let results = [
            StepResult {
                name: "format",
                counts: Counts::passed(),
                took: Took { seconds: 0.4, cpu_seconds: 0.3 },
            },
            StepResult {
                name: "tests",
                counts: Counts {
                    passed: 40,
                    failures: vec!["a::b".into()],
                    skips: vec![skip],
                    times: vec![("quick".into(), 0.5), ("slow".into(), 11.5)],
                    ..Counts::default()
                },
                took: Took { seconds: 12.0, cpu_seconds: 20.0 },
            },
        ];
        let text = summary(&results);
        assert_eq!(text.lines().last(), Some("41 passed, 1 failed, 1 skipped"));
        assert!(text.contains("  tests: fifo: no right to use real-time classes\n"));
        assert!(text.contains("  tests: a::b\n"));
        assert!(text.contains("     11.5  tests: slow\n      0.5  tests: quick\n"), "{text}");
        assert!(!all_passed(&results) && all_passed(&results[..1]));
    }

    #[test]
    fn a_test_that_passed_at_its_second_try_is_named_with_its_failure() {
        let counts =
            Counts { recovered: vec!["a::b".into()], details: vec!["3 of 4".into()], ..Counts::passed() };
        let results = [StepResult { name: "rust", counts, took: Took { seconds: 1.0, cpu_seconds: 1.0 } }];
        let text = summary(&results);
        let told = "\nfailed beside other tests, passed when nothing else ran:\n  rust: a::b\n    3 of 4\n";
        assert!(text.contains(told) && !text.contains("\nfailed:"), "{text}");
        assert!(all_passed(&results));
    }
}
