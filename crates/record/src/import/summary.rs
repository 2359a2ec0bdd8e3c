//! What an import found, as text and as JSON.

use super::Imported;
use serde_json::json;

impl Imported {
    /// The summary as JSON, `swtch/import/1`.
    pub fn json(&self) -> serde_json::Value {
        let Imported { header, format, counts, folder } = self;
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

    /// The summary for a terminal.
    pub fn text(&self) -> String {
        let Imported { header, format, counts, folder } = self;
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
            (counts.other_events, "events of other kinds, which add nothing"),
            (counts.malformed, "lines that could not be parsed"),
            (counts.misplaced, "events that came too late to be put in order"),
            (lost, "events that the recorder lost"),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!("{what}: {count}\n"));
        }
        text.push_str(&format!(
            "figures that are unavailable: {} (header.json says why)\nTrace: {}\n",
            header.unavailable.len(),
            folder.display()
        ));
        text
    }
}
