//! Is the bill right? The same work with and without a known number of switches, on one CPU. The time that is lost is compared with
//! the time that `swtch record` reports as lost.
//!
//! `cargo bench -p swtch --bench price` does some work, hands a byte to another process, waits until it comes back, and repeats. It is
//! compared with the same work and a pipe to itself, where nothing switches. The other process's part is a byte through a pipe without
//! work. What the first takes longer is lost to switching. The three take turns within one process, so that slow phases of the machine meet
//! all. Recording has a cost of its own. So the time is taken from a run that is not recorded, and the bill from a recorded run right after
//! it. Several lengths of work give several rates. Among the tests it runs one short length. It asserts nothing about time.
#![allow(missing_docs, clippy::print_stdout)]

mod common;

use common::last_allowed_cpu;
use serde_json::Value;
use std::fs::File;
use std::hint::black_box;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;
use swtch_stats::{bootstrap_interval, median, median_in_place};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("echo") => echo(),
        Some("turns") => turns(number(&words[2]), number(&words[3]), number(&words[4])),
        Some("switching") => switching(number(&words[2]), number(&words[3])),
        _ => compare(words.iter().any(|word| word == "--bench")),
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

/// The other process: unbuffered, as this one is.
fn echo() {
    let own = |file: std::io::Result<OwnedFd>| File::from(file.expect("a pipe"));
    let mut input = own(std::io::stdin().as_fd().try_clone_to_owned());
    let mut output = own(std::io::stdout().as_fd().try_clone_to_owned());
    let mut byte = [0];
    while input.read_exact(&mut byte).is_ok() && output.write_all(&byte).is_ok() {}
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

impl Way {
    fn own() -> Self {
        let (from, to) = pipe().expect("a pipe");
        Self::Own(to, from)
    }

    fn other() -> Self {
        let me = std::env::current_exe().expect("this program");
        let child = Command::new(me).arg("echo").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("this program starts");
        let mut way =
            Self::Other(child.stdin.take().expect("piped"), child.stdout.take().expect("piped"), child);
        // Until it is there.
        way.there_and_back();
        way
    }

    fn end(self) {
        if let Self::Other(to, _, mut child) = self {
            // Its input ends, and with it the other process.
            drop(to);
            let _ = child.wait();
        }
    }

    /// Some work and a byte there and back, so often; ns.
    fn rounds(&mut self, rounds: u64, steps: u64, numbers: &mut [u64; 512]) -> f64 {
        let began = Instant::now();
        for _ in 0..rounds {
            work(black_box(steps), numbers);
            self.there_and_back();
        }
        began.elapsed().as_nanos() as f64
    }
}

/// Never inlined, so that every turn runs the same instructions at the same place. Two copies of a loop may differ by some percent, which
/// is more than the difference to be measured.
#[inline(never)]
fn work(steps: u64, numbers: &mut [u64; 512]) {
    for step in 0..steps as usize {
        let place = step % numbers.len();
        numbers[place] = black_box(numbers[place].wrapping_mul(3) + 1);
    }
}

/// Prints for each turn: ns with switches, without, and of bytes through a pipe alone.
fn turns(turns: u64, rounds: u64, steps: u64) {
    let (mut own, mut other) = (Way::own(), Way::other());
    let mut numbers = [1; 512];
    for turn in 0..turns {
        let mut took = [0.0; 3];
        for index in 0..3 {
            let which = (index + turn as usize) % 3;
            took[which] = match which {
                0 => other.rounds(rounds, steps, &mut numbers),
                1 => own.rounds(rounds, steps, &mut numbers),
                _ => own.rounds(rounds, 0, &mut numbers),
            };
        }
        println!("{} {} {}", took[0], took[1], took[2]);
    }
    other.end();
}

/// Only what switches, to be recorded. Prints a line, which a failure does not.
fn switching(rounds: u64, steps: u64) {
    let mut other = Way::other();
    println!("{}", other.rounds(rounds, steps, &mut [1; 512]));
    other.end();
}

fn compare(full: bool) {
    let cpu = last_allowed_cpu();
    // Work of half to some hundred microseconds between two switches.
    let (lengths, launches, turns): (&[u64], u64, u64) =
        if full { (&[500, 2_000, 8_000, 20_000, 40_000, 80_000], 9, 40) } else { (&[2_000], 1, 2) };
    println!("CPU {cpu}; share of the time that switching took, median of {launches} launches");
    println!(
        "{:>11} {:>10} {:>34} {:>24}",
        "switches/s", "measured", "bill: low, middle, high", "middle / measured"
    );
    for steps in lengths {
        let rounds = if full { 40_000_000 / (steps + 2_000) / turns * 10 } else { 250 };
        // Long enough to look at its memory some times.
        let recorded_rounds =
            if full { (rounds * turns).max(1_500_000_000 / (steps / 2 + 4_500)) } else { 500 };
        let mut found: Vec<[f64; 4]> = Vec::new();
        for _ in 0..launches {
            let took = in_turns(&cpu, turns, rounds, *steps);
            match recorded(&cpu, recorded_rounds, *steps) {
                Ok(summary) => found.push(shares(&took, rounds, recorded_rounds, &summary)),
                Err(why) => {
                    println!("left out: {why}");
                    return;
                }
            }
        }
        let of = |index: usize| 100.0 * median(&found.iter().map(|row| row[index]).collect::<Vec<f64>>());
        let middle: Vec<f64> = found.iter().map(|row| f64::midpoint(row[2], row[3]) / row[1]).collect();
        let interval = bootstrap_interval(&middle, median_in_place, 2000, 0.95, 1);
        println!(
            "{:>11.0} {:>8.1} % {:>8.1} % {:>9.1} % {:>9.1} % {:>9.2} ({:.2} to {:.2})",
            of(0) / 100.0,
            of(1),
            of(2),
            f64::midpoint(of(2), of(3)),
            of(3),
            median(&middle),
            interval.low,
            interval.high
        );
    }
}

/// Each turn's three times, ns.
fn in_turns(cpu: &str, turns: u64, rounds: u64, steps: u64) -> Vec<[f64; 3]> {
    let me = std::env::current_exe().expect("this program");
    let output = Command::new("taskset")
        .args(["-c", cpu])
        .arg(me)
        .args(["turns", &turns.to_string(), &rounds.to_string(), &steps.to_string()])
        .output()
        .expect("taskset is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let times: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a time")).collect();
        times.try_into().expect("three times")
    };
    text.lines().map(line).collect()
}

