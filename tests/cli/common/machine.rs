//! This machine, which tests share: one that takes CPUs away, or measures what others would disturb, has it alone.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Users {
    sharing: usize,
    alone: bool,
    /// They go first: between two tests of others there is no other moment.
    wait_to_be_alone: usize,
}

static USERS: Mutex<Users> = Mutex::new(Users { sharing: 0, alone: false, wait_to_be_alone: 0 });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// How often this thread's test has taken the machine: within one test it is not waited for twice.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// The machine, until this is dropped.
#[must_use]
pub struct Use(());

/// With other tests.
pub fn shared() -> Use {
    if taken_first() {
        let mut users = lock();
        while users.alone || users.wait_to_be_alone > 0 {
            users = wait(users);
        }
        users.sharing += 1;
    }
    Use(())
}

/// Without another test of this program, until this and every home that the test takes after it are dropped.
pub fn alone() -> Use {
    assert!(taken_first(), "this test shares the machine already");
    let mut users = lock();
    users.wait_to_be_alone += 1;
    while users.alone || users.sharing > 0 {
        users = wait(users);
    }
    users.wait_to_be_alone -= 1;
    users.alone = true;
    Use(())
}

fn taken_first() -> bool {
    TAKEN.replace(TAKEN.get() + 1) == 0
}

fn lock() -> MutexGuard<'static, Users> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(users: MutexGuard<'static, Users>) -> MutexGuard<'static, Users> {
    CHANGED.wait(users).unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Use {
    fn drop(&mut self) {
        if TAKEN.replace(TAKEN.get() - 1) == 1 {
            let mut users = lock();
            if users.alone {
                users.alone = false;
            } else {
                users.sharing -= 1;
            }
            CHANGED.notify_all();
        }
    }
}
