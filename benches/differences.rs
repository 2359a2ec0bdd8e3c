//! How often `swtch diff` errs on recordings of one program, and how often it finds a change that was injected.
//!
//! `cargo bench -p swtch --bench differences` records `tests/cli/programs/injected.c` for some minutes, in random order: without a change, and with 5, 10
//! and 20 % more. It then draws sides from the recordings: 200 pairs of sides without a change, and 200 with each change. `SWTCH_RECORDINGS=DIRECTORY`
//! keeps the recordings there, or takes those that are there; `SWTCH_SEED=N` draws others. Among the tests it records two of each and asserts nothing
//! about time.
#![allow(missing_docs, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use swtch_cost::{Bill, Inputs, bill};
use swtch_decide::{PricedTrace, RunOrder, Verdict, diff_traces};
use swtch_stats::Rng;
use swtch_trace::Trace;

const SWTCH: &str = env!("CARGO_BIN_EXE_swtch");
const WORKLOADS: [(&str, [&str; 3]); 3] = [
    ("more switches, by a pipe", ["pipe", "3000", "20000"]),
    ("more CPU time", ["work", "3000", "20000"]),
    ("more preemptions", ["preempt", "250000000", "500"]),
];
const CHANGES: [u32; 4] = [0, 5, 10, 20];

type Recorded = Vec<(Trace, Bill)>;

fn folder(all: &Path, workload: &str, percent: u32) -> PathBuf {
    all.join(format!("{workload}-{percent}"))
}

/// Records every workload with every change, in random order; those without a change `base` times as often.
fn record(all: &Path, rounds: usize, base: usize, rng: &mut Rng) -> Option<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/programs/injected.c");
    let program = all.join("injected");
    let compiled = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).status();
    compiled.ok().filter(std::process::ExitStatus::success)?;
    for round in 0..rounds {
        let each = |percent: &u32| vec![*percent; if *percent == 0 { base } else { 1 }];
        let mut jobs: Vec<(&[&str; 3], u32)> = WORKLOADS
            .iter()
            .flat_map(|(_, words)| CHANGES.iter().flat_map(each).map(move |percent| (words, percent)))
            .collect();
        rng.shuffle(&mut jobs);
        for (index, (words, percent)) in jobs.into_iter().enumerate() {
            let folder = folder(all, words[0], percent);
            std::fs::create_dir_all(&folder).ok()?;
            let mut recorder = Command::new(SWTCH);
            recorder.args(["record", "--no-profile", "--json=/dev/null", "-o"]);
            recorder.arg(folder.join(format!("{round}-{index}.swtch"))).arg("--").arg(&program);
            let status = recorder
                .args(words)
                .arg(percent.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            status.ok().filter(std::process::ExitStatus::success)?;
        }
    }
    Some(())
}

fn recordings(folder: &Path) -> Recorded {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let open = |path: PathBuf| {
        let trace = Trace::open(&path).ok()?;
        let bill = bill(Inputs { trace: trace.view(), model: None, price: None });
        Some((trace, bill))
    };
    paths.into_iter().filter_map(open).collect()
}

/// A side of `runs` recordings, none of them twice, from the places of `from`.
fn side<'a>(recorded: &'a Recorded, from: &[usize]) -> Vec<PricedTrace<'a>> {
    let one = |place: &usize| {
        let (trace, bill) = &recorded[*place];
        PricedTrace { trace: trace.view(), bill, requests: None }
    };
    from.iter().map(one).collect()
}

/// Of `draws` comparisons with `runs` on a side, how many are worse and how many are better.
fn drawn(
    old: &Recorded,
    new: Option<&Recorded>,
    runs: usize,
    draws: usize,
    rng: &mut Rng,
) -> Option<[usize; 2]> {
    let mut counts = [0, 0];
    for _ in 0..draws {
        let mut places: Vec<usize> = (0..old.len()).collect();
        rng.shuffle(&mut places);
        let before = side(old, places.get(..runs)?);
        let after = match new {
            None => side(old, places.get(runs..2 * runs)?),
            Some(new) => {
                let mut places: Vec<usize> = (0..new.len()).collect();
                rng.shuffle(&mut places);
                side(new, places.get(..runs)?)
            }
        };
        let found = diff_traces(&before, &after, Some(RunOrder::Mixed), &[]).ok()?;
        counts[0] += usize::from(found.verdict == Verdict::Worse);
        counts[1] += usize::from(found.verdict == Verdict::Better);
    }
    Some(counts)
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (rounds, base, draws, sizes): (_, _, _, &[usize]) =
        if full { (30, 3, 200, &[3, 5, 10, 20]) } else { (1, 6, 5, &[3]) };
    let seed = std::env::var("SWTCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut rng = Rng::new(seed);
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let all = std::env::var_os("SWTCH_RECORDINGS").map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    if !folder(&all, WORKLOADS[0].1[0], 0).is_dir()
        && (std::fs::create_dir_all(&all).is_err() || record(&all, rounds, base, &mut rng).is_none())
    {
        println!("left out: programs cannot be compiled or recorded here");
        return;
    }
    println!("{:26} {:>4} {:>8} {:>8} {:>8} {:>8}", "workload", "runs", "change", "drawn", "worse", "better");
    for (name, words) in WORKLOADS {
        let base = recordings(&folder(&all, words[0], 0));
        for runs in sizes {
            for percent in CHANGES {
                let changed = (percent > 0).then(|| recordings(&folder(&all, words[0], percent)));
                let Some([worse, better]) = drawn(&base, changed.as_ref(), *runs, draws, &mut rng) else {
                    continue;
                };
                println!("{name:26} {runs:>4} {percent:>6} % {draws:>8} {worse:>8} {better:>8}");
            }
        }
    }
}
