//! `swtch record --counts` runs nothing at a switch: its sums are those of the kernel, to the last switch of the shortest task.

use crate::common::{
    Home, SUMMARY, home, last_cpu, run, skip, stderr, stdout, swtch, with_summary, without_bpf,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use swtch_trace::Trace;
use swtch_trace::tables::SchedPolicy;

/// A home with `programs/counts.c`; nothing where there is no C compiler.
fn with_program() -> Option<Home> {
    let home = home();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/programs/counts.c");
    let program = home.path().join("counts");
    let done = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(source).output().ok()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(home)
}

/// What the program printed, and the Trace of it.
fn recorded(home: &Path, share: &str, ahead: &[&str], words: &[&str]) -> (Vec<u64>, Trace) {
    let mut recorder = swtch(home);
    recorder.args([
        "record",
        "--no-profile",
        "--force",
        "-o",
        "counts.swtch",
        "--counts",
        "--sample",
        share,
        "--",
    ]);
    let output = run(recorder.args(ahead).arg(home.join("counts")).args(words));
    let text = stdout(&output);
    let printed = text.lines().next().unwrap_or_else(|| panic!("{}", stderr(&output)));
    let printed = printed.split(' ').map(|word| word.parse().unwrap()).collect();
    (printed, Trace::open(&home.join("counts.swtch")).unwrap())
}

/// Voluntary and involuntary switches of the tasks with the program's name, and how many tasks they are: those without rows of their own, too.
fn sums(trace: &Trace) -> [u64; 3] {
    let ours = || trace.tasks.iter().filter(|task| task.comm == "counts");
    let seen: u64 = trace.cgroups.iter().map(|group| group.tasks).sum();
    let others = trace.tasks.iter().filter(|task| task.comm != "counts").count() as u64;
    [ours().map(|task| task.voluntary).sum(), ours().map(|task| task.involuntary).sum(), seen - others]
}

#[test]
fn sums_of_a_task_are_those_of_getrusage_and_perf_stat() {
    const TEST: &str = "sums_of_a_task_are_those_of_getrusage_and_perf_stat";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let Some(home) = with_program() else { return skip(TEST, "no C compiler here") };
    for share in ["0", "3%", "100%"] {
        let (printed, trace) =
            recorded(home.path(), share, &["nice", "-n", "7", "chrt", "--batch", "0"], &["sleeps", "300"]);
        let [voluntary, involuntary, tasks] = sums(&trace);
        // A sleep that is over before the task has given up its CPU is not a switch.
        assert!(printed[0] >= 270, "{printed:?}");
        // The last switch comes after the program asked.
        assert_eq!((voluntary, tasks), (printed[0] + 1, 1), "{share}");
        let scheduling: Vec<_> = trace.tasks.iter().map(|task| (task.policy, task.nice)).collect();
        assert_eq!(scheduling, [(Some(SchedPolicy::Batch), Some(7))], "{share}");
        // It may be preempted while it exits.
        assert!(
            (printed[1]..=printed[1] + 5).contains(&involuntary),
            "{share}: {involuntary} for {printed:?}"
        );
    }
    let stat = ["perf", "stat", "-x,", "-o", "stat.txt", "-e", "context-switches"];
    let usable = Command::new("perf").args(&stat[1..3]).args(["-e", "context-switches", "true"]).output();
    if !usable.is_ok_and(|output| stderr(&output).contains(",context-switches,")) {
        return skip(TEST, "perf stat does not run here");
    }
    let (_, trace) = recorded(home.path(), "3%", &stat, &["sleeps", "3000"]);
    let [voluntary, involuntary, _] = sums(&trace);
    let text = fs::read_to_string(home.path().join("stat.txt")).unwrap();
    let counted = text.lines().find_map(|line| line.split_once(",,context-switches")).unwrap().0;
    let counted: u64 = counted.parse().unwrap();
    // Its last switch comes after its counter is gone, and before it became this program it was perf's.
    let without_last = voluntary + involuntary - 1;
    assert!((counted..=counted + 20).contains(&without_last), "{without_last} for {counted}");
}

/// 50,000 processes that end at once.
#[test]
fn of_fifty_thousand_short_processes_none_is_lost() {
    const TEST: &str = "of_fifty_thousand_short_processes_none_is_lost";
    const PROCESSES: u64 = 50_000;
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let Some(home) = with_program() else { return skip(TEST, "no C compiler here") };
    let (printed, trace) =
        recorded(home.path(), "3%", &[], &["processes", &PROCESSES.to_string(), &last_cpu()]);
    let [voluntary, involuntary, tasks] = sums(&trace);
    // The kernel may have no storage for what a window sees of a task: that is a loss of its own, and of no sum.
    let ends = trace.header.lost.iter().filter(|lost| !lost.what.starts_with("arrivals"));
    assert_eq!((tasks, ends.map(|lost| lost.events).sum()), (PROCESSES + 1, 0), "{:?}", trace.header.lost);
    let [own, own_involuntary, children, children_involuntary] = printed[..] else { panic!("{printed:?}") };
    // Of a child that its parent collects before its last switch, the kernel's sum is without that.
    let most = own + children + PROCESSES;
    assert!((own + PROCESSES..=most + 5).contains(&voluntary), "{voluntary} for {printed:?}");
    let kernels = own_involuntary + children_involuntary;
    assert!((kernels..=kernels + 50).contains(&involuntary), "{involuntary} for {printed:?}");
}

/// The sums of each of many short tasks are those that the kernel gives its parent, whatever the windows see. Figures from the windows are
/// marked.
#[test]
fn counts_of_short_tasks_are_exact_without_a_program_at_a_switch() {
    const TEST: &str = "counts_of_short_tasks_are_exact_without_a_program_at_a_switch";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = home();
    // On one CPU a child has mostly made its last switch before its parent collects it.
    let script = format!(
        "import os, time\nos.sched_setaffinity(0, {{{}}})\n\
        for number in range(300):\n    child = os.fork()\n    if child == 0:\n        for _ in range(number % 4): time.sleep(0.0001)\n        os._exit(0)\n    \
        _, _, usage = os.wait4(child, 0)\n    print(child, usage.ru_nvcsw, usage.ru_nivcsw)\n",
        last_cpu()
    );
    for share in ["0", "30%", "100%"] {
        let to = ["--no-profile", "--force", "-o", "short.swtch"];
        let arguments = [SUMMARY, "--counts", "--sample", share, "--", "python3", "-c", &script];
        let output = run(swtch(home.path()).arg("record").args(to).args(arguments));
        if output.status.code() == Some(127) {
            return skip(TEST, "no python3 here");
        }
        let text = with_summary(home.path(), &output);
        let (lines, json) = text.split_at(text.find('{').unwrap());
        let found: Value = serde_json::from_str(json).unwrap();
        let tasks: BTreeMap<u64, (u64, u64)> = found["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| {
                let of = |name: &str| task[name].as_u64().unwrap();
                (of("tid"), (of("voluntary"), of("involuntary")))
            })
            .collect();
        let (mut same, mut all) = (0, 0);
        for line in lines.lines() {
            let words: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let (voluntary, involuntary) = tasks[&words[0]];
            // A parent may collect its child before the child's last switch.
            assert!((words[1]..=words[1] + 1).contains(&voluntary), "{share}: {voluntary} for {line}");
            assert!((words[2]..=words[2] + 1).contains(&involuntary), "{share}: {involuntary} for {line}");
            same += u64::from((voluntary, involuntary) == (words[1], words[2]));
            all += 1;
        }
        assert!(all == 300 && same >= 280, "{share}: {same} of {all} are the kernel's");
        let sampled = &found["sampled"]["totals.switch_cost_ns"];
        match share {
            "100%" => assert!(found["sampled"].as_object().unwrap().is_empty(), "{}", found["sampled"]),
            "30%" if !sampled.is_null() => {
                let (low, high) = (sampled["ci_low"].as_f64(), sampled["ci_high"].as_f64());
                assert!(sampled["windows"].as_u64() < Some(2) || low <= high, "{sampled}");
                assert!((0.0..=1.0).contains(&sampled["share"].as_f64().unwrap()), "{sampled}");
                a_table_says_what_is_sampled(home.path());
            }
            _ => assert!(sampled.is_null(), "{share}: {sampled}"),
        }
    }
}

fn a_table_says_what_is_sampled(home: &Path) {
    let export = |form: &str| {
        run(swtch(home).args(["export", "short.swtch", "--to", form, "--table", "tasks", "-o", form]))
    };
    let said = stderr(&export("csv"));
    assert!(said.contains("exact values of the columns that are estimates from"), "{said}");
    export("parquet");
    let reader = SerializedFileReader::new(fs::File::open(home.join("parquet")).unwrap()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let sampled = pairs.into_iter().find(|pair| pair.key == "swtch.sampled").unwrap().value.unwrap();
    let sampled: Value = serde_json::from_str(&sampled).unwrap();
    assert!(
        sampled["tasks.wait_p99_ns"]["windows"].is_u64() && sampled["tasks.voluntary"].is_null(),
        "{sampled}"
    );
}
