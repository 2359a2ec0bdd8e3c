//! One shared flag, a mutex and a condition variable: signal and wait in turn. The baseline locks, signals and unlocks while no task
//! waits. The C library then makes no system call, so this method's c1 includes the futex calls.

use super::{Side, Signal};
use std::cell::UnsafeCell;

pub(crate) struct Condvar {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
    turn: UnsafeCell<Side>,
    own_mutex: UnsafeCell<libc::pthread_mutex_t>,
    own_condition: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: `turn` is touched only under `mutex`; the rest is made to be shared by threads.
unsafe impl Sync for Condvar {}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            turn: UnsafeCell::new(Side::Leader),
            own_mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            own_condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
        }
    }
}

impl Signal for Condvar {
    #[inline(always)]
    fn send(&self, from: Side) {
        let next = if from == Side::Leader { Side::Follower } else { Side::Leader };
        // SAFETY: statically initialised, at a fixed address while threads use it; `turn` is written under the mutex.
        unsafe {
            libc::pthread_mutex_lock(self.mutex.get());
            *self.turn.get() = next;
            libc::pthread_cond_signal(self.condition.get());
            libc::pthread_mutex_unlock(self.mutex.get());
        }
    }

    #[inline(always)]
    fn receive(&self, by: Side) {
        // SAFETY: as above; `turn` is read under the mutex.
        unsafe {
            libc::pthread_mutex_lock(self.mutex.get());
            while *self.turn.get() != by {
                libc::pthread_cond_wait(self.condition.get(), self.mutex.get());
            }
            libc::pthread_mutex_unlock(self.mutex.get());
        }
    }

    #[inline(always)]
    fn loop_back(&self) {
        // SAFETY: a mutex and a condition variable that only the leader uses.
        unsafe {
            libc::pthread_mutex_lock(self.own_mutex.get());
            libc::pthread_cond_signal(self.own_condition.get());
            libc::pthread_mutex_unlock(self.own_mutex.get());
            libc::pthread_mutex_lock(self.own_mutex.get());
            libc::pthread_mutex_unlock(self.own_mutex.get());
        }
    }
}
