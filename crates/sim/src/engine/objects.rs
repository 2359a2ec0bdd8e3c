//! Pipes, locks, conditions, barriers and semaphores: who waits, and who goes on.

use crate::workload::{Barrier, Pipe, Workload};
use std::collections::VecDeque;

/// Linux's pipe holds its bytes in pages; a writer is woken when a whole one has been read (fs/pipe.c).
const PIPE_BUFFER_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
pub(crate) struct PipeState {
    pub(crate) spec: Pipe,
    /// Bytes to be read.
    pub(crate) filled: u64,
    /// What they take of the capacity.
    pub(crate) taken: u64,
    /// Bytes read so far.
    read: u64,
    pub(crate) readers: VecDeque<u32>,
    pub(crate) writers: VecDeque<u32>,
    /// The CPU that wrote last.
    pub(super) written_on: Option<u32>,
    /// The CPU of the last call.
    pub(super) used_on: Option<u32>,
    /// Who has its mutex.
    pub(crate) owner: Option<u32>,
    /// Who sleeps until it is given back.
    pub(crate) locked_out: VecDeque<u32>,
}

impl PipeState {
    /// Puts a message in, if there is room.
    pub(crate) fn put(&mut self, bytes: u32) -> bool {
        let needs = u64::from(bytes) + u64::from(self.spec.overhead_bytes);
        // A message larger than the whole pipe goes through when it is empty.
        let fits = self.taken + needs <= u64::from(self.spec.capacity_bytes) || self.taken == 0;
        if fits {
            self.filled += u64::from(bytes);
            self.taken += needs;
        }
        fits
    }

    /// Takes a message out. `None` when it is not there yet; else whether writers should look again.
    pub(crate) fn take(&mut self, bytes: u32) -> Option<bool> {
        let bytes = u64::from(bytes);
        if self.filled < bytes {
            return None;
        }
        self.filled -= bytes;
        self.taken = if self.filled == 0 {
            0
        } else {
            self.taken.saturating_sub(bytes + u64::from(self.spec.overhead_bytes))
        };
        let before = self.read / PIPE_BUFFER_BYTES;
        self.read += bytes;
        let room = if self.spec.socket {
            // unix_writable: at most a quarter of the send buffer is taken (net/unix/af_unix.c).
            self.taken * 4 <= u64::from(self.spec.capacity_bytes)
        } else {
            self.read / PIPE_BUFFER_BYTES != before || self.filled == 0
        };
        Some(room)
    }
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
    /// Bytes of messages under way, with what they take beside themselves.
    pub(crate) under_way_bytes: u64,
    pub(crate) pipes: Vec<PipeState>,
    pub(crate) locks: Vec<LockState>,
    /// Tasks that wait, with the lock they want back.
    pub(crate) conditions: Vec<VecDeque<(u32, u32)>>,
    pub(crate) barriers: Vec<BarrierState>,
    pub(crate) semaphores: Vec<SemaphoreState>,
}

impl Objects {
    pub(crate) fn of(workload: &Workload) -> Self {
        let pipe = |spec: &Pipe| PipeState {
            spec: *spec,
            filled: 0,
            taken: 0,
            read: 0,
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            written_on: None,
            used_on: None,
            owner: None,
            locked_out: VecDeque::new(),
        };
        let barrier =
            |spec: &Barrier| BarrierState { spec: *spec, arrived: 0, generation: 0, waiters: Vec::new() };
        let semaphore = |value: &u32| SemaphoreState { value: *value, waiters: VecDeque::new() };
        Self {
            under_way_bytes: 0,
            pipes: workload.pipes.iter().map(pipe).collect(),
            locks: vec![LockState::default(); workload.locks as usize],
            conditions: vec![VecDeque::new(); workload.conditions as usize],
            barriers: workload.barriers.iter().map(barrier).collect(),
            semaphores: workload.semaphores.iter().map(semaphore).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(socket: bool, capacity_bytes: u32, overhead_bytes: u32) -> PipeState {
        let pipes = vec![Pipe { capacity_bytes, overhead_bytes, socket }];
        Objects::of(&Workload { pipes, ..Workload::default() }).pipes.remove(0)
    }

    #[test]
    fn a_pipe_holds_what_it_can_and_gives_room_a_page_at_a_time() {
        let mut pipe = pipe(false, 8192, 0);
        let sent = (0..100).take_while(|_| pipe.put(100)).count();
        assert_eq!(sent, 81);
        let woken: Vec<bool> = std::iter::from_fn(|| pipe.take(100)).collect();
        // 41 messages make the first page, 82 would make the second: the last one leaves the pipe empty instead.
        assert_eq!(
            woken.iter().enumerate().filter(|(_, room)| **room).map(|(n, _)| n).collect::<Vec<_>>(),
            [40, 80]
        );
        assert_eq!(pipe.take(1), None);
        assert!(pipe.put(10_000));
        assert!(!pipe.put(1));
    }

    #[test]
    fn a_socket_has_room_again_when_a_quarter_is_left() {
        let mut socket = pipe(true, 1000, 100);
        assert_eq!((0..9).take_while(|_| socket.put(100)).count(), 5);
        assert_eq!([(); 4].map(|()| socket.take(100)), [Some(false), Some(false), Some(false), Some(true)]);
    }
}
