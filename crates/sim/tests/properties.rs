//! What holds for every workload under every policy.

use proptest::prelude::*;
use std::path::Path;
use std::sync::OnceLock;
use swtch_sim::costs::Costs;
use swtch_sim::hook::{Family, HOOKS};
use swtch_sim::machine::{CoreType, Machine, MachineCpu};
use swtch_sim::policies::{Asymmetric, Cfs, Eevdf, RealTime};
use swtch_sim::policy::Policy;
use swtch_sim::program::{Op, Program};
use swtch_sim::scx::{CompileOptions, Object, ScxPolicy, Settings};
use swtch_sim::sink::{Sink, SwitchEvent, WakeEvent};
use swtch_sim::stats::RunStats;
use swtch_sim::workload::{Barrier, Cgroup, Pipe, Quota, TaskSpec, Waiting, Workload};
use swtch_sim::{Engine, Options};
use swtch_units::CpuId;

/// Everything that happened.
#[derive(Debug, Default, PartialEq)]
struct Story {
    switches: Vec<SwitchEvent>,
    wakes: Vec<WakeEvent>,
    ends: Vec<(u64, usize)>,
}

impl Sink for Story {
    fn switch(&mut self, event: SwitchEvent) {
        self.switches.push(event);
    }
    fn wake(&mut self, event: WakeEvent) {
        self.wakes.push(event);
    }
    fn exit(&mut self, at_ns: u64, task: usize) {
        self.ends.push((at_ns, task));
    }
}

/// Costs that are all different, so that one taken for another shows.
fn costs(scale: u64) -> Costs {
    let mut costs = Costs::free();
    costs.process_switch_ns = 1500 * scale;
    costs.thread_switch_ns = 1200 * scale;
    costs.idle_switch_ns = 700 * scale;
    costs.wake_ns = 300 * scale;
    costs.ipi_ns = 900 * scale;
    costs.idle_exit_ns = 1100 * scale;
    costs.interrupt_ns = 800 * scale;
    costs.tick_ns = 1300 * scale;
    costs.migration_ns = [0, 10, 20, 500, 900, 2000].map(|ns| ns * scale);
    costs.refill = vec![(1000, 100 * scale), (100_000, 20_000 * scale)];
    costs.pipe_ns = 600 * scale;
    costs.futex_ns = 250 * scale;
    costs.barrier_look_ns = 100;
    costs.yield_ns = 150;
    costs.fork_ns = 20_000 * scale;
    costs.exit_ns = 5_000 * scale;
    costs.hook_ns = [[(200 * scale) as u32; HOOKS]; Family::COUNT];
    costs.locked_per_mille = [700; Family::COUNT];
    costs
}

fn machine(kind: u8) -> Machine {
    let types =
        || vec![CoreType { name: "fast".into(), speed: 1024 }, CoreType { name: "slow".into(), speed: 293 }];
    match kind {
        0 => Machine::uniform(1),
        1 => Machine::uniform(3),
        2 => {
            let cpu = |id: u32| MachineCpu {
                id: CpuId::new(id),
                core_type: u32::from(id >= 2),
                core: id,
                l2: id / 2,
                l3: 0,
                node: 0,
            };
            Machine::new("2f2s", types(), (0..4).map(cpu).collect(), Vec::new()).unwrap()
        }
        _ => {
            let cpu = |id: u32| MachineCpu {
                id: CpuId::new(id),
                core_type: 0,
                core: id % 3,
                l2: id % 3,
                l3: id % 3 / 2,
                node: 0,
            };
            Machine::new("smt", types(), (0..6).map(cpu).collect(), vec![1024, 640]).unwrap()
        }
    }
}

/// A step that never waits for another task.
fn alone() -> impl Strategy<Value = Op> {
    prop_oneof![
        (1_u64..9_000_000).prop_map(|work_ns| Op::Compute { work_ns }),
        (1_u64..9_000_000).prop_map(|ns| Op::Sleep { ns }),
        (1_u64..1000).prop_map(|low_ns| Op::ComputeBetween { low_ns, high_ns: low_ns * 100 }),
        Just(Op::Yield),
        Just(Op::NewSession),
        (1_u64..20).prop_map(|ms| Op::SleepUntilPeriod { ns: ms * 1_000_000 }),
        (1_u64..20).prop_map(|ms| Op::SleepUntilNextPeriod { ns: ms * 1_000_000 }),
    ]
}

fn waiting() -> impl Strategy<Value = Waiting> {
    prop::sample::select(vec![Waiting::Block, Waiting::SpinYield, Waiting::Spin])
}

