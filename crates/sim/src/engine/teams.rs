//! Loops that several tasks share: a task opens one, and those that have a CPU take its pieces.
//!
//! That is how the thread pools of ONNX Runtime, Eigen and TBB divide an operator. A thread without a CPU takes no piece, and is not waited for. One that
//! loses its CPU with a piece in hand is: the others then wait for it, asleep or on their CPUs.
//!
//! ONNX Runtime's pool has one worker call the others (`RunInParallelInternal` in onnxruntime/core/platform/EigenNonBlockingThreadPool.h, 1.31: the
//! task that dispatches is revoked where its worker has not begun it). So while that worker has no CPU, none of the others helps.

use super::Engine;
use super::execute::{StepOutcome, units};
use crate::policy::Policy;
use crate::program::Op;
use crate::sink::Sink;
use crate::workload::{Calls, Team, Waiting};

/// A shared loop.
#[derive(Clone, Debug)]
pub(crate) struct TeamState {
    spec: Team,
    /// Pieces that no task has taken.
    left: u32,
    /// Pieces that are not done.
    undone: u32,
    /// Tasks that wait for a loop: asleep, or on their CPUs without giving way.
    attending: Vec<u32>,
    /// Tasks that wait for the end of one.
    joining: Vec<u32>,
    /// The worker that calls the others: the first in the specification's order, of those that attended.
    caller: Option<u32>,
    /// Whether workers beside the caller know of the loop.
    called: bool,
}

impl TeamState {
    pub(crate) fn new(spec: Team) -> Self {
        Self {
            spec,
            left: 0,
            undone: 0,
            attending: Vec::new(),
            joining: Vec::new(),
            caller: None,
            called: true,
        }
    }

    /// A task waits no longer.
    pub(super) fn forget(&mut self, task: u32) {
        self.attending.retain(|waiter| *waiter != task);
        self.joining.retain(|waiter| *waiter != task);
    }

    /// Whether this worker knows of a loop with pieces that no task has taken.
    fn has_work_for(&self, task: u32) -> bool {
        self.left > 0 && (self.called || self.caller == Some(task))
    }
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The steps of a team.
    pub(super) fn team_step(&mut self, cpu: usize, task: usize, op: Op) -> StepOutcome {
        match op {
            Op::Open { team, pieces } => {
                let state = &mut self.objects.teams[team as usize];
                (state.left, state.undone) = (pieces, pieces);
                state.called = state.spec.calls == Calls::All || state.caller.is_none();
                self.tell(cpu, task, team as usize);
                StepOutcome::Next
            }
            Op::Share { team, piece_ns } => self.share(cpu, task, team as usize, piece_ns),
            _ if self.team_waits(task, op) => self.wait_in_team(cpu, task, op),
            Op::Attend { team } => {
                let state = &mut self.objects.teams[team as usize];
                if !std::mem::replace(&mut state.called, true) {
                    self.tell(cpu, task, team as usize);
                }
                StepOutcome::Next
            }
            _ => StepOutcome::Next,
        }
    }

    /// Those that wait for a loop and are meant learn of it.
    fn tell(&mut self, cpu: usize, task: usize, team: usize) {
        let state = &mut self.objects.teams[team];
        let (called, caller) = (state.called, state.caller);
        let waiting = state.spec.waiting;
        let waiters = std::mem::take(&mut state.attending);
        let (told, others): (Vec<u32>, Vec<u32>) =
            waiters.into_iter().partition(|one| called || caller == Some(*one));
        state.attending = others;
        for waiter in told {
            self.release(cpu, task, waiting, waiter);
        }
    }

    /// A piece is done, if the task had one; the next one is taken, if there is any.
    fn share(&mut self, cpu: usize, task: usize, team: usize, piece_ns: u64) -> StepOutcome {
        let state = &mut self.objects.teams[team];
        if std::mem::take(&mut self.task_states[task].has_piece) {
            state.undone -= 1;
            if state.undone == 0 {
                let (waiting, waiters) = (state.spec.joining, std::mem::take(&mut state.joining));
                for waiter in waiters {
                    self.release(cpu, task, waiting, waiter);
                }
            }
        }
        let state = &mut self.objects.teams[team];
        if state.left == 0 {
            return StepOutcome::Next;
        }
        state.left -= 1;
        self.task_states[task].has_piece = true;
        StepOutcome::Again { ns: piece_ns }
    }

    /// Whether a task at this step waits for other tasks of its team.
    pub(super) fn team_waits(&self, task: usize, op: Op) -> bool {
        match op {
            Op::Join { team } => self.objects.teams[team as usize].undone > 0,
            Op::Attend { team } => !self.objects.teams[team as usize].has_work_for(task as u32),
            _ => false,
        }
    }

    /// How a task waits at a step of a team.
    pub(super) fn team_waiting(&self, op: Op) -> Option<Waiting> {
        match op {
            Op::Join { team } => Some(self.objects.teams[team as usize].spec.joining),
            Op::Attend { team } => Some(self.objects.teams[team as usize].spec.waiting),
            _ => None,
        }
    }

