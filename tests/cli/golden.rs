//! What the command prints, as text that can be read and reviewed: `tests/cli/golden`. `SNAPSHOTS=overwrite` writes the files again.
//!
//! A line `$ swtch ...` is run, in the directory of the file's name with `.in` where there is one. After it come `? STATUS`, unless that is 0,
//! and what the command writes, standard output first. `[..]` stands for what differs from machine to machine.

use crate::common::{Home, fixture, home, names, run, stderr, stdout, swtch};
use crate::shown::printed_of;
use snapbox::{Assert, Data, assert::DEFAULT_ACTION_ENV};
use std::path::{Path, PathBuf};

mod broken;

const FENCE: &str = "```";

/// The file's text, with what its commands print now.
fn run_again(text: &str, inside: &Path, home: &Home) -> String {
    let mut now = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        now.push_str(line);
        now.push('\n');
        let Some(command) = line.strip_prefix("$ swtch ") else { continue };
        // Help is as wide as where no terminal is.
        let output =
            run(swtch(home.path()).current_dir(inside).env("COLUMNS", "100").args(command.split(' ')));
        match output.status.code() {
            Some(0) => {}
            status => now.push_str(&format!("? {}\n", status.expect("no signal ended it"))),
        }
        now.push_str(&(stdout(&output) + &stderr(&output)));
        // What it printed before.
        assert!(lines.any(|line| line == FENCE), "'{line}' is in no block that ends");
        now.push_str(&format!("\n{FENCE}\n"));
    }
    now
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/golden")
}

/// Compares a file with what its commands print in `inside`; says how many they are.
fn compare(name: &str, inside: &Path, home: &Home) -> usize {
    let file = golden().join(format!("{name}.md"));
    let text = std::fs::read_to_string(&file).unwrap();
    let expected = Data::read_from(&file, None);
    Assert::new().action_env(DEFAULT_ACTION_ENV).eq(run_again(&text, inside, home), expected);
    text.matches("\n$ swtch ").count()
}

#[test]
fn the_command_prints_what_is_written_down() {
    let home = home();
    let mut commands = 0;
    for name in ["fixtures", "help", "shares", "simulate", "wrong_usage"] {
        let own = golden().join(format!("{name}.in"));
        commands += compare(name, if own.is_dir() { &own } else { home.path() }, &home);
    }
    assert!(commands > 90, "only {commands} commands");
    assert!(names(home.path()).is_empty(), "a command that only prints wrote a file");
}

#[test]
fn what_commands_print_about_their_files_is_written_down() {
    let home = home();
    compare("written", &with_fixtures(&home), &home);
}

/// Broken files: one line, status 2 or 1, and nothing is written.
#[test]
fn the_errors_of_broken_files_are_written_down() {
    let home = home();
    let place = with_fixtures(&home);
    broken::write(&place);
    let before = names(&place);
    assert!(compare("broken", &place, &home) > 45);
    assert_eq!(names(&place), before);
    assert_eq!(names(home.path()), ["files"]);
}

/// A directory in which every fixture is under its own name.
fn with_fixtures(home: &Home) -> PathBuf {
    let place = home.path().join("files");
    std::fs::create_dir(&place).unwrap();
    for name in ["faas", "imports", "profiles", "repeats", "studies", "traces"] {
        std::os::unix::fs::symlink(fixture(name), place.join(name)).unwrap();
    }
    place
}

/// What `swtch measure`, `swtch record` and `swtch doctor` print of the fixtures; the commands themselves print of this machine.
#[test]
fn what_is_printed_of_fixtures_is_written_down() {
    let mut text =
        "What `swtch doctor`, `swtch record`, `swtch measure`, `swtch compare` and `swtch try` print of each fixture.\n"
            .to_owned();
    for (kind, place) in [
        ("doctor", "machines"),
        ("advised", "traces"),
        ("profile", "profiles"),
        ("comparison", "comparisons"),
        ("tried", "tried"),
    ] {
        let fixtures = names(&fixture(place)).into_iter().filter(|name| name != "README.md");
        for name in fixtures {
            let name = name.trim_end_matches(".swtch").trim_end_matches(".json");
            let printed = printed_of(kind, name).unwrap();
            text += &format!("\n## {kind} {name}\n\n```console\n{}\n```\n", printed.trim_end());
        }
    }
    let expected = Data::read_from(&golden().join("printed.md"), None);
    Assert::new().action_env(DEFAULT_ACTION_ENV).eq(text, expected);
}
