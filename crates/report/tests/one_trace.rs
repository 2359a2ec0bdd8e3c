//! One Trace through every output that prints its figures: each figure is the same one everywhere, as docs/metrics.md defines it.

use crate::visible::visible;
use serde_json::Value;
use std::path::Path;
use swtch_cost::{Inputs, bill};
use swtch_report::html::{NamedTrace, render_traces};
use swtch_report::prometheus::{Limits, of_trace};
use swtch_report::recording::Summary;
use swtch_report::tables::{self, Form};
use swtch_report::terminal;
use swtch_trace::tables::PreemptionRow;
use swtch_trace::{Tables, Trace, figures};
use swtch_units::format_ns;

/// The outputs of one Trace.
struct Outputs {
    trace: Trace,
    text: String,
    json: Value,
    page: String,
    metrics: String,
    tasks: Vec<Vec<String>>,
}

impl Outputs {
    fn of(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(name);
        let trace = Trace::open(&path).unwrap();
        let bill = bill(Inputs { trace: trace.view(), model: None, price: None });
        let summary = Summary { trace: trace.view(), bill: &bill, advice: None, caveats: &[] };
        let mut csv = Vec::new();
        tables::write(&trace, "tasks", Form::Csv, &mut csv).unwrap();
        let tasks = String::from_utf8(csv).unwrap();
        Self {
            text: terminal::recording(&summary),
            json: summary.json(),
            page: visible(&render_traces(&[NamedTrace::new("run", trace.clone(), None, None)]).unwrap()),
            metrics: of_trace(&trace, None, Limits::default()),
            tasks: tasks.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect(),
            trace,
        }
    }

    /// The numbers in a column of the exported table of tasks; empty cells are unknown.
    fn column(&self, name: &str) -> Vec<u64> {
        let place = self.tasks[0].iter().position(|head| head == name).unwrap();
        self.tasks[1..].iter().filter_map(|row| row[place].parse().ok()).collect()
    }

    /// The sum of a metric's samples whose labels have `label`.
    fn metric(&self, start: &str, label: &str) -> f64 {
        let samples = self.metrics.lines().filter(|line| line.starts_with(start) && line.contains(label));
        samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }
}

#[test]
fn there_is_one_number_of_switches_and_one_rate() {
    for name in ["machine.swtch", "procfs.swtch"] {
        let out = Outputs::of(name);
        let all = figures::switches(&out.trace.header).unwrap();
        let rate = all as f64 / (out.trace.header.duration_ns as f64 / 1e9);
        assert!(out.text.contains(&format!("; {rate:.0} a second over")), "{name}: {rate} in {}", out.text);
        assert!(out.page.contains(&format!("{rate:.0}/s")), "{name}: {rate} on the page");
        assert_eq!(out.json["switches_per_second"].as_f64(), Some(rate));
        let kinds = out.metric("swtch_context_switches_total{", "voluntary\"");
        assert_eq!(kinds, all as f64, "{name}: voluntary and involuntary ones of the metrics");
        let exported =
            out.column("voluntary").iter().sum::<u64>() + out.column("involuntary").iter().sum::<u64>();
        assert_eq!(exported, all, "{name}: the exported tasks");
    }
}

