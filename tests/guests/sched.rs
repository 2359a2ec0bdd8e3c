//! `swtch sched` on a kernel that has sched_ext, in a virtual machine.

use crate::common::rights::{rights, shown};
use crate::common::{home, run, stderr, stdout, swtch};
use crate::guest::{cache, cannot, find, machine};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn beside(program: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_swtch")).with_file_name(program)
}

fn in_vm(home: &Path) -> Command {
    let mut command = swtch(home);
    command.env("XDG_CACHE_HOME", cache()).env("TMPDIR", home);
    command
}

/// What a script says in a guest; it has `$S`, which is `swtch sched`, and waits with `is STATE`. `more` are schedulers that it has besides ours.
fn guest(script: &str, home: &Path, more: &[PathBuf]) -> String {
    let own = env!("CARGO_BIN_EXE_swtch");
    let script = format!(
        "S='{own} sched'\nis() {{ while [ $(cat /sys/kernel/sched_ext/state) != $1 ]; do sleep 0.1; done; }}\n{script}"
    );
    fs::write(home.join("script"), script).unwrap();
    let mut command = in_vm(home);
    command.args(["vm", "--emulate", "--cpus", "1"]);
    for program in
        [own.into(), beside("scx_flsched"), beside("scx_global_fifo"), "/bin/cat".into()].iter().chain(more)
    {
        command.arg("--copy").arg(program);
    }
    for program in ["sleep", "env", "setpriv", "unshare"] {
        command.arg("--copy").arg(find(program));
    }
    let output = run(command.args(["--", "sh", "script"]));
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// What stands between a heading and the next.
fn part<'a>(text: &'a str, heading: &str) -> &'a str {
    let after =
        text.split_once(&format!("== {heading}\n")).unwrap_or_else(|| panic!("no {heading}: {text}")).1;
    after.split("== ").next().unwrap()
}

const SAFETY: &str = "
echo '== time'
$S flsched --for 1s; echo \"status $?\"; $S status
echo '== status'
$S flsched > first 2>&1 & P=$!; is enabled; $S status
echo '== second'
$S global_fifo 2>&1; echo \"status $?\"
echo '== interrupt'
kill -INT $P; wait $P; echo \"status $?\"; cat first; cat /sys/kernel/sched_ext/state
echo '== swtch killed'
$S flsched > killed 2>&1 & P=$!; is enabled; kill -KILL $P; is disabled; cat /sys/kernel/sched_ext/state
echo '== half killed'
$S flsched > half 2>&1 & P=$!; is enabled; read C < /proc/$P/task/$P/children; kill -KILL $C
wait $P; echo \"status $?\"; cat half; cat /sys/kernel/sched_ext/state
echo '== thrown out'
$S flsched --json > out 2>&1 & P=$!; is enabled; echo S > /proc/sysrq-trigger
wait $P; echo \"status $?\"; cat out
echo '== partial'
sleep 100 & $S flsched --only-pid $! --for 1s; echo \"status $?\"
";

#[test]
fn a_scheduler_comes_and_goes_and_the_kernels_own_is_always_back() {
    if cannot("a_scheduler_comes_and_goes_and_the_kernels_own_is_always_back") {
        return;
    }
    let _machine = machine();
    // As in the page of limits: the guest permits what this machine may not.
    let mut script = SAFETY.to_owned();
    for (name, words) in rights() {
        let words = words.join(" ");
        script += &format!("echo '== {name}'\n{words} $S global_fifo --for 100ms 2>&1; echo \"status $?\"\n");
    }
    let said = guest(&script, home().path(), &[]);
    let has = |heading: &str, words: &[&str]| {
        let part = part(&said, heading);
        for word in words {
            assert!(part.contains(word), "{heading} lacks {word}: {part}");
        }
    };
    let back = "the kernel's own scheduler is back";
    has(
        "time",
        &["flsched: schedules every normal task", "time is up", back, "status 0", "state       disabled"],
    );
    has("status", &["state       enabled", "flsched", "every normal task", "swtch sched flsched, process"]);
    has("second", &["another 'swtch sched' runs: flsched, process", "status 1"]);
    has("interrupt", &["status 0", "interrupted after", "the kernel says: ", back, "disabled"]);
    has("swtch killed", &["disabled"]);
    has("half killed", &["status 1", "was killed by signal 9", "the kernel says: ", back, "disabled"]);
    has("thrown out", &["status 1", "\"event\":\"ended\"", "\"because\":\"kernel\"", "sysrq"]);
    has("partial", &["schedules 1 threads", "status 0"]);
    for (name, _) in rights() {
        let shown = shown("`sched NAME`", &name);
        match shown.strip_prefix("no (").and_then(|rest| rest.strip_suffix(')')) {
            Some(why) => has(&name, &["status 1", why]),
            None => has(&name, &["time is up", "status 0"]),
        }
    }
}

