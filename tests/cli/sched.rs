//! `swtch sched` where no scheduler can be loaded, as on most machines: what it says then, and what works all the same.

use crate::common::{home, is_root, json, run, skip, stderr, stdout, swtch};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A program `scx_NAME` in the home's `bin`, which is put on PATH.
fn sched(home: &Path, arguments: &[&str]) -> Command {
    let bin = home.join("bin");
    let _ = fs::create_dir(&bin);
    let program = bin.join("scx_theirs");
    fs::write(&program, "#!/bin/sh\necho theirs: \"$@\"\nexit 3\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = swtch(home);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).arg("sched").args(arguments);
    command
}

/// Whether this kernel has sched_ext, so that the messages without it cannot be seen.
fn has_sched_ext(test: &str) -> bool {
    let has = Path::new("/sys/kernel/sched_ext").exists();
    if has {
        skip(test, "this kernel has sched_ext");
    }
    has
}

#[test]
fn mistakes_are_one_line_with_what_to_do() {
    let home = home();
    let cases: [(&[&str], i32, &str); 3] = [
        (
            &["absent"],
            1,
            "no scheduler scx_absent: it is neither next to swtch, on PATH nor in the cache; there are: ",
        ),
        (&["theirs", "--only-pid", "1"], 2, "scx_theirs has options of its own"),
        (&["theirs", "--for", "soon"], 2, "not a time"),
    ];
    for (arguments, status, words) in cases {
        let output = run(&mut sched(home.path(), arguments));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_kernel_without_sched_ext_is_named_with_the_way_out() {
    if has_sched_ext("a_kernel_without_sched_ext_is_named_with_the_way_out") {
        return;
    }
    let home = home();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for arguments in [&["theirs"][..], &["compare", "--policies", "stock,theirs", "--", "true"]] {
        let output = run(&mut sched(home.path(), arguments));
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let told = stderr(&output);
        assert!(told.contains(release.trim()) && told.contains("swtch vm --sched theirs"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(stdout(&output), "", "nothing was run");
    }
    let status = json(&mut sched(home.path(), &["status", "--json"]));
    assert_eq!(status["sched_ext"], false);
    assert_eq!(status["unavailable"][0]["what"], "sched_ext");
    assert!(stdout(&run(&mut sched(home.path(), &["status"]))).contains("missing"));
}

#[test]
fn others_schedulers_are_listed_and_asked_for_help() {
    let home = home();
    let list = json(&mut sched(home.path(), &["list", "--json"]));
    let theirs = list.as_array().unwrap().iter().find(|one| one["name"] == "theirs").unwrap();
    assert_eq!(theirs["own"], false);
    assert!(stdout(&run(&mut sched(home.path(), &["list"]))).contains("bin/scx_theirs"));
    let help = run(&mut sched(home.path(), &["theirs", "--help", "--more"]));
    assert_eq!((stdout(&help).as_str(), help.status.code()), ("theirs: --help --more\n", Some(3)));
}

/// Answers as cargo does; a version that is not there is refused.
const CARGO: &str = r#"#!/bin/sh
case "$1 $*" in
    info*) echo "version: 2.0.1 (latest 2.0.10)" ;;
    *=9.9.9*) echo "error: no such version" >&2; exit 101 ;;
    install*)
        while [ $# -gt 1 ]; do
            [ "$1" = --root ] && root=$2
            shift
        done
        mkdir -p "$root/bin"
        printf '#!/bin/sh\necho %s: "$@"\n' "$1" > "$root/bin/$1"
        chmod +x "$root/bin/$1"
        echo built >> "$HOME/built" ;;
esac
"#;

#[test]
fn a_scheduler_of_the_registry_is_built_once_and_found_by_its_name() {
    let home = home();
    let bin = home.path().join("tools");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("cargo"), CARGO).unwrap();
    fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let get = |arguments: &[&str]| {
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut command = swtch(home.path());
        command.env("PATH", path).env("HOME", home.path()).env("XDG_CACHE_HOME", home.path().join("cache"));
        command.args(["sched", "get"]).args(arguments);
        run(&mut command)
    };
    let first = get(&["scx_other", "other@1.0.9"]);
    assert!(first.status.success(), "{}", stderr(&first));
    let (newest, older) = (stdout(&first), "other 1.0.9 is installed");
    assert!(newest.starts_with("other 2.0.10 is installed: ") && newest.contains(older), "{newest}");
    assert!(stdout(&get(&["other"])).contains("2.0.10 was there already"));
    assert_eq!(fs::read_to_string(home.path().join("built")).unwrap(), "built\nbuilt\n");
    let sched = |arguments: &[&str]| {
        let cache = home.path().join("cache");
        run(swtch(home.path()).env("XDG_CACHE_HOME", cache).arg("sched").args(arguments))
    };
    assert_eq!(stdout(&sched(&["other", "--help"])), "scx_other: --help\n");
    assert!(stdout(&sched(&["list"])).contains("other@1.0.9"));
    let failed = get(&["other@9.9.9"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(
        stderr(&failed).contains("scx_other is not installed: cargo ended with status 101"),
        "{}",
        stderr(&failed)
    );
    assert_eq!(get(&["../other"]).status.code(), Some(2));
}

#[test]
fn stock_and_real_time_policies_are_compared_on_any_kernel() {
    let home = home();
    let real_time = is_root() && run(Command::new("chrt").args(["--fifo", "1", "true"])).status.success();
    if !real_time {
        skip("compare with fifo and rr", "real-time policies are not permitted here");
    }
    let policies = if real_time { "stock,fifo,rr" } else { "stock" };
    let script = "echo noise; sleep 0.02 | sleep 0.02";
    let arguments = ["compare", "--json", "--runs", "3", "--policies", policies, "--", "sh", "-c", script];
    let compared = json(&mut sched(home.path(), &arguments));
    let runs = compared["runs"].as_array().unwrap();
    let names: Vec<&str> = runs.iter().map(|run| run["policy"].as_str().unwrap()).collect();
    assert_eq!(names.join(","), policies);
    assert_eq!(compared["exact"], false);
    for run in runs {
        let of = |figure: &str, part: &str| run[figure][part].as_f64().unwrap();
        for figure in ["seconds", "context_switches", "involuntary"] {
            let (low, median, high) = (of(figure, "ci_low"), of(figure, "median"), of(figure, "ci_high"));
            assert!(low <= median && median <= high, "{figure}: {run}");
        }
        assert!(of("seconds", "median") >= 0.02 && of("context_switches", "median") >= 3.0, "{run}");
        assert_eq!(of("seconds", "confidence"), 0.75);
        assert!(run["bill"].is_object(), "{run}");
        let waits = &run["wait_ns"];
        let has_waits = waits["p50"].as_f64() <= waits["p99"].as_f64() && waits["p90"].is_f64();
        assert!(has_waits || !run["unavailable"].as_array().unwrap().is_empty(), "{run}");
    }
}

#[test]
fn the_table_names_what_is_missing_and_traces_are_kept() {
    let home = home();
    let arguments = ["compare", "--runs", "1", "--no-record", "--policies", "stock", "--", "true"];
    let output = run(&mut sched(home.path(), &arguments));
    let text = stdout(&output);
    assert!(text.starts_with("policy") && text.contains("--no-record"), "{text}{}", stderr(&output));
    let arguments = ["compare", "--runs", "1", "--out", "kept", "--policies", "stock", "--", "true"];
    let output = run(&mut sched(home.path(), &arguments));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(swtch_trace::Trace::open(&home.path().join("kept/stock.swtch")).is_ok());
}

#[test]
fn a_comparison_ends_with_a_signal() {
    let home = home();
    let arguments = ["compare", "--policies", "stock", "--", "sleep", "1000"];
    let mut child = sched(home.path(), &arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    while fs::read_to_string(&children).unwrap_or_default().is_empty() && child.try_wait().unwrap().is_none()
    {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), "swtch: interrupted\n"));
}
