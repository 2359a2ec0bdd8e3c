//! `swtch record` from end to end: what passes through, what is counted, what is left when something goes wrong.

use crate::common::group::Running;
use crate::common::{
    SUMMARY, fixture, home, last_cpu, run, skip, stderr, stdout, swtch, usable, with_summary, without_bpf,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use swtch_trace::Trace;
use swtch_trace::tables::PrevState;

/// A home with a Profile to price with: nothing is measured on the spot.
fn priced() -> crate::common::Home {
    let home = home();
    fs::create_dir(home.path().join("swtch")).unwrap();
    fs::copy(fixture("profiles/vm.json"), home.path().join("swtch/profile.json")).unwrap();
    home
}

/// Makes a Profile one of another machine, wherever this test runs.
fn of_another_machine(profile: &Path) {
    let mut document: Value = serde_json::from_slice(&fs::read(profile).unwrap()).unwrap();
    document["host"]["kernel"]["release"] = "another".into();
    fs::write(profile, document.to_string()).unwrap();
}

fn record(home: &Path, arguments: &[&str]) -> Command {
    let mut command = swtch(home);
    command.arg("record").args(arguments);
    command
}

/// The summary after the command's own output, which is `ahead`.
fn summary(text: &str, ahead: &str) -> Value {
    let json = text.strip_prefix(ahead).unwrap_or_else(|| panic!("not first: {text}"));
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn output_and_end_of_the_command_pass_through() {
    let home = priced();
    for source in usable("output_and_end_of_the_command_pass_through") {
        for (script, status) in
            [("echo out; echo err >&2; exit 7", 7), ("kill -9 $$", 137), ("cat; exit 0", 0)]
        {
            let output = run(&mut record(
                home.path(),
                &[source, "--force", "-o", "sh.swtch", "--", "sh", "-c", script],
            ));
            assert_eq!(output.status.code(), Some(status), "{source} {script}: {}", stderr(&output));
            if script.starts_with("echo") {
                // The bill goes where it does not mix with the output.
                assert_eq!(stdout(&output), "out\n");
                assert!(stderr(&output).starts_with("err\n"), "{}", stderr(&output));
                assert!(stderr(&output).contains("Trace: sh.swtch"), "{}", stderr(&output));
            }
            let trace = Trace::open(&home.path().join("sh.swtch")).unwrap();
            assert_eq!(trace.header.exit_status, Some(status));
        }
    }
    assert_eq!(run(&mut record(home.path(), &["--", "/no/such/program"])).status.code(), Some(127));
    assert_eq!(run(&mut record(home.path(), &["--", "/etc"])).status.code(), Some(126));
    assert_eq!(
        crate::common::names(home.path()),
        ["sh.swtch", "swtch"],
        "a command that did not start leaves no Trace"
    );
}

#[test]
fn the_summary_has_the_names_it_promises() {
    let home = priced();
    for source in usable("the_summary_has_the_names_it_promises") {
        let arguments = [SUMMARY, "--price", "0.05/vcpu-hour", source, "--", "sleep", "0.4"];
        let output = run(&mut record(home.path(), &arguments));
        let found = summary(&with_summary(home.path(), &output), "");
        for name in
            ["command", "exit_status", "duration_ns", "source", "lost", "unavailable", "tasks", "preemptions"]
        {
            assert!(!found[name].is_null(), "{source}: {name} in {found}");
        }
        assert_eq!(found["source"], if source == "--source=procfs" { "procfs" } else { "bpf" });
        for (group, names) in [
            ("context_switches", &["voluntary", "involuntary", "idle"][..]),
            ("machine_cpu_ns", &["user", "system", "irq", "idle", "steal"]),
            ("processes", &["forked", "exited", "peak"]),
            ("cost", &["direct_ns", "indirect_ns", "share", "measured_in_place", "money"]),
        ] {
            for name in names {
                assert!(found[group].get(name).is_some(), "{source}: {group}.{name}");
            }
        }
        let task = &found["tasks"][0];
        assert_eq!(task["comm"], "sleep");
        for name in ["tid", "pid", "voluntary", "involuntary", "run_ns", "migrations"] {
            assert!(task.get(name).is_some(), "{source}: tasks[].{name}");
        }
        assert!(found["cost"]["direct_ns"]["low"].as_f64().unwrap() > 0.0);
        assert!(found["cost"]["indirect_ns"]["high"].is_number());
        // What this source does not see is null, and has a reason.
        if found["wakeups"].is_null() {
            assert!(!found["unavailable"].as_array().unwrap().is_empty());
        }
    }
}

/// The kernel's own count, printed by the shell that is recorded, is what the Trace has, but for what it did after printing.
#[test]
fn switches_are_those_the_kernel_counts() {
    const TEST: &str = "switches_are_those_the_kernel_counts";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = priced();
    let script = "i=0; while [ $i -lt 40 ]; do sleep 0.001; i=$((i+1)); done; while read -r name count; do case $name in \
         *ctxt*) echo $count;; esac; done < /proc/$$/status";
    for mode in [&["--events"][..], &["--events", "--defer"], &["--counts"]] {
        let output = run(record(home.path(), &[SUMMARY]).args(mode).args(["--", "sh", "-c", script]));
        as_the_kernel_counts(&with_summary(home.path(), &output));
    }
}

fn as_the_kernel_counts(text: &str) {
    let printed: Vec<u64> = text.lines().take(2).map(|line| line.parse().unwrap()).collect();
    let found = summary(text, &format!("{}\n{}\n", printed[0], printed[1]));
    let tasks = found["tasks"].as_array().unwrap();
    let shell =
        tasks.iter().find(|task| task["comm"] == "sh" && task["voluntary"].as_u64() > Some(30)).unwrap();
    let (voluntary, involuntary) =
        (shell["voluntary"].as_u64().unwrap(), shell["involuntary"].as_u64().unwrap());
    // After it printed: the output may block, and the end is a switch.
    assert!((printed[0]..=printed[0] + 4).contains(&voluntary), "{voluntary} for {printed:?}");
    assert!((printed[1]..=printed[1] + 20).contains(&involuntary), "{involuntary} for {printed:?}");
    assert_eq!(found["processes"]["forked"], 41, "{}", found["processes"]);
    assert_eq!(found["processes"]["exited"], 41);
    assert_eq!(found["lost"], 0);
}

/// The memory between two switches is estimated where that is asked for, and nowhere else without a word.
#[test]
fn working_sets_are_estimated_when_asked_for() {
    const TEST: &str = "working_sets_are_estimated_when_asked_for";
    let home = priced();
    // Goes through 4 MiB. On a loaded machine, finding the process alone may take longer than the shortest of these times.
    let script = |seconds: f64| {
        format!(
            "import time\nm = bytearray(4 << 20)\nuntil = time.process_time() + {seconds}\n\
            while time.process_time() < until:\n    for at in range(0, 4 << 20, 4096): m[at] = 1\n    time.sleep(0)\n"
        )
    };
    for source in usable(TEST) {
        let recorded = |seconds: f64| {
            let script = script(seconds);
            let with = [SUMMARY, "--working-set", source, "--", "python3", "-c", &script];
            summary(&with_summary(home.path(), &run(&mut record(home.path(), &with))), "")
        };
        let too_short = |found: &Value| found["unavailable"].to_string().contains("could be sampled");
        let mut found = recorded(0.6);
        for seconds in [2.4, 9.6] {
            if too_short(&found) {
                found = recorded(seconds);
            }
        }
        let gaps = found["unavailable"].as_array().unwrap();
        if let Some(gap) = gaps.iter().find(|gap| gap["what"] == "tasks.working_set_bytes") {
            assert!(gap["why"].as_str().unwrap().contains("memory"), "{gap}");
            return skip(TEST, gap["why"].as_str().unwrap());
        }
        let task = found["tasks"].as_array().unwrap().iter().find(|task| task["comm"] == "python3").unwrap();
        let bytes = task["working_set_bytes"].as_u64().unwrap();
        assert!((64 << 10..256 << 20).contains(&bytes), "{source}: {bytes}");
        let how = found["sources"]["tasks.working_set_bytes"].as_str().unwrap();
        assert!(how.contains("clear_refs"), "{how}");
        let bounds = ["working-set", "slice-length"];
        assert!(bounds.iter().any(|from| found["cost"]["indirect_from"] == **from), "{}", found["cost"]);
    }
    let output = run(&mut record(home.path(), &[SUMMARY, "--", "sleep", "0.1"]));
    let found = summary(&with_summary(home.path(), &output), "");
    let gaps = found["unavailable"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["what"] == "tasks.working_set_bytes").unwrap();
    assert!(gap["why"].as_str().unwrap().contains("--working-set"), "{gap}");
}

/// The tasks that ran while a recorded task waited. Between a preemption and its return, each task in front has switches of its own, and
/// the time that it ran. Two of them, so that one switch is between tasks that were not recorded.
#[test]
fn a_wait_is_made_of_what_those_in_front_ran() {
    const TEST: &str = "a_wait_is_made_of_what_those_in_front_ran";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = home();
    let cpu = last_cpu();
    let spin = |script: &str| {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu, "sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        command
    };
    let _hogs: Vec<Running> = (0..2).map(|_| Running(spin("while :; do :; done").spawn().unwrap())).collect();
    let ours = spin("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    let mut recorder = record(home.path(), &["--events", "--no-profile", "-o", "front.swtch", "--"]);
    let output = run(recorder.arg(ours.get_program()).args(ours.get_args()));
    assert!(output.status.success(), "{}", stderr(&output));
    let trace = Trace::open(&home.path().join("front.swtch")).unwrap();
    let scope: BTreeSet<u32> = trace.tasks.iter().filter(|task| task.in_scope).map(|task| task.tid).collect();
    let (mut waited_ns, mut ran_ns, mut waits) = (0, 0, 0);
    // Since a recorded task was preempted on that CPU: what the others ran.
    let mut in_front_ns: Option<u64> = None;
    for row in trace.switches().map(Result::unwrap).filter(|row| row.cpu.to_string() == cpu) {
        if scope.contains(&row.prev_tid) {
            in_front_ns = (row.prev_state == PrevState::Runnable).then_some(0);
        } else if let Some(sum) = &mut in_front_ns {
            *sum += row.ran_ns.unwrap_or(0);
        }
        if scope.contains(&row.next_tid)
            && let (Some(waited), Some(in_front)) = (row.waited_ns, in_front_ns.take())
        {
            (waited_ns, ran_ns, waits) = (waited_ns + waited, ran_ns + in_front, waits + 1);
        }
    }
    let share = ran_ns as f64 / waited_ns as f64;
    assert!(waits >= 5, "{waits} waits: {}", stderr(&output));
    assert!(
        (0.5..1.01).contains(&share),
        "{waits} waits of {waited_ns} ns, {ran_ns} ns of them run by others"
    );
    // Unobserved values are absent, not 0.
    let export = ["export", "front.swtch", "--to", "csv", "--table", "switches"];
    let text = stdout(&run(swtch(home.path()).args(export)));
    let place = text.lines().next().unwrap().split(',').position(|name| name == "ran_ns").unwrap();
    let mut cells = text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap());
    assert!(cells.all(|cell| cell != "0"), "{text}");
}

#[test]
fn the_cost_comes_from_where_it_is_asked_from() {
    const TEST: &str = "the_cost_comes_from_where_it_is_asked_from";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = priced();
    let script = "for i in $(seq 20); do /bin/true; done";
    for mode in ["--events", "--counts"] {
        let arguments = [SUMMARY, mode, "--cost", "profile", "--", "sh", "-c", script];
        let found = summary(&with_summary(home.path(), &run(&mut record(home.path(), &arguments))), "");
        assert_eq!(found["cost"]["measured_in_place"], false, "{mode}");
        assert!(found["cost"]["direct_ns"]["low"].as_f64() > Some(0.0), "{}", found["cost"]);
        assert!(found["why"].as_str().unwrap().contains("as asked"), "{}", found["why"]);
        assert!(found["processes"]["forked"].as_u64() >= Some(20), "{}", found["processes"]);
        let gaps = found["unavailable"].as_array().unwrap();
        assert!(gaps.iter().any(|gap| gap["why"].as_str().unwrap().contains("--cost profile")), "{gaps:?}");
    }
}

#[test]
fn the_whole_machine_is_reconciled_with_the_kernel() {
    const TEST: &str = "the_whole_machine_is_reconciled_with_the_kernel";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = priced();
    let mut load = Command::new("sh")
        .args(["-c", "while :; do sleep 0.001; done"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let found = ["--events", "--counts"].map(|mode| {
        let output = run(&mut record(home.path(), &["-a", mode, "--duration", "1500ms", "--json"]));
        assert!(output.status.success(), "{}", stderr(&output));
        summary(&stdout(&output), "")
    });
    load.kill().unwrap();
    load.wait().unwrap();
    for found in &found {
        let row = &found["reconciliation"][0];
        let (counted, kernel) = (row["counted"].as_f64().unwrap(), row["kernel"].as_f64().unwrap());
        assert!(
            kernel > 500.0 && (counted / kernel - 1.0).abs() < 0.1,
            "{} {row} {}",
            found["context_switches"],
            found["losses"]
        );
        assert_eq!(found["ended"], "duration");
    }
    // Only with every event are interrupts timed.
    assert!(found[0]["interrupts"].as_array().unwrap().iter().any(|row| row["ns"].as_u64() > Some(0)));
}

/// A command that never ends is recorded for a time and asked to end. The time until it does so is not in the rates.
#[test]
fn a_duration_ends_the_command_and_its_own_end_is_not_counted() {
    let home = priced();
    let script = "trap 'sleep 2; exit 7' TERM; while :; do sleep 0.01; done";
    let began = Instant::now();
    let command = ["--duration", "700ms", "--json=summary.json", "--", "sh", "-c", script];
    let output = run(&mut record(home.path(), &command));
    let took_ns = began.elapsed().as_nanos() as u64;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = summary(&std::fs::read_to_string(home.path().join("summary.json")).unwrap(), "");
    assert_eq!((&found["ended"], &found["exit_status"]), (&"duration".into(), &Value::Null));
    let recorded_ns = found["duration_ns"].as_u64().unwrap();
    assert!((700_000_000..took_ns - 1_900_000_000).contains(&recorded_ns), "{recorded_ns} of {took_ns} ns");
}

/// A buffer that is far too small loses events; reported losses and events make up what happened.
#[test]
fn losses_are_counted() {
    const TEST: &str = "losses_are_counted";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = priced();
    let machine = || -> f64 {
        let stat = fs::read_to_string("/proc/stat").unwrap();
        stat.lines().find_map(|line| line.strip_prefix("ctxt ")).unwrap().parse().unwrap()
    };
    let script = "import os, threading\n\
        a, b = os.pipe(), os.pipe()\n\
        def echo():\n    for _ in range(30000): os.write(b[1], os.read(a[0], 1))\n\
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\n\
        thread = threading.Thread(target=echo); thread.start()\n\
        for _ in range(30000): os.write(a[1], b'x'); os.read(b[0], 1)\n\
        thread.join()\n\
        import resource; usage = resource.getrusage(resource.RUSAGE_SELF); print(usage.ru_nvcsw + usage.ru_nivcsw)\n";
    let arguments = [SUMMARY, "--buffer", "8K", "--", "python3", "-c", script];
    let before = machine();
    let output = run(&mut record(home.path(), &arguments));
    let in_machine = machine() - before;
    let text = with_summary(home.path(), &output);
    let Some(happened) = text.lines().next().and_then(|line| line.parse::<f64>().ok()) else {
        return skip(TEST, "no python3 here");
    };
    let found = summary(&text, &format!("{happened}\n"));
    let of = |kind: &str| -> f64 {
        let rows = found["losses"].as_array().unwrap();
        let of_kind = rows.iter().filter(|row| row["what"].as_str().unwrap().starts_with(kind));
        of_kind.map(|row| row["events"].as_f64().unwrap()).sum()
    };
    assert!(of("switches") > 0.0, "{}", found["losses"]);
    let trace = Trace::open(&home.path().join("python3.swtch")).unwrap();
    let ours: Vec<u32> = trace.tasks.iter().filter(|task| task.in_scope).map(|task| task.tid).collect();
    let mut all = 0.0;
    let came = trace.switches().inspect(|_| all += 1.0);
    let came = came.filter(|row| ours.contains(&row.as_ref().unwrap().prev_tid)).count() as f64;
    // Among the lost are also those of other tasks: into these, and between each other while these wait. No more than the machine had.
    let (seen, most) = (came + of("switches"), all + of("switches"));
    let text = format!("{came} came of {all}, {} lost, {happened} happened of {in_machine}", of("switches"));
    assert!(seen > 0.97 * happened && most <= in_machine, "{text}");
    println!("{text}");
}

#[test]
fn a_killed_recorder_leaves_what_it_saw() {
    let home = priced();
    let mut recorder = record(home.path(), &["-a", "-o", "cut.swtch"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let path = home.path().join("cut.swtch");
    // It brings the directory up to date every two seconds.
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(50));
        if Trace::open(&path).is_ok_and(|trace| trace.header.duration_ns > 0) {
            break;
        }
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert!(trace.is_unfinished() && trace.header.duration_ns > 0);
    if without_bpf().is_none() {
        assert!(!trace.tasks.is_empty() && trace.switches().all(|row| row.is_ok()));
    }
}

#[test]
fn wrong_wishes_are_one_line_and_leave_nothing() {
    let home = priced();
    for (arguments, status, words) in [
        (&[][..], 2, "no command given"),
        (&["-p", "4194303"], 1, "no process 4194303"),
        (&["-p", "web"], 2, "invalid value 'web'"),
        (&["--cgroup", "/no/such/group"], 1, "/no/such/group"),
        (&["-a", "--", "true"], 2, "cannot be used with"),
        (&["--source", "magic", "-a"], 2, "unknown source 'magic'"),
        (&["--price", "cheap", "-a"], 2, "'cheap' is not a price"),
        (&["--duration", "0s", "-a"], 2, "leaves nothing to record"),
        (&["--json", "--", "true"], 2, "--json=FILE"),
        (&["--json=-", "--", "true"], 2, "--json=FILE"),
        (&["--json=/dev/stdout", "--", "true"], 2, "--json=FILE"),
        (&["--json=/no/such/place/x.json", "--", "true"], 1, "/no/such/place"),
        (&["--profile", "/no/such.json", "--", "true"], 1, "cannot read /no/such.json"),
        (&["-o", "/no/such/place/x.swtch", "--", "true"], 1, "/no/such/place"),
    ] {
        let output = run(&mut record(home.path(), arguments));
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{arguments:?}: {complaint}");
        assert!(complaint.contains(words), "{arguments:?}: {complaint}");
        assert_eq!(crate::common::names(home.path()), ["swtch"], "{arguments:?}");
    }
    // A file that is not a Trace is not overwritten.
    fs::write(home.path().join("true.swtch"), "mine").unwrap();
    let output = run(&mut record(home.path(), &["--force", "-o", "true.swtch", "--", "true"]));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(home.path().join("true.swtch")).unwrap(), "mine");
}

/// The output of a command and the report about it do not mix.
#[test]
fn the_summary_goes_to_its_file_and_the_output_stays_the_commands() {
    let home = priced();
    let output = run(&mut record(
        home.path(),
        &["--source=procfs", "--json=summary.json", "--", "sh", "-c", "echo '{\"mine\": 1}'"],
    ));
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("{\"mine\": 1}\n", ""));
    let text = fs::read_to_string(home.path().join("summary.json")).unwrap();
    assert_eq!(summary(&text, "")["command"][0], "sh");
    // What records no command has standard output to itself.
    let output = run(&mut record(home.path(), &["-a", "--source=procfs", "--duration", "200ms", "--json"]));
    assert_eq!(summary(&stdout(&output), "")["ended"], "duration", "{}", stderr(&output));
}

/// One run says that it is one; a month is for what goes on.
#[test]
fn the_first_lines_say_that_it_is_one_run_and_what_it_rests_on() {
    let home = priced();
    of_another_machine(&home.path().join("swtch/profile.json"));
    let with = ["--source=procfs", "--price", "0.05/vcpu-hour"];
    let output = run(record(home.path(), &with).args(["--", "sh", "-c", "sleep 0.1; sleep 0.1"]));
    let text = stderr(&output);
    let first = text.split("\n\n").next().unwrap();
    assert!(first.starts_with("Context switches took"), "the answer stays first: {text}");
    assert!(first.contains("Note: this is one run"), "{text}");
    assert!(first.contains("this run's switches cost") && !text.contains("a month"), "{text}");
    assert!(first.contains("another machine or another state of it"), "{text}");
    let output = run(record(home.path(), &with).args(["-a", "--duration", "300ms"]));
    assert!(stdout(&output).contains("a month, if it goes on like this"), "{}", stdout(&output));
    assert!(!stdout(&output).contains("one run"), "{}", stdout(&output));
}

#[test]
fn an_older_trace_stays_unless_it_is_to_be_replaced() {
    let home = priced();
    let recorded = |arguments: &[&str]| {
        let output = run(record(home.path(), arguments).args(["--", "true"]));
        (output.status.code(), stderr(&output))
    };
    let started =
        |name: &str| Trace::open(&home.path().join(name)).unwrap().header.provenance.started_unix_ns;
    assert_eq!(recorded(&[]).0, Some(0));
    let first = started("true.swtch");
    let (status, said) = recorded(&[]);
    assert!(
        status == Some(0) && said.contains("true.swtch exists and is kept; this Trace is true-2.swtch"),
        "{said}"
    );
    assert_eq!((started("true.swtch"), started("true-2.swtch") > first), (first, true));
    let (status, said) = recorded(&["-o", "true.swtch"]);
    assert!(status == Some(1) && said.contains("--force") && said.trim_end().lines().count() == 1, "{said}");
    assert_eq!(started("true.swtch"), first);
    let (status, said) = recorded(&["--force", "-o", "true.swtch"]);
    assert!(status == Some(0) && said.contains("Trace: true.swtch"), "{said}");
    assert!(started("true.swtch") > first);
    assert_eq!(crate::common::names(home.path()), ["swtch", "true-2.swtch", "true.swtch"]);
}

#[test]
fn a_termination_signal_reaches_the_command() {
    let home = priced();
    let recorder = record(home.path(), &["--", "sleep", "1000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let path = home.path().join("sleep.swtch");
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-TERM", &recorder.id().to_string()]).status().unwrap().success());
    let output = recorder.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 15), "{}", stderr(&output));
    assert_eq!(Trace::open(&path).unwrap().header.exit_status, Some(128 + 15));
}

#[test]
fn thousands_of_short_processes_are_all_there() {
    const TEST: &str = "thousands_of_short_processes_are_all_there";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = priced();
    let script = "i=0; while [ $i -lt 500 ]; do /bin/true & /bin/true & /bin/true & /bin/true & wait; i=$((i+1)); done";
    for mode in
        [&["--events"][..], &["--events", "--defer"], &["--counts"], &["--counts", "--sample", "100%"]]
    {
        let output = run(record(home.path(), &[SUMMARY, "--force", "-o", "sh.swtch"])
            .args(mode)
            .args(["--", "sh", "-c", script]));
        let found = summary(&with_summary(home.path(), &output), "");
        let mode = mode.join(" ");
        assert_eq!(found["processes"]["forked"], 2001, "{mode}");
        // The kernel may refuse storage for a moment. That costs an arrival that would have been seen, of some ten thousand, and never a task.
        let lost_at_most = if mode.contains("--counts") { 5 } else { 0 };
        assert!(found["lost"].as_u64().unwrap() <= lost_at_most, "{mode}: {}", found["lost"]);
        assert_eq!(found["processes"]["exited"], 2001, "{mode}");
        let trace = Trace::open(&home.path().join("sh.swtch")).unwrap();
        assert_eq!(trace.tasks.iter().filter(|task| task.in_scope).count(), 2001, "{mode}");
    }
}

/// A cgroup of its own, which goes away while it is recorded.
#[test]
fn a_control_group_that_goes_away_ends_the_recording() {
    const TEST: &str = "a_control_group_that_goes_away_ends_the_recording";
    let name = format!("swtch-test-record-{}", std::process::id());
    let mounts = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    let Some(group) =
        mounts.iter().map(|mount| Path::new(mount).join(&name)).find(|path| fs::create_dir(path).is_ok())
    else {
        return skip(TEST, "no cgroup can be made here");
    };
    let mut inside = Command::new("sh")
        .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec sleep 1000"])
        .arg(&group)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let members = || fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    while members().is_empty() && inside.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let home = priced();
    let recorder = record(home.path(), &["--json", "-o", "group.swtch", "--cgroup", group.to_str().unwrap()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    inside.kill().unwrap();
    inside.wait().unwrap();
    // The kernel may still be letting go of the task.
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        fs::remove_dir(&group).is_ok()
    });
    assert!(gone, "{} could not be removed", group.display());
    let output = recorder.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let found = summary(&stdout(&output), "");
    assert_eq!(found["ended"], "target-gone");
    let trace = Trace::open(&home.path().join("group.swtch")).unwrap();
    assert!(trace.tasks.iter().any(|task| task.comm == "sleep"), "{:?}", trace.tasks);
}

/// What lasts longer than events are kept is counted from then on, and the two parts make up the whole.
#[test]
fn events_become_counts_without_a_gap() {
    const TEST: &str = "events_become_counts_without_a_gap";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = priced();
    let script = "i=0; while [ $i -lt 300 ]; do sleep 0.001; i=$((i+1)); done; while read -r name count; do case $name in \
         *ctxt*) echo $count;; esac; done < /proc/$$/status";
    let output = run(&mut record(
        home.path(),
        &[SUMMARY, "--events-for", "400ms", "--sample", "100%", "--", "sh", "-c", script],
    ));
    let text = with_summary(home.path(), &output);
    let printed: Vec<u64> = text.lines().take(2).map(|line| line.parse().unwrap()).collect();
    let found = summary(&text, &format!("{}\n{}\n", printed[0], printed[1]));
    let tasks = found["tasks"].as_array().unwrap();
    let shells: Vec<&Value> =
        tasks.iter().filter(|task| task["comm"] == "sh" && task["voluntary"].as_u64() > Some(30)).collect();
    assert_eq!(shells.len(), 1, "one row for one task");
    let voluntary = shells[0]["voluntary"].as_u64().unwrap();
    // The handover may miss or see twice what falls into it, and after it printed, the shell ends.
    assert!((printed[0] - 2..=printed[0] + 6).contains(&voluntary), "{voluntary} for {printed:?}");
    assert_eq!(found["processes"]["forked"], 301, "{}", found["processes"]);
    assert_eq!(found["lost"], 0);
    assert_eq!(found["source"], "bpf");
    assert!(shells[0]["wait_ns"]["p50"].is_number(), "{}", shells[0]);
    let trace = Trace::open(&home.path().join("sh.swtch")).unwrap();
    assert_eq!(trace.header.provenance.recorder, "bpf-events-then-counts");
    let intervals = &trace.intervals;
    let counted: u64 = intervals.iter().filter_map(|row| row.voluntary).sum();
    let totals = &trace.header.totals;
    let all = totals.context_switches.voluntary.unwrap();
    assert!(counted.abs_diff(all) <= 20, "{counted} over time for {all}");
    assert!(totals.switch_cost_ns > Some(0));
    let missing = &trace.header.unavailable;
    assert!(missing.iter().any(|row| row.field.as_str().starts_with("switches after ")), "{missing:?}");
}
