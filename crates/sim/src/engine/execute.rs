//! Tasks' programs: what each step takes, and what it does.

use super::Engine;
use crate::costs::Memory;
use crate::error::SimError;
use crate::hook::Hook;
use crate::kernel::{Kernel, RunState};
use crate::policy::{Departure, Policy};
use crate::program::Op;
use crate::sink::Sink;
use crate::workload::Waiting;
use std::ops::RangeInclusive;

/// Steps of a program without any time passing after which it is taken for an endless loop.
const STEPS_AT_ONCE: u32 = 1 << 20;

/// What follows a step.
pub(super) enum StepOutcome {
    /// The next step.
    Next,
    /// The step set the place in the program itself.
    Jumped,
    /// The step goes on for some time and then is looked at again, ns of work.
    Again { ns: u64 },
    /// The task waits. When it is woken it repeats the step if `again`, else goes on after it.
    Wait { again: bool },
    /// It spins in place; its CPU needs no events until another task does something.
    Spin,
    /// Other tasks may run.
    Yield,
    /// The task has come into another group; other tasks may run.
    Regroup,
    /// The task has ended.
    End,
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The running task of the handling CPU has done the work of its step: the effect, and on to the next step that takes time.
    pub(super) fn execute(&mut self, cpu: usize, task: usize) -> Result<(), SimError> {
        for _ in 0..STEPS_AT_ONCE {
            let op = self.op(task);
            match self.effect(cpu, task, op) {
                StepOutcome::Next => {
                    self.kernel.tasks[task].pc += 1;
                    self.load(task);
                }
                StepOutcome::Jumped => self.load(task),
                StepOutcome::Again { ns } => self.kernel.tasks[task].remaining = units(ns.max(1)),
                StepOutcome::Wait { again } => {
                    if !again {
                        self.kernel.tasks[task].pc += 1;
                        self.load(task);
                    }
                    self.schedule(cpu, Some(Departure::Sleep));
                    return Ok(());
                }
                StepOutcome::Spin => {
                    self.kernel.cpus[cpu].spinning = true;
                    return Ok(());
                }
                StepOutcome::Yield => {
                    self.charge(cpu, cpu, Hook::Yield);
                    self.policy.yield_task(&mut self.kernel, cpu, task);
                    self.charge_callbacks(Hook::Yield);
                    self.schedule(cpu, None);
                    return Ok(());
                }
                StepOutcome::Regroup => {
                    self.policy.regroup(&mut self.kernel, cpu, task);
                    self.schedule(cpu, None);
                    return Ok(());
                }
                StepOutcome::End => {
                    self.end(cpu, task);
                    return Ok(());
                }
            }
            if self.need_resched || self.kernel.tasks[task].remaining > 0 {
                return Ok(());
            }
        }
        Err(SimError::NoTimePasses { task: self.name_of(task), at_ns: self.kernel.now_ns })
    }

    pub(super) fn op(&self, task: usize) -> Op {
        let state = &self.kernel.tasks[task];
        let ops = &self.workload.programs[state.program as usize].ops;
        ops.get(state.pc as usize).copied().unwrap_or(Op::Exit)
    }

    /// What a call on a pipe or socket takes because of where its memory is, and what else, ns.
    fn message_ns(&mut self, task: usize, pipe: usize, bytes: u32, reads: bool) -> (u64, u64) {
        let costs = &self.kernel.costs;
        let far_ns = self.objects.far_ns(pipe, reads, costs);
        let state = &self.objects.pipes[pipe];
        let socket = state.spec.socket;
        let here = self.kernel.tasks[task].cpu;
        let elsewhere = |cpu: Option<u32>| cpu.is_some_and(|cpu| cpu != here);
        let memory = Memory {
            far_ns,
            used_elsewhere: elsewhere(state.used_on),
            written_elsewhere: reads && elsewhere(state.written_on),
        };
        let file_ns = if self.task_states[task].is_thread { costs.shared_file_ns } else { 0 };
        let pages = if reads { 0 } else { u64::from(state.channel.pages_needed(bytes)) };
        let ns = costs.call_ns(socket, bytes, reads) + file_ns + pages * costs.pipe_page_ns;
        (costs.distant_ns(socket, memory), ns)
    }

