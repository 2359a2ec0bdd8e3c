//! A guest of another architecture: one boot of an arm64 kernel, and the errors where there can be none.

use crate::common::{home, run, stderr, stdout, swtch};
use crate::guest::{cache, machine};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const EMULATOR: &str = "qemu-system-aarch64";

/// Whether there can be no such guest here; says so.
fn cannot(test: &str) -> bool {
    let programs = Path::new(env!("CARGO_BIN_EXE_swtch")).with_file_name("../dist/aarch64");
    let reason = if !programs.join("swtch").is_file() {
        "no swtch for aarch64 is built: cargo xtask dist --arch aarch64 programs builds it"
    } else if Command::new(EMULATOR).arg("--version").output().is_err() {
        "qemu-system-aarch64 is not installed: apt-get install qemu-system-arm"
    } else {
        return false;
    };
    crate::common::skip(test, reason);
    true
}

fn vm(home: &Path, arguments: &[&str]) -> Output {
    let mut command = swtch(home);
    command
        .env("XDG_CACHE_HOME", cache())
        .env("TMPDIR", home)
        .args(["vm", "--arch", "arm64"])
        .args(arguments);
    run(&mut command)
}

#[test]
fn an_arm_guest_runs_programs_of_its_own_under_our_scheduler() {
    if cannot("an_arm_guest_runs_programs_of_its_own_under_our_scheduler") {
        return;
    }
    let _machine = machine();
    let home = home();
    let script = "uname -m; cat /sys/kernel/sched_ext/root/ops; hackbench -p -g 1 -l 5 >&2; \
        swtch measure --quick --method pipe --placement same-cpu --class normal --time-limit 5s --json >profile.json; exit 7";
    let options = ["--json", "--cpus", "2", "--sched", "flsched", "--fetch", "profile.json"];
    let output = vm(home.path(), &[&options[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(output.status.code(), Some(7), "{}{}", stdout(&output), stderr(&output));
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |stream: &str| -> String {
        let is_it = |event: &&Value| event["event"] == "output" && event["stream"] == stream;
        events.iter().filter(is_it).map(|event| event["text"].as_str().unwrap()).collect()
    };
    assert_eq!(of("stdout"), "aarch64\nflsched\n");
    assert!(of("stderr").contains("Time: "), "hackbench ran: {}", of("stderr"));
    let profile: Value =
        serde_json::from_slice(&fs::read(home.path().join("profile.json")).unwrap()).unwrap();
    assert_eq!(profile["clock"]["source"], "cntvct", "{profile}");
    assert_eq!(profile["host"]["architecture"], "aarch64", "{profile}");
    let model = profile["host"]["cpu_model"].as_str().unwrap();
    assert!(model.starts_with("QEMU TCG CPU"), "it knows that its CPUs are emulated: {model}");
}

/// The first bytes of a program for this kind of machine.
fn elf(machine: u8) -> Vec<u8> {
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(64, 0);
    head[16] = 2;
    head[18] = machine;
    head
}

#[test]
fn what_is_missing_for_another_architecture_is_named_before_anything_is_fetched() {
    let home = home();
    let place = |name: &str, machine: u8| {
        let folder = home.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("swtch"), elf(machine)).unwrap();
        folder
    };
    let (x86_64, arm) = (place("x86", 62), place("arm", 183));
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let told = |programs: &Path, arguments: &[&str], status: i32, words: &[&str]| {
        let mut command = swtch(home.path());
        command.env("SWTCH_GUEST_PROGRAMS", programs).env("PATH", &empty).args(["vm"]).args(arguments);
        let output = run(&mut command);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    };
    let foreign = if cfg!(target_arch = "x86_64") { "arm64" } else { "x86_64" };
    let (ours, theirs) = if foreign == "arm64" { (&x86_64, &arm) } else { (&arm, &x86_64) };
    let options = ["--arch", foreign, "--", "true"];
    told(&empty, &options, 1, &["no swtch for", "SWTCH_GUEST_PROGRAMS", "linux.tar.gz"]);
    told(ours, &options, 1, &["ELF machine", "SWTCH_GUEST_PROGRAMS"]);
    told(theirs, &options, 1, &["QEMU is not installed", "apt-get install qemu-system-"]);
    told(theirs, &["--arch", foreign, "--package", "Stress", "--", "true"], 2, &["'Stress' is not the name"]);
    told(
        theirs,
        &["--package", "dash", "--", "true"],
        2,
        &["--package is for guests of another architecture"],
    );
    told(theirs, &["--arch", "vax", "--", "true"], 2, &["x86_64", "arm64"]);
}