/// The summary of a recording of it.
fn recorded(cpu: &str, rounds: u64, steps: u64) -> Result<Value, String> {
    let me = std::env::current_exe().expect("this program");
    let folder = tempfile::tempdir().expect("a directory to record into");
    let output = Command::new(env!("CARGO_BIN_EXE_swtch"))
        .args(["record", "--json=summary.json", "--events", "--working-set", "-o", "run.swtch"])
        .args(own_profile_or_none())
        .args(["--", "taskset", "-c", cpu])
        .arg(me)
        .args(["switching", &rounds.to_string(), &steps.to_string()])
        .current_dir(folder.path())
        .output()
        .expect("swtch is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().parse::<f64>().map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    let summary = std::fs::read(folder.path().join("summary.json")).map_err(|error| error.to_string())?;
    let summary: Value = serde_json::from_slice(&summary).map_err(|error| error.to_string())?;
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
fn shares(took: &[[f64; 3]], rounds: u64, recorded_rounds: u64, summary: &Value) -> [f64; 4] {
    let lost: Vec<f64> = took.iter().map(|[with, without, pipe]| (with - without - pipe) / with).collect();
    let round_ns = median(&took.iter().map(|[with, ..]| with / rounds as f64).collect::<Vec<f64>>());
    let cost = &summary["cost"];
    let end = |what: &str, end: &str| cost[what][end].as_f64().unwrap_or(0.0) / recorded_rounds as f64;
    let bill = |which: &str| (end("direct_ns", which) + end("indirect_ns", which)) / round_ns;
    if std::env::var_os("PRICE_DETAIL").is_some() {
        println!(
            "  a round {round_ns:.0} ns, lost {:.0}; bill: direct {:.0} to {:.0}, indirect at most {:.0} ({})",
            median(&lost) * round_ns,
            end("direct_ns", "low"),
            end("direct_ns", "high"),
            end("indirect_ns", "high"),
            cost["indirect_from"]
        );
    }
    [2.0e9 / round_ns, median(&lost), bill("low"), bill("high")]
}