/// Six tasks that compute, and turns that do not end before a task that waits for one has waited too long.
const STALL: &str = "
echo '== stall'
PATH=$PATH:$PWD $S stalls --set slice_ns=100s > out 2>&1 & P=$!; is enabled
for n in 1 2 3 4 5 6; do while :; do :; done & done
wait $P; echo \"status $?\"; cat out; cat /sys/kernel/sched_ext/state
";

/// A new scheduler's file, made a program. Its tasks may wait for 3 s; the kernel's default is 30, all of which the guest would compute.
fn that_stalls(home: &Path) -> PathBuf {
    assert!(run(swtch(home).args(["sched", "new", "stalls"])).status.success());
    let (source, program) = (home.join("stalls.bpf.c"), home.join("scx_stalls"));
    let text = fs::read_to_string(&source).unwrap();
    let patient = text.replace(".name = ", ".timeout_ms = 3000,\n\t       .name = ");
    assert_ne!(text, patient);
    fs::write(&source, patient).unwrap();
    let mut command = Command::new(beside("scx_file"));
    command.arg(&source).arg("--program").arg(&program);
    let output = run(&mut command);
    assert!(output.status.success(), "{}", stderr(&output));
    program
}

#[test]
fn a_task_that_never_runs_ends_the_scheduler() {
    if cannot("a_task_that_never_runs_ends_the_scheduler") {
        return;
    }
    let _machine = machine();
    let home = home();
    let said = guest(STALL, home.path(), &[that_stalls(home.path())]);
    let stall = part(&said, "stall");
    for words in ["status 1", "ended by the kernel", "runnable task stall (", "disabled"] {
        assert!(stall.contains(words), "no '{words}': {stall}");
    }
}

/// A user with a home, a shell's environment and a PATH of their own; for any user, programs of the same bytes are found.
fn a_user(home: &Path, name: &str, path: &str) -> Command {
    let folder = home.join(name);
    fs::create_dir_all(folder.join("temporary files")).unwrap();
    let mut command = in_vm(home);
    command.current_dir(&folder).env("HOME", &folder).env("TMPDIR", folder.join("temporary files"));
    command.env("PATH", path).env("LANG", name).env("SOME_VARIABLE", "x".repeat(name.len()));
    command
}

