//! A recording that steal or other programs spoil says so in its first lines, before any figure of its own.

use swtch_cost::{Inputs, bill, caveats};
use swtch_report::recording::Summary;
use swtch_report::terminal;
use swtch_topology::Host;
use swtch_trace::Tables;
use swtch_trace::model::{Header, Provenance, Scope};
use swtch_trace::tables::{CpuRow, InFront, TaskRow, WaitRow, WaitStart};

const MS: u64 = 1_000_000;

/// A command that ran for 300 ms of a second on the first of two CPUs, paid 20 ms for its switches, and waited.
#[allow(clippy::struct_field_names)] // Their unit is a part of their names.
struct Made {
    /// How long the hypervisor had the first CPU, ms.
    steal_ms: u64,
    /// How long other programs ran, ms.
    others_ms: u64,
    /// How long the command waited behind others, ms, and behind itself.
    behind_ms: [u64; 2],
}

impl Made {
    /// The summary in words, and whether the recording is spoiled by the JSON.
    fn summary(&self) -> (String, bool) {
        let [behind_others, behind_itself] = self.behind_ms;
        let scope = Scope::Command { command: vec!["work".into()], pid: 7 };
        let mut header = Header::new(Provenance::default(), Host::default(), scope);
        header.duration_ns = 1000 * MS;
        header.totals.switch_cost_ns = Some(20 * MS);
        let wait_ms = behind_others + behind_itself;
        let task = TaskRow {
            tid: 7,
            pid: 7,
            comm: "work".into(),
            in_scope: true,
            voluntary: 1000,
            run_ns: 300 * MS,
            wait_ns: wait_ms * MS,
            waits: 1000,
            switch_cost_ns: Some(20 * MS),
            ..TaskRow::default()
        };
        let wait = |program: &str, ms: u64| WaitRow {
            of_tid: 7,
            began: WaitStart::Woken,
            behind: InFront::Task,
            program: program.into(),
            waits: 500,
            ns: ms * MS,
        };
        let cpu = |cpu, run_ms: u64, busy_ms: u64, steal_ms: u64| CpuRow {
            cpu,
            run_ns: run_ms * MS,
            user_ns: Some(busy_ms * MS),
            system_ns: Some(0),
            steal_ns: Some(steal_ms * MS),
            idle_ns: (1000 - busy_ms - steal_ms) * MS,
            ..CpuRow::default()
        };
        let first_ms = self.others_ms / 2;
        let tables = Tables {
            tasks: vec![task],
            cpus: vec![cpu(0, 300, 320 + first_ms, self.steal_ms), cpu(1, 0, self.others_ms - first_ms, 0)],
            waits: vec![wait("other", behind_others), wait("work", behind_itself)],
            ..Tables::default()
        };
        let inputs = Inputs { trace: tables.view(&header), model: None, price: None };
        let bill = bill(inputs);
        let caveats = caveats(inputs, &bill);
        let summary = Summary { trace: inputs.trace, bill: &bill, caveats: &caveats, advice: None };
        (terminal::recording(&summary), summary.json()["spoiled"].as_bool().unwrap())
    }
}

/// The text up to its first figure about the recording itself.
fn before_the_answer(text: &str) -> String {
    let answer = ["Context switches took", "work waited"];
    let end = answer.iter().filter_map(|words| text.find(words)).min().unwrap_or(text.len());
    text[..end].split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn steal_that_can_be_the_cause_is_said_first() {
    let made = |steal_ms| Made { steal_ms, others_ms: 0, behind_ms: [0, 100] };
    let (text, spoiled) = made(250).summary();
    assert!(
        before_the_answer(&text).starts_with(
            "This recording is spoiled: the hypervisor took 25 % of the CPUs' time (250 ms), enough to explain"
        ),
        "{text}"
    );
    assert!(spoiled);
    // It can be the cause of the waits, but is less than a tenth of the time: a note after the answer.
    let (text, spoiled) = made(60).summary();
    assert_eq!((before_the_answer(&text).as_str(), spoiled), ("", false), "{text}");
    assert!(text.contains("Note: the hypervisor took 6 % of the CPUs' time (60.0 ms)"), "{text}");
    // Less than the switches took, and little of the waiting.
    let (text, spoiled) = made(15).summary();
    assert!(!text.contains("hypervisor") && !spoiled, "{text}");
}

#[test]
fn other_programs_that_can_be_the_cause_are_said_first() {
    let made = |others_ms, behind_ms| Made { steal_ms: 0, others_ms, behind_ms };
    let (text, spoiled) = made(1200, [400, 50]).summary();
    let first = before_the_answer(&text);
    assert!(
        first.starts_with("This recording is spoiled: other programs ran for 60 % of the CPUs' time."),
        "{text}"
    );
    assert!(
        first.contains(
            "The tasks waited 450 ms for a CPU, 89 % of it behind programs that were not recorded."
        ),
        "{text}"
    );
    assert!(spoiled);
    // They had the CPU in front of the tasks, and most of the machine was free.
    let (text, spoiled) = made(400, [400, 50]).summary();
    assert_eq!((before_the_answer(&text).as_str(), spoiled), ("", false), "{text}");
    assert!(text.contains("Note: other programs ran for 20 % of the CPUs' time."), "{text}");
    // They ran, and the tasks waited behind each other.
    let (text, spoiled) = made(1200, [50, 400]).summary();
    assert!(!text.contains("other programs ran") && !spoiled, "{text}");
}
