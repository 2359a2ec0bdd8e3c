//! `swtch vm` on the real thing: kernels boot, and everything that can happen to a guest is made to happen.

use crate::common::rights::{rights as rights_by_name, shown};
use crate::common::{copy_program, home, is_root, names, run, stderr, stdout, swtch};
use crate::guest::{Guest, cache, cannot, machine};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// From the command's start to the guest's first process, in emulation; the goal of 10 s is for an idle machine with two CPUs.
const BOOT_AT_MOST: Duration = Duration::from_secs(60);

/// In emulation everywhere, with temporary files in a directory of its own.
fn vm(home: &Path, arguments: &[&str]) -> Command {
    let mut command = swtch(home);
    let temporary = home.join("temporary");
    fs::create_dir_all(&temporary).unwrap();
    command.env("XDG_CACHE_HOME", cache()).env("TMPDIR", temporary).args(["vm", "--emulate"]).args(arguments);
    command
}

/// The same with other rights, with which the page of limits says that it works.
fn vm_with(rights: &str, home: &Path, arguments: &[&str]) -> Command {
    let plain = vm(home, arguments);
    if !is_root() {
        return plain;
    }
    assert_eq!(shown("`vm`", rights), "yes");
    copy_program(&home.join("own"));
    // A cache of its own, as that of all tests may be closed to others; and a directory that others may write to.
    let script = "mkdir -p cache; cp -r \"$0\"/. cache 2>/dev/null; chmod -R a+rwX .";
    assert!(run(Command::new("sh").args(["-c", script]).arg(cache()).current_dir(home)).status.success());
    let (_, words) = rights_by_name().into_iter().find(|(name, _)| name == rights).unwrap();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(home.join("own")).args(plain.get_args()).current_dir(home);
    let settings = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(settings).env("XDG_CACHE_HOME", home.join("cache")).stdin(Stdio::null());
    command
}

/// A cache with the kernels of all tests, and no boot that is kept.
fn cache_without_boots(home: &Path) -> PathBuf {
    let (shared, own) = (cache().join("swtch/kernels"), home.join("own-cache"));
    fs::create_dir_all(own.join("swtch")).unwrap();
    std::os::unix::fs::symlink(shared, own.join("swtch/kernels")).unwrap();
    own
}

/// The events of a run with `--json`.
fn events(output: &str) -> Vec<Value> {
    output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn event<'a>(events: &'a [Value], name: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name} in {events:?}"))
}

fn text_of(events: &[Value], stream: &str) -> String {
    let is_it = |event: &&Value| event["event"] == "output" && event["stream"] == stream;
    events.iter().filter(is_it).map(|event| event["text"].as_str().unwrap()).collect()
}

#[test]
fn output_status_and_files_pass_through() {
    if cannot("output_status_and_files_pass_through") {
        return;
    }
    let _machine = machine();
    let home = home();
    fs::create_dir(home.path().join("given")).unwrap();
    fs::write(home.path().join("given/data"), "carried").unwrap();
    let script = "cat given/data; uname -r; echo problem >&2; cat /sys/kernel/sched_ext/state; mkdir made; echo back > made/file; exit 7";
    let arguments = ["--json", "--cpus", "2", "--copy", "given", "--fetch", "made", "--", "sh", "-c", script];
    let output = run(&mut vm_with("no root", home.path(), &arguments));
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let events = events(&stdout(&output));
    let booted = event(&events, "booted");
    let text = text_of(&events, "stdout");
    assert_eq!(text, format!("carried{}\ndisabled\n", booted["kernel"].as_str().unwrap()));
    assert_eq!(text_of(&events, "stderr"), "problem\n");
    assert_eq!(booted["cpus"], 2);
    assert_eq!(event(&events, "booting")["accelerator"], "emulation");
    let boot = Duration::from_nanos(booted["boot_ns"].as_u64().unwrap());
    assert!(boot < BOOT_AT_MOST, "{boot:?}");
    let exited = event(&events, "exited");
    assert_eq!(exited["status"], 7);
    assert!(
        exited["context_switches"].as_u64().unwrap() > 0 && exited["forks"].as_u64().unwrap() >= 4,
        "{exited}"
    );
    assert!(event(&events, "returned")["path"].as_str().unwrap().ends_with("made/file"));
    assert_eq!(fs::read_to_string(home.path().join("made/file")).unwrap(), "back\n");
    assert_eq!(names(&home.path().join("temporary")), [""; 0], "nothing is left behind");
}

