//! A second try for tests that failed beside others. Lanes of tests share the CPUs so that the whole takes half the time; a test that measures may fail
//! because of that. Those that failed run once more with nothing else, and the summary names each that passed only then.

use crate::process::{say, timed};
use crate::step::Counts;
use crate::summary::StepResult;
use anyhow::Result;

/// More failures than this have a cause: then none is tried again.
const MOST: usize = 20;

/// Runs those of a step's tests again that failed.
pub(crate) type Again = fn(&[String]) -> Result<Counts>;

/// Tries failed tests once more, of each step that `of` knows a way for.
pub(crate) fn try_again(results: &mut [StepResult], of: impl Fn(&str) -> Option<Again>) {
    let failed: usize = results.iter().map(|result| result.counts.failures.len()).sum();
    if failed > MOST {
        return say(&format!("\n{failed} tests failed: more than {MOST}, so none of them is tried again"));
    }
    for result in results {
        let Some(again) = of(result.name).filter(|_| !result.counts.failures.is_empty()) else { continue };
        say(&format!("\n=== {}: what failed, once more, with nothing else running", result.name));
        let (second, took) = timed(|| again(&result.counts.failures));
        match second {
            Ok(second) => settle(&mut result.counts, second),
            Err(error) => say(&format!("error: {error:#}")),
        }
        result.took.seconds += took.seconds;
        result.took.cpu_seconds += took.cpu_seconds;
    }
}

/// Of the failures, keeps those that failed again or did not run again.
fn settle(first: &mut Counts, second: Counts) {
    let ended = |name: &String| {
        second.times.iter().any(|(other, _)| other == name) && !second.failures.contains(name)
    };
    let (recovered, failures) = std::mem::take(&mut first.failures).into_iter().partition::<Vec<_>, _>(ended);
    // One that cannot run after all is a skip.
    first.passed += recovered.len().saturating_sub(second.skips.len());
    first.skips.extend(second.skips);
    first.details.extend(second.details);
    first.failures = failures;
    first.recovered = recovered;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Took;
    use crate::step::Skip;

    fn failed(names: &[&str]) -> Counts {
        Counts { failures: names.iter().map(|&name| name.to_owned()).collect(), ..Counts::default() }
    }

    fn results(names: &[&str]) -> [StepResult; 1] {
        [StepResult {
            name: "rust",
            counts: Counts { passed: 5, ..failed(names) },
            took: Took { seconds: 1.0, cpu_seconds: 1.0 },
        }]
    }

    #[test]
    fn a_test_that_fails_twice_has_failed_and_one_that_did_not_run_again_too() {
        let mut results = results(&["always", "once", "gone", "busy"]);
        try_again(&mut results, |_| {
            Some(|names| {
                assert_eq!(names.len(), 4);
                let skips = vec![Skip { name: "busy".into(), reason: "why".into() }];
                let times = ["always", "once", "busy"].map(|name| (name.to_owned(), 0.1)).into();
                Ok(Counts { passed: 1, skips, times, ..failed(&["always"]) })
            })
        });
        let counts = &results[0].counts;
        assert_eq!((counts.passed, counts.skips.len()), (6, 1));
        assert_eq!(counts.failures, ["always", "gone"]);
        assert_eq!(counts.recovered, ["once", "busy"]);
    }

    #[test]
    fn a_step_that_cannot_be_tried_again_stays_failed() {
        let mut results = results(&["clippy"]);
        try_again(&mut results, |_| None);
        assert_eq!(results[0].counts.failures, ["clippy"]);
        try_again(&mut results, |_| Some(|_| anyhow::bail!("no program")));
        assert_eq!(results[0].counts.failures, ["clippy"]);
    }

    #[test]
    fn of_many_failures_none_is_tried_again() {
        let names: Vec<String> = (0..=MOST).map(|number| number.to_string()).collect();
        let mut results = results(&names.iter().map(String::as_str).collect::<Vec<_>>());
        try_again(&mut results, |_| Some(|_| panic!("not to be tried")));
        assert_eq!(results[0].counts.failures.len(), MOST + 1);
    }
}
