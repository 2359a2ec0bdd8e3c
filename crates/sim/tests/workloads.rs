//! Workloads on the engine: each runs to its end under every policy, and a machine with measured costs takes the measured time.

use swtch_profile::Profile;
use swtch_profile::vocabulary::{self, Class, Method};
use swtch_sim::costs::Costs;
use swtch_sim::machine::{Machine, named};
use swtch_sim::policies::policies;
use swtch_sim::run::{PolicyRun, Setting, run};
use swtch_sim::sink::Nothing;
use swtch_sim::spec::Spec;
use swtch_sim::workload::Workload;
use swtch_sim::workloads::{PingPong, Tasks, Transport};
use swtch_sim::{Options, SimError};
use swtch_topology::{Host, Placement};
use swtch_units::CpuId;

fn server() -> Profile {
    serde_json::from_str(include_str!("../fixtures/server.json")).expect("a Profile")
}

fn run_on(
    machine: Machine,
    costs: Costs,
    workload: Workload,
    policy: &str,
) -> Result<PolicyRun<Nothing>, SimError> {
    run(&Setting { machine, costs, workload, options: Options::default() }, policy, Nothing)
}

#[test]
fn every_workload_by_name_ends_under_every_policy() {
    for (name, requests) in [
        ("hackbench:groups=2,pairs=5,loops=4,channel=socket", 0),
        ("hackbench:groups=2,pairs=5,loops=4,channel=pipe,tasks=threads", 0),
        ("schbench:message_threads=2,workers=4,requests=10", 80),
        ("ping-pong:pairs=4,loops=50,work_ns=3us", 200),
        ("npb:program=mg,threads=20,scale=0.05,imbalance_percent=10", 0),
        ("npb:program=cg,threads=9,scale=0.01,waiting=block", 0),
        ("spin:tasks=9,work_ns=20ms,nice=[0,5,-5]", 0),
    ] {
        let spec = Spec::of_name(name).unwrap();
        let machine = named("2f4s", &Host::default()).unwrap();
        let workload = spec.workload(&machine).unwrap();
        for policy in policies().map(|row| row.name) {
            // The policies for cores of unequal speed are for programs that do not wait by sched_yield: there it only makes them slow.
            if name.contains("program=mg") && !["eevdf", "cfs", "fifo", "rr"].contains(&policy) {
                continue;
            }
            let ran = run_on(machine.clone(), Costs::typical(), workload.clone(), policy);
            let ran = ran.unwrap_or_else(|error| panic!("{name} under {policy}: {error}"));
            assert!(ran.complete, "{name} under {policy}");
            assert_eq!(ran.stats.requests.count(), requests, "{name} under {policy}");
        }
    }
}

#[test]
fn a_task_that_sleeps_is_no_buddy_under_cfs() {
    // A task is preempted by one that it wakes, comes back at once and sleeps: the next pick must be in the queue.
    let workload = Spec::of_name("hackbench:groups=4,loops=50").unwrap();
    let machine = named("2", &Host::default()).unwrap();
    let workload = workload.workload(&machine).unwrap();
    assert!(run_on(machine, Costs::xeon_phi(), workload, "cfs").unwrap().complete);
}

#[test]
fn a_mix_keeps_its_applications_speeds() {
    let text = r#"
machine = "2f4s"
[[workload.mix.applications]]
name = "quick"
speedup = 3.0
work_ns = "30ms"
[[workload.mix.applications]]
name = "slow"
speeds = [512, 512]
work_ns = "30ms"
"#;
    let spec = Spec::read("mix.toml", text).unwrap();
    let machine = spec.machine(&Host::default()).unwrap();
    let mut workload = spec.workload(&machine).unwrap();
    // One on a fast core, the other on a slow one.
    workload.tasks[0].allowed = vec![CpuId::new(0)];
    workload.tasks[1].allowed = vec![CpuId::new(5)];
    let ran = run_on(machine, Costs::free(), workload, "eevdf").unwrap();
    assert_eq!(ran.run_ns, [30_000_000, 60_000_000]);
}

/// Time of a round trip between two tasks on these CPUs, ns.
fn round_trip_ns(tasks: Tasks, policy: &str, cpus: [u32; 2]) -> f64 {
    let loops = 2_000;
    let ping_pong = PingPong { loops, tasks, channel: Transport::Pipe, ..PingPong::default() };
    let (mut costs, _) = Costs::of(&server());
    // Neither is in what is measured as c1.
    costs.tick_ns = 0;
    costs.byte_ps = 0;
    let mut workload = ping_pong.build().unwrap();
    for (task, cpu) in workload.tasks.iter_mut().zip(cpus) {
        task.allowed = vec![CpuId::new(cpu)];
    }
    let ran = run_on(named("4", &Host::default()).unwrap(), costs, workload, policy).unwrap();
    ran.makespan_ns as f64 / f64::from(loops)
}

#[test]
fn a_round_trip_takes_what_the_profile_measured() {
    let profile = server();
    for (tasks, policy, placement, class, cpus) in [
        (Tasks::Threads, "eevdf", Placement::SameCpu, Class::Normal, [0, 0]),
        (Tasks::Processes, "eevdf", Placement::SameCpu, Class::Normal, [0, 0]),
        (Tasks::Threads, "fifo", Placement::SameCpu, Class::Fifo, [0, 0]),
        (Tasks::Threads, "eevdf", Placement::SharedL3, Class::Normal, [0, 1]),
    ] {
        let name =
            if tasks == Tasks::Threads { vocabulary::Tasks::Thread } else { vocabulary::Tasks::Process };
        let row = profile.direct_cost(Method::Pipe, name, placement, class).expect("it was measured");
        let measured_ns = 2.0 * (row.switch_cost_ns.median + row.baseline_ns);
        let simulated_ns = round_trip_ns(tasks, policy, cpus);
        let error = simulated_ns / measured_ns - 1.0;
        println!("{name} {class} {placement}: {simulated_ns} ns, measured {measured_ns} ns");
        assert!(
            error.abs() < 0.02,
            "{name} {class} {placement}: {simulated_ns} ns, measured {measured_ns} ns"
        );
    }
}
