//! `swtch sweep`: the same bytes as on one machine, whatever dies.

use crate::common::{Home, home, is_root, json, run, skip, stderr, stdout, swtch};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use swtch_columns::TableFile;
use swtch_sim::sweep::RunRow;

/// 72 runs of a few milliseconds.
const GRID: &str = "machines = [\"2f4s\", 4]\npolicies = [\"eevdf\", \"rr\"]\nseeds = [1, 2, 3]\n[[grid]]\n\
    workload = \"hackbench\"\ngroups = [1, 2]\nloops = [5, 10, 15]\n";

fn sweep(home: &Home, arguments: &[&str]) -> Output {
    run(swtch(home.path()).arg("sweep").args(arguments))
}

fn succeed(home: &Home, arguments: &[&str]) -> String {
    let output = sweep(home, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// The status and the one line of a command that fails.
fn refused(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let output = sweep(home, arguments);
    let complaint = stderr(&output);
    assert!(complaint.starts_with("swtch: ") && complaint.lines().count() == 1, "{complaint}");
    (output.status.code(), complaint)
}

fn status(home: &Home) -> Value {
    json(swtch(home.path()).args(["sweep", "status", "d", "--json"]))
}

/// A home with a sweep that is planned into `d`, in shards of some runs.
fn planned(grid: &str, more: &[&str]) -> Home {
    let home = home();
    fs::write(home.path().join("grid.toml"), grid).unwrap();
    let plan = ["sweep", "plan", "grid.toml", "d", "--shard-time", "10ms"];
    let output = run(swtch(home.path()).args(plan).args(more));
    assert!(output.status.success(), "{}", stderr(&output));
    home
}

/// The table that one process makes without a directory.
fn alone(home: &Home) -> Vec<u8> {
    let output = run(swtch(home.path()).args(["simulate", "--sweep", "grid.toml", "--out", "alone.parquet"]));
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read(home.path().join("alone.parquet")).unwrap()
}

fn merged(home: &Home) -> Vec<u8> {
    succeed(home, &["merge", "d", "-o", "out.parquet"]);
    fs::read(home.path().join("out.parquet")).unwrap()
}

fn start(home: &Home, arguments: &[&str]) -> Child {
    let mut command = swtch(home.path());
    command.args(["sweep", "work", "d"]).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The processes that a process started, by any of its threads.
fn children(of: u32) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let found = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let found: Vec<String> = found.collect();
    found
        .iter()
        .flat_map(|pids| pids.split_whitespace())
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_sweep_of_a_directory_is_the_table_of_one_machine() {
    let home = planned(GRID, &[]);
    let shards = status(&home)["shards"].as_array().unwrap().len();
    assert!(shards > 2, "{shards}");
    assert_eq!(succeed(&home, &["gaps", "d"]), format!("--array=0-{}\n", shards - 1));
    let (code, line) = refused(&home, &["merge", "d", "-o", "out.parquet"]);
    assert!(code == Some(1) && line.contains("72 of 72 runs are missing"), "{line}");
    succeed(&home, &["work", "d", "--jobs", "1", "--shards", "1"]);
    let now = status(&home);
    assert_eq!(now["shards"][1]["state"], "done");
    assert_eq!(now["shards"][0]["state"], "open");
    assert!(
        (1..72).contains(&now["done"].as_u64().unwrap()) && now["cpu_s"].as_f64().unwrap() > 0.0,
        "{now}"
    );
    assert!(succeed(&home, &["merge", "d", "-o", "out.parquet", "--so-far"]).ends_with("in out.parquet\n"));
    succeed(&home, &["work", "d", "--jobs", "3"]);
    assert_eq!(succeed(&home, &["gaps", "d"]), "");
    let now = status(&home);
    assert_eq!(
        (&now["runs"], &now["done"], &now["failed"], &now["claimed"]),
        (&72.into(), &72.into(), &0.into(), &0.into())
    );
    assert!(merged(&home) == alone(&home));
    // A plan and its runs in one command, which finds that all is done.
    let text = succeed(&home, &["run", "grid.toml", "d", "-o", "again.parquet"]);
    assert_eq!(text, "72 runs in again.parquet\n");
    assert!(fs::read(home.path().join("again.parquet")).unwrap() == alone(&home));
    // Its page names a policy for each of the 12 combinations, or says that seeds do not tell.
    let output = run(swtch(home.path()).args(["report", "again.parquet", "-o", "page.html"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("of 12 combinations of machine and workload"), "{page}");
    for words in ["Time to the end on 2f4s", "Context switches on 4", "72 runs · 2 machines · 6 workloads"]
    {
        assert!(page.contains(words), "no '{words}'");
    }
    let output = run(swtch(home.path()).args(["report", "again.parquet", "grid.toml"]));
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains("tables of sweeps"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn workers_and_supervisors_that_are_killed_lose_no_row() {
    // Long enough that something is still running at every kill.
    let home = planned(&GRID.replace("[5, 10, 15]", "[20, 40, 60]"), &[]);
    let mut supervisor = start(&home, &["--jobs", "2"]);
    let mut killed = 0;
    // Times that look random and are the same in every run of the test; what is killed changes.
    for step in 0_u64..12 {
        let before = status(&home)["done"].as_u64().unwrap();
        if before == 72 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5 + step * 7919 % 31));
        if step % 3 == 0 {
            supervisor.kill().unwrap();
            supervisor.wait().unwrap();
            supervisor = start(&home, &["--jobs", "2"]);
            killed += 1;
        } else if let Some(worker) = children(supervisor.id()).get(step as usize % 2) {
            // In turn: a run that ends three workers is a row with the reason, and not tried again.
            killed += usize::from(kill_process(*worker, Signal::KILL).is_ok());
        }
    }
    supervisor.wait().unwrap();
    assert!(killed >= 2, "{killed}");
    succeed(&home, &["work", "d"]);
    let now = status(&home);
    assert_eq!((now["done"].as_u64(), now["failed"].as_u64()), (Some(72), Some(0)));
    assert!(merged(&home) == alone(&home));
}

#[test]
fn a_worker_that_is_asked_to_end_finishes_its_run_and_leaves_the_rest() {
    let home = planned(&GRID.replace("[5, 10, 15]", "[50, 60, 70]"), &[]);
    for signal in [Signal::TERM, Signal::INT] {
        let before = status(&home)["done"].as_u64().unwrap();
        // One that has claimed runs and begun none yet leaves all of them.
        let finished = (0..5).any(|_| {
            let mut supervisor = start(&home, &["--jobs", "1"]);
            until("something is claimed", || status(&home)["workers"] == 1);
            kill_process(Pid::from_child(&supervisor), signal).unwrap();
            assert_eq!(supervisor.wait().unwrap().code(), Some(0));
            let now = status(&home);
            assert_eq!((&now["workers"], &now["deaths"]), (&0.into(), &0.into()), "{now}");
            now["done"].as_u64().unwrap() > before
        });
        assert!(finished, "{}", status(&home));
    }
}

#[test]
fn a_worker_that_hangs_loses_its_lease() {
    let home = planned(GRID, &["--lease", "1s"]);
    let mut supervisor = start(&home, &["--jobs", "1"]);
    until("it has claimed something", || status(&home)["workers"] == 1);
    let stopped = children(supervisor.id());
    for pid in &stopped {
        kill_process(*pid, Signal::STOP).unwrap();
    }
    // A second client of the same sweep.
    succeed(&home, &["work", "d", "--jobs", "1"]);
    let now = status(&home);
    assert_eq!(now["done"], 72);
    for pid in stopped {
        kill_process(pid, Signal::KILL).unwrap();
    }
    assert!(supervisor.wait().unwrap().success());
    assert!(merged(&home) == alone(&home));
}

/// It crashes when it gets its second task: the simulator runs its code in its own process.
const CRASHES: &str = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"Dual BSD/GPL\";\n\
    UEI_DEFINE(uei);\nvoid BPF_STRUCT_OPS(crashes_enqueue, struct task_struct *p, u64 enq_flags)\n\
    {\n\t*(volatile int *)8 = 1;\n}\n\
    SCX_OPS_DEFINE(crashes_ops, .enqueue = (void *)crashes_enqueue, .name = \"crashes\");\n";

#[test]
fn a_run_that_kills_its_worker_is_a_row_with_the_reason() {
    let home = home();
    fs::write(home.path().join("crashes.bpf.c"), CRASHES).unwrap();
    let grid = "machines = [2]\npolicies = [\"rr\", \"crashes.bpf.c\", \"eevdf\"]\nworkloads = [\"spin:tasks=4,work_ns=1ms\"]\n";
    fs::write(home.path().join("grid.toml"), grid).unwrap();
    let output =
        sweep(&home, &["run", "grid.toml", "d", "--jobs", "2", "--shard-time", "1h", "-o", "out.parquet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let line = stderr(&output);
    let expected = "swtch: 1 of 3 runs failed; the first: run 1 (spin:tasks=4,work_ns=1ms under crashes.bpf.c on 2): its worker died 3 times (signal 11)\n";
    assert_eq!(line, expected);
    let now = status(&home);
    assert_eq!((now["done"].as_u64(), now["failed"].as_u64()), (Some(3), Some(1)));
    // Three runs, of which the last two, of which the first.
    assert_eq!(now["deaths"].as_u64(), Some(2 + 2 + 3));
}

#[test]
fn what_stands_in_the_way_is_one_line_and_nothing_is_lost() {
    let home = planned(GRID, &[]);
    let path = home.path().join("d/manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&version));
    fs::write(&path, manifest.replace(&version, "\"version\": \"0.0.9\"")).unwrap();
    for arguments in
        [&["work", "d"][..], &["run", "grid.toml", "d"], &["merge", "d", "-o", "x.parquet", "--so-far"]]
    {
        let (code, line) = refused(&home, arguments);
        assert!(code == Some(2) && line.contains("d was planned by swtch 0.0.9, and this is "), "{line}");
    }
    fs::write(&path, &manifest).unwrap();
    fs::write(home.path().join("other.toml"), GRID.replace("[1, 2, 3]", "[1, 2]")).unwrap();
    let (code, line) = refused(&home, &["run", "other.toml", "d"]);
    assert!(code == Some(2) && line.contains("d has the plan of another sweep"), "{line}");
    let (code, line) = refused(&home, &["work", "elsewhere"]);
    assert!(
        code == Some(2) && line.contains("elsewhere has no manifest.json; plan the sweep first"),
        "{line}"
    );
    let (code, line) = refused(&home, &["plan", "grid.toml", "grid.toml/d"]);
    assert!(code == Some(1) && line.contains("Not a directory"), "{line}");
    succeed(&home, &["work", "d"]);
    assert!(merged(&home) == alone(&home));
}

/// Runs a script in a mount namespace of its own, where a directory can be full or read-only.
fn in_mounts(home: &Path, script: &str) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_swtch")]).current_dir(home);
    run(command.env("XDG_STATE_HOME", home))
}

#[test]
fn a_full_and_a_read_only_directory_are_one_line_and_the_same_command_continues() {
    const TEST: &str = "a_full_and_a_read_only_directory_are_one_line_and_the_same_command_continues";
    if !is_root() {
        return skip(TEST, "only root can mount a small file system");
    }
    let home = home();
    fs::write(home.path().join("grid.toml"), GRID).unwrap();
    let full = "mkdir d && mount -t tmpfs -o size=64k none d && \"$1\" sweep plan grid.toml d --shard-time 1ms > /dev/null && \
        \"$1\" sweep work d --jobs 1; echo status $?; mount -o remount,size=16m d; \
        mount -o remount,ro d; \"$1\" sweep work d --jobs 1; echo status $?; \
        mount -o remount,rw d; \"$1\" sweep work d --jobs 1 && \"$1\" sweep merge d -o out.parquet";
    let output = in_mounts(home.path(), full);
    let (printed, complaints) = (stdout(&output), stderr(&output));
    if complaints.contains("mount:") || complaints.contains("unshare:") {
        return skip(TEST, "no file system can be mounted here");
    }
    let complaints: Vec<&str> = complaints.lines().collect();
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(
        complaints[0].starts_with("swtch: cannot write d/") && complaints[0].contains("No space left"),
        "{complaints:?}"
    );
    assert!(
        complaints[1].starts_with("swtch: cannot write d/") && complaints[1].contains("Read-only"),
        "{complaints:?}"
    );
    assert_eq!(printed.matches("status 1").count(), 2, "{printed}");
    assert!(fs::read(home.path().join("out.parquet")).unwrap() == alone(&home));
}

/// The simulations of `GRID`'s kind, each by a command.
const COMMANDS: &str = "command = \"swtch simulate hackbench:groups={groups},loops={loops} --machine {machine} --policies {policy} --seed {seed} --json\"\n\
    expected = \"10ms\"\nmachines = [\"2f4s\", 4]\npolicies = [\"eevdf\", \"rr\"]\nseeds = [1, 2, 3]\n[[grid]]\ngroups = [1, 2]\nloops = [200, 300]\n\
    [take]\nmakespan_ns = \"/runs/0/makespan_ns\"\nswitches = \"/runs/0/context_switches\"\n";

#[test]
fn a_sweep_of_commands_has_the_figures_that_they_print_whatever_is_killed() {
    let home = planned(COMMANDS, &[]);
    let simulated =
        COMMANDS.lines().filter(|line| !line.starts_with("command") && !line.starts_with("expected"));
    let simulated: Vec<&str> = simulated.take_while(|line| !line.starts_with("[take]")).collect();
    let grid = simulated.join("\n").replace("[[grid]]", "[[grid]]\nworkload = \"hackbench\"");
    fs::write(home.path().join("simulated.toml"), grid).unwrap();
    // A worker that is killed takes its command along, and another one makes its runs.
    let mut supervisor = start(&home, &["--jobs", "1"]);
    until("a run is done", || status(&home)["done"].as_u64() > Some(0));
    let mut workers = Vec::new();
    until("a worker runs", || {
        workers = children(supervisor.id());
        !workers.is_empty()
    });
    let worker = workers[0];
    let mut commands = Vec::new();
    until("a command runs", || {
        commands = children(worker.as_raw_nonzero().get() as u32);
        !commands.is_empty()
    });
    let command = commands[0];
    kill_process(worker, Signal::KILL).unwrap();
    until("the command has ended", || !Path::new(&format!("/proc/{}", command.as_raw_nonzero())).exists());
    supervisor.wait().unwrap();
    let now = status(&home);
    assert_eq!(
        (now["done"].as_u64(), now["failed"].as_u64(), now["deaths"].as_u64()),
        (Some(48), Some(0), Some(1))
    );
    let rows = rows(&home, &["merge", "d", "-o", "commands.parquet"], "commands.parquet");
    let words = ["run", "simulated.toml", "e", "-o", "simulated.parquet"];
    let simulated = self::rows(&home, &words, "simulated.parquet");
    for (one, other) in rows.iter().zip(&simulated) {
        let printed: Value = serde_json::from_str(one.printed.as_ref().unwrap().as_str()).unwrap();
        assert_eq!(printed["makespan_ns"].as_u64(), other.makespan_ns);
        assert_eq!(printed["switches"].as_u64(), other.context_switches);
        assert_eq!((&one.machine, &one.policy, one.seed), (&other.machine, &other.policy, other.seed));
        assert_eq!(format!("hackbench:{}", one.workload), other.workload);
    }
    assert_eq!((rows.len(), simulated.len()), (48, 48));
    // The same bytes wherever they are made; and a command is refused as a simulation.
    succeed(&home, &["run", "grid.toml", "f", "--jobs", "2", "-o", "again.parquet"]);
    assert!(
        fs::read(home.path().join("again.parquet")).unwrap()
            == fs::read(home.path().join("commands.parquet")).unwrap()
    );
    let output = run(swtch(home.path()).args(["simulate", "--sweep", "grid.toml", "--out", "x.parquet"]));
    let expected =
        "swtch: grid.toml: its runs are commands, not simulations; make them with 'swtch sweep run'\n";
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(2), expected));
    let output = run(swtch(home.path()).args(["report", "again.parquet", "-o", "page.html"]));
    assert!(
        !output.status.success() && stderr(&output).contains("of a sweep of commands"),
        "{}",
        stderr(&output)
    );
}

fn rows(home: &Home, words: &[&str], table: &str) -> Vec<RunRow> {
    succeed(home, words);
    TableFile::<RunRow>::open(&home.path().join(table)).unwrap().rows().unwrap()
}
