//! Wake-ups and new tasks.

use super::Engine;
use super::execute::units;
use crate::hook::{Family, Hook};
use crate::kernel::{NONE, RunState};
use crate::policy::{Arrival, Policy};
use crate::sink::{Sink, WakeEvent};
use crate::workload::TaskSpec;

impl<P: Policy, S: Sink> Engine<P, S> {
    /// Wakes a task, on the handling CPU. `waker` is the task that does it; `None` is a timer.
    pub(super) fn wake(&mut self, task: usize, handler: usize, waker: Option<usize>) {
        if self.kernel.tasks[task].state != RunState::Blocked {
            return;
        }
        self.elapsed_ns += self.kernel.costs.wake_ns;
        let cpu = self.place(task, handler, Arrival::Wakeup);
        self.stats.wakeups += 1;
        self.kernel.tasks[task].wakeups += 1;
        let due_ns = waker.is_none().then_some(self.task_states[task].due_ns);
        self.sink.wake(WakeEvent { at_ns: self.kernel.now_ns, waker, wakee: task, cpu, due_ns });
    }

    /// A task that was made starts, on the handling CPU.
    pub(super) fn launch(&mut self, task: usize, handler: usize) {
        self.stats.tasks[task].started_ns = self.kernel.now_ns;
        let parent = self.kernel.parent(task);
        self.sink.fork(self.kernel.now_ns, parent, task);
        self.kernel.tasks[task].cpu = handler as u32;
        self.load(task);
        if parent.is_some() {
            self.kernel.tasks[task].remaining += self.start(task);
        }
        self.place(task, handler, Arrival::Fork);
    }

    /// What a child does before its own first step, in units of work.
    fn start(&mut self, task: usize) -> u64 {
        let costs = &self.kernel.costs;
        if !self.task_states[task].is_thread {
            let in_turns = self.policy.family() == Family::Fair;
            return self.perturbation.child(units(costs.start_ns), in_turns);
        }
        let stack_ns = match self.free_stacks.get_mut(&self.kernel.tasks[task].process) {
            Some(free) if *free > 0 => {
                *free -= 1;
                0
            }
            _ => costs.new_stack_start_ns,
        };
        self.perturbation.thread(units(costs.thread_start_ns + stack_ns))
    }

    /// Whether a thread of this process has ended whose stack no other one has: the C library keeps it for the next.
    pub(super) fn has_free_stack(&self, process: u32) -> bool {
        self.free_stacks.get(&process).is_some_and(|free| *free > 0)
    }

    /// Makes a child of a running task.
    pub(super) fn fork(&mut self, parent: usize, handler: usize, spec: TaskSpec) {
        let child = self.make(spec, Some(parent));
        self.task_states[parent].children += 1;
        self.launch(child, handler);
    }

    /// Chooses a CPU, puts the task into its queue, and lets it take the running task's place there if the policy says so.
    fn place(&mut self, task: usize, handler: usize, why: Arrival) -> usize {
        self.charge(handler, handler, Hook::SelectCpu);
        let cpu = self.policy.select_cpu(&mut self.kernel, task, why, handler);
        self.charge_callbacks(Hook::SelectCpu);
        debug_assert!(self.kernel.may_use(task, cpu));
        let state = &mut self.kernel.tasks[task];
        state.cpu = cpu as u32;
        // Waits are counted between events, as a recorder counts them: those of a run are those of its Trace.
        state.queued_since_ns = self.kernel.now_ns;
        if self.may_not_come(cpu, task) {
            self.kernel.tasks[task].state = RunState::Throttled;
        } else {
            self.enqueue(task, cpu, handler, why);
        }
        cpu
    }

    /// Puts a task into the queue of a CPU, which hears of it.
    pub(super) fn enqueue(&mut self, task: usize, cpu: usize, handler: usize, why: Arrival) {
        self.charge(handler, cpu, Hook::Enqueue);
        self.kernel.tasks[task].state = RunState::Queued;
        self.count_runnable(cpu, 1);
        self.count_in_groups(task, true);
        self.policy.enqueue(&mut self.kernel, cpu, task, why);
        self.charge_callbacks(Hook::Enqueue);
        self.notify(cpu, task, handler);
        self.take_kicks();
    }

    /// A task has come into the queue of a CPU: it hears of it.
    fn notify(&mut self, cpu: usize, task: usize, handler: usize) {
        let costs = &self.kernel.costs;
        let remote_ns = if cpu == handler { 0 } else { costs.ipi_ns };
        let idle_ns = if cpu == handler { 0 } else { costs.idle_exit_ns };
        let at_ns = self.kernel_ns(handler) + remote_ns;
        let current = self.kernel.cpus[cpu].current;
        if current == NONE {
            if cpu == handler {
                self.need_resched = true;
            } else {
                self.kick_at(cpu, at_ns + idle_ns);
            }
            return;
        }
        if cpu != handler {
            self.advance(cpu);
        }
        self.look_again_if_spinning(cpu, current as usize);
        self.charge(handler, cpu, Hook::WakeupPreempt);
        if self.policy.wakeup_preempt(&mut self.kernel, cpu, current as usize, task) {
            if cpu == handler {
                self.need_resched = true;
            } else {
                self.kick_at(cpu, at_ns);
            }
        }
        self.want_idle_balance();
        if cpu != handler {
            self.arm(cpu);
        }
    }

    /// A task may spin because no other task wanted the CPU. If it waits by yielding, it looks again now and yields.
    fn look_again_if_spinning(&mut self, cpu: usize, current: usize) {
        let state = &mut self.kernel.cpus[cpu];
        if state.spinning && self.yields(current) {
            self.kernel.cpus[cpu].spinning = false;
            self.kernel.tasks[current].remaining = 0;
        }
    }
}