    /// Enters the work of the step that a task is at.
    pub(super) fn load(&mut self, task: usize) {
        let op = self.op(task);
        let (distant_ns, message_ns) = match op {
            Op::Send { pipe, bytes } => self.message_ns(task, pipe as usize, bytes, false),
            Op::Receive { pipe, bytes } => self.message_ns(task, pipe as usize, bytes, true),
            _ => (0, 0),
        };
        let costs = &self.kernel.costs;
        let ns = match op {
            Op::Compute { work_ns } => work_ns,
            Op::ComputeBetween { low_ns, high_ns } => between(&mut self.kernel, low_ns, high_ns),
            Op::Send { .. } | Op::Receive { .. } => distant_ns + message_ns,
            Op::Call { instructions } => costs.instructions_ns(u64::from(instructions)),
            Op::Sleep { .. }
            | Op::SleepBetween { .. }
            | Op::SleepUntilPeriod { .. }
            | Op::SleepUntilNextPeriod { .. }
            | Op::Timer { .. } => costs.sleep_ns,
            Op::Lock { .. }
            | Op::Unlock { .. }
            | Op::Wait { .. }
            | Op::Signal { .. }
            | Op::Broadcast { .. }
            | Op::Post { .. }
            | Op::PostAll { .. }
            | Op::Ask { .. }
            | Op::Answer { .. }
            | Op::Kill { .. }
            | Op::Acquire { .. } => costs.futex_ns,
            Op::Barrier { barrier } => match self.objects.barriers[barrier as usize].spec.waiting {
                Waiting::Block => costs.futex_ns,
                Waiting::SpinYield | Waiting::Spin => costs.barrier_look_ns,
            },
            Op::Join { .. } | Op::Attend { .. } => match self.team_waiting(op) {
                Some(Waiting::Block) | None => costs.futex_ns,
                Some(Waiting::SpinYield | Waiting::Spin) => costs.barrier_look_ns,
            },
            Op::Fork { template } => {
                let process = self.workload.templates[template as usize].process;
                match process == self.kernel.tasks[task].process {
                    true if self.has_free_stack(process) => costs.thread_fork_ns,
                    true => costs.thread_fork_ns + costs.new_stack_ns,
                    false => costs.fork_ns,
                }
            }
            Op::Yield => costs.yield_ns,
            Op::Exit if self.task_states[task].is_thread => costs.thread_exit_ns,
            Op::Exit => costs.exit_ns,
            Op::WaitChildren
            | Op::WaitFor { .. }
            | Op::NewSession
            | Op::Loop { .. }
            | Op::Become { .. }
            | Op::RequestBegins
            | Op::RequestEnds
            | Op::Open { .. }
            | Op::Share { .. } => 0,
        };
        let remaining = self.perturbation.work(units(ns));
        self.kernel.tasks[task].remaining = remaining;
        // With most workloads there never is any, and the task's state need not be fetched.
        self.any_distant |= distant_ns > 0;
        if self.any_distant {
            self.task_states[task].distant = units(distant_ns).min(remaining);
        }
    }

    fn effect(&mut self, cpu: usize, task: usize, op: Op) -> StepOutcome {
        match op {
            Op::Sleep { .. }
            | Op::SleepBetween { .. }
            | Op::SleepUntilPeriod { .. }
            | Op::SleepUntilNextPeriod { .. }
            | Op::Timer { .. } => self.sleep_step(cpu, task, op),
            Op::Send { pipe, bytes } => self.send(cpu, task, pipe as usize, bytes),
            Op::Receive { pipe, bytes } => self.receive(cpu, task, pipe as usize, bytes),
            Op::Lock { lock } => self.lock(task, lock as usize),
            Op::Unlock { lock } => {
                self.unlock(cpu, task, lock as usize);
                StepOutcome::Next
            }
            Op::Wait { condition, lock } => {
                self.objects.conditions[condition as usize].push_back((task as u32, lock));
                self.unlock(cpu, task, lock as usize);
                StepOutcome::Wait { again: false }
            }
            Op::Signal { condition } => self.signal(cpu, task, condition as usize, 1),
            Op::Broadcast { condition } => self.signal(cpu, task, condition as usize, usize::MAX),
            Op::Barrier { barrier } => self.barrier(cpu, task, barrier as usize),
            Op::Open { .. } | Op::Share { .. } | Op::Join { .. } | Op::Attend { .. } => {
                self.team_step(cpu, task, op)
            }
            Op::Post { semaphore } => self.post(cpu, task, semaphore..=semaphore),
            Op::PostAll { first, last } => self.post(cpu, task, first..=last),
            Op::Ask { semaphore, answer } => self.ask(cpu, task, semaphore, answer),
            Op::Answer { semaphore } => self.answer(cpu, task, semaphore as usize),
            Op::Acquire { semaphore } => self.acquire(task, semaphore as usize),
            Op::Fork { .. } | Op::Kill { .. } | Op::WaitChildren | Op::WaitFor { .. } => {
                self.children_step(cpu, task, op)
            }
            Op::Yield => {
                self.kernel.tasks[task].pc += 1;
                self.load(task);
                StepOutcome::Yield
            }
            Op::NewSession if self.kernel.costs.regroups_on_exit => {
                self.kernel.tasks[task].pc += 1;
                self.load(task);
                StepOutcome::Regroup
            }
            Op::Compute { .. } | Op::ComputeBetween { .. } | Op::Call { .. } | Op::NewSession => {
                StepOutcome::Next
            }
            Op::Loop { to, times, counter } => self.count_loop(task, to, times, counter),
            Op::Become { application } => {
                self.kernel.tasks[task].application = application;
                self.change_speeds(cpu);
                StepOutcome::Next
            }
            Op::RequestBegins => self.begin_request(cpu, task),
            Op::RequestEnds => {
                let since_ns = self.task_states[task].request_since_ns;
                self.stats.requests.add(self.kernel_ns(cpu).saturating_sub(since_ns));
                StepOutcome::Next
            }
            Op::Exit
                if self.kernel.costs.regroups_on_exit
                    && !std::mem::replace(&mut self.task_states[task].is_regrouped, true) =>
            {
                StepOutcome::Regroup
            }
            Op::Exit => StepOutcome::End,
        }
    }

