//! A check as a line of CSV for Apache Otava: time, commit, and a column a figure.

use swtch_decide::check::CheckResult;

/// `earlier` with one line more; a line of the same commit is replaced.
pub(super) fn text(result: &CheckResult, earlier: &str) -> Result<String, String> {
    let figures =
        || result.budgets.iter().flat_map(|budget| budget.metrics.iter().map(move |metric| (budget, metric)));
    let names = figures().map(|(budget, metric)| format!("{}.{}", budget.name, metric.metric));
    let header: String =
        ["time".to_owned(), "commit".to_owned()].into_iter().chain(names).collect::<Vec<_>>().join(",");
    let commit = result.commit.as_deref().unwrap_or("unknown");
    let values = figures().map(|(_, metric)| metric.value.to_string());
    let line =
        [result.time.clone(), commit.to_owned()].into_iter().chain(values).collect::<Vec<_>>().join(",");
    let mut lines = earlier.lines();
    match lines.next() {
        Some(found) if found != header => {
            return Err(format!(
                "its columns are {found}, not {header}; move it away, or name another directory"
            ));
        }
        _ => {}
    }
    let is_of_it = |line: &&str| result.commit.is_some() && line.split(',').nth(1) == Some(commit);
    let kept = lines.filter(|line| !is_of_it(line)).chain([line.as_str()]);
    let lines: Vec<&str> = [header.as_str()].into_iter().chain(kept).collect();
    Ok(lines.join("\n") + "\n")
}
