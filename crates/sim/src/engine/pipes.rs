//! Pipes and sockets: messages, and the mutex that each pipe has (`i_mutex` of its inode, fs/pipe.c).

use super::Engine;
use super::channel::Room;
use super::execute::{StepOutcome, units};
use super::mutex::Asked;
use crate::kernel::RunState;
use crate::policy::Policy;
use crate::sink::Sink;

impl<P: Policy, S: Sink> Engine<P, S> {
    pub(super) fn send(&mut self, cpu: usize, task: usize, pipe: usize, bytes: u32) -> StepOutcome {
        if let Some(then) = self.take_mutex(task, pipe, bytes) {
            return then;
        }
        let state = &mut self.objects.pipes[pipe];
        state.used_on = Some(cpu as u32);
        let before = state.channel.taken;
        if !state.channel.put(bytes) {
            state.writers.push_back(task as u32);
            self.task_states[task].has_waited_for_room = true;
            self.release_mutex(cpu, task, pipe);
            return StepOutcome::Wait { again: true };
        }
        state.written_on = Some(cpu as u32);
        let reader = state.readers.pop_front();
        let has_waited = std::mem::take(&mut self.task_states[task].has_waited_for_room);
        // One that was woken for room wakes the next (wake_next_writer, since 5.6).
        let wakes_next = has_waited
            && !state.spec.socket
            && !state.channel.is_full()
            && !self.kernel.costs.wakes_all_writers;
        let taken = state.channel.taken - before;
        self.objects.take_memory(pipe, taken);
        self.release_mutex(cpu, task, pipe);
        if let Some(reader) = reader {
            self.wake_sync(reader, cpu, task);
        }
        if wakes_next {
            self.wake_writers(cpu, task, pipe, 1);
        }
        StepOutcome::Next
    }

    pub(super) fn receive(&mut self, cpu: usize, task: usize, pipe: usize, bytes: u32) -> StepOutcome {
        if let Some(then) = self.take_mutex(task, pipe, bytes) {
            return then;
        }
        let state = &mut self.objects.pipes[pipe];
        state.used_on = Some(cpu as u32);
        let before = state.channel.taken;
        let Some(room) = state.channel.take(bytes) else {
            state.readers.push_back(task as u32);
            // The reader pays for it when it has been woken.
            let more_ns = if state.spec.socket { self.kernel.costs.socket_sleep_ns } else { 0 };
            self.kernel.tasks[task].remaining = units(more_ns);
            self.release_mutex(cpu, task, pipe);
            return StepOutcome::Wait { again: true };
        };
        let taken = before - state.channel.taken;
        let next_reader = (state.channel.filled > 0).then(|| state.readers.pop_front()).flatten();
        let wakes_all = state.spec.socket || self.kernel.costs.wakes_all_writers;
        let writers = match (room, wakes_all) {
            (Room { more: true, .. }, true) => state.writers.len(),
            (Room { was_full: true, .. }, false) => 1,
            _ => 0,
        };
        self.objects.give_memory(pipe, taken, self.kernel.costs.near_cache_bytes);
        self.release_mutex(cpu, task, pipe);
        self.wake_writers(cpu, task, pipe, writers);
        if let Some(reader) = next_reader {
            self.wake_sync(reader, cpu, task);
        }
        StepOutcome::Next
    }

    fn wake_writers(&mut self, cpu: usize, waker: usize, pipe: usize, most: usize) {
        for _ in 0..most {
            let state = &mut self.objects.pipes[pipe];
            // Those who wait for room in a socket do so at the head of its list (sock_wait_for_wmem, net/core/sock.c).
            let next = if state.spec.socket { state.writers.pop_back() } else { state.writers.pop_front() };
            let Some(writer) = next else { break };
            self.wake_sync(writer, cpu, waker);
        }
    }

    /// Pipes and sockets wake synchronously: the waker is expected to sleep soon.
    fn wake_sync(&mut self, woken: u32, cpu: usize, waker: usize) {
        self.kernel.wake_is_sync = true;
        self.wake(woken as usize, cpu, Some(waker));
        self.kernel.wake_is_sync = false;
    }

    /// Takes the pipe's mutex for some time before the message goes through. `None`: the task has held it for that time, or the transfer needs
    /// no mutex.
    ///
    /// A task that finds the mutex taken spins while the owner runs (`mutex_spin_on_owner`), else sleeps.
    fn take_mutex(&mut self, task: usize, pipe: usize, bytes: u32) -> Option<StepOutcome> {
        let state = &mut self.objects.pipes[pipe];
        let hold_ns = self.kernel.costs.locked_ns(state.spec.socket, bytes);
        if hold_ns == 0 {
            return None;
        }
        match state.mutex.ask(task as u32) {
            Asked::Had => None,
            Asked::Taken => Some(StepOutcome::Again { ns: hold_ns }),
            Asked::Refused { owner } if self.kernel.tasks[owner as usize].state == RunState::Running => {
                Some(StepOutcome::Again { ns: hold_ns / 2 })
            }
            Asked::Refused { .. } => {
                state.mutex.wait(task as u32);
                Some(StepOutcome::Wait { again: true })
            }
        }
    }

