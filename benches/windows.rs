//! Whether the intervals of figures from windows hold the whole. Three workloads are recorded with every switch. Windows are then drawn
//! from the recording a thousand times, as `swtch record --counts` draws them.
//!
//! `cargo bench -p swtch --bench windows` takes 20 s a workload; `SWTCH_SEED=N` draws other windows. Among the tests it runs one short recording of
//! each, and asserts nothing about time.
#![allow(missing_docs, clippy::print_stdout)]

use std::process::{Command, Stdio};
use swtch_stats::{ClusterRatio, Rng, median};
use swtch_trace::Trace;
use swtch_trace::figures::OUTLIER_MEDIANS;
use swtch_trace::tables::SwitchRow;

const SWTCH: &str = env!("CARGO_BIN_EXE_swtch");
const WINDOW_NS: u64 = 20_000_000;
const SHARE: f64 = 0.05;
const WORKLOADS: [(&str, &str); 3] = [
    ("pipe", "exec perf bench sched pipe -l 100000000 >/dev/null 2>&1"),
    ("messaging", "while :; do perf bench sched messaging -g 2 -l 200 >/dev/null 2>&1 || sleep 0.01; done"),
    ("processes", "while :; do /bin/true; sleep 0.002; done"),
];

/// Of each figure, the sum and what it is a part of, at times: cost of a switch, wait of one.
type Switches = Vec<(u64, [(f64, f64); 2])>;

fn recorded(script: &str, seconds: &str) -> Option<Switches> {
    let folder = tempfile::tempdir().ok()?;
    let path = folder.path().join("all.swtch");
    let mut load = Command::new("setsid").args(["sh", "-c", script]).stdout(Stdio::null()).spawn().ok()?;
    let status = Command::new(SWTCH)
        .args(["record", "-a", "--events", "--no-profile", "--duration", seconds, "-o"])
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let _ = Command::new("kill").args(["--", &format!("-{}", load.id())]).status();
    let _ = load.wait();
    status.ok().filter(std::process::ExitStatus::success)?;
    let trace = Trace::open(&path).ok()?;
    let of = |ns: Option<u64>| ns.map_or((0.0, 0.0), |ns| (ns as f64, 1.0));
    let rows: Vec<SwitchRow> = trace.switches().filter_map(Result::ok).collect();
    // As the counting programs: a switch that was stopped on its way counts as the others.
    let of_kind = |idle: bool| {
        let kind = rows.iter().filter(|row| (row.prev_tid == 0 || row.next_tid == 0) == idle);
        let costs: Vec<f64> = kind.filter_map(|row| row.cost_ns.map(f64::from)).collect();
        (!costs.is_empty()).then(|| median(&costs))
    };
    let most_ns =
        OUTLIER_MEDIANS as f64 * of_kind(true).into_iter().chain(of_kind(false)).fold(0.0, f64::max);
    let cost = |row: &SwitchRow| row.cost_ns.filter(|ns| f64::from(*ns) <= most_ns).map(u64::from);
    Some(rows.iter().map(|row| (row.at_ns, [of(cost(row)), of(row.waited_ns)])).collect())
}

/// How many of `draws` intervals hold the whole.
fn held(switches: &Switches, figure: usize, draws: u64, rng: &mut Rng) -> Option<u64> {
    let (mut above, mut below) = (vec![0.0], vec![0.0]);
    for (_, figures) in switches {
        above.push(above.last()? + figures[figure].0);
        below.push(below.last()? + figures[figure].1);
    }
    let whole = above.last()? / below.last()?;
    let end_ns = switches.last()?.0;
    let period_ns = (WINDOW_NS as f64 / SHARE) as u64;
    let at = |ns: u64| switches.partition_point(|(at_ns, _)| *at_ns < ns);
    let mut held = 0;
    for _ in 0..draws {
        let mut ratio = ClusterRatio::default();
        for period in 0..end_ns / period_ns {
            let from_ns = period * period_ns + rng.below(period_ns - WINDOW_NS + 1);
            let (from, to) = (at(from_ns), at(from_ns + WINDOW_NS));
            ratio.add(above[to] - above[from], below[to] - below[from]);
        }
        let interval = ratio.interval(0.95);
        held += u64::from(interval.is_some_and(|found| found.low <= whole && whole <= found.high));
    }
    Some(held)
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (seconds, draws) = if full { ("20s", 1000) } else { ("2s", 10) };
    let seed = std::env::var("SWTCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut rng = Rng::new(seed);
    println!(
        "{:12} {:>10} {:>26} {:>26}",
        "workload", "switches", "cost: intervals that hold", "wait: intervals that hold"
    );
    for (name, script) in WORKLOADS {
        let Some(switches) = recorded(script, seconds).filter(|switches| !switches.is_empty()) else {
            println!("left out: {name} cannot be recorded here");
            continue;
        };
        let shares = [0, 1].map(|figure| {
            let held = held(&switches, figure, draws, &mut rng);
            held.map_or("none".to_owned(), |held| format!("{:.1} %", 100.0 * held as f64 / draws as f64))
        });
        println!("{name:12} {:>10} {:>26} {:>26}", switches.len(), shares[0], shares[1]);
    }
}