    fn count_loop(&mut self, task: usize, to: u32, times: u32, counter: u8) -> StepOutcome {
        let state = &mut self.kernel.tasks[task];
        let passes = &mut state.counters[usize::from(counter)];
        *passes += 1;
        if times != 0 && *passes >= times {
            *passes = 0;
            return StepOutcome::Next;
        }
        if times == 0 {
            *passes = 0;
        }
        state.pc = to;
        StepOutcome::Jumped
    }

    fn lock(&mut self, task: usize, lock: usize) -> StepOutcome {
        let state = &mut self.objects.locks[lock];
        if state.owner.is_none() {
            state.owner = Some(task as u32);
            return StepOutcome::Next;
        }
        state.waiters.push_back(task as u32);
        StepOutcome::Wait { again: false }
    }

    fn unlock(&mut self, cpu: usize, task: usize, lock: usize) {
        let state = &mut self.objects.locks[lock];
        if state.owner != Some(task as u32) {
            return;
        }
        state.owner = state.waiters.pop_front();
        if let Some(owner) = state.owner {
            self.wake(owner as usize, cpu, Some(task));
        }
    }

    fn signal(&mut self, cpu: usize, task: usize, condition: usize, most: usize) -> StepOutcome {
        for _ in 0..most {
            let Some((waiter, lock)) = self.objects.conditions[condition].pop_front() else { break };
            let state = &mut self.objects.locks[lock as usize];
            if state.owner.is_none() {
                state.owner = Some(waiter);
                self.wake(waiter as usize, cpu, Some(task));
            } else {
                // It waits for the lock now, as the kernel requeues it.
                state.waiters.push_back(waiter);
            }
        }
        StepOutcome::Next
    }

    /// Posts semaphores, the last one first.
    fn post(&mut self, cpu: usize, task: usize, semaphores: RangeInclusive<u32>) -> StepOutcome {
        for semaphore in semaphores.rev() {
            let state = &mut self.objects.semaphores[semaphore as usize];
            match state.waiters.pop_front() {
                Some(waiter) => self.wake(waiter as usize, cpu, Some(task)),
                None => state.value += 1,
            }
        }
        StepOutcome::Next
    }

    fn begin_request(&mut self, cpu: usize, task: usize) -> StepOutcome {
        let now_ns = self.kernel_ns(cpu);
        let state = &mut self.task_states[task];
        state.request_since_ns = now_ns;
        if let Some(answered_ns) = state.answered_ns.take() {
            self.stats.answers.add(now_ns.saturating_sub(answered_ns));
        }
        StepOutcome::Next
    }

    fn ask(&mut self, cpu: usize, task: usize, semaphore: u32, answer: u32) -> StepOutcome {
        self.objects.semaphores[semaphore as usize].asked.push_back((task as u32, answer));
        self.post(cpu, task, semaphore..=semaphore)
    }

    fn answer(&mut self, cpu: usize, task: usize, semaphore: usize) -> StepOutcome {
        let Some((asked, answer)) = self.objects.semaphores[semaphore].asked.pop_front() else {
            return StepOutcome::Next;
        };
        self.task_states[asked as usize].answered_ns = Some(self.kernel_ns(cpu));
        self.post(cpu, task, answer..=answer)
    }

