//! What `--advise` claims, on programs with and without the remedy: `programs/remedies.c`.

use crate::common::machine::alone;
use crate::common::{
    Home, SUMMARY, home, last_cpu, run, skip, stderr, stdout, swtch, with_summary, without_bpf,
};
use crate::waits::{Replay, TRACE};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The program, under a name of its own; nothing where there is no C compiler.
pub fn compiled(home: &Path, name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/programs/remedies.c");
    let program = home.join(name);
    let done = Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).output().ok()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

/// A Profile of this machine as it is now: prices of another machine prove nothing here.
fn measured(home: &Path) {
    let with = ["--method", "pipe,condvar,futex", "--sizes", "4K", "--time-limit", "4s", "--out", "own.json"];
    let output = run(swtch(home).args(["measure", "--quick"]).args(with));
    assert!(output.status.success(), "{}", stderr(&output));
}

/// What a test of a remedy needs.
struct Ready {
    /// With a Profile of this machine as it is now.
    home: Home,
    /// `programs/remedies.c`.
    program: String,
    /// The CPU to run it on.
    cpu: String,
}

/// Nothing where something is missing, which is reported.
fn ready(test: &str) -> Option<Ready> {
    if let Some(why) = without_bpf() {
        skip(test, &why);
        return None;
    }
    // The home keeps the machine.
    let _machine = alone();
    let home = home();
    let Some(program) = compiled(home.path(), "remedies") else {
        skip(test, "no C compiler here");
        return None;
    };
    measured(home.path());
    Some(Ready { program: program.to_str().unwrap().to_owned(), home, cpu: last_cpu() })
}

/// The CPU time that a program says it took, ns, and the summary of its recording.
fn recorded(home: &Path, command: &[&str]) -> (f64, Value) {
    let mut recorder = swtch(home);
    recorder.args(["record", "--advise", "--events", "--profile", "own.json", SUMMARY, "--"]).args(command);
    let output = run(&mut recorder);
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    let text = with_summary(home, &output);
    let (cpu_ns, summary) = text.split_once('\n').unwrap();
    (cpu_ns.parse().unwrap(), serde_json::from_str(summary).unwrap())
}

/// What a change of the command saves, as a share of its CPU time, with the summary of a run without the change. Both are recorded, so that the
/// recorder's cost is in both. The runs take turns, and the medians of three decide: CPU time depends on what else the machine does.
fn saving(home: &Path, without: &[&str], with: &[&str]) -> (f64, Value) {
    let rounds = (0..3).map(|_| (recorded(home, without), recorded(home, with)));
    let (mut before, mut after): (Vec<_>, Vec<_>) = rounds.unzip();
    for runs in [&mut before, &mut after] {
        runs.sort_by(|(one_ns, _), (other_ns, _)| one_ns.total_cmp(other_ns));
    }
    let (before_ns, summary) = before.swap_remove(1);
    (1.0 - after[1].0 / before_ns, summary)
}

fn advice<'a>(summary: &'a Value, what: &str) -> Option<&'a Value> {
    summary["advice"].as_array().unwrap().iter().find(|one| one["what"].as_str().unwrap().contains(what))
}

/// It says that what the change saves has no bound.
fn is_honest(one: &Value) {
    assert!(one["saving"].as_str().unwrap().contains("cannot be bounded"), "{one}");
}

/// What a switch takes changes by so much on a shared machine between the Profile that prices and the runs, as a factor.
const WANDERS: f64 = 1.5;

/// The least that hand-overs cost is saved when they are gone. For a program whose own code around them is short, all of the saving is
/// within the most.
fn hand_overs_cost_what_goes(one: &Value, saved: f64) {
    is_honest(one);
    let end = |end: &str| one["cost"][end].as_f64().unwrap();
    eprintln!("saved {:.1} %; {}: {}", 100.0 * saved, one["what"], one["cost"]);
    assert!(end("low") > 0.0 && end("low") <= WANDERS * saved, "saved {saved}: {one}");
    assert!(saved <= WANDERS * end("high"), "saved {saved}: {one}");
}