    fn wait_in_team(&mut self, cpu: usize, task: usize, op: Op) -> StepOutcome {
        let (Op::Join { team } | Op::Attend { team }) = op else { return StepOutcome::Next };
        let waiting = self.team_waiting(op).unwrap_or_default();
        if matches!(op, Op::Attend { .. }) {
            let caller = &mut self.objects.teams[team as usize].caller;
            *caller = Some(caller.map_or(task as u32, |known| known.min(task as u32)));
        }
        if waiting == Waiting::SpinYield && self.kernel.cpus[cpu].runnable > 1 {
            self.kernel.tasks[task].remaining = units(self.kernel.costs.barrier_look_ns.max(1));
            return StepOutcome::Yield;
        }
        if !std::mem::replace(&mut self.task_states[task].parked, true) {
            let state = &mut self.objects.teams[team as usize];
            let waiters =
                if matches!(op, Op::Join { .. }) { &mut state.joining } else { &mut state.attending };
            waiters.push(task as u32);
        }
        match waiting {
            Waiting::Block => StepOutcome::Wait { again: true },
            Waiting::SpinYield | Waiting::Spin => StepOutcome::Spin,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::costs::Costs;
    use crate::machine::Machine;
    use crate::run::{Setting, run};
    use crate::sink::Nothing;
    use crate::spec::Spec;
    use crate::{Options, SimError};

    /// Requests of 20 loops, each of 2 ms of work, by this number of threads on two CPUs. The mean time of one in ms, and the part of the CPU time that
    /// was spun.
    fn mean_ms(threads: u32, waiting: &str) -> Result<(f64, f64), SimError> {
        let text = format!(
            "[teams]\npool = {{ waiting = \"{waiting}\" }}\n\
             [[task]]\nname = \"main\"\nprocess = \"app\"\n\
             program = \"loop 20 {{ request {{ loop 20 {{ open pool {threads}; share pool {}us; join pool }} }} }}\"\n\
             [[task]]\nname = \"worker\"\nprocess = \"app\"\ncount = {}\nbackground = true\n\
             program = \"forever {{ attend pool; share pool {}us }}\"\n",
            2000 / threads,
            threads - 1,
            2000 / threads,
        );
        let machine = Machine::uniform(2);
        let workload = Spec::read("team.toml", &text)?.workload(&machine)?;
        let setting = Setting { machine, costs: Costs::typical(), workload, options: Options::default() };
        let ran = run(&setting, "eevdf", Nothing)?;
        assert!(ran.complete && ran.stats.requests.count() == 20, "{threads} {waiting}");
        let times = ran.stats.times();
        let busy_ns = (times.user_ns() + times.system_ns()) as f64;
        Ok((ran.makespan_ns as f64 / 20.0 / 1e6, times.barrier_ns as f64 / busy_ns))
    }

    #[test]
    fn two_threads_halve_the_work_and_more_that_spin_hold_the_cpus() {
        for waiting in ["spin", "spin-yield", "block"] {
            let (ms, _) = mean_ms(2, waiting).unwrap();
            assert!((19.5..24.0).contains(&ms), "40 ms of work on two CPUs, {waiting}: {ms}");
        }
        // One that opens a loop and looks for its end spins, but hardly: it has made way to those that it woke.
        let (joining, joined) = mean_ms(8, "block\", joining = \"spin").unwrap();
        let (block, slept) = mean_ms(8, "block").unwrap();
        assert!(
            (0.9..1.5).contains(&(joining / block)) && joined > slept,
            "{joining} {block} {joined} {slept}"
        );
        let (spin, spun) = mean_ms(8, "spin").unwrap();
        assert!(block < 30.0 && spin > 2.0 * block && spun > 0.3, "{block} {spin} {spun}");
    }

    /// The same of three threads, of which the worker that is called shares a CPU with the one that opens loops.
    fn beside_the_called_ms(calls: &str) -> f64 {
        let worker = "background = true\nprogram = \"forever { attend pool; share pool 250us }\"\n";
        let text = format!(
            "[teams]\npool = {{ waiting = \"spin\", calls = \"{calls}\" }}\n[[task]]\nname = \"main\"\ncpus = [0]\n\
             program = \"compute 1ms; loop 20 {{ loop 20 {{ open pool 8; share pool 250us; join pool }} }}\"\n\
             [[task]]\nname = \"called\"\ncpus = [0]\n{worker}[[task]]\nname = \"other\"\ncpus = [1]\n{worker}",
        );
        let machine = Machine::uniform(2);
        let workload = Spec::read("team.toml", &text).unwrap().workload(&machine).unwrap();
        let setting = Setting { machine, costs: Costs::typical(), workload, options: Options::default() };
        run(&setting, "eevdf", Nothing).unwrap().makespan_ns as f64 / 20.0 / 1e6
    }

    #[test]
    fn workers_help_only_while_the_one_that_calls_them_has_a_cpu() {
        // With two threads, the one worker is the one that is called.
        assert_eq!(mean_ms(2, "spin").unwrap(), mean_ms(2, "spin\", calls = \"one").unwrap());
        // The third has a CPU of its own, and half of the time it is not called.
        let (all, one) = (beside_the_called_ms("all"), beside_the_called_ms("one"));
        assert!((38.0..46.0).contains(&all) && one > 1.2 * all, "{all} {one}");
        // Asleep, the worker that is called comes at once.
        let (all, _) = mean_ms(8, "block").unwrap();
        let (one, _) = mean_ms(8, "block\", calls = \"one").unwrap();
        assert!(one < 1.5 * all, "{one} {all}");
    }

    #[test]
    fn a_team_that_is_not_there_is_named_with_its_place() {
        let text = "[[task]]\nname = \"main\"\nprogram = \"open pool 4\"\n";
        let error = Spec::read("team.toml", text).unwrap().workload(&Machine::uniform(1)).unwrap_err();
        assert!(error.to_string().contains("there is no team \"pool\""), "{error}");
    }
}
