//! `hackbench`: groups in which every sender writes to every receiver.

use super::build::{at_least_one, at_most, repeat, with_defaults};
use super::{Tasks, Transport};
use crate::error::SimError;
use crate::program::{Op, Program};
use crate::workload::Workload;

with_defaults! {
    /// `perf bench sched messaging` (tools/perf/bench/sched-messaging.c, Linux 6.18), whose defaults these are. In each group, every
    /// receiver reads a channel of its own into which all senders write. Each sender writes one message to each receiver in turn, `loops`
    /// times.
    ///
    /// The run begins where the program starts its clock: all tasks have been made. With `from_start` it begins before. The program's own
    /// task makes the others, which report to it that they are there. They wait until it lets all of them go. What its clock would say is a
    /// request then.
    ///
    /// ```
    /// use swtch_sim::workloads::Hackbench;
    ///
    /// let workload = Hackbench { groups: 2, ..Hackbench::default() }.build()?;
    /// assert_eq!((workload.tasks.len(), workload.pipes.len()), (80, 40));
    /// # Ok::<(), swtch_sim::SimError>(())
    /// ```
    pub struct Hackbench {
        /// Groups.
        pub groups: u32 = 10,
        /// Senders of a group, and receivers of a group.
        pub pairs: u32 = 20,
        /// How often a sender writes to all receivers.
        pub loops: u32 = 100,
        /// Length of a message, bytes.
        pub message_bytes: u32 = 100,
        /// Processes or threads.
        pub tasks: Tasks = Tasks::Processes,
        /// Sockets or pipes.
        pub channel: Transport = Transport::Socket,
        /// Whether the run includes creating the tasks.
        pub from_start: bool = false,
        /// Memory that a task uses between switches, bytes.
        #[serde(deserialize_with = "crate::quantity::bytes")]
        pub working_set_bytes: u64 = 0,
        /// Work of a task before it ends, ns: the memory of a large program takes time to be given back.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub ending_ns: u64 = 0,
    }
}

const NAME: &str = "hackbench";

impl Hackbench {
    /// The workload.
    ///
    /// # Errors
    /// When a count is zero or there are too many tasks.
    pub fn build(&self) -> Result<Workload, SimError> {
        let counts = [("groups", self.groups), ("pairs", self.pairs), ("loops", self.loops)];
        at_least_one(NAME, &counts)?;
        at_least_one(NAME, &[("message_bytes", self.message_bytes)])?;
        at_most(NAME, u64::from(self.groups) * u64::from(self.pairs) * 2)?;
        let Some(received) = self.loops.checked_mul(self.pairs) else {
            return Err(SimError::of_workload(
                NAME,
                "loops times pairs is more than 4,294,967,295 messages to a receiver",
            ));
        };
        let holds = self.channel.pipe();
        if self.message_bytes.saturating_add(holds.overhead_bytes) > holds.capacity_bytes {
            let most = holds.capacity_bytes - holds.overhead_bytes;
            let problem = format!("message_bytes is {}; expected at most {most}", self.message_bytes);
            return Err(SimError::of_workload(NAME, problem));
        }
        let mut workload = Workload { name: NAME.to_owned(), ..Workload::default() };
        for group in 0..self.groups {
            self.add_group(&mut workload, group, received);
        }
        if self.from_start {
            self.make_them(&mut workload);
        }
        Ok(workload)
    }

    /// A task that makes the ones that are there, and a receiver's channel before it. Each reports to it that it is there, by a message of a
    /// byte. Each waits for a semaphore of its own, where the program has another channel and poll. One write lets all of them go before any
    /// of them runs, the last one made first: poll puts those that wait at the head of the channel's list.
    fn make_them(&self, workload: &mut Workload) {
        let (ready, bytes) = (workload.add_pipe(self.channel), 1);
        workload.templates = std::mem::take(&mut workload.tasks);
        let made = workload.templates.len() as u32;
        workload.semaphores = vec![0; made as usize];
        let theirs = std::mem::take(&mut workload.programs);
        for (place, task) in workload.templates.iter_mut().enumerate() {
            let mut ops = vec![Op::Send { pipe: ready, bytes }, Op::Acquire { semaphore: place as u32 }];
            ops.extend(theirs[task.program as usize].ops.iter().map(|op| match *op {
                Op::Loop { to, times, counter } => Op::Loop { to: to + 2, times, counter },
                other => other,
            }));
            task.program = workload.programs.len() as u32;
            workload.programs.push(Program { ops });
        }
        let mut ops = Vec::new();
        for template in 0..made {
            if template % (2 * self.pairs) < self.pairs {
                ops.push(Op::Call { instructions: self.channel.making_instructions() });
            }
            ops.push(Op::Fork { template });
        }
        repeat(&mut ops, made, 0, |ops| ops.push(Op::Receive { pipe: ready, bytes }));
        // From here to the end the program's own clock runs.
        ops.push(Op::RequestBegins);
        ops.push(Op::PostAll { first: 0, last: made - 1 });
        ops.extend([Op::WaitChildren, Op::RequestEnds]);
        workload.add_maker(NAME, ops, self.tasks, self.working_set_bytes);
    }

