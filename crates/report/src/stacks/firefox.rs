//! Stacks for profiler.firefox.com: its processed profile, version 60, which later versions upgrade
//! (<https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md>).

use super::{Numbers, rows};
use crate::export::{Exported, Exporter};
use crate::stack_weight::StackWeight;
use crate::tables::left_out;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use swtch_trace::Trace;
use swtch_trace::tables::StackRow;

/// Category of frames: the program's, and the kernel's. The viewer asks for a grey one, for all else.
const CATEGORIES: [(&str, &str); 3] = [("Program", "blue"), ("Kernel", "orange"), ("Other", "grey")];

/// The row of the table of formats.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "firefox",
    about: "Stacks for profiler.firefox.com, a thread for each task name",
    is_text: true,
    has_table: false,
    has_weight: true,
    has_prices: false,
    has_spans: false,
    write: |trace, options, sink| {
        let weight = options.weight.unwrap_or(StackWeight::OffCpu);
        let rows = rows(trace)?;
        writeln!(sink, "{}", profile(trace, rows, weight))?;
        sink.flush()?;
        let figures = [("stacks", rows.len().into()), ("weight", weight.name().into())];
        let text =
            format!("{} stacks, weighed by {weight}; open it at https://profiler.firefox.com", rows.len());
        Ok(Exported::new(text, figures, left_out(trace)))
    },
};

/// Stacks as a tree: each node is a frame and the node of its caller.
#[derive(Default)]
struct StackTree {
    frames: Vec<usize>,
    callers: Vec<Option<usize>>,
    numbers: HashMap<(Option<usize>, usize), usize>,
}

impl StackTree {
    fn callee(&mut self, caller: Option<usize>, frame: usize) -> usize {
        *self.numbers.entry((caller, frame)).or_insert_with(|| {
            self.frames.push(frame);
            self.callers.push(caller);
            self.frames.len() - 1
        })
    }
}

/// Samples of the tasks of one name. They lie one after the other, because a sum has no time of its own.
#[derive(Default)]
struct Samples {
    stacks: Vec<usize>,
    starts: Vec<f64>,
    weights: Vec<f64>,
    end: f64,
}

fn profile(trace: &Trace, rows: &[StackRow], weight: StackWeight) -> Value {
    let (label, is_time) = weight.label();
    // Times are in ms.
    let unit = if is_time { 1e6 } else { 1.0 };
    let (mut functions, mut tree) = (Numbers::default(), StackTree::default());
    let mut tasks: BTreeMap<&str, Samples> = BTreeMap::new();
    for (row, value) in rows.iter().map(|row| (row, weight.of(row))).filter(|(_, value)| *value > 0) {
        let innermost =
            row.frames.split(';').fold(None, |caller, name| Some(tree.callee(caller, functions.of(name))));
        let samples = tasks.entry(&row.task).or_default();
        samples.stacks.extend(innermost);
        samples.starts.push(samples.end);
        samples.weights.push(value as f64 / unit);
        samples.end += value as f64 / unit;
    }
    let mut threads: Vec<(&str, Samples)> = tasks.into_iter().collect();
    threads.sort_by(|a, b| b.1.end.total_cmp(&a.1.end));
    let threads: Vec<Value> = threads
        .into_iter()
        .enumerate()
        .map(|(number, (name, samples))| thread(number, name, &samples, label, is_time))
        .collect();
    let categories =
        CATEGORIES.map(|(name, color)| json!({ "name": name, "color": color, "subcategories": ["Other"] }));
    json!({
        "meta": {
            "preprocessedProfileVersion": 60,
            "version": 24,
            "interval": 1,
            "startTime": trace.header.provenance.started_unix_ns as f64 / 1e6,
            "processType": 0,
            "stackwalk": 1,
            "symbolicated": true,
            "product": "swtch",
            "importedFrom": format!("swtch {}", env!("CARGO_PKG_VERSION")),
            "categories": categories,
            "markerSchema": [],
            "usesOnlyOneStackType": true,
            "sourceCodeIsNotOnSearchfox": true,
            "keepProfileThreadOrder": true,
        },
        "libs": [],
        "pages": [],
        "shared": shared(&functions, &tree),
        "threads": threads,
    })
}

fn thread(number: usize, name: &str, samples: &Samples, label: &str, is_time: bool) -> Value {
    json!({
        "name": name,
        "processName": label,
        "processType": "default",
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "isMainThread": false,
        "pid": "0",
        "tid": number,
        "samples": {
            "length": samples.stacks.len(),
            "stack": samples.stacks,
            "time": samples.starts,
            "weight": samples.weights,
            "weightType": if is_time { "tracing-ms" } else { "samples" },
        },
        "markers": {
            "length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
        },
    })
}

/// What the threads share. A function has one frame: addresses and lines are not kept.
fn shared(functions: &Numbers, tree: &StackTree) -> Value {
    let count = functions.names.len();
    let all = |value: Value| vec![value; count];
    let numbers: Vec<usize> = (0..count).collect();
    let category: Vec<usize> =
        functions.names.iter().map(|name| usize::from(name.ends_with("_[k]"))).collect();
    json!({
        "stringArray": functions.names,
        "stackTable": { "length": tree.frames.len(), "frame": tree.frames, "prefix": tree.callers },
        "frameTable": {
            "length": count,
            "func": numbers,
            "category": category,
            "subcategory": all(0.into()),
            "address": all((-1).into()),
            "inlineDepth": all(0.into()),
            "nativeSymbol": all(Value::Null),
            "innerWindowID": all(Value::Null),
            "line": all(Value::Null),
            "column": all(Value::Null),
        },
        "funcTable": {
            "length": count,
            "name": numbers,
            "isJS": all(false.into()),
            "relevantForJS": all(false.into()),
            "resource": all((-1).into()),
            "source": all(Value::Null),
            "lineNumber": all(Value::Null),
            "columnNumber": all(Value::Null),
        },
        "resourceTable": { "length": 0, "type": [], "lib": [], "name": [], "host": [] },
        "nativeSymbols": { "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [] },
        "sources": { "length": 0, "uuid": [], "filename": [] },
    })
}
