//! What `swtch check` found, for people and for other programs.

mod benchmarks;
mod junit;
mod markdown;
mod otava;
mod terminal;

use swtch_decide::check::{CheckResult, Status};
use swtch_units::words;

words! {
    /// What a check's result is written as.
    pub enum CheckFormat("format") {
        /// Text for a terminal.
        Terminal = "terminal",
        /// A table for the summary of a CI job.
        Markdown = "markdown",
        /// JUnit XML: a budget is a test case; for GitLab, Jenkins and others.
        Junit = "junit",
        /// Bencher Metric Format, for bencher.dev.
        Bmf = "bmf",
        /// The customSmallerIsBetter list of the GitHub action github-action-benchmark.
        GithubActionBenchmark = "github-action-benchmark",
        /// CSV for Apache Otava: a line a commit.
        Otava = "otava",
    }
}

impl CheckFormat {
    /// The file that a result is written to.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Terminal => "check.txt",
            Self::Markdown => "check.md",
            Self::Junit => "junit.xml",
            Self::Bmf => "bmf.json",
            Self::GithubActionBenchmark => "benchmark.json",
            Self::Otava => "otava.csv",
        }
    }

    /// The result in this format. `earlier` is the file's content before, which Otava's lines are added to.
    ///
    /// # Errors
    /// When the earlier content has other columns.
    pub fn write(self, result: &CheckResult, earlier: &str) -> Result<String, String> {
        Ok(match self {
            Self::Terminal => terminal::text(result),
            Self::Markdown => markdown::text(result),
            Self::Junit => junit::text(result),
            Self::Bmf => benchmarks::bmf(result),
            Self::GithubActionBenchmark => benchmarks::github_action(result),
            Self::Otava => return otava::text(result, earlier),
        })
    }
}

/// The first line of an answer.
fn headline(result: &CheckResult) -> String {
    let of = |status| result.budgets.iter().filter(|budget| budget.status == status).count();
    let (kept, broken, new) = (of(Status::Kept), of(Status::Broken), of(Status::New));
    let count = result.budgets.len();
    let budgets = if count == 1 { "budget" } else { "budgets" };
    match (broken, new) {
        (0, 0) if count == 1 => "The budget is kept".to_owned(),
        (0, 0) => format!("All {count} budgets are kept"),
        (0, _) => format!(
            "{new} of {count} {budgets} new, {kept} kept: accept the baseline with 'swtch check --accept'"
        ),
        _ => format!(
            "{broken} of {count} {budgets} broken, {kept} kept{}",
            if new > 0 { format!(", {new} new") } else { String::new() }
        ),
    }
}
