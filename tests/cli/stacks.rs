//! `swtch record --stacks` names the code that switches, in programs of five languages made for it: `programs/stacks.*`.

use crate::common::{Home, home, json, run, skip, stderr, stdout, swtch, without_bpf};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROUNDS: u64 = 300;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/programs").join(name)
}

/// Runs a compiler; whether it is there.
fn compiled(command: &mut Command) -> bool {
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", stderr(&output));
            true
        }
        Err(_) => false,
    }
}

/// The summary of a recording with stacks, and what it printed.
fn recorded(home: &Home, more: &[&str], command: &[&str]) -> Value {
    let mut recorder = swtch(home.path());
    recorder.args([
        "record",
        "--no-profile",
        "--stacks",
        "--json=summary.json",
        "-o",
        "run.swtch",
        "--force",
    ]);
    let output = run(recorder.args(more).arg("--").args(command));
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&fs::read_to_string(home.path().join("summary.json")).unwrap()).unwrap()
}

/// Switches by function, of one reason, the most first; only those of the program's own tasks.
fn functions(summary: &Value, reason: &str) -> Vec<(String, u64)> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for row in summary["stacks"].as_array().unwrap().iter().filter(|row| row["reason"] == reason) {
        let (function, switches) = (row["function"].as_str().unwrap(), row["switches"].as_u64().unwrap());
        match sums.iter_mut().find(|(name, _)| name == function) {
            Some((_, sum)) => *sum += switches,
            None => sums.push((function.to_owned(), switches)),
        }
    }
    sums.sort_by_key(|(_, switches)| std::cmp::Reverse(*switches));
    sums
}

/// The stack at which tasks slept most often.
fn most_frequent(summary: &Value) -> &Value {
    summary["stacks"].as_array().unwrap().iter().find(|row| row["reason"] == "voluntary").unwrap()
}

/// The culprit comes first, with a switch for each sleep. Code that is compiled while it runs has a name later than its first switches.
fn names_the_culprit(summary: &Value, least: u64) {
    let found = functions(summary, "voluntary");
    // The runtimes of Go, Node.js and Java have threads of their own, which sleep the more often the longer the program takes.
    let of_runtime = |name: &str| {
        ["runtime.", "v8::", "node::", "uv_", "os::"].iter().any(|start| name.starts_with(start))
    };
    let (function, switches) = found.iter().find(|(name, _)| !of_runtime(name)).unwrap();
    assert!(function.contains("culprit"), "{found:?}");
    assert!((least..=ROUNDS + 30).contains(switches), "{found:?}");
}

#[test]
fn the_code_that_switches_is_named_with_and_without_frame_pointers() {
    let test = "the_code_that_switches_is_named_with_and_without_frame_pointers";
    if let Some(why) = without_bpf() {
        return skip(test, &why);
    }
    let home = home();
    let program = home.path().join("program");
    for pointers in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-pthread", pointers, "-o"]).arg(&program).arg(source("stacks.c"));
        if !compiled(&mut compiler) {
            return skip(test, "no C compiler here");
        }
        let summary = recorded(&home, &[], &["./program", "300"]);
        names_the_culprit(&summary, ROUNDS * 9 / 10);
        let voluntary = functions(&summary, "voluntary");
        let of =
            |name: &str| voluntary.iter().find(|(function, _)| function == name).map_or(0, |found| found.1);
        assert!((15..=33).contains(&of("minor")), "{voluntary:?}");
        // Two threads take turns; on one CPU each turn is a switch, and on two a byte may be there already.
        assert!(
            of("hand_over") > 0 && functions(&summary, "wake").iter().any(|(name, _)| name == "hand_over")
        );
        // Each switch that the kernel counts has a stack.
        let stacks: u64 = voluntary.iter().map(|(_, switches)| switches).sum();
        let counted: u64 =
            summary["tasks"].as_array().unwrap().iter().map(|task| task["voluntary"].as_u64().unwrap()).sum();
        assert!(stacks.abs_diff(counted) <= 10 && summary["lost"] == 0, "{stacks} of {counted}");
        let row = most_frequent(&summary);
        let frames: Vec<&str> =
            row["frames"].as_array().unwrap().iter().map(|frame| frame.as_str().unwrap()).collect();
        let place = |name: &str| frames.iter().position(|frame| *frame == name);
        assert!(
            place("main") < place("culprit") && place("culprit") < place("clock_nanosleep"),
            "{frames:?}"
        );
        assert!(frames.last().unwrap().ends_with("_[k]"), "{frames:?}");
        assert!(row["off_cpu_ns"].as_u64() >= Some(ROUNDS * 9 / 10 * 200_000), "{row}");
        assert!(row["wait_ns"].as_u64() <= row["off_cpu_ns"].as_u64());
    }
    exports(&home);
    a_full_table_is_counted(&home);
    a_stripped_program_is_named(&home, &program);
}

