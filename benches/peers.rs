//! swtch next to the tools people already use, on one CPU, interleaved in random order. How well do the figures agree, and how
//! much does each vary from launch to launch?
//!
//! `cargo bench -p swtch --bench peers` runs 12 launches of `swtch measure --quick`, `perf bench sched pipe` and lmbench's `lat_ctx`.
//! `lat_ctx` is found on PATH, or named by `LAT_CTX`. A tool that is not there is left out, and the output says so. Among the tests it runs
//! one short launch. It prints ratios and coefficients of variation, and asserts nothing about time.
#![allow(missing_docs, clippy::print_stdout)]

mod common;

use common::last_allowed_cpu;
use std::process::{Command, Stdio};
use swtch_stats::{Rng, bootstrap_interval, coefficient_of_variation, median, median_in_place};

/// One tool: a name, and a launch of it that returns its figures in µs.
struct Tool {
    name: &'static str,
    figures: &'static [&'static str],
    launch: fn(&Setting) -> Option<Vec<f64>>,
}

struct Setting {
    full: bool,
    cpu: String,
}

const TOOLS: [Tool; 4] = [
    Tool { name: "swtch", figures: &["swtch c1 low", "swtch c1 median", "swtch round trip"], launch: swtch },
    Tool { name: "lat_ctx", figures: &["lat_ctx -s 0 2"], launch: lat_ctx },
    Tool { name: "perf (processes)", figures: &["perf round trip"], launch: |s| perf(s, false) },
    Tool { name: "perf (threads)", figures: &["perf round trip, threads"], launch: |s| perf(s, true) },
];

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let launches = if full { 12 } else { 1 };
    let setting = Setting { full, cpu: last_allowed_cpu() };
    let mut rng = Rng::new(std::process::id().into());
    let mut results: Vec<Vec<Vec<f64>>> =
        TOOLS.iter().map(|tool| vec![Vec::new(); tool.figures.len()]).collect();
    for launch in 1..=launches {
        let mut order: Vec<usize> = (0..TOOLS.len()).collect();
        rng.shuffle(&mut order);
        for index in order {
            match (TOOLS[index].launch)(&setting) {
                Some(values) => {
                    for (list, value) in results[index].iter_mut().zip(values) {
                        list.push(value);
                    }
                }
                None if launch == 1 => println!("left out: {} does not run here", TOOLS[index].name),
                None => {}
            }
        }
    }
    report(&setting, &results);
}

fn report(setting: &Setting, results: &[Vec<Vec<f64>>]) {
    println!("\nCPU {}, µs, one value a launch", setting.cpu);
    println!("{:28} {:>8} {:>9} {:>9} {:>7} {:>8}", "figure", "median", "min", "max", "CoV %", "launches");
    for (tool, lists) in TOOLS.iter().zip(results) {
        for (name, values) in tool.figures.iter().zip(lists) {
            if values.is_empty() {
                continue;
            }
            let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(f64::NAN);
            println!(
                "{name:28} {:8.3} {:9.3} {:9.3} {:7.1} {:8}",
                median(values),
                fold(f64::min),
                fold(f64::max),
                100.0 * coefficient_of_variation(values),
                values.len()
            );
        }
    }
    println!();
    ratio("swtch round trip / perf bench sched pipe", &results[0][2], &results[2][0]);
    ratio("swtch c1 median / lat_ctx", &results[0][1], &results[1][0]);
    ratio("swtch c1 low / lat_ctx", &results[0][0], &results[1][0]);
}

/// The ratio of two tools, launch by launch, with the 95 % bootstrap interval of its median.
fn ratio(name: &str, ours: &[f64], theirs: &[f64]) {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    if ratios.len() > 2 {
        let interval = bootstrap_interval(&ratios, median_in_place, 2000, 0.95, 1);
        println!("{name}: {:.3} ({:.3} to {:.3})", median(&ratios), interval.low, interval.high);
    } else if let Some(only) = ratios.first() {
        println!("{name}: {only:.3} (too few launches for an interval)");
    }
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(text)
}

fn pinned(setting: &Setting, program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &setting.cpu, program]);
    command
}

fn swtch(setting: &Setting) -> Option<Vec<f64>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swtch"));
    command.args(["measure", "--quick", "--no-save", "--json"]);
    if !setting.full {
        command.args(["--method", "pipe", "--placement", "same-cpu", "--class", "normal"]);
        command.args(["--sizes", "1K", "--time-limit", "1s"]);
    }
    let text = output(&mut command)?;
    let profile: serde_json::Value = serde_json::from_str(&text).ok()?;
    let row = profile["direct"].as_array()?.iter().find(|row| {
        row["method"] == "pipe"
            && row["tasks"] == "process"
            && row["placement"] == "same-cpu"
            && row["class"] == "normal"
    })?;
    let figure = |object: &str, name: &str| row[object][name].as_f64().map(|ns| ns / 1e3);
    Some(vec![
        figure("switch_cost_ns", "low")?,
        figure("switch_cost_ns", "median")?,
        figure("round_trip_ns", "median")?,
    ])
}

/// `lat_ctx` prints `2 1.67` after a line that begins with a quotation mark. Its own calibration is set by hand: it takes long, and on
/// some machines does not end.
fn lat_ctx(setting: &Setting) -> Option<Vec<f64>> {
    let program = std::env::var("LAT_CTX").unwrap_or_else(|_| "lat_ctx".to_owned());
    let mut command = pinned(setting, &program);
    command.env("ENOUGH", "50000").env("TIMING_O", "0").env("LOOP_O", "0.0").args(["-s", "0", "2"]);
    let text = output(&mut command)?;
    let value = text.lines().find_map(|line| line.strip_prefix("2 "))?.trim().parse().ok()?;
    Some(vec![value])
}

fn perf(setting: &Setting, threads: bool) -> Option<Vec<f64>> {
    let loops: u32 = if setting.full { 200_000 } else { 5_000 };
    let mut command = pinned(setting, "perf");
    command.args(["bench", "-f", "simple", "sched", "pipe", "-l", &loops.to_string()]);
    if threads {
        command.arg("-T");
    }
    let seconds: f64 = output(&mut command)?.trim().parse().ok()?;
    Some(vec![seconds * 1e6 / f64::from(loops)])
}