/// Under the newest kernel, whose run queues of cgroups are per-CPU memory; the tests on the host are under the host's.
#[test]
fn how_long_a_quota_stopped_tasks_is_read_from_the_guests_kernel() {
    if cannot("how_long_a_quota_stopped_tasks_is_read_from_the_guests_kernel") {
        return;
    }
    let _machine = machine();
    let programs = &["mkdir", "sleep", "grep"];
    let guest = Guest { cpus: 2, deterministic: false, append: "", settings: &[], programs };
    let said = guest.prints("quota.sh");
    let after = |words: &str| -> Vec<f64> {
        let lines = said.lines().filter_map(|line| line.strip_prefix(words));
        lines.map(|number| number.trim().parse().unwrap_or_else(|error| panic!("{error}: {said}"))).collect()
    };
    assert!(!said.contains("tasks.quota_ns"), "it is unknown: {said}");
    let [before_us, after_us] = after("throttled_usec")[..] else { panic!("{said}") };
    let waited_s = after("swtch_cgroup_wait_seconds_total{cgroup=\"/quota\",cause=\"quota\"}");
    let [waited_s] = waited_s[..] else { panic!("{said}") };
    // The kernel's own count goes from before the second that is watched to after it.
    let throttled_s = (after_us - before_us) / 1e6;
    assert!(waited_s > 0.3 && waited_s <= 1.01 * throttled_s, "{waited_s} of {throttled_s}: {said}");
}

#[test]
fn a_boot_is_kept_for_all_later_guests_and_made_anew_where_it_is_broken() {
    if cannot("a_boot_is_kept_for_all_later_guests_and_made_anew_where_it_is_broken") {
        return;
    }
    let _machine = machine();
    let home = home();
    // Before, so that there is a kernel in the cache of all tests.
    assert!(run(&mut vm(home.path(), &["--cpus", "1", "--", "true"])).status.success());
    let own = cache_without_boots(home.path());
    let kept = || {
        let all = fs::read_dir(own.join("swtch/guests")).unwrap().map(|entry| entry.unwrap().path());
        let mut states: Vec<PathBuf> =
            all.map(|folder| folder.join("state")).filter(|state| state.is_file()).collect();
        assert_eq!(states.len(), 1, "{states:?}");
        states.remove(0)
    };
    // What it prints, how many guests booted for it, and the guest's clock.
    let once = |word: &str| {
        let script = "echo $0; date +%s; head -c 16 /proc/sys/kernel/random/uuid; exit; date; head";
        let arguments = ["--json", "--cpus", "1", "--", "sh", "-c", script, word];
        let output = run(vm(home.path(), &arguments).env("XDG_CACHE_HOME", &own));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let events = events(&stdout(&output));
        let boots = events.iter().filter(|event| event["event"] == "preparing").count();
        let text = text_of(&events, "stdout");
        let [said, now_s, random] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(said, word);
        (boots, now_s.parse::<u64>().unwrap(), random.to_owned())
    };
    let now_s = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let (boots, _, first_random) = once("first");
    assert_eq!(boots, 1);
    let state = kept();
    let made = fs::metadata(&state).unwrap().modified().unwrap();
    let began_s = now_s();
    let (boots, guests_s, random) = once("second");
    assert_eq!(boots, 0, "it resumes from the first one's boot");
    assert!((began_s..=now_s()).contains(&guests_s), "its clock is right: {guests_s} after {began_s}");
    assert_ne!(random, first_random, "its random numbers are its own");
    assert_eq!(fs::metadata(&state).unwrap().modified().unwrap(), made, "no guest changes it");
    // As by a disk that lost something.
    fs::write(&state, "no state").unwrap();
    assert_eq!(once("third").0, 1, "it was made anew");
    assert!(fs::metadata(kept()).unwrap().len() > 10_000);
    assert_eq!(names(&home.path().join("temporary")), [""; 0], "nothing is left behind");
}