/// Rounds in which every task does something, pairs pass a message both ways, all take a lock, and all meet.
/// Two groups, the second in the first, which has a quota, and a third with a small quota.
///
/// Tasks that spin without yielding can use a quota up for ever that others of their group need to get to the barrier: those on a CPU
/// that a task outside of the group has until a tick come too late in every period. So such groups have none.
fn cgroups(waiting: Waiting) -> Vec<Cgroup> {
    let quota =
        |runtime_ns| (waiting != Waiting::Spin).then_some(Quota { runtime_ns, period_ns: 10_000_000 });
    let group = |parent, shares, quota| Cgroup { name: "g".into(), parent, shares, quota };
    vec![group(None, 2048, quota(9_000_000)), group(Some(0), 512, None), group(None, 1024, quota(3_000_000))]
}

fn workload() -> impl Strategy<Value = Workload> {
    let tasks =
        prop::collection::vec((prop::collection::vec(alone(), 1..4), -5_i8..6, 1_u8..4, 0_u64..3), 1..8);
    // In a group with a quota, in one of that group, and in none.
    let groups = prop::collection::vec(prop::option::of(0_u32..3), 8);
    (tasks, waiting(), 1_u32..5, any::<bool>(), groups).prop_map(|(tasks, waiting, rounds, forks, groups)| {
        let members = tasks.len() as u32;
        let mut workload = Workload {
            name: "random".into(),
            locks: 1,
            pipes: vec![Pipe { capacity_bytes: 100, overhead_bytes: 0, socket: false }; 2 * tasks.len()],
            barriers: vec![Barrier { members, waiting }],
            cgroups: cgroups(waiting),
            templates: vec![
                TaskSpec { name: "child".into(), program: 0, ..TaskSpec::default() },
                TaskSpec { name: "endless".into(), program: 1, ..TaskSpec::default() },
            ],
            programs: vec![
                Program { ops: vec![Op::Compute { work_ns: 300_000 }] },
                Program {
                    ops: vec![
                        Op::Sleep { ns: 200_000 },
                        Op::Compute { work_ns: 100_000 },
                        Op::Loop { to: 0, times: 0, counter: 0 },
                    ],
                },
            ],
            ..Workload::default()
        };
        for (number, (steps, nice, priority, set)) in tasks.into_iter().enumerate() {
            let number = number as u32;
            let partner = number ^ 1;
            let mut ops = steps;
            ops.extend([Op::Lock { lock: 0 }, Op::Compute { work_ns: 50_000 }, Op::Unlock { lock: 0 }]);
            if partner < members {
                ops.extend([Op::Send { pipe: partner, bytes: 60 }, Op::Receive { pipe: number, bytes: 60 }]);
            }
            if forks && number == 0 {
                let [child, endless] = [0, 1].map(|template| Op::Fork { template });
                ops.extend([endless, child, child, Op::WaitFor { template: 0 }]);
                ops.extend([Op::Kill { template: 1 }, Op::WaitChildren]);
            }
            ops.extend([Op::Barrier { barrier: 0 }, Op::Loop { to: 0, times: rounds, counter: 0 }]);
            workload.programs.push(Program { ops });
            workload.tasks.push(TaskSpec {
                name: format!("t{number}"),
                process: number / 2,
                program: number + 2,
                nice,
                priority,
                working_set_bytes: set * 40_000,
                cgroup: groups[number as usize],
                start_ns: set * 1_000_000,
                ..TaskSpec::default()
            });
        }
        workload
    })
}

/// Under the real-time classes a task that spins keeps those below it from running for ever. Under FIFO it does so to its equals
/// too. Such workloads would never end.
fn for_real_time(workload: &Workload, takes_turns: bool) -> Workload {
    let mut workload = workload.clone();
    if workload.barriers[0].waiting != Waiting::Block {
        workload.tasks.iter_mut().chain(&mut workload.templates).for_each(|task| task.priority = 1);
        if !takes_turns {
            workload.barriers[0].waiting = Waiting::SpinYield;
        }
    }
    workload
}

fn run<P: Policy>(
    machine: Machine,
    costs: Costs,
    workload: &Workload,
    policy: P,
    every_tick: bool,
) -> (u64, RunStats, Story) {
    let options = Options { every_tick, ..Options::default() };
    let engine = Engine::new(machine, costs, workload.clone(), policy, Story::default(), options).unwrap();
    let outcome =
        engine.run().unwrap_or_else(|error| panic!("under {}: {error}", std::any::type_name::<P>()));
    assert!(outcome.complete);
    (outcome.makespan_ns, outcome.stats, outcome.sink)
}