/// What the Trace in `home` is handed to other programs as.
fn exports(home: &Home) {
    let output =
        run(swtch(home.path()).args(["export", "run.swtch", "--to", "folded", "--weight", "switches"]));
    let text = stdout(&output);
    let culprit: u64 = text
        .lines()
        .filter(|line| line.starts_with("program;voluntary;") && line.contains(";main;culprit;"))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert!((ROUNDS * 9 / 10..=ROUNDS).contains(&culprit), "{text}");
    let table =
        json(swtch(home.path()).args(["export", "run.swtch", "--to", "pprof", "-o", "run.pb.gz", "--json"]));
    let unpacked = run(Command::new("gzip").arg("-dc").arg(home.path().join("run.pb.gz"))).stdout;
    assert!(String::from_utf8_lossy(&unpacked).contains("culprit") && table["stacks"].as_u64() > Some(3));
    let mut go = Command::new("go");
    go.args(["tool", "pprof", "-top", "-sample_index=switches"]).arg(home.path().join("run.pb.gz"));
    match go.output() {
        // The flat figures are those of the innermost function, which is the kernel's.
        Ok(output) => assert!(stdout(&output).contains("schedule_[k]"), "{}", stderr(&output)),
        Err(_) => skip("exports (pprof)", "no Go here"),
    }
    let speedscope = stdout(&run(swtch(home.path()).args(["export", "run.swtch", "--to", "speedscope"])));
    let speedscope: Value = serde_json::from_str(&speedscope).unwrap();
    let switches = &speedscope["profiles"][1];
    assert_eq!(switches["name"], "switches");
    let weights = switches["weights"].as_array().unwrap().iter().map(|weight| weight.as_u64().unwrap());
    assert_eq!(Some(weights.sum::<u64>()), switches["endValue"].as_u64());
    let output = run(swtch(home.path()).args(["export", "run.swtch", "--to", "csv", "--weight", "wait"]));
    assert!(stderr(&output).contains("--weight goes with --to folded"), "{}", stderr(&output));
}

fn a_full_table_is_counted(home: &Home) {
    let summary = recorded(home, &["--stack-entries", "2"], &["./program", "20"]);
    let losses = summary["losses"].as_array().unwrap();
    let full = losses.iter().find(|row| row["what"].as_str().unwrap().contains("--stack-entries")).unwrap();
    let seen: u64 =
        summary["stacks"].as_array().unwrap().iter().map(|row| row["switches"].as_u64().unwrap()).sum();
    assert!(
        summary["stacks"].as_array().unwrap().len() <= 2 && full["events"].as_u64().unwrap() > 0,
        "{seen}"
    );
}

fn a_stripped_program_is_named(home: &Home, program: &Path) {
    if !compiled(Command::new("strip").arg(program)) {
        return skip("a_stripped_program_is_named", "no strip here");
    }
    let summary = recorded(home, &[], &["./program", "20"]);
    let missing = summary["unavailable"].as_array().unwrap();
    let frames = missing.iter().find(|row| row["what"] == "stacks.frames").unwrap();
    assert!(frames["why"].as_str().unwrap().contains("/program"), "{frames}");
    // The address and the build id stay, so that it can be looked up later.
    let (function, _) = &functions(&summary, "voluntary")[0];
    assert!(function.starts_with("program+0x") && function.contains("[build id "), "{function}");
    // Callers are known without symbols.
    assert!(most_frequent(&summary)["frames"].as_array().unwrap().len() > 8, "{}", summary["stacks"][0]);
}

