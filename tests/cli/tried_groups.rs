//! `swtch try` with settings of cgroups: a wider quota, a larger weight; none is left behind, whatever ends swtch.

use crate::advised::{Hog, compiled};
use crate::common::group::Group;
use crate::common::machine::alone;
use crate::common::{Home, home, json, last_cpu, run, skip, stderr, swtch, without_bpf};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that computes, and a cgroup that has a part of a CPU.
struct Throttled {
    home: Home,
    program: String,
    group: Group,
}

/// What half of a CPU is, in each [`PERIOD_US`].
const HALF_US: u32 = 50_000;
const PERIOD_US: u32 = 100_000;

fn throttled(test: &str, quota_us: u32) -> Option<Throttled> {
    if let Some(why) = without_bpf() {
        skip(test, &why);
        return None;
    }
    let Some(group) = Group::new("try").filter(|group| group.quota_us(quota_us, PERIOD_US)) else {
        skip(test, "no cgroup with a quota can be made here");
        return None;
    };
    let home = home();
    let Some(program) = compiled(home.path(), "remedies") else {
        skip(test, "no C compiler here");
        return None;
    };
    Some(Throttled { program: program.to_str().unwrap().to_owned(), home, group })
}

/// Keeps a CPU busy.
fn hog(cpu: &str) -> Hog {
    let mut hog = Command::new("taskset");
    let hog = hog.args(["-c", cpu, "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
    Hog(hog.spawn().unwrap())
}

impl Throttled {
    /// swtch in that cgroup, started by `starter`, if that is not empty.
    fn swtch(&self, starter: &[&str]) -> Command {
        let words = swtch(self.home.path());
        let [shell, option, script] = self.group.script("exec \"$0\" \"$@\"");
        let mut command = Command::new(shell);
        command.args([option, script]).args(starter).arg(words.get_program()).current_dir(self.home.path());
        command.envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// swtch in that cgroup, which tries settings on a program that computes `steps` steps.
    ///
    /// Three settings: a larger quota, none, and where other programs have the CPUs a larger weight.
    fn trying(&self, runs: usize, steps: u64) -> Command {
        let mut command = self.swtch(&[]);
        command.args(["try", "--json", "--warmup", "0", "--most", "3", "--runs", &runs.to_string(), "--"]);
        command.args([&self.program, "threads", "1", &steps.to_string()]);
        command
    }
}

/// The cgroups that one swtch made beside a directory.
fn made_by(pid: u32, beside: &Path) -> Vec<PathBuf> {
    let name = format!("-{pid}-");
    let entries = fs::read_dir(beside.parent().unwrap()).unwrap().flatten().map(|entry| entry.path());
    let is_its = |path: &PathBuf| {
        let found = path.file_name().unwrap().to_string_lossy();
        found.starts_with("swtch-try-") && found.contains(&name)
    };
    entries.filter(is_its).collect()
}

fn candidate<'a>(found: &'a Value, what: &str) -> &'a Value {
    let all = found["candidates"].as_array().unwrap();
    all.iter().find(|one| one["what"] == what).unwrap_or_else(|| panic!("no '{what}': {found:#}"))
}

#[test]
fn a_quota_that_stops_the_command_is_tried_away() {
    const TEST: &str = "a_quota_that_stops_the_command_is_tried_away";
    let _machine = alone();
    let Some(throttled) = throttled(TEST, HALF_US) else { return };
    let found = json(&mut throttled.trying(4, 200_000_000));
    for (what, limit) in [("no quota", "-1|max"), ("twice the quota", "100000")] {
        let one = candidate(&found, what);
        assert_eq!(one["because"], "the cgroup's quota stops it", "{one}");
        let [predicted, measured] =
            ["predicted_ratio", "measured_ratio"].map(|name| one[name].as_f64().unwrap());
        eprintln!("{TEST}: {what}: predicted {predicted}, measured {measured}");
        // Half of a CPU is what it gets now; the recording begins in the middle of a period.
        assert!((0.4..0.9).contains(&predicted), "{one}");
        assert!(measured < 0.95, "{one}");
        let command = one["command"].as_str().unwrap();
        assert!(limit.split('|').any(|limit| command.contains(limit)), "{command}");
        assert!(command.contains(&format!("> {}/cpu.", throttled.group.folder.display())), "{command}");
    }
    // The group's own quota is as it was.
    let read = |file: &str| fs::read_to_string(throttled.group.folder.join(file)).unwrap_or_default();
    assert!(read("cpu.max").starts_with("50000") || read("cpu.cfs_quota_us").starts_with("50000"));
    let left: Vec<_> = fs::read_dir(throttled.group.folder.parent().unwrap()).unwrap().flatten().collect();
    assert!(
        left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("swtch-try-")),
        "{left:?}"
    );
}

