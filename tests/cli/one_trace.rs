//! One Trace through every command that prints a figure of it: each figure is the same one everywhere, as docs/metrics.md defines it.

#[path = "../../crates/report/tests/visible/mod.rs"]
mod visible;

use crate::common::{home, json, run, skip, stderr, stdout, swtch, without_bpf};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::fs;
use std::path::Path;
use swtch_cost::{Inputs, bill};
use swtch_report::recording::Summary;
use swtch_report::terminal::{self, top};
use swtch_stats::{class_quantile, order_statistic};
use swtch_trace::growth::Growth;
use swtch_trace::model::{Header, Scope};
use swtch_trace::{Snapshot, Tables, Trace, figures};
use swtch_units::format_ns;

/// A table as it was exported: names of columns, and rows.
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn csv(home: &Path, trace: &str, name: &str) -> Self {
        let output = run(swtch(home).args(["export", trace, "--to", "csv", "--table", name]));
        assert!(output.status.success(), "{}", stderr(&output));
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let text = stdout(&output);
        let mut lines = text.lines().map(cells);
        let names = lines.next().unwrap();
        let rows: Vec<Vec<String>> = lines.collect();
        assert!(rows.iter().all(|row| row.len() == names.len()), "a comma in a cell of {name}");
        Self { names, rows }
    }

    fn parquet(home: &Path, trace: &str, name: &str) -> Self {
        let file = home.join("table.parquet");
        let arguments = ["export", trace, "--to", "parquet", "--table", name, "-o", "table.parquet"];
        let output = run(swtch(home).args(arguments));
        assert!(output.status.success(), "{}", stderr(&output));
        let reader = SerializedFileReader::new(fs::File::open(&file).unwrap()).unwrap();
        let mut names = Vec::new();
        let rows = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            names = row.get_column_iter().map(|(name, _)| name.clone()).collect();
            row.get_column_iter().map(|(_, field)| cell(field)).collect()
        });
        let rows = rows.collect();
        fs::remove_file(file).unwrap();
        Self { names, rows }
    }

    fn place(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| panic!("no column {name}"))
    }

    /// The numbers in a column; what is unknown is left out.
    fn column(&self, name: &str) -> Vec<u64> {
        let place = self.place(name);
        self.rows.iter().filter_map(|row| row[place].parse().ok()).collect()
    }

    fn sum(&self, name: &str) -> u64 {
        self.column(name).iter().sum()
    }

    /// The classes of a distribution.
    fn classes(&self, metric: &str, of: &str) -> Vec<(u64, u64, u64)> {
        let (metrics, whose) = (self.place("metric"), self.place("of"));
        let [from, to, count] = ["from_ns", "to_ns", "count"].map(|name| self.place(name));
        let number = |row: &[String], place: usize| row[place].parse().unwrap();
        let rows = self.rows.iter().filter(|row| row[metrics] == metric && row[whose] == of);
        rows.map(|row| (number(row, from), number(row, to), number(row, count))).collect()
    }
}

fn cell(field: &Field) -> String {
    match field {
        Field::ULong(number) => number.to_string(),
        Field::UInt(number) => number.to_string(),
        Field::Long(number) => number.to_string(),
        Field::Int(number) => number.to_string(),
        Field::Str(text) => text.clone(),
        _ => String::new(),
    }
}

/// The sum of a metric's samples that begin with `start` and have `label`.
fn metric(text: &str, start: &str, label: &str) -> f64 {
    let samples = text.lines().filter(|line| line.starts_with(start) && line.contains(label));
    samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        text.push_str(if text.is_empty() { "" } else { "," });
        text.push_str(std::str::from_utf8(group).unwrap());
    }
    text
}

fn near(one: f64, other: f64, what: &str) {
    assert!((one - other).abs() <= other.abs() * 1e-6 + 1e-9, "{what}: {one}, not {other}");
}

/// The figures of a Trace, by their definitions.
struct Figures {
    trace: Trace,
    switches: u64,
    rate: f64,
    cpu_ns: u64,
    /// Median, nine of ten, 99 of 100.
    waits_ns: [u64; 3],
    longest_ns: u64,
}

