//! `swtch import` and `swtch export` from end to end.

use crate::common::{fixture, home, json, names, run, stderr, stdout, swtch};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use swtch_trace::Trace;
use swtch_trace::tables::{StackRow, SwitchRow};

fn with(home: &Path, arguments: &[&str]) -> Command {
    let mut command = swtch(home);
    command.args(arguments);
    command
}

/// A home with the text of a fixture, imported.
fn imported(name: &str) -> crate::common::Home {
    let home = home();
    fs::copy(fixture(&format!("imports/{name}")), home.path().join("trace.txt")).unwrap();
    let found = json(&mut with(home.path(), &["import", "trace.txt", "-o", "run.swtch", "--json"]));
    assert_eq!(found["schema"], "swtch/import/1");
    assert_eq!(found["malformed"], 0);
    home
}

fn rows(home: &Path) -> Vec<SwitchRow> {
    Trace::open(&home.join("run.swtch")).unwrap().switches().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_text_comes_out_again_as_csv() {
    for name in ["perf-script.txt", "ftrace.txt", "trace-cmd.txt"] {
        let home = imported(name);
        let output = run(&mut with(home.path(), &["export", "run.swtch", "--to", "csv"]));
        assert!(output.status.success() && stderr(&output).is_empty(), "{}", stderr(&output));
        let text = stdout(&output);
        let mut lines = text.lines();
        let heading = "at_ns,cpu,prev_tid,next_tid,prev_state,ran_ns,waited_ns,cost_ns,waker_tid,throttled";
        assert_eq!(lines.next(), Some(heading));
        let some = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        let found: Vec<SwitchRow> = lines
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                let state = format!("\"{}\"", cells[4]);
                SwitchRow {
                    at_ns: cells[0].parse().unwrap(),
                    cpu: cells[1].parse().unwrap(),
                    prev_tid: cells[2].parse().unwrap(),
                    next_tid: cells[3].parse().unwrap(),
                    prev_state: serde_json::from_str(&state).unwrap(),
                    ran_ns: some(cells[5]),
                    waited_ns: some(cells[6]),
                    cost_ns: some(cells[7]).map(|ns| ns as u32),
                    waker_tid: some(cells[8]).map(|tid| tid as u32),
                    throttled: None,
                }
            })
            .collect();
        assert_eq!(found, rows(home.path()), "{name}");
        // Into a file it is the same.
        let summary = json(&mut with(
            home.path(),
            &["export", "run.swtch", "--to", "csv", "-o", "switches.csv", "--json"],
        ));
        assert_eq!(summary["rows"], found.len());
        assert_eq!(fs::read_to_string(home.path().join("switches.csv")).unwrap(), text);
    }
}

#[test]
fn every_table_goes_into_parquet_and_csv() {
    let home = imported("ftrace-tgid.txt");
    for table in swtch_trace::tables::TABLES {
        let arguments =
            ["export", "run.swtch", "--to", "parquet", "--table", table, "-o", "out.parquet", "--json"];
        let found = json(&mut with(home.path(), &arguments));
        let bytes = fs::read(home.path().join("out.parquet")).unwrap();
        assert_eq!(found["bytes"], bytes.len());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.metadata().file_metadata().num_rows();
        assert_eq!(found["rows"], rows, "{table}");
        let output = run(&mut with(home.path(), &["export", "run.swtch", "--to", "csv", "--table", table]));
        assert_eq!(stdout(&output).lines().count() as i64, rows + 1, "{table}");
        let heading = stdout(&output).lines().next().unwrap().to_owned();
        let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
        let columns: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        assert_eq!(columns.join(","), heading, "{table}");
    }
}

#[test]
fn a_perfetto_trace_is_written_and_says_what_it_lacks() {
    let home = imported("perf-script.txt");
    let output =
        run(&mut with(home.path(), &["export", "run.swtch", "--to", "perfetto", "-o", "run.pftrace"]));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("ui.perfetto.dev"), "{}", stdout(&output));
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("priorities") && said.contains("preemptions"), "{said}");
    let found =
        json(&mut with(home.path(), &["export", "run.swtch", "--to", "perfetto", "-o", "again", "--json"]));
    assert_eq!(found["switches"], rows(home.path()).len());
    assert!(found["wakeups"].as_u64() > Some(40), "{found}");
    assert_eq!(
        fs::read(home.path().join("run.pftrace")).unwrap(),
        fs::read(home.path().join("again")).unwrap()
    );
}