#[test]
fn a_queue_in_batches_saves_what_its_hand_overs_cost() {
    let Some(Ready { home, program, cpu }) = ready("a_queue_in_batches_saves_what_its_hand_overs_cost")
    else {
        return;
    };
    let command = |batch| ["taskset", "-c", &cpu, &program, "queue", "30000", batch, "2", "4000"];
    let (saved, summary) = saving(home.path(), &command("1"), &command("100"));
    let one = advice(&summary, "handed round").unwrap_or_else(|| panic!("{}", summary["advice"]));
    hand_overs_cost_what_goes(one, saved);
}

#[test]
fn two_tasks_on_one_cpu_or_in_batches_save_what_their_hand_overs_cost() {
    const TEST: &str = "two_tasks_on_one_cpu_or_in_batches_save_what_their_hand_overs_cost";
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skip(TEST, "there is one CPU here");
    }
    let Some(Ready { home, program, .. }) = ready(TEST) else { return };
    let command = |batch, cpus| [&*program, "pair", "20000", batch, "4000", cpus];
    for with in [command("1", "1"), command("100", "2")] {
        let (saved, summary) = saving(home.path(), &command("1", "2"), &with);
        let one = advice(&summary, "across CPUs").unwrap_or_else(|| panic!("{}", summary["advice"]));
        hand_overs_cost_what_goes(one, saved);
    }
}

#[test]
fn two_tasks_that_take_turns_save_in_batches_what_their_hand_overs_cost() {
    const TEST: &str = "two_tasks_that_take_turns_save_in_batches_what_their_hand_overs_cost";
    let Some(Ready { home, program, .. }) = ready(TEST) else { return };
    // Both are pinned to one CPU.
    let command = |batch| [&*program, "pair", "20000", batch, "4000", "1"];
    let (saved, summary) = saving(home.path(), &command("1"), &command("100"));
    let one = advice(&summary, "take turns on one CPU").unwrap_or_else(|| panic!("{}", summary["advice"]));
    hand_overs_cost_what_goes(one, saved);
    // The third thread only waits for their end.
    assert!(advice(&summary, "handed round").is_none(), "{}", summary["advice"]);
}

/// Threads that spin while they wait save far more than their switches took: the reason why no figure bounds it.
#[test]
fn fewer_threads_may_save_far_more_than_their_switches_took() {
    const TEST: &str = "fewer_threads_may_save_far_more_than_their_switches_took";
    let Some(Ready { home, program, cpu }) = ready(TEST) else { return };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let many = (4 * cpus).to_string();
    // On one CPU every thread but one waits for its turn; spinning takes whole slices.
    let command = |threads| ["taskset", "-c", &cpu, &program, "spin", threads, "40", "40000"];
    let (saved, summary) = saving(home.path(), &command(&many), &command("1"));
    let Some(one) = advice(&summary, "more runnable threads") else {
        let others = advice(&summary, "other programs were in front");
        let others = others.unwrap_or_else(|| panic!("{}", summary["advice"]));
        return skip(TEST, &format!("the machine was busy: {}", others["evidence"]));
    };
    let cost = one["cost"]["high"].as_f64().unwrap_or(0.0);
    assert!(saved > 0.5 && saved > cost, "saved {saved}, where the switches took {cost}: {one}");
    is_honest(one);
}

