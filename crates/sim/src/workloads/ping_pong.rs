//! `ping-pong`: pairs of tasks that send a message back and forth.

use super::build::{at_least_one, at_most, repeat, with_defaults};
use super::{Tasks, Transport};
use crate::error::SimError;
use crate::program::Op;
use crate::workload::Workload;

with_defaults! {
    /// `perf bench sched pipe` (tools/perf/bench/sched-pipe.c, Linux 6.18), with several pairs if wanted; each round trip is a request of the
    /// first task of the pair.
    pub struct PingPong {
        /// Pairs of tasks.
        pub pairs: u32 = 1,
        /// Round trips of each pair.
        pub loops: u32 = 1_000_000,
        /// Length of a message, bytes.
        pub message_bytes: u32 = 4,
        /// Work of each task between receiving and sending, ns.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub work_ns: u64 = 0,
        /// Processes or threads.
        pub tasks: Tasks = Tasks::Processes,
        /// Pipes or sockets.
        pub channel: Transport = Transport::Pipe,
        /// Memory that a task uses between switches, bytes.
        #[serde(deserialize_with = "crate::quantity::bytes")]
        pub working_set_bytes: u64 = 0,
    }
}

impl PingPong {
    /// The workload.
    ///
    /// # Errors
    /// When a count is zero or there are too many tasks.
    pub fn build(&self) -> Result<Workload, SimError> {
        const NAME: &str = "ping-pong";
        let counts = [("pairs", self.pairs), ("loops", self.loops), ("message_bytes", self.message_bytes)];
        at_least_one(NAME, &counts)?;
        at_most(NAME, u64::from(self.pairs) * 2)?;
        if self.message_bytes > 4096 {
            let problem = format!("message_bytes is {}; expected at most 4096", self.message_bytes);
            return Err(SimError::of_workload(NAME, problem));
        }
        let mut workload = Workload { name: NAME.to_owned(), ..Workload::default() };
        let (bytes, work_ns) = (self.message_bytes, self.work_ns);
        let compute = (work_ns > 0).then_some(Op::Compute { work_ns });
        for pair in 0..self.pairs {
            let (there, back) = (workload.add_pipe(self.channel), workload.add_pipe(self.channel));
            let mut ping = Vec::new();
            repeat(&mut ping, self.loops, 0, |ops| {
                ops.push(Op::RequestBegins);
                ops.extend(compute);
                ops.push(Op::Send { pipe: there, bytes });
                ops.push(Op::Receive { pipe: back, bytes });
                ops.push(Op::RequestEnds);
            });
            let mut pong = Vec::new();
            repeat(&mut pong, self.loops, 0, |ops| {
                ops.push(Op::Receive { pipe: there, bytes });
                ops.extend(compute);
                ops.push(Op::Send { pipe: back, bytes });
            });
            for (name, ops) in [("ping", ping), ("pong", pong)] {
                let program = workload.add_program(ops);
                workload.add_task(format!("{name}-{pair}"), program, self.tasks, self.working_set_bytes);
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
    fn what_goes_there_comes_back() {
        let workload = PingPong { pairs: 2, loops: 7, work_ns: 10, ..PingPong::default() }.build().unwrap();
        check(&workload);
        let sums = balance(&workload);
        assert_eq!(sums.sent, sums.received);
        assert_eq!((sums.sent.len(), sums.sent[&0]), (4, 28));
        assert_eq!(sums.work_ns, 2 * 2 * 7 * 10);
        assert!(PingPong { message_bytes: 5000, ..PingPong::default() }.build().is_err());
    }
}
