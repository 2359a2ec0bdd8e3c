//! Pipes and sockets: messages, and the mutex that each pipe has (`i_mutex` of its inode, fs/pipe.c).

use super::Engine;
use super::execute::Then;
use crate::kernel::State;
use crate::policy::Policy;
use crate::sink::Sink;

impl<P: Policy, S: Sink> Engine<P, S> {
    pub(super) fn send(&mut self, cpu: usize, task: usize, pipe: usize, bytes: u32) -> Then {
        if let Some(then) = self.take_mutex(task, pipe, bytes) {
            return then;
        }
        let state = &mut self.objects.pipes[pipe];
        state.used_on = Some(cpu as u32);
        let before = state.taken;
        if !state.put(bytes) {
            state.writers.push_back(task as u32);
            self.release_mutex(cpu, task, pipe);
            return Then::Wait { again: true };
        }
        state.written_on = Some(cpu as u32);
        let reader = state.readers.pop_front();
        self.objects.under_way_bytes += state.taken - before;
        self.release_mutex(cpu, task, pipe);
        if let Some(reader) = reader {
            self.wake_sync(reader, cpu, task);
        }
        Then::Next
    }

    pub(super) fn receive(&mut self, cpu: usize, task: usize, pipe: usize, bytes: u32) -> Then {
        if let Some(then) = self.take_mutex(task, pipe, bytes) {
            return then;
        }
        let state = &mut self.objects.pipes[pipe];
        state.used_on = Some(cpu as u32);
        let before = state.taken;
        let Some(room) = state.take(bytes) else {
            state.readers.push_back(task as u32);
            self.release_mutex(cpu, task, pipe);
            return Then::Wait { again: true };
        };
        let taken = before - state.taken;
        let next_reader = (state.filled > 0).then(|| state.readers.pop_front()).flatten();
        let writers = match (room, self.kernel.costs.wakes_all_writers) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => state.writers.len(),
        };
        self.objects.under_way_bytes -= taken;
        self.release_mutex(cpu, task, pipe);
        for _ in 0..writers {
            let Some(writer) = self.objects.pipes[pipe].writers.pop_front() else { break };
            self.wake_sync(writer, cpu, task);
        }
        if let Some(reader) = next_reader {
            self.wake_sync(reader, cpu, task);
        }
        Then::Next
    }

    /// Pipes and sockets wake synchronously: the waker is expected to sleep soon.
    fn wake_sync(&mut self, woken: u32, cpu: usize, waker: usize) {
        self.kernel.wake_is_sync = true;
        self.wake(woken as usize, cpu, Some(waker));
        self.kernel.wake_is_sync = false;
    }

    /// Takes the pipe's mutex for a while before the message goes through. `None`: the task has had it for that while, or none is held.
    ///
    /// Who finds it taken spins while the owner runs (`mutex_spin_on_owner`), else sleeps; who comes at the right moment may be faster
    /// than one that was woken for it.
    fn take_mutex(&mut self, task: usize, pipe: usize, bytes: u32) -> Option<Then> {
        let state = &mut self.objects.pipes[pipe];
        let hold_ns = self.kernel.costs.locked_ns(state.spec.socket, bytes);
        if hold_ns == 0 {
            return None;
        }
        match state.owner {
            Some(owner) if owner as usize == task => None,
            Some(owner) if self.kernel.tasks[owner as usize].state == State::Running => {
                Some(Then::Again { ns: hold_ns / 2 })
            }
            Some(_) => {
                state.locked_out.push_back(task as u32);
                Some(Then::Wait { again: true })
            }
            None => {
                state.owner = Some(task as u32);
                Some(Then::Again { ns: hold_ns })
            }
        }
    }

    fn release_mutex(&mut self, cpu: usize, task: usize, pipe: usize) {
        let state = &mut self.objects.pipes[pipe];
        if state.owner.take_if(|owner| *owner as usize == task).is_none() {
            return;
        }
        if let Some(next) = state.locked_out.pop_front() {
            self.wake(next as usize, cpu, Some(task));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Options;
    use crate::costs::Costs;
    use crate::engine::Engine;
    use crate::machine::Machine;
    use crate::policies::RealTime;
    use crate::policy::Policy;
    use crate::program::{Op, Program};
    use crate::sink::Nothing;
    use crate::tally::Tally;
    use crate::workload::{Pipe, TaskSpec, Workload};
    use crate::workloads::{Channel, Hackbench, Tasks};

    fn hackbench<P: Policy>(cpus: u32, costs: Costs, policy: P) -> (u64, Tally) {
        let (tasks, channel) = (Tasks::Threads, Channel::Pipe);
        let workload =
            Hackbench { groups: 2, loops: 200, tasks, channel, ..Hackbench::default() }.build().unwrap();
        let engine =
            Engine::new(Machine::uniform(cpus), costs, workload, policy, Nothing, Options::default())
                .unwrap();
        let outcome = engine.run().unwrap();
        assert!(outcome.complete);
        (outcome.makespan_ns, outcome.tally)
    }

    fn locked(per_mille: u32) -> Costs {
        Costs { pipe_ns: 2_000, pipe_locked_per_mille: per_mille, ..Costs::free() }
    }

    #[test]
    fn a_mutex_that_nobody_else_wants_costs_nothing() {
        let run = |per_mille| hackbench(1, locked(per_mille), RealTime::fifo());
        let (with, without) = (run(700), run(0));
        // Who has to wait for room gives the mutex back and takes it again.
        assert!(with.0 >= without.0 && with.0 < without.0 + without.0 / 50, "{} {}", with.0, without.0);
        assert_eq!(with.1.context_switches(), without.1.context_switches());
    }

    /// When two writers of one pipe, on a CPU each, have ended, us. A third task takes the first's CPU for 10 ms in the middle of its call.
    fn writers_end_us(is_disturbed: bool) -> [u64; 2] {
        let task = |program: u32, cpu: u32, priority: u8, start_us: u64| TaskSpec {
            name: format!("{program} on {cpu}"),
            program,
            priority,
            allowed: vec![cpu],
            start_ns: start_us * 1_000,
            ..TaskSpec::default()
        };
        let work_ns = if is_disturbed { 10_000_000 } else { 0 };
        let programs = [Op::Send { pipe: 0, bytes: 1 }, Op::Compute { work_ns }];
        let workload = Workload {
            programs: programs.map(|op| Program { ops: vec![op] }).to_vec(),
            tasks: vec![task(0, 0, 1, 0), task(0, 1, 1, 600), task(1, 0, 2, 500)],
            pipes: vec![Pipe { capacity_bytes: 4_096, overhead_bytes: 0, socket: false }],
            ..Workload::default()
        };
        let costs = Costs { pipe_ns: 1_000_000, pipe_locked_per_mille: 1_000, ..Costs::free() };
        let (machine, policy) = (Machine::uniform(2), RealTime::fifo());
        let outcome = Engine::new(machine, costs, workload, policy, Nothing, Options::default())
            .unwrap()
            .run()
            .unwrap();
        [0, 1].map(|task| outcome.tally.tasks[task].ended_ns.unwrap() / 1_000)
    }

    #[test]
    fn a_mutex_is_spun_for_while_its_owner_runs_and_slept_for_while_it_does_not() {
        // It looks every 0.5 ms, half of what the call takes: at 1.1 ms for the first time after 1.0.
        assert_eq!(writers_end_us(false), [1_000, 2_100]);
        // The owner is off its CPU from 0.5 to 10.5 ms.
        assert_eq!(writers_end_us(true), [11_000, 12_000]);
    }

    #[test]
    fn room_may_wake_all_that_wait_to_write() {
        let wakeups = |wakes_all_writers| {
            let costs = Costs { wakes_all_writers, ..locked(0) };
            hackbench(2, costs, RealTime::fifo()).1.wakeups
        };
        assert!(wakeups(true) > wakeups(false));
    }
}
