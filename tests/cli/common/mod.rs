//! Running the program as a user does.

#[allow(dead_code, reason = "each of the two test programs uses a half of it")]
pub mod examples;
pub mod group;
pub mod machine;
#[allow(dead_code, reason = "as for the examples")]
pub mod rights;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program under test, in a home of its own.
pub fn swtch(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swtch"));
    command.env("XDG_STATE_HOME", home).current_dir(home).stdin(Stdio::null());
    command
}

/// A directory for a test, which shares the machine while it exists.
pub struct Home {
    folder: tempfile::TempDir,
    _machine: machine::Use,
}

impl Home {
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Copies the program under test. In a process of its own. A file that this one has open for writing is inherited by whatever another test
/// starts, and cannot be run until that ends.
pub fn copy_program(to: &Path) {
    let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_swtch")).arg(to).status().unwrap();
    assert!(status.success());
}

pub fn home() -> Home {
    let machine = machine::shared();
    Home { folder: tempfile::tempdir().unwrap(), _machine: machine }
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).canonicalize().unwrap()
}

pub fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output of a command that must succeed, as JSON.
pub fn json(command: &mut Command) -> Value {
    let output = run(command);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Where a recorded command's summary goes: the command's own output takes standard output.
pub const SUMMARY: &str = "--json=summary.json";

/// What a recorded command printed, and after it the summary that [`SUMMARY`] asked for.
pub fn with_summary(home: &Path, output: &Output) -> String {
    let file = home.join("summary.json");
    let summary =
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)));
    std::fs::remove_file(file).unwrap();
    stdout(output) + &summary
}

/// Names in a directory, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

pub fn skip(test: &str, reason: &str) {
    eprintln!("SKIP {test}: {reason}");
}

/// Why BPF cannot be tested here, if it cannot.
pub fn without_bpf() -> Option<String> {
    let facts = swtch_record::plan::Facts::read();
    facts
        .bpf
        .err()
        .or_else(|| facts.own_task_numbers.then(|| "a container that numbers its own tasks".to_owned()))
}

/// The ways to record and to look that work here, as options; the others are skipped.
pub fn usable(test: &str) -> Vec<&'static str> {
    match without_bpf() {
        None => vec!["--source=procfs", "--events", "--counts"],
        Some(why) => {
            skip(&format!("{test} (bpf)"), &why);
            vec!["--source=procfs"]
        }
    }
}

/// Whether this test runs as root.
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

/// The last CPU this test may use.
pub fn last_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().to_owned()
}
