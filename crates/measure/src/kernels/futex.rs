//! Two futex words, wake and wait. The baseline makes the same two system calls on a third word without blocking. They
//! are a wake that finds no waiter, and a wait whose expected value no longer holds.

use super::{Side, Signal};
use crate::sys;
use rustix::thread::futex;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};

/// One word alone on its cache lines (two, for the adjacent-line prefetcher).
#[repr(align(128))]
struct Word(AtomicU32);

#[repr(C)]
struct Words {
    follower: Word,
    leader: Word,
    own: Word,
}

pub(crate) struct FutexPair {
    words: *const Words,
    flags: futex::Flags,
}

// SAFETY: the words are atomics in shared memory that stays mapped as long as the pair lives.
unsafe impl Sync for FutexPair {}

impl FutexPair {
    /// `across_processes` decides between private and shared futexes, which cost differently.
    pub(crate) fn new(across_processes: bool) -> Result<Self, i32> {
        let words = sys::map_shared(mem::size_of::<Words>())?.cast::<Words>().cast_const();
        let flags = if across_processes { futex::Flags::empty() } else { futex::Flags::PRIVATE };
        Ok(Self { words, flags })
    }

    #[inline(always)]
    fn words(&self) -> &Words {
        // SAFETY: mapped and zeroed in `new`, page-aligned, never unmapped while `self` lives; all-zero is valid.
        unsafe { &*self.words }
    }
}

impl Drop for FutexPair {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; the last user is gone.
        unsafe { sys::unmap(self.words.cast_mut().cast(), mem::size_of::<Words>()) };
    }
}

impl Signal for FutexPair {
    #[inline(always)]
    fn send(&self, from: Side) {
        let word = if from == Side::Leader { &self.words().follower } else { &self.words().leader };
        word.0.store(1, Ordering::Release);
        let _ = futex::wake(&word.0, self.flags, 1);
    }

    #[inline(always)]
    fn receive(&self, by: Side) {
        let word = if by == Side::Leader { &self.words().leader } else { &self.words().follower };
        while word.0.load(Ordering::Acquire) == 0 {
            let _ = futex::wait(&word.0, self.flags, 0, None);
        }
        word.0.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn loop_back(&self) {
        let word = &self.words().own;
        word.0.store(1, Ordering::Release);
        let _ = futex::wake(&word.0, self.flags, 1);
        let _ = futex::wait(&word.0, self.flags, 0, None);
        word.0.store(0, Ordering::Relaxed);
    }
}
