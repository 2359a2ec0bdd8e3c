//! What recording costs the program that is recorded. It measures the CPU time that each recorder adds to a switch of
//! `perf bench sched pipe`, pinned to one CPU, and the size of what it writes.
//!
//! `cargo bench -p swtch --bench overhead` starts that program once, and every recorder 12 times (`SWTCH_LAUNCHES`) beside it, in random
//! order, for two seconds each. Right before or after it only a process that sleeps is started. So all pairs see the same two tasks: another
//! launch of them alone may take a tenth more or less. It then prints how long swtch's programs ran by the kernel's count
//! (`kernel.bpf_stats_enabled`, root only). Among the tests it runs one short launch. Last comes what `serve` and `--counts` take themselves,
//! beside 300,000 switches a second and beside 10,000 threads. `SWTCH_ONLY=own` does only that, `SWTCH_ONLY=windows` only compares
//! windows of `--counts` with what is beside them, `SWTCH_ONLY='swtch --counts,perf sched record'` only these recorders. A recorder
//! that is not there or not permitted is left out, and said so. It asserts nothing about time.
//!
//! `SWTCH_BEFORE=PATH` compares with another build of swtch instead. It runs each recorder of both, one right after the other in random
//! order, and prints the ratio of the times of a switch.
#![allow(missing_docs, clippy::print_stdout)]

mod common;
mod counting_windows;
mod own_cost;
mod pipe_load;

use common::last_allowed_cpu;
use pipe_load::PipeLoad;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use swtch_stats::{Rng, bootstrap_interval, median, median_in_place};

const SWTCH: &str = env!("CARGO_BIN_EXE_swtch");

/// A recorder of the whole machine: how it is started, and what it writes.
struct Recorder {
    name: &'static str,
    words: &'static [&'static str],
    writes: Option<&'static str>,
}

/// Those whose programs the kernel is asked about, ahead.
const OWN: usize = 6;

/// What others are compared with.
const NOTHING: Recorder = Recorder { name: "nothing", words: &["sleep", "600"], writes: None };

const RECORDERS: [Recorder; 11] = [
    Recorder {
        name: "swtch --counts",
        words: &[SWTCH, "record", "-a", "--counts", "--no-profile", "-o", "counts.swtch"],
        writes: Some("counts.swtch"),
    },
    Recorder {
        name: "the same, --sample 100%",
        words: &[SWTCH, "record", "-a", "--counts", "--sample", "100%", "--no-profile", "-o", "all.swtch"],
        writes: Some("all.swtch"),
    },
    Recorder {
        name: "the same, --cost profile",
        words: &[
            SWTCH,
            "record",
            "-a",
            "--counts",
            "--sample",
            "100%",
            "--cost",
            "profile",
            "--no-profile",
            "-o",
            "priced.swtch",
        ],
        writes: Some("priced.swtch"),
    },
    Recorder {
        name: "swtch --events",
        words: &[SWTCH, "record", "-a", "--events", "--no-profile", "-o", "events.swtch"],
        writes: Some("events.swtch"),
    },
    Recorder {
        name: "swtch --events --cost profile",
        words: &[SWTCH, "record", "-a", "--events", "--cost", "profile", "--no-profile", "-o", "one.swtch"],
        writes: Some("one.swtch"),
    },
    Recorder {
        name: "swtch --events --stacks",
        words: &[SWTCH, "record", "-a", "--events", "--stacks", "--no-profile", "-o", "stacks.swtch"],
        writes: Some("stacks.swtch"),
    },
    Recorder {
        name: "swtch serve --keep",
        words: &[
            SWTCH,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--no-profile",
            "--keep",
            "60s",
            "--when",
            "wait.p99 > 10s",
            "--dumps",
            "dumps",
        ],
        writes: None,
    },
    Recorder {
        name: "swtch, perf events",
        words: &[SWTCH, "record", "-a", "--source=perf", "--events", "--no-profile", "-o", "perf.swtch"],
        writes: Some("perf.swtch"),
    },
    Recorder {
        name: "perf sched record",
        words: &["perf", "sched", "record", "-o", "perf.data"],
        writes: Some("perf.data"),
    },
    Recorder { name: "perf stat", words: &["perf", "stat", "-a", "-e", "context-switches"], writes: None },
    // Nothing against nothing: how far off the others may be.
    NOTHING,
];

fn launches() -> u32 {
    std::env::var("SWTCH_LAUNCHES").ok().and_then(|launches| launches.parse().ok()).unwrap_or(12)
}