    fn add_group(&self, workload: &mut Workload, group: u32, received: u32) {
        let bytes = self.message_bytes;
        let pipes: Vec<u32> = (0..self.pairs).map(|_| workload.add_pipe(self.channel)).collect();
        // perf makes a group's receivers first.
        for (place, pipe) in pipes.iter().copied().enumerate() {
            let mut ops = Vec::new();
            repeat(&mut ops, received, 0, |ops| ops.push(Op::Receive { pipe, bytes }));
            ops.extend(self.ending());
            let program = workload.add_program(ops);
            self.add_task(workload, format!("receiver-{group}-{place}"), program);
        }
        let mut ops = Vec::new();
        let sends = pipes.iter().map(|pipe| Op::Send { pipe: *pipe, bytes });
        repeat(&mut ops, self.loops, 0, |ops| ops.extend(sends));
        ops.extend(self.ending());
        let program = workload.add_program(ops);
        for place in 0..self.pairs {
            self.add_task(workload, format!("sender-{group}-{place}"), program);
        }
    }

    fn ending(&self) -> Option<Op> {
        (self.ending_ns > 0).then_some(Op::Compute { work_ns: self.ending_ns })
    }

    fn add_task(&self, workload: &mut Workload, name: String, program: u32) {
        workload.add_task(name, program, self.tasks, self.working_set_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tests::{balance, check, under_fifo};

    #[test]
    fn every_message_that_is_sent_is_received() {
        let hackbench = Hackbench { groups: 3, pairs: 4, loops: 5, ..Hackbench::default() };
        let workload = hackbench.build().unwrap();
        check(&workload);
        let sums = balance(&workload);
        assert_eq!(sums.sent.len(), 12);
        assert!(sums.sent.values().all(|bytes| *bytes == 4 * 5 * 100), "{:?}", sums.sent);
        assert_eq!(sums.sent, sums.received);
    }

    #[test]
    fn threads_share_a_process_and_processes_do_not() {
        let of = |tasks| {
            let workload = Hackbench { groups: 1, tasks, ..Hackbench::default() }.build().unwrap();
            let processes: std::collections::BTreeSet<_> =
                workload.tasks.iter().map(|task| task.process).collect();
            processes.len()
        };
        assert_eq!((of(Tasks::Threads), of(Tasks::Processes)), (1, 40));
    }

    #[test]
    fn the_making_of_its_tasks_can_belong_to_it() {
        let hackbench = Hackbench { groups: 1, pairs: 3, loops: 5, from_start: true, ..Hackbench::default() };
        let workload = hackbench.build().unwrap();
        check(&workload);
        assert_eq!((workload.tasks.len(), workload.templates.len()), (1, 6));
        let processes: std::collections::BTreeSet<_> =
            workload.templates.iter().chain(&workload.tasks).map(|task| task.process).collect();
        assert_eq!(processes.len(), 7);
        let (made, there) =
            (under_fifo(workload), under_fifo(Hackbench { from_start: false, ..hackbench }.build().unwrap()));
        assert!(made.complete && there.complete);
        // Each waits once to be let go; what the messages need is the same.
        let more = made.stats.voluntary - there.stats.voluntary;
        assert!((6..=6 + 3).contains(&more), "{more}");
    }

    #[test]
    fn impossible_parameters_are_named() {
        let problem = |hackbench: Hackbench| hackbench.build().unwrap_err().to_string();
        let ours = Hackbench::default();
        assert_eq!(
            problem(Hackbench { loops: 0, ..ours.clone() }),
            "workload hackbench: loops is 0; expected at least 1"
        );
        assert!(
            problem(Hackbench { groups: 1_000_000, ..ours.clone() })
                .contains("40000000 tasks; expected at most")
        );
        let pipes = Hackbench { channel: Transport::Pipe, message_bytes: 65_536, ..ours };
        assert!(problem(pipes).contains("message_bytes is 65536; expected at most 65534"));
    }
}
