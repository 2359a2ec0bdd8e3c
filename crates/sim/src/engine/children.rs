//! Tasks and those that they made: waiting for their end, and ending them.

use super::Engine;
use super::execute::StepOutcome;
use crate::kernel::RunState;
use crate::policy::Policy;
use crate::program::Op;
use crate::sink::Sink;

/// Children of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Children {
    All,
    /// Those with this program.
    With(u32),
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The steps that make children, wait for them and end them.
    pub(super) fn children_step(&mut self, cpu: usize, task: usize, op: Op) -> StepOutcome {
        match op {
            Op::Fork { template } => {
                let spec = self.workload.templates[template as usize].clone();
                self.fork(task, cpu, spec);
                StepOutcome::Next
            }
            Op::Kill { template } => {
                self.kill(cpu, task, template);
                StepOutcome::Next
            }
            Op::WaitChildren => self.wait_for(task, Children::All),
            Op::WaitFor { template } => {
                let program = self.workload.templates[template as usize].program;
                self.wait_for(task, Children::With(program))
            }
            _ => StepOutcome::Next,
        }
    }

    /// Waits until such children have ended, each of which wakes it.
    fn wait_for(&mut self, task: usize, children: Children) -> StepOutcome {
        let kernel = &self.kernel;
        let lives = |child: usize, program: u32| {
            let state = &kernel.tasks[child];
            kernel.parent(child) == Some(task) && state.program == program && state.state != RunState::Ended
        };
        let any = self.task_states[task].children > 0
            && match children {
                Children::All => true,
                // The last made is the likeliest to live.
                Children::With(program) => (0..kernel.tasks.len()).rev().any(|child| lives(child, program)),
            };
        if !any {
            return StepOutcome::Next;
        }
        self.task_states[task].awaits = Some(children);
        StepOutcome::Wait { again: true }
    }

    /// A task that ends is counted off, and wakes its parent if it is awaited.
    pub(super) fn leave_parent(&mut self, cpu: usize, task: usize) {
        let Some(parent) = self.kernel.parent(task) else { return };
        let is_thread = self.task_states[task].is_thread;
        let life = &mut self.task_states[parent];
        life.children -= 1;
        let is_awaited = match life.awaits {
            // `wait` returns for each process; a thread is joined when its turn comes, of which only the last is looked at.
            Some(Children::All) => life.children == 0 || !is_thread,
            Some(Children::With(program)) => program == self.kernel.tasks[task].program,
            None => false,
        };
        if is_awaited {
            life.awaits = None;
            self.wake(parent, cpu, Some(task));
        }
    }

    /// Ends all tasks of a template but the running one, on the handling CPU.
    fn kill(&mut self, cpu: usize, killer: usize, template: u32) {
        let program = self.workload.templates[template as usize].program;
        for task in 0..self.kernel.tasks.len() {
            if task != killer && self.kernel.tasks[task].program == program {
                self.end_soon(cpu, killer, task);
            }
        }
    }

    /// The task goes to the end of its program (`complete_signal`, kernel/signal.c: it is woken, or its CPU gets an interrupt).
    fn end_soon(&mut self, cpu: usize, killer: usize, task: usize) {
        let state = self.kernel.tasks[task].state;
        // What waits is at the step behind its last.
        let ends_anyway = state != RunState::Blocked && self.op(task) == Op::Exit;
        if ends_anyway || matches!(state, RunState::Unborn | RunState::Ended) {
            return;
        }
        let on = self.kernel.cpu_of(task);
        let runs = self.kernel.current(on) == Some(task);
        if runs {
            self.advance(on);
            self.kernel.cpus[on].spinning = false;
        }
        if state == RunState::Blocked {
            self.objects.forget(task as u32);
        }
        let life = &mut self.task_states[task];
        (life.awaits, life.barrier, life.parked) = (None, None, false);
        let ops = self.workload.programs[self.kernel.tasks[task].program as usize].ops.len();
        self.kernel.tasks[task].pc = ops as u32;
        self.load(task);
        if runs {
            self.arm(on);
        } else {
            self.wake(task, cpu, Some(killer));
        }
    }
}
