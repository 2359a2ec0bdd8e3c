//! Places that cannot be written: one clear line, status 1, nothing half-written. `golden/broken.md` has the errors of broken files.

use crate::common::{fixture, home, is_root, names, run, skip, stderr, swtch};
use std::process::Command;

/// Runs with `arguments` and checks status, that the complaint is one line with `words`, and that nothing was written.
fn refused(arguments: &[&str], status: i32, words: &[&str]) {
    let home = home();
    let output = run(swtch(home.path()).args(arguments));
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {complaint}");
    assert_eq!(complaint.trim_end().lines().count(), 1, "{arguments:?}: {complaint}");
    for word in words {
        assert!(complaint.contains(word), "{arguments:?}: no '{word}' in {complaint}");
    }
    assert!(output.stdout.is_empty());
    assert!(names(home.path()).is_empty(), "{arguments:?} left {:?}", names(home.path()));
}

#[test]
fn a_command_of_the_python_package_says_how_to_get_it() {
    let home = home();
    for (name, requirement) in [
        ("ai", "pip install 'swtch[ai]'"),
        ("faas", "pip install swtch"),
        ("fleet", "pip install 'swtch[fleet]'"),
    ] {
        let output = run(swtch(home.path()).args([name, "--help"]).env("PATH", ""));
        let expected =
            format!("swtch: 'swtch {name}' is not installed: it is in the Python package; {requirement}\n");
        assert_eq!((output.status.code(), stderr(&output)), (Some(2), expected));
    }
}

#[test]
fn an_unwritable_place_is_found_before_measuring() {
    let began = std::time::Instant::now();
    refused(
        &["measure", "--full", "--out", "/nowhere/at/all.json"],
        1,
        &["cannot write /nowhere/at/all.json"],
    );
    refused(&["measure", "--full", "--out", "/proc/profile.json"], 1, &["cannot write /proc/profile.json"]);
    refused(&["measure", "--full", "--out", "/tmp"], 1, &["cannot write /tmp"]);
    assert!(began.elapsed().as_secs() < 60, "a full run would take 15 minutes");
    let vm = fixture("profiles/vm.json");
    refused(&["report", vm.to_str().unwrap(), "-o", "/nowhere/at/all.html"], 1, &["cannot write"]);
}

/// A disk that is too small for the results: what was there stays, whole, and nothing else is left.
#[test]
fn a_full_disk_loses_nothing_that_was_there() {
    const TEST: &str = "a_full_disk_loses_nothing_that_was_there";
    if !is_root() {
        return skip(TEST, "only root can mount a small file system");
    }
    let home = home();
    let script = "mount -t tmpfs -o size=16k none \"$1\" && printf old > \"$1/report.html\"; \
         cp \"$2\" \"$1/old.json\" 2>/dev/null; \"$3\" report \"$2\" -o \"$1/report.html\"; echo \"status $?\"; \
         ls -A \"$1\"; cat \"$1/report.html\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(home.path())
        .arg(fixture("profiles/vm.json"))
        .arg(env!("CARGO_BIN_EXE_swtch"))
        .output()
        .unwrap();
    let text = crate::common::stdout(&output);
    if stderr(&output).contains("mount:") || stderr(&output).contains("unshare:") {
        return skip(TEST, "no file system can be mounted here");
    }
    assert!(text.contains("status 1"), "{text} {}", stderr(&output));
    assert!(text.ends_with("old"), "{text}");
    assert!(!text.contains(".swtch-"), "a temporary file is left: {text}");
    assert!(stderr(&output).contains("No space left on device"), "{}", stderr(&output));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let vm = fixture("profiles/vm.json");
    let script = format!(
        "{} measure --compare {vm} --with {vm} | true",
        env!("CARGO_BIN_EXE_swtch"),
        vm = vm.display()
    );
    let output = Command::new("bash").args(["-o", "pipefail", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
}
