//! `swtch record --source perf`: what perf events tell, next to what the kernel, BPF and perf itself count; and when they are chosen.

use crate::common::{SUMMARY, home, is_root, run, skip, stderr, stdout, swtch, with_summary};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use swtch_record::Target;
use swtch_record::plan::Facts;
use swtch_trace::Trace;

/// Two threads that hand a byte to each other on one CPU; then how often they were switched, by the kernel.
const PING_PONG: &str = "import os, threading\n\
    a, b = os.pipe(), os.pipe()\n\
    def echo():\n    for _ in range(20000): os.write(b[1], os.read(a[0], 1))\n\
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\n\
    thread = threading.Thread(target=echo); thread.start()\n\
    for _ in range(20000): os.write(a[1], b'x'); os.read(b[0], 1)\n\
    thread.join()\n\
    import resource; usage = resource.getrusage(resource.RUSAGE_SELF); print(usage.ru_nvcsw, usage.ru_nivcsw, os.getpid())\n";

/// A shell that sleeps forty times, and then says how often it was switched, by the kernel.
const SLEEPS: &str = "i=0; while [ $i -lt 40 ]; do sleep 0.001; i=$((i+1)); done; while read -r name count; do case $name in \
    *ctxt*) echo $count;; esac; done < /proc/$$/status";

fn record(home: &Path, arguments: &[&str]) -> Command {
    let mut command = swtch(home);
    command.args(["record", "--no-profile"]).args(arguments);
    command
}

/// Why perf events of this target cannot be tested here, if they cannot.
fn without_perf(target: &Target) -> Option<String> {
    Facts::of(target).perf.err()
}

fn of_commands() -> Option<String> {
    without_perf(&Target::Command(Vec::new()))
}

