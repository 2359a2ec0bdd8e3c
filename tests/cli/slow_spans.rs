//! `swtch why` on a recorded program whose slow spans have known causes.

use crate::common::group::Group;
use crate::common::machine::alone;
use crate::common::{home, json, last_cpu, run, skip, stderr, stdout, swtch, without_bpf};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const TEST: &str = "the_injected_causes_of_slow_spans_are_found";

/// A program that writes its spans itself. Every eighth span is slow by one cause. Another thread holds its lock, a real-time task has its
/// CPU, or the quota of its cgroup is used up. The id of a span holds how long its thread ran in it, and how long the quota stopped its
/// cgroup. Both are from the kernel's own accounts.
const PROGRAM: &str = r#"
import json, os, sys, threading, time
cpu, hog, quota = int(sys.argv[1]), sys.argv[2] == "hog", sys.argv[3]
os.sched_setaffinity(0, {cpu})
spans = {}
def work(ms):
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass
def stopped():
    if not quota:
        return 0
    stat = dict(line.split() for line in open(quota + "/cpu.stat"))
    return int(stat.get("throttled_time", 0)) or int(stat.get("throttled_usec", 0)) * 1000
def span(name, do):
    stop, begin, ran = stopped(), time.monotonic_ns(), time.thread_time_ns()
    do()
    ran = time.thread_time_ns() - ran
    spans.setdefault(name, []).append((begin, time.monotonic_ns(), f"{ran} {stopped() - stop}"))
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
    let ran = kernels(&why, 0);
    let running = of("on_cpu") + of("interrupt") + of("steal");
    assert!((running - ran).abs() < 0.1, "{ran} of the time: {why:#}");
    why
}

/// The share of the slow spans' time that one of the two accounts of the kernel has.
fn kernels(why: &Value, account: usize) -> f64 {
    let slowest = why["slowest"].as_array().unwrap();
    let ns =
        |span: &Value| span["id"].as_str().unwrap().split(' ').nth(account).unwrap().parse::<f64>().unwrap();
    let took: f64 = slowest.iter().map(|span| span["length_ns"].as_f64().unwrap()).sum();
    slowest.iter().map(ns).sum::<f64>() / took
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

/// Whether a switch of the recording is one by a quota.
fn says_what_a_quota_stopped(home: &Path) -> bool {
    let trace = swtch_trace::Trace::open(&home.join("shop.swtch")).unwrap();
    trace.switches().any(|row| row.unwrap().throttled == Some(true))
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
    // It comes before others when its quota is full again.
    let group = Group::new("why").filter(|group| group.limit() && group.comes_first());
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
        let limited = why(home.path(), "limited");
        let stopped = kernels(&limited, 1);
        if says_what_a_quota_stopped(home.path()) {
            assert!(stopped > 0.1, "the quota stopped it: {limited:#}");
            assert!(
                (share(&limited, "throttled") - stopped).abs() < 0.1,
                "{stopped} of the time: {limited:#}"
            );
        } else {
            skip(
                &format!("{TEST} (a quota)"),
                "this kernel does not tell what a quota stops from what others do",
            );
        }
        assert!(by(&limited, "run_queue", "an idle CPU that was waking up") < 0.1, "{limited:#}");
    } else {
        skip(&format!("{TEST} (a quota)"), "no cgroup here can have a quota");
    }
}

/// Packets to very many sockets: the softirq that delivers them is most of a slow span. The truth is the span without its waits and without what the
/// ordinary ones take.
#[test]
fn a_burst_of_interrupts_is_found_in_a_program_in_c() {
    const TEST: &str = "a_burst_of_interrupts_is_found_in_a_program_in_c";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let _machine = alone();
    let home = home();
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-O2", "-I"]).arg(place.join("crates/span/include"));
    compiler.arg("-o").arg(home.path().join("storm")).arg(place.join("tests/cli/programs/storm.c"));
    let Ok(compiled) = compiler.output() else {
        return skip(TEST, "no C compiler here");
    };
    assert!(compiled.status.success(), "{}", stderr(&compiled));
    // What other programs do in one try is not what they do in three.
    let mut wrong = Vec::new();
    for attempt in 0..3 {
        let trace = format!("storm-{attempt}.swtch");
        match storm(home.path(), &trace) {
            (truth, _) if truth < 0.2 => {
                return skip(TEST, "the packets took little of the time");
            }
            (truth, found) if (found - truth).abs() < 0.1 => return,
            (truth, found) => wrong.push(format!("{found} instead of {truth}")),
        }
    }
    panic!("{wrong:?}");
}

/// The share of slow spans that the softirq took: the truth, and what `why` finds.
fn storm(home: &Path, trace: &str) -> (f64, f64) {
    let recorded = run(swtch(home)
        .args(["record", "--events", "--no-profile", "-o", trace, "--"])
        .args([home.join("storm").as_os_str(), last_cpu().as_ref()]));
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let printed = stdout(&recorded);
    let spans: Vec<Vec<f64>> =
        printed.lines().map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect()).collect();
    let sum = |slow: f64, of: fn(&[f64]) -> f64| -> f64 {
        spans.iter().filter(|span| span[0] == slow).map(|span| of(span)).sum()
    };
    let (slow, ordinary) = (sum(1.0, |_| 1.0), sum(0.0, |_| 1.0));
    let own = sum(0.0, |span| span[1] - span[2]) / ordinary;
    let took = sum(1.0, |span| span[1]);
    let truth = 1.0 - (sum(1.0, |span| span[2]) + own * slow) / took;
    let why = json(swtch(home).args(["why", trace, "--json", "--slowest", "12.5%"]));
    println!("{truth:.3} of the time: {why:#}");
    assert_eq!(why["slow"]["count"], slow);
    // The kernel moves the softirq to a thread of its own where the CPU is contended.
    (truth, share(&why, "interrupt") + by(&why, "run_queue", "interrupts"))
}
