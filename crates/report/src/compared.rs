//! Compared commands in words: what terminal and page share.

use swtch_decide::compare::{CommandComparison, ComparedCommand};
use swtch_decide::{Change, Verdict};
use swtch_sched::RunFigure;
use swtch_units::{format_ns, grouped, shortened};

/// Letters of a command in a sentence or a table.
const LONGEST_NAME: usize = 44;

/// What a command is called: its parameters where it has any, else itself, shortened.
pub(crate) fn name(command: &ComparedCommand) -> String {
    let parameters: Vec<String> =
        command.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let text = if parameters.is_empty() { command.command.replace('\n', " ") } else { parameters.join(" ") };
    shortened(&text, LONGEST_NAME)
}

/// The answer: a sentence for each command but the first; of a single command, its figures.
pub(crate) fn answer(comparison: &CommandComparison) -> Vec<String> {
    match comparison.runs.as_slice() {
        [] => Vec::new(),
        [only] => vec![alone(only)],
        [first, others @ ..] => others.iter().map(|other| against(first, other)).collect(),
    }
}

fn alone(only: &ComparedCommand) -> String {
    let [low, high] = only.context_switches.ends();
    let counts = [only.context_switches.median, low, high].map(count);
    let name = name(only);
    match (only.count, counts) {
        (1, [median, ..]) => format!("'{name}' has {median} context switches in one run."),
        (runs, [median, low, high]) => {
            format!("'{name}' has {median} context switches ({low} to {high}), the median of {runs} runs.")
        }
    }
}

fn against(first: &ComparedCommand, other: &ComparedCommand) -> String {
    let found = DecidedChanges {
        verdict: other.verdict.unwrap_or(Verdict::Unclear),
        changes: &other.changes,
        runs_needed: other.runs_needed,
        count: other.count,
    };
    answer_of(&name(first), &name(other), &found)
}

/// What was decided of one command, or one policy, against the first.
pub(crate) struct DecidedChanges<'a> {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// Its figures.
    pub(crate) changes: &'a [Change],
    /// How many runs would decide what is unclear.
    pub(crate) runs_needed: Option<u64>,
    /// Runs of each.
    pub(crate) count: usize,
}

/// The verdict in a sentence, by the names of both.
pub(crate) fn answer_of(first: &str, name: &str, found: &DecidedChanges<'_>) -> String {
    let deciding = || found.changes.iter().filter(|change| change.decides());
    let of = |verdict: Verdict| -> Vec<String> {
        deciding().filter(|change| change.verdict == verdict).map(Change::words).collect()
    };
    let (worse, better) = (of(Verdict::Worse), of(Verdict::Better));
    match found.verdict {
        Verdict::Worse => format!("'{name}' is worse than '{first}': {}.", worse.join(", ")),
        Verdict::Better => format!("'{name}' is better than '{first}': {}.", better.join(", ")),
        Verdict::Same => {
            let nouns: Vec<&str> =
                deciding().filter_map(|change| Some(change.figure()?.metric.noun)).collect();
            format!("'{name}' is the same as '{first}', in {}.", list(&nouns))
        }
        Verdict::Unclear if !worse.is_empty() => format!(
            "'{name}' is better and worse than '{first}': {}, but {}.",
            better.join(", "),
            worse.join(", ")
        ),
        Verdict::Unclear => {
            let runs = match found.runs_needed {
                Some(runs) => {
                    format!("at this noise, about {} runs of each would decide", count(runs as f64))
                }
                None if found.count < swtch_stats::LEAST_LAUNCHES => {
                    format!("{} runs of each are the least that can decide", swtch_stats::LEAST_LAUNCHES)
                }
                None => "no number of runs up to 100,000 would decide".to_owned(),
            };
            format!("'{name}' against '{first}' is unclear: like runs differ as much; {runs}.")
        }
    }
}

/// `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

/// A figure of every command: its title, and what it is of one of them, in the unit in which it is shown.
pub(crate) struct ComparedFigure {
    /// The head of its column.
    pub(crate) title: &'static str,
    /// Its name in verdicts.
    pub(crate) metric: &'static str,
    /// The figure.
    pub(crate) of: fn(&ComparedCommand) -> Option<&RunFigure>,
    /// A value in words.
    pub(crate) show: fn(f64) -> String,
    /// Whether it is only known between two ends, so that its middle says little.
    pub(crate) is_range: bool,
}

