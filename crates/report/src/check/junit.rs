//! A check as JUnit XML: a suite whose test cases are the budgets.

use swtch_decide::check::{BudgetResult, CheckResult, Status};

pub(super) fn text(result: &CheckResult) -> String {
    let broken = result.budgets.iter().filter(|budget| budget.status == Status::Broken).count();
    let seconds: f64 = result.budgets.iter().map(|budget| budget.seconds).sum();
    let counts = format!(
        "tests=\"{}\" failures=\"{broken}\" errors=\"0\" time=\"{seconds:.3}\"",
        result.budgets.len()
    );
    // The schema's time has no zone.
    let time = result.time.get(..19).unwrap_or(&result.time);
    let cases: String = result.budgets.iter().map(case).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"swtch check\" {counts}>\n  \
         <testsuite name=\"swtch check\" {counts} skipped=\"0\" timestamp=\"{}\">\n{cases}  </testsuite>\n</testsuites>\n",
        escaped(time)
    )
}

fn case(budget: &BudgetResult) -> String {
    let name = escaped(&budget.name);
    let mut text = format!(
        "    <testcase classname=\"swtch.{}\" name=\"{name}\" time=\"{:.3}\">\n",
        budget.place, budget.seconds
    );
    if budget.status == Status::Broken {
        let why = escaped(budget.why.as_deref().unwrap_or_default());
        let who: Vec<String> = budget.who.iter().map(|who| escaped(&who.words())).collect();
        text += &format!("      <failure type=\"budget\" message=\"{why}\">{}</failure>\n", who.join("\n"));
    }
    let figures: Vec<String> = budget
        .metrics
        .iter()
        .map(|metric| {
            let shown = &metric.shown;
            format!(
                "{}: {}, baseline {}, limit {}: {}",
                metric.metric, shown.value, shown.baseline, shown.limit, metric.status
            )
        })
        .collect();
    text + &format!("      <system-out>{}</system-out>\n    </testcase>\n", escaped(&figures.join("\n")))
}

/// XML has no control characters, escaped or not.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            letter
                if letter.is_control() && letter != '\n' || ('\u{fffe}'..='\u{ffff}').contains(&letter) =>
            {
                "?".to_owned()
            }
            letter => letter.to_string(),
        })
        .collect()
}
