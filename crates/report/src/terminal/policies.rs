//! Schedulers compared, as text.

use super::paragraph;
use crate::bench::{marked, shown};
use crate::compared::{DecidedChanges, answer_of};
use crate::wording::text::NONE;
use swtch_cost::Range;
use swtch_decide::ComparedPolicies;
use swtch_sched::{Better, Comparison, PolicyRuns, RunFigure, Waits};
use swtch_units::{TextTable, format_ns};

/// A sentence for each policy but the first; then a policy a line, its figures next to those of the first.
pub fn policies(compared: &ComparedPolicies) -> String {
    let first = compared.comparison.runs.first();
    let answers = compared.against_first.iter().zip(first.into_iter().cycle()).map(|(other, first)| {
        let found = DecidedChanges {
            verdict: other.verdict,
            changes: &other.changes,
            runs_needed: other.runs_needed,
            count: first.count,
        };
        paragraph("", &answer_of(&first.policy, &other.policy, &found), 2)
    });
    let answers: String = answers.collect();
    let gap = if answers.is_empty() { "" } else { "\n" };
    format!("{answers}{gap}{}{}", printed(compared), table(&compared.comparison))
}

/// The figures of what the command printed, a policy a line; nothing where there are none.
fn printed(compared: &ComparedPolicies) -> String {
    let Some(first) = compared.comparison.runs.first().filter(|first| !first.metrics.is_empty()) else {
        return String::new();
    };
    let titles = first.metrics.iter().flat_map(|metric| [metric.name.as_str(), "x"]);
    let mut table = TextTable::new(["policy"].into_iter().chain(titles));
    for run in &compared.comparison.runs {
        let changes = compared.against_first.iter().find(|other| other.policy == run.policy);
        let cells = first.metrics.iter().flat_map(|metric| {
            let own = run.metrics.iter().find(|own| own.name == metric.name);
            let change = changes.and_then(|other| other.metrics.iter().find(|own| own.name == metric.name));
            let against =
                change.map_or_else(String::new, |change| marked(change.ratio, Some(change.against_first)));
            [own.map_or(NONE.to_owned(), |own| figure(&own.figure, shown)), against]
        });
        table.row([run.policy.clone()].into_iter().chain(cells));
    }
    let rates = first.metrics.iter().any(|metric| metric.better == Better::Larger);
    let what = if rates { "; of rates more is better" } else { "" };
    format!("{table}as the command printed them: + better, - worse, = not distinguishable{what}\n\n")
}

fn table(comparison: &Comparison) -> String {
    let first = comparison.runs.first();
    let has_intervals = first.is_some_and(|run| run.seconds.ci_low.is_some());
    let waits = ["wait p50", "p90", "p99"];
    let titles = ["policy", "time, s", "x", "switches", "x", "involuntary"].into_iter().chain(waits);
    let mut table = TextTable::new(titles.chain(["a switch", "switches' share"]));
    for run in &comparison.runs {
        table.row(row(run, first.unwrap_or(run), comparison.exact));
    }
    format!("{table}\n{}", footer(comparison, has_intervals))
}

fn row(run: &PolicyRuns, first: &PolicyRuns, exact: bool) -> Vec<String> {
    let wait =
        |of: fn(&Waits) -> f64| run.wait_ns.as_ref().map_or(NONE.to_owned(), |waits| format_ns(of(waits)));
    let bill = run.bill.as_ref();
    let digits = if exact { 9 } else { 3 };
    vec![
        run.policy.clone(),
        figure(&run.seconds, |value| format!("{value:.digits$}")),
        ratio(&run.seconds, &first.seconds),
        figure(&run.context_switches, count),
        ratio(&run.context_switches, &first.context_switches),
        figure(&run.involuntary, count),
        wait(|waits| waits.p50),
        wait(|waits| waits.p90),
        wait(|waits| waits.p99),
        range(bill.and_then(|bill| bill.switch_ns), format_ns),
        range(bill.and_then(|bill| bill.share), |share| format!("{:.1} %", share * 100.0)),
    ]
}

fn footer(comparison: &Comparison, has_intervals: bool) -> String {
    let mut lines = vec![format!("{}: {}", place(comparison), comparison.command.join(" "))];
    let count = comparison.runs.first().map_or(0, |run| run.count);
    let runs = if count == 1 { "1 run".to_owned() } else { format!("medians of {count} runs") };
    if comparison.exact {
        lines.push(format!("{runs} each, after one to warm up; exact: time is instructions, 1 ns each, and the same command gives the same figures"));
    } else if let Some(confidence) =
        comparison.runs.first().filter(|_| has_intervals).and_then(|run| run.seconds.confidence)
    {
        lines.push(format!(
            "{runs} each in turn, after one to warm up; in brackets the {:.0} % confidence interval of the median",
            confidence * 100.0
        ));
    } else {
        lines.push(format!("{runs} each in turn, after one to warm up"));
    }
    if comparison.runs.iter().any(|run| run.bill.is_some()) {
        lines.push(
            "waits in run queues and the cost of switches are those of one more run, which was recorded"
                .to_owned(),
        );
    }
    lines.extend(missing(comparison));
    lines.join("\n") + "\n"
}