#[test]
fn no_cgroup_is_left_behind_whatever_ends_it() {
    const TEST: &str = "no_cgroup_is_left_behind_whatever_ends_it";
    // So little that it stops the command although other programs have the CPUs: the cgroup is made for no other reason.
    const QUOTA_US: u32 = 15_000;
    let _machine = alone();
    let Some(throttled) = throttled(TEST, QUOTA_US) else { return };
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let mut command = throttled.trying(1000, 100_000_000);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let beside = &throttled.group.folder;
        let child = until(child, || !made_by(pid, beside).is_empty(), "no cgroup was made");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let began = Instant::now();
        while !made_by(pid, beside).is_empty() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let left = made_by(pid, beside);
        assert!(left.is_empty(), "after {signal:?}: {left:?} {}", stderr(&output));
    }
}

/// Waits until something holds, while the process runs.
fn until(mut child: Child, holds: impl Fn() -> bool, otherwise: &str) -> Child {
    let began = Instant::now();
    while !holds() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{otherwise}: {}", stderr(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn a_larger_weight_is_tried_behind_other_programs() {
    const TEST: &str = "a_larger_weight_is_tried_behind_other_programs";
    let _machine = alone();
    let Some(throttled) = throttled(TEST, HALF_US) else { return };
    let cpu = last_cpu();
    let hog = hog(&cpu);
    let words = swtch(throttled.home.path());
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu]).arg(words.get_program()).current_dir(throttled.home.path());
    command.envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["try", "--json", "--warmup", "0", "--most", "9", "--runs", "4", "--"]);
    let found = json(command.args([&throttled.program, "threads", "1", "100000000"]));
    drop(hog);
    let what = "10 times the weight";
    let not_tried = found["not_tried"].as_array().unwrap();
    if let Some(refused) = not_tried.iter().find(|one| one["what"] == what) {
        // Version 2 gives out the controller only where something asked for it.
        assert!(refused["why"].as_str().unwrap().contains("the cpu controller is off there"), "{refused}");
        return skip(TEST, "the cpu controller is not given out here");
    }
    let one = candidate(&found, what);
    let [predicted, measured] = ["predicted_ratio", "measured_ratio"].map(|name| one[name].as_f64().unwrap());
    eprintln!("{TEST}: predicted {predicted}, measured {measured}");
    assert_eq!(one["because"], "other programs were in front", "{one}");
    assert!((0.3..1.0).contains(&predicted) && measured < 1.0, "{one}");
}

/// While a quota stops the command, another program has its CPU. The quota is named, not that program: a recording that blames it sends a user the
/// wrong way.
#[test]
fn a_wait_for_a_quota_is_not_one_behind_what_ran_meanwhile() {
    const TEST: &str = "a_wait_for_a_quota_is_not_one_behind_what_ran_meanwhile";
    const FIFTH_US: u32 = 20_000;
    let _machine = alone();
    let Some(throttled) = throttled(TEST, FIFTH_US) else { return };
    let cpu = last_cpu();
    let hog = hog(&cpu);
    let mut command = throttled.swtch(&["taskset", "-c", &cpu]);
    command.args(["record", "--events", "--no-profile", "--advise", "--json=found.json", "--"]);
    let output = run(command.args([&throttled.program, "threads", "1", "400000000"]));
    drop(hog);
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value =
        serde_json::from_slice(&fs::read(throttled.home.path().join("found.json")).unwrap()).unwrap();
    let programs = found["waits"]["programs"].as_array().unwrap_or_else(|| panic!("{found:#}"));
    let of_program = programs.iter().find(|one| one["program"] == "remedies").unwrap();
    let quota = of_program["behind"].as_array().unwrap().iter().find(|part| part["cause"] == "quota");
    let share = quota.unwrap_or_else(|| panic!("no quota: {of_program:#}"))["share"].as_f64().unwrap();
    // At most a fifth of the time it runs, and half of that time it waits for the other program.
    assert!(share > 0.5, "{of_program:#}");
    let advice = &found["advice"][0];
    assert_eq!(advice["what"], "the cgroup's quota stops it", "{found:#}");
    assert!(advice["saves_wait_ns"].as_u64() > Some(0), "{advice}");
}
