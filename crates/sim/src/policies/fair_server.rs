//! The kernel's own threads below real-time tasks, and the server that gives them time all the same (`fair_server`, Linux 6.12 and later,
//! kernel/sched/deadline.c and fair.c).
//!
//! A thread that waits behind real-time tasks for most of a second is served then. The server has 50 ms of each second, and a thread that wakes up
//! while it has time left runs at once.

use std::collections::VecDeque;

/// `fair_server_init`: 50 ms in a second.
const RUNTIME_NS: u64 = 50_000_000;
const PERIOD_NS: u64 = 1_000_000_000;

/// The threads that wait on a CPU, and its server.
#[derive(Clone, Debug, Default)]
pub(super) struct FairServer {
    waiting: VecDeque<usize>,
    /// When those that wait are served although real-time tasks run, ns.
    due_ns: Option<u64>,
    /// Until when they are, ns.
    until_ns: u64,
    left_ns: u64,
}

impl FairServer {
    /// A thread waits, at the front of the queue if it ran just now.
    pub(super) fn wait(&mut self, task: usize, now_ns: u64, is_first: bool) {
        if is_first {
            self.waiting.push_front(task);
        } else {
            self.waiting.push_back(task);
        }
        if self.due_ns.is_none() && !self.has_time(now_ns) {
            self.due_ns = Some(now_ns + PERIOD_NS - RUNTIME_NS);
        }
    }

    pub(super) fn leave(&mut self, task: usize) {
        self.waiting.retain(|one| *one != task);
        self.rest();
    }

    /// The next thread; `any` of them where no real-time task is there, else one that is served.
    pub(super) fn take(&mut self, now_ns: u64, any: bool) -> Option<usize> {
        if !any && !self.has_time(now_ns) {
            return None;
        }
        let task = self.waiting.pop_front();
        self.rest();
        task
    }

    /// No thread waits, so nothing is due (`dl_server_stop`).
    fn rest(&mut self) {
        if self.waiting.is_empty() {
            self.due_ns = None;
        }
    }

    /// Whether a thread that is here runs before real-time tasks.
    pub(super) fn has_time(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns && self.left_ns > 0
    }

    /// A thread has run while a real-time task waited.
    pub(super) fn charge(&mut self, ran_ns: u64) {
        self.left_ns = self.left_ns.saturating_sub(ran_ns);
    }

    /// When a running thread has to let real-time tasks run again, ns.
    pub(super) fn ends_ns(&self, since_ns: u64) -> u64 {
        self.until_ns.min(since_ns + self.left_ns)
    }

    pub(super) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// Whether it is due now: then it has its time from here on.
    pub(super) fn begins(&mut self, now_ns: u64) -> bool {
        let is_due = self.due_ns.is_some_and(|due_ns| due_ns <= now_ns);
        if is_due {
            self.due_ns = None;
            self.until_ns = now_ns + PERIOD_NS;
            self.left_ns = RUNTIME_NS;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_is_served_after_most_of_a_second_and_then_at_once_for_a_second() {
        let mut server = FairServer::default();
        server.wait(7, 0, false);
        assert_eq!((server.take(0, false), server.due_ns()), (None, Some(950_000_000)));
        assert!(!server.begins(949_999_999) && server.begins(950_000_000));
        assert_eq!((server.take(950_000_000, false), server.due_ns()), (Some(7), None));
        server.wait(8, 1_900_000_000, false);
        assert_eq!(server.take(1_900_000_000, false), Some(8));
        server.wait(8, 1_950_000_000, false);
        assert_eq!((server.take(1_950_000_000, false), server.due_ns()), (None, Some(2_900_000_000)));
        assert_eq!(
            (server.take(2_000_000_000, true), server.due_ns()),
            (Some(8), None),
            "no real-time task is there"
        );
    }

    #[test]
    fn fifty_milliseconds_are_all_it_gets() {
        let mut server = FairServer::default();
        server.wait(1, 0, false);
        assert!(server.begins(950_000_000));
        assert_eq!(server.ends_ns(950_000_000), 1_000_000_000);
        server.charge(50_000_000);
        server.wait(1, 1_000_000_000, true);
        assert_eq!((server.take(1_000_000_000, false), server.due_ns()), (None, Some(1_950_000_000)));
    }
}
