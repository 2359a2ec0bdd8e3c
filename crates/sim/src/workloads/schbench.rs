//! `schbench`: message threads that hand requests to workers.

use super::Tasks;
use super::build::{at_least_one, at_most, repeat, with_defaults};
use crate::error::SimError;
use crate::program::Op;
use crate::workload::Workload;

with_defaults! {
    /// The shape of Chris Mason's schbench. A worker reports to its message thread that it is free and waits. The message thread wakes the
    /// worker that has waited longest. The worker computes, and thinks before it asks again. The time from telling to the end of the
    /// computing is a request's.
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
        /// Time that a worker sleeps between requests, ns.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub think_ns: u64 = 100_000,
        /// Memory that a worker uses for a request, bytes.
        #[serde(deserialize_with = "crate::quantity::bytes")]
        pub working_set_bytes: u64 = 256 << 10,
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
        workload.semaphores = vec![0; 2 * self.message_threads as usize];
        for thread in 0..self.message_threads {
            let (asked, given) = (2 * thread, 2 * thread + 1);
            let mut ops = Vec::new();
            repeat(&mut ops, messages, 0, |ops| {
                ops.push(Op::Acquire { semaphore: asked });
                ops.push(Op::Compute { work_ns: self.message_work_ns });
                ops.push(Op::Post { semaphore: given });
            });
            let program = workload.add_program(ops);
            workload.add_task(format!("message-{thread}"), program, Tasks::Threads, 0);
            let mut ops = Vec::new();
            repeat(&mut ops, self.requests, 0, |ops| {
                ops.push(Op::RequestBegins);
                ops.push(Op::Post { semaphore: asked });
                ops.push(Op::Acquire { semaphore: given });
                ops.push(Op::Compute { work_ns: self.work_ns });
                ops.push(Op::RequestEnds);
                if self.think_ns > 0 {
                    ops.push(Op::Sleep { ns: self.think_ns });
                }
            });
            let program = workload.add_program(ops);
            for worker in 0..self.workers {
                let name = format!("worker-{thread}-{worker}");
                workload.add_task(name, program, Tasks::Threads, self.working_set_bytes);
            }
        }
        Ok(workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tests::{balance, check};

    #[test]
    fn every_request_is_answered() {
        let schbench = Schbench { message_threads: 2, workers: 3, requests: 4, ..Schbench::default() };
        let workload = schbench.build().unwrap();
        check(&workload);
        let sums = balance(&workload);
        assert_eq!(sums.posted, sums.acquired);
        assert_eq!((sums.posted.len(), sums.posted[&1], sums.requests), (4, 12, 24));
        assert!(Schbench { workers: 0, ..schbench }.build().is_err());
    }
}
