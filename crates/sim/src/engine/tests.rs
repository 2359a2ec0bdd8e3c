use super::*;
use crate::policies::{Eevdf, RealTime};
use crate::program::{Op, Program};
use crate::sink::{SwitchEvent, WakeEvent};
use crate::workload::{Barrier, Pipe, Waiting};

/// Keeps the switches.
#[derive(Debug, Default)]
struct SwitchLog(Vec<SwitchEvent>);

impl Sink for SwitchLog {
    fn switch(&mut self, event: SwitchEvent) {
        self.0.push(event);
    }
}

const MS: u64 = 1_000_000;

/// A task that came: the time (ns), the CPU and the task.
type Came = (u64, usize, Option<usize>);

fn spinners(works_ms: &[u64]) -> Workload {
    Workload {
        programs: works_ms.iter().map(|ms| Program { ops: vec![Op::Compute { work_ns: ms * MS }] }).collect(),
        tasks: (0..works_ms.len() as u32)
            .map(|n| TaskSpec { name: format!("t{n}"), process: n, program: n, ..TaskSpec::default() })
            .collect(),
        ..Workload::default()
    }
}

fn schedule_of<P: Policy>(
    machine: Machine,
    costs: Costs,
    workload: Workload,
    policy: P,
) -> (Vec<Came>, EngineOutcome<P, SwitchLog>) {
    let engine =
        Engine::new(machine, costs, workload, policy, SwitchLog::default(), Options::default()).unwrap();
    let outcome = engine.run().unwrap();
    let times = outcome.stats.times();
    assert_eq!(times.sum_ns(), outcome.makespan_ns * outcome.stats.cpus.len() as u64);
    (outcome.sink.0.iter().map(|event| (event.at_ns, event.cpu, event.next)).collect(), outcome)
}

#[test]
fn round_robin_takes_turns_at_ticks() {
    let policy = RealTime::with_slice_ns(8 * MS);
    let (schedule, outcome) = schedule_of(Machine::uniform(1), Costs::free(), spinners(&[10, 20, 4]), policy);
    let expected = [(0, Some(0)), (8, Some(1)), (16, Some(2)), (20, Some(0)), (22, Some(1)), (34, None)];
    assert_eq!(schedule, expected.map(|(ms, next)| (ms * MS, 0, next)));
    assert_eq!((outcome.makespan_ns, outcome.stats.involuntary, outcome.stats.voluntary), (34 * MS, 2, 3));
}

#[test]
fn tasks_that_come_by_themselves_cost_every_cpu_its_share() {
    let mut costs = Costs::free();
    costs.hook_ns[1] = [1_000; crate::hook::HOOKS];
    let (_, outcome) = schedule_of(Machine::uniform(4), costs, spinners(&[10; 16]), RealTime::fifo());
    let switched: Vec<u64> = outcome.stats.cpus.iter().map(|times| times.switch_ns).collect();
    assert!(switched.iter().all(|ns| *ns == switched[0]), "{switched:?}");
}

#[test]
fn a_task_pays_for_all_that_it_wakes_before_it_makes_way() {
    let costs = Costs { wake_ns: 10_000, ..Costs::free() };
    let acquire = |semaphore| Program { ops: vec![Op::Acquire { semaphore }] };
    let task = |program: u32, priority: u8, start_ns: u64| TaskSpec {
        process: program,
        program,
        priority,
        start_ns,
        ..TaskSpec::default()
    };
    let work = Op::Compute { work_ns: MS };
    let workload = Workload {
        programs: vec![
            Program { ops: vec![Op::PostAll { first: 0, last: 1 }, work] },
            acquire(0),
            acquire(1),
        ],
        tasks: vec![task(0, 1, 1_000), task(1, 2, 0), task(2, 2, 0)],
        semaphores: vec![0, 0],
        ..Workload::default()
    };
    let (schedule, outcome) = schedule_of(Machine::uniform(1), costs, workload, RealTime::fifo());
    let from_there: Vec<(u64, Option<usize>)> =
        schedule.into_iter().filter(|came| came.0 > 1_000).map(|(at_ns, _, next)| (at_ns, next)).collect();
    // The last one first, and both after both wake-ups.
    assert_eq!(from_there, [(21_000, Some(2)), (21_000, Some(1)), (21_000, Some(0)), (1_021_000, None)]);
    assert_eq!(outcome.stats.involuntary, 1);
}