const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

impl Figures {
    fn of(path: &Path) -> Self {
        let trace = Trace::open(path).unwrap();
        let (header, Tables { tasks, histograms, .. }) = (&trace.header, &trace.tables);
        let switches = figures::switches(header).unwrap();
        let wait = |share| figures::quantile_ns(tasks, histograms, "wait", "all", share).unwrap();
        assert!(switches > 10, "{switches} switches show little");
        Self {
            switches,
            rate: switches as f64 * 1e9 / header.duration_ns as f64,
            cpu_ns: tasks.iter().filter(|task| task.in_scope).map(figures::cpu_ns).sum(),
            waits_ns: SHARES.map(wait),
            longest_ns: figures::longest_ns(tasks, "wait", "all").unwrap(),
            trace,
        }
    }
}

/// Everything that reads a Trace says the same of it.
fn every_reader_agrees(home: &Path, trace: &str) {
    let known = Figures::of(&home.join(trace));
    tables_agree(home, trace, &known);
    metrics_agree(home, trace, &known);
    page_agrees(home, trace, &known);
    replay_agrees(home, trace, &known);
    terminals_agree(&known);
}

fn tables_agree(home: &Path, trace: &str, known: &Figures) {
    for read in [Table::csv, Table::parquet] {
        let tasks = read(home, trace, "tasks");
        assert_eq!(tasks.sum("voluntary") + tasks.sum("involuntary"), known.switches);
        assert_eq!(tasks.sum("run_ns") + tasks.sum("switch_cost_ns"), known.cpu_ns);
        assert_eq!(tasks.column("wait_max_ns").into_iter().max(), Some(known.longest_ns));
        let histograms = read(home, trace, "histograms");
        let classes = histograms.classes("wait", "all");
        let found = SHARES.map(|share| class_quantile(classes.clone(), share, Some(known.longest_ns)));
        assert_eq!(found, known.waits_ns.map(Some));
        let waits: u64 = classes.iter().map(|class| class.2).sum();
        assert_eq!(tasks.sum("waits"), waits);
    }
    let perfetto = ["export", trace, "--to", "perfetto", "-o", "trace.pftrace", "--json"];
    let switches = json(swtch(home).args(perfetto))["switches"].as_u64();
    assert_eq!(switches, Some(Table::csv(home, trace, "switches").rows.len() as u64));
}

fn metrics_agree(home: &Path, trace: &str, known: &Figures) {
    let output = run(swtch(home).args(["export", trace, "--to", "prometheus"]));
    let text = stdout(&output);
    let kinds = ["kind=\"voluntary\"", "kind=\"involuntary\""];
    let switches: f64 = kinds.iter().map(|kind| metric(&text, "swtch_context_switches_total{", kind)).sum();
    near(switches, known.switches as f64, "swtch_context_switches_total");
    let run_ns: u64 = known.trace.tasks.iter().filter(|task| task.in_scope).map(|task| task.run_ns).sum();
    near(metric(&text, "swtch_run_seconds_total ", ""), run_ns as f64 / 1e9, "swtch_run_seconds_total");
    near(
        metric(&text, "swtch_observed_seconds_total ", ""),
        known.switches as f64 / known.rate,
        "swtch_observed_seconds_total",
    );
    // A bucket holds the classes below its bound: those of the table.
    let classes = figures::classes(&known.trace.histograms, "wait", "all");
    let bucket = |bound_ns: u64| {
        let prefix = "swtch_run_queue_wait_seconds_bucket{le=\"";
        let of = |line: &&str| {
            let bound =
                line.strip_prefix(prefix).and_then(|rest| rest.split('"').next()?.parse::<f64>().ok());
            bound.is_some_and(|bound| (bound * 1e9 - bound_ns as f64).abs() < 0.5)
        };
        text.lines().find(of).map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
    };
    for bound_ns in [1 << 14, 1 << 20, 1 << 24] {
        let below: u64 = classes.iter().filter(|class| class.1 <= bound_ns).map(|class| class.2).sum();
        assert_eq!(bucket(bound_ns), Some(below as f64), "waits below {bound_ns} ns");
    }
}

