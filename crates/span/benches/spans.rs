//! What a span costs in Rust, C and Python, where nothing records it and where something does.
//!
//! `cargo bench -p swtch-span --bench spans` runs ten launches of each, in turn, and prints ns a span. Among the tests it runs one short
//! launch. It asserts nothing about time.
#![allow(missing_docs, clippy::print_stdout)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use swtch_span::{FILE_VARIABLE, span};

const C: &str = r#"
#include "swtch_span.h"
int main(int argc, char **argv)
{
	long i, count = atol(argv[argc - 1]);
	uint64_t began = swtch_span_now_();

	for (i = 0; i < count; i++) {
		struct swtch_span span = swtch_span_begin("checkout", "4711");
		__asm__ volatile("" : : : "memory");
		swtch_span_end(&span);
	}
	printf("%f\n", (double)(swtch_span_now_() - began) / (double)count);
	return 0;
}
"#;
const PYTHON: &str = r#"
import runpy, sys, time
span = runpy.run_path(sys.argv[1], run_name="swtch._span")["span"]
count = int(sys.argv[2])
began = time.perf_counter_ns()
for i in range(count):
    pass
empty = time.perf_counter_ns() - began
began = time.perf_counter_ns()
for i in range(count):
    with span("checkout", id=4711):
        pass
print((time.perf_counter_ns() - began - empty) / count)
"#;
/// What this program is called with to be the one in Rust.
const RUST: &str = "--spans-in-rust";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, asked, count] = &arguments[..]
        && asked == RUST
    {
        return rust(count.parse().unwrap());
    }
    let full = arguments.iter().any(|argument| argument == "--bench");
    let (launches, count) = if full { (10, 1_000_000) } else { (1, 1_000) };
    let place = tempfile::tempdir().unwrap();
    println!("ns a span, minimum and median of {launches} launches of {count} spans");
    let programs = programs(place.path());
    let mut results = vec![Vec::new(); programs.len() * 2];
    for _ in 0..launches {
        for (index, (_, command)) in programs.iter().enumerate() {
            for recorded in [false, true] {
                results[index * 2 + usize::from(recorded)].push(launch(
                    command,
                    count,
                    recorded,
                    place.path(),
                ));
            }
        }
    }
    for (index, mut values) in results.into_iter().enumerate() {
        values.sort_by(f64::total_cmp);
        let recorded = if index % 2 == 0 { "not recorded" } else { "recorded" };
        println!(
            "{:8} {recorded:14} {:8.1} {:8.1}",
            programs[index / 2].0,
            values[0],
            values[values.len() / 2]
        );
    }
}

fn rust(count: u64) {
    let began = Instant::now();
    for _ in 0..count {
        let _span = span(black_box("checkout")).id(black_box(4711));
    }
    println!("{}", began.elapsed().as_nanos() as f64 / count as f64);
}

/// The programs that run here: a language, and its command up to the number of spans.
fn programs(place: &Path) -> Vec<(&'static str, Vec<String>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |path: &Path| path.display().to_string();
    let mut programs = vec![("Rust", vec![text(&std::env::current_exe().unwrap()), RUST.to_owned()])];
    let (source, program) = (place.join("spans.c"), place.join("spans"));
    fs::write(&source, C).unwrap();
    let include = format!("-I{}", text(&here.join("include")));
    let mut compiler = Command::new("cc");
    match compiler.args(["-O2", include.as_str(), "-o"]).arg(&program).arg(&source).status() {
        Ok(compiled) => {
            assert!(compiled.success());
            programs.push(("C", vec![text(&program)]));
        }
        Err(_) => println!("left out: C; there is no cc"),
    }
    if Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let module = text(&here.join("../../python/swtch/_span.py"));
        programs.push(("Python", ["python3", "-c", PYTHON, &module].map(str::to_owned).to_vec()));
    } else {
        println!("left out: Python; there is no python3");
    }
    programs
}

fn launch(command: &[String], count: u64, recorded: bool, place: &Path) -> f64 {
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).arg(count.to_string()).env_remove(FILE_VARIABLE);
    let file = place.join("spans.jsonl");
    if recorded {
        program.env(FILE_VARIABLE, &file);
    }
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(file.exists(), recorded, "spans are written where SWTCH_SPANS names a file, and only there");
    let _ = fs::remove_file(file);
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}