struct Launch {
    cpu_ns_per_switch: f64,
    bytes_per_switch: f64,
}

/// CPU time of a switch with this build over that with another, recorder by recorder.
fn compare(before: &'static str, launches: u32, bench: &Bench, rng: &mut Rng) {
    println!("{:24} {:>34}", "recorder", "this build / the other (95 %)");
    for recorder in &RECORDERS[..OWN] {
        let words: Vec<&'static str> =
            std::iter::once(before).chain(recorder.words[1..].iter().copied()).collect();
        let other = Recorder { words: words.leak(), ..*recorder };
        let mut ratios = Vec::new();
        for _ in 0..launches {
            if let [Some(now), Some(before)] = bench.pair([recorder, &other], rng) {
                ratios.push(now.cpu_ns_per_switch / before.cpu_ns_per_switch);
            }
        }
        if ratios.is_empty() {
            println!("left out: {} does not run here", recorder.name);
            continue;
        }
        let interval = bootstrap_interval(&ratios, median_in_place, 2000, 0.95, 1);
        println!(
            "{:24} {:>12.3} ({:>7.3} to {:>7.3}) in {} pairs",
            recorder.name,
            median(&ratios),
            interval.low,
            interval.high,
            ratios.len()
        );
    }
}

/// What each of the recorders that are wanted adds to a switch, printed; whether the load went on to the end.
fn added_to_a_switch(
    bench: &Bench,
    is_wanted: &dyn Fn(&str) -> bool,
    launches: u32,
    cpu: &str,
    rng: &mut Rng,
) -> bool {
    let mut added: Vec<Vec<f64>> = RECORDERS.iter().map(|_| Vec::new()).collect();
    let mut ratios = added.clone();
    let mut sizes = added.clone();
    let mut base = Vec::new();
    for launch in 1..=launches {
        let wanted = (0..RECORDERS.len()).filter(|index| is_wanted(RECORDERS[*index].name));
        let mut order: Vec<usize> = wanted.collect();
        rng.shuffle(&mut order);
        for index in order {
            let recorder = &RECORDERS[index];
            let [found, bare] = bench.pair([recorder, &NOTHING], rng);
            let Some(bare) = bare.map(|bare| bare.cpu_ns_per_switch) else {
                return false;
            };
            match found {
                Some(found) => {
                    base.push(bare);
                    added[index].push(found.cpu_ns_per_switch - bare);
                    ratios[index].push(found.cpu_ns_per_switch / bare);
                    sizes[index].push(found.bytes_per_switch);
                }
                None if launch == 1 => println!("left out: {} does not run here", recorder.name),
                None => {}
            }
        }
    }
    println!("\nCPU {cpu}; without a recorder {:.0} ns of CPU time a switch", median(&base));
    println!("{:24} {:>34} {:>7} {:>18}", "recorder", "added ns a switch (95 %)", "ratio", "MB a million");
    for (index, recorder) in RECORDERS.iter().enumerate().filter(|(index, _)| !added[*index].is_empty()) {
        let interval = bootstrap_interval(&added[index], median_in_place, 2000, 0.95, 1);
        println!(
            "{:24} {:>12.0} ({:>7.0} to {:>7.0}) {:>7.3} {:>18.1}",
            recorder.name,
            median(&added[index]),
            interval.low,
            interval.high,
            median(&ratios[index]),
            median(&sizes[index])
        );
    }
    true
}

fn main() {
    if own_cost::acted_as_load() {
        return;
    }
    let full = std::env::args().any(|argument| argument == "--bench");
    let (launches, during_ms) = if full { (launches(), 2000) } else { (1, 200) };
    let cpu = last_allowed_cpu();
    let folder = tempfile::tempdir().expect("a directory to record into");
    let mut rng = Rng::new(std::process::id().into());
    let (seconds, rounds) = if full { (20, 3) } else { (1, 1) };
    let only = std::env::var("SWTCH_ONLY").unwrap_or_default();
    if only == "own" {
        return own_cost::measure(&cpu, folder.path(), seconds, rounds, !full);
    }
    let Some(load) = PipeLoad::start(&cpu) else {
        println!("left out: perf bench sched pipe does not run here");
        return;
    };
    let bench = Bench { load, during: Duration::from_millis(during_ms), folder: folder.path() };
    let counted_for = if full { Duration::from_secs(300) } else { Duration::from_secs(2) };
    if only == "windows" {
        return counting_windows::measure(&bench.load, bench.folder, counted_for);
    }
    if let Ok(before) = std::env::var("SWTCH_BEFORE") {
        return compare(before.leak(), launches, &bench, &mut rng);
    }
    let is_wanted = |name: &str| only.is_empty() || only.split(',').any(|wanted| wanted == name);
    if !added_to_a_switch(&bench, &is_wanted, launches, &cpu, &mut rng) {
        println!("stopped: perf bench sched pipe ended");
        return;
    }
    if !only.is_empty() {
        return;
    }
    counting_windows::measure(&bench.load, bench.folder, counted_for);
    if full {
        program_times(&bench);
    }
    drop(bench);
    own_cost::measure(&cpu, folder.path(), seconds, rounds, !full);
}

