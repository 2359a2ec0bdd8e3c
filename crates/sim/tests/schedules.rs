//! Schedules worked out by hand from the classes' rules, and how long a task may have to wait.

use proptest::prelude::*;
use swtch_sim::costs::Costs;
use swtch_sim::machine::{CoreType, Machine, MachineCpu};
use swtch_sim::policies::{Asymmetric, AsymmetricOptions, Cfs, Eevdf, RealTime};
use swtch_sim::policy::Policy;
use swtch_sim::program::{Op, Program};
use swtch_sim::sink::{Nothing, Sink, SwitchEvent};
use swtch_sim::workload::{Application, Cgroup, Quota, TaskClass, TaskSpec, Workload};
use swtch_sim::{Engine, EngineOutcome, Options};
use swtch_units::CpuId;

const MS: u64 = 1_000_000;

#[derive(Debug, Default)]
struct Kept(Vec<SwitchEvent>);

impl Sink for Kept {
    fn switch(&mut self, event: SwitchEvent) {
        self.0.push(event);
    }
}

/// Nothing takes time; ticks come every ms.
fn costs() -> Costs {
    Costs { tick_period_ns: MS, ..Costs::free() }
}

fn compute(ms: u64) -> Op {
    Op::Compute { work_ns: ms * MS }
}

fn sleep(ms: u64) -> Op {
    Op::Sleep { ns: ms * MS }
}

/// Tasks with a program, a priority and a start in ms each.
fn workload(tasks: &[(&[Op], u8, u64)]) -> Workload {
    Workload {
        programs: tasks.iter().map(|(ops, _, _)| Program { ops: ops.to_vec() }).collect(),
        tasks: (0..)
            .zip(tasks)
            .map(|(n, (_, priority, start_ms))| TaskSpec {
                name: format!("t{n}"),
                process: n,
                program: n,
                priority: *priority,
                start_ns: start_ms * MS,
                ..TaskSpec::default()
            })
            .collect(),
        ..Workload::default()
    }
}

/// The tasks that come onto the only CPU, and when, in ns; `None` is the idle task.
fn switches(workload: Workload, policy: impl Policy) -> Vec<(u64, Option<usize>)> {
    let engine =
        Engine::new(Machine::uniform(1), costs(), workload, policy, Kept::default(), Options::default());
    let kept = engine.unwrap().run().unwrap().sink.0;
    kept.iter().map(|event| (event.at_ns, event.next)).collect()
}

/// The same in ms, of workloads in which nothing happens in between.
fn schedule(workload: Workload, policy: impl Policy) -> Vec<(u64, Option<usize>)> {
    let found = switches(workload, policy);
    assert!(found.iter().all(|(at_ns, _)| at_ns.is_multiple_of(MS)), "{found:?}");
    found.into_iter().map(|(at_ns, next)| (at_ns / MS, next)).collect()
}

#[test]
fn fifo_serves_in_order_and_the_preempted_one_stays_first() {
    let workload = workload(&[
        (&[compute(10)], 1, 0),
        (&[compute(2)], 2, 3),
        (&[compute(1)], 1, 1),
        (&[compute(1)], 2, 4),
    ]);
    let expected = [(0, Some(0)), (3, Some(1)), (5, Some(3)), (6, Some(0)), (13, Some(2)), (14, None)];
    assert_eq!(schedule(workload, RealTime::fifo()), expected);
}

#[test]
fn a_yield_under_fifo_goes_to_the_end_of_its_priority() {
    let workload = workload(&[(&[compute(1), Op::Yield, compute(1)], 1, 0), (&[compute(3)], 1, 0)]);
    assert_eq!(schedule(workload, RealTime::fifo()), [(0, Some(0)), (1, Some(1)), (4, Some(0)), (5, None)]);
}

#[test]
fn a_slice_of_round_robin_goes_on_after_a_sleep() {
    // Task 0 has used 2 of the 3 ticks of its slice when it sleeps, and the last one when it is back. Task 1 is alone when its slice ends at
    // 5, and gets another.
    let workload = workload(&[(&[compute(2), sleep(3), compute(3)], 1, 0), (&[compute(8)], 1, 0)]);
    let expected = [(0, Some(0)), (2, Some(1)), (8, Some(0)), (9, Some(1)), (11, Some(0)), (13, None)];
    assert_eq!(schedule(workload, RealTime::with_slice_ns(3 * MS)), expected);
}