#[test]
fn exact_comparisons_are_the_same_for_everybody() {
    if cannot("exact_comparisons_are_the_same_for_everybody") {
        return;
    }
    let _machine = machine();
    let home = home();
    let once = |mut command: Command| {
        let arguments = ["sched", "compare", "--vm", "--deterministic", "--cpus", "2", "--json"];
        let words = ["--policies", "stock,flsched", "--", "hackbench", "-p", "-g", "1", "-l", "20"];
        let output = run(command.args(arguments).args(words));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let inherited = std::env::var("PATH").unwrap();
    let first = once(a_user(home.path(), "a", &inherited));
    let longer = format!("/nowhere/of/any/use:{inherited}:/opt");
    let second = once(a_user(home.path(), "a user with a longer name", &longer));
    assert_eq!(first, second, "to the last digit, under every policy");
    assert_eq!((&first["exact"], &first["machine"]["vm"]), (&true.into(), &"counted-instructions".into()));
    let runs = first["runs"].as_array().unwrap();
    assert!(runs[1]["ops"].as_str().unwrap().starts_with("flsched"), "{first}");
    let switches = |run: &Value| run["context_switches"]["median"].as_f64().unwrap();
    assert!(switches(&runs[1]) * 3.0 <= switches(&runs[0]), "{first}");
    for run in runs {
        assert!(run["seconds"]["ci_low"].is_null() && run["wait_ns"]["p99"].is_f64(), "{run}");
        assert_eq!(run["bill"]["measured_in_place"], true, "{run}");
    }
}

#[test]
fn all_policies_are_compared_in_one_boot() {
    if cannot("all_policies_are_compared_in_one_boot") {
        return;
    }
    let _machine = machine();
    let home = home();
    // A new scheduler's file is among them, with its constant as it is and set, and one of the cache, as 'swtch sched get' puts it there.
    assert!(run(swtch(home.path()).args(["sched", "new", "mine"])).status.success());
    let schedulers = cache().join("swtch/schedulers");
    fs::create_dir_all(&schedulers).unwrap();
    fs::copy(beside("scx_global_fifo"), schedulers.join("scx_gotten@1.2.3")).unwrap();
    let names = ["stock", "rr", "flsched", "gotten", "mine", "mine --set slice_ns=1ms"];
    let policies = names.join(",").replace("mine", "./mine.bpf.c");
    let arguments = ["sched", "compare", "--vm", "--emulate", "--cpus", "1", "--runs", "2", "--out", "kept"];
    let job = ["--", "hackbench", "-p", "-g", "1", "-l", "5"];
    let output = run(in_vm(home.path()).args(arguments).args(["--policies", &policies]).args(job));
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for policy in names {
        assert!(text.lines().any(|line| line.starts_with(&format!("{policy} "))), "{policy}: {text}");
        let trace =
            swtch_trace::Trace::open(&home.path().join(format!("kept/{}.swtch", policy.replace(' ', "_"))))
                .unwrap();
        assert_eq!(trace.header.exit_status, Some(0));
    }
    let command =
        ["sched", "compare", "--vm", "--emulate", "--policies", "stock", "--", "sh", "-c", "exit 3"];
    let failed = run(in_vm(home.path()).args(command));
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("under stock, sh ended with status 3"), "{}", stderr(&failed));
}

/// The scheduler has the command's tasks only, and is gone afterwards; what it did is predicted and measured.
#[test]
fn a_scheduler_is_tried_for_a_command_alone() {
    if cannot("a_scheduler_is_tried_for_a_command_alone") {
        return;
    }
    let _machine = machine();
    let home = home();
    let mut command = in_vm(home.path());
    command.args(["try", "--vm", "--json", "--runs", "3", "--warmup", "0", "--schedulers", "flsched"]);
    command.args([
        "--cpus",
        "1",
        "--goal",
        "switches",
        "--most",
        "9",
        "--",
        "hackbench",
        "-p",
        "-g",
        "1",
        "-l",
        "20",
    ]);
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(["kvm", "emulation"].contains(&found["vm"].as_str().unwrap()), "{found}");
    let candidates = found["candidates"].as_array().unwrap();
    let one = candidates.iter().find(|one| one["what"] == "the scheduler flsched");
    let one = one.unwrap_or_else(|| panic!("{found:#}"));
    println!("{one:#}");
    let command = one["command"].as_str().unwrap();
    assert!(command.contains("swtch sched flsched --only-pid") && command.ends_with("-l 20"), "{command}");
    // hackbench under flsched switches a fraction as often: docs/sched.md.
    assert!(one["measured_ratio"].as_f64().unwrap() < 0.7, "{one}");
    assert!(
        one["predicted_ratio"].is_number()
            || one["predicted_by"].as_str().unwrap().starts_with("cannot predict")
    );
}