/// The figures that are unavailable, a line each; one line where a figure is unavailable for every policy.
fn missing(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for run in &comparison.runs {
        for why in &run.unavailable {
            let of_all = comparison.runs.iter().all(|run| run.unavailable.contains(why));
            let line = if of_all { format!("no {why}") } else { format!("{}: no {why}", run.policy) };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn place(comparison: &Comparison) -> String {
    let machine = &comparison.machine;
    let how = match machine.vm.as_deref() {
        None => "",
        Some("kvm") => ", in a virtual machine",
        Some("counted-instructions") => ", in a virtual machine that counts instructions",
        Some(_) => ", in an emulated virtual machine",
    };
    format!("Linux {}, {} CPUs{how}", machine.kernel, machine.cpus)
}

fn figure(figure: &RunFigure, show: impl Fn(f64) -> String) -> String {
    match (figure.ci_low, figure.ci_high) {
        (Some(low), Some(high)) => format!("{} [{}, {}]", show(figure.median), show(low), show(high)),
        _ => show(figure.median),
    }
}

fn ratio(figure: &RunFigure, first: &RunFigure) -> String {
    if first.median > 0.0 { format!("{:.2}", figure.median / first.median) } else { NONE.to_owned() }
}

fn range(range: Option<Range>, show: impl Fn(f64) -> String) -> String {
    range.map_or_else(|| NONE.to_owned(), |range| range.words(show))
}

fn count(value: f64) -> String {
    swtch_units::grouped(&format!("{value:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_sched::{BillFigures, Machine, MetricRuns};

    fn runs(policy: &str, seconds: &[f64], switches: &[f64]) -> PolicyRuns {
        PolicyRuns {
            policy: policy.to_owned(),
            ops: None,
            count: seconds.len(),
            seconds: RunFigure::of(seconds),
            context_switches: RunFigure::of(switches),
            involuntary: RunFigure::of(&[0.0]),
            machine_context_switches: None,
            wait_ns: None,
            bill: None,
            trace: None,
            metrics: Vec::new(),
            output: String::new(),
            unavailable: vec![],
        }
    }

    fn comparison(runs: Vec<PolicyRuns>) -> Comparison {
        let machine = Machine { kernel: "7.3".to_owned(), cpus: 4, vm: None };
        Comparison { command: vec!["hackbench".to_owned(), "-p".to_owned()], machine, exact: false, runs }
    }

    #[test]
    fn policies_stand_below_each_other_with_their_intervals() {
        let mut stock = runs("stock", &[2.0, 2.5, 3.0, 2.4, 2.6], &[9000.0; 5]);
        stock.wait_ns = Some(Waits { p50: 900.0, p90: 15_000.0, p99: 2.5e6 });
        let price = Range { low: 1000.0, high: 2000.0 };
        stock.bill = Some(BillFigures {
            direct_ns: None,
            indirect_ns: None,
            switch_ns: Some(price),
            share: Some(Range { low: 0.1, high: 0.1 }),
            measured_in_place: true,
        });
        let text = table(&comparison(vec![stock, runs("flsched", &[1.25; 5], &[1_234_567.0; 5])]));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("stock    2.500 [2.000, 3.000]  1.00"), "{text}");
        assert!(lines[1].contains("900 ns  15.0 µs  2.50 ms  1.00 µs to 2.00 µs           10.0 %"), "{text}");
        assert!(lines[2].contains(" 0.50  1,234,567 [1,234,567, 1,234,567]  137.17"), "{text}");
        assert!(text.contains("Linux 7.3, 4 CPUs: hackbench -p\nmedians of 5 runs"), "{text}");
        assert!(text.contains("94 % confidence interval"), "{text}");
    }

    #[test]
    fn what_the_command_printed_has_a_table_of_its_own() {
        let with = |policy: &str, values: &[f64]| {
            let metric =
                MetricRuns { name: "p99".to_owned(), better: Better::Smaller, figure: RunFigure::of(values) };
            PolicyRuns { metrics: vec![metric], ..runs(policy, &[1.0], &[1.0]) }
        };
        let runs = vec![with("stock", &[10.0, 11.0, 12.0, 13.0]), with("rr", &[30.0, 31.0, 32.0, 33.0])];
        let text = policies(&swtch_decide::compare_policies(comparison(runs)));
        assert!(
            text.contains("stock   11.50 [10.00, 13.00]\nrr      31.50 [30.00, 33.00]  2.74 -\n"),
            "{text}"
        );
        assert!(!table(&comparison(vec![])).contains("as the command printed"));
    }

    #[test]
    fn what_no_policy_has_is_said_once() {
        let without = |policy: &str, why: &[&str]| {
            let unavailable = why.iter().map(|why| (*why).to_owned()).collect();
            PolicyRuns { unavailable, ..runs(policy, &[1.0], &[1.0]) }
        };
        let lines =
            missing(&comparison(vec![without("stock", &["waits"]), without("rr", &["waits", "ctxt"])]));
        assert_eq!(lines, ["no waits", "rr: no ctxt"]);
    }

    #[test]
    fn exact_figures_have_all_digits_and_no_interval() {
        let mut exact = comparison(vec![runs("rr", &[0.418_000_123], &[0.0])]);
        exact.exact = true;
        let text = table(&exact);
        assert!(text.contains("0.418000123") && text.contains("exact") && !text.contains('['), "{text}");
        assert_eq!(table(&comparison(vec![])).lines().count(), 4, "nothing to compare does not panic");
    }
}
