//! `swtch top` from end to end: in a terminal, and into a pipe.

use crate::advised::{Hog, compiled};
use crate::common::machine::alone;
use crate::common::{fixture, home, last_cpu, run, skip, stderr, stdout, swtch, usable, without_bpf};
use crate::terminal::{Connection, Terminal, described, ended};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn top(home: &Path, arguments: &[&str]) -> Command {
    let mut command = swtch(home);
    command.arg("top").args(arguments);
    command
}

/// A process that sleeps and wakes until it is dropped, under a name of its own.
struct Busy {
    child: Child,
    _folder: crate::common::Home,
}

impl Busy {
    fn begin(name: &str) -> Self {
        let folder = home();
        let program = folder.path().join(name);
        fs::copy("/bin/bash", &program).unwrap();
        // A shell that waits for nothing, with its own means: each `read` is a sleep.
        let child = Command::new(&program)
            .args(["-c", "exec {never}<> <(:); while :; do read -t 0.01 -u $never; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, _folder: folder }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn windows(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn windows_for_machines_have_the_names_they_promise() {
    let home = home();
    let busy = Busy::begin("top-json");
    for source in usable("windows_for_machines_have_the_names_they_promise") {
        // Else a window may see no wait of the task.
        let all: &[&str] = if source == "--counts" { &["--sample", "100%"] } else { &[] };
        let output = run(top(home.path(), &[source, "--json", "-n", "3", "-i", "300ms"]).args(all));
        assert!(output.status.success(), "{source}: {}", stderr(&output));
        let windows = windows(&stdout(&output));
        assert_eq!(windows.len(), 3, "{source}");
        for window in &windows {
            assert_eq!(window["schema"], "swtch/top/1");
            assert!(window["length_ns"].as_u64().unwrap() >= 300_000_000, "{source}");
            assert!(window["totals"]["own_cpu_share"].as_f64().unwrap() >= 0.0);
            assert!(window["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()));
        }
        // On a busy machine it may not have run in one of them.
        let tasks = windows.iter().flat_map(|window| window["tasks"].as_array().unwrap());
        let ours: Vec<&Value> = tasks.filter(|task| task["tid"] == busy.pid()).collect();
        let [task, ..] = &ours[..] else { panic!("{source}: not there: {windows:?}") };
        assert_eq!((&task["name"], &task["kernel_thread"]), (&"top-json".into(), &false.into()), "{source}");
        assert!(task["rates"]["voluntary_per_s"].as_f64().unwrap() > 0.0, "{source}: {task}");
        assert!(task["cgroup"].is_string(), "{source}: {task}");
        let sees = source == "--events";
        assert_eq!(task["preempted_by"].is_array(), sees, "{source}");
        assert_eq!(task["behind"].is_array(), sees, "{source}: {task}");
        assert_eq!(task["rates"]["wait_max_ns"].is_null(), source == "--source=procfs", "{source}: {task}");
        let missing = windows[0]["unavailable"].as_array().unwrap();
        assert_eq!(missing.iter().any(|row| row["what"] == "preemptions"), !sees, "{source}");
    }
}

/// The same threads wait in a loop, and then asleep.
#[test]
fn a_process_that_waits_on_the_cpus_it_needs_is_named_with_the_remedy() {
    const TEST: &str = "a_process_that_waits_on_the_cpus_it_needs_is_named_with_the_remedy";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let _machine = alone();
    let home = home();
    let Some(program) = compiled(home.path(), "spinners") else { return skip(TEST, "no C compiler here") };
    let cpu = last_cpu();
    let seen = |how: &str| -> Vec<Value> {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu]).arg(&program).args([how, "4", "1000000", "400000"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let load = Hog(child);
        let output = run(&mut top(home.path(), &["--events", "--json", "-n", "3", "-i", "500ms"]));
        assert!(output.status.success(), "{}", stderr(&output));
        let all = windows(&stdout(&output));
        let lines = all.iter().flat_map(|window| window["spinning"].as_array().unwrap().clone());
        lines.filter(|line| line["pid"] == load.0.id()).collect()
    };
    let lines = seen("pause");
    let Some(line) = lines.first() else { panic!("none of three windows names it") };
    assert!(line["threads"].as_u64().is_some_and(|threads| (4..=5).contains(&threads)), "{line}");
    assert!(line["remedy"].as_str().unwrap().starts_with("1 thread (as many as CPUs)"), "{line}");
    assert_eq!(seen("block"), [Value::Null; 0], "threads that wait asleep are not named");
}

#[test]
fn what_a_task_costs_agrees_with_the_kernels_count() {
    let home = home();
    let busy = Busy::begin("top-count");
    let counts = || -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", busy.pid())).unwrap();
        let of = |name: &str| -> u64 {
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
        };
        of("voluntary_ctxt_switches:") + of("nonvoluntary_ctxt_switches:")
    };
    for source in usable("what_a_task_costs_agrees_with_the_kernels_count") {
        let before = counts();
        let pid = busy.pid().to_string();
        let output = run(&mut top(home.path(), &[source, "-p", &pid, "--json", "-n", "4", "-i", "250ms"]));
        let after = counts();
        let windows = windows(&stdout(&output));
        let seen: f64 = windows
            .iter()
            .flat_map(|window| window["tasks"].as_array().unwrap().iter().map(move |task| (window, task)))
            .filter(|(_, task)| task["tid"] == busy.pid())
            .map(|(window, task)| {
                let rates = &task["rates"];
                let per_s =
                    rates["voluntary_per_s"].as_f64().unwrap() + rates["involuntary_per_s"].as_f64().unwrap();
                per_s * window["length_ns"].as_f64().unwrap() / 1e9
            })
            .sum();
        assert!(
            seen > 0.0 && seen <= (after - before) as f64 + 1.0,
            "{source}: {seen} of {}",
            after - before
        );
    }
}

#[test]
fn text_goes_into_a_pipe_and_a_closed_pipe_ends_it() {
    let home = home();
    let busy = Busy::begin("top-text");
    for source in usable("text_goes_into_a_pipe_and_a_closed_pipe_ends_it") {
        let output = run(&mut top(home.path(), &[source, "--once", "--filter", "top-text"]));
        let text = stdout(&output);
        assert!(output.status.success(), "{source}: {}", stderr(&output));
        assert!(text.starts_with("swtch top") && text.contains("Switches "), "{text}");
        let line = text.lines().find(|line| line.contains("top-text")).unwrap_or_else(|| panic!("{text}"));
        assert!(line.trim_start().starts_with(&busy.pid().to_string()), "{line}");
        assert!(!text.contains('\x1b'), "{text}");
        if source == "--source=procfs" {
            assert!(text.contains("Cost unknown") && text.contains("swtch measure"), "{text}");
        }
    }
    let mut endless = top(home.path(), &["--source=procfs", "-i", "100ms", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(endless.stdout.take());
    assert!(endless.wait().unwrap().success());
}

#[test]
fn a_profile_prices_what_is_not_measured() {
    let home = home();
    fs::create_dir(home.path().join("swtch")).unwrap();
    fs::copy(fixture("profiles/vm.json"), home.path().join("swtch/profile.json")).unwrap();
    let output = run(&mut top(home.path(), &["--source=procfs", "--json", "--once"]));
    let window = &windows(&stdout(&output))[0];
    assert_eq!(window["cost_source"], "profile", "{window}");
    assert!(window["tasks"][0]["rates"]["cost_share"]["high"].is_number());
    assert!(
        stdout(&run(&mut top(home.path(), &["--source=procfs", "--once"])))
            .contains("by this machine's Profile")
    );
}

#[test]
fn processes_that_end_end_it() {
    let home = home();
    for source in usable("processes_that_end_end_it") {
        for how in [&["--json"][..], &[]] {
            let mut sleeper = Command::new("sleep").arg("1").spawn().unwrap();
            let pid = sleeper.id().to_string();
            let looking = top(home.path(), &[&[source, "-p", &pid, "-i", "400ms"], how].concat())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            sleeper.wait().unwrap();
            let output = looking.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{source}: {}", stderr(&output));
            assert_eq!(stderr(&output), format!("swtch: all watched processes have exited: {pid}\n"));
        }
    }
}

#[test]
fn wrong_wishes_are_one_line() {
    let home = home();
    for (arguments, status, words) in [
        (&["--sort", "price"][..], 2, "no column 'price'"),
        (&["--interval", "1ms"], 2, "between 50ms and 1h"),
        (&["--once", "-n", "2"], 2, "cannot be used with"),
        (&["-n", "0"], 2, "0 is not in"),
        (&["-p", "4194303", "--once"], 1, "no process 4194303"),
        (&["--cgroup", "/no/such/group", "--once"], 1, "/no/such/group"),
        (&["--profile", "/no/such.json", "--once"], 1, "cannot read /no/such.json"),
        (&["--events", "--counts"], 2, "cannot be used with"),
        (&["--source", "magic"], 2, "unknown source 'magic'"),
    ] {
        let output = run(&mut top(home.path(), arguments));
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{arguments:?}: {complaint}");
        assert!(complaint.contains(words), "{arguments:?}: {complaint}");
    }
}

/// Where a full screen is left, and what must be as it was.
fn left_as_found(terminal: &Terminal, modes: &str) {
    let written = terminal.written();
    assert!(written.contains("\x1b[?1049h"), "the other screen was not taken");
    assert_eq!(written.matches("\x1b[?1049h").count(), written.matches("\x1b[?1049l").count());
    assert!(written.rfind("\x1b[?1049l") > written.rfind("\x1b[?1049h"), "the other screen was not left");
    assert!(written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l"), "the cursor is hidden");
    assert_eq!(described(&terminal.modes()), modes, "the modes are not as they were");
}

fn has(screen: &[String], words: &str) -> bool {
    screen.iter().any(|line| line.contains(words))
}

#[test]
fn keys_do_what_they_say_and_q_leaves_everything_as_it_was() {
    let home = home();
    let busy = Busy::begin("top-keys");
    for source in usable("keys_do_what_they_say_and_q_leaves_everything_as_it_was") {
        let mut terminal = Terminal::new(100, 30);
        let modes = described(&terminal.modes());
        let mut child = terminal.run(&mut top(home.path(), &[source, "-i", "300ms"]));
        let sorted = if source == "--source=procfs" { "SW/sv" } else { "COST%v" };
        terminal.wait_for("table", |screen| has(screen, sorted) && has(screen, "tasks  q quit"));
        assert_ne!(described(&terminal.modes()), modes, "the terminal was not taken");
        terminal.press("/top-k");
        terminal.wait_for("filter", |screen| {
            has(screen, "Filter: top-k_") && has(screen, &format!("{} top-keys", busy.pid()))
        });
        terminal.press("\r");
        terminal.wait_for("kept filter", |screen| has(screen, "[top-k] Esc clears"));
        terminal.press("\r");
        terminal.wait_for("details", |screen| {
            has(screen, &format!("top-keys, task {}", busy.pid())) && has(screen, "Preempted by")
        });
        terminal.press("q");
        terminal.wait_for("table", |screen| has(screen, "[top-k] Esc clears") && has(screen, sorted));
        terminal.press(if sorted == "SW/sv" { "<" } else { ">>" });
        terminal.wait_for("other order", |screen| !has(screen, sorted));
        terminal.press("\x1b");
        terminal.wait_for("all tasks", |screen| !has(screen, "[top-k]"));
        terminal.press("p");
        terminal.wait_for("processes", |screen| has(screen, "processes  q quit"));
        terminal.press("c");
        terminal.wait_for("CPUs", |screen| has(screen, "CPU^") && has(screen, "IDLE%"));
        terminal.press("?");
        terminal.wait_for("help", |screen| has(screen, "show or hide kernel threads"));
        terminal.press("q ");
        terminal.wait_for("pause", |screen| has(screen, "PAUSED"));
        terminal.resize(50, 20);
        terminal.press(" t");
        terminal.wait_for("smaller screen", |screen| {
            screen.len() == 20 && has(screen, "NAME") && !has(screen, "PAUSED")
        });
        terminal.press("q");
        let status = ended(&mut child, &terminal);
        assert_eq!(status.code(), Some(0), "{source}");
        left_as_found(&terminal, &modes);
    }
}

#[test]
fn signals_and_the_end_of_what_is_looked_at_leave_everything_as_it_was() {
    let home = home();
    let Some(source) =
        usable("signals_and_the_end_of_what_is_looked_at_leave_everything_as_it_was").last().copied()
    else {
        return;
    };
    for (signal, status) in [("-TERM", 128 + 15), ("-HUP", 128 + 1), ("-INT", 0)] {
        let terminal = Terminal::new(80, 24);
        let modes = described(&terminal.modes());
        let mut child = terminal.run(&mut top(home.path(), &[source]));
        terminal.wait_for("table", |screen| has(screen, "NAME"));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(ended(&mut child, &terminal).code(), Some(status), "{signal}");
        left_as_found(&terminal, &modes);
    }
    let busy = Busy::begin("top-end");
    let pid = busy.pid().to_string();
    let terminal = Terminal::new(80, 24);
    let modes = described(&terminal.modes());
    let mut child = terminal.run(&mut top(home.path(), &[source, "-p", &pid]));
    terminal.wait_for("table", |screen| has(screen, "top-end"));
    drop(busy);
    assert_eq!(ended(&mut child, &terminal).code(), Some(0));
    left_as_found(&terminal, &modes);
    let written = terminal.written();
    let said = written.rfind("swtch: all watched processes have exited").expect("it does not say why");
    assert!(said > written.rfind("\x1b[?1049l").unwrap(), "said on the screen that goes away");
}

/// Ctrl-Z gives the terminal back and stops; continued, it takes it again.
#[test]
fn it_stops_as_a_shell_wants_and_goes_on() {
    let home = home();
    let mut terminal = Terminal::new(80, 24);
    let modes = described(&terminal.modes());
    let mut child = terminal.run(&mut top(home.path(), &["--source=procfs", "-i", "200ms"]));
    terminal.wait_for("table", |screen| has(screen, "NAME"));
    terminal.press("\x1a");
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        stat.rsplit(") ").next().unwrap().chars().next().unwrap()
    };
    let begun = Instant::now();
    // Where no shell takes care of its process group, the kernel ignores the wish to stop. It goes on at once, and its output stays.
    while !terminal.written().contains("\x1b[?1049l") {
        assert!(begun.elapsed() < Duration::from_secs(60), "the terminal is not given back");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    if state() == 'T' {
        assert_eq!(described(&terminal.modes()), modes, "the terminal is not as it was");
        assert!(Command::new("kill").args(["-CONT", &child.id().to_string()]).status().unwrap().success());
    }
    let begun = Instant::now();
    while terminal.written().matches("\x1b[?1049h").count() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the terminal is not taken again");
        std::thread::sleep(Duration::from_millis(10));
    }
    terminal.wait_for("table", |screen| has(screen, "NAME"));
    terminal.press("q");
    assert_eq!(ended(&mut child, &terminal).code(), Some(0));
    left_as_found(&terminal, &modes);
}

#[test]
fn no_colour_means_no_colour() {
    let home = home();
    for (colour, wanted) in [("", true), ("1", false)] {
        let mut terminal = Terminal::new(80, 24);
        let mut child = terminal.run(
            Command::new("env")
                .arg(format!("NO_COLOR={colour}"))
                .arg(env!("CARGO_BIN_EXE_swtch"))
                .args(["top", "--source=procfs"])
                .env("XDG_STATE_HOME", home.path()),
        );
        terminal.wait_for("table", |screen| has(screen, "NAME"));
        terminal.press("q");
        ended(&mut child, &terminal);
        let written = terminal.written();
        // Orders that end in m; 39 and 49 are not colours.
        let orders = written.split("\x1b[").filter_map(|rest| rest.split_once('m'));
        let coloured = orders.map(|(order, _)| order).any(|order| {
            order.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
                && order.starts_with('3')
                && order.len() > 1
                && order != "39"
        });
        assert_eq!(coloured, wanted, "NO_COLOR={colour}");
    }
}

/// A terminal that is closed, as when a connection breaks, ends it even where no signal tells it.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    let home = home();
    let Some(source) = usable("a_terminal_that_goes_away_ends_it").last().copied() else { return };
    let terminal = Connection::new();
    let mut child = terminal.run(&mut top(home.path(), &[source, "-i", "200ms"]));
    terminal.wait_for("NAME");
    drop(terminal);
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it goes on without a terminal");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(!status.success(), "{status}");
}