/// Threads that wait on the CPU that the others need, however they do it: that is a cause of its own. Threads that work, or sleep while they wait, are not.
#[test]
fn threads_that_wait_on_cpus_are_told_from_those_that_work_or_sleep() {
    const TEST: &str = "threads_that_wait_on_cpus_are_told_from_those_that_work_or_sleep";
    const WAIT: &str = "threads that wait hold the CPUs that others need";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let _machine = alone();
    let home = home();
    let Some(program) = compiled(home.path(), "remedies") else { return skip(TEST, "no C compiler here") };
    let (program, cpu) = (program.to_str().unwrap(), last_cpu());
    let recorded = |work: &[&str]| -> Value {
        let mut recorder = swtch(home.path());
        recorder.args(["record", "--advise", "--no-profile", "--events", "--force", "-o", TRACE, SUMMARY]);
        let output = run(recorder.args(["--", "taskset", "-c", &cpu, program]).args(work));
        assert!(output.status.success(), "{work:?}: {}", stderr(&output));
        let text = with_summary(home.path(), &output);
        serde_json::from_str(text.split_once('\n').unwrap().1).unwrap()
    };
    for (how, rounds, words) in [("pause", "40", "in a loop"), ("yield", "400", "by sched_yield")] {
        let summary = recorded(&[how, "4", rounds, "400000"]);
        let Some(one) = advice(&summary, WAIT) else {
            let others =
                advice(&summary, "runs before").or_else(|| advice(&summary, "other programs were in front"));
            let others = others.unwrap_or_else(|| panic!("{how}: {}", summary["advice"]));
            return skip(TEST, &format!("the machine was busy: {}", others["evidence"]));
        };
        assert_eq!(summary["advice"][0], *one, "it comes first");
        let evidence = one["evidence"].as_str().unwrap();
        // The main thread counts where it ran too.
        let threads = evidence.starts_with("4 threads of remedies (")
            || evidence.starts_with("5 threads of remedies (");
        assert!(threads && evidence.contains("on 1 CPU"), "{evidence}");
        assert!(evidence.contains(words), "{how}: {evidence}");
        assert!(one["try_this"].as_str().unwrap().starts_with("1 thread (as many as CPUs)"), "{one}");
        assert!(advice(&summary, "more runnable threads").is_none(), "said once: {}", summary["advice"]);
        is_honest(one);
    }
    for work in [&["threads", "4", "300000000"][..], &["block", "4", "400", "400000"]] {
        let summary = recorded(work);
        assert!(advice(&summary, WAIT).is_none(), "{work:?}: {}", summary["advice"]);
    }
}

/// Ended with the test.
pub struct Hog(pub Child);

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn behind_other_programs_they_are_named_and_the_threads_are_not_blamed() {
    const TEST: &str = "behind_other_programs_they_are_named_and_the_threads_are_not_blamed";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let _machine = alone();
    let home = home();
    let Some(program) = compiled(home.path(), "remedies") else { return skip(TEST, "no C compiler here") };
    let hog = compiled(home.path(), "hog").unwrap();
    let cpu = last_cpu();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (2 * cpus).to_string();
    let hogs: Vec<Hog> = (0..4 * cpus)
        .map(|_| {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu]).arg(&hog).args(["threads", "1", "1000000000000"]);
            Hog(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
        })
        .collect();
    let command = ["taskset", "-c", &cpu, program.to_str().unwrap(), "threads", &threads, "200000000"];
    let mut recorder = swtch(home.path());
    recorder.args(["record", "--advise", "--no-profile", "--events", "-o", TRACE, "--"]);
    let output = run(recorder.args(command));
    drop(hogs);
    let share = Replay::of(home.path(), "remedies").share("hog");
    if share < 0.6 {
        let share = 100.0 * share;
        return skip(TEST, &format!("the machine was busy: {share:.0} % of the waiting was behind the hogs"));
    }
    let text = stderr(&output).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.contains("other programs were in front: "), "{text}");
    // Others may be in front, too, on a machine that does more than this test.
    let in_front = text.split("in front most: ").nth(1).and_then(|rest| rest.split(". ").next());
    assert!(in_front.is_some_and(|names| names.starts_with("hog (")), "{text}");
    assert!(!text.contains("more runnable threads than CPUs") && !text.contains("worker threads"), "{text}");
    // In the first lines too: it explains the waits.
    let first = stderr(&output).lines().take(5).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    assert!(first.contains(" %) behind hog ("), "{text}");
    assert!(stdout(&output).trim().parse::<u64>().is_ok(), "the command's own output: {}", stdout(&output));
}
