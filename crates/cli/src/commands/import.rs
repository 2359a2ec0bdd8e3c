//! `swtch import`.

use crate::args::import::ImportArgs;
use crate::console::Interruptible;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use serde_json::json;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_record::import::{ImportError, Imported, import};

pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let out = args.out.clone().unwrap_or_else(|| folder(&args.file));
    if out == Path::new("-") {
        return Err(WrongUsage(
            "a Trace is a folder and cannot go to standard output; -o NAME.swtch".to_owned(),
        )
        .into());
    }
    let (input, in_all): (Box<dyn Read>, Option<u64>) = if args.file == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        let read = |source| ImportError::Read { path: args.file.clone(), source };
        let file = File::open(&args.file).map_err(read)?;
        // Of a pipe it is not known how much will come.
        let in_all = file.metadata().ok().filter(Metadata::is_file).map(|found| found.len());
        (Box::new(file), in_all)
    };
    let input = Interruptible::new(input, in_all).context("cannot listen for Ctrl-C")?;
    let imported = import(input, &args.file, &out)?;
    if args.json.asked() {
        output::json(&args.json, &summary(&imported))?;
    } else {
        output::print(&text(&imported));
    }
    Ok(ExitCode::SUCCESS)
}

/// `trace.swtch` for `/tmp/trace.txt`, in this folder.
fn folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().filter(|stem| *stem != "-");
    let mut name = stem.unwrap_or("import".as_ref()).to_owned();
    name.push(".swtch");
    PathBuf::from(name)
}

fn summary(imported: &Imported) -> serde_json::Value {
    let Imported { header, format, counts, folder } = imported;
    json!({
        "schema": "swtch/import/1",
        "trace": folder,
        "format": format.name(),
        "lines": counts.lines,
        "switches": counts.switches,
        "wakeups": counts.wakeups,
        "forks": counts.forks,
        "execs": counts.execs,
        "exits": counts.exits,
        "other_events": counts.other_events,
        "malformed": counts.malformed,
        "misplaced": counts.misplaced,
        "lost": header.lost.iter().map(|lost| lost.events).sum::<u64>(),
        "duration_ns": header.duration_ns,
        "context_switches": header.totals.context_switches,
        "unavailable": header.unavailable,
    })
}

fn text(imported: &Imported) -> String {
    let Imported { header, format, counts, folder } = imported;
    let switches = &header.totals.context_switches;
    let count = |value: Option<u64>| value.map_or_else(|| "n/a".to_owned(), |value| value.to_string());
    let mut text = format!(
        "{} lines of {}: {} switches ({} voluntary, {} involuntary, {} from idle) and {} wake-ups in {:.2} s\n",
        counts.lines,
        format.name(),
        counts.switches,
        count(switches.voluntary),
        count(switches.involuntary),
        count(switches.idle),
        counts.wakeups,
        header.duration_ns as f64 / 1e9,
    );
    let lost: u64 = header.lost.iter().map(|lost| lost.events).sum();
    let notes = [
        (counts.other_events, "events of other kinds add nothing"),
        (counts.malformed, "lines could not be understood and were left out"),
        (counts.misplaced, "events stood too far from their place in time and were left out"),
        (lost, "events were lost when it was recorded"),
    ];
    for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!("{count} {what}\n"));
    }
    text.push_str(&format!(
        "{} figures are unavailable; header.json says why\nTrace: {}\n",
        header.unavailable.len(),
        folder.display()
    ));
    text
}