    fn acquire(&mut self, task: usize, semaphore: usize) -> StepOutcome {
        let state = &mut self.objects.semaphores[semaphore];
        if state.value > 0 {
            state.value -= 1;
            return StepOutcome::Next;
        }
        state.waiters.push_back(task as u32);
        StepOutcome::Wait { again: false }
    }

    fn barrier(&mut self, cpu: usize, task: usize, barrier: usize) -> StepOutcome {
        let state = &mut self.objects.barriers[barrier];
        let waiting = state.spec.waiting;
        match self.task_states[task].barrier {
            None => {
                state.arrived += 1;
                if state.arrived >= state.spec.members {
                    self.open(cpu, task, barrier);
                    return StepOutcome::Next;
                }
                if waiting == Waiting::Block {
                    state.waiters.push(task as u32);
                    return StepOutcome::Wait { again: false };
                }
                self.task_states[task].barrier = Some(state.generation);
            }
            Some(generation) if generation != state.generation => {
                self.task_states[task].barrier = None;
                return StepOutcome::Next;
            }
            Some(_) => {}
        }
        if waiting == Waiting::SpinYield && self.kernel.cpus[cpu].runnable > 1 {
            self.kernel.tasks[task].remaining = units(self.kernel.costs.barrier_look_ns.max(1));
            return StepOutcome::Yield;
        }
        // Nothing changes for the task until the barrier opens or another task wants the CPU, so it need not look before.
        if !std::mem::replace(&mut self.task_states[task].parked, true) {
            self.objects.barriers[barrier].waiters.push(task as u32);
        }
        StepOutcome::Spin
    }

    /// The last task has come: all go on.
    fn open(&mut self, cpu: usize, task: usize, barrier: usize) {
        let state = &mut self.objects.barriers[barrier];
        state.arrived = 0;
        state.generation = state.generation.wrapping_add(1);
        let waiting = state.spec.waiting;
        let mut waiters = std::mem::take(&mut state.waiters);
        for waiter in waiters.drain(..) {
            self.release(cpu, task, waiting, waiter);
        }
        self.objects.barriers[barrier].waiters = waiters;
    }

    /// What a task waited for has come: it wakes up, or looks again on its CPU.
    pub(super) fn release(&mut self, cpu: usize, task: usize, waiting: Waiting, waiter: u32) {
        self.task_states[waiter as usize].parked = false;
        if waiting == Waiting::Block {
            self.wake(waiter as usize, cpu, Some(task));
            return;
        }
        let on = self.kernel.cpu_of(waiter as usize);
        let state = &self.kernel.cpus[on];
        if state.current == waiter && state.spinning {
            self.advance(on);
            self.kernel.cpus[on].spinning = false;
            self.kernel.tasks[waiter as usize].remaining = units(self.kernel.costs.barrier_look_ns);
            self.arm(on);
        }
    }

    /// Whether a task looks again and again at a barrier that has not opened.
    pub(super) fn spins_in_vain(&self, task: usize) -> bool {
        match (self.op(task), self.task_states[task].barrier) {
            (Op::Barrier { barrier }, Some(generation)) => {
                self.objects.barriers[barrier as usize].generation == generation
            }
            (op @ (Op::Join { .. } | Op::Attend { .. }), _) => self.team_waits(task, op),
            _ => false,
        }
    }

    /// Whether a task that spins lets others run when there are any.
    pub(super) fn yields(&self, task: usize) -> bool {
        match self.op(task) {
            Op::Barrier { barrier } => {
                self.objects.barriers[barrier as usize].spec.waiting == Waiting::SpinYield
            }
            op => self.team_waiting(op) == Some(Waiting::SpinYield),
        }
    }

    fn end(&mut self, cpu: usize, task: usize) {
        let now_ns = self.kernel.now_ns;
        self.stats.tasks[task].ended_ns = Some(now_ns);
        self.sink.exit(now_ns, task);
        self.live -= usize::from(!self.task_states[task].background);
        let is_thread = self.task_states[task].is_thread;
        if is_thread {
            *self.free_stacks.entry(self.kernel.tasks[task].process).or_default() += 1;
        }
        self.leave_parent(cpu, task);
        self.schedule(cpu, Some(Departure::Exit));
        debug_assert_eq!(self.kernel.tasks[task].state, RunState::Ended);
    }
}

/// Work of some ns, in units of 1/1024 ns.
pub(super) fn units(ns: u64) -> u64 {
    ns.saturating_mul(1024)
}

/// Any time between two, both included.
pub(super) fn between(kernel: &mut Kernel, low_ns: u64, high_ns: u64) -> u64 {
    low_ns + kernel.rng.below(high_ns.saturating_sub(low_ns).saturating_add(1))
}
