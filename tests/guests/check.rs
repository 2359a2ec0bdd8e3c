//! `swtch check` in a deterministic guest: the same bytes give the same figures, and more switches are found and named.

use crate::common::{home, run, stderr, stdout, swtch};
use crate::guest::{cache, cannot, machine};
use std::fs;
use std::path::Path;
use std::process::Command;
use swtch_decide::check::{CheckResult, Status};

fn compile(home: &Path, name: &str, flags: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/guard/services.c");
    let output = run(Command::new("cc")
        .args(["-O2", "-pthread"])
        .args(flags)
        .arg("-o")
        .arg(home.join(name))
        .arg(source));
    assert!(output.status.success(), "{}", stderr(&output));
}

fn budget(name: &str, runs: usize) -> String {
    format!(
        "[[budget]]\nname = \"{name}\"\ncommand = \"./{name}\"\nruns = {runs}\nswitches = {{ change = \"+2%\" }}\ninstructions = {{}}\n"
    )
}

fn check(home: &Path, arguments: &[&str]) -> (Option<i32>, CheckResult) {
    let mut command = swtch(home);
    command.env("XDG_CACHE_HOME", cache()).args(["check", "--json"]).args(arguments);
    let output = run(&mut command);
    let text = stdout(&output);
    let result =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", stderr(&output)));
    (output.status.code(), result)
}

#[test]
fn the_same_bytes_are_kept_and_more_switches_are_broken_and_named() {
    if cannot("the_same_bytes_are_kept_and_more_switches_are_broken_and_named") {
        return;
    }
    let _machine = machine();
    let home = home();
    let home = home.path();
    compile(home, "threads", &[]);
    compile(home, "static", &["-static", "-DTRANSPORT=1", "-DROUNDS=20"]);
    fs::write(home.join("swtch-budget.toml"), budget("threads", 6) + &budget("static", 6)).unwrap();
    let (status, accepted) = check(home, &["--accept"]);
    assert_eq!((status, accepted.status), (Some(0), Status::New), "{accepted:?}");
    // Calls of the client to the store, 14 % more switches. The other program is what it was: its figures have to be the same, or the check fails.
    compile(home, "threads", &["-DINJECT=1", "-DPINGS=120", "-DREACHED=60"]);
    let (status, found) = check(home, &[]);
    assert_eq!(status, Some(3), "{found:?}");
    let [threads, kept] = &found.budgets[..] else { panic!("{found:?}") };
    assert_eq!((threads.status, kept.status), (Status::Broken, Status::Kept), "{found:?}");
    for metric in &kept.metrics {
        assert_eq!(Some(metric.value), metric.baseline, "{metric:?}");
    }
    let why = threads.why.as_deref().unwrap();
    assert!(why.contains("more context switches (limit +2%)"), "{why}");
    // Another build of the recorder makes another schedule, in which one other pair may have grown as much by chance.
    let is_it = |pair: &swtch_decide::check::WhoDifference| {
        let mut names = [Some(pair.task.as_str()), pair.peer.as_deref()];
        names.sort_unstable();
        names == [Some("client"), Some("store")]
    };
    let mut more = threads.who.iter().filter(|pair| pair.difference > 0.0).take(2);
    assert!(more.any(is_it), "{threads:?}");
    let functions: Vec<_> = threads.who.iter().filter_map(|pair| pair.function.as_deref()).collect();
    assert!(functions.iter().any(|name| ["call_others", "service"].contains(name)), "{threads:?}");
    let trace = swtch_trace::Trace::open(&home.join(threads.trace.as_ref().unwrap())).unwrap();
    assert!(trace.tables.tasks.iter().any(|task| task.comm == "store"));
}
