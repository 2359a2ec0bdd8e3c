//! `swtch simulate` from end to end.

use crate::common::{fixture, home, json, names, run, stderr, stdout, swtch};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};
use swtch_trace::Trace;
use swtch_trace::model::{Ended, Origin};

const HACKBENCH: [&str; 7] = ["hackbench", "--groups", "1", "--loops", "5", "--machine", "8"];

fn simulate(home: &Path, arguments: &[&str]) -> Output {
    run(swtch(home).arg("simulate").args(arguments))
}

fn found(home: &Path, arguments: &[&str]) -> Value {
    json(swtch(home).arg("simulate").args(arguments).arg("--json"))
}

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    first.iter().chain(more).copied().collect()
}

/// The status and the one line of what must fail.
fn refused(home: &Path, arguments: &[&str]) -> (i32, String) {
    let output = simulate(home, arguments);
    let line = stderr(&output);
    assert_eq!(line.lines().count(), 1, "{arguments:?}: {line}");
    assert!(stdout(&output).is_empty(), "{arguments:?}");
    (output.status.code().unwrap(), line)
}

#[test]
fn the_table_has_a_row_a_policy() {
    let home = home();
    let output = simulate(home.path(), &with(&HACKBENCH, &["--policies", "eevdf,cfs,rr,fifo", "--hooks"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("hackbench (40 tasks) on uniform:8 (8 CPUs), seed 1"), "{text}");
    for policy in ["eevdf", "cfs", "rr", "fifo"] {
        let rows = text.lines().filter(|line| line.starts_with(&format!("{policy} "))).count();
        assert_eq!(rows, 2, "{policy}: {text}");
    }
    for words in ["makespan", "CPU time", "pick_next", "Assumed:", "swtch measure"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn the_json_has_its_fields_and_is_the_same_again_but_for_the_time_it_took() {
    let home = home();
    let mut first = found(home.path(), &with(&HACKBENCH, &["--policies", "eevdf,rr", "--seed", "7"]));
    let mut second = found(home.path(), &with(&HACKBENCH, &["--policies", "eevdf,rr", "--seed", "7"]));
    assert_eq!((first["schema"].as_str(), first["seed"].as_u64()), (Some("swtch/simulate/1"), Some(7)));
    assert_eq!(first["machine"]["cpus"], 8);
    assert_eq!(first["workload"]["name"], "hackbench");
    assert!(!first["assumptions"].as_array().unwrap().is_empty());
    for found in [&mut first, &mut second] {
        for run in found["runs"].as_array_mut().unwrap() {
            let seconds = run.as_object_mut().unwrap().remove("wall_seconds").unwrap();
            assert!(seconds.as_f64().unwrap() >= 0.0);
        }
    }
    assert_eq!(first.to_string(), second.to_string());
    let run = &first["runs"][0];
    assert_eq!(run["policy"], "eevdf");
    for name in ["makespan_ns", "context_switches", "voluntary", "involuntary", "migrations", "events"] {
        assert!(run[name].is_u64(), "{name}");
    }
    assert!(run["complete"].as_bool().unwrap() && run["spin_share"].is_f64());
    for name in ["p50", "p90", "p99"] {
        assert!(run["wait_ns"][name].is_u64(), "{name}");
    }
    assert_eq!(run["hooks"].as_array().unwrap().len(), 9);
    assert_eq!(run["tasks"][0]["name"], "receiver");
    let times = run["cpu_ns"].as_object().unwrap().values().map(|ns| ns.as_u64().unwrap());
    assert_eq!(times.sum::<u64>(), 8 * run["makespan_ns"].as_u64().unwrap());
}

#[test]
fn applications_are_compared_with_max_fair() {
    let home = home();
    let mix = ["mix", "--speedups", "3,2.5,2,1.5,1.2,1.1", "--work", "50ms", "--machine", "2f4s"];
    let found = found(home.path(), &with(&mix, &["--policies", "eevdf,max-fair,min-fair:min-fairness=0.9"]));
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run["fairness"]["relative_to"], "max-fair");
        assert_eq!(run["fairness"]["applications"].as_array().unwrap().len(), 6);
    }
    assert_eq!(runs[1]["fairness"]["throughput"], 1.0);
    assert_eq!(runs[2]["policy"], "min-fair:min-fairness=0.9");
}

#[test]
fn costs_come_from_a_profile() {
    let home = home();
    let profile = fixture("profiles/server.json");
    let arguments = with(&HACKBENCH, &["--profile", profile.to_str().unwrap()]);
    let found = found(home.path(), &arguments);
    assert_eq!(found["costs"], "the Profile");
    let assumed = found["assumptions"].as_array().unwrap();
    assert!(assumed.iter().any(|one| one["what"] == "tick_period_ns"), "{assumed:?}");
}

#[test]
fn a_trace_can_be_read_reported_exported_and_priced() {
    let home = home();
    let found = found(home.path(), &with(&HACKBENCH, &["--policies", "eevdf,rr", "--out", "traces"]));
    assert_eq!(names(&home.path().join("traces")), ["eevdf.swtch", "rr.swtch"]);
    let trace = Trace::open(&home.path().join("traces/eevdf.swtch")).unwrap();
    let run = &found["runs"][0];
    let header = &trace.header;
    assert_eq!((header.provenance.origin, header.provenance.ended), (Origin::Simulated, Ended::Complete));
    assert_eq!(header.provenance.recorder, "swtch simulate");
    assert_eq!(run["makespan_ns"], header.duration_ns);
    assert_eq!(run["voluntary"], header.totals.context_switches.voluntary.unwrap());
    assert_eq!(run["involuntary"], header.totals.context_switches.involuntary.unwrap());
    assert_eq!(run["from_idle"], header.totals.context_switches.idle.unwrap());
    let moves = &header.totals.migrations;
    let migrations = [moves.same_l2, moves.same_l3, moves.across].map(Option::unwrap).iter().sum::<u64>();
    assert_eq!(run["migrations"], migrations);
    let switches: Result<Vec<_>, _> = trace.switches().collect();
    let all = ["voluntary", "involuntary", "from_idle"].map(|name| run[name].as_u64().unwrap());
    assert_eq!(switches.unwrap().len() as u64, all.iter().sum::<u64>());
    assert_eq!(trace.tasks.iter().filter(|task| task.in_scope).count(), 40);
    assert!(trace.tasks.iter().any(|task| task.comm == "sender-0-7"));
    assert_eq!(header.host.cpus.len(), 8);

    let server = fixture("profiles/server.json");
    let page = ["report", "traces/eevdf.swtch", "traces/rr.swtch", "-o", "page.html"];
    let reported = run_in(home.path(), &with(&page, &["--profile", server.to_str().unwrap()]));
    assert!(reported.contains("page.html"));
    assert!(fs::read_to_string(home.path().join("page.html")).unwrap().contains("sender-0"));
    for form in
        [&["--to", "perfetto", "-o", "a.pftrace"][..], &["--to", "csv", "--table", "tasks", "-o", "a.csv"]]
    {
        run_in(home.path(), &with(&["export", "traces/eevdf.swtch"], form));
    }
    assert!(fs::read_to_string(home.path().join("a.csv")).unwrap().contains("receiver-0-3"));
}

fn run_in(home: &Path, arguments: &[&str]) -> String {
    let output = run(swtch(home).args(arguments));
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn the_same_run_gives_the_same_trace() {
    let home = home();
    for out in ["a", "b"] {
        run_in(home.path(), &with(&["simulate"], &with(&HACKBENCH, &["--out", out])));
    }
    let of = |out: &str, file: &str| fs::read(home.path().join(out).join("eevdf.swtch").join(file)).unwrap();
    for file in names(&home.path().join("a/eevdf.swtch")) {
        assert!(of("a", &file) == of("b", &file), "{file} differs");
    }
}

/// Causes and effects survive: a run, its Trace, and that Trace's replay under the same policy agree.
#[test]
fn a_replay_of_a_simulated_trace_is_like_the_run() {
    let home = home();
    let npb = ["npb", "--threads", "8", "--scale", "0.02", "--waiting", "block", "--machine", "4"];
    let ping_pong = ["ping-pong", "--loops", "500", "--machine", "2"];
    let spin = ["spin", "--work", "20ms", "--machine", "4"];
    for (workload, out) in [(&npb[..], "npb"), (&ping_pong[..], "ping-pong"), (&spin[..], "spin")] {
        for policy in ["eevdf", "cfs", "rr"] {
            run_in(home.path(), &with(&["simulate"], &with(workload, &["--policies", policy, "--out", out])));
            let folder = format!("{out}/{policy}.swtch");
            let replay = ["replay", &folder, "--policies", policy];
            let found = found(home.path(), &replay);
            assert_eq!(found["recorded"]["policy"], policy);
            let recorded = found["recorded"]["makespan_ns"].as_f64().unwrap();
            let replayed = found["runs"][0]["makespan_ns"].as_f64().unwrap();
            let ratio = replayed / recorded;
            // Charges for calls are taken off recorded times by their means; the order at a barrier may differ.
            assert!((0.9..1.1).contains(&ratio), "{out} under {policy}: {ratio}");
        }
    }
    let text = run_in(home.path(), &["simulate", "replay", "spin/cfs.swtch", "--policies", "cfs,rr"]);
    assert!(
        text.contains("\nrecorded ")
            && text.contains("Error of the replay under cfs, the policy of the recording: makespan"),
        "{text}"
    );
}

#[test]
fn a_recording_of_a_real_machine_is_replayed_on_its_machine() {
    let home = home();
    let trace = fixture("traces/machine.swtch");
    let found = found(home.path(), &["replay", trace.to_str().unwrap(), "--policies", "eevdf,cfs"]);
    let header = Trace::open(&trace).unwrap().header;
    assert_eq!(found["machine"]["cpus"], header.host.cpus.iter().filter(|cpu| cpu.online).count());
    assert_eq!(found["recorded"]["makespan_ns"], header.duration_ns);
    assert_eq!(found["runs"].as_array().unwrap().len(), 2);
    let sampled = fixture("traces/procfs.swtch");
    let (status, line) = refused(home.path(), &["replay", sampled.to_str().unwrap()]);
    assert!(status != 0 && line.contains("the source procfs, which sees no single switch"), "{line}");
}

#[test]
fn specifications_come_from_files() {
    let home = home();
    let text = "machine = 2\npolicies = [\"rr\", \"cfs\"]\nduration = \"50ms\"\n[[task]]\nname = \"a\"\ncount = 3\nprogram = \"forever { compute 1ms }\"\n";
    fs::write(home.path().join("a.toml"), text).unwrap();
    let found_toml = found(home.path(), &["a.toml"]);
    assert_eq!(found_toml["runs"][1]["policy"], "cfs");
    assert_eq!(
        (&found_toml["runs"][0]["complete"], &found_toml["runs"][0]["makespan_ns"]),
        (&false.into(), &50_000_000.into())
    );
    let output = std::process::Command::new("sh")
        .args(["-c", "\"$0\" simulate - --json < a.toml", env!("CARGO_BIN_EXE_swtch")])
        .current_dir(home.path())
        .output()
        .unwrap();
    let piped: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(piped["runs"][1]["makespan_ns"], found_toml["runs"][1]["makespan_ns"]);
    let rt_app = r#"{ "tasks": { "worker": { "instance": 2, "loop": 10, "run": 1000, "sleep": 500 } } }"#;
    fs::write(home.path().join("a.json"), rt_app).unwrap();
    let found_json = found(home.path(), &["a.json", "--machine", "2"]);
    assert_eq!(found_json["workload"]["tasks"], 2);
}

#[test]
fn a_signal_ends_a_long_run_and_leaves_no_trace() {
    let home = home();
    let long = ["spin", "--work", "0", "--duration", "1000h", "--machine", "64", "--out", "traces"];
    let mut child =
        swtch(home.path()).arg("simulate").args(long).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let began = Instant::now();
    let status = child.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(status.code(), Some(1));
    let left: Vec<_> = names(&home.path().join("traces"));
    assert!(left.is_empty(), "{left:?}");
}

const SWEEP: &str = "machines = [\"2f4s\", 4]\npolicies = [\"eevdf\", \"rr\", \"flsched\"]\nseeds = [1, 2]\n\
    workloads = [\"spin:tasks=4,work_ns=1ms\"]\n[[grid]]\nworkload = \"hackbench\"\ngroups = [1, 2]\nloops = 2\n";

/// Number, workload, policy and makespan of each run of a table.
fn rows(file: &Path) -> Vec<(i64, String, String, Option<i64>)> {
    let reader = SerializedFileReader::new(fs::File::open(file).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    let text = |row: &parquet::record::Row, place| row.get_string(place).unwrap().clone();
    rows.map(|row| (row.get_long(0).unwrap(), text(&row, 2), text(&row, 3), row.get_long(6).ok())).collect()
}

#[test]
fn a_sweep_is_the_same_whatever_the_threads_and_its_parts_make_it() {
    let home = home();
    fs::write(home.path().join("sweep.toml"), SWEEP).unwrap();
    let sweep = |out: &str, more: &[&str]| {
        run_in(home.path(), &with(&["simulate", "--sweep", "sweep.toml", "--out", out], more))
    };
    assert!(sweep("a.parquet", &["-j", "1"]).starts_with("36 runs in a.parquet, 36 of them run now"));
    sweep("b.parquet", &["-j", "7"]);
    let bytes = |name: &str| fs::read(home.path().join(name)).unwrap();
    assert!(bytes("a.parquet") == bytes("b.parquet"));
    // Existing runs are not repeated.
    assert!(sweep("a.parquet", &[]).starts_with("36 runs in a.parquet, 0 of them run now"));
    let whole = rows(&home.path().join("a.parquet"));
    assert_eq!(whole.len(), 36);
    assert!(whole.iter().zip(0..).all(|(row, run)| row.0 == run && row.3.is_some()));
    let mut parts = Vec::new();
    for part in ["1/3", "2/3", "3/3"] {
        let out = format!("part-{}.parquet", &part[..1]);
        sweep(&out, &["--shard", part]);
        parts.extend(rows(&home.path().join(out)));
    }
    parts.sort();
    assert_eq!(parts, whole);
    assert!(!names(home.path()).iter().any(|name| name.contains(".runs")));
    // Another sweep does not take its place.
    fs::write(home.path().join("sweep.toml"), SWEEP.replace("[1, 2]\nwork", "[1, 3]\nwork")).unwrap();
    let (status, line) = refused(home.path(), &["--sweep", "sweep.toml", "--out", "a.parquet"]);
    assert!(status == 2 && line.contains("another sweep"), "{line}");
    let (status, line) = refused(home.path(), &["--sweep", "sweep.toml", "--out", "sweep.toml"]);
    assert!(status == 2 && line.contains("not a table of a sweep"), "{line}");
}

#[test]
fn a_sweep_that_was_killed_goes_on() {
    let home = home();
    let text = SWEEP.replace("[1, 2]\nloops = 2", "[5]\nloops = 300");
    fs::write(home.path().join("sweep.toml"), &text).unwrap();
    let arguments = ["simulate", "--sweep", "sweep.toml", "--out", "a.parquet", "-j", "1"];
    let mut child = swtch(home.path()).args(arguments).spawn().unwrap();
    let runs = home.path().join("a.parquet.runs");
    let began = Instant::now();
    // The identity, and at least three runs.
    while fs::read_to_string(&runs).unwrap_or_default().lines().count() < 4 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!home.path().join("a.parquet").exists());
    // As if it had been killed in the middle of a line.
    let mut kept = fs::read_to_string(&runs).unwrap();
    kept.push_str("{\"run\":3");
    fs::write(&runs, kept).unwrap();
    let text = run_in(home.path(), &arguments);
    assert!(text.starts_with("24 runs") && !text.contains("24 of them"), "{text}");
    run_in(home.path(), &["simulate", "--sweep", "sweep.toml", "--out", "b.parquet"]);
    let bytes = |name: &str| fs::read(home.path().join(name)).unwrap();
    assert!(bytes("a.parquet") == bytes("b.parquet"));
    // Kept runs of another sweep are not taken for this one's.
    fs::write(home.path().join("c.parquet.runs"), "{}\n").unwrap();
    let (status, line) = refused(home.path(), &["--sweep", "sweep.toml", "--out", "c.parquet"]);
    assert!(status == 2 && line.contains("runs of another sweep"), "{line}");
}

#[test]
fn a_run_that_fails_is_a_row_and_a_run_that_cannot_be_stops_the_sweep() {
    let home = home();
    fs::write(
        home.path().join("dead.toml"),
        "[pipes]\np = {}\n[[task]]\nname = \"a\"\nprogram = \"receive p 1\"\n",
    )
    .unwrap();
    let text = "machines = [2]\npolicies = [\"rr\"]\nworkloads = [\"spin:work_ns=1ms\", \"dead.toml\"]\n";
    fs::write(home.path().join("sweep.toml"), text).unwrap();
    let output = simulate(home.path(), &["--sweep", "sweep.toml", "--out", "a.parquet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("1 of 2 runs failed; the first: run 1 (dead.toml"),
        "{}",
        stderr(&output)
    );
    let found = rows(&home.path().join("a.parquet"));
    assert!(found[0].3.is_some() && found[1].3.is_none());
    fs::write(home.path().join("sweep.toml"), text.replace("work_ns", "wibble")).unwrap();
    let (status, line) = refused(home.path(), &["--sweep", "sweep.toml", "--out", "b.parquet"]);
    assert!(status == 2 && line.contains("unknown field `wibble`"), "{line}");
}

/// The warnings of a run.
fn warnings(found: &Value) -> Vec<String> {
    found["warnings"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn seeds_are_different_runs_unless_jitter_is_switched_off() {
    let home = home();
    let run =
        |seed: &str, more: &[&str]| found(home.path(), &with(&with(&HACKBENCH, &["--seed", seed]), more));
    let (one, other) = (run("1", &[]), run("2", &[]));
    assert_ne!(one["runs"][0]["makespan_ns"], other["runs"][0]["makespan_ns"]);
    let makespan = |seed: &str, more: &[&str]| {
        let found = run(seed, more);
        (found["runs"][0]["makespan_ns"].as_u64().unwrap(), warnings(&found), found["jitter"].clone())
    };
    let (_, said, jitter) = makespan("1", &[]);
    assert!(said[0].starts_with("One run of each policy, seed 1: single runs may be chaotic"), "{said:?}");
    assert_eq!(jitter["start_ns"], 20_000);
    let (exact, said, jitter) = makespan("1", &["--jitter", "none"]);
    assert_eq!(exact, makespan("2", &["--jitter", "none"]).0);
    assert!(said[0].starts_with("No jitter"), "{said:?}");
    assert!(jitter.is_null());
    let (status, line) = refused(home.path(), &["spin", "--jitter", "much"]);
    assert!(status == 2 && line.contains("expected none, typical or counted"), "{line}");
}

/// With costs of emulated CPUs a seed changes what differs between runs there, and no step's time.
#[test]
fn the_profile_says_what_a_seed_changes() {
    let home = home();
    let measured = |profile: &Path, more: &[&str]| {
        let given = ["--profile", profile.to_str().unwrap()];
        found(home.path(), &with(&with(&HACKBENCH, &given), more))["jitter"].clone()
    };
    let emulated = fixture("accuracy/profile.json");
    let counted = measured(&emulated, &[]);
    assert_eq!((&counted["work_per_mille"], &counted["child_per_mille"]), (&0.into(), &300.into()));
    assert_eq!(measured(&emulated, &["--jitter", "typical"])["work_per_mille"], 10);
    let real = fixture("profiles/vm.json");
    assert_eq!(measured(&real, &[])["work_per_mille"], 10);
    assert_eq!(measured(&real, &["--jitter", "counted"]), counted);
}

#[test]
fn every_row_of_hooks_says_where_its_time_comes_from() {
    let home = home();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schedulers/global_fifo/src/bpf/global_fifo.bpf.c");
    let policies = format!("eevdf,flsched,{file}");
    let found = found(home.path(), &with(&HACKBENCH, &["--policies", &policies]));
    let bases = [
        "assumed share of a switch",
        "assumed share of a switch, its callbacks in it",
        "counted: instructions at the machine's pace",
    ];
    for (run, basis) in bases.into_iter().enumerate() {
        let hooks = found["runs"][run]["hooks"].as_array().unwrap();
        assert!(hooks.iter().all(|hook| hook["basis"] == basis), "{hooks:?}");
    }
    // The same way through a queue that all share costs more than flsched's own queues.
    let enqueue_ns = |run: usize| found["runs"][run]["hooks"][1]["mean_ns"].as_f64().unwrap();
    assert!(enqueue_ns(2) > enqueue_ns(1), "{} {}", enqueue_ns(1), enqueue_ns(2));
    assert!(!warnings(&found).iter().any(|line| line.contains("callbacks")));
    let assumed = found["assumptions"].as_array().unwrap();
    let of_file = format!("callbacks of {file}");
    assert!(assumed.iter().any(|one| one["what"] == of_file.as_str()), "{assumed:?}");
    let text = stdout(&simulate(home.path(), &with(&HACKBENCH, &["--policies", &policies, "--hooks"])));
    let rows = text.lines().skip_while(|line| !line.starts_with("hook ")).skip(1);
    let rows: Vec<_> = rows.take_while(|line| !line.is_empty()).collect();
    let of = |policy: &str| rows.iter().filter(|row| row.contains(policy)).copied().collect::<Vec<_>>();
    assert!(of(" flsched ").len() > 4, "{text}");
    for (policy, basis) in [" eevdf ", " flsched ", "global_fifo.bpf.c"].into_iter().zip(bases) {
        assert!(of(policy).iter().all(|row| row.ends_with(basis)), "{text}");
    }
}

#[test]
fn emulated_times_carry_their_warning() {
    let home = home();
    let emulated = ["spin", "--work", "1ms", "--machine", "emulated:2"];
    let text = stdout(&simulate(home.path(), &emulated));
    assert_eq!(
        text.lines().filter(|line| line.starts_with("Emulated CPUs: times count instructions")).count(),
        1,
        "{text}"
    );
    // A Profile that was measured in a guest without KVM.
    let mut profile: Value =
        serde_json::from_slice(&fs::read(fixture("profiles/server.json")).unwrap()).unwrap();
    profile["host"]["cpu_model"] = "QEMU TCG CPU version 2.5+".into();
    fs::write(home.path().join("guest.json"), profile.to_string()).unwrap();
    let found = found(home.path(), &["spin", "--work", "1ms", "--machine", "2", "--profile", "guest.json"]);
    assert!(
        warnings(&found).iter().any(|line| line.starts_with("The Profile was measured on emulated CPUs"))
    );
}

#[test]
fn a_replay_that_decides_nothing_says_so_first() {
    let home = home();
    let ping_pong =
        ["simulate", "ping-pong", "--loops", "300", "--machine", "2", "--policies", "eevdf", "--out", "out"];
    run_in(home.path(), &ping_pong);
    // Hand-over between tasks.
    let text = run_in(home.path(), &["simulate", "replay", "out/eevdf.swtch", "--policies", "eevdf,rr"]);
    assert!(
        text.starts_with("Cannot decide between the policies:\n  The workload mostly hands over"),
        "{text}"
    );
    // Another policy than the recording's alone: that one runs too, or nothing would say how far the replay is off.
    let found = found(home.path(), &["replay", "out/eevdf.swtch", "--policies", "rr"]);
    let verdict = &found["verdict"];
    assert_eq!((&verdict["decides"], found["runs"][1]["policy"].as_str()), (&false.into(), Some("eevdf")));
    assert!(verdict["error"]["wait_p99"].is_f64(), "{verdict}");
    let ensemble = &found["ensemble"];
    assert_eq!(ensemble["seeds"], serde_json::json!([1, 2, 3, 4, 5, 6]));
    let makespan = &ensemble["policies"][0]["makespan_ns"];
    let [low, median, high] = ["ci_low", "median", "ci_high"].map(|name| makespan[name].as_u64().unwrap());
    assert!(low < high && (low..=high).contains(&median), "{makespan}");
}

/// Two programs that compute in turns on one CPU: what nice does to each is known, and the answer is the first line.
#[test]
fn a_change_to_tasks_of_a_recording_shows_what_it_does_to_waits() {
    let home = home();
    let spec = "machine = 1\n[[task]]\nname = \"web\"\nprogram = \"loop 200 { compute 1ms; sleep 3ms }\"\n\
        [[task]]\nname = \"batch\"\nworking_set = \"64K\"\ncount = 2\nprogram = \"compute 300ms\"\n";
    fs::write(home.path().join("two.toml"), spec).unwrap();
    run_in(home.path(), &["simulate", "two.toml", "--out", "out"]);
    let replay = |more: &[&str]| found(home.path(), &with(&["replay", "out/eevdf.swtch"], more));
    let wait = |found: &Value, task: &str, when: &str| {
        let tasks = found["what_if"]["policies"][0]["tasks"].as_array().unwrap();
        let row = tasks.iter().find(|row| row["name"] == task).unwrap_or_else(|| panic!("{task}: {tasks:?}"));
        row["wait_ns"][when]["median"].as_u64()
    };
    let nicer = replay(&["--set", "batch:nice=19"]);
    assert_eq!(nicer["what_if"]["changes"], serde_json::json!(["batch:nice=19"]));
    assert!(wait(&nicer, "web", "after").unwrap() * 2 < wait(&nicer, "web", "before").unwrap(), "{nicer}");
    let idle = replay(&["--set", "batch:policy=idle"]);
    assert!(wait(&idle, "web", "after").unwrap() * 4 < wait(&idle, "web", "before").unwrap(), "{idle}");
    let alone = replay(&["--without", "batch"]);
    assert_eq!(wait(&alone, "batch", "after"), None);
    assert!(wait(&alone, "web", "after").unwrap() * 20 < wait(&alone, "web", "before").unwrap(), "{alone}");
    let crowd = replay(&["--with", "spin:tasks=2,work_ns=0"]);
    assert!(wait(&crowd, "web", "after").unwrap() > wait(&crowd, "web", "before").unwrap(), "{crowd}");
    let fewer = replay(&["--set", "batch:threads=1"]);
    assert!(
        wait(&fewer, "batch", "after").unwrap() * 3 < wait(&fewer, "batch", "before").unwrap() * 2,
        "{fewer}"
    );
    let text = run_in(home.path(), &["simulate", "replay", "out/eevdf.swtch", "--set", "batch:nice=19"]);
    assert!(text.contains("With batch:nice=19, under eevdf: "), "{text}");
    let (status, line) = refused(home.path(), &["spin", "--set", "a:nice=3"]);
    assert!(status == 2 && line.contains("for the replay of a recording"), "{line}");
    let (status, line) = refused(home.path(), &["replay", "out/eevdf.swtch", "--set", "web:nice=30"]);
    assert!(status == 2 && line.contains("nice is \"30\"; expected -20 to 19"), "{line}");
}

/// A recording with `--counts` has no single switches: that is a choice, and its source could have seen them.
#[test]
fn a_replay_of_counts_says_that_they_were_chosen_and_how_to_record_events() {
    let home = home();
    let folder = home.path().join("counts.swtch");
    fs::create_dir(&folder).unwrap();
    for file in fs::read_dir(fixture("traces/procfs.swtch")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let path = folder.join("header.json");
    let mut header: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    header["provenance"]["recorder"] = "bpf-counts".into();
    fs::write(&path, header.to_string()).unwrap();
    let (status, line) = refused(home.path(), &["replay", "counts.swtch"]);
    assert!(status != 0 && line.contains("--counts") && line.contains("--events"), "{line}");
    assert!(!line.contains("sees no single switch"), "{line}");
}

/// Assumptions for lack of a Profile are not attributed to a machine that has one.
#[test]
fn a_profile_that_the_machine_has_is_named_where_none_was_given() {
    let home = home();
    let why = || {
        let found = found(home.path(), &["spin", "--work", "1ms", "--machine", "2"]);
        let assumed = found["assumptions"].as_array().unwrap();
        let costs =
            assumed.iter().find(|one| one["what"] == "costs").unwrap_or_else(|| panic!("{assumed:?}"));
        costs["why"].as_str().unwrap().to_owned()
    };
    assert!(why().contains("measure one with swtch measure"), "{}", why());
    fs::create_dir_all(home.path().join("swtch")).unwrap();
    fs::copy(fixture("profiles/vm.json"), home.path().join("swtch/profile.json")).unwrap();
    assert!(why().contains("this machine has one") && why().contains("swtch/profile.json"), "{}", why());
}

/// A scheduler that forgets its tasks, and one that never comes back.
#[test]
fn a_scheduler_that_forgets_or_loops_is_named_in_one_line() {
    let home = home();
    let scheduler = |body: &str| {
        format!(
            "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
             s32 BPF_STRUCT_OPS(bad_select_cpu, struct task_struct *p, s32 prev_cpu, u64 flags) {{ return prev_cpu; }}\n\
             void BPF_STRUCT_OPS(bad_enqueue, struct task_struct *p, u64 flags)\n{{\n{body}\n}}\n\
             SCX_OPS_DEFINE(bad_ops, .select_cpu = (void *)bad_select_cpu, .enqueue = (void *)bad_enqueue, .name = \"bad\");\n"
        )
    };
    fs::write(home.path().join("forgets.bpf.c"), scheduler("")).unwrap();
    fs::write(home.path().join("loops.bpf.c"), scheduler("for (;;)\n;")).unwrap();
    let pipes = ["hackbench", "--groups", "2", "--loops", "5", "--machine", "4", "--transport", "pipe"];
    let (status, line) = refused(home.path(), &with(&pipes, &["--policies", "forgets.bpf.c"]));
    assert!(status == 1 && line.contains("80 runnable tasks are in no dispatch queue"), "{line}");
    assert!(!line.contains("no task writes"), "{line}");
    let (status, line) = refused(home.path(), &with(&pipes, &["--policies", "loops.bpf.c"]));
    assert!(status == 1 && line.contains("ops.enqueue() did not return within 67108864 steps"), "{line}");
}

/// One task makes the forty others, and a thread of the kernel runs beside them.
#[test]
fn the_tasks_of_a_workload_are_those_that_run_but_for_the_kernels_own() {
    let home = home();
    let words = ["simulate", "hackbench", "--groups", "1", "--loops", "1", "--from-start", "--machine", "1"];
    let output = run(swtch(home.path()).args(words).arg("--profile").arg(fixture("accuracy/profile.json")));
    assert!(stdout(&output).starts_with("hackbench (41 tasks) on uniform:1"), "{}", stdout(&output));
}

/// The table of fixtures/accuracy, simulated by this program. The same input gives the same bytes on any machine, so a row that is further
/// off was made worse by a change.
#[test]
fn no_row_of_the_table_of_errors_gets_worse() {
    let home = home();
    let real = fixture("accuracy");
    let kept: Value = serde_json::from_slice(&fs::read(real.join("accuracy.json")).unwrap()).unwrap();
    // Sources of schedulers are named from the top of the repository.
    let top = fixture("..");
    let again =
        json(swtch(home.path()).current_dir(top).args(["sched", "accuracy", "--json", "--real"]).arg(&real));
    let rows = |document: &Value| document["rows"].as_array().unwrap().clone();
    let (kept, again) = (rows(&kept), rows(&again));
    assert!(kept.len() == again.len() && kept.len() >= 36, "{} rows", kept.len());
    let off = |row: &Value, figure: &str| {
        (row[figure]["simulated"].as_f64().unwrap() / row[figure]["real"].as_f64().unwrap() - 1.0).abs()
    };
    let mut worse = Vec::new();
    for (kept, again) in kept.iter().zip(&again) {
        for figure in ["seconds", "context_switches"] {
            let (before, now) = (off(kept, figure), off(again, figure));
            if now > before + 0.01 {
                worse.push(format!(
                    "{} under {}: {figure} {before:.3} -> {now:.3}",
                    kept["load"], kept["policy"]
                ));
            }
        }
    }
    assert!(
        worse.is_empty(),
        "if it is meant: swtch sched accuracy --out DIR, then the two files\n{}",
        worse.join("\n")
    );
}

#[test]
fn a_table_of_errors_needs_its_directory_and_loads_that_can_be_simulated() {
    let home = home();
    let told = |arguments: &[&str]| {
        let output = run(swtch(home.path()).args(["sched", "accuracy"]).args(arguments));
        (output.status.code().unwrap(), stderr(&output))
    };
    let (status, text) = told(&["--real", "nowhere"]);
    assert!(status == 1 && text.contains("nowhere/accuracy.json") && text.contains("--out"), "{text}");
    let (status, text) = told(&["--loads", "redis"]);
    assert!(status == 2 && text.contains("none of these loads can be simulated"), "{text}");
    let (status, text) = told(&["--runs", "0"]);
    assert!(status == 2 && text.contains("0 runs"), "{text}");
}
