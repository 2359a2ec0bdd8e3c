//! `swtch why` on a recorded program whose slow spans have known causes.

use crate::common::group::Group;
use crate::common::machine::alone;
use crate::common::{home, json, last_cpu, run, skip, stderr, swtch, without_bpf};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const TEST: &str = "the_injected_causes_of_slow_spans_are_found";

/// A program that writes its spans itself. Every eighth span is slow by one cause: another thread holds its lock, a real-time task has its CPU, or the
/// quota of its cgroup is used up. The number of a span is how long its
/// thread ran in it, by the kernel's own account of that thread.
const PROGRAM: &str = r#"
import json, os, sys, threading, time
cpu, hog, quota = int(sys.argv[1]), sys.argv[2] == "hog", sys.argv[3]
os.sched_setaffinity(0, {cpu})
spans = {}
def work(ms):
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass
def span(name, do):
    begin, ran = time.monotonic_ns(), time.thread_time_ns()
    do()
    ran = time.thread_time_ns() - ran
    spans.setdefault(name, []).append((begin, time.monotonic_ns(), ran))
lock = threading.Lock()
def hold(held, begun):
    with lock:
        held.set()
        begun.wait()
        time.sleep(0.2)
def locked(begun):
    begun.set()
    with lock:
        work(2)
for i in range(16):
    held, begun = threading.Event(), threading.Event()
    if i % 8 == 3:
        threading.Thread(target=hold, args=(held, begun)).start()
        held.wait()
    span("locked", lambda: locked(begun))
for i in range(16 if hog else 0):
    child = 0
    ready, go = os.pipe(), os.pipe()
    if i % 8 == 3:
        child = os.fork()
        if child == 0:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            with open("/proc/self/comm", "w") as comm:
                comm.write("hog")
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            work(200)
            os._exit(0)
        os.read(ready[0], 1)
    def crowded():
        os.write(go[1], b"x")
        work(15)
    span("crowded", crowded)
    if child:
        os.waitpid(child, 0)
if quota:
    with open(quota + "/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))
    for i in range(8):
        span("limited", lambda: work(25 if i == 3 else 1))
        time.sleep(0.12)
with open(os.environ["SWTCH_SPANS"], "a") as out:
    for name, of in spans.items():
        begins, ends, ran = zip(*of)
        event = {"event": "spans", "name": name, "pid": os.getpid(), "tid": os.getpid(), "begin_ns": begins, "end_ns": ends, "id": ran}
        out.write(json.dumps(event) + "\n")
"#;

/// What the slow spans of a name were spent on. The parts add up, and running time is what the kernel says the thread ran.
fn why(home: &Path, span: &str) -> Value {
    let why = json(swtch(home).args(["why", "shop.swtch", "--json", "--slowest", "12.5%", "--span", span]));
    let of = |cause: &str| share(&why, cause);
    let all: f64 =
        why["slow"]["causes"].as_array().unwrap().iter().map(|part| part["share"].as_f64().unwrap()).sum();
    assert!((all - 1.0).abs() < 1e-9, "{why:#}");
    let slowest = why["slowest"].as_array().unwrap();
    let ran: f64 = slowest.iter().map(|span| span["id"].as_str().unwrap().parse::<f64>().unwrap()).sum();
    let took: f64 = slowest.iter().map(|span| span["length_ns"].as_f64().unwrap()).sum();
    let running = of("on_cpu") + of("interrupt") + of("steal");
    assert!((running - ran / took).abs() < 0.1, "{ran} of {took} ns: {why:#}");
    why
}

fn share(why: &Value, cause: &str) -> f64 {
    let causes = why["slow"]["causes"].as_array().unwrap();
    causes.iter().find(|part| part["cause"] == cause).map_or(0.0, |part| part["share"].as_f64().unwrap())
}

/// The share of the slow spans' time that a cause took by a program.
fn by(why: &Value, cause: &str, name: &str) -> f64 {
    let causes = why["slow"]["causes"].as_array().unwrap();
    let behind = causes
        .iter()
        .filter(|part| part["cause"] == cause)
        .flat_map(|part| part["behind"].as_array().unwrap());
    behind.filter(|behind| behind["name"] == name).map(|behind| behind["share"].as_f64().unwrap()).sum()
}

/// The part of a slow span that 200 ms are.
fn injected(why: &Value) -> f64 {
    200e6 / why["slow"]["mean_ns"].as_f64().unwrap()
}

/// The page and Perfetto's file find the spans beside the Trace.
fn page_and_perfetto_have_them(home: &Path) {
    let reported = run(swtch(home).args(["report", "shop.swtch", "-o", "page.html"]));
    assert!(reported.status.success(), "{}", stderr(&reported));
    let page = fs::read_to_string(home.join("page.html")).unwrap();
    assert!(page.contains("Why the slow ones were slow") && page.contains("The slowest 1 % of "));
    let exported =
        json(swtch(home).args(["export", "shop.swtch", "--to", "perfetto", "-o", "shop.pftrace", "--json"]));
    let names = json(swtch(home).args(["why", "shop.swtch", "--json"]))["names"].clone();
    let spans: u64 = names.as_array().unwrap().iter().map(|name| name["count"].as_u64().unwrap()).sum();
    assert_eq!(exported["spans"], spans);
}

#[test]
fn the_injected_causes_of_slow_spans_are_found() {
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skip(TEST, "python3 is not installed");
    }
    let _machine = alone();
    let home = home();
    fs::write(home.path().join("shop.py"), PROGRAM).unwrap();
    let group = Group::new("why").filter(Group::limit);
    let folder = group.as_ref().map_or(String::new(), |group| group.folder.display().to_string());
    let realtime = Command::new("chrt")
        .args(["--fifo", "1", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    let (cpu, hog) = (last_cpu(), if realtime { "hog" } else { "none" });
    let recorded = run(swtch(home.path())
        .args(["record", "--events", "--no-profile", "-o", "shop.swtch", "--", "python3", "shop.py"])
        .args([&cpu, hog, &folder]));
    assert!(recorded.status.success(), "{}", stderr(&recorded));

    page_and_perfetto_have_them(home.path());
    let locked = why(home.path(), "locked");
    let share_of_holder = by(&locked, "blocked", "python3");
    assert!((share_of_holder - injected(&locked)).abs() < 0.1, "{locked:#}");

    if realtime {
        let crowded = why(home.path(), "crowded");
        assert!((by(&crowded, "run_queue", "hog") - injected(&crowded)).abs() < 0.1, "{crowded:#}");
    } else {
        skip(&format!("{TEST} (a real-time task)"), "the real-time class is not permitted");
    }
    if group.is_some() {
        // Time behind other programs of a busy machine is not the quota's; an idle CPU is.
        let limited = why(home.path(), "limited");
        if share(&limited, "throttled") < 0.1 {
            skip(&format!("{TEST} (a quota)"), "its CPU was not idle while the quota stopped the program");
        }
        assert!(by(&limited, "run_queue", "an idle CPU that was waking up") < 0.1, "{limited:#}");
    } else {
        skip(&format!("{TEST} (a quota)"), "no cgroup here can have a quota");
    }
}
