//! Pipes, locks, conditions, barriers and semaphores: which tasks wait, and which task goes on.

use super::channel::MessageBuffer;
use super::mutex::Mutex;
use super::teams::TeamState;
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
}

/// All objects of a workload, and what each task waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// Memory of messages that is free and near, bytes: what was given back last is used again first.
    pub(crate) near_bytes: u64,
    pub(crate) pipes: Vec<PipeState>,
    pub(crate) locks: Vec<LockState>,
    /// Tasks that wait, with the lock they want back.
    pub(crate) conditions: Vec<VecDeque<(u32, u32)>>,
    pub(crate) barriers: Vec<BarrierState>,
    pub(crate) teams: Vec<TeamState>,
    pub(crate) semaphores: Vec<SemaphoreState>,
}

impl Objects {
    pub(crate) fn of(workload: &Workload, near_cache_bytes: u64) -> Self {
        let pipe = |spec: &Pipe| PipeState {
            spec: *spec,
            channel: MessageBuffer::new(*spec),
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            written_on: None,
            used_on: None,
            mutex: Mutex::default(),
        };
        let barrier =
            |spec: &Barrier| BarrierState { spec: *spec, arrived: 0, generation: 0, waiters: Vec::new() };
        let semaphore = |value: &u32| SemaphoreState { value: *value, waiters: VecDeque::new() };
        Self {
            near_bytes: near_cache_bytes,
            pipes: workload.pipes.iter().map(pipe).collect(),
            locks: vec![LockState::default(); workload.locks as usize],
            conditions: vec![VecDeque::new(); workload.conditions as usize],
            barriers: workload.barriers.iter().map(barrier).collect(),
            teams: workload.teams.iter().copied().map(TeamState::new).collect(),
            semaphores: workload.semaphores.iter().map(semaphore).collect(),
        }
    }
}
