//! Cgroups in a recording, and what the machine's own counters say over time.

use crate::common::group::{Group, Running};
use crate::common::{home, run, skip, stderr, stdout, swtch, usable};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use swtch_trace::{CgroupKind, Trace};

fn record(home: &Path, options: &[&str], command: &[String]) -> Output {
    let mut recorder = swtch(home);
    recorder
        .args(["record", "--no-profile", crate::common::SUMMARY, "--force", "-o", "run.swtch"])
        .args(options);
    if !command.is_empty() {
        recorder.arg("--").args(command);
    }
    let mut output = run(&mut recorder);
    assert!(output.status.success(), "{options:?}: {}", stderr(&output));
    output.stdout = crate::common::with_summary(home, &output).into_bytes();
    output
}

fn summary(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

/// The sums of the groups are those of the tasks.
fn adds_up(trace: &Trace, source: &str) {
    let ours = || trace.tasks.iter().filter(|task| task.in_scope);
    let groups = || trace.cgroups.iter();
    let pairs = [
        (groups().map(|row| row.voluntary).sum::<u64>(), ours().map(|row| row.voluntary).sum::<u64>()),
        (groups().map(|row| row.involuntary).sum(), ours().map(|row| row.involuntary).sum()),
        (groups().map(|row| row.run_ns).sum(), ours().map(|row| row.run_ns).sum()),
        (groups().map(|row| row.wait_ns).sum(), ours().map(|row| row.wait_ns).sum()),
        (groups().map(|row| row.tasks).sum(), ours().count() as u64),
    ];
    assert!(pairs.iter().all(|(groups, tasks)| groups == tasks), "{source}: {pairs:?}");
}

#[test]
fn tasks_stand_under_the_group_they_went_into() {
    const TEST: &str = "tasks_stand_under_the_group_they_went_into";
    let Some(group) = Group::new("moved.slice") else { return skip(TEST, "no cgroup can be made here") };
    let home = home();
    let inside = "exec sh -c 'i=0; while [ $i -lt 40 ]; do sleep 0.02; i=$((i+1)); done'";
    let script = "sh -c \"$0\"; sleep 0.1; exit 0";
    for source in usable(TEST) {
        let [_, _, into] = group.script(inside);
        let command = ["sh", "-c", script, &into].map(str::to_owned);
        let found = summary(&record(home.path(), &[source], &command));
        let trace = Trace::open(&home.path().join("run.swtch")).unwrap();
        adds_up(&trace, source);
        let row = trace.cgroups.iter().find(|row| row.path == group.path);
        let row = row.unwrap_or_else(|| panic!("{source}: {:?}", trace.cgroups));
        // The shell inside waits for each of its children.
        assert!(row.voluntary >= 30 && row.run_ns > 0, "{source}: {row:?}");
        assert!(trace.cgroups.len() > 1, "{source}: the first shell stayed outside: {:?}", trace.cgroups);
        let shown = found["cgroups"].as_array().unwrap();
        let one = shown.iter().find(|one| one["path"] == group.path.as_str()).unwrap();
        assert_eq!(one["voluntary"], row.voluntary, "{source}");
        assert_eq!((row.kind, row.name.as_deref()), (Some(CgroupKind::Slice), group.path.strip_prefix('/')));
        assert_eq!((&one["kind"], &one["name"]), (&json!("slice"), &json!(group.path[1..])), "{source}");
        for name in ["involuntary", "run_ns", "wait_ns", "tasks", "throttled_periods", "throttled_ns"] {
            assert!(one.get(name).is_some(), "{source}: cgroups[].{name}");
        }
    }
}

/// A shell moves itself into a group, which takes it some time.
fn wait_until_in(group: &Group, process: &Running) {
    let pid = process.0.id().to_string();
    while !fs::read_to_string(group.folder.join("cgroup.procs")).unwrap().lines().any(|line| line == pid) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// As for a pod that may see the host's cgroups but has a namespace of its own.
#[test]
fn a_recorder_in_a_cgroup_namespace_gives_paths_as_the_host_does() {
    const TEST: &str = "a_recorder_in_a_cgroup_namespace_gives_paths_as_the_host_does";
    let Some(group) = Group::new("namespace") else { return skip(TEST, "no cgroup can be made here") };
    let pod = group.below("recorder").unwrap();
    let neighbour = group.below("neighbour").unwrap();
    let home = home();
    let idle = neighbour.script("exec sh -c 'while :; do sleep 0.02; done'");
    let idle = Running(Command::new(&idle[0]).args(&idle[1..]).stdin(Stdio::null()).spawn().unwrap());
    wait_until_in(&neighbour, &idle);
    // Of the recorder's group and the neighbour's; procfs knows both by relative paths, BPF by numbers.
    for source in usable(TEST) {
        let script = pod.script("exec unshare --cgroup \"$0\" \"$@\"");
        let mut command = Command::new(&script[0]);
        command.args(&script[1..]).arg(env!("CARGO_BIN_EXE_swtch"));
        command.args(["record", source, "-a", "--no-profile", "--force", "-o", "run.swtch"]);
        command.args(["--duration", "400ms"]).env("XDG_STATE_HOME", home.path()).current_dir(home.path());
        let output = run(&mut command);
        if stderr(&output).contains("unshare:") {
            return skip(TEST, "no cgroup namespace can be made here");
        }
        assert!(output.status.success(), "{source}: {}", stderr(&output));
        let trace = Trace::open(&home.path().join("run.swtch")).unwrap();
        let paths: Vec<&str> = trace.cgroups.iter().map(|row| row.path.as_str()).collect();
        for path in [&*pod.path, &*neighbour.path] {
            assert!(paths.contains(&path), "{source}: {path} not in {paths:?}");
        }
        assert!(!paths.iter().any(|path| path.contains("/..")), "{source}: {paths:?}");
    }
}

#[test]
fn a_quota_shows_in_its_group() {
    const TEST: &str = "a_quota_shows_in_its_group";
    let Some(group) = Group::new("quota") else { return skip(TEST, "no cgroup can be made here") };
    if !group.limit() {
        return skip(TEST, "the cpu controller is not there for new cgroups");
    }
    let home = home();
    let [shell, option, script] = group.script("while :; do :; done");
    let spinning = Running(Command::new(shell).args([option, script]).stdin(Stdio::null()).spawn().unwrap());
    let pid = spinning.0.id().to_string();
    wait_until_in(&group, &spinning);
    for source in usable(TEST) {
        // Long enough for some periods of 100 ms.
        record(home.path(), &[source, "-p", &pid, "--duration", "1500ms"], &[]);
        let trace = Trace::open(&home.path().join("run.swtch")).unwrap();
        adds_up(&trace, source);
        let [row] = &trace.cgroups[..] else { panic!("{source}: {:?}", trace.cgroups) };
        assert_eq!(row.path, group.path, "{source}");
        let (periods, ns) = (row.throttled_periods.unwrap(), row.throttled_ns.unwrap());
        assert!((1..=40).contains(&periods) && ns > 0, "{source}: {row:?}");
    }
}

#[test]
fn a_group_that_is_gone_is_still_a_row() {
    const TEST: &str = "a_group_that_is_gone_is_still_a_row";
    let Some(group) = Group::new("gone") else { return skip(TEST, "no cgroup can be made here") };
    let home = home();
    let [_, _, into] = group.script("exec true");
    let directory = group.folder.display();
    let script = format!("sh -c '{into}'; until rmdir {directory}; do :; done 2>/dev/null; sleep 0.3");
    for source in usable(TEST).into_iter().filter(|source| *source != "--source=procfs") {
        fs::create_dir_all(&group.folder).unwrap();
        record(home.path(), &[source], &["sh", "-c", &script].map(str::to_owned));
        let trace = Trace::open(&home.path().join("run.swtch")).unwrap();
        adds_up(&trace, source);
        let gone = |path: &str| path == group.path || path.starts_with("removed cgroup (number ");
        assert!(
            trace.cgroups.iter().any(|row| gone(&row.path) && row.tasks == 1),
            "{source}: {:?}",
            trace.cgroups
        );
    }
}

/// What the machine's counters grew by is shared out over the intervals, all of it and once.
#[test]
fn counters_over_time_add_up_to_the_totals() {
    let home = home();
    for source in usable("counters_over_time_add_up_to_the_totals") {
        record(home.path(), &[source, "-a", "--duration", "1300ms"], &[]);
        let trace = Trace::open(&home.path().join("run.swtch")).unwrap();
        assert!(trace.intervals.iter().all(|row| row.cpu.is_none()));
        let totals = &trace.header.totals.cpu_ns;
        let sum = |of: fn(&swtch_trace::tables::IntervalRow) -> Option<u64>| {
            trace.intervals.iter().map(of).sum::<Option<u64>>()
        };
        assert_eq!(sum(|row| row.softirq_ns), totals.softirq, "{source}");
        assert_eq!(sum(|row| row.steal_ns), totals.steal, "{source}");
        if source != "--source=procfs" {
            assert_eq!(sum(|row| row.user_ns), totals.user, "{source}");
            assert_eq!(sum(|row| row.system_ns), totals.system, "{source}");
        }
        // The kernel's estimate of idle time may go back a little.
        let (over_time, idle) = (sum(|row| row.idle_ns).unwrap(), totals.idle.unwrap());
        assert!(over_time.abs_diff(idle) <= 50_000_000, "{source}: {over_time} and {idle}");
        let cpu = trace.header.totals.pressure.iter().find(|row| row.resource == "cpu");
        assert_eq!(sum(|row| row.pressure_cpu_ns), cpu.and_then(|row| row.some_ns), "{source}");
        assert!(trace.intervals.iter().filter(|row| row.processes > Some(0)).count() > 1, "{source}");
        assert!(trace.intervals.iter().all(|row| row.runnable.is_some()), "{source}");
        let rows = &trace.intervals;
        assert!(rows.windows(2).all(|two| two[0].at_ns + two[0].length_ns <= two[1].at_ns + 1), "{source}");
    }
}

/// The rows of single CPUs make up the row of the line, and are not in the summary again.
#[test]
fn interrupts_are_counted_by_processor() {
    let home = home();
    for source in usable("interrupts_are_counted_by_processor") {
        let found = summary(&record(home.path(), &[source, "-a", "--duration", "700ms"], &[]));
        let trace = Trace::open(&home.path().join("run.swtch")).unwrap();
        let sums: Vec<_> = trace.interrupts.iter().filter(|row| row.cpu.is_none()).collect();
        assert_eq!(found["interrupts"].as_array().unwrap().len(), sums.len(), "{source}");
        assert!(trace.interrupts.len() > sums.len(), "{source}");
        for sum in sums.into_iter().filter(|sum| !["ERR", "MIS", "Err"].contains(&sum.line.as_str())) {
            let parts = trace.interrupts.iter().filter(|row| {
                row.cpu.is_some() && (row.kind, &row.line, &row.name) == (sum.kind, &sum.line, &sum.name)
            });
            let (count, ns) = parts.fold((0, None), |(count, ns), part| {
                (count + part.count, part.ns.map_or(ns, |more| Some(ns.unwrap_or(0) + more)))
            });
            assert_eq!(count, sum.count, "{source}: {sum:?}");
            assert!(ns.unwrap_or(0) <= sum.ns.unwrap_or(0), "{source}: {sum:?} and {ns:?}");
        }
        let rows = found["reconciliation"].as_array().unwrap();
        if let Some(row) = rows.iter().find(|row| row["what"] == "interrupts") {
            let (counted, kernel) = (row["counted"].as_f64().unwrap(), row["kernel"].as_f64().unwrap());
            // They are read one after the other. On a machine at rest there are one or two, or none.
            let are_few = counted.max(kernel) <= 3.0;
            assert!(are_few || (counted / kernel - 1.0).abs() < 0.25, "{source}: {row}");
        }
    }
}
