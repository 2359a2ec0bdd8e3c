//! Figures that a command prints: by a pattern that was given, or by what is known of the program.

use crate::better::Better;
use crate::error::SchedError;
use regex_lite::Regex;
use std::ffi::OsString;
use std::path::Path;

/// A figure of a command's output.
#[derive(Clone, Debug)]
pub struct Metric {
    /// What it is called: the pattern's text before the figure, or its group's name.
    pub name: String,
    /// Which values are better.
    pub better: Better,
    pattern: Regex,
    /// Whether a run without it fails. What is known of a program may be of another version.
    required: bool,
}

/// A figure that a known program prints: its name, pattern, and which values are better.
type Known = (&'static str, &'static str, Better);

/// What is known of programs.
static KNOWN: [(&str, &[Known]); 3] = [
    ("hackbench", &[("time, s", r"Time:\s*([0-9.]+)", Better::Smaller)]),
    (
        "cyclictest",
        &[
            ("mean delay, us", r"Avg:\s*([0-9]+)", Better::Smaller),
            ("longest delay, us", r"Max:\s*([0-9]+)", Better::Smaller),
        ],
    ),
    // Of several reports of one run the last is of the whole run.
    (
        "schbench",
        &[
            ("wake-up p50, us", r"(?s).*Wakeup Latencies.*?\s50\.0th:\s*([0-9]+)", Better::Smaller),
            ("wake-up p99, us", r"(?s).*Wakeup Latencies.*?\s99\.0th:\s*([0-9]+)", Better::Smaller),
            ("wake-up p99.9, us", r"(?s).*Wakeup Latencies.*?\s99\.9th:\s*([0-9]+)", Better::Smaller),
            ("request p99, us", r"(?s).*Request Latencies.*?\s99\.0th:\s*([0-9]+)", Better::Smaller),
            ("requests, 1/s", r"average rps:\s*([0-9.]+)", Better::Larger),
        ],
    ),
];

impl Metric {
    /// A figure by a pattern with one group, which holds it.
    ///
    /// # Errors
    /// [`SchedError::Wish`] when it is not such a pattern.
    ///
    /// ```
    /// use swtch_sched::{Better, Metric};
    ///
    /// let metric = Metric::by_pattern(r"p99: (\d+)", Better::Smaller)?;
    /// assert_eq!((metric.name.as_str(), metric.value("p50: 7\np99: 12\n")), ("p99", Some(12.0)));
    /// # Ok::<(), swtch_sched::SchedError>(())
    /// ```
    pub fn by_pattern(text: &str, better: Better) -> Result<Self, SchedError> {
        let wish = |why: String| SchedError::Wish(format!("'{text}' {why}, as in 'p99: (\\d+)'"));
        let pattern = Regex::new(text)
            .map_err(|error| wish(format!("is not a pattern ({error}); give a regular expression")))?;
        if pattern.captures_len() != 2 {
            return Err(wish("does not have one group; put the figure in parentheses".to_owned()));
        }
        let before = text.split('(').next().unwrap_or_default();
        let before = before.trim_matches(|letter: char| !letter.is_alphanumeric());
        let name =
            pattern.capture_names().flatten().next().unwrap_or(if before.is_empty() { text } else { before });
        Ok(Self { name: name.to_owned(), better, required: true, pattern })
    }

    /// The figures that are known of the programs that a command names.
    pub fn known_of(command: &[OsString]) -> Vec<Self> {
        let texts: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
        let is_there = |program: &str| {
            words.iter().any(|word| Path::new(word).file_name().is_some_and(|name| name == program))
        };
        let known = KNOWN.iter().filter(|(program, _)| is_there(program)).flat_map(|(_, metrics)| *metrics);
        let metric = |(name, pattern, better): &Known| {
            let pattern = Regex::new(pattern).ok()?;
            Some(Self { name: (*name).to_owned(), better: *better, required: false, pattern })
        };
        known.filter_map(metric).collect()
    }

    /// The pattern as it was given.
    pub(crate) fn text(&self) -> &str {
        self.pattern.as_str()
    }

    pub(super) const fn is_required(&self) -> bool {
        self.required
    }

    /// Its value in a run's output. Where it is there several times, as for each thread, it is the worst.
    pub fn value(&self, output: &str) -> Option<f64> {
        let found = self.pattern.captures_iter(output).filter_map(|found| {
            let digits: String = found.get(1)?.as_str().chars().filter(|letter| *letter != ',').collect();
            digits.parse::<f64>().ok()
        });
        found.reduce(|one, other| self.better.worst(one, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_its_figure() {
        let name = |text: &str| Metric::by_pattern(text, Better::Smaller).map(|metric| metric.name);
        assert_eq!(name(r"p99: (\d+)").unwrap(), "p99");
        assert_eq!(name(r"(?P<requests>\d+) req").unwrap(), "requests");
        assert_eq!(name(r"(\d+) us").unwrap(), r"(\d+) us");
        for bad in ["p99", "(", r"(\d+) (\d+)"] {
            let error = name(bad).unwrap_err().to_string();
            assert!(error.contains(r"as in 'p99: (\d+)'"), "{error}");
        }
        let rate = Metric::by_pattern(r"rps: ([0-9.,]+)", Better::Larger).unwrap();
        assert_eq!(rate.value("rps: 1,234.5\nrps: 7,000\n"), Some(1234.5), "the worst");
        assert_eq!(rate.value("nothing"), None);
    }

    /// From `schbench.c` (git.kernel.org/pub/scm/linux/kernel/git/mason/schbench.git), two reports of one run.
    const SCHBENCH: &str = "\
Wakeup Latencies percentiles (usec) runtime 10 (s) (100 total samples)
	  50.0th: 7          (50 samples)
	* 99.0th: 90         (9 samples)
	  99.9th: 100        (1 samples)
Request Latencies percentiles (usec) runtime 10 (s) (100 total samples)
	  50.0th: 7000       (50 samples)
	* 99.0th: 9000       (9 samples)
	  99.9th: 10000      (1 samples)
Wakeup Latencies percentiles (usec) runtime 30 (s) (300 total samples)
	  50.0th: 8          (150 samples)
	* 99.0th: 80         (27 samples)
	  99.9th: 110        (3 samples)
Request Latencies percentiles (usec) runtime 30 (s) (300 total samples)
	  50.0th: 7100       (150 samples)
	* 99.0th: 9100       (27 samples)
	  99.9th: 10100      (3 samples)
average rps: 231.50
";

    #[test]
    fn known_programs_need_no_pattern() {
        let words = |text: &str| text.split('|').map(OsString::from).collect::<Vec<_>>();
        let values = |command: &str, output: &str| {
            let found = Metric::known_of(&words(command));
            found.iter().map(|metric| metric.value(output)).collect::<Vec<_>>()
        };
        let schbench = values("/opt/schbench|-m|2", SCHBENCH);
        assert_eq!(schbench, [8.0, 80.0, 110.0, 9100.0, 231.5].map(Some));
        let threads = "T: 0 (  204) P: 0 I:1000 C:    100 Min:     17 Act:   54 Avg:   53 Max:      63\n\
                       T: 1 (  205) P: 0 I:1500 C:     74 Min:     45 Act:   54 Avg:   54 Max:      70\n";
        assert_eq!(values("sh|-c|hackbench -p & cyclictest -q", threads), [None, Some(54.0), Some(70.0)]);
        assert!(values("make|-j4", SCHBENCH).is_empty());
    }
}
