//! How a run ends: its outcome, or which task waits for which.

use super::Engine;
use crate::error::SimError;
use crate::kernel::{Kernel, NONE, RunState};
use crate::policy::Policy;
use crate::program::Op;
use crate::sink::Sink;
use crate::stats::RunStats;
use crate::workload::Workload;

/// Waiting tasks that a deadlock's message names.
const NAMED_WAITERS: usize = 8;

/// What a run came to.
#[derive(Debug)]
pub struct EngineOutcome<P, S> {
    /// From the beginning until the last task that counts ended, or until the time was over, ns.
    pub makespan_ns: u64,
    /// Whether all tasks that count ended.
    pub complete: bool,
    /// What was counted.
    pub stats: RunStats,
    /// The kernel at the end.
    pub kernel: Kernel,
    /// The workload; its tasks are in `Kernel::spec`.
    pub workload: Workload,
    /// The policy.
    pub policy: P,
    /// The sink.
    pub sink: S,
}

impl<P: Policy, S: Sink> Engine<P, S> {
    pub(super) fn finish(mut self, end_ns: u64) -> EngineOutcome<P, S> {
        let complete = self.live == 0;
        let makespan_ns = if complete { self.kernel.now_ns } else { end_ns };
        self.kernel.now_ns = makespan_ns;
        for cpu in 0..self.kernel.cpu_count() {
            self.begin(cpu);
            // The kernel may have been charged for work that it would have finished after the end.
            let over_ns = self.kernel.cpus[cpu].work_since_ns - makespan_ns;
            let times = &mut self.stats.cpus[cpu];
            let mut left_ns = over_ns;
            for part in [&mut times.refill_ns, &mut times.switch_ns, &mut times.spin_ns] {
                let taken_ns = left_ns.min(*part);
                *part -= taken_ns;
                left_ns -= taken_ns;
            }
            if let Some(task) = self.kernel.current(cpu) {
                self.close_run(cpu, task);
            }
        }
        self.finish_quotas();
        for (stats, task) in self.stats.tasks.iter_mut().zip(&self.kernel.tasks) {
            stats.work = task.work;
            stats.voluntary = task.voluntary;
            stats.involuntary = task.involuntary;
            stats.wakeups = task.wakeups;
            stats.longest_wait_ns = task.longest_wait_ns;
        }
        EngineOutcome {
            makespan_ns,
            complete,
            stats: self.stats,
            kernel: self.kernel,
            workload: self.workload,
            policy: self.policy,
            sink: self.sink,
        }
    }

    /// Counts the time on the CPU of a task that still runs when the run ends, or that leaves.
    pub(super) fn close_run(&mut self, cpu: usize, task: usize) {
        let ran_ns = self.kernel.ran_ns(cpu);
        let start_ns = self.kernel.cpus[cpu].run_start_ns;
        self.stats.ticks += self.ticks.count(start_ns.min(self.kernel.now_ns), self.kernel.now_ns);
        self.kernel.tasks[task].run_ns += ran_ns;
        if self.kernel.machine.types.len() > 1 {
            let core_type = self.kernel.cpus[cpu].core_type as usize;
            if let Some(ns) = self.stats.tasks[task].run_by_type_ns.get_mut(core_type) {
                *ns += ran_ns;
            }
        }
        self.kernel.cpus[cpu].run_start_ns = self.kernel.now_ns;
    }

    pub(super) fn name_of(&self, task: usize) -> String {
        self.kernel.specs.get(task).map_or_else(String::new, |spec| format!("{} ({task})", spec.name))
    }

    /// Whether every task waits for another one, be it by spinning.
    fn all_wait(&self) -> bool {
        (0..self.kernel.tasks.len()).all(|task| match self.kernel.tasks[task].state {
            RunState::Blocked | RunState::Ended => true,
            RunState::Unborn | RunState::Throttled => false,
            RunState::Queued | RunState::Running => self.spins_in_vain(task),
        })
    }

    /// Whether nothing will happen any more but that threads of the kernel wake up.
    pub(super) fn waits_in_vain(&self) -> bool {
        self.timers.tasks().all(|task| self.kernel.is_kernel_thread(task)) && self.all_wait()
    }