#[test]
fn there_is_one_cpu_time() {
    for name in ["machine.swtch", "procfs.swtch"] {
        let out = Outputs::of(name);
        let all_ns: u64 = out.trace.tasks.iter().map(figures::cpu_ns).sum();
        let of_tasks: u64 =
            out.json["tasks"].as_array().unwrap().iter().filter_map(|row| row["cpu_ns"].as_u64()).sum();
        assert_eq!(of_tasks, all_ns, "{name}");
        let billed = out.json["cost"]["tasks_cpu_ns"].as_f64().unwrap();
        assert!((billed / all_ns as f64 - 1.0).abs() < 1e-6, "{name}: {billed} billed of {all_ns}");
        assert!(out.page.contains(&format_ns(all_ns as f64)), "{name}");
        let first = &out.json["tasks"][0];
        let shown = format_ns(first["cpu_ns"].as_f64().unwrap());
        assert!(out.text.contains(&shown) && out.page.contains(&shown), "{name}: {shown}");
        // The machine's is another figure and has another name.
        assert!(out.json["cpu_ns"].is_null() && out.json["machine_cpu_ns"]["user"].is_u64(), "{name}");
        let run_ns = out.column("run_ns").iter().sum::<u64>() as f64;
        let metric_ns = out.metric("swtch_run_seconds_total ", "") * 1e9;
        assert!((metric_ns / run_ns - 1.0).abs() < 1e-6, "{name}: {metric_ns} of {run_ns}");
    }
}

#[test]
fn there_is_one_median_and_one_longest_wait() {
    let out = Outputs::of("machine.swtch");
    let Tables { tasks, histograms, .. } = &out.trace.tables;
    let at = |share| figures::quantile_ns(tasks, histograms, "wait", "all", share).unwrap();
    let longest = figures::longest_ns(tasks, "wait", "all").unwrap();
    assert_eq!(out.column("wait_max_ns").into_iter().max(), Some(longest));
    let of_json =
        out.json["tasks"].as_array().unwrap().iter().filter_map(|row| row["wait_ns"]["max"].as_u64()).max();
    assert_eq!(of_json, Some(longest));
    let tile = format!("median {}, longest {}", format_ns(at(0.5) as f64), format_ns(longest as f64));
    assert!(out.page.contains(&tile), "no '{tile}' on the page");
    assert!(out.page.contains(&format_ns(at(0.99) as f64)));
    // The bounds of the classes that hold them, as the metrics and the exported histogram have them.
    let total: u64 =
        histograms.iter().filter(|row| row.metric == "wait" && row.of == "all").map(|row| row.count).sum();
    assert_eq!(out.metric("swtch_run_queue_wait_seconds_count", ""), total as f64);
    for task in out.trace.tasks.iter().filter(|task| task.in_scope && task.waits > 0) {
        // A task's own quantiles are exact; those of its histogram are off by half a class at most.
        let of = format!("task {}", task.tid);
        let found = figures::quantile_ns(tasks, histograms, "wait", &of, 0.5);
        let (Some(found), Some(exact)) = (found, task.wait_p50_ns) else { continue };
        assert!(found.abs_diff(exact) as f64 <= exact as f64 * 0.126 + 1.0, "{of}: {found} for {exact}");
    }
}

/// Threads of two programs with the same names are one line, whose count and time are their sums.
#[test]
fn pairs_of_threads_with_the_same_names_are_one_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/machine.swtch");
    let mut trace = Trace::open(&path).unwrap();
    for (task, comm) in trace.tables.tasks.iter_mut().zip(["make", "cc1", "cc1"]) {
        task.comm = comm.to_owned();
    }
    let tids: Vec<u32> = trace.tables.tasks.iter().map(|task| task.tid).collect();
    let pair = |of_tid, count, ns| PreemptionRow { by_tid: tids[0], of_tid, count, ns };
    trace.tables.preemptions = vec![pair(tids[1], 18, Some(1_000)), pair(tids[2], 14, Some(500))];
    let text = |trace: &Trace| {
        let bill = bill(Inputs { trace: trace.view(), model: None, price: None });
        terminal::recording(&Summary { trace: trace.view(), bill: &bill, advice: None, caveats: &[] })
    };
    let line = "  cc1 was preempted by make 32 times (2 pairs of threads) and then waited 1.50 µs\n";
    assert!(text(&trace).contains(line), "{}", text(&trace));
    // Where one part is unknown, so is the sum.
    trace.tables.preemptions[1].ns = None;
    assert!(text(&trace).contains("make 32 times (2 pairs of threads)\n"), "{}", text(&trace));
}
