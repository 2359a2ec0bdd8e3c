//! Events of the simulator by policy and size: `cargo bench -p swtch-sim`. The time of an element is that of an event; most events of
//! tasks that only compute are context switches.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;
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
            Op::SleepBetween { low_ns: 1_000_000, high_ns: 10_000_000 * u64::from(tasks.max(100)) / 100 },
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

fn engine<P: Policy>(cpus: u32, workload: Workload, policy: P) -> Engine<P, Nothing> {
    let costs = Costs { process_switch_ns: 1500, tick_ns: 1000, ..Costs::free() };
    Engine::new(Machine::uniform(cpus), costs, workload, policy, Nothing, Options::default())
        .expect("the workload is whole")
}

fn one<P: Policy>(
    criterion: &mut Criterion,
    name: &str,
    (tasks, cpus): (u32, u32),
    sleeping: bool,
    policy: impl Fn() -> P,
) {
    // As much simulated time as makes some 200,000 events, and makes the start of all tasks a small part.
    let events_of =
        |ns| engine(cpus, load(tasks, sleeping, ns), policy()).run().map(|outcome| outcome.stats.events);
    let mut duration_ns = 100_000_000;
    while events_of(duration_ns).expect("it runs") < u64::from(tasks * 10).max(200_000) {
        duration_ns *= 2;
    }
    let mut group = criterion.benchmark_group(if sleeping { "sleeping" } else { "spinning" });
    group.throughput(Throughput::Elements(events_of(duration_ns).expect("it runs")));
    group.bench_function(BenchmarkId::new(name, format!("{tasks} tasks on {cpus} CPUs")), |bencher| {
        let fresh = || engine(cpus, load(tasks, sleeping, duration_ns), policy());
        bencher.iter_batched(fresh, Engine::run, BatchSize::PerIteration);
    });
    group.finish();
}

fn speed(criterion: &mut Criterion) {
    let flsched = || {
        ScxPolicy::new(&Object::flsched(), Settings::default().number("slice_ns", 4_000_000))
            .expect("flsched loads")
    };
    for sleeping in [false, true] {
        let size = (1000, 8);
        one(criterion, "rr", size, sleeping, || RealTime::with_slice_ns(4_000_000));
        one(criterion, "eevdf", size, sleeping, Eevdf::new);
        one(criterion, "cfs", size, sleeping, Cfs::new);
        one(criterion, "flsched", size, sleeping, flsched);
        for tasks in [100, 10_000, 100_000] {
            one(criterion, "eevdf", (tasks, 8), sleeping, Eevdf::new);
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3));
    targets = speed
}
criterion_main!(benches);
