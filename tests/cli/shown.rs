//! The output that the pages of `docs/` show is what swtch prints. `SWTCH_WRITE_PAGES=1` writes it into them.
//!
//! A comment before a block names where its output comes from, so that a test does not depend on the figures of a busy machine:
//!
//! - `<!-- shown: run -->`: the command prints the same on every machine, and runs here;
//! - `<!-- shown: KIND NAME -->`: what a command prints of a fixture, by the kind:
//!   - `profile`: `swtch measure` of `fixtures/profiles/NAME.json`;
//!   - `recording`: `swtch record` of `fixtures/traces/NAME.swtch`, and `advised` the same with `--advise`;
//!   - `doctor`: `swtch doctor` of `fixtures/machines/NAME`;
//!   - `comparison`: `swtch compare` of `fixtures/comparisons/NAME.json`;
//!   - `tried`: `swtch try` of `fixtures/tried/NAME.json`;
//!   - `checked`: `swtch check` of `fixtures/checks/NAME.json`;
//!   - `accuracy`: `swtch sched accuracy` of `fixtures/NAME/accuracy.json`.
//!
//! Behind a semicolon may stand `from TEXT` (begin with the first line that has it) and `N lines` (that many at most). Studies of `swtch ai` and
//! `swtch faas` are shown by `python/tests/test_shown.py`.

use crate::common::examples::{furnished, guides};
use crate::common::{fixture, run, swtch};
use std::fs;
use std::path::Path;
use swtch_cost::{CostModel, Inputs, advise, bill, caveats};
use swtch_profile::file;
use swtch_report::check::CheckFormat;
use swtch_report::recording::Summary;
use swtch_report::terminal;
use swtch_topology::Host;
use swtch_topology::capability::{Probe, Probes, judge};

/// A block of a page: where its output comes from, its command, and the lines below it.
struct Shown<'a> {
    source: &'a str,
    from: Option<&'a str>,
    most: usize,
    command: &'a str,
    output: &'a str,
}

/// The blocks with output, and what is wrong with the others.
fn blocks(page: &str) -> (Vec<Shown<'_>>, Vec<String>) {
    let (mut shown, mut complaints) = (Vec::new(), Vec::new());
    let mut above = "";
    let mut rest = page;
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        if line == "```console" {
            let (block, after) = rest.split_once("```").unwrap();
            rest = after;
            // What follows the last command; blocks of commands alone show no output.
            let last = block.rfind("$ ").unwrap();
            let (command, output) = block[last + 2..].split_once('\n').unwrap();
            match above.strip_prefix("<!-- shown: ").and_then(|text| text.strip_suffix(" -->")) {
                Some(wanted) => shown.push(parsed(wanted, command, output)),
                None if output.is_empty() => {}
                None => complaints.push(format!("the output of '{command}' has no comment that says whence")),
            }
        }
        if !line.is_empty() {
            above = line;
        }
    }
    (shown, complaints)
}

fn parsed<'a>(wanted: &'a str, command: &'a str, output: &'a str) -> Shown<'a> {
    let mut parts = wanted.split("; ");
    let source = parts.next().unwrap();
    let mut shown = Shown { source, from: None, most: usize::MAX, command, output };
    for part in parts {
        match (part.strip_prefix("from "), part.strip_suffix(" lines")) {
            (Some(text), _) => shown.from = Some(text),
            (None, Some(count)) => shown.most = count.parse().unwrap(),
            _ => panic!("'{part}' is neither 'from TEXT' nor 'N lines'"),
        }
    }
    shown
}

impl Shown<'_> {
    /// What the command prints.
    fn printed(&self, home: &Path) -> String {
        match self.source.split_once(' ') {
            None if self.source == "run" => {
                let mut command = swtch(home);
                // Schedulers that a user installed are in no page.
                command.env("XDG_CACHE_HOME", home);
                // No Profile of this machine, whose path would be printed.
                command.env("XDG_STATE_HOME", home.join("cloud"));
                let words = self.command.strip_prefix("swtch ").unwrap();
                let output = run(command.args(words.split_whitespace().map(|word| word.trim_matches('\''))));
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
            }
            Some((kind, name)) => printed_of(kind, name)
                .unwrap_or_else(|| panic!("'{}' is not a source of output", self.source)),
            None => panic!("'{}' is not a source of output", self.source),
        }
    }

    /// As much of it as the page shows.
    fn wanted(&self, home: &Path) -> String {
        let printed = self.printed(home);
        let all: Vec<&str> = printed.lines().collect();
        let first = self.from.map_or(0, |text| {
            all.iter()
                .position(|line| line.contains(text))
                .unwrap_or_else(|| panic!("no '{text}' in {printed}"))
        });
        let part = &all[first..all.len().min(first.saturating_add(self.most))];
        let before = (first > 0).then_some("...");
        let after = (first + part.len() < all.len()).then_some("...");
        let lines = before.into_iter().chain(part.iter().copied()).chain(after);
        lines.map(str::trim_end).flat_map(|line| [line, "\n"]).collect()
    }
}

