//! What the command prints, as text that can be read and reviewed: `tests/cli/golden`. `SNAPSHOTS=overwrite` writes the files anew.
//!
//! A line `$ swtch ...` is run, in the directory of the file's name with `.in` where there is one. After it come `? STATUS`, unless that is 0,
//! and what the command writes, standard output first. `[..]` stands for what differs from machine to machine.

use crate::common::{Home, home, run, stderr, stdout, swtch};
use snapbox::{Assert, Data, assert::DEFAULT_ACTION_ENV};
use std::path::Path;

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

#[test]
fn the_command_prints_what_is_written_down() {
    let home = home();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/golden");
    let mut commands = 0;
    for name in ["fixtures", "help", "simulate", "wrong_usage"] {
        let file = directory.join(format!("{name}.md"));
        let own = directory.join(format!("{name}.in"));
        let inside = if own.is_dir() { own.as_path() } else { home.path() };
        let text = std::fs::read_to_string(&file).unwrap();
        commands += text.matches("\n$ swtch ").count();
        let expected = Data::read_from(&file, None);
        Assert::new().action_env(DEFAULT_ACTION_ENV).eq(run_again(&text, inside, &home), expected);
    }
    assert!(commands > 60, "only {commands} commands");
    assert!(home.path().read_dir().unwrap().next().is_none(), "a command that only prints wrote a file");
}
