//! How far the simulator is off, as text.

use swtch_decide::{AccuracyDocument, ErrorFigures, RealAndSimulated, Reference, SEEDS_A_RUN};
use swtch_units::TextTable;

/// The answer; then a load under a policy a line, the real figures beside the simulated ones.
pub fn accuracy(document: &AccuracyDocument) -> String {
    let AccuracyDocument { kernel, cpus, runs, errors, .. } = document;
    let figure = |name: &str, figures: ErrorFigures| {
        let ErrorFigures { median, worst, chance } = figures;
        let chance = chance.map_or(String::new(), |chance| {
            format!("; two batches of real runs differ by {:.1} %", chance * 100.0)
        });
        format!(
            "{name}: half of the rows are off by less than {:.1} %, the worst by {:.0} %{chance}\n",
            median * 100.0,
            worst * 100.0
        )
    };
    let mut text = figure("time", errors.seconds) + &figure("switches", errors.context_switches);
    text += &errors.latencies.map_or(String::new(), |latencies| figure("latencies", latencies));
    if errors.pairs > 0 {
        text += &format!(
            "order of policies: right in {} of {} pairs whose times differ by more than 10 %\n",
            errors.ordered, errors.pairs
        );
    }
    let titles = ["load", "policy", "time, s", "simulated", "off by", "switches", "simulated", "off by"];
    let mut table = TextTable::new(titles).left([1]);
    for row in &document.rows {
        let (seconds, switches) = (row.seconds, row.context_switches);
        table.row([
            row.load.clone(),
            row.policy.clone(),
            format!("{:.4}", seconds.real),
            format!("{:.4}", seconds.simulated),
            off(seconds),
            format!("{:.0}", switches.real),
            format!("{:.0}", switches.simulated),
            off(switches),
        ]);
    }
    text += &format!("\n{table}\n");
    text += &latencies(document);
    for (policy, why) in &document.missing {
        text += &format!("{policy} is not in the table: {why}\n");
    }
    if document.rows.iter().any(|row| row.reference == Reference::Host) {
        let left_out: usize = document.rows.iter().map(|row| row.left_out).sum();
        let all = document.rows.len() * runs;
        return text
            + &format!(
                "Linux {kernel}, one CPU of this machine; medians of {runs} runs, each with a simulation of its own\n\
                 the simulator has the kernel's rules and what a switch cost just before and just after a run; \
                 {left_out} of {all} runs are left out, since that differed by more than 15 %\n"
            );
    }
    let most = document.rows.iter().map(|row| row.runs).max().unwrap_or(*runs);
    let more =
        if most > *runs { format!(" ({most} where runs differ by more than 10 %)") } else { String::new() };
    text + &format!(
        "Linux {kernel}, {cpus} CPUs, in a virtual machine that counts instructions; medians of {runs} runs and {SEEDS_A_RUN} times as many seeds{more}\n\
         the simulator has the kernel's rules and a Profile measured in such a machine; nothing is calibrated\n"
    )
}

/// By how much the simulation is off.
fn off(figure: RealAndSimulated) -> String {
    format!("{:+.0} %", figure.error() * 100.0)
}

/// The figures of loads that tell how late tasks run.
fn latencies(document: &AccuracyDocument) -> String {
    let titles = ["load", "policy", "latency", "us", "simulated", "off by"];
    let mut table = TextTable::new(titles).left([1, 2]);
    let all = document.rows.iter().flat_map(|row| row.latencies.iter().map(move |latency| (row, latency)));
    for (row, latency) in all.clone() {
        table.row([
            row.load.clone(),
            row.policy.clone(),
            latency.figure.clone(),
            format!("{:.0}", latency.us.real),
            format!("{:.0}", latency.us.simulated),
            off(latency.us),
        ]);
    }
    if all.count() == 0 { String::new() } else { format!("{table}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use swtch_decide::{ACCURACY_SCHEMA, AccuracyRow, Errors, LatencyRow};
    use swtch_sched::{SimulatedFigure, SimulatedTimes, Statistic};

    #[test]
    fn the_errors_come_first_and_a_missing_policy_has_its_reason() {
        let beside =
            |real: f64, simulated: f64| RealAndSimulated { real, real_low: real, real_high: real, simulated };
        let document = AccuracyDocument {
            schema: ACCURACY_SCHEMA.to_owned(),
            swtch_version: "0.1.0".to_owned(),
            kernel: "7.3".to_owned(),
            cpus: 1,
            runs: 3,
            inputs: Vec::new(),
            errors: Errors {
                seconds: ErrorFigures { median: 0.05, worst: 0.2, chance: Some(0.01) },
                ordered: 3,
                pairs: 4,
                ..Errors::default()
            },
            rows: vec![AccuracyRow {
                load: "perf-pipe".to_owned(),
                policy: "rr".to_owned(),
                reference: Reference::Guest,
                work: "ping-pong".to_owned(),
                simulated_policy: "rr".to_owned(),
                seconds: beside(0.02, 0.021),
                context_switches: beside(4000.0, 4400.0),
                latencies: vec![LatencyRow {
                    figure: "wake-up p99".to_owned(),
                    simulated_by: SimulatedFigure {
                        times: SimulatedTimes::Answer,
                        of: Statistic::P99,
                        task: None,
                    },
                    us: beside(950.0, 969.0),
                }],
                runs: 3,
                left_out: 0,
            }],
            missing: BTreeMap::from([("lavd".to_owned(), "the simulator needs its source".to_owned())]),
        };
        let text = accuracy(&document);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "time: half of the rows are off by less than 5.0 %, the worst by 20 %; two batches of real runs differ by 1.0 %"
        );
        assert_eq!(lines[2], "order of policies: right in 3 of 4 pairs whose times differ by more than 10 %");
        assert_eq!(
            lines[5], "perf-pipe  rr       0.0200     0.0210    +5 %      4000       4400   +10 %",
            "{text}"
        );
        assert_eq!(lines[8], "perf-pipe  rr      wake-up p99  950        969    +2 %", "{text}");
        assert!(text.contains("lavd is not in the table: the simulator needs its source"), "{text}");
    }
}
