//! What works with which rights: the table of `docs/limits.md` is what happens. `SWTCH_WRITE_PAGES=1` writes it.

use crate::common::examples::{docs, furnished};
use crate::common::group::Running;
use crate::common::rights::{find, rights, shown};
use crate::common::{copy_program, home, is_root, run, skip, stderr, stdout, swtch};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Rows: what the table calls it, the command, and what its output says of how much works.
const ROWS: [(&str, &str, Reading); 28] = [
    ("`doctor`", "doctor --json", |_| "yes".into()),
    (
        "`measure`",
        "measure --method pipe --placement same-cpu --sizes 4K --time-limit 500ms --no-save --json",
        |found| {
            let missing = found["unavailable"]
                .as_array()
                .is_some_and(|rows| rows.iter().any(|row| row["what"] == "class fifo"));
            if missing { "all but the real-time class" } else { "yes" }.into()
        },
    ),
    ("`record -- COMMAND`", "record --no-profile --force -o limits.swtch --json=out.json -- true", source),
    ("`record -a`", "record -a --duration 50ms --no-profile --force -o limits.swtch --json", source),
    ("`top`", "top --once --interval 50ms --json", source),
    ("`serve`", "serve --once", |found| {
        let counted = found.as_str().is_some_and(|text| text.contains("recorder=\"bpf-counts\""));
        if counted { "every switch, counted" } else { "the kernel's own counters" }.into()
    }),
    ("`dump`", "dump --dumps dumps", |_| "every switch".into()),
    ("`why`", "why shop.swtch", |_| "yes".into()),
    ("`diff`", "diff before.swtch after.swtch", |_| "yes".into()),
    ("`compare`", "compare --runs 1 --warmup 0 --json -- true", |found| {
        let counted = found["source"] == "bpf-counts" && found["runs"][0]["wait_seconds"].is_object();
        if counted { "every figure" } else { "no waits, no bill" }.into()
    }),
    ("`check`", "check -o checked", |_| "yes".into()),
    ("`probe`", "probe --time-limit 5s -- dd if=/dev/zero of=/dev/null bs=64k", |_| "yes".into()),
    ("`try`", "try --runs 1 --warmup 0 --most 1 --json -- true", |found| {
        let is_simulated =
            found["candidates"][0]["predicted_by"].as_str().is_some_and(|by| by.contains("simulator"));
        if is_simulated { "yes" } else { "fewer predictions" }.into()
    }),
    ("`report`", "report before.swtch -o out.html", |_| "yes".into()),
    ("`export`", "export before.swtch --to csv --table tasks", |_| "yes".into()),
    ("`import`", "import trace.txt -o imported-again.swtch", |_| "yes".into()),
    ("`simulate`", "simulate spin --tasks 2 --machine 2 --work 1ms", |_| "yes".into()),
    ("`sweep`", "sweep run grid.toml swept", |_| "yes".into()),
    ("`shares`", "shares --fast 1 --slow 2 --speedups 3,2.9,1.5", |_| "yes".into()),
    ("`sched list`", "sched list --json", |_| "yes".into()),
    ("`sched status`", "sched status --json", |_| "yes".into()),
    ("`sched compare`", "sched compare --policies stock,fifo --runs 1 --no-record -- true", |_| {
        "every policy of the kernel".into()
    }),
    ("`schema`", "schema profile", |_| "yes".into()),
    ("`explain`", "explain c1", |_| "yes".into()),
    ("`book`", "book --print", |_| "yes".into()),
    ("`completions`", "completions bash", |_| "yes".into()),
    ("`man`", "man record", |_| "yes".into()),
    ("`help`", "help record", |_| "yes".into()),
];

/// What a refusal leaves, by the words that it is refused with.
const REFUSALS: [(&str, &str); 4] = [
    ("from the real-time class: sched_setscheduler", "no (the real-time class is refused)"),
    ("perf_event_open", "no (perf events are refused)"),
    ("fifo and rr need root or cap_sys_nice", "all but fifo and rr"),
    ("BPF is not permitted here", "no (BPF is not permitted)"),
];

/// The answer from what a command prints: JSON, or text.
type Reading = fn(&Value) -> String;

fn source(found: &Value) -> String {
    match found["source"].as_str().unwrap_or_default() {
        "bpf" | "bpf-events" => "every switch".into(),
        "perf" => "every switch, no wake-ups".into(),
        "procfs" => "samples of /proc".into(),
        other => format!("unknown source '{other}'"),
    }
}