/// The viewer's own reader, as of August 2026, takes this file and upgrades it from version 60 to 70.
#[test]
fn stacks_go_to_the_profiler_of_firefox() {
    let (home, source) = (home(), fixture("traces/stacks.swtch"));
    let source = source.to_str().unwrap();
    let rows: Vec<StackRow> = Trace::open(Path::new(source)).unwrap().stacks.clone();
    for (weight, unit) in [("off-cpu", "tracing-ms"), ("switches", "samples")] {
        let arguments = ["export", source, "--to", "firefox", "--weight", weight, "-o", "run.json", "--json"];
        let found = json(&mut with(home.path(), &arguments));
        assert_eq!(found["stacks"], rows.len());
        let profile: Value =
            serde_json::from_str(&fs::read_to_string(home.path().join("run.json")).unwrap()).unwrap();
        let shared = &profile["shared"];
        for table in ["stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"] {
            let columns = shared[table].as_object().unwrap();
            let rows = columns.values().filter_map(Value::as_array).map(Vec::len);
            assert!(rows.into_iter().all(|rows| columns["length"] == rows), "{table}");
        }
        let name = |stack: &Value| {
            let frame = &shared["stackTable"]["frame"][stack.as_u64().unwrap() as usize];
            let function = &shared["frameTable"]["func"][frame.as_u64().unwrap() as usize];
            let name = &shared["funcTable"]["name"][function.as_u64().unwrap() as usize];
            shared["stringArray"][name.as_u64().unwrap() as usize].as_str().unwrap().to_owned()
        };
        let (mut seen, mut sum) = (Vec::new(), 0.0);
        for thread in profile["threads"].as_array().unwrap() {
            let samples = &thread["samples"];
            assert_eq!(samples["weightType"], unit);
            for (index, stack) in samples["stack"].as_array().unwrap().iter().enumerate() {
                let mut names = Vec::new();
                let mut at = stack;
                while !at.is_null() {
                    names.push(name(at));
                    at = &shared["stackTable"]["prefix"][at.as_u64().unwrap() as usize];
                }
                names.reverse();
                seen.push((thread["name"].as_str().unwrap().to_owned(), names.join(";")));
                sum += samples["weight"][index].as_f64().unwrap();
            }
        }
        let weighed = rows.iter().filter(|row| row.reason.name() != "wake");
        let weighed = weighed.map(|row| (row, if unit == "samples" { row.switches } else { row.off_cpu_ns }));
        let weighed: Vec<_> = weighed.filter(|(_, weight)| *weight > 0).collect();
        let mut expected: Vec<_> =
            weighed.iter().map(|(row, _)| (row.task.clone(), row.frames.clone())).collect();
        expected.sort();
        seen.sort();
        assert_eq!(seen, expected);
        let all = weighed.iter().map(|(_, weight)| *weight).sum::<u64>() as f64;
        let all = if unit == "samples" { all } else { all / 1e6 };
        assert!((sum - all).abs() < 1e-6 * all, "{sum} of {all}");
    }
}

#[test]
fn standard_input_can_be_imported() {
    let home = home();
    let text = fs::File::open(fixture("imports/perf-script.txt")).unwrap();
    let output = run(with(home.path(), &["import", "-"]).stdin(Stdio::from(text)));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("Trace: import.swtch"), "{}", stdout(&output));
    assert_eq!(names(home.path()), ["import.swtch"]);
    let header = Trace::open(&home.path().join("import.swtch")).unwrap().header;
    assert!(header.provenance.why.contains("standard input"), "{}", header.provenance.why);
}

#[test]
fn lines_that_are_not_understood_are_said() {
    let home = home();
    let text = fs::read_to_string(fixture("imports/ftrace.txt")).unwrap();
    fs::write(home.path().join("trace.txt"), text.replacen("prev_state=", "prev_stat", 3)).unwrap();
    let output = run(&mut with(home.path(), &["import", "trace.txt"]));
    assert!(stdout(&output).contains("lines that could not be parsed: 3"), "{}", stdout(&output));
    let header = Trace::open(&home.path().join("trace.swtch")).unwrap().header;
    assert!(header.unavailable.iter().any(|row| row.reason.starts_with("3 of ")), "{:?}", header.unavailable);
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let home = imported("trace-cmd.txt");
    let bin = env!("CARGO_BIN_EXE_swtch");
    // Much more than a pipe holds, since the reader ends at once.
    let script =
        format!("for i in $(seq 40); do {bin} export run.swtch --to csv || echo failed >&2; done | head -1");
    let output = run(Command::new("bash").args(["-c", &script]).current_dir(home.path()));
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).starts_with("at_ns,"));
}

/// Runs with `arguments` and checks status, that the complaint is one line with `words`, and that nothing changed.
fn refused(home: &Path, arguments: &[&str], status: i32, words: &[&str]) {
    let before = names(home);
    let output = run(&mut with(home, arguments));
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {complaint}");
    assert_eq!(complaint.trim_end().lines().count(), 1, "{arguments:?}: {complaint}");
    for word in words {
        assert!(complaint.contains(word), "{arguments:?}: no '{word}' in {complaint}");
    }
    assert!(output.stdout.is_empty());
    assert_eq!(names(home), before, "{arguments:?}");
}

#[test]
fn a_text_without_a_switch_replaces_no_trace() {
    let home = imported("ftrace.txt");
    let home = home.path();
    fs::write(home.join("none.txt"), "nothing\nat all\n").unwrap();
    refused(home, &["import", "none.txt", "-o", "run.swtch"], 1, &["none.txt", "no sched_switch", "2 lines"]);
    assert!(Trace::open(&home.join("run.swtch")).is_ok(), "the older Trace is still there");
}

/// A Trace that turns out to be damaged half-way leaves an older output as it was.
#[test]
fn an_older_file_is_replaced_only_by_a_whole_one() {
    let home = imported("ftrace.txt");
    fs::write(home.path().join("out"), "mine").unwrap();
    let table = home.path().join("run.swtch/switches-000001.parquet");
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
    for format in ["perfetto", "csv", "parquet"] {
        refused(home.path(), &["export", "run.swtch", "--to", format, "-o", "out"], 1, &["out", "damaged"]);
        assert_eq!(fs::read_to_string(home.path().join("out")).unwrap(), "mine");
    }
}
