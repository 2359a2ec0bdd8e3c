//! Is the bill right? The same work with and without a known number of switches, on one processor: the time that is lost beside the time
//! that `swtch record` says was lost.
//!
//! `cargo bench -p swtch --bench price` does some work, then hands a byte to another process and waits for it to come back, again and again;
//! beside it, the same with a pipe to itself, where nothing switches. What the first takes longer, less the time the other process ran, is
//! lost to switching. Recording has a cost of its own, so the time is taken from a run that is not recorded, and the bill from one that
//! is. Several lengths of work give several rates. Among the tests it runs one short length. It asserts nothing about time.
#![allow(missing_docs, clippy::print_stdout)]

mod common;

use common::last_allowed_cpu;
use serde_json::Value;
use std::hint::black_box;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;
use swtch_stats::{bootstrap_interval, median, median_in_place};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("echo") => echo(),
        Some("work") => work(&words[2], number(&words[3]), number(&words[4])),
        _ => compare(words.iter().any(|word| word == "--bench")),
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

/// The other process.
fn echo() {
    let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
    let mut byte = [0];
    while input.read_exact(&mut byte).is_ok() && output.write_all(&byte).and_then(|()| output.flush()).is_ok()
    {
    }
}

/// Something to send a byte through.
enum Way {
    Own(PipeWriter, PipeReader),
    Other(ChildStdin, ChildStdout, Child),
}

impl Way {
    fn there_and_back(&mut self) {
        let mut byte = [1];
        let done = match self {
            Self::Own(to, from) => to.write_all(&byte).and_then(|()| from.read_exact(&mut byte)),
            Self::Other(to, from, _) => to.write_all(&byte).and_then(|()| from.read_exact(&mut byte)),
        };
        done.expect("the other process goes on");
    }
}

/// Prints how long `rounds` of work and a byte there and back take, ns.
fn work(kind: &str, rounds: u64, steps: u64) {
    let mut way = if kind == "other" {
        let me = std::env::current_exe().expect("this program");
        let child = Command::new(me).arg("echo").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("this program starts");
        Way::Other(child.stdin.take().expect("piped"), child.stdout.take().expect("piped"), child)
    } else {
        let (from, to) = pipe().expect("a pipe");
        Way::Own(to, from)
    };
    let mut numbers = vec![1_u64; 512];
    way.there_and_back();
    let began = Instant::now();
    for _ in 0..rounds {
        for step in 0..steps as usize {
            let place = step % numbers.len();
            numbers[place] = black_box(numbers[place].wrapping_mul(3) + 1);
        }
        way.there_and_back();
    }
    println!("{}", began.elapsed().as_nanos());
    if let Way::Other(to, _, mut child) = way {
        // Its input ends, and with it the other process.
        drop(to);
        let _ = child.wait();
    }
}

fn compare(full: bool) {
    let cpu = last_allowed_cpu();
    // Work of one to some twenty microseconds between two switches.
    let (lengths, launches, rounds): (&[u64], u64, u64) =
        if full { (&[500, 2_000, 8_000, 20_000], 9, 40_000) } else { (&[2_000], 1, 500) };
    println!("processor {cpu}; share of the time that switching took, median of {launches} launches");
    println!("{:>14} {:>10} {:>24} {:>18}", "switches/s", "measured", "bill", "bill / measured");
    for steps in lengths {
        let mut found: Vec<[f64; 4]> = Vec::new();
        for _ in 0..launches {
            let base_ns = plain("own", &cpu, rounds, *steps);
            let took_ns = plain("other", &cpu, rounds, *steps);
            match recorded(&cpu, rounds, *steps) {
                Ok(summary) => found.push(shares(base_ns, took_ns, rounds, &summary)),
                Err(why) => {
                    println!("left out: {why}");
                    return;
                }
            }
        }
        let of = |index: usize| found.iter().map(|row| row[index]).collect::<Vec<f64>>();
        let middle: Vec<f64> = found.iter().map(|row| f64::midpoint(row[2], row[3]) / row[1]).collect();
        let interval = bootstrap_interval(&middle, median_in_place, 2000, 0.95, 1);
        println!(
            "{:>14.0} {:>8.1} % {:>9.1} % to {:>6.1} % {:>8.2} ({:.2} to {:.2})",
            median(&of(0)),
            100.0 * median(&of(1)),
            100.0 * median(&of(2)),
            100.0 * median(&of(3)),
            median(&middle),
            interval.low,
            interval.high
        );
    }
}

fn plain(kind: &str, cpu: &str, rounds: u64, steps: u64) -> f64 {
    let me = std::env::current_exe().expect("this program");
    let output = Command::new("taskset")
        .args(["-c", cpu])
        .arg(me)
        .args(["work", kind, &rounds.to_string(), &steps.to_string()])
        .output()
        .expect("taskset is there");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a time")
}

/// The summary of a recording of it.
fn recorded(cpu: &str, rounds: u64, steps: u64) -> Result<Value, String> {
    let me = std::env::current_exe().expect("this program");
    let folder = tempfile::tempdir().expect("a folder to record into");
    let output = Command::new(env!("CARGO_BIN_EXE_swtch"))
        .args(["record", "--json", "--events", "-o", "run.swtch"])
        .args(own_profile_or_none())
        .args(["--", "taskset", "-c", cpu])
        .arg(me)
        .args(["work", "other", &rounds.to_string(), &steps.to_string()])
        .current_dir(folder.path())
        .output()
        .expect("swtch is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    first.parse::<f64>().map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    let summary: Value = serde_json::from_str(rest).map_err(|error| error.to_string())?;
    if summary["cost"]["measured_in_place"] != true {
        return Err("this kernel does not let the cost be measured in place".to_owned());
    }
    Ok(summary)
}

/// Among the tests no Profile is measured for this.
fn own_profile_or_none() -> &'static [&'static str] {
    if std::env::args().any(|word| word == "--bench") { &[] } else { &["--no-profile"] }
}

/// Switches a second; the share of the time lost as measured; as the bill has it, at least and at most.
fn shares(base_ns: f64, took_ns: f64, rounds: u64, summary: &Value) -> [f64; 4] {
    let tasks = summary["tasks"].as_array().cloned().unwrap_or_default();
    // The one that works ran longest; what else ran is the other one.
    let mut runs: Vec<f64> = tasks.iter().filter_map(|task| task["run_ns"].as_f64()).collect();
    runs.sort_by(|a, b| b.total_cmp(a));
    let other_ns: f64 = runs.get(1).copied().unwrap_or(0.0);
    let lost_ns = took_ns - base_ns - other_ns;
    let cost = &summary["cost"];
    let end = |what: &str, end: &str| cost[what][end].as_f64().unwrap_or(0.0);
    let bill = |which: &str| (end("direct_ns", which) + end("indirect_ns", which)) / took_ns;
    let switches = 2.0 * rounds as f64 / (took_ns / 1e9);
    [switches, lost_ns / took_ns, bill("low"), bill("high")]
}