/// What a command prints of a fixture; nothing where it is not one of those that do.
pub(crate) fn printed_of(kind: &str, name: &str) -> Option<String> {
    Some(match kind {
        "profile" => terminal::profile(&file::read(&fixture(&format!("profiles/{name}.json"))).unwrap()),
        "recording" => recording(name, false),
        "advised" => recording(name, true),
        "comparison" => {
            let text = fs::read(fixture(&format!("comparisons/{name}.json"))).unwrap();
            terminal::compared(&serde_json::from_slice(&text).unwrap())
        }
        "tried" => {
            let text = fs::read(fixture(&format!("tried/{name}.json"))).unwrap();
            terminal::tried(&serde_json::from_slice(&text).unwrap())
        }
        "checked" => {
            let text = fs::read(fixture(&format!("checks/{name}.json"))).unwrap();
            CheckFormat::Terminal.write(&serde_json::from_slice(&text).unwrap(), "").unwrap()
        }
        "accuracy" => {
            let text = fs::read(fixture(&format!("{name}/accuracy.json"))).unwrap();
            terminal::accuracy(&serde_json::from_slice(&text).unwrap())
        }
        "doctor" => {
            let host = Host::read(&fixture(&format!("machines/{name}"))).unwrap();
            terminal::capabilities(&host, &judge(&host, &no_rights()), false)
        }
        _ => return None,
    })
}

fn recording(name: &str, advised: bool) -> String {
    let trace = swtch_trace::Trace::open(&fixture(&format!("traces/{name}.swtch"))).unwrap();
    let model = CostModel::of(&file::read(&fixture("profiles/vm.json")).unwrap());
    let inputs = Inputs { trace: trace.view(), model: Some(&model), price: None };
    let bill = bill(inputs);
    let caveats = caveats(inputs, &bill);
    let advice = advised.then(|| advise(inputs, &bill));
    terminal::recording(&Summary {
        trace: inputs.trace,
        bill: &bill,
        caveats: &caveats,
        advice: advice.as_deref(),
    })
}

/// What an ordinary user has.
fn no_rights() -> Probes {
    let yes = || Probe { works: true, why: None };
    let no = || Probe { works: false, why: Some("operation not permitted".to_owned()) };
    Probes {
        realtime: no(),
        pinning: yes(),
        perf_events: yes(),
        hardware_counters: no(),
        bpf: no(),
        switch_counts: yes(),
    }
}

/// Of studies, which Python prints.
fn is_of_python(source: &str) -> bool {
    ["tiers ", "study "].iter().any(|kind| source.starts_with(kind))
}

#[test]
fn the_pages_show_what_is_printed() {
    let home = furnished();
    let write = std::env::var_os("SWTCH_WRITE_PAGES").is_some();
    let mut complaints = Vec::new();
    let mut count = 0;
    for path in guides() {
        let page = fs::read_to_string(&path).unwrap();
        let (shown, mut wrong) = blocks(&page);
        let mut text = page.clone();
        for block in shown.iter().filter(|block| !is_of_python(block.source)) {
            count += 1;
            let wanted = block.wanted(home.path());
            if wanted != block.output {
                wrong.push(format!("'{}' prints\n{wanted}", block.command));
                let (old, new) = (
                    format!("$ {}\n{}```", block.command, block.output),
                    format!("$ {}\n{wanted}```", block.command),
                );
                text = text.replacen(&old, &new, 1);
            }
        }
        complaints.extend(wrong.iter().map(|text| format!("{}: {text}", path.display())));
        if write && text != page {
            fs::write(&path, text).unwrap();
        }
    }
    let hint = "SWTCH_WRITE_PAGES=1 cargo test --workspace --test cli the_pages_show writes the pages";
    assert!(complaints.is_empty(), "{hint}\n{}", complaints.join("\n"));
    assert!(count >= 20, "only {count} blocks found");
}
