//! `schbench`: message threads that hand requests to workers.

use super::Tasks;
use super::build::{at_least_one, at_most, repeat, with_defaults};
use crate::error::SimError;
use crate::program::Op;
use crate::workload::Workload;

with_defaults! {
    /// The shape of Chris Mason's schbench. A worker reports to its message thread that it is free and waits. The message thread wakes the
    /// worker that has waited longest. The worker serves a request: it sleeps, as for the network, and computes.
    ///
    /// The defaults are this project's choice, of the size of a short request to a server.
    pub struct Schbench {
        /// Message threads.
        pub message_threads: u32 = 1,
        /// Workers of each message thread.
        pub workers: u32 = 16,
        /// Requests of each worker.
        pub requests: u32 = 1_000,
        /// Work of a request, ns.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub work_ns: u64 = 500_000,
        /// Work of the message thread for a request, ns.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub message_work_ns: u64 = 1_000,
        /// Time that a worker sleeps in a request, ns.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub think_ns: u64 = 100_000,
        /// Memory that a worker uses for a request, bytes.
        #[serde(deserialize_with = "crate::quantity::bytes")]
        pub working_set_bytes: u64 = 256 << 10,
        /// Whether the program's own task makes the message threads, and these the workers; else all are there from the start.
        pub from_start: bool = false,
    }
}

impl Schbench {
    /// The workload.
    ///
    /// # Errors
    /// When a count is zero or there are too many tasks.
    pub fn build(&self) -> Result<Workload, SimError> {
        const NAME: &str = "schbench";
        let counts = [
            ("message_threads", self.message_threads),
            ("workers", self.workers),
            ("requests", self.requests),
        ];
        at_least_one(NAME, &counts)?;
        at_most(NAME, u64::from(self.message_threads) * (u64::from(self.workers) + 1))?;
        let Some(messages) = self.requests.checked_mul(self.workers) else {
            return Err(SimError::of_workload(NAME, "requests times workers is more than 4,294,967,295"));
        };
        let mut workload = Workload { name: NAME.to_owned(), ..Workload::default() };
        workload.semaphores = vec![0; self.message_threads as usize * (self.workers as usize + 1)];
        for thread in 0..self.message_threads {
            let asked = self.place(thread);
            let mut ops = Vec::new();
            if self.from_start {
                ops.extend(
                    (1..=self.workers).map(|worker| Op::Fork { template: self.place(thread) + worker }),
                );
            }
            repeat(&mut ops, messages, 0, |ops| {
                ops.push(Op::Acquire { semaphore: asked });
                ops.push(Op::Compute { work_ns: self.message_work_ns });
                ops.push(Op::Answer { semaphore: asked });
            });
            if self.from_start {
                ops.push(Op::WaitChildren);
            }
            let program = workload.add_program(ops);
            workload.add_task(format!("message-{thread}"), program, Tasks::Threads, 0);
            for worker in 0..self.workers {
                let own = asked + 1 + worker;
                let mut ops = Vec::new();
                repeat(&mut ops, self.requests, 0, |ops| {
                    ops.push(Op::Ask { semaphore: asked, answer: own });
                    ops.push(Op::Acquire { semaphore: own });
                    ops.push(Op::RequestBegins);
                    if self.think_ns > 0 {
                        ops.push(Op::Sleep { ns: self.think_ns });
                    }
                    ops.push(Op::Compute { work_ns: self.work_ns });
                    ops.push(Op::RequestEnds);
                });
                let program = workload.add_program(ops);
                let name = format!("worker-{thread}-{worker}");
                workload.add_task(name, program, Tasks::Threads, self.working_set_bytes);
            }
        }
        if self.from_start {
            workload.templates = std::mem::take(&mut workload.tasks);
            let forks = (0..self.message_threads).map(|thread| Op::Fork { template: self.place(thread) });
            let ops = forks.chain([Op::WaitChildren]).collect();
            workload.add_maker(NAME, ops, Tasks::Threads, self.working_set_bytes);
        }
        Ok(workload)
    }

    /// Where a message thread is among the tasks, its workers behind it.
    fn place(&self, message_thread: u32) -> u32 {
        message_thread * (self.workers + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tests::{balance, check, under_fifo};

    #[test]
    fn every_request_is_answered() {
        let schbench = Schbench { message_threads: 2, workers: 3, requests: 4, ..Schbench::default() };
        let workload = schbench.build().unwrap();
        check(&workload);
        // Each answer goes to the worker that asked, whose semaphore is its own.
        let sums = balance(&workload);
        assert_eq!(sums.posted, sums.acquired);
        assert_eq!((sums.posted.len(), sums.posted[&0], sums.posted[&1], sums.requests), (8, 12, 4, 24));
        assert!(Schbench { workers: 0, ..schbench }.build().is_err());
    }

    #[test]
    fn the_program_can_make_its_threads() {
        let schbench = Schbench { message_threads: 2, workers: 3, requests: 4, ..Schbench::default() };
        let workload = Schbench { from_start: true, ..schbench.clone() }.build().unwrap();
        check(&workload);
        let names: Vec<&str> = workload.templates.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(
            (workload.tasks.len(), names.len(), names[4], names[5]),
            (1, 8, "message-1", "worker-1-0")
        );
        let (made, there) = (under_fifo(workload), under_fifo(schbench.build().unwrap()));
        assert_eq!(made.stats.requests.count(), there.stats.requests.count());
        assert_eq!(made.kernel.tasks().count(), 9);
    }
}