/// What the command printed, and the summary after it.
fn parts(text: &str) -> (Vec<u64>, Value) {
    let place = text.find('{').unwrap_or_else(|| panic!("no summary: {text}"));
    let numbers = text[..place].split_whitespace().map(|word| word.parse().unwrap()).collect();
    (numbers, serde_json::from_str(&text[place..]).unwrap_or_else(|error| panic!("{error}: {text}")))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn why(found: &Value) -> &str {
    found["why"].as_str().unwrap()
}

/// Waits until it is so.
fn until(mut so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited for ten seconds");
}

/// Ends with the test, whatever happens.
struct Load(Child);

impl Load {
    fn start(script: &str) -> Self {
        Self(Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn switches_are_those_the_kernel_counts() {
    if let Some(why) = of_commands() {
        return skip("switches_are_those_the_kernel_counts", &why);
    }
    let home = home();
    for mode in ["--events", "--counts"] {
        let arguments =
            ["--source", "perf", SUMMARY, mode, "--force", "-o", "sh.swtch", "--", "sh", "-c", SLEEPS];
        let (printed, found) = parts(&with_summary(home.path(), &run(&mut record(home.path(), &arguments))));
        let tasks = found["tasks"].as_array().unwrap();
        let shell = tasks
            .iter()
            .find(|task| task["comm"] == "sh" && task["voluntary"].as_u64() > Some(30))
            .unwrap_or_else(|| panic!("{tasks:?}"));
        let (voluntary, involuntary) = (number(&shell["voluntary"]), number(&shell["involuntary"]));
        // A sleep that a signal cuts short before it began is voluntary to the kernel, and not to perf events: the sum is the same.
        let (all, counted) = (printed[0] + printed[1], voluntary + involuntary);
        assert!((all..=all + 24).contains(&counted), "{mode}: {voluntary} {involuntary}, {printed:?}");
        assert!(voluntary.abs_diff(printed[0]) <= 4, "{mode}: {voluntary} {printed:?}");
        assert_eq!((&found["processes"]["forked"], &found["processes"]["exited"]), (&41.into(), &41.into()));
        assert_eq!((&found["lost"], &found["source"]), (&0.into(), &"perf".into()), "{}", found["losses"]);
        assert_eq!(number(&found["processes"]["execs"]), 41);
        // The first switch of all, too: it ran from its birth on.
        let trace = Trace::open(&home.path().join("sh.swtch")).unwrap();
        assert_eq!(trace.switches().count() > 0, mode == "--events");
    }
}

#[test]
fn bpf_counts_the_same() {
    const TEST: &str = "bpf_counts_the_same";
    let facts = Facts::read();
    let inside = facts.own_task_numbers.then(|| "a container that numbers its own tasks".to_owned());
    if let Some(why) = facts.perf.err().or(facts.bpf.err()).or(inside) {
        return skip(TEST, &why);
    }
    let home = home();
    let shares = ["perf", "bpf"].map(|source| {
        let arguments = ["--source", source, SUMMARY, "--events", "--", "python3", "-c", PING_PONG];
        let text = with_summary(home.path(), &run(&mut record(home.path(), &arguments)));
        if text.starts_with('{') {
            return None;
        }
        let (printed, found) = parts(&text);
        let ours = found["tasks"].as_array().unwrap().iter().filter(|task| task["pid"] == printed[2]);
        let counted: u64 = ours.map(|task| number(&task["voluntary"]) + number(&task["involuntary"])).sum();
        assert_eq!(found["lost"], 0, "{}", found["losses"]);
        assert!(printed[0] + printed[1] > 30_000, "{printed:?}");
        Some(counted as f64 / (printed[0] + printed[1]) as f64)
    });
    let [Some(perf), Some(bpf)] = shares else { return skip(TEST, "no python3 here") };
    // Of what the kernel counts of the same run, each has all.
    assert!((0.999..1.01).contains(&perf) && (0.999..1.01).contains(&bpf), "{perf} {bpf}");
}

/// `perf stat` inside of the recording counts the same switches of the same run: from the program's start to the record of its end.
#[test]
fn perf_stat_counts_the_same() {
    const TEST: &str = "perf_stat_counts_the_same";
    let usable = Command::new("perf").args(["stat", "-x,", "-e", "context-switches", "true"]).output();
    let Some(usable) = usable.ok().filter(|output| output.status.success()) else {
        return skip(TEST, "perf does not run here");
    };
    if let Some(why) = of_commands() {
        return skip(TEST, &why);
    }
    if !stderr(&usable).contains(",context-switches,") {
        return skip(TEST, "perf stat may not count the kernel's side here");
    }
    let home = home();
    let script = "i=0; while [ $i -lt 50 ]; do sleep 0.001; i=$((i+1)); done";
    let stat = ["perf", "stat", "-x,", "-o", "stat.txt", "-e", "context-switches", "sh", "-c", script];
    let output = run(record(home.path(), &["--source", "perf", SUMMARY, "--"]).args(stat));
    let (_, found) = parts(&with_summary(home.path(), &output));
    let text = fs::read_to_string(home.path().join("stat.txt")).unwrap();
    let counted = text.lines().find_map(|line| line.split_once(",,context-switches")).unwrap().0;
    let counted: u64 = counted.parse().unwrap();
    let tasks = found["tasks"].as_array().unwrap();
    let ours: Vec<&Value> = tasks.iter().filter(|task| task["comm"] != "perf").collect();
    let sum: u64 = ours.iter().map(|task| number(&task["voluntary"]) + number(&task["involuntary"])).sum();
    // Every task's last switch is beyond its counter, and what perf's child did before it became the shell is before it.
    let without_last = sum - ours.len() as u64;
    assert!(ours.len() >= 51 && (counted..=counted + 20).contains(&without_last), "{without_last} {counted}");
}

#[test]
fn short_processes_are_all_there_and_output_passes_through() {
    const TEST: &str = "short_processes_are_all_there_and_output_passes_through";
    if let Some(why) = of_commands() {
        return skip(TEST, &why);
    }
    let home = home();
    let script = "i=0; while [ $i -lt 100 ]; do /bin/true & /bin/true & /bin/true & wait; i=$((i+1)); done; echo 7; exit 7";
    let arguments = ["--source", "perf", SUMMARY, "--", "sh", "-c", script];
    let output = run(&mut record(home.path(), &arguments));
    let (printed, found) = parts(&with_summary(home.path(), &output));
    assert_eq!((printed, output.status.code()), (vec![7], Some(7)), "{}", stderr(&output));
    assert_eq!((&found["processes"]["forked"], &found["lost"]), (&301.into(), &0.into()));
    assert_eq!((&found["processes"]["exited"], &found["processes"]["execs"]), (&301.into(), &301.into()));
    let trace = Trace::open(&home.path().join("sh.swtch")).unwrap();
    assert_eq!(trace.tasks.iter().filter(|task| task.in_scope && task.comm != "swtch").count(), 301);
    assert!(trace.tasks.iter().all(|task| task.voluntary + task.involuntary > 0), "each has its last switch");
    // Unseen figures have their reason.
    let missing: Vec<&str> =
        found["unavailable"].as_array().unwrap().iter().map(|row| row["what"].as_str().unwrap()).collect();
    for what in ["wakes", "preemptions", "totals.wakeups", "tasks.wait_ns", "tasks.instructions"] {
        // A machine may have counters.
        assert!(missing.contains(&what) || what == "tasks.instructions", "{what} in {missing:?}");
    }
    assert!(found["wakeups"].is_null() && found["context_switches"]["idle"].is_null());
}

/// A buffer of one page: reported losses and events make up what happened.
#[test]
fn losses_are_counted() {
    const TEST: &str = "losses_are_counted";
    if let Some(why) = of_commands() {
        return skip(TEST, &why);
    }
    let home = home();
    let arguments = ["--source", "perf", SUMMARY, "--buffer", "4K", "--", "python3", "-c", PING_PONG];
    let text = with_summary(home.path(), &run(&mut record(home.path(), &arguments)));
    if text.starts_with('{') {
        return skip(TEST, "no python3 here");
    }
    let (printed, found) = parts(&text);
    let happened = (printed[0] + printed[1]) as f64;
    let lost = number(&found["lost"]);
    let rows = found["losses"].as_array().unwrap();
    assert!(lost > 0 && rows.iter().all(|row| row["cpu"].is_number() && row["what"] != ""), "{rows:?}");
    let totals = &found["context_switches"];
    let came = number(&totals["voluntary"]) + number(&totals["involuntary"]);
    // A switch is two records: of the one that left and of the one that came.
    let share = (came as f64 + lost as f64 / 2.0) / happened;
    assert!((0.95..1.1).contains(&share), "{came} came, {lost} records lost, {happened} happened");
}

#[test]
fn the_whole_machine_is_reconciled_with_the_kernel() {
    const TEST: &str = "the_whole_machine_is_reconciled_with_the_kernel";
    if let Some(why) = without_perf(&Target::Machine) {
        return skip(TEST, &why);
    }
    let home = home();
    let _load = Load::start("while :; do sleep 0.001; done");
    let arguments = ["-a", "--source", "perf", "--duration", "1500ms", SUMMARY];
    let output = run(&mut record(home.path(), &arguments));
    assert!(output.status.success(), "{}", stderr(&output));
    let (_, found) = parts(&with_summary(home.path(), &output));
    let row = &found["reconciliation"][0];
    let (counted, kernel) = (row["counted"].as_f64().unwrap(), row["kernel"].as_f64().unwrap());
    let trace = Trace::open(&home.path().join("machine.swtch")).unwrap();
    let last_ns = trace.switches().map(|row| row.unwrap().at_ns).max();
    assert!(
        kernel > 500.0 && (counted / kernel - 1.0).abs() < 0.1,
        "{row} {} {} the last at {last_ns:?} of {} ns",
        found["context_switches"],
        found["losses"],
        found["duration_ns"]
    );
    assert!(number(&found["processes"]["forked"]) > 50, "{}", found["processes"]);
    // Of the whole machine both sides of a switch are known.
    let both = trace.switches().filter(|row| {
        let row = row.as_ref().unwrap();
        row.prev_tid != 0 && row.next_tid != 0
    });
    assert!(both.count() > 0 && trace.tasks.iter().all(|task| task.tid != u32::MAX));
}

/// A process that runs already, and its children, of which none is counted twice.
#[test]
fn running_processes_are_followed() {
    const TEST: &str = "running_processes_are_followed";
    let load = Load::start("while :; do sleep 0.001; done");
    let pid = load.0.id();
    if let Some(why) = without_perf(&Target::Processes(vec![pid])) {
        return skip(TEST, &why);
    }
    let home = home();
    let switches = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
        counts.map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    let before = switches();
    let tid = pid.to_string();
    let output = run(&mut record(
        home.path(),
        &["-p", &tid, "--source", "perf", "--duration", "1s", SUMMARY, "-o", "p.swtch"],
    ));
    let after = switches();
    let (_, found) = parts(&with_summary(home.path(), &output));
    let tasks = found["tasks"].as_array().unwrap();
    let shell = tasks.iter().find(|task| task["tid"] == pid).unwrap_or_else(|| panic!("{tasks:?}"));
    let counted = number(&shell["voluntary"]) + number(&shell["involuntary"]);
    let forked = number(&found["processes"]["forked"]);
    assert!(counted > 20 && counted <= after - before, "{counted} of {}", after - before);
    assert!(forked > 20 && counted >= forked, "{forked} {counted}");
    assert!(tasks.iter().filter(|task| task["comm"] == "sleep").count() as u64 + 1 >= forked);
    assert_eq!(found["ended"], "duration");
}

/// What moves into a cgroup is followed from then on, and its children are not counted twice.
#[test]
fn who_moves_into_a_control_group_is_followed() {
    const TEST: &str = "who_moves_into_a_control_group_is_followed";
    if let Some(why) = of_commands() {
        return skip(TEST, &why);
    }
    let name = format!("swtch-test-perf-{}", std::process::id());
    let mounts = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    let made =
        mounts.iter().map(|mount| Path::new(mount).join(&name)).find(|path| fs::create_dir(path).is_ok());
    let Some(group) = made else { return skip(TEST, "no cgroup can be made here") };
    let group = Group(group);
    let home = home();
    let recorder = record(
        home.path(),
        &[SUMMARY, "--source", "perf", "-o", "g.swtch", "--cgroup", group.0.to_str().unwrap()],
    )
    .stdin(Stdio::null())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    until(|| home.path().join("g.swtch").exists());
    std::thread::sleep(Duration::from_millis(300));
    let script = format!("echo $$ > {}/cgroup.procs && sleep 1.5 && {SLEEPS}", group.0.display());
    let inside = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    let printed: Vec<u64> = stdout(&inside).lines().map(|line| line.parse().unwrap()).collect();
    std::thread::sleep(Duration::from_millis(200));
    drop(group);
    let output = recorder.wait_with_output().unwrap();
    let (_, found) = parts(&with_summary(home.path(), &output));
    let tasks = found["tasks"].as_array().unwrap();
    let shell = tasks.iter().find(|task| task["comm"] == "sh").unwrap_or_else(|| panic!("{tasks:?}"));
    let (voluntary, involuntary) = (number(&shell["voluntary"]), number(&shell["involuntary"]));
    // Before it was followed it had been switched a few times; after it printed, too.
    assert!(voluntary + involuntary >= 40, "{shell} {printed:?}");
    assert!(voluntary + involuntary <= printed[0] + printed[1] + 24, "{shell} {printed:?}");
    assert!(number(&found["processes"]["forked"]) >= 40, "{}", found["processes"]);
    for sleep in tasks.iter().filter(|task| task["comm"] == "sleep") {
        let together = number(&sleep["voluntary"]) + number(&sleep["involuntary"]);
        assert!(together >= 1, "{sleep}");
    }
}

/// Goes with the test.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel may still be letting go of the last task.
        for _ in 0..200 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("the cgroup {} could not be removed", self.0.display());
    }
}

/// A directory that all users may write to, and the program as an unprivileged user, after what `ahead` does.
fn as_nobody(home: &Path, ahead: &[&str], arguments: &[&str]) -> Command {
    fs::set_permissions(home, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"])
        .args(ahead)
        .arg(env!("CARGO_BIN_EXE_swtch"))
        .args(["record", "--no-profile", SUMMARY])
        .args(arguments)
        .env("XDG_STATE_HOME", home)
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn paranoid() -> Option<i64> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

#[test]
fn without_privilege_a_command_is_seen_by_perf_events_and_the_machine_is_not() {
    const TEST: &str = "without_privilege_a_command_is_seen_by_perf_events_and_the_machine_is_not";
    if !is_root() {
        return skip(TEST, "only root can change the user");
    }
    if !matches!(paranoid(), Some(1 | 2)) || of_commands().is_some() {
        return skip(TEST, "kernel.perf_event_paranoid is neither 1 nor 2 here");
    }
    let home = home();
    let output = run(&mut as_nobody(home.path(), &[], &["--", "sh", "-c", SLEEPS]));
    let (printed, found) = parts(&with_summary(home.path(), &output));
    assert_eq!(found["source"], "perf", "{found}");
    assert!(
        why(&found).contains("BPF is not permitted") && why(&found).contains("perf events are permitted")
    );
    let tasks = found["tasks"].as_array().unwrap();
    let counted = |task: &Value| number(&task["voluntary"]) + number(&task["involuntary"]);
    assert!(tasks.iter().any(|task| task["comm"] == "sh" && counted(task) >= printed[0] + printed[1]));

    let output = run(&mut as_nobody(home.path(), &[], &["-a", "--duration", "300ms"]));
    let (_, found) = parts(&with_summary(home.path(), &output));
    assert_eq!(found["source"], "procfs", "{found}");
    assert!(why(&found).contains("sysctl kernel.perf_event_paranoid=0"), "{}", why(&found));

    // Asked for nevertheless, they are one line, and leave nothing.
    let arguments = ["-a", "--source", "perf", "--duration", "300ms", "-o", "none.swtch"];
    let output = run(&mut as_nobody(home.path(), &[], &arguments));
    assert_eq!((output.status.code(), stderr(&output).trim_end().lines().count()), (Some(1), 1));
    assert!(stderr(&output).contains("perf_event_paranoid"), "{}", stderr(&output));
    assert!(!home.path().join("none.swtch").exists());

    // More memory than is permitted is refused, and reported.
    let output = run(&mut as_nobody(home.path(), &[], &["--buffer", "1G", "--", "true"]));
    let (_, found) = parts(&with_summary(home.path(), &output));
    assert!(why(&found).contains("more is not permitted"), "{}", why(&found));
}

/// In a container that was not given the capabilities, neither root nor a file's capabilities have them. A sysctl of the whole machine
/// loosens its security. None of that is advised.
#[test]
fn what_would_permit_nothing_is_not_advised() {
    const TEST: &str = "what_would_permit_nothing_is_not_advised";
    if !is_root() {
        return skip(TEST, "only root can give up capabilities for good");
    }
    if !matches!(paranoid(), Some(1 | 2)) {
        return skip(TEST, "kernel.perf_event_paranoid is neither 1 nor 2 here");
    }
    for user in ["0", "65534"] {
        let home = home();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            user,
            "--regid",
            user,
            "--clear-groups",
            "--bounding-set=-all",
            "--inh-caps=-all",
        ]);
        command.arg(env!("CARGO_BIN_EXE_swtch")).args([
            "record",
            "--no-profile",
            "-a",
            "--duration",
            "200ms",
        ]);
        command.env("XDG_STATE_HOME", home.path()).current_dir(home.path()).stdin(Stdio::null());
        let output = run(&mut command);
        let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        let why =
            text.split("Seen by procfs: ").nth(1).unwrap_or_else(|| panic!("{text}{}", stderr(&output)));
        for vain in ["run as root", "setcap", "sysctl"] {
            assert!(!why.contains(vain), "user {user}: {why}");
        }
        assert!(why.contains("--cap-add BPF --cap-add PERFMON"), "user {user}: {why}");
    }
}

/// Installs a filter that refuses perf_event_open(2), as container runtimes do, and becomes the rest of its arguments.
const SANDBOX: &str = "import ctypes, os, platform, struct, sys\n\
    number = {'x86_64': 298, 'aarch64': 241}[platform.machine()]\n\
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]\n\
    lines = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *line) for line in code))\n\
    class Program(ctypes.Structure): _fields_ = [('length', ctypes.c_ushort), ('lines', ctypes.c_void_p)]\n\
    libc = ctypes.CDLL(None)\n\
    ok = libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Program(4, ctypes.addressof(lines))), 0, 0) == 0\n\
    os.execv(sys.argv[1], sys.argv[1:]) if ok else sys.exit('no filter')\n";

#[test]
fn where_neither_is_permitted_proc_is_sampled() {
    const TEST: &str = "where_neither_is_permitted_proc_is_sampled";
    if !is_root() {
        return skip(TEST, "only root can change the user");
    }
    // Where an unprivileged user can run it too.
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        return skip(TEST, "no /usr/bin/python3 here");
    }
    let home = home();
    let output = run(&mut as_nobody(home.path(), &[python, "-c", SANDBOX], &["--", "sleep", "0.3"]));
    if stderr(&output).contains("no filter") || stderr(&output).contains("KeyError") {
        return skip(TEST, "no filter of system calls can be made here");
    }
    let (_, found) = parts(&with_summary(home.path(), &output));
    assert_eq!(found["source"], "procfs", "{found}");
    assert!(
        why(&found).contains("BPF is not permitted") && why(&found).contains("perf events of"),
        "{}",
        why(&found)
    );
}

/// In a namespace of its own numbers BPF cannot tell which tasks are meant; perf events use the numbers of the process that opened them.
#[test]
fn in_a_namespace_of_its_own_tasks_have_the_numbers_seen_there() {
    const TEST: &str = "in_a_namespace_of_its_own_tasks_have_the_numbers_seen_there";
    if let Some(why) = of_commands() {
        return skip(TEST, &why);
    }
    let home = home();
    let output = Command::new("unshare")
        .args([
            "--pid",
            "--fork",
            "--mount-proc",
            env!("CARGO_BIN_EXE_swtch"),
            "record",
            "--no-profile",
            SUMMARY,
        ])
        .args(["--", "sh", "-c", SLEEPS])
        .env("XDG_STATE_HOME", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if !output.status.success() && stderr(&output).contains("unshare") {
        return skip(TEST, "no namespace can be made here");
    }
    let (printed, found) = parts(&with_summary(home.path(), &output));
    assert_eq!(found["source"], "perf", "{found}");
    assert!(why(&found).contains("a PID namespace"), "{}", why(&found));
    let tasks = found["tasks"].as_array().unwrap();
    let most = tasks.iter().map(|task| number(&task["tid"])).max().unwrap();
    assert!(most < 200, "{most} is not a number of a new namespace");
    let shell =
        tasks.iter().find(|task| task["comm"] == "sh" && task["voluntary"].as_u64() > Some(30)).unwrap();
    assert!(number(&shell["voluntary"]) + number(&shell["involuntary"]) >= printed[0] + printed[1]);
}
