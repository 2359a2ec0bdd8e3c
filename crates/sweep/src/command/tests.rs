//! Commands as runs: what they print, how they fail, and that they end.

use super::*;
use crate::merge::merge;
use crate::plan::DEFAULT_LEASE;
use crate::plan::tests::planned_with;
use crate::state::Opened;
use crate::worker::{Only, Worked, work};
use std::sync::atomic::AtomicBool;
use swtch_columns::TableFile;

/// A sweep of shell scripts, planned; `more` is the rest of its file.
fn opened(folder: &Path, script: &str, more: &str) -> Opened {
    let grid = format!("command = [\"sh\", \"-c\", {script:?}]\nexpected = \"1ms\"\n{more}");
    fs::write(folder.join("grid.toml"), grid).unwrap();
    planned_with(folder, "d", 1.0, DEFAULT_LEASE).unwrap();
    Opened::open(&folder.join("d")).unwrap()
}

fn plain(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// What each run printed, or why it failed, by its seed.
fn rows(opened: &Opened, worked: &Worked) -> Vec<(u64, String)> {
    let out = opened.directory.join("out.parquet");
    let merged = merge(opened, &out, false).unwrap();
    assert_eq!((merged.runs, merged.failed), (worked.runs, worked.failed));
    let rows = TableFile::<RunRow>::open(&out).unwrap().rows().unwrap();
    let text = |row: &RunRow| row.printed.as_ref().or(row.error.as_ref()).unwrap().as_str().to_owned();
    rows.iter().map(|row| (row.seed, text(row))).collect()
}

fn made(opened: &Opened) -> Vec<(u64, String)> {
    let worked = work(opened, &Only::default(), &plain, &AtomicBool::new(false)).unwrap();
    rows(opened, &worked)
}

#[test]
fn figures_of_each_run_are_in_the_table_and_files_beside_the_sweep_in_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/ten.c"), "10").unwrap();
    let script = "echo starting; touch it; echo \"{\\\"sum\\\": $(( $(cat sub/ten.c) * {factor} + {seed} )), \\\"files\\\": $(ls | wc -l)}\"";
    let more = "files = [\"sub/ten.c\"]\nseeds = [1, 2]\n[[grid]]\nfactor = [3, 4]\n[take]\nsum = \"/sum\"\nfiles = \"/files\"\n";
    let opened = opened(folder.path(), script, more);
    // The copy that was planned counts.
    fs::write(folder.path().join("sub/ten.c"), "20").unwrap();
    let expected = [31, 32, 41, 42].map(|sum| (sum % 10, format!("{{\"files\":2,\"sum\":{sum}}}")));
    assert_eq!(made(&opened), expected);
}

#[test]
fn a_command_that_fails_is_a_row_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let script = "case {seed} in 1) echo '{}'; exit 3;; 2) echo no;; 3) echo \"bad $PWD/x\" >&2; exit 4;; 4) kill -9 $$;; esac";
    let opened = opened(folder.path(), script, "seeds = [1, 2, 3, 4]\n");
    let expected = ["{}", "it printed no JSON", "exit status 4: bad ./x", "signal 9; it printed no JSON"];
    let found = made(&opened);
    assert_eq!(found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), expected);
}

#[test]
fn what_takes_too_long_ends_with_all_that_it_started_and_what_cannot_start_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
    let long = opened(folder.path(), &script, "limit = \"200ms\"\n");
    assert_eq!(made(&long), [(1, "it took longer than 200 ms".to_owned())]);
    let child = format!("/proc/{}/stat", fs::read_to_string(&pid).unwrap().trim());
    // Its new parent may be slow to notice.
    let is_gone = || fs::read_to_string(&child).map_or(true, |stat| stat.contains(") Z "));
    let until = Instant::now() + Duration::from_secs(20);
    while !is_gone() {
        assert!(Instant::now() < until, "it goes on");
        std::thread::sleep(LOOK_EVERY);
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("grid.toml"), "command = \"/no/such/program\"\n").unwrap();
    planned_with(folder.path(), "d", 1.0, DEFAULT_LEASE).unwrap();
    let none = Opened::open(&folder.path().join("d")).unwrap();
    let (_, why) = made(&none).remove(0);
    assert!(why.starts_with("/no/such/program cannot be started: No such file"), "{why}");
}

#[test]
fn a_command_that_is_to_end_leaves_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(folder.path(), "sleep 1000", "");
    let prepared = opened.manifest.prepare(&opened.directory).unwrap();
    let words = prepared.sweep().words(0).unwrap();
    let mut asked = 0;
    let row = run(&prepared, 0, &words, &plain, &mut || {
        asked += 1;
        asked < 3
    });
    assert_eq!(row.unwrap(), None);
}
