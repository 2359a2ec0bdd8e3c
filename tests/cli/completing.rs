//! `swtch completions` and `swtch man`.

use crate::common::{home, run, stderr, stdout, swtch};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// What bash would offer for the last of these words.
fn offered(words: &[&str]) -> BTreeSet<String> {
    let home = home();
    let script = home.path().join("swtch.bash");
    let printed = run(swtch(home.path()).args(["completions", "bash"]));
    assert!(printed.status.success(), "{}", stderr(&printed));
    fs::write(&script, &printed.stdout).unwrap();
    let (last, before) = (words.len() - 1, words.len().saturating_sub(2));
    let ask = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={last}; _swtch swtch '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
        words[last],
        words[before]
    );
    // 'complete -o nosort' is of bash 4.4; without readline the options of 'complete' are not looked at.
    let output = run(Command::new("bash").args(["--norc", "-c", &ask]));
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    assert_eq!(offered(&["swtch", "rec"]), BTreeSet::from(["record".to_owned()]));
    assert!(offered(&["swtch", "record", "--ad"]).contains("--advise"));
    assert!(offered(&["swtch", "schema", "tr"]).contains("trace"));
    assert!(offered(&["swtch", "sched", "comp"]).contains("compare"));
}

#[test]
fn every_shell_has_a_script() {
    let home = home();
    for (shell, mark) in [("zsh", "#compdef swtch"), ("fish", "complete -c swtch"), ("elvish", "edit:")] {
        let output = run(swtch(home.path()).args(["completions", shell]));
        assert!(output.status.success() && stdout(&output).contains(mark), "{shell}: {}", stderr(&output));
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_examples() {
    let home = home();
    let folder = home.path().join("man1");
    let output = run(swtch(home.path()).args(["man", "--out"]).arg(&folder));
    assert!(output.status.success(), "{}", stderr(&output));
    let help = stdout(&run(swtch(home.path()).arg("--help")));
    let commands = help
        .lines()
        .skip_while(|line| *line != "Measure:")
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
        .filter_map(|line| line.split(' ').next())
        // Programs of the Python package have no pages.
        .filter(|name| !["help", "ai", "faas", "fleet"].contains(name));
    let mut count = 0;
    for command in commands {
        let page = fs::read_to_string(folder.join(format!("swtch-{command}.1")))
            .unwrap_or_else(|error| panic!("swtch-{command}.1: {error}"));
        assert!(page.contains(".TH swtch-"), "{page}");
        assert!(page.contains("Examples:"), "swtch-{command}.1 has no example: {page}");
        count += 1;
    }
    assert!(count > 10, "only {count} commands in {help}");
    let written = fs::read_to_string(folder.join("swtch-sched-compare.1")).unwrap();
    let printed = run(swtch(home.path()).args(["man", "sched", "compare"]));
    assert_eq!(stdout(&printed), written, "one page, however it is asked for");
    let names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("help"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}