/// The load, for how long it is looked at, and the directory that recorders write to.
struct Bench<'a> {
    load: PipeLoad,
    during: Duration,
    folder: &'a Path,
}

impl Bench<'_> {
    /// The load with each of two recorders: both wait as long for something to begin, and either may be first.
    fn pair(&self, recorders: [&Recorder; 2], rng: &mut Rng) -> [Option<Launch>; 2] {
        let mut order = [0, 1];
        rng.shuffle(&mut order);
        let mut found = [None, None];
        for place in order {
            found[place] = self.beside(recorders[place]);
        }
        found
    }

    /// The load with a recorder.
    fn beside(&self, recorder: &Recorder) -> Option<Launch> {
        let before = self.load.done()?;
        let mut child = start(recorder, self.folder)?;
        let cpu_ns_per_switch = self.load.ns_a_switch(self.during);
        if child.try_wait().ok()?.is_some() {
            return None; // It ended, perhaps because it is not permitted.
        }
        stop(&mut child);
        // It records somewhat less than that: it has to begin first.
        let switches = self.load.done()?.switches_since(before);
        let bytes = recorder.writes.map_or(0, |name| size(&self.folder.join(name)));
        Some(Launch {
            cpu_ns_per_switch: cpu_ns_per_switch?,
            bytes_per_switch: bytes as f64 / switches as f64,
        })
    }
}

fn start(recorder: &Recorder, folder: &Path) -> Option<Child> {
    // A recorder does not replace what is there.
    if let Some(written) = recorder.writes.map(|name| folder.join(name)) {
        let _ =
            if written.is_dir() { std::fs::remove_dir_all(&written) } else { std::fs::remove_file(&written) };
    }
    spawn(recorder.words[0], &recorder.words[1..], folder)
}

/// Starts a recorder in a directory, and returns once it records.
fn spawn(program: &str, words: &[&str], folder: &Path) -> Option<Child> {
    let child = Command::new(program)
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    std::thread::sleep(Duration::from_millis(700));
    Some(child)
}

fn stop(child: &mut Child) {
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let until = Instant::now() + Duration::from_secs(30);
    while child.try_wait().is_ok_and(|ended| ended.is_none()) {
        if Instant::now() > until {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn size(path: &Path) -> u64 {
    let files = std::fs::read_dir(path).into_iter().flatten().flatten();
    let inside: u64 = files.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum();
    if path.is_dir() { inside } else { std::fs::metadata(path).map_or(0, |found| found.len()) }
}

/// How long the kernel says that the programs ran. Taking that time costs time itself, so it is a run of its own.
fn program_times(bench: &Bench) {
    const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";
    if std::fs::write(SWITCH, "1").is_err() {
        println!("left out: run times of the programs need root");
        return;
    }
    for recorder in &RECORDERS[..OWN] {
        let Some(mut child) = start(recorder, bench.folder) else { continue };
        std::thread::sleep(bench.during);
        let listed = Command::new("bpftool").args(["prog", "show"]).output();
        stop(&mut child);
        let Ok(listed) = listed else {
            println!("left out: run times of the programs need bpftool");
            break;
        };
        println!("\nprograms of {}, ns a run, by the kernel:", recorder.name);
        for line in
            String::from_utf8_lossy(&listed.stdout).lines().filter(|line| line.contains("run_time_ns"))
        {
            let after = |name: &str| {
                let rest = line.split(name).nth(1)?;
                rest.split_whitespace().next().map(str::to_owned)
            };
            let number = |name| after(name).and_then(|word| word.parse::<f64>().ok());
            if let (Some(name), Some(ns), Some(runs)) =
                (after(" name "), number("run_time_ns "), number("run_cnt "))
            {
                println!("  {name:16} {:>6.0} in {runs} runs", ns / runs);
            }
        }
    }
    let _ = std::fs::write(SWITCH, "0");
}