/// Slice 3 ms. Both begin with virtual run time 0 and half a slice: deadline 1.5. The tick at 2 catches the first (its next deadline is
/// 5), which is then ahead of the average. The second runs until 4. From there on each gets whole slices, the one that was put back first
/// first.
#[test]
fn eevdf_gives_two_spinners_slices_in_turn() {
    let workload = workload(&[(&[compute(9)], 0, 0), (&[compute(9)], 0, 0)]);
    let expected = [
        (0, Some(0)),
        (2, Some(1)),
        (4, Some(0)),
        (7, Some(1)),
        (10, Some(0)),
        (13, Some(1)),
        (16, Some(0)),
        (17, Some(1)),
        (18, None),
    ];
    assert_eq!(schedule(workload, Eevdf::with_slice_ns(3 * MS)), expected);
}

/// Slice 0.7 ms on one CPU. Two tasks of 7 ms share it in half a slice each at first and whole ones after, 0.7 ms apart. The tick of 4 ms
/// does not matter; by the rules of 6.18 a slice lasts until that tick.
#[test]
fn since_7_2_slices_end_when_they_are_over() {
    let tasks: &[(&[Op], u8, u64)] = &[(&[compute(7)], 0, 0), (&[compute(7)], 0, 0)];
    let switches = |policy| {
        let costs = Costs { tick_period_ns: 4 * MS, ..Costs::free() };
        let engine =
            Engine::new(Machine::uniform(1), costs, workload(tasks), policy, Nothing, Options::default());
        engine.unwrap().run().unwrap().stats.involuntary
    };
    assert_eq!(switches(Eevdf::new()), 2);
    for exact in [switches(Eevdf::since_7_2()), switches(Eevdf::since_7_3())] {
        assert!((19..=21).contains(&exact), "{exact}");
    }
}

/// The first slice of the parent and of its child is half a slice: 0.35 ms. The child runs for 0.1 ms of it. The parent comes back alone and sets no timer. So
/// the timer of the child ends the slice of the parent at 0.7 ms, because it has a second child by then.
#[test]
fn since_7_2_the_timer_of_a_slice_outlives_its_task() {
    let child = Op::Fork { template: 0 };
    let parent = [child, Op::Compute { work_ns: 500_000 }, child, compute(2)];
    let mut workload = workload(&[(&parent, 0, 0), (&[Op::Compute { work_ns: 100_000 }], 0, 0)]);
    workload.templates = vec![workload.tasks.remove(1)];
    let leaves = |policy: Eevdf| -> Vec<u64> {
        let costs = Costs { tick_period_ns: 4 * MS, ..Costs::free() };
        let options = Options::default();
        let machine = Machine::uniform(1);
        let engine = Engine::new(machine, costs, workload.clone(), policy, Kept::default(), options);
        let kept = engine.unwrap().run().unwrap().sink.0;
        kept.iter().filter(|event| event.prev == Some(0)).map(|event| event.at_ns).collect()
    };
    for policy in [Eevdf::since_7_2(), Eevdf::since_7_3()] {
        assert_eq!(leaves(policy)[..2], [350_000, 700_000]);
    }
}

fn grouped(tasks: &[(&[Op], u8, u64)], cgroups: Vec<Cgroup>, of: &[Option<u32>]) -> Workload {
    let mut workload = Workload { cgroups, ..workload(tasks) };
    workload.tasks.iter_mut().zip(of).for_each(|(task, cgroup)| task.cgroup = *cgroup);
    workload
}

fn cgroup(shares: u32, quota_ms: Option<u64>) -> Cgroup {
    let quota = quota_ms.map(|ms| Quota { runtime_ns: ms * MS, period_ns: 100 * MS });
    Cgroup { shares, quota, ..Cgroup::default() }
}

fn outcome<P: Policy>(cpus: u32, workload: Workload, policy: P) -> EngineOutcome<P, Nothing> {
    let options = Options::default();
    Engine::new(Machine::uniform(cpus), costs(), workload, policy, Nothing, options).unwrap().run().unwrap()
}