fn check<P: Policy>(
    machine: &Machine,
    costs: &Costs,
    workload: &Workload,
    policy: impl Fn() -> P,
) -> Result<(), TestCaseError> {
    let once = |every_tick| run(machine.clone(), costs.clone(), workload, policy(), every_tick);
    let (makespan_ns, stats, story) = once(false);
    for times in &stats.cpus {
        prop_assert_eq!(times.sum_ns(), makespan_ns, "{:?}", times);
    }
    // Work is conserved whatever the cores' speeds: what was done is what the programs ask for.
    let alike = machine.types.len() == 1 || machine.types[0] == machine.types[1];
    let done: u64 = stats.tasks.iter().map(|task| task.work).sum();
    let computed: u64 = workload.tasks.iter().map(|task| work_of(workload, task)).sum();
    prop_assert!(done >= computed, "{} of {}", done, computed);
    prop_assert!(!alike || stats.times().run_ns > 0);
    // The same again, and with every tick simulated.
    let again = once(false);
    prop_assert_eq!((makespan_ns, &stats, &story), (again.0, &again.1, &again.2));
    let (ticked_ns, mut ticked, ticked_story) = once(true);
    ticked.events = stats.events;
    prop_assert_eq!(&story, &ticked_story);
    prop_assert_eq!((makespan_ns, &stats), (ticked_ns, &ticked));
    check_story(machine, &story)
}

/// Work that a task's compute steps ask for at least, in 1/1024 ns.
fn work_of(workload: &Workload, task: &TaskSpec) -> u64 {
    let ops = &workload.programs[task.program as usize].ops;
    let Some(Op::Loop { times, .. }) = ops.last() else { return 0 };
    let once: u64 = ops
        .iter()
        .map(|op| match op {
            Op::Compute { work_ns } => *work_ns,
            Op::ComputeBetween { low_ns, .. } => *low_ns,
            _ => 0,
        })
        .sum();
    once * u64::from(*times) * 1024
}

/// No task runs on two CPUs, each switch begins where the last one ended, and time does not go back.
fn check_story(machine: &Machine, story: &Story) -> Result<(), TestCaseError> {
    let mut on_cpu: Vec<Option<usize>> = vec![None; machine.cpus.len()];
    let mut last_ns = 0;
    for event in &story.switches {
        prop_assert!(event.at_ns >= last_ns);
        last_ns = event.at_ns;
        prop_assert_eq!(on_cpu[event.cpu], event.prev);
        if let Some(next) = event.next {
            prop_assert!(!on_cpu.contains(&Some(next)), "task {} runs twice", next);
        }
        on_cpu[event.cpu] = event.next;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn time_and_work_are_conserved_and_ticks_can_be_left_out(
        workload in workload(), kind in 0_u8..4, scale in 0_u64..3,
    ) {
        let (machine, costs) = (machine(kind), costs(scale));
        let fifo = for_real_time(&workload, false);
        let robin = for_real_time(&workload, true);
        check(&machine, &costs, &fifo, RealTime::fifo)?;
        check(&machine, &costs, &robin, RealTime::round_robin)?;
        check(&machine, &costs, &robin, || RealTime::with_slice_ns(3_000_000))?;
        check(&machine, &costs, &workload, Cfs::new)?;
        check(&machine, &costs, &workload, Eevdf::new)?;
        check(&machine, &costs, &workload, Eevdf::since_7_2)?;
        check(&machine, &costs, &workload, Eevdf::since_7_3)?;
        let yielding = for_real_time(&workload, false);
        for policy in ["max-fair", "min-fair", "guaranteed"] {
            check(&machine, &costs, &yielding, || Asymmetric::from_text(policy).unwrap())?;
        }
    }

    #[test]
    fn the_same_holds_under_compiled_schedulers(workload in workload(), kind in 0_u8..4, scale in 0_u64..3) {
        let (machine, costs) = (machine(kind), costs(scale));
        let flsched = |settings: Settings| ScxPolicy::new(&Object::flsched(), settings).unwrap();
        check(&machine, &costs, &workload, || flsched(Settings::default()))?;
        check(&machine, &costs, &workload, || flsched(Settings::default().number("slice_ns", 3_000_000)))?;
        let shared = SHARED.get_or_init(|| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scx/tests/shared.bpf.c");
            Object::compile(&source, &CompileOptions { defines: vec!["PREEMPT".into()], ..CompileOptions::default() }).unwrap()
        });
        check(&machine, &costs, &workload, || ScxPolicy::new(shared, Settings::default()).unwrap())?;
    }
}

/// A scheduler with one queue for all CPUs.
static SHARED: OnceLock<Object> = OnceLock::new();
