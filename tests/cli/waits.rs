//! Waits are charged to what was in front: five services, each with a known aggressor (`programs/waits.c`).

use crate::common::machine::alone;
use crate::common::{home, last_cpu, run, skip, stderr, stdout, swtch, without_bpf};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use swtch_cost::{Inputs, advise, bill};
use swtch_report::recording::Summary;
use swtch_trace::Trace;

/// A table of a Trace, a map of columns a row, as `swtch export` writes it.
fn table(home: &Path, name: &str) -> Vec<HashMap<String, String>> {
    let output = run(swtch(home).args(["export", TRACE, "--to", "csv", "--table", name]));
    let text = stdout(&output);
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_else(|| panic!("{}", stderr(&output))).split(',').collect();
    let row = |line: &str| {
        names.iter().map(|name| (*name).to_owned()).zip(line.split(',').map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

fn number(row: &HashMap<String, String>, name: &str) -> Option<u64> {
    row[name].parse().ok()
}

/// The recording that these tests read.
pub const TRACE: &str = "waits.swtch";

/// The waits of a recording, from the exported switches alone.
#[derive(Default)]
pub struct Replay {
    /// The tasks that had the CPU while one program waited, ns by name. Between two switches on a CPU, the task that leaves at the second
    /// one had it.
    behind: HashMap<String, u64>,
    /// How long each program waited after wake-ups, ns.
    woken: HashMap<String, u64>,
    /// The waits of the one program, ns.
    waits: Vec<u64>,
}

impl Replay {
    /// Of [`TRACE`], with the waits of `program`.
    pub fn of(home: &Path, program: &str) -> Self {
        let tasks = table(home, "tasks");
        let names: HashMap<u64, &str> =
            tasks.iter().map(|row| (number(row, "tid").unwrap(), row["comm"].as_str())).collect();
        let name = |tid: &u64| if *tid == 0 { "" } else { names.get(tid).copied().unwrap_or("?") };
        let mut replay = Self::default();
        let mut by_cpu: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
        let mut left_runnable: HashMap<u64, bool> = HashMap::new();
        for row in table(home, "switches") {
            let of = |column| number(&row, column).unwrap();
            let (at_ns, prev, next) = (of("at_ns"), of("prev_tid"), of("next_tid"));
            left_runnable.insert(prev, row["prev_state"] == "runnable");
            let before = by_cpu.entry(of("cpu")).or_default();
            before.push((at_ns, prev));
            let Some(waited_ns) = number(&row, "waited_ns") else { continue };
            if !left_runnable.get(&next).is_some_and(|runnable| *runnable) {
                *replay.woken.entry(name(&next).to_owned()).or_default() += waited_ns;
            }
            if name(&next) != program {
                continue;
            }
            replay.waits.push(waited_ns);
            let (from_ns, mut end_ns) = (at_ns - waited_ns, at_ns);
            for (place, (_, had_it)) in before.iter().enumerate().rev() {
                let begin_ns = place.checked_sub(1).map_or(0, |before_it| before[before_it].0).max(from_ns);
                *replay.behind.entry(name(had_it).to_owned()).or_default() += end_ns - begin_ns;
                end_ns = begin_ns;
                if end_ns <= from_ns {
                    break;
                }
            }
        }
        replay.waits.sort_unstable();
        replay
    }

    /// The part of the program's waiting that was behind another.
    pub fn share(&self, front: &str) -> f64 {
        let all: u64 = self.waits.iter().sum();
        self.behind.get(front).copied().unwrap_or(0) as f64 / all.max(1) as f64
    }

    /// Whether the program waited longest after wake-ups, by a margin.
    fn is_worst(&self, program: &str) -> bool {
        let others = self.woken.iter().filter(|(name, _)| *name != program).map(|(_, ns)| *ns).max();
        self.woken.get(program).copied().unwrap_or(0) > others.unwrap_or(0) / 4 * 5
    }

    /// 99 of 100 waits were at most this long, ns.
    fn p99_ns(&self) -> u64 {
        self.waits.get(self.waits.len() * 99 / 100).copied().unwrap_or(0)
    }
}

/// The part of a CPU's run time in `flood` that was in the softirq of received packets.
fn in_softirq(home: &Path, cpu: &str) -> f64 {
    let softirq_ns: u64 = table(home, "interrupts")
        .iter()
        .filter(|row| row["line"] == "NET_RX" && row["cpu"] == cpu)
        .filter_map(|row| number(row, "ns"))
        .sum();
    let tasks = table(home, "tasks");
    let flood_ns: u64 =
        tasks.iter().filter(|row| row["comm"] == "flood").filter_map(|row| number(row, "run_ns")).sum();
    softirq_ns as f64 / flood_ns as f64
}

/// The share that a text names right before `words`: `(88 %) behind auditd-scan`.
fn share_in(text: &str, words: &str) -> Option<f64> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = text.split_once(&format!(" %) {words}"))?.0;
    before.rsplit('(').next()?.parse().ok()
}

/// An aggressor of `programs/waits.c`.
struct Aggressor {
    kind: &'static str,
    /// What is in front.
    front: &'static str,
    /// What the summary says of it.
    fact: &'static str,
    /// What the advice tries.
    remedy: &'static str,
}

const AGGRESSORS: [Aggressor; 5] = [
    Aggressor { kind: "scan", front: "auditd-scan", fact: "nice -18", remedy: "SCHED_IDLE for auditd-scan" },
    Aggressor { kind: "nice", front: "nicehog", fact: "nice -18", remedy: "SCHED_IDLE for nicehog" },
    Aggressor { kind: "rt", front: "rtloop", fact: "fifo", remedy: "the ordinary class for rtloop" },
    Aggressor { kind: "pinned", front: "pinnedhog", fact: "nice -10", remedy: "more CPUs for service" },
    Aggressor { kind: "interrupts", front: "interrupts", fact: "", remedy: "the interrupts on another CPU" },
];

/// Records the service with an aggressor, and compares the summary with the exported events. Says whether the aggressor had the CPU for much of
/// the waiting: on a machine where others had it, the first lines are theirs.
fn is_named(home: &Path, cpu: &str, Aggressor { kind, front, fact, remedy }: &Aggressor) -> bool {
    let mut recorder = swtch(home);
    recorder.args(["record", "--events", "--advise", "--no-profile", "-o", TRACE, "--force", "--"]);
    let output = run(recorder.arg(home.join("waits")).args([kind, cpu, "1200"]));
    assert!(output.status.success(), "{kind}: {}", stderr(&output));
    let text = stderr(&output);
    let trace = Trace::open(&home.join(TRACE)).unwrap();
    let inputs = Inputs { trace: trace.view(), model: None, price: None };
    let bill = bill(inputs);
    let advice = advise(inputs, &bill);
    let found = Summary { trace: inputs.trace, bill: &bill, caveats: &[], advice: Some(&advice) }.json();

    // The truth, by a plain replay of the exported events.
    let replay = Replay::of(home, "service");
    let truth = match *kind {
        "interrupts" => replay.share("flood") * in_softirq(home, cpu),
        _ => replay.share(front),
    };
    let programs = found["waits"]["programs"].as_array().unwrap();
    let service = programs.iter().find(|program| program["program"] == "service").unwrap();
    let parts = service["behind"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["ns"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), service["wait_ns"].as_u64(), "{kind}: the parts add up to the waiting");
    let wrong = advice.iter().find(|one| one.what.contains("lock"));
    assert_eq!(wrong, None, "{kind}");
    let spoiled = if text.starts_with("This recording is spoiled: ") { 3 } else { 0 };
    let lines = text.lines().take(5 + spoiled).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    println!("{kind}: {truth:.2} by the events: {lines}");
    // The kernel moves the softirq to a thread of its own where the CPU is contended.
    // On a machine that other programs keep busy the one in front has little of the CPU, and advice would save little.
    let waited = service["wait_ns"].as_f64().unwrap() * truth / found["duration_ns"].as_f64().unwrap();
    if truth < 0.3
        || waited < 0.03
        || replay.share(&format!("ksoftirqd/{cpu}")) > 0.03
        || !replay.is_worst("service")
    {
        return false;
    }

    let named = |part: &&Value| match *kind {
        "interrupts" => part["cause"] == "interrupt",
        _ => part["program"] == *front,
    };
    let part = parts.iter().find(named).unwrap_or_else(|| panic!("{kind}: {service}"));
    let said = part["share"].as_f64().unwrap();
    assert!((said - truth).abs() < 0.1, "{kind}: {said} in the summary, {truth} by the events");
    if *kind == "scan" {
        let short = table(home, "tasks").iter().filter(|row| row["comm"] == *front).count();
        assert!(short > 1 && part["tasks"] == short, "short tasks of one name are one: {short}, {part}");
        let tasks = found["tasks"].as_array().unwrap();
        let maker = tasks.iter().find(|task| task["comm"] == "auditd").unwrap();
        assert_eq!(part["parent_pid"], maker["pid"], "{part}");
        assert_eq!((&maker["nice"], &maker["policy"]), (&(-10).into(), &"other".into()), "{maker}");
    }
    let in_words = share_in(&lines, &format!("behind {front}")).unwrap_or_else(|| panic!("{kind}: {text}"));
    assert!((in_words / 100.0 - truth).abs() < 0.1, "{kind}: {lines}");
    assert!(lines.contains(fact), "{kind}: {lines}");
    assert!(advice.iter().any(|one| one.try_this.contains(remedy)), "{kind}: {advice:?}");
    if truth > 0.6 && replay.p99_ns() > 2_000_000 {
        assert!(
            lines.contains("service waited") && advice[0].try_this.contains(remedy),
            "{kind}: {advice:?}"
        );
    }
    true
}

#[test]
fn the_one_in_front_is_named_with_its_share() {
    const TEST: &str = "the_one_in_front_is_named_with_its_share";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let _machine = alone();
    let home = home();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/programs/waits.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-pthread", "-o"]).arg(home.path().join("waits")).arg(source);
    let Ok(done) = compiler.output() else {
        return skip(TEST, "no C compiler here");
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let cpu = last_cpu();
    for aggressor in &AGGRESSORS {
        if !(0..3).any(|_| is_named(home.path(), &cpu, aggressor)) {
            skip(&format!("{TEST} ({})", aggressor.kind), "other programs had the CPU");
        }
    }
}

/// Two processes that spin on the first CPU only, while the recorder takes them to be allowed on all.
const SPINNING: &str = "import os, time
allowed = os.sched_getaffinity(0)
child = os.fork()
os.sched_setaffinity(0, {min(allowed)})
end = time.monotonic() + 1
while time.monotonic() < end: pass
os.sched_setaffinity(0, allowed)
if child: os.wait()";

/// Of the waiting of these tasks, in the recording `name`: how long they waited, and for how long another CPU was idle, ns.
fn idle_elsewhere(home: &Path, name: &str, tids: Option<&[u32]>) -> (u64, u64, Vec<u32>) {
    let trace = Trace::open(&home.join(name)).unwrap();
    let is_one = |tid: &u32| tids.is_none_or(|tids| tids.contains(tid));
    let view = trace.view();
    let rows: Vec<_> = view.in_scope().filter(|row| is_one(&row.tid) && row.waits > 0).collect();
    let idle_ns =
        rows.iter().map(|row| row.idle_elsewhere_ns.unwrap_or_else(|| panic!("{name}: {row:?}"))).sum();
    (rows.iter().map(|row| row.wait_ns).sum(), idle_ns, rows.iter().map(|row| row.tid).collect())
}

#[test]
fn a_recording_of_a_command_knows_which_cpus_were_idle_as_one_of_the_machine_does() {
    const TEST: &str = "a_recording_of_a_command_knows_which_cpus_were_idle_as_one_of_the_machine_does";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    if last_cpu() == "0" {
        return skip(TEST, "one CPU");
    }
    let _machine = alone();
    let home = home();
    let mut machine = swtch(home.path());
    machine.args(["record", "-a", "--events", "--no-profile", "--duration", "4s", "-o", "machine.swtch"]);
    let mut machine = machine.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let mut one = swtch(home.path());
    one.args(["record", "--events", "--no-profile", "-o", "one.swtch", "--", "python3", "-c", SPINNING]);
    let output = run(&mut one);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(machine.wait().unwrap().success());
    let (wait_ns, idle_ns, tids) = idle_elsewhere(home.path(), "one.swtch", None);
    let (_, expected_ns, _) = idle_elsewhere(home.path(), "machine.swtch", Some(&tids));
    println!("waited {wait_ns} ns; another CPU idle for {idle_ns} ns, by the whole machine {expected_ns} ns");
    if expected_ns < wait_ns / 20 {
        // Nothing agrees with nothing, which proves little.
        skip(TEST, "other programs had the other CPUs");
    }
    assert!(wait_ns > 500_000_000, "two processes shared a CPU for a second: {wait_ns}");
    assert!(
        idle_ns.abs_diff(expected_ns) <= wait_ns / 20,
        "{idle_ns} ns, by the whole machine {expected_ns} ns"
    );
}
