//! A check as Markdown, for the summary of a CI job.

use super::headline;
use swtch_decide::check::{CheckResult, Status};

pub(super) fn text(result: &CheckResult) -> String {
    let mut text = format!("### Context switches: {}\n\n", headline(result));
    text += "| budget | figure | now | baseline | change | limit | |\n| --- | --- | ---: | ---: | --- | --- | --- |\n";
    for budget in &result.budgets {
        for metric in &budget.metrics {
            let (shown, status) = (&metric.shown, metric.status);
            let status = if status == Status::Broken { format!("**{status}**") } else { status.to_string() };
            let cells = [
                &budget.name,
                &metric.metric,
                &shown.value,
                &shown.baseline,
                &shown.change,
                &shown.limit,
                &status,
            ];
            text += &format!("| {} |\n", cells.map(|cell| cell_text(cell)).join(" | "));
        }
    }
    for budget in &result.budgets {
        let Some(why) = &budget.why else { continue };
        text += &format!("\n**{}**: {}\n", budget.name, cell_text(why));
        if !budget.who.is_empty() {
            text += "\n<details><summary>Which tasks</summary>\n\n";
            text.extend(budget.who.iter().map(|who| format!("- {}\n", cell_text(&who.words()))));
            text += "\n</details>\n";
        }
    }
    text
}

/// A task's name may be any text.
fn cell_text(text: &str) -> String {
    text.chars()
        .flat_map(|letter| match letter {
            '|' | '*' | '_' | '`' | '<' | '[' | '\\' => vec!['\\', letter],
            letter if letter.is_control() => vec![' '],
            letter => vec![letter],
        })
        .collect()
}