    /// An error if a task has been runnable for longer than the policy's watchdog allows.
    pub(super) fn watch_over_policy(&self) -> Result<(), SimError> {
        let Some(most_ns) = self.policy.watchdog_ns() else { return Ok(()) };
        let now_ns = self.kernel.now_ns;
        let waits_ns = |task: &usize| now_ns.saturating_sub(self.kernel.tasks[*task].queued_since_ns);
        let queued =
            (0..self.kernel.tasks.len()).filter(|task| self.kernel.tasks[*task].state == RunState::Queued);
        let Some(task) = queued.max_by_key(waits_ns).filter(|task| waits_ns(task) > most_ns) else {
            return Ok(());
        };
        let problem = self.policy.lost_tasks(&self.kernel).unwrap_or_else(|| {
            let (name, waited_s) = (self.name_of(task), waits_ns(&task) as f64 / 1e9);
            format!(
                "{name} was runnable for {waited_s:.3} s without a CPU; a kernel's watchdog ends a scheduler after {:.0} s",
                most_ns as f64 / 1e9
            )
        });
        Err(self.stalled(problem))
    }

    /// The error that nothing will happen any more although tasks could run; `None` if it is not the policy's doing.
    pub(super) fn stall(&self) -> Option<SimError> {
        let queued = self.kernel.tasks.iter().filter(|task| task.state == RunState::Queued).count();
        if queued == 0 {
            return None;
        }
        let all_idle = self.kernel.cpus.iter().all(|cpu| cpu.current == NONE);
        let nowhere = || all_idle.then(|| format!("{queued} runnable tasks are left, and every CPU is idle"));
        self.policy.lost_tasks(&self.kernel).or_else(nowhere).map(|problem| self.stalled(problem))
    }

    fn stalled(&self, problem: String) -> SimError {
        SimError::Stalled { policy: self.policy.name().to_owned(), at_ns: self.kernel.now_ns, problem }
    }

    /// Nothing will happen any more, and tasks are left.
    pub(super) fn deadlock(&self) -> SimError {
        let waits = |task: &usize| {
            let state = self.kernel.tasks[*task].state;
            state != RunState::Ended && !self.task_states[*task].background
        };
        let waiting: Vec<usize> = (0..self.kernel.tasks.len()).filter(waits).collect();
        let mut lines: Vec<String> =
            waiting.iter().take(NAMED_WAITERS).map(|task| self.describe_wait(*task)).collect();
        if waiting.len() > NAMED_WAITERS {
            lines.push(format!("and {} more", waiting.len() - NAMED_WAITERS));
        }
        SimError::Deadlock { at_ns: self.kernel.now_ns, waits: lines.join("; ") }
    }

    fn describe_wait(&self, task: usize) -> String {
        let state = &self.kernel.tasks[task];
        let ops = &self.workload.programs[state.program as usize].ops;
        // A task that goes on after its wait is at the next step already.
        let at = |pc: u32| ops.get(pc as usize).copied();
        let here = at(state.pc);
        let before = state.pc.checked_sub(1).and_then(at);
        let retried =
            matches!(here, Some(Op::Send { .. } | Op::Receive { .. })) || state.state == RunState::Running;
        let op = if retried { here } else { before };
        let name = self.name_of(task);
        let list = |tasks: &mut dyn Iterator<Item = u32>| {
            let names: Vec<String> = tasks.take(3).map(|task| self.name_of(task as usize)).collect();
            names.join(", ")
        };
        match op {
            Some(Op::Receive { pipe, .. }) => format!("{name} reads pipe {pipe}, which no task writes"),
            Some(Op::Send { pipe, .. }) => {
                format!("{name} writes pipe {pipe}, which is full and no task reads")
            }
            Some(Op::Lock { lock } | Op::Wait { lock, .. })
                if self.objects.locks[lock as usize].waiters.contains(&(task as u32)) =>
            {
                let owner = list(&mut self.objects.locks[lock as usize].owner.into_iter());
                format!("{name} wants lock {lock}, which {owner} holds")
            }
            Some(Op::Wait { condition, .. }) => {
                format!("{name} waits for condition {condition}, which no task signals")
            }
            Some(Op::Barrier { barrier }) => {
                let state = &self.objects.barriers[barrier as usize];
                let (here, members) = (state.arrived, state.spec.members);
                format!("{name} waits at barrier {barrier}, where {here} of {members} have come")
            }
            Some(Op::Join { team } | Op::Attend { team }) => {
                format!("{name} waits for team {team}, of which no task works")
            }
            Some(Op::Acquire { semaphore }) => {
                format!("{name} waits for semaphore {semaphore}, which no task posts")
            }
            Some(Op::WaitChildren | Op::WaitFor { .. }) => format!("{name} waits for its children"),
            _ => format!("{name} waits"),
        }
    }
}
