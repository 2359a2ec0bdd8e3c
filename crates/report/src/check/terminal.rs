//! A check as text for a terminal.

use super::headline;
use crate::terminal::paragraph;
use swtch_decide::check::CheckResult;
use swtch_units::TextTable;

pub(super) fn text(result: &CheckResult) -> String {
    let mut text = headline(result) + "\n";
    for budget in &result.budgets {
        if let Some(why) = &budget.why {
            text += &paragraph("", &format!("{}: {why}", budget.name), 2);
        }
    }
    let mut table =
        TextTable::new(["budget", "figure", "now", "baseline", "change", "limit", ""]).left([1, 4, 5, 6]);
    for budget in &result.budgets {
        for metric in &budget.metrics {
            let shown = &metric.shown;
            table.row([
                budget.name.clone(),
                metric.metric.clone(),
                shown.value.clone(),
                shown.baseline.clone(),
                shown.change.clone(),
                shown.limit.clone(),
                metric.status.to_string(),
            ]);
        }
    }
    text += "\n";
    text += &table.under("Medians, and the 95 % interval of their change");
    for budget in &result.budgets {
        let more: Vec<String> =
            budget.who.iter().take(3).map(swtch_decide::check::WhoDifference::words).collect();
        if budget.why.is_some() && more.len() > 1 {
            text += &format!("\nWhat changed in {}:\n", budget.name);
            text.extend(more.iter().map(|line| paragraph("  ", line, 4)));
        }
        if let Some(trace) = &budget.trace {
            text += &format!("\nA recording of {}: {}\n", budget.name, trace.display());
        }
    }
    text
}
