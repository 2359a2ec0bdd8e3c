//! Two tasks on one CPU that yield to each other; the baseline is one task that yields alone. What a yield does depends
//! on the scheduler, so the yields and the switches of both are counted.

use super::broken;
use crate::sys::{self, Pipe};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

#[inline(always)]
pub(crate) fn yield_cpu() {
    rustix::thread::sched_yield();
}

/// Shared between the two; the counters are on lines of their own.
#[repr(C)]
struct YieldCounters {
    follower_yields: PaddedCounter,
    /// Batches the leader has ended: the follower yields until this passes its own count.
    ended: PaddedCounter,
}

#[repr(align(128))]
struct PaddedCounter(AtomicU64);

pub(crate) struct Yielding {
    go: Pipe,
    shared: *const YieldCounters,
}

// SAFETY: atomics in shared memory that stays mapped as long as the value lives.
unsafe impl Sync for Yielding {}

impl Yielding {
    pub(crate) fn new() -> Result<Self, i32> {
        let shared = sys::map_shared(mem::size_of::<YieldCounters>())?.cast::<YieldCounters>().cast_const();
        Ok(Self { go: Pipe::new()?, shared })
    }

    fn shared(&self) -> &YieldCounters {
        // SAFETY: mapped and zeroed in `new`, never unmapped (the worker process ends with it); all-zero is valid.
        unsafe { &*self.shared }
    }

    /// The leader starts a batch: the follower leaves its pipe and begins to yield.
    pub(crate) fn start(&self) {
        let before = self.follower_yields();
        if rustix::io::write(&self.go.write, &[0]) != Ok(1) {
            broken();
        }
        while self.follower_yields() == before {
            yield_cpu();
        }
    }

    /// The leader ends a batch; the follower goes back to its pipe.
    pub(crate) fn end(&self) {
        self.shared().ended.0.fetch_add(1, Ordering::Release);
        // Let the follower see it and block before the baseline runs alone.
        for _ in 0..8 {
            yield_cpu();
        }
    }

    pub(crate) fn follower_yields(&self) -> u64 {
        self.shared().follower_yields.0.load(Ordering::Relaxed)
    }

    /// Batch `number` (from 0) of the follower.
    pub(crate) fn follow(&self, number: u64) {
        if rustix::io::read(&self.go.read, &mut [0u8; 1]) != Ok(1) {
            broken();
        }
        let mut yields = self.follower_yields();
        while self.shared().ended.0.load(Ordering::Acquire) <= number {
            yields += 1;
            self.shared().follower_yields.0.store(yields, Ordering::Relaxed);
            yield_cpu();
        }
    }
}