fn with_kernel_threads(mut workload: Workload) -> Workload {
    let costs = Costs { kernel_threads_every_ns: 40 * MS, kernel_thread_run_ns: 10_000, ..Costs::free() };
    workload.add_kernel_threads(&Machine::uniform(1), &costs);
    workload
}

#[test]
fn threads_of_the_kernel_run_beside_a_real_time_task_for_a_second_in_two() {
    let workload = with_kernel_threads(spinners(&[2_900]));
    let (schedule, outcome) = schedule_of(Machine::uniform(1), Costs::free(), workload, RealTime::fifo());
    let came: Vec<u64> = schedule.iter().filter(|came| came.2 == Some(1)).map(|came| came.0).collect();
    // It waits from the beginning. Whenever it wakes up in the second that it has then it runs at once, and after that it waits again.
    let [first, .., last, end] = came[..] else { panic!("{came:?}") };
    assert_eq!((first, end), (950 * MS, outcome.makespan_ns), "{came:?}");
    assert!(last < 1_950 * MS && outcome.kernel.tasks[0].involuntary == 26, "{came:?}");
}

#[test]
fn a_deadlock_is_found_beside_threads_of_the_kernel() {
    let mut workload = spinners(&[1]);
    workload.programs[0].ops.push(Op::Acquire { semaphore: 0 });
    workload.semaphores.push(0);
    let (machine, workload) = (Machine::uniform(1), with_kernel_threads(workload));
    let engine = Engine::new(
        machine,
        Costs::free(),
        workload,
        RealTime::fifo(),
        SwitchLog::default(),
        Options::default(),
    );
    let error = engine.unwrap().run().unwrap_err();
    assert!(matches!(error, SimError::Deadlock { .. }), "{error}");
}

/// Keeps the wake-ups.
#[derive(Debug, Default)]
struct WakeLog(Vec<WakeEvent>);

impl Sink for WakeLog {
    fn wake(&mut self, event: WakeEvent) {
        self.0.push(event);
    }
}

/// When tasks that sleep for these times are woken, and when their sleep was to end, us.
fn woken_us<P: Policy>(sleeps_us: &[u64], policy: P) -> Vec<(u64, u64)> {
    let mut workload = spinners(&vec![1; sleeps_us.len()]);
    for (program, us) in workload.programs.iter_mut().zip(sleeps_us) {
        program.ops.insert(0, Op::Sleep { ns: us * 1_000 });
    }
    let costs = Costs { timer_slack_ns: 50_000, ..Costs::free() };
    let (machine, options) = (Machine::uniform(1), Options::default());
    let engine = Engine::new(machine, costs, workload, policy, WakeLog::default(), options).unwrap();
    let wakes = engine.run().unwrap().sink.0;
    wakes.iter().map(|wake| (wake.at_ns / 1_000, wake.due_ns.unwrap() / 1_000)).collect()
}

#[test]
fn a_timer_may_be_late_by_its_slack_and_wakes_those_whose_time_has_come() {
    // The third is due before the first's slack is over, and the fourth after it.
    let sleeps_us = [1_000, 3_000, 1_040, 1_060];
    let due = |at: u64, due: u64| (at, due);
    let expected = [due(1_050, 1_000), due(1_050, 1_040), due(1_110, 1_060), due(3_050, 3_000)];
    assert_eq!(woken_us(&sleeps_us, Eevdf::new()), expected);
    // Real-time tasks have no slack.
    let exact = [due(1_000, 1_000), due(1_040, 1_040), due(1_060, 1_060), due(3_000, 3_000)];
    assert_eq!(woken_us(&sleeps_us, RealTime::fifo()), exact);
}