#[test]
fn a_trace_without_stacks_says_what_records_them() {
    let home = home();
    let mut recorder = swtch(home.path());
    let output =
        run(recorder.args(["record", "--no-profile", "--source=procfs", "-o", "run.swtch", "--", "true"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let output = run(swtch(home.path()).args(["export", "run.swtch", "--to", "folded"]));
    assert!(stderr(&output).contains("swtch record --stacks"), "{}", stderr(&output));
}

#[test]
fn the_code_of_other_languages_is_named() {
    let test = "the_code_of_other_languages_is_named";
    if let Some(why) = without_bpf() {
        return skip(test, &why);
    }
    let home = home();
    let program = home.path().join("program");
    for pointers in ["no", "yes"] {
        let pointers = format!("force-frame-pointers={pointers}");
        let mut compiler = Command::new("rustc");
        compiler.args(["--edition=2021", "-O", "-C", &pointers, "-o"]).arg(&program).arg(source("stacks.rs"));
        if compiled(&mut compiler) {
            names_the_culprit(&recorded(&home, &[], &["./program"]), ROUNDS / 2);
        } else {
            skip(test, "no rustc here");
        }
    }
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program).arg(source("stacks.go")).env("GOFLAGS", "-mod=mod");
    if compiled(&mut go) {
        names_the_culprit(&recorded(&home, &[], &["./program"]), ROUNDS / 2);
    } else {
        skip(test, "no Go here");
    }
    let script = |name: &str| source(name).to_str().unwrap().to_owned();
    match python() {
        Some(python) => names_the_culprit(
            &recorded(&home, &[], &[&python, "-X", "perf", &script("stacks.py")]),
            ROUNDS / 2,
        ),
        None => skip(test, "no Python that writes names for perf (3.12 and later)"),
    }
    if compiled(Command::new("node").arg("--version")) {
        names_the_culprit(
            &recorded(&home, &[], &["node", "--perf-basic-prof", &script("stacks.js")]),
            ROUNDS / 2,
        );
    } else {
        skip(test, "no Node.js here");
    }
}

#[test]
fn the_code_of_java_is_named() {
    let test = "the_code_of_java_is_named";
    if let Some(why) = without_bpf() {
        return skip(test, &why);
    }
    let home = home();
    let mut compiler = Command::new("javac");
    if !compiled(compiler.arg("-d").arg(home.path()).arg(source("Stacks.java"))) {
        return skip(test, "no javac here");
    }
    // Each method of the program is compiled before its first call, by itself, so that a short program suffices.
    let compiled = ["-Xcomp", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Stacks::*"];
    let apart = ["-XX:CompileCommand=dontinline,Stacks::*", "-XX:+PreserveFramePointer"];
    let named = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-cp", ".", "Stacks"];
    let summary = recorded(&home, &[], &[&["java"], &compiled[..], &apart[..], &named[..]].concat());
    names_the_culprit(&summary, ROUNDS / 2);
}

#[test]
fn files_of_another_mount_namespace_are_read() {
    let test = "files_of_another_mount_namespace_are_read";
    if let Some(why) = without_bpf() {
        return skip(test, &why);
    }
    let home = home();
    let program = home.path().join("program");
    let mut compiler = Command::new("cc");
    if !compiled(compiler.args(["-O2", "-pthread", "-o"]).arg(&program).arg(source("stacks.c"))) {
        return skip(test, "no C compiler here");
    }
    fs::create_dir(home.path().join("inside")).unwrap();
    // Only this command sees the mount, which goes with it.
    let hidden = "mount -t tmpfs none inside && cp program inside/hidden && exec inside/hidden 2000";
    let can = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none"]).arg(home.path()).output();
    match can {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip(test, &stderr(&output)),
        Err(_) => return skip(test, "no unshare here"),
    }
    let summary = recorded(&home, &[], &["unshare", "-m", "sh", "-c", hidden]);
    assert!(fs::read_dir(home.path().join("inside")).unwrap().next().is_none(), "the file was seen here");
    let found = functions(&summary, "voluntary");
    assert_eq!(found[0].0, "culprit", "{found:?}");
    assert!(found[0].1 >= 1000, "{found:?}");
}

/// Functions of `programs/offcpu.c`, by their time off the CPU.
const SLEEPERS: [&str; 4] = ["fetch_order", "store_order", "refresh_cache", "write_log"];

/// Two tools that share no code with this one watch the same process at the same time: BCC's offcputime and a line of bpftrace.
#[test]
fn other_tools_name_the_same_three_functions_first() {
    let test = "other_tools_name_the_same_three_functions_first";
    if let Some(why) = without_bpf() {
        return skip(test, &why);
    }
    let home = home();
    let program = home.path().join("program");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-fno-omit-frame-pointer", "-o"]).arg(&program).arg(source("offcpu.c"));
    if !compiled(&mut compiler) {
        return skip(test, "no C compiler here");
    }
    let mut program = Command::new(program).stdin(Stdio::piped()).spawn().unwrap();
    let pid = program.id().to_string();
    let line = format!(
        "tracepoint:sched:sched_switch {{
             if (pid == {pid}) {{ @out[tid] = nsecs; @stack[tid] = ustack; }}
             if (@out[args->next_pid]) {{
                 @off[@stack[args->next_pid]] = sum(nsecs - @out[args->next_pid]);
                 delete(@out[args->next_pid]);
             }}
         }}
         interval:s:2 {{ exit(); }}"
    );
    let peers = [("offcputime", vec!["-p", &pid, "2"]), ("bpftrace", vec!["-e", &line])];
    let running = peers.map(|(name, words)| {
        let mut peer = Command::new(name);
        (name, peer.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn())
    });
    let mut recorder = swtch(home.path());
    recorder.args(["record", "--no-profile", "--stacks", "--json=summary.json", "--duration=2s", "-p", &pid]);
    let recorded = run(&mut recorder);
    let ended = running.map(|(name, peer)| (name, peer.map(|peer| peer.wait_with_output().unwrap())));
    drop(program.stdin.take());
    program.wait().unwrap();
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let summary = fs::read_to_string(home.path().join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let mut times = [0; SLEEPERS.len()];
    for row in summary["stacks"].as_array().unwrap().iter().filter(|row| row["reason"] != "wake") {
        let is_in = |name: &str| row["frames"].as_array().unwrap().iter().any(|frame| frame == name);
        if let Some(place) = SLEEPERS.iter().position(|name| is_in(name)) {
            times[place] += row["off_cpu_ns"].as_u64().unwrap();
        }
    }
    let ours = first_three("swtch", times);
    assert_eq!((ours[0], &ours), ("fetch_order", &first_three("expected", [4, 3, 2, 1])));
    for (name, output) in ended {
        match output {
            Ok(output) if output.status.success() => {
                assert_eq!(
                    first_three(name, sleepers(&stdout(&output))),
                    ours,
                    "{name}: {}",
                    stdout(&output)
                );
            }
            Ok(output) => skip(test, &format!("{name} does not run here: {}", stderr(&output).trim())),
            Err(_) => skip(test, &format!("no {name} here (Debian's libbpf-tools and bpftrace have them)")),
        }
    }
}

/// Times by function in stacks as text: frames by line, then the time.
fn sleepers(text: &str) -> [u64; SLEEPERS.len()] {
    let (mut times, mut place) = ([0; SLEEPERS.len()], None);
    for line in text.lines().map(str::trim) {
        let name = line.split('+').next().unwrap();
        place = SLEEPERS.iter().position(|known| *known == name).or(place);
        if let Ok(time) = line.trim_start_matches("]:").trim().parse::<u64>()
            && let Some(place) = place.take()
        {
            times[place] += time;
        }
    }
    times
}

/// The first three by time, sorted by name below the first: in a short time two may change places.
fn first_three(tool: &str, times: [u64; SLEEPERS.len()]) -> Vec<&'static str> {
    let all = times.iter().sum::<u64>() as f64;
    let mut places: Vec<usize> = (0..times.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(times[*place]));
    let shares = places
        .iter()
        .map(|place| format!("{} {:.1} %", SLEEPERS[*place], 100.0 * times[*place] as f64 / all));
    println!("{tool}: {}", shares.collect::<Vec<_>>().join(", "));
    let mut first: Vec<&str> = places.iter().take(3).map(|place| SLEEPERS[*place]).collect();
    first[1..].sort_unstable();
    first
}

/// A Python that writes names for perf.
fn python() -> Option<String> {
    let versions = fs::read_dir(std::env::var_os("HOME").map(PathBuf::from)?.join(".pyenv/versions"));
    let own = versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python3"));
    let known = own.map(|path| path.to_string_lossy().into_owned()).chain(["python3".to_owned()]);
    known.into_iter().find(|python| {
        let asked = Command::new(python)
            .args(["-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())"])
            .output();
        asked.is_ok_and(|output| output.status.success())
    })
}
