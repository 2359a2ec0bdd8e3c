//! The memory a worker and its parent share: what the worker records, batch by batch, in fixed slots. A worker that dies leaves
//! every finished batch behind.

use crate::sys;
use std::ffi::c_void;
use std::mem;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Exit status of a worker that could not be set up; the region says why.
pub(super) const EXIT_SETUP: i32 = 82;

/// How much one launch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Batches, each paired with a batch of the baseline.
    pub(crate) batches: u32,
    /// Rounds in a batch.
    pub(crate) rounds: u32,
    /// Untimed rounds before each batch.
    pub(crate) warm_up_rounds: u32,
    /// Seconds after which the kernel ends the worker.
    pub(crate) guard_s: u32,
}

/// How far a worker got, for the message when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Stage {
    Starting,
    Pinning,
    RealTime,
    MappingArray,
    MakingPipes,
    StartingTasks,
    Running,
    TokenLost,
    Done,
}

/// Every stage by its number, and what the worker was doing.
const STAGES: [(Stage, &str); 9] = [
    (Stage::Starting, "starting a process"),
    (Stage::Pinning, "pinning to its CPU"),
    (Stage::RealTime, "entering the real-time FIFO class"),
    (Stage::MappingArray, "mapping an array"),
    (Stage::MakingPipes, "making pipes"),
    (Stage::StartingTasks, "starting the tasks"),
    (Stage::Running, "running"),
    (Stage::TokenLost, "checking the token: it did not pass through every task"),
    (Stage::Done, "ending"),
];

impl Stage {
    /// What the worker was doing.
    pub(crate) fn doing(self) -> &'static str {
        STAGES[self as usize].1
    }
}

/// What the leader records of one batch.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct LeaderSlot {
    pub(crate) started_ns: u64,
    pub(crate) switch_ticks: u64,
    pub(crate) baseline_ticks: u64,
    pub(crate) spin_ticks: u64,
    pub(crate) switch_cpu_ns: u64,
    pub(crate) baseline_cpu_ns: u64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) baseline_switches: u64,
    pub(crate) follower_yields: u64,
    /// Of a round of messages on one CPU: all writes, then all reads.
    pub(crate) write_ticks: u64,
    pub(crate) read_ticks: u64,
    pub(crate) cpu_before: u32,
    pub(crate) cpu_after: u32,
}

/// What a follower records of one batch.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct FollowerSlot {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) cpu_ns: u64,
}

#[repr(C)]
struct Header {
    stage: AtomicU32,
    error: AtomicI32,
    batches_done: AtomicU32,
    pids: [AtomicU64; MOST_TASKS],
}

/// The longest ring.
pub(crate) const MOST_TASKS: usize = 512;

/// The shared memory of one launch. Dropped (unmapped) by the parent only; a worker ends without destructors.
pub(crate) struct Region {
    start: *mut c_void,
    batches: usize,
    followers: usize,
}

// SAFETY: header fields are atomics; each slot has one writer, and readers wait until that writer has ended.
unsafe impl Sync for Region {}

impl Region {
    pub(crate) fn new(batches: usize, followers: usize) -> Result<Self, i32> {
        let region = Self { start: std::ptr::null_mut(), batches, followers };
        Ok(Self { start: sys::map_shared(region.bytes())?, ..region })
    }

    fn bytes(&self) -> usize {
        mem::size_of::<Header>()
            + self.batches * mem::size_of::<LeaderSlot>()
            + self.batches * self.followers * mem::size_of::<FollowerSlot>()
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping begins with a header; all-zero atomics are valid.
        unsafe { &*self.start.cast::<Header>() }
    }

    fn leader_slot(&self, batch: usize) -> *mut LeaderSlot {
        assert!(batch < self.batches);
        // SAFETY: within the mapping, by `bytes`; the header's size is a multiple of 8, so the slot is aligned.
        unsafe { self.start.add(mem::size_of::<Header>()).cast::<LeaderSlot>().add(batch) }
    }

    fn follower_slot(&self, follower: usize, batch: usize) -> *mut FollowerSlot {
        assert!(batch < self.batches && follower < self.followers);
        let offset = mem::size_of::<Header>() + self.batches * mem::size_of::<LeaderSlot>();
        // SAFETY: as above.
        unsafe { self.start.add(offset).cast::<FollowerSlot>().add(follower * self.batches + batch) }
    }

    pub(crate) fn enter(&self, stage: Stage) {
        self.header().stage.store(stage as u32, Ordering::Release);
    }

    pub(crate) fn fail(&self, stage: Stage, error: i32) {
        self.enter(stage);
        self.header().error.store(error, Ordering::Release);
    }

    pub(crate) fn stage(&self) -> Stage {
        STAGES[self.header().stage.load(Ordering::Acquire) as usize % STAGES.len()].0
    }

    pub(crate) fn error(&self) -> i32 {
        self.header().error.load(Ordering::Acquire)
    }

    pub(crate) fn set_pid(&self, task: usize, pid: u64) {
        self.header().pids[task].store(pid, Ordering::Release);
    }

    pub(crate) fn pid(&self, task: usize) -> u64 {
        self.header().pids[task].load(Ordering::Acquire)
    }

    pub(crate) fn record_leader(&self, batch: usize, slot: LeaderSlot) {
        // SAFETY: the leader alone writes this slot.
        unsafe { self.leader_slot(batch).write(slot) };
        self.header().batches_done.store(batch as u32 + 1, Ordering::Release);
    }

    pub(crate) fn record_follower(&self, follower: usize, batch: usize, slot: FollowerSlot) {
        // SAFETY: this follower alone writes this slot.
        unsafe { self.follower_slot(follower, batch).write(slot) };
    }

    /// The finished batches: the leader's record and the sum of the followers'. Call when the tasks have ended.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (LeaderSlot, FollowerSlot)> + '_ {
        let done = (self.header().batches_done.load(Ordering::Acquire) as usize).min(self.batches);
        (0..done).map(move |batch| {
            // SAFETY: within the mapping; the writers have ended.
            let leader = unsafe { self.leader_slot(batch).read() };
            let mut sum = FollowerSlot::default();
            for follower in 0..self.followers {
                // SAFETY: as above.
                let one = unsafe { self.follower_slot(follower, batch).read() };
                sum.voluntary += one.voluntary;
                sum.involuntary += one.involuntary;
                sum.cpu_ns += one.cpu_ns;
            }
            (leader, sum)
        })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size; the tasks that used it have ended.
        unsafe { sys::unmap(self.start, self.bytes()) };
    }
}
