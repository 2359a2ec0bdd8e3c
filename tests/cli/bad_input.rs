//! Wrong wishes and broken files: one clear line, status 2 or 1, nothing half-written.

use crate::common::{fixture, home, is_root, names, run, skip, stderr, swtch};
use std::fs;
use std::path::Path;
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
    for (name, requirement) in [("ai", "pip install 'swtch[ai]'"), ("faas", "pip install swtch")] {
        let output = run(swtch(home.path()).args([name, "--help"]).env("PATH", ""));
        let expected =
            format!("swtch: 'swtch {name}' is not installed: it is in the Python package; {requirement}\n");
        assert_eq!((output.status.code(), stderr(&output)), (Some(2), expected));
    }
}

#[test]
fn a_broken_profile_is_status_1_and_says_what_is_wrong_where() {
    let folder = home();
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let whole = fs::read(fixture("profiles/vm.json")).unwrap();
    let cut = write("cut.json", &whole[..whole.len() / 2]);
    let foreign = write("foreign.json", b"{\"schema\": \"other/1\"}");
    let binary = write("binary.json", &[0, 159, 146, 150]);
    let empty = write("empty.json", b"");
    for (path, word) in [
        (&cut, "not a Profile"),
        (&foreign, "schema 'other/1'"),
        (&binary, "not a Profile"),
        (&empty, "not a Profile"),
    ] {
        refused(&["report", path], 1, &[word, path]);
        refused(&["measure", "--quick", "--compare", path], 1, &[word, path]);
    }
    refused(&["report", "/nowhere/at/all.json"], 1, &["cannot read /nowhere/at/all.json"]);
    refused(&["report"], 1, &["swtch measure --quick"]);
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

/// A copy of a recorded Trace in which one task's count went backwards as one of 32 bits.
fn impossible(place: &Path) -> String {
    let folder = place.join("impossible.swtch");
    fs::create_dir(&folder).unwrap();
    for file in fs::read_dir(fixture("traces/machine.swtch")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let path = folder.join("header.json");
    let mut header: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    header["totals"]["context_switches"]["voluntary"] = ((1_u64 << 32) + 475).into();
    fs::write(&path, serde_json::to_vec(&header).unwrap()).unwrap();
    folder.display().to_string()
}

#[test]
fn a_trace_that_cannot_be_is_refused_by_whoever_reads_it() {
    let place = home();
    let trace = impossible(place.path());
    let words =
        ["totals.context_switches.voluntary", "4294967771", "all that 2 CPUs can do", "report this defect"];
    for arguments in [
        &["report", &trace, "-o", "page.html"][..],
        &["export", &trace, "--to", "csv"],
        &["export", &trace, "--to", "prometheus"],
        &["export", &trace, "--to", "perfetto", "-o", "run.pftrace"],
        &["simulate", "replay", &trace],
    ] {
        refused(arguments, 1, &words);
    }
}

/// A Profile whose interval does not hold its median, and a study whose switches are 2^32 more than those of its inferences.
#[test]
fn a_profile_or_study_that_cannot_be_is_refused_by_whoever_reads_it() {
    let place = home();
    let changed = |name: &str, pointer: &str, value: serde_json::Value| {
        let source = fixture(name);
        let mut document: serde_json::Value = serde_json::from_slice(&fs::read(&source).unwrap()).unwrap();
        *document.pointer_mut(pointer).unwrap() = value;
        let file = place.path().join(source.file_name().unwrap());
        fs::write(&file, document.to_string()).unwrap();
        file.display().to_string()
    };
    let profile = changed("profiles/server.json", "/direct/0/switch_cost_ns/ci_low", 6_840.0.into());
    let words = ["server.json is refused", "switch_cost_ns ci_low: 6840 is more than median"];
    let (other, page) = (fixture("profiles/vm.json").display().to_string(), ["-o", "page.html"]);
    for arguments in [
        &["report", &profile, page[0], page[1]][..],
        &["measure", "--compare", &other, "--with", &profile],
        &["simulate", "spin", "--machine", "2", "--profile", &profile],
    ] {
        refused(arguments, 1, &words);
    }
    let switches = ((1_u64 << 32) + 475).into();
    let study = changed("studies/edge/study.json", "/runs/0/switches/voluntary", switches);
    let words = ["study.json cannot be true", "is not the switches counted, 4294967771"];
    refused(&["report", &study, page[0], page[1]], 1, &words);
}

#[test]
fn a_text_that_contradicts_itself_is_not_imported() {
    let place = home();
    let text = place.path().join("trace.txt");
    let line = "  make-12  [001] d..2.  7.000001: sched_switch: prev_comm=make prev_pid=12 prev_prio=120 prev_state=R \
                ==> next_comm=make next_pid=12 next_prio=120\n";
    fs::write(&text, line.repeat(3_000)).unwrap();
    let words = [
        "trace.txt contradicts itself",
        "cpus.switches of CPU 1",
        "all that 0 ns permit",
        "no Trace was written",
    ];
    refused(&["import", text.to_str().unwrap()], 1, &words);
}