#[test]
fn a_trace_is_recorded_in_the_guest_and_a_missing_file_is_named() {
    if cannot("a_trace_is_recorded_in_the_guest_and_a_missing_file_is_named") {
        return;
    }
    let _machine = machine();
    let home = home();
    let arguments = ["--fetch", "run.swtch", "--fetch", "run.json", "--fetch", "absent", "--"];
    let command =
        ["swtch", "record", "-o", "run.swtch", "--no-profile", "--json=run.json", "--", "sleep", "0.2"];
    let output = run(vm_with("container", home.path(), &arguments).args(command));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot copy absent back"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "", "the command's own, and sleep prints nothing");
    let summary = std::fs::read(home.path().join("run.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(summary["source"], "bpf", "a guest permits what its host may not");
    let trace = swtch_trace::Trace::open(&home.path().join("run.swtch")).unwrap();
    assert_eq!(trace.header.exit_status, Some(0));
}

#[test]
fn a_panic_of_the_kernel_is_told_as_that() {
    if cannot("a_panic_of_the_kernel_is_told_as_that") {
        return;
    }
    let _machine = machine();
    let home = home();
    let output = run(&mut vm(home.path(), &["--", "sh", "-c", "echo before; echo c > /proc/sysrq-trigger"]));
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(1), "before\n"),
        "{}",
        stderr(&output)
    );
    let told = stderr(&output);
    assert!(told.contains("the guest's kernel panicked: Kernel panic - not syncing: sysrq"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn memory_that_runs_out_is_told_as_that() {
    if cannot("memory_that_runs_out_is_told_as_that") {
        return;
    }
    let _machine = machine();
    let home = home();
    let hog = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done";
    let arguments = ["--memory", "256M", "--cpus", "1", "--", "sh", "-c", hog];
    let output = run(&mut vm_with("two capabilities", home.path(), &arguments));
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(told.contains("256 MiB of memory were used up") && told.contains("--memory"), "{told}");
    assert!(told.contains("Killed process"), "with the kernel's own words: {told}");
}

/// Starts a run that would last for ever, and waits for an event of it.
#[allow(
    clippy::zombie_processes,
    reason = "the receiver of the child waits for it; a test that fails here has ended"
)]
fn until(home: &Path, arguments: &[&str], name: &str) -> (Child, Pid) {
    let mut command = vm(home, arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let wanted = format!("\"event\":\"{name}\"");
    // One byte at a time is read no further than the event, so that the rest stays for the collector of the output.
    let mut lines = BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(&wanted)), "no {name}");
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(&children).unwrap_or_default();
        if let Some(pid) = text.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
            return (child, Pid::from_raw(pid).unwrap());
        }
        assert!(began.elapsed() < BOOT_AT_MOST, "QEMU is not there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_gone(pid: Pid) -> bool {
    !Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists()
}

#[test]
fn a_guest_that_hangs_is_told_as_that() {
    if cannot("a_guest_that_hangs_is_told_as_that") {
        return;
    }
    let _machine = machine();
    let home = home();
    let arguments = ["--json", "--hang-after", "12s", "--cpus", "1", "--", "sleep", "1000"];
    let (child, qemu) = until(home.path(), &arguments, "started");
    // Seen from here, a guest whose CPUs do nothing any more.
    kill_process(qemu, Signal::STOP).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("printed nothing for 12s"), "{}", stderr(&output));
    assert!(is_gone(qemu), "QEMU is ended even when it is stopped");
}

#[test]
fn a_command_that_takes_too_long_is_given_up() {
    if cannot("a_command_that_takes_too_long_is_given_up") {
        return;
    }
    let _machine = machine();
    let home = home();
    let output = run(&mut vm(home.path(), &["--timeout", "1s", "--cpus", "1", "--", "sleep", "1000"]));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("did not end within 1s (--timeout)"), "{}", stderr(&output));
}

#[test]
fn signals_end_qemu_too_and_leave_nothing() {
    if cannot("signals_end_qemu_too_and_leave_nothing") {
        return;
    }
    let _machine = machine();
    let home = home();
    // "booting" is the moment in which QEMU asks to die with swtch, so SIGKILL comes before that and after it.
    let kills = ["booting"; 8].into_iter().chain(["started"]).map(|when| (Signal::KILL, when, false));
    for (signal, when, by_itself) in
        [(Signal::INT, "booting", true), (Signal::TERM, "booting", true)].into_iter().chain(kills)
    {
        let (child, qemu) = until(home.path(), &["--json", "--cpus", "1", "--", "sleep", "1000"], when);
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), by_itself.then_some(1), "{signal:?}: {}", stderr(&output));
        let began = Instant::now();
        while !is_gone(qemu) {
            assert!(began.elapsed() < BOOT_AT_MOST, "{signal:?} leaves QEMU running");
            std::thread::sleep(Duration::from_millis(10));
        }
        if by_itself {
            assert!(stderr(&output).contains("interrupted"), "{}", stderr(&output));
            assert_eq!(names(&home.path().join("temporary")), [""; 0], "{signal:?}");
        }
    }
}

