//! What a large machine takes. One test: it looks at the most memory that its process ever held.

use swtch_sim::Options;
use swtch_sim::costs::Costs;
use swtch_sim::machine::Machine;
use swtch_sim::run::{Setting, run};
use swtch_sim::sink::Nothing;
use swtch_sim::workload::Workload;
use swtch_sim::workloads::{Hackbench, Spin};

/// The most memory this process held so far, MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells VmHWM");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("in KiB") / 1024
}

fn spin_for(ms: u64) -> Setting {
    let mut workload = Spin { tasks: 10_000, work_ns: 0, ..Spin::default() }.build().unwrap();
    workload.duration_ns = Some(ms * 1_000_000);
    setting(workload)
}

fn setting(workload: Workload) -> Setting {
    Setting {
        machine: Machine::uniform(4096),
        costs: Costs::typical(),
        workload,
        options: Options::default(),
    }
}

#[test]
fn ten_thousand_tasks_on_4096_cpus_take_at_most_100_mb_however_long_they_run() {
    for policy in ["eevdf", "rr"] {
        let short = run(&spin_for(50), policy, Nothing).unwrap();
        let after_short = peak_mib();
        assert!(after_short < 95, "{policy}: {after_short} MiB");
        let long = run(&spin_for(1000), policy, Nothing).unwrap();
        assert!(
            long.stats.events > 5 * short.stats.events,
            "{} and {}",
            long.stats.events,
            short.stats.events
        );
        drop((short, long));
        let after_long = peak_mib();
        assert!(after_long <= after_short + 8, "{policy}: {after_short} MiB, then {after_long} MiB");
    }
    // Tasks that wait for each other: 250 groups of 40.
    let hackbench = Hackbench { groups: 250, loops: 2, ..Hackbench::default() }.build().unwrap();
    run(&setting(hackbench), "eevdf", Nothing).unwrap();
    assert!(peak_mib() < 95, "{} MiB", peak_mib());
}