/// What a command does with these rights.
fn tried(rights: &[String], words: &str, reading: Reading, home: &Path) -> String {
    let out = home.join("out.json");
    let _ = fs::remove_file(&out);
    let command = |words: &str| {
        let mut command = Command::new(&rights[0]);
        command.args(&rights[1..]).arg(home.join("bin/swtch")).args(words.split(' '));
        command.env("XDG_STATE_HOME", home).current_dir(home).stdin(Stdio::null());
        command
    };
    // It asks a server, which has the same rights.
    let server = words.strip_prefix("dump").map(|dumps| {
        let mut server = command(&format!("serve --listen 127.0.0.1:0 --keep 1s{dumps}"));
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut begun = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut begun).unwrap();
        (Running(server), begun)
    });
    let output = match server {
        Some((mut server, begun)) if begun.is_empty() => {
            let mut said = Vec::new();
            server.0.stderr.as_mut().unwrap().read_to_end(&mut said).unwrap();
            Output { status: server.0.wait().unwrap(), stdout: Vec::new(), stderr: said }
        }
        _ => run(&mut command(words)),
    };
    if !output.status.success() {
        let said = stderr(&output);
        let left = REFUSALS.iter().find(|(words, _)| said.contains(words));
        return left.map_or_else(
            || format!("no ({})", said.lines().next().unwrap_or_default()),
            |(_, left)| (*left).into(),
        );
    }
    let text = fs::read(&out).unwrap_or(output.stdout);
    let printed = || Value::String(String::from_utf8_lossy(&text).into_owned());
    reading(&serde_json::from_slice(&text).unwrap_or_else(|_| printed()))
}

#[test]
fn the_table_of_limits_is_what_happens() {
    const TEST: &str = "the_table_of_limits_is_what_happens";
    if !is_root() {
        return skip(TEST, "only root can try what root may do");
    }
    let home = furnished();
    // Everyone may write here, and read the program.
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(home.path().join("bin")).unwrap();
    copy_program(&home.path().join("bin/swtch"));
    // It is only looked for.
    let book = home.path().join("share/doc/swtch/book");
    fs::create_dir_all(&book).unwrap();
    fs::write(book.join("index.html"), "").unwrap();
    let rights = rights();
    let names: Vec<&str> = rights.iter().map(|(name, _)| name.as_str()).collect();
    let mut table = vec![format!("| command | {} |", names.join(" | "))];
    table.push(format!("| --- |{}", " --- |".repeat(rights.len())));
    for (name, words, reading) in ROWS {
        let cells: Vec<String> = rights
            .iter()
            .map(|(held, rights)| {
                let known = find(name, held);
                let once = || {
                    for made in ["limits.swtch", "imported-again.swtch", "out.html", "dumps"] {
                        let path = home.path().join(made);
                        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
                    }
                    tried(rights, words, reading, home.path())
                };
                // On a busy machine a short measurement may have no time: then the next says what works.
                let first = once();
                if known.is_some_and(|known| known != first) { once() } else { first }
            })
            .collect();
        table.push(format!("| {name} | {} |", cells.join(" | ")));
    }
    let table = table.join("\n") + "\n";
    // A kernel without BPF, or one that forbids perf events, gives another table: then it says nothing about the page.
    let may = |row: &str| table.lines().any(|line| line.contains(row));
    if !may("every switch | ") || !may("every switch, no wake-ups") {
        return skip(TEST, "BPF or perf events are not permitted here, even to root");
    }
    let path = docs().join("limits.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- begin tried -->\n").unwrap();
    let (found, after) = rest.split_once("<!-- end tried -->").unwrap();
    if std::env::var_os("SWTCH_WRITE_PAGES").is_some() {
        fs::write(&path, format!("{before}<!-- begin tried -->\n{table}<!-- end tried -->{after}")).unwrap();
    }
    assert_eq!(found, table, "docs/limits.md is old; SWTCH_WRITE_PAGES=1 cargo test --test cli {TEST}");
}

#[test]
fn the_page_has_a_row_for_every_command() {
    let home = home();
    let help = stdout(&run(swtch(home.path()).arg("--help")));
    let listed = help.split("\nOptions:").next().unwrap().lines().filter_map(|line| line.strip_prefix("  "));
    let commands: Vec<&str> = listed.filter_map(|line| line.split(' ').next()).collect();
    assert!(commands.len() > 15, "{help}");
    let several =
        [("record", "record -a"), ("sched", "sched NAME"), ("ai", "ai list"), ("faas", "faas tiers")];
    for command in commands {
        let row = several.iter().find(|(name, _)| *name == command).map_or(command, |(_, row)| row);
        assert!(!shown(&format!("`{row}`"), "no root").is_empty(), "{command}");
    }
}