/// 20 ms of every 100: the group runs from 0 to 20, from 100 to 120 and so on; what is not in it has the rest.
#[test]
fn a_quota_stops_a_group_until_its_period_ends() {
    let alone = || grouped(&[(&[compute(50)], 0, 0)], vec![cgroup(1024, Some(20))], &[Some(0)]);
    let expected = [(0, Some(0)), (20, None), (100, Some(0)), (120, None), (200, Some(0)), (210, None)];
    assert_eq!(schedule(alone(), Eevdf::new()), expected);
    assert_eq!(schedule(alone(), Cfs::new()), expected);
    // Classes without groups let it run.
    assert_eq!(schedule(alone(), RealTime::fifo()), [(0, Some(0)), (50, None)]);
    let group = outcome(1, alone(), Eevdf::new()).stats.cgroups[0];
    assert_eq!((group.run_ns, group.periods, group.throttled_periods), (50 * MS, 2, 2));
    assert_eq!(group.throttled_ns, 160 * MS);
    // A group in it with a larger quota of its own is bound by both.
    let inner = Cgroup { parent: Some(0), ..cgroup(1024, Some(50)) };
    let nested = grouped(&[(&[compute(50)], 0, 0)], vec![cgroup(1024, Some(20)), inner], &[Some(1)]);
    assert_eq!(outcome(1, nested, Eevdf::new()).makespan_ns, 210 * MS);
    // One that waits has the CPU while the group is stopped.
    let tasks: &[(&[Op], u8, u64)] = &[(&[compute(50)], 0, 0), (&[compute(170)], 0, 0)];
    let both = grouped(tasks, vec![cgroup(1024, Some(20))], &[Some(0), None]);
    assert_eq!(outcome(1, both, Eevdf::new()).makespan_ns, 220 * MS);
}

/// Two groups of weight 100 and 300 share one CPU, whatever the number of their tasks; a task of the root is as a group of weight 100.
#[test]
fn weights_of_groups_divide_a_cpu() {
    fn shares(policy: impl Policy, of: &[Option<u32>], expected: &[u64]) {
        let ops: Vec<[Op; 1]> = of.iter().map(|_| [compute(100_000)]).collect();
        let tasks: Vec<(&[Op], u8, u64)> = ops.iter().map(|ops| (&ops[..], 0, 0)).collect();
        let workload = grouped(&tasks, vec![cgroup(1024, None), cgroup(3072, None)], of);
        let workload = Workload { duration_ns: Some(20_000 * MS), ..workload };
        let name = policy.name().to_owned();
        let outcome = outcome(1, workload, policy);
        let found: Vec<u64> = outcome.kernel.tasks().map(|(_, run_ns, _)| run_ns / MS).collect();
        let far = |(found, expected): (&u64, &u64)| found.abs_diff(*expected) * 100 > expected * 3;
        assert!(!found.iter().zip(expected).any(far), "{name}: {found:?}, expected {expected:?}");
    }
    for (of, expected) in [
        (&[Some(0), Some(1)][..], &[5_000, 15_000][..]),
        (&[Some(0), Some(0), Some(0), Some(1)], &[1_667, 1_667, 1_667, 15_000]),
        (&[Some(0), Some(1), None], &[4_000, 12_000, 4_000]),
    ] {
        shares(Eevdf::new(), of, expected);
        shares(Eevdf::since_7_2(), of, expected);
        shares(Cfs::new(), of, expected);
    }
}

/// A quota on two CPUs: each takes slices of 5 ms of the same 20 ms, and so has 10 ms of the first period. At 100 each may go on, and at its next tick it
/// takes a slice and what it owes: the first has 11 ms until it finds nothing left, the other one 9, which leaves it 6.
#[test]
fn cpus_share_a_groups_quota() {
    let tasks: &[(&[Op], u8, u64)] = &[(&[compute(25)], 0, 0), (&[compute(25)], 0, 0)];
    let workload = grouped(tasks, vec![cgroup(1024, Some(20))], &[Some(0), Some(0)]);
    let outcome = outcome(2, workload, Eevdf::new());
    assert_eq!(outcome.makespan_ns, 206 * MS);
    let group = outcome.stats.cgroups[0];
    assert_eq!((group.run_ns, group.throttled_periods), (50 * MS, 2));
}

/// A CPU on which a quota holds the group is idle, and takes none of its tasks from the other one, which the group may still use.
#[test]
fn a_cpu_on_which_a_group_is_held_takes_none_of_its_tasks() {
    let tasks: &[(&[Op], u8, u64)] =
        &[(&[compute(200)], 0, 0), (&[compute(200)], 0, 0), (&[compute(200)], 0, 0), (&[compute(200)], 0, 0)];
    let workload = grouped(tasks, vec![cgroup(1024, Some(100))], &[Some(0); 4]);
    let outcome = outcome(2, workload, Eevdf::new());
    assert!(outcome.stats.cgroups[0].throttled_periods >= 7, "{:?}", outcome.stats.cgroups[0]);
    // One at most, when they start.
    assert!(outcome.stats.migrations.iter().sum::<u64>() <= 1, "{:?}", outcome.stats.migrations);
}