/// Looking whether others are due as well takes none of their time: the task with two sleeps has its second before the other one wakes.
#[test]
fn a_short_sleep_after_a_timer_is_not_held_up_by_a_later_timer() {
    let mut workload = spinners(&[1, 1]);
    let sleep = |us: u64| Op::Sleep { ns: us * 1_000 };
    workload.programs[0].ops = vec![sleep(1_000), sleep(5)];
    workload.programs[1].ops = vec![sleep(1_030)];
    let costs = Costs { timer_slack_ns: 50_000, ..Costs::free() };
    let (machine, options) = (Machine::uniform(1), Options::default());
    let engine =
        Engine::new(machine, costs, workload, RealTime::fifo(), WakeLog::default(), options).unwrap();
    let wakes = engine.run().unwrap().sink.0;
    let came: Vec<(u64, usize)> = wakes.iter().map(|wake| (wake.at_ns / 1_000, wake.wakee)).collect();
    assert_eq!(came, [(1_000, 0), (1_005, 0), (1_030, 1)]);
}

#[test]
fn an_answer_goes_to_the_task_that_asked_first_and_not_to_the_one_that_waits() {
    let ask = |answer| vec![Op::Ask { semaphore: 0, answer }];
    let begin = [Op::RequestBegins, Op::RequestEnds];
    let mut programs = [ask(1), ask(2)];
    // The first one to ask computes before it takes its answer, which the second one must not get.
    programs[0].push(Op::Compute { work_ns: 5 * MS });
    for (program, semaphore) in programs.iter_mut().zip([1, 2]) {
        program.push(Op::Acquire { semaphore });
        program.extend(begin);
    }
    let answers = vec![
        Op::Acquire { semaphore: 0 },
        Op::Answer { semaphore: 0 },
        Op::Loop { to: 0, times: 2, counter: 0 },
    ];
    let ops = programs.into_iter().chain([answers]);
    let mut workload = spinners(&[1, 1, 1]);
    workload.programs = ops.map(|ops| Program { ops }).collect();
    workload.semaphores = vec![0; 3];
    let (schedule, outcome) = schedule_of(Machine::uniform(1), Costs::free(), workload, RealTime::fifo());
    // The second asks when the first has ended; the answers come after both.
    let ended = [0, 1, 2].map(|task| outcome.stats.tasks[task].ended_ns.unwrap());
    assert_eq!(ended, [5 * MS; 3], "{schedule:?}");
    assert_eq!((outcome.stats.requests.count(), outcome.stats.answers.count()), (2, 2));
    assert_eq!(outcome.stats.answers.max(), Some(0));
}

/// The first program is that of a task, which forks the others.
fn family(programs: Vec<Vec<Op>>) -> Workload {
    let template = |program| TaskSpec { process: NEW_PROCESS, program, ..TaskSpec::default() };
    Workload {
        templates: (0..programs.len() as u32).map(template).collect(),
        programs: programs.into_iter().map(|ops| Program { ops }).collect(),
        tasks: vec![TaskSpec::default()],
        semaphores: vec![0],
        pipes: vec![Pipe { capacity_bytes: 100, overhead_bytes: 0, socket: false }],
        locks: 1,
        conditions: 1,
        barriers: vec![Barrier { members: 3, waiting: Waiting::Spin }],
        ..Workload::default()
    }
}

fn ended_us<P: Policy>(machine: Machine, workload: Workload, policy: P) -> Vec<u64> {
    let (_, outcome) = schedule_of(machine, Costs::free(), workload, policy);
    outcome.stats.tasks.iter().map(|task| task.ended_ns.unwrap() / 1000).collect()
}

