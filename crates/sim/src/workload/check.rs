//! Whether everything that a workload refers to is there.

use super::{TaskSpec, Workload};
use crate::error::SimError;
use crate::machine::Machine;
use crate::program::{Op, Program};

/// Counters that a program has for its loops.
const COUNTERS: u8 = 4;
/// Timers that a task has.
const TIMERS: u8 = 4;

impl Workload {
    /// Whether it can run on a machine.
    ///
    /// # Errors
    /// [`SimError::Workload`] with the first thing that it refers to and that is not there.
    pub fn check(&self, machine: &Machine) -> Result<(), SimError> {
        let fail = |problem: String| Err(SimError::Workload { problem });
        if self.tasks.iter().all(|task| task.background) && self.duration_ns.is_none() {
            return fail(
                "no task's end ends it; give it a task that is not in the background, or a duration".into(),
            );
        }
        for application in &self.applications {
            if application.speeds.len() != machine.types.len() || application.speeds.contains(&0) {
                let (name, kinds) = (&application.name, machine.types.len());
                return fail(format!(
                    "application {name} needs a speed above zero for each of the {kinds} kinds of cores of {}",
                    machine.name
                ));
            }
        }
        for (place, cgroup) in (0..).zip(&self.cgroups) {
            if cgroup.parent.is_some_and(|parent| parent >= place) {
                return fail(format!("cgroup {} stands before the one that it is in", cgroup.name));
            }
        }
        for task in self.tasks.iter().chain(&self.templates) {
            self.check_task(task, machine)?;
        }
        for (number, program) in self.programs.iter().enumerate() {
            self.check_program(number, program)?;
        }
        Ok(())
    }

    fn check_task(&self, task: &TaskSpec, machine: &Machine) -> Result<(), SimError> {
        let name = &task.name;
        let fail = |problem: String| Err(SimError::Workload { problem });
        if let Some(cpu) = task.allowed.iter().find(|id| machine.place_of(**id).is_none()) {
            return fail(format!(
                "task {name} is allowed on CPU {cpu}, which {} with its {} CPUs does not have",
                machine.name,
                machine.cpus.len()
            ));
        }
        if task.program as usize >= self.programs.len() {
            return fail(format!("task {name} has program {}, which is not there", task.program));
        }
        if let Some(cgroup) = task.cgroup.filter(|cgroup| *cgroup as usize >= self.cgroups.len()) {
            return fail(format!("task {name} is in cgroup {cgroup}, which is not there"));
        }
        match task.application {
            Some(application) if application as usize >= self.applications.len() => {
                fail(format!("task {name} belongs to application {application}, which is not there"))
            }
            _ => Ok(()),
        }
    }

    fn check_program(&self, number: usize, program: &Program) -> Result<(), SimError> {
        for (place, op) in program.ops.iter().enumerate() {
            let missing = match *op {
                Op::Send { pipe, .. } | Op::Receive { pipe, .. } => {
                    (pipe as usize >= self.pipes.len()).then(|| format!("pipe {pipe}"))
                }
                Op::Lock { lock } | Op::Unlock { lock } => {
                    (lock >= self.locks).then(|| format!("lock {lock}"))
                }
                Op::Wait { condition, lock } => (condition >= self.conditions || lock >= self.locks)
                    .then(|| format!("condition {condition} with lock {lock}")),
                Op::Signal { condition } | Op::Broadcast { condition } => {
                    (condition >= self.conditions).then(|| format!("condition {condition}"))
                }
                Op::Barrier { barrier } => {
                    (barrier as usize >= self.barriers.len()).then(|| format!("barrier {barrier}"))
                }
                Op::Open { team, .. } | Op::Share { team, .. } | Op::Join { team } | Op::Attend { team } => {
                    (team as usize >= self.teams.len()).then(|| format!("team {team}"))
                }
                Op::Ask { semaphore, answer } => (semaphore.max(answer) as usize >= self.semaphores.len())
                    .then(|| format!("semaphores {semaphore} and {answer}")),
                Op::Post { semaphore } | Op::Answer { semaphore } | Op::Acquire { semaphore } => {
                    (semaphore as usize >= self.semaphores.len()).then(|| format!("semaphore {semaphore}"))
                }
                Op::PostAll { first, last } => (first > last || last as usize >= self.semaphores.len())
                    .then(|| format!("semaphores {first} to {last}")),
                Op::Fork { template } | Op::Kill { template } | Op::WaitFor { template } => {
                    (template as usize >= self.templates.len()).then(|| format!("template {template}"))
                }
                Op::Become { application } => (application as usize >= self.applications.len())
                    .then(|| format!("application {application}")),
                Op::Loop { to, counter, .. } => (to as usize > place || counter >= COUNTERS)
                    .then(|| format!("a place {to} to go back to with counter {counter}")),
                Op::Timer { timer, .. } => (timer >= TIMERS).then(|| format!("timer {timer}")),
                Op::ComputeBetween { low_ns, high_ns } | Op::SleepBetween { low_ns, high_ns } => {
                    (low_ns > high_ns).then(|| format!("a time from {low_ns} to {high_ns} ns"))
                }
                _ => None,
            };
            if let Some(what) = missing {
                let problem = format!("step {place} of program {number} needs {what}, which is not there");
                return Err(SimError::Workload { problem });
            }
        }
        Ok(())
    }
}