    fn release_mutex(&mut self, cpu: usize, task: usize, pipe: usize) {
        let Some(next) = self.objects.pipes[pipe].mutex.give_back(task as u32) else { return };
        // It may have been woken before and be on its way.
        if self.kernel.tasks[next as usize].state == RunState::Blocked {
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
    use crate::stats::RunStats;
    use crate::workload::{Pipe, TaskSpec, Workload};
    use crate::workloads::{Hackbench, Tasks, Transport};

    fn hackbench<P: Policy>(cpus: u32, costs: Costs, policy: P) -> (u64, RunStats) {
        let (tasks, channel) = (Tasks::Threads, Transport::Pipe);
        let workload =
            Hackbench { groups: 2, loops: 200, tasks, channel, ..Hackbench::default() }.build().unwrap();
        let engine =
            Engine::new(Machine::uniform(cpus), costs, workload, policy, Nothing, Options::default())
                .unwrap();
        let outcome = engine.run().unwrap();
        assert!(outcome.complete);
        (outcome.makespan_ns, outcome.stats)
    }

    fn locked(per_mille: u32) -> Costs {
        Costs { pipe_ns: 2_000, pipe_locked_per_mille: per_mille, ..Costs::free() }
    }

    #[test]
    fn a_mutex_that_nobody_else_wants_costs_nothing() {
        let run = |per_mille| hackbench(1, locked(per_mille), RealTime::fifo());
        let (with, without) = (run(700), run(0));
        // A task that has to wait for room releases the mutex and takes it again.
        assert!(with.0 >= without.0 && with.0 < without.0 + without.0 / 50, "{} {}", with.0, without.0);
        assert_eq!(with.1.context_switches(), without.1.context_switches());
    }

    /// When two writers of one pipe, on a CPU each, have ended, us. A third task takes the first's CPU for 10 ms in the middle of its call.
    fn writers_end_us(is_disturbed: bool) -> [u64; 2] {
        let task = |program: u32, cpu: u32, priority: u8, start_us: u64| TaskSpec {
            name: format!("{program} on {cpu}"),
            program,
            priority,
            allowed: vec![swtch_units::CpuId::new(cpu)],
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
        [0, 1].map(|task| outcome.stats.tasks[task].ended_ns.unwrap() / 1_000)
    }

    #[test]
    fn a_mutex_is_spun_for_while_its_owner_runs_and_slept_for_while_it_does_not() {
        // It looks every 0.5 ms, half of what the call takes: at 1.1 ms for the first time after 1.0.
        assert_eq!(writers_end_us(false), [1_000, 2_100]);
        // The owner is off its CPU from 0.5 to 10.5 ms.
        assert_eq!(writers_end_us(true), [11_000, 12_000]);
    }

    /// Three writers of one page each and a pipe or socket of one page, of which a fourth task reads one: how many it wakes.
    fn woken_by_a_page(socket: bool, wakes_all_writers: bool) -> u64 {
        let task = |program: u32, start_us: u64| TaskSpec {
            program,
            priority: 1,
            start_ns: start_us * 1_000,
            background: program == 0,
            ..TaskSpec::default()
        };
        let programs = [Op::Send { pipe: 0, bytes: 4_096 }, Op::Receive { pipe: 0, bytes: 4_096 }];
        let workload = Workload {
            programs: programs.map(|op| Program { ops: vec![op] }).to_vec(),
            tasks: vec![task(0, 0), task(0, 1), task(0, 2), task(1, 100)],
            pipes: vec![Pipe { capacity_bytes: 4_096, overhead_bytes: 0, socket }],
            ..Workload::default()
        };
        let costs = Costs { wakes_all_writers, ..locked(0) };
        let engine =
            Engine::new(Machine::uniform(1), costs, workload, RealTime::fifo(), Nothing, Options::default());
        engine.unwrap().run().unwrap().stats.wakeups
    }

    #[test]
    fn room_in_a_pipe_wakes_the_first_that_waits_to_write_and_room_in_a_socket_all() {
        assert_eq!((woken_by_a_page(false, false), woken_by_a_page(false, true)), (1, 2));
        assert_eq!(woken_by_a_page(true, false), 2);
    }
}
