//! What holds for every workload, counted by going through the programs.

use crate::costs::Costs;
use crate::engine::EngineOutcome;
use crate::machine::Machine;
use crate::policies::RealTime;
use crate::program::Op;
use crate::sink::Nothing;
use crate::workload::Workload;
use crate::{Engine, Options};
use std::collections::BTreeMap;

/// A run on one CPU, first in, first out.
pub(crate) fn under_fifo(workload: Workload) -> EngineOutcome<RealTime, Nothing> {
    let (machine, options) = (Machine::uniform(1), Options::default());
    Engine::new(machine, Costs::typical(), workload, RealTime::fifo(), Nothing, options)
        .unwrap()
        .run()
        .unwrap()
}

/// What all tasks together do.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) sent: BTreeMap<u32, u64>,
    pub(crate) received: BTreeMap<u32, u64>,
    pub(crate) posted: BTreeMap<u32, u64>,
    pub(crate) acquired: BTreeMap<u32, u64>,
    pub(crate) work_ns: u64,
    pub(crate) requests: u64,
}

/// Adds up what the tasks do; only for programs that end.
pub(crate) fn balance(workload: &Workload) -> Sums {
    let mut sums = Sums::default();
    for task in &workload.tasks {
        let mut counters = [0_u32; 4];
        let ops = &workload.programs[task.program as usize].ops;
        let mut pc = 0;
        while pc < ops.len() {
            match ops[pc] {
                Op::Send { pipe, bytes } => *sums.sent.entry(pipe).or_default() += u64::from(bytes),
                Op::Receive { pipe, bytes } => *sums.received.entry(pipe).or_default() += u64::from(bytes),
                Op::Post { semaphore } => *sums.posted.entry(semaphore).or_default() += 1,
                Op::PostAll { first, last } => {
                    (first..=last).for_each(|semaphore| *sums.posted.entry(semaphore).or_default() += 1);
                }
                Op::Ask { semaphore, answer } => {
                    *sums.posted.entry(semaphore).or_default() += 1;
                    *sums.posted.entry(answer).or_default() += 1;
                }
                Op::Acquire { semaphore } => *sums.acquired.entry(semaphore).or_default() += 1,
                Op::Compute { work_ns } => sums.work_ns += work_ns,
                Op::RequestEnds => sums.requests += 1,
                Op::Loop { to, times, counter } => {
                    assert_ne!(times, 0, "without end");
                    let count = &mut counters[usize::from(counter)];
                    *count += 1;
                    if *count < times {
                        pc = to as usize;
                        continue;
                    }
                    *count = 0;
                }
                _ => {}
            }
            pc += 1;
        }
    }
    sums
}

/// Everything that is referred to exists, and loops go backwards.
pub(crate) fn check(workload: &Workload) {
    let exists = |place: u32, table: usize| assert!((place as usize) < table, "{place} of {table}");
    for task in workload.tasks.iter().chain(&workload.templates) {
        exists(task.program, workload.programs.len());
        task.application.into_iter().for_each(|place| exists(place, workload.applications.len()));
        assert!((-20..=19).contains(&task.nice) && task.priority < 100);
    }
    for program in &workload.programs {
        for (place, op) in program.ops.iter().enumerate() {
            match *op {
                Op::Send { pipe, .. } | Op::Receive { pipe, .. } => exists(pipe, workload.pipes.len()),
                Op::Lock { lock } | Op::Unlock { lock } => exists(lock, workload.locks as usize),
                Op::Wait { condition, lock } => {
                    exists(condition, workload.conditions as usize);
                    exists(lock, workload.locks as usize);
                }
                Op::Signal { condition } | Op::Broadcast { condition } => {
                    exists(condition, workload.conditions as usize);
                }
                Op::Barrier { barrier } => exists(barrier, workload.barriers.len()),
                Op::Post { semaphore } | Op::Answer { semaphore } | Op::Acquire { semaphore } => {
                    exists(semaphore, workload.semaphores.len());
                }
                Op::Ask { semaphore, answer } => exists(semaphore.max(answer), workload.semaphores.len()),
                Op::PostAll { first, last } => {
                    assert!(first <= last);
                    exists(last, workload.semaphores.len());
                }
                Op::Fork { template } | Op::Kill { template } | Op::WaitFor { template } => {
                    exists(template, workload.templates.len());
                }
                Op::Become { application } => exists(application, workload.applications.len()),
                Op::Loop { to, counter, .. } => assert!((to as usize) < place && counter < 4),
                _ => {}
            }
        }
    }
}