#[test]
fn an_idle_task_gives_way_and_a_batch_task_does_not_preempt() {
    const WAKES_NS: u64 = 5 * MS + MS / 4;
    let with = |first: TaskClass, second: TaskClass| {
        // It sleeps before the other one starts, and wakes up between two ticks.
        let late = [Op::Sleep { ns: WAKES_NS }, compute(2)];
        let mut workload = workload(&[(&[compute(20)], 0, 1), (&late, 0, 0)]);
        (workload.tasks[0].class, workload.tasks[1].class) = (first, second);
        workload
    };
    let run = |policy: &str, workload| match policy {
        "eevdf" => switches(workload, Eevdf::new()),
        "eevdf-7.2" => switches(workload, Eevdf::since_7_2()),
        "eevdf-7.3" => switches(workload, Eevdf::since_7_3()),
        _ => switches(workload, Cfs::new()),
    };
    for policy in ["eevdf", "eevdf-7.2", "eevdf-7.3", "cfs"] {
        let idle = run(policy, with(TaskClass::Idle, TaskClass::Normal));
        assert!(idle.contains(&(WAKES_NS, Some(1))), "{policy}: {idle:?}");
        let batch = run(policy, with(TaskClass::Normal, TaskClass::Batch));
        assert!(!batch.contains(&(WAKES_NS, Some(1))), "{policy}: {batch:?}");
    }
}

/// Task 1 sleeps at 3 with a lag of 0.5 ms (average 1.5, own 1). At 8 the other one is at 7 (deadlines renewed at the ticks at 6 and so on);
/// task 1 is placed at 7 - 0.5 x 2 = 6, so the other one is ahead of the average of 6.5 and gives way at once. It sleeps again at 9 with no
/// lag, comes back at 14 level with the other one and with a later deadline (15 against 14), and waits for the next tick: the other one is
/// ahead of the average by then.
#[test]
fn eevdf_keeps_the_lag_of_a_sleeper() {
    let sleeper = [compute(1), sleep(5), compute(1), sleep(5), compute(1)];
    let workload = workload(&[(&[compute(20)], 0, 0), (&sleeper, 0, 0)]);
    let expected = [
        (0, Some(0)),
        (2, Some(1)),
        (3, Some(0)),
        (8, Some(1)),
        (9, Some(0)),
        (15, Some(1)),
        (16, Some(0)),
        (23, None),
    ];
    assert_eq!(schedule(workload, Eevdf::with_slice_ns(3 * MS)), expected);
}

/// Latency 6 ms for two: slices of 3 ms, which are over at the first tick after them. The first begins with a debit of 6, the second of
/// 6 + 3.
#[test]
fn cfs_gives_two_spinners_half_of_the_latency_each() {
    let workload = workload(&[(&[compute(9)], 0, 0), (&[compute(9)], 0, 0)]);
    let expected =
        [(0, Some(0)), (4, Some(1)), (8, Some(0)), (12, Some(1)), (16, Some(0)), (17, Some(1)), (18, None)];
    assert_eq!(schedule(workload, Cfs::new()), expected);
}

/// Task 1 sleeps from 5 to 25 while the other one goes to 6 + 4 + 20 = 30. It comes back at 30 - 3 (half a latency is made up for), more
/// than the wake-up granularity of 1 ms behind: it preempts.
#[test]
fn cfs_lets_a_sleeper_preempt() {
    let workload = workload(&[(&[compute(30)], 0, 0), (&[compute(1), sleep(20), compute(2)], 0, 0)]);
    let expected = [(0, Some(0)), (4, Some(1)), (5, Some(0)), (25, Some(1)), (27, Some(0)), (33, None)];
    assert_eq!(schedule(workload, Cfs::new()), expected);
}

/// On one fast and one slow core each application has half of its time on either. After half a round the first is 7.5 ms ahead of its share and
/// the second as much behind: they swap. At 30 they are level, so nothing is to be gained; at 45 it is the other way round.
#[test]
fn max_fair_swaps_when_one_is_ahead_and_the_other_behind() {
    let policy = Asymmetric::new(
        swtch_fairness::Policy::MaxFair,
        AsymmetricOptions { sampled: false, ..AsymmetricOptions::default() },
    );
    let mut workload = workload(&[(&[compute(1000)], 0, 0), (&[compute(1000)], 0, 0)]);
    workload.duration_ns = Some(80 * MS);
    let engine =
        Engine::new(fast_and_slow(1, 1, 293), costs(), workload, policy, Kept::default(), Options::default());
    let outcome = engine.unwrap().run().unwrap();
    let on_fast: Vec<_> = outcome
        .sink
        .0
        .iter()
        .filter(|event| event.cpu == 0)
        .filter_map(|event| Some((event.at_ns / MS, event.next?)))
        .collect();
    assert_eq!(on_fast, [(0, 0), (15, 1), (45, 0), (75, 1)]);
}

