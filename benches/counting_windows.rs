//! What counting adds to a switch, found within one recording: `swtch record --counts` attaches programs to switches for windows of some
//! 20 ms and detaches them again. The CPU time of a switch in each window, and while it opens and closes, is compared with that right before
//! and right after. A machine whose speed changes every second changes such neighbours alike.
#![allow(missing_docs, clippy::print_stdout)]

use crate::pipe_load::{Done, PipeLoad};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};
use swtch_stats::{bootstrap_interval, mean};

const SWTCH: &str = env!("CARGO_BIN_EXE_swtch");
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A window is taken to be that much longer on both sides: what attaching and detaching does takes time after it, too.
const EDGE_NS: u64 = 15_000_000;
/// How far before and after it the load is compared with.
const BESIDE_NS: u64 = 100_000_000;

/// The load at one time, and whether programs were attached to its switches then.
struct Look {
    at_ns: u64,
    done: Done,
    attached: bool,
}

/// One window: how much CPU time it added, ns, and what a switch took in it and beside it.
struct Window {
    excess_ns: f64,
    ns_a_switch: f64,
    beside_ns: f64,
}

/// Measures it for some time, and prints it.
pub(crate) fn measure(load: &PipeLoad, folder: &Path, length: Duration) {
    let words = ["record", "-a", "--counts", "--no-profile", "--force", "-o", "windows.swtch"];
    let Some(mut recorder) = super::spawn(SWTCH, &words, folder) else { return };
    let looks = looks(load, &mut recorder, length);
    super::stop(&mut recorder);
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
        println!("left out: swtch record --counts does not run here");
        return;
    };
    let switches = last.done.switches_since(first.done) as f64;
    let seconds = (last.at_ns - first.at_ns) as f64 / 1e9;
    let windows = windows(&looks);
    println!(
        "\nswtch record --counts, window by window, {seconds:.0} s, {:.0} switches a second:",
        switches / seconds
    );
    if windows.len() < 2 {
        println!("left out: {} windows were seen, which is too few", windows.len());
        return;
    }
    let count = windows.len() as f64;
    let added = |window: &Window| window.excess_ns * count / switches;
    say("ns a switch beside windows", &windows, |window| window.beside_ns);
    say("ns a switch in a window, its opening and closing", &windows, |window| window.ns_a_switch);
    say("added ns a switch of the whole, mean (95 %)", &windows, added);
    // The same between windows, where nothing is attached: how far off the figure above may be.
    let between = false_windows(&looks);
    if between.len() > 1 {
        say("the same as if windows were halfway between them", &between, added);
    }
}

/// Prints the mean of a figure of windows, with its interval.
fn say(what: &str, windows: &[Window], of: impl Fn(&Window) -> f64) {
    let values: Vec<f64> = windows.iter().map(of).collect();
    let interval = bootstrap_interval(&values, |drawn| mean(drawn), 2000, 0.95, 1);
    let middle = mean(&values);
    println!("{what:54} {middle:>8.2} ({:>7.2} to {:>7.2})", interval.low, interval.high);
}

/// Looks at the load and at the recorder until the time is over, or until the recorder ends.
fn looks(load: &PipeLoad, recorder: &mut Child, length: Duration) -> Vec<Look> {
    let begun = Instant::now();
    let mut looks = Vec::new();
    while begun.elapsed() < length && recorder.try_wait().is_ok_and(|ended| ended.is_none()) {
        let Some(done) = load.done() else { break };
        let at_ns = begun.elapsed().as_nanos() as u64;
        let Some(links) = links(recorder.id()) else { break };
        looks.push((at_ns, done, links));
        std::thread::sleep(LOOK_EVERY);
    }
    // Some stay attached: those at forks and ends of tasks.
    let always = looks.iter().map(|(_, _, links)| *links).min().unwrap_or(0);
    looks.into_iter().map(|(at_ns, done, links)| Look { at_ns, done, attached: links > always }).collect()
}

/// How many programs a process has attached.
fn links(pid: u32) -> Option<usize> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    Some(targets.filter(|target| target.to_string_lossy().contains("bpf_link")).count())
}

/// From when to when programs were attached, ns.
fn spans(looks: &[Look]) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for pair in looks.windows(2).filter(|pair| pair[0].attached || pair[1].attached) {
        match found.last_mut() {
            Some(last) if last.1 == pair[0].at_ns => last.1 = pair[1].at_ns,
            _ => found.push((pair[0].at_ns, pair[1].at_ns)),
        }
    }
    found
}

fn windows(looks: &[Look]) -> Vec<Window> {
    spans(looks).into_iter().filter_map(|(begin, end)| window(looks, begin, end)).collect()
}

/// As long as windows, halfway between two of them.
fn false_windows(looks: &[Look]) -> Vec<Window> {
    let spans = spans(looks);
    let halfway = spans.windows(2).filter_map(|pair| {
        let middle = pair[0].1.midpoint(pair[1].0);
        let half = (pair[0].1 - pair[0].0) / 2;
        // Far enough from both that what they are compared with has none in it.
        (pair[1].0 - pair[0].1 > 2 * (half + BESIDE_NS + 3 * EDGE_NS)).then(|| (middle - half, middle + half))
    });
    halfway.filter_map(|(begin, end)| window(looks, begin, end)).collect()
}

/// The window from `begin` to `end`, ns; none where another window is beside it.
fn window(looks: &[Look], begin: u64, end: u64) -> Option<Window> {
    let from = begin.checked_sub(EDGE_NS)?;
    let at = |ns: u64| looks.get(looks.partition_point(|look| look.at_ns < ns));
    let marks = [from.checked_sub(BESIDE_NS)?, from, end + EDGE_NS, end + EDGE_NS + BESIDE_NS];
    let [before, from, to, after] = marks.map(at);
    let (before, from, to, after) = (before?, from?, to?, after?);
    let is_beside = |look: &&Look| look.at_ns < begin || look.at_ns > end;
    if looks
        .iter()
        .filter(|look| look.at_ns >= before.at_ns && look.at_ns <= after.at_ns)
        .filter(is_beside)
        .any(|look| look.attached)
    {
        return None;
    }
    let sides = [from.done.ns_a_switch_since(before.done)?, after.done.ns_a_switch_since(to.done)?];
    let beside_ns = sides.iter().sum::<f64>() / 2.0;
    let ns_a_switch = to.done.ns_a_switch_since(from.done)?;
    let switches = to.done.switches_since(from.done) as f64;
    Some(Window { excess_ns: (ns_a_switch - beside_ns) * switches, ns_a_switch, beside_ns })
}
