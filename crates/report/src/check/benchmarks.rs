//! A check for services that keep the history of benchmarks.

use serde_json::{Map, Value, json};
use swtch_decide::check::CheckResult;

/// Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format): benchmark, measure, value with its interval.
pub(super) fn bmf(result: &CheckResult) -> String {
    let mut benchmarks = Map::new();
    for budget in &result.budgets {
        let mut measures = Map::new();
        for metric in &budget.metrics {
            let mut value = json!({ "value": metric.value });
            for (name, end) in [("lower_value", metric.ci_low), ("upper_value", metric.ci_high)] {
                if let Some(end) = end {
                    value[name] = json!(end);
                }
            }
            measures.insert(metric.metric.clone(), value);
        }
        benchmarks.insert(budget.name.clone(), Value::Object(measures));
    }
    pretty(&Value::Object(benchmarks))
}

/// The list that github-action-benchmark reads as `customSmallerIsBetter`: name, unit, value, range and extra of each figure.
pub(super) fn github_action(result: &CheckResult) -> String {
    let entries = result.budgets.iter().flat_map(|budget| {
        budget.metrics.iter().map(|metric| {
            let mut entry = json!({
                "name": format!("{}: {}", budget.name, metric.metric),
                "unit": metric.unit,
                "value": metric.value,
                "extra": format!("{} runs, limit {}, {}", budget.runs, metric.shown.limit, metric.status),
            });
            if let Some((low, high)) = metric.ci_low.zip(metric.ci_high) {
                entry["range"] = json!(format!("{low} to {high}"));
            }
            entry
        })
    });
    pretty(&Value::Array(entries.collect()))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
