//! Pipes, locks, conditions, barriers and semaphores: which tasks wait, and which task goes on.

use super::channel::MessageBuffer;
use super::mutex::Mutex;
use super::teams::TeamState;
use crate::costs::Costs;
use crate::slabs::{SlabWork, Slabs};
use crate::workload::{Barrier, Pipe, Workload};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct PipeState {
    pub(crate) spec: Pipe,
    pub(crate) channel: MessageBuffer,
    pub(crate) readers: VecDeque<u32>,
    pub(crate) writers: VecDeque<u32>,
    /// The CPU that wrote last.
    pub(super) written_on: Option<u32>,
    /// The CPU of the last call.
    pub(super) used_on: Option<u32>,
    pub(super) mutex: Mutex,
    /// A socket's messages, the first one first: the slab of its memory, and how many messages had been written and read before it.
    pub(super) slabs: VecDeque<(u32, u64)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LockState {
    pub(crate) owner: Option<u32>,
    pub(crate) waiters: VecDeque<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct BarrierState {
    pub(crate) spec: Barrier,
    pub(crate) arrived: u32,
    pub(crate) generation: u32,
    /// Tasks that sleep, or that spin without giving way.
    pub(crate) waiters: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SemaphoreState {
    pub(crate) value: u32,
    pub(crate) waiters: VecDeque<u32>,
    /// The tasks that asked, and the semaphores of their answers.
    pub(super) asked: VecDeque<(u32, u32)>,
}

/// All objects of a workload, and what each task waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// Memory of messages that is free and near, bytes: what was given back last is used again first.
    pub(crate) near_bytes: u64,
    /// Memory of messages in sockets.
    pub(crate) slabs: Slabs,
    /// Messages that have been written to sockets, and read.
    messages_used: u64,
    /// Those between the write and the read of the last one that was read.
    used_between: u64,
    pub(crate) pipes: Vec<PipeState>,
    pub(crate) locks: Vec<LockState>,
    /// Tasks that wait, with the lock they want back.
    pub(crate) conditions: Vec<VecDeque<(u32, u32)>>,
    pub(crate) barriers: Vec<BarrierState>,
    pub(crate) teams: Vec<TeamState>,
    pub(crate) semaphores: Vec<SemaphoreState>,
}

impl Objects {
    /// What a call on this pipe or socket would take more because its message's memory is not near, ns. A writer of a socket gets memory near.
    pub(super) fn far_ns(&mut self, pipe: usize, reads: bool, costs: &Costs) -> u64 {
        let state = &self.pipes[pipe];
        if !state.spec.socket {
            // A writer takes memory from afar when none near is left; a reader gives it back there when the near part is full.
            let is_far = self.near_bytes == if reads { costs.near_cache_bytes } else { 0 };
            return if is_far { costs.far_pipe_ns(reads) } else { 0 };
        }
        // A writer gets memory that was given back a round ago: as many messages lie between as for the last one that was read.
        let (work, others) = match (reads, state.slabs.front()) {
            (false, _) => (self.slabs.fetch(), self.used_between),
            (true, Some((slab, before))) => (self.slabs.work_to_give(*slab), self.messages_used - before),
            (true, None) => (SlabWork::default(), 0),
        };
        costs.slabs.ns(work) + costs.evicted.ns(others, reads)
    }

    /// A message that takes this number of bytes is written.
    pub(super) fn take_memory(&mut self, pipe: usize, bytes: u64) {
        let state = &mut self.pipes[pipe];
        if state.spec.socket {
            state.slabs.push_back((self.slabs.take(), self.messages_used));
            self.messages_used += 1;
        } else {
            self.near_bytes = self.near_bytes.saturating_sub(bytes);
        }
    }

    /// It is read.
    pub(super) fn give_memory(&mut self, pipe: usize, bytes: u64, near_cache_bytes: u64) {
        let state = &mut self.pipes[pipe];
        if !state.spec.socket {
            self.near_bytes = (self.near_bytes + bytes).min(near_cache_bytes);
            return;
        }
        // A reader may take a message in parts, or several at once.
        let left = if state.channel.filled == 0 { 0 } else { state.slabs.len().saturating_sub(1).max(1) };
        while state.slabs.len() > left
            && let Some((slab, before)) = state.slabs.pop_front()
        {
            self.slabs.give(slab);
            self.used_between = self.messages_used - before;
            self.messages_used += 1;
        }
    }

    /// A task waits no longer for anything.
    pub(super) fn forget(&mut self, task: u32) {
        let is_other = |waiter: &u32| *waiter != task;
        for pipe in &mut self.pipes {
            pipe.readers.retain(is_other);
            pipe.writers.retain(is_other);
            pipe.mutex.forget(task);
        }
        self.locks.iter_mut().for_each(|lock| lock.waiters.retain(is_other));
        self.conditions.iter_mut().for_each(|waiters| waiters.retain(|(waiter, _)| is_other(waiter)));
        self.barriers.iter_mut().for_each(|barrier| barrier.waiters.retain(is_other));
        self.teams.iter_mut().for_each(|team| team.forget(task));
        for semaphore in &mut self.semaphores {
            semaphore.waiters.retain(is_other);
            semaphore.asked.retain(|(asked, _)| is_other(asked));
        }
    }

    pub(crate) fn of(workload: &Workload, costs: &Costs) -> Self {
        let pipe = |spec: &Pipe| PipeState {
            spec: *spec,
            channel: MessageBuffer::new(*spec),
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            written_on: None,
            used_on: None,
            mutex: Mutex::default(),
            slabs: VecDeque::new(),
        };
        let barrier =
            |spec: &Barrier| BarrierState { spec: *spec, arrived: 0, generation: 0, waiters: Vec::new() };
        let semaphore = |value: &u32| SemaphoreState { value: *value, ..SemaphoreState::default() };
        Self {
            near_bytes: costs.near_cache_bytes,
            slabs: Slabs::new(costs.near_messages()),
            messages_used: 0,
            used_between: 0,
            pipes: workload.pipes.iter().map(pipe).collect(),
            locks: vec![LockState::default(); workload.locks as usize],
            conditions: vec![VecDeque::new(); workload.conditions as usize],
            barriers: workload.barriers.iter().map(barrier).collect(),
            teams: workload.teams.iter().copied().map(TeamState::new).collect(),
            semaphores: workload.semaphores.iter().map(semaphore).collect(),
        }
    }
}