#[test]
fn a_task_that_is_ended_ends_wherever_it_is() {
    let ends = [
        vec![Op::Compute { work_ns: 1_000 * MS }],
        vec![Op::Sleep { ns: 1_000 * MS }],
        vec![Op::Acquire { semaphore: 0 }],
        vec![Op::Receive { pipe: 0, bytes: 1 }],
        vec![Op::Lock { lock: 0 }, Op::Wait { condition: 0, lock: 0 }],
        vec![Op::Barrier { barrier: 0 }],
        vec![Op::Fork { template: 0 }, Op::WaitFor { template: 0 }],
        vec![Op::Compute { work_ns: 1_000 }, Op::Yield, Op::Loop { to: 0, times: 0, counter: 0 }],
    ];
    for one in ends {
        for cpus in [1, 2, 4] {
            let killer = vec![
                Op::Fork { template: 1 },
                Op::Fork { template: 1 },
                Op::Sleep { ns: 5 * MS },
                Op::Kill { template: 1 },
                Op::WaitFor { template: 1 },
            ];
            // What those that it made have made sleeps for as long.
            let (programs, is_parent) = match one[0] {
                Op::Fork { .. } => {
                    let sleeper = vec![Op::Sleep { ns: 9 * MS }];
                    let one = vec![Op::Fork { template: 2 }, Op::WaitFor { template: 2 }];
                    (vec![killer, one, sleeper], true)
                }
                _ => (vec![killer, one.clone()], false),
            };
            let ended = ended_us(Machine::uniform(cpus), family(programs), Eevdf::since_7_3());
            let late = |us: &u64| !(5_000..8_000).contains(us);
            assert_eq!(ended[..3].iter().filter(|us| late(us)).count(), 0, "{one:?} {cpus} {ended:?}");
            assert_eq!(ended.len() == 5, is_parent);
        }
    }
}

#[test]
fn what_a_task_that_was_ended_waited_for_goes_to_others() {
    let acquires = vec![Op::Acquire { semaphore: 0 }];
    let killer = vec![
        Op::Fork { template: 1 },
        Op::Sleep { ns: MS },
        Op::Fork { template: 2 },
        Op::Sleep { ns: MS },
        Op::Kill { template: 1 },
        Op::Post { semaphore: 0 },
        Op::WaitChildren,
    ];
    let workload = family(vec![killer, acquires.clone(), acquires]);
    assert_eq!(ended_us(Machine::uniform(1), workload, RealTime::fifo()), [2_000; 3]);
}

#[test]
fn a_task_waits_for_the_children_that_it_names_only() {
    let parent = vec![Op::Fork { template: 1 }, Op::Fork { template: 2 }, Op::WaitFor { template: 2 }];
    let sleeps = |ms| vec![Op::Sleep { ns: ms * MS }];
    let workload = family(vec![parent, sleeps(9), sleeps(2)]);
    assert_eq!(ended_us(Machine::uniform(1), workload, RealTime::fifo()), [2_000, 9_000, 2_000]);
}

#[test]
fn a_late_task_skips_the_periods_that_have_passed() {
    let every = Op::SleepUntilNextPeriod { ns: MS };
    let late = Op::Compute { work_ns: 2 * MS + MS / 2 };
    // Until 1 ms, then until 3.5 ms; 2 and 3 ms have passed.
    let workload = family(vec![vec![every, late, every, every]]);
    assert_eq!(ended_us(Machine::uniform(1), workload, RealTime::fifo()), [5_000]);
}

#[test]
fn a_new_session_puts_a_real_time_task_behind_its_equals() {
    let works = Op::Compute { work_ns: MS };
    let family = || family(vec![vec![Op::Fork { template: 1 }, works, Op::NewSession, works], vec![works]]);
    let came = |regroups_on_exit| {
        let costs = Costs { regroups_on_exit, ..Costs::free() };
        let (schedule, _) = schedule_of(Machine::uniform(1), costs, family(), RealTime::fifo());
        schedule.into_iter().map(|came| (came.0 / MS, came.2)).collect::<Vec<_>>()
    };
    assert_eq!(came(true)[..3], [(0, Some(0)), (1, Some(1)), (2, Some(0))]);
    assert_eq!(came(false)[..3], [(0, Some(0)), (2, Some(1)), (3, None)]);
}

#[test]
fn each_fork_without_a_process_makes_one() {
    let parent = vec![Op::Fork { template: 1 }, Op::Fork { template: 1 }, Op::WaitChildren];
    let workload = family(vec![parent, vec![]]);
    let (_, outcome) = schedule_of(Machine::uniform(1), Costs::free(), workload, RealTime::fifo());
    let processes: BTreeSet<u32> = outcome.kernel.specs.iter().map(|spec| spec.process).collect();
    assert!(processes.len() == 3 && !processes.contains(&NEW_PROCESS), "{processes:?}");
}