/// The figures, those that decide first.
pub(crate) const FIGURES: [ComparedFigure; 7] = [
    ComparedFigure {
        title: "time",
        metric: "elapsed",
        of: |run| Some(&run.seconds),
        show: time,
        is_range: false,
    },
    ComparedFigure {
        title: "CPU time",
        metric: "cpu.time",
        of: |run| Some(&run.cpu_seconds),
        show: time,
        is_range: false,
    },
    ComparedFigure {
        title: "switches",
        metric: "switches",
        of: |run| Some(&run.context_switches),
        show: count,
        is_range: false,
    },
    ComparedFigure {
        title: "voluntary",
        metric: "voluntary",
        of: |run| Some(&run.voluntary),
        show: count,
        is_range: false,
    },
    ComparedFigure {
        title: "involuntary",
        metric: "involuntary",
        of: |run| Some(&run.involuntary),
        show: count,
        is_range: false,
    },
    ComparedFigure {
        title: "waits",
        metric: "wait.total",
        of: |run| run.wait_seconds.as_ref(),
        show: time,
        is_range: false,
    },
    ComparedFigure {
        title: "switches' share",
        metric: "bill",
        of: |run| run.bill_share.as_ref(),
        show: share,
        is_range: true,
    },
];

fn time(seconds: f64) -> String {
    format_ns(seconds * 1e9)
}

fn count(value: f64) -> String {
    grouped(&format!("{value:.0}"))
}

fn share(value: f64) -> String {
    let percent = value * 100.0;
    if percent < 1.0 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

/// The ratio and its interval; absent where there is none.
pub(crate) fn ratio(change: &Change) -> (Option<String>, Option<String>) {
    let interval = change.ci_low.zip(change.ci_high);
    (change.ratio.map(digits), interval.map(|(low, high)| format!("{} to {}", digits(low), digits(high))))
}

impl ComparedFigure {
    /// The median, and the ends of its interval; of a range the ends alone, together.
    pub(crate) fn words(&self, run: &ComparedCommand) -> Option<(String, Option<[String; 2]>)> {
        let found = (self.of)(run)?;
        let ([low, high], median) = (found.ends().map(self.show), (self.show)(found.median));
        Some(match (self.is_range, run.count) {
            (true, _) if low == high => (low, None),
            (true, _) => (format!("{} to {high}", low.trim_end_matches(" %")), None),
            (false, 1) => (median, None),
            (false, _) => (median, Some([low, high])),
        })
    }
}

/// A ratio with three digits or two.
pub(crate) fn digits(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.1e}") } else { format!("{ratio:.3}") }
}

/// How the figures came about, a line each.
pub(crate) fn circumstances(comparison: &CommandComparison) -> Vec<String> {
    let count = comparison.runs.iter().map(|run| run.count).min().unwrap_or(0);
    let warmup = match comparison.warmup {
        0 => String::new(),
        1 => ", after one that does not count".to_owned(),
        warmup => format!(", after {warmup} that do not count"),
    };
    let runs = if count == 1 { "run of each" } else { "runs of each in random order" };
    let mut lines = vec![format!(
        "{count} {runs}{warmup}; Linux {}, {} CPUs; counted by {}.",
        comparison.kernel,
        comparison.cpus,
        if comparison.source == "wait4" { "wait4" } else { "BPF, with nothing at a switch" }
    )];
    if let Some(stopped) = comparison.stopped {
        let why = match stopped {
            swtch_decide::runs::Stopped::Interrupted => "Interrupted",
            swtch_decide::runs::Stopped::TimeLimit => "The time limit came",
        };
        lines.push(format!("{why} before all runs were done; these are the ones that were complete."));
    }
    for run in comparison.runs.iter().filter(|run| run.exit_statuses != [0]) {
        let statuses: Vec<String> = run.exit_statuses.iter().map(ToString::to_string).collect();
        lines.push(format!("'{}' ended with status {}.", name(run), statuses.join(" and ")));
    }
    let missing = comparison.unavailable.iter().map(|row| format!("No {}: {}.", row.field, row.reason));
    lines.extend(missing);
    lines
}
