//! A kernel mutex (kernel/locking/mutex.c of 7.2): its owner, its waiters, and the task that gets it next.

use std::collections::VecDeque;

/// The answer to a task that asks for the mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The task already held it.
    Had,
    /// The task holds it from now on.
    Taken,
    /// Another task holds it.
    Refused {
        /// The task that holds it.
        owner: u32,
    },
}

/// The mutex. A release wakes the first waiter but leaves the mutex free, so that the first task to ask takes it. A waiter that was woken
/// in vain gets the mutex handed over at the next release (`MUTEX_FLAG_HANDOFF`).
#[derive(Clone, Debug, Default)]
pub(super) struct Mutex {
    owner: Option<u32>,
    /// Waiting tasks stay here until they hold the mutex.
    waiters: VecDeque<u32>,
    hands_over: bool,
}

impl Mutex {
    /// A task asks for the mutex.
    pub(super) fn ask(&mut self, task: u32) -> Asked {
        match self.owner {
            Some(owner) if owner == task => {
                if self.waiters.front() == Some(&task) {
                    // It was handed over.
                    self.waiters.pop_front();
                    self.hands_over = false;
                    return Asked::Taken;
                }
                Asked::Had
            }
            Some(owner) => Asked::Refused { owner },
            None => {
                self.waiters.retain(|waiter| *waiter != task);
                self.owner = Some(task);
                Asked::Taken
            }
        }
    }

    /// A task that was refused sleeps until it is woken.
    pub(super) fn wait(&mut self, task: u32) {
        if self.waiters.contains(&task) {
            self.hands_over |= self.waiters.front() == Some(&task);
        } else {
            self.waiters.push_back(task);
        }
    }

    /// A task waits no longer.
    pub(super) fn forget(&mut self, task: u32) {
        self.hands_over &= self.waiters.front() != Some(&task);
        self.waiters.retain(|waiter| *waiter != task);
    }

    /// Releases the mutex if the task holds it. Returns the first waiter, which is to be woken if it sleeps.
    pub(super) fn give_back(&mut self, task: u32) -> Option<u32> {
        self.owner.take_if(|owner| *owner == task)?;
        let next = self.waiters.front().copied();
        if self.hands_over {
            self.owner = next;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_first_has_it_and_who_was_woken_in_vain_gets_it_next() {
        let mut mutex = Mutex::default();
        assert_eq!((mutex.ask(1), mutex.ask(1)), (Asked::Taken, Asked::Had));
        for waiter in [2, 3] {
            assert_eq!(mutex.ask(waiter), Asked::Refused { owner: 1 });
            mutex.wait(waiter);
        }
        assert_eq!(mutex.give_back(1), Some(2));
        // 1 is still there, and faster.
        assert_eq!((mutex.ask(1), mutex.ask(2)), (Asked::Taken, Asked::Refused { owner: 1 }));
        mutex.wait(2);
        assert_eq!((mutex.give_back(1), mutex.ask(1)), (Some(2), Asked::Refused { owner: 2 }));
        assert_eq!((mutex.ask(2), mutex.ask(2)), (Asked::Taken, Asked::Had));
        assert_eq!((mutex.give_back(2), mutex.give_back(2)), (Some(3), None));
        assert_eq!((mutex.ask(3), mutex.give_back(3)), (Asked::Taken, None));
    }
}