/// `speed`: that of the slow CPUs, where the fast ones have 1024.
pub(crate) fn fast_and_slow(fast: u32, slow: u32, speed: u32) -> Machine {
    let types = vec![CoreType { name: "fast".into(), speed: 1024 }, CoreType { name: "slow".into(), speed }];
    let cpu = |id: u32| MachineCpu {
        id: CpuId::new(id),
        core_type: u32::from(id >= fast),
        core: id,
        l2: id,
        l3: 0,
        node: 0,
    };
    Machine::new("test", types, (0..fast + slow).map(cpu).collect(), Vec::new()).unwrap()
}

/// The longest wait of any of some spinners on one CPU, ms.
fn longest_wait_ms(tasks: u64, policy: impl Policy) -> f64 {
    let spinner = [compute(1_000_000)];
    let specs: Vec<(&[Op], u8, u64)> = (0..tasks).map(|n| (&spinner[..], 0, n)).collect();
    let mut workload = workload(&specs);
    workload.duration_ns = Some(tasks * 400 * MS);
    let engine = Engine::new(Machine::uniform(1), costs(), workload, policy, Nothing, Options::default());
    let stats = engine.unwrap().run().unwrap().stats;
    stats.tasks.iter().map(|task| task.longest_wait_ns).max().unwrap() as f64 / MS as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Round robin: all others have a slice. Under the fair classes no task falls behind by more than a slice and a tick for each of
    /// the others. (EEVDF's bound on lag; CFS's period.) It may be twice that while the first slices differ.
    #[test]
    fn nobody_starves(tasks in 2_u64..30) {
        let others = (tasks - 1) as f64;
        prop_assert!(longest_wait_ms(tasks, RealTime::with_slice_ns(5 * MS)) <= others * 5.0);
        let eevdf = longest_wait_ms(tasks, Eevdf::with_slice_ns(3 * MS));
        prop_assert!(eevdf >= others && eevdf <= others * 4.0 * 2.0, "eevdf {} ms for {} others", eevdf, others);
        let cfs = longest_wait_ms(tasks, Cfs::new());
        prop_assert!(cfs >= others * 0.75 && cfs <= others * 4.0 * 2.0, "cfs {} ms for {} others", cfs, others);
    }

    /// A burst that is moved between unequal cores in its middle: what it has left is work, not time. The time on each kind of core times
    /// the speed there is the work, but for less than one ns each time on the CPU.
    #[test]
    fn a_migration_in_a_burst_conserves_work(
        works in prop::collection::vec(1_u64..300_000_000, 2..7),
        speeds in prop::collection::vec((300_u32..1500, 100_u32..300), 6),
        fast in 1_u32..3, slow in 1_u32..4,
    ) {
        let programs: Vec<[Op; 1]> = works.iter().map(|work_ns| [Op::Compute { work_ns: *work_ns }]).collect();
        let specs: Vec<(&[Op], u8, u64)> = programs.iter().map(|ops| (&ops[..], 0, 0)).collect();
        let mut workload = workload(&specs);
        workload.applications = speeds
            .iter()
            .map(|(fast, slow)| Application { name: "a".into(), speeds: vec![*fast, *slow] })
            .collect();
        for (number, task) in workload.tasks.iter_mut().enumerate() {
            task.application = Some(number as u32);
        }
        for policy in ["max-fair:sampled=false", "min-fair:sampled=false"] {
            let policy = Asymmetric::from_text(policy).unwrap();
            let machine = fast_and_slow(fast, slow, 293);
            let engine = Engine::new(machine, costs(), workload.clone(), policy, Nothing, Options::default());
            let stats = engine.unwrap().run().unwrap().stats;
            for ((task, work_ns), (fast, slow)) in stats.tasks.iter().zip(&works).zip(&speeds) {
                prop_assert_eq!(task.work, work_ns * 1024);
                let could = task.run_by_type_ns[0] * u64::from(*fast) + task.run_by_type_ns[1] * u64::from(*slow);
                prop_assert!(could >= task.work && could - task.work < 1500, "{} of {}", could, task.work);
            }
        }
    }
}
