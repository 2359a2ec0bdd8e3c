//! Events per second of one CPU, by policy and size. `cargo bench -p swtch-sim --bench speed`.
use std::time::Instant;
use swtch_sim::costs::Costs;
use swtch_sim::machine::Machine;
use swtch_sim::policies::{Cfs, Eevdf, RealTime};
use swtch_sim::policy::Policy;
use swtch_sim::program::{Op, Program};
use swtch_sim::scx::{Object, ScxPolicy, Settings};
use swtch_sim::sink::Nothing;
use swtch_sim::workload::{TaskSpec, Workload};
use swtch_sim::{Engine, Options};

/// CPU-bound tasks without end, or ones that compute and sleep.
fn load(tasks: u32, sleeping: bool, duration_ns: u64) -> Workload {
    let spin = Program { ops: vec![Op::Compute { work_ns: 1 << 50 }] };
    let sleeper = Program {
        ops: vec![
            Op::ComputeBetween { low_ns: 100_000, high_ns: 1_900_000 },
            Op::SleepBetween { low_ns: 1_000_000, high_ns: 10_000_000 * u64::from(tasks) / 100 },
            Op::Loop { to: 0, times: 0, counter: 0 },
        ],
    };
    Workload {
        name: "speed".into(),
        programs: vec![if sleeping { sleeper } else { spin }],
        tasks: (0..tasks)
            .map(|n| TaskSpec { name: format!("t{n}"), process: n, ..TaskSpec::default() })
            .collect(),
        duration_ns: Some(duration_ns),
        ..Workload::default()
    }
}

/// Processor time of this process, from `/proc/self/schedstat`.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let ns: f64 = text.split_whitespace().next()?.parse().ok()?;
    (ns > 0.0).then_some(ns / 1e9)
}

fn run<P: Policy>(name: &str, cpus: u32, tasks: u32, sleeping: bool, policy: impl Fn() -> P) {
    let mut duration_ns = 2_000_000_000;
    loop {
        let mut costs = Costs::free();
        costs.process_switch_ns = 1500;
        costs.tick_ns = 1000;
        let engine =
            Engine::new(Machine::uniform(cpus), costs, load(tasks, sleeping, duration_ns), policy(), Nothing, Options::default())
                .unwrap();
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let outcome = engine.run().unwrap();
        // Processor time, where the kernel tells: other programs may be running.
        let seconds = cpu_seconds().zip(cpu).map_or(start.elapsed().as_secs_f64(), |(end, start)| end - start);
        if seconds > 0.5 {
            let events = outcome.tally.events as f64;
            let switches = outcome.tally.context_switches() as f64;
            println!(
                "{name:6} {tasks:6} tasks {cpus:5} CPUs sleeping {sleeping:5}: {:6.2} M events/s, {:6.2} M switches/s, {:6.1} ns/event",
                events / seconds / 1e6, switches / seconds / 1e6, seconds * 1e9 / events
            );
            return;
        }
        duration_ns *= 4;
    }
}

fn main() {
    if let Some(policy) = std::env::args().nth(1).filter(|argument| argument == "quick") {
        let _ = policy;
        run("rr", 8, 1000, false, || RealTime::with_slice_ns(4_000_000));
        run("eevdf", 8, 1000, false, Eevdf::new);
        return;
    }
    for sleeping in [false, true] {
        run("rr", 8, 1000, sleeping, || RealTime::with_slice_ns(4_000_000));
        run("eevdf", 8, 1000, sleeping, Eevdf::new);
        run("cfs", 8, 1000, sleeping, Cfs::new);
        run("flsched", 8, 1000, sleeping, || {
            ScxPolicy::new(&Object::flsched(), Settings::default().number("slice_ns", 4_000_000)).unwrap()
        });
        for tasks in [100, 10_000, 100_000] {
            run("eevdf", 8, tasks, sleeping, Eevdf::new);
        }
    }
}
