//! Spans of programs in Rust and C: each is written once, by the task that did it.
#![allow(missing_docs)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fs, thread};
use swtch_span::{FILE_VARIABLE, span};

const C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const INCLUDE: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");

/// Runs a program whose spans go to `file`, and reads them.
fn spans_of(command: &mut Command, file: &Path) -> Vec<Value> {
    let output = command.env(FILE_VARIABLE, file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn counts(spans: &[Value]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for span in spans {
        let time = |name: &str| span[name][0].as_u64().unwrap();
        assert!(0 < time("begin_ns") && time("begin_ns") <= time("end_ns"), "{span}");
        *counts.entry(span["name"].as_str().unwrap()).or_insert(0) += 1;
    }
    counts
}

fn task<'a>(spans: &'a [Value], name: &str) -> (&'a Value, &'a Value) {
    let span = spans.iter().find(|span| span["name"] == name).unwrap();
    (&span["pid"], &span["tid"])
}

/// What the test below runs as a program of its own.
#[test]
fn a_program_in_rust() {
    if std::env::var_os(FILE_VARIABLE).is_none() {
        return;
    }
    let outer = span("outer").id("\"a\"\\\n");
    let work = || {
        for i in 0..5000 {
            let _inner = span("inner").id(i);
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    drop(outer);
}

#[test]
fn spans_of_all_threads_are_written_once_in_rust() {
    let place = tempfile::tempdir().unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "a_program_in_rust"]);
    let spans = spans_of(&mut program, &place.path().join("spans.jsonl"));
    assert_eq!(counts(&spans), BTreeMap::from([("inner", 10_000), ("outer", 1)]));
    let ids = spans.iter().filter(|span| span["id"][0] == "4999").count();
    assert_eq!(ids, 2);
    let outer = spans.iter().find(|span| span["name"] == "outer").unwrap();
    assert_eq!(outer["id"][0], "\"a\"\\\n");
    assert_ne!(task(&spans, "inner").1, task(&spans, "outer").1);
    // A place that cannot be written ends no program.
    assert_eq!(spans_of(&mut program, &place.path().join("missing/spans.jsonl")), Vec::<Value>::new());
}

#[test]
fn spans_of_all_threads_and_processes_are_written_once_in_c_and_cpp() {
    let place = tempfile::tempdir().unwrap();
    for (compiler, standard) in [("cc", "-std=gnu99"), ("cc", "-std=gnu17"), ("c++", "-std=gnu++11")] {
        let program = place.path().join("program");
        let mut compile = Command::new(compiler);
        compile.args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-deprecated",
            "-O2",
            "-pthread",
            standard,
            INCLUDE,
        ]);
        compile.arg("-o").arg(&program);
        compile.args(["program.c", "other_file.c"].map(|name| format!("{C}/{name}")));
        let Ok(compiled) = compile.output() else {
            eprintln!("SKIP spans in {standard}: there is no {compiler}");
            continue;
        };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let file = place.path().join(format!("{standard}.jsonl"));
        let spans = spans_of(&mut Command::new(&program), &file);
        let child_twice =
            BTreeMap::from([("inner", 10_000), ("outer", 2), ("child", 1), ("\"quoted\"\\\n", 1)]);
        assert_eq!(counts(&spans), child_twice, "{standard}");
        let quoted = spans.iter().find(|span| span["id"][0] == "a\tb").unwrap();
        assert_eq!((&quoted["pid"], &quoted["tid"]), (&quoted["tid"], &quoted["pid"]));
        assert_eq!(spans.iter().filter(|span| span["id"][0] == "4999").count(), 2);
        assert_ne!(task(&spans, "child").0, task(&spans, "inner").0);
        assert_ne!(task(&spans, "inner").1, task(&spans, "inner").0);
        let missing = place.path().join("missing/spans.jsonl");
        assert_eq!(spans_of(&mut Command::new(&program), &missing), Vec::<Value>::new());
        let without = Command::new(&program).env_remove(FILE_VARIABLE).status().unwrap();
        assert!(without.success());
    }
}