#[test]
fn counted_instructions_give_the_same_figures_twice() {
    if cannot("counted_instructions_give_the_same_figures_twice") {
        return;
    }
    let _machine = machine();
    let home = home();
    // Processes that wake each other through a pipe, on several CPUs. There are thousands of moments in which every CPU sleeps. There,
    // QEMU's own threads have to be kept in step.
    let script = "exec {never}<> <(:)
took() { local began=${EPOCHREALTIME/./}; $1 $2; local ended=${EPOCHREALTIME/./}; echo $1 $((ended - began)); }
spin() { local k; for ((k = 0; k < $1; k++)); do :; done; }
nap() { local k; for ((k = 0; k < $1; k++)); do read -t 0.0001 -u $never; done; }
pass() { local k; for ((k = 0; k < $1; k++)); do echo $k | cat >/dev/null; done; }
took nap 200; took nap 800; took spin 5000; took spin 20000; took pass 5; took pass 20; took nap 200; took nap 800
i=0; while [ $i -lt 20 ]; do echo $i | cat >/dev/null; i=$((i+1)); done
while [ $i -lt 6000 ]; do read -t 0.0001 -u $never; i=$((i+1)); done; date +%s.%N
read bits </proc/sys/kernel/random/entropy_avail; echo bits=$bits";
    let once = |cache: &Path| {
        let arguments = ["--json", "--deterministic", "--cpus", "2", "--", "bash", "-c", script];
        let output = run(vm(home.path(), &arguments).env("XDG_CACHE_HOME", cache));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let events = events(&stdout(&output));
        (event(&events, "exited").clone(), text_of(&events, "stdout"))
    };
    // Guests that resume from one boot, and one that resumes from a boot of its own, as on another machine.
    let (first, second, elsewhere) =
        (once(&cache()), once(&cache()), once(&cache_without_boots(home.path())));
    assert_eq!(first, second);
    assert_eq!(first, elsewhere, "another boot");
    // The emulated CPU has no instruction for random numbers; waiting for them would take seconds, or for ever.
    assert!(first.1.contains("\nbits=256\n"), "{first:?}");
    assert!(first.0["context_switches"].as_u64().unwrap() > 6000, "{first:?}");
    assert!(first.0["elapsed_ns"].as_u64().unwrap() > 100_000_000, "{first:?}");
    let took: Vec<(&str, f64)> = first
        .1
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(what, us)| (what, us.parse().unwrap()))
        .collect();
    assert_eq!(took.len(), 8, "{took:?}");
    // The kernel's work after its boot would be in the first of them. It made 200 naps take 7 times as long, and 800 as long as 200.
    let again = took[0].1 / took[6].1;
    assert!(
        (0.95..=1.05).contains(&again),
        "the first naps took {again} times as long as the last: {took:?}"
    );
    for pair in took.chunks(2) {
        let (what, ratio) = (pair[0].0, pair[1].1 / pair[0].1);
        // Four times the instructions and the naps. Anything that is not four times as much is a tick more or less, and the first faults
        // of a page.
        assert!(
            (3.8..=4.2).contains(&ratio),
            "{what}: four times the work takes {ratio} times as long: {took:?}"
        );
    }
}

#[test]
fn two_command_lines_are_compared() {
    if cannot("two_command_lines_are_compared") {
        return;
    }
    let _machine = machine();
    let home = home();
    let arguments = [
        "--cpus",
        "1",
        "--append",
        "mitigations=auto",
        "--append",
        "mitigations=off",
        "--",
        "swtch",
        "measure",
    ];
    let only = ["--quick", "--method", "pipe", "--class", "normal", "--time-limit", "5s"];
    let output = run(vm_with("no BPF", home.path(), &arguments).args(only));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("before: mitigations=auto\nafter:  mitigations=off\n"), "{text}");
    assert!(text.contains("pipe"), "{text}");
    assert!(!home.path().join("versus-profile.json").exists());
}

#[test]
fn what_cannot_work_is_said_at_once() {
    if cannot("what_cannot_work_is_said_at_once") {
        return;
    }
    let home = home();
    fs::write(home.path().join("vmlinux"), "\x7fELF").unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--", "no-such-program"], 127, "'no-such-program' is neither a program on PATH"),
        (&["--copy", "absent", "--", "true"], 1, "into the guest: "),
        (&["--sched", "absent", "--", "true"], 1, "no scheduler scx_absent"),
        (&["--kernel", "absent", "--", "true"], 1, "cannot boot absent"),
        (&["--kernel", "vmlinux", "--", "true"], 1, "not a kernel image for x86_64"),
        (&["--cpus", "0", "--", "true"], 2, "CPUs"),
        (&["--memory", "1M", "--", "true"], 2, "128 MiB"),
        (&["--fetch", "..", "--", "true"], 1, "names no file"),
        (&[], 2, "no command given"),
    ];
    for (arguments, status, words) in cases {
        let output = run(&mut vm(home.path(), arguments));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{arguments:?}: {}", stderr(&output));
    }
    let output = run(vm(home.path(), &["--", "true"]).env("PATH", home.path()));
    assert!(stderr(&output).contains("apt-get install qemu-system-x86"), "{}", stderr(&output));
    let output =
        run(&mut vm(home.path(), &["--append", "a", "--append", "b", "--", "swtch", "measure", "--json"]));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