fn page_agrees(home: &Path, trace: &str, known: &Figures) {
    let output = run(swtch(home).args(["report", trace, "-o", "page.html"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let page = visible::visible(&fs::read_to_string(home.join("page.html")).unwrap());
    let has = |text: &str| assert!(page.contains(text), "no '{text}' on the page");
    let ns = |ns: u64| format_ns(ns as f64);
    has(&format!("{}/s", grouped(known.rate)));
    has(&format!("{} in all", grouped(known.switches as f64)));
    has(&format!("median {}, longest {}", ns(known.waits_ns[0]), ns(known.longest_ns)));
    for wait_ns in known.waits_ns {
        has(&ns(wait_ns));
    }
    has(&format!("took {}", ns(known.cpu_ns)));
}

fn replay_agrees(home: &Path, trace: &str, known: &Figures) {
    let replay = ["simulate", "replay", trace, "--policies", "rr"];
    let recorded = json(swtch(home).args(replay).arg("--json"))["recorded"].clone();
    let switches = ["voluntary", "involuntary"].map(|kind| recorded[kind].as_u64().unwrap());
    assert_eq!(switches.iter().sum::<u64>(), known.switches);
    assert_eq!(recorded["makespan_ns"].as_u64(), Some(known.trace.header.duration_ns));
    waits_are(&recorded["wait_ns"], known);
    let text = stdout(&run(swtch(home).args(replay)));
    let row = text.lines().find(|line| line.starts_with("recorded ")).unwrap();
    row_has(row, known);
}

fn waits_are(wait_ns: &Value, known: &Figures) {
    let found = ["p50", "p90", "p99", "max"].map(|name| wait_ns[name].as_u64().unwrap());
    let [p50, p90, p99] = known.waits_ns;
    assert_eq!(found, [p50, p90, p99, known.longest_ns], "{wait_ns}");
    let counted: u64 = known.trace.tasks.iter().filter(|task| task.in_scope).map(|task| task.waits).sum();
    assert_eq!(wait_ns["count"].as_u64(), Some(counted));
}

/// A row of the table of `swtch simulate`.
fn row_has(row: &str, known: &Figures) {
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let waits = known.waits_ns.map(|wait_ns| format_ns(wait_ns as f64));
    assert_eq!(cells[cells.len() - 3..], waits, "{row}");
}

/// What `swtch record` prints of these tables, and `swtch top` of the same time.
fn terminals_agree(known: &Figures) {
    let (header, tasks) = (&known.trace.header, &known.trace.tasks);
    let bill = bill(Inputs { trace: known.trace.view(), model: None, price: None });
    let summary = Summary { trace: known.trace.view(), bill: &bill, caveats: &[], advice: None };
    let text = terminal::recording(&summary);
    assert!(text.contains(&format!("; {:.0} a second over", known.rate)), "{text}");
    summary_agrees(&summary.json(), known);

    let snapshot = |at_ns: u64, header: Header, tasks: Vec<_>| Snapshot {
        at_ns,
        unix_ns: at_ns,
        header,
        tables: Tables { tasks, ..Tables::default() },
    };
    let mut nothing = Header::new(header.provenance.clone(), header.host.clone(), Scope::Machine);
    nothing.totals = header.totals.delta(&header.totals, &Growth::default());
    let before = snapshot(0, nothing, Vec::new());
    let after = snapshot(header.duration_ns, header.clone(), tasks.clone());
    let window = top::Window::between(&before, &after, None);
    near(window.switches_per_s().unwrap(), known.rate, "the rate of swtch top");
    for row in &window.tasks {
        let same = |task: &&swtch_trace::tables::TaskRow| task.in_scope && Some(task.tid) == row.tid;
        let task = tasks.iter().find(same).unwrap();
        let waits = [row.rates.wait_p50_ns, row.rates.wait_p99_ns, row.rates.wait_max_ns];
        assert_eq!(waits, [task.wait_p50_ns, task.wait_p99_ns, task.wait_max_ns]);
    }
}

/// The document of `swtch record --json`.
fn summary_agrees(document: &Value, known: &Figures) {
    near(document["switches_per_second"].as_f64().unwrap(), known.rate, "switches_per_second");
    let kinds = ["voluntary", "involuntary"];
    let switches = kinds.map(|kind| document["context_switches"][kind].as_u64().unwrap());
    assert_eq!(switches.iter().sum::<u64>(), known.switches);
    let tasks = document["tasks"].as_array().unwrap();
    let sum = |name: &str| tasks.iter().filter_map(|task| task[name].as_u64()).sum::<u64>();
    assert_eq!(sum("voluntary") + sum("involuntary"), known.switches);
    assert_eq!(sum("cpu_ns"), known.cpu_ns);
    near(document["cost"]["tasks_cpu_ns"].as_f64().unwrap(), known.cpu_ns as f64, "tasks_cpu_ns");
    let longest = tasks.iter().filter_map(|task| task["wait_ns"]["max"].as_u64()).max();
    assert_eq!(longest, Some(known.longest_ns));
    let shown = known.trace.tasks.iter().filter(|task| task.in_scope && task.waits > 0);
    for task in shown {
        let row = tasks.iter().find(|row| row["tid"] == task.tid).unwrap();
        let found = ["p50", "p90", "p99", "max"].map(|name| row["wait_ns"][name].as_u64());
        assert_eq!(found, [task.wait_p50_ns, task.wait_p90_ns, task.wait_p99_ns, task.wait_max_ns]);
    }
}

#[test]
fn a_simulated_trace_has_one_figure_of_each_in_every_output() {
    let home = home();
    let work = ["simulate", "hackbench", "--groups", "1", "--loops", "20", "--machine", "4"];
    let written =
        json(swtch(home.path()).args(work).args(["--policies", "eevdf", "--out", "runs", "--json"]));
    let path = written["traces"][0].as_str().unwrap();
    let known = Figures::of(&home.path().join(path));
    // What the simulation printed of the run is what its Trace says.
    let run_of = &written["runs"][0];
    assert_eq!(run_of["context_switches"].as_u64(), Some(known.switches));
    assert_eq!(run_of["makespan_ns"].as_u64(), Some(known.trace.header.duration_ns));
    waits_are(&run_of["wait_ns"], &known);
    let text = stdout(&run(swtch(home.path()).args(work)));
    row_has(text.lines().find(|line| line.starts_with("eevdf ")).unwrap(), &known);
    // Each single switch is in the Trace: a percentile is off by no more than half a class, 0.8 %.
    let switches = Table::csv(home.path(), path, "switches");
    let from_tasks = switches.column("prev_tid").iter().filter(|tid| **tid != 0).count();
    assert_eq!(from_tasks as u64, known.switches);
    let mut waits = switches.column("waited_ns");
    waits.sort_unstable();
    for (share, found) in SHARES.iter().zip(known.waits_ns) {
        let exact = order_statistic(&waits, *share).unwrap();
        assert!(found.abs_diff(exact) <= exact / 128, "{share}: {found} for {exact}");
    }
    assert_eq!(waits.last(), Some(&known.longest_ns));
    every_reader_agrees(home.path(), path);
}

#[test]
fn a_recorded_trace_has_one_figure_of_each_in_every_output() {
    const TEST: &str = "a_recorded_trace_has_one_figure_of_each_in_every_output";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = home();
    let script =
        "for i in 1 2 3 4 5 6 7 8; do sleep 0.02 & done; wait; for i in 1 2 3 4 5; do true | cat; done";
    let how = ["record", "--events", "--no-profile", "--json=summary.json", "-o", "run.swtch"];
    let output = run(swtch(home.path()).args(how).args(["--", "sh", "-c", script]));
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(home.path().join("summary.json")).unwrap();
    let known = Figures::of(&home.path().join("run.swtch"));
    summary_agrees(&serde_json::from_str(&text).unwrap(), &known);
    every_reader_agrees(home.path(), "run.swtch");
}
