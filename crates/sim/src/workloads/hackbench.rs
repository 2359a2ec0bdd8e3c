//! `hackbench`: groups in which every sender writes to every receiver.

use super::build::{at_least_one, at_most, repeat};
use super::{Channel, Tasks};
use crate::error::SimError;
use crate::program::Op;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// `perf bench sched messaging` (tools/perf/bench/sched-messaging.c, Linux 6.18), whose defaults these are: in each group, every receiver
/// reads a channel of its own into which all senders write; each sender writes one message to each receiver in turn, `loops` times.
///
/// The run begins where the program starts its clock: all tasks have been made.
///
/// ```
/// use swtch_sim::workloads::Hackbench;
///
/// let workload = Hackbench { groups: 2, ..Hackbench::default() }.build()?;
/// assert_eq!((workload.tasks.len(), workload.pipes.len()), (80, 40));
/// # Ok::<(), swtch_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hackbench {
    /// Groups.
    pub groups: u32,
    /// Senders of a group, and receivers of a group.
    pub pairs: u32,
    /// How often a sender writes to all receivers.
    pub loops: u32,
    /// Length of a message, bytes.
    pub message_bytes: u32,
    /// Processes or threads.
    pub tasks: Tasks,
    /// Sockets or pipes.
    pub channel: Channel,
    /// Memory that a task uses between switches, bytes.
    #[serde(deserialize_with = "crate::quantity::bytes")]
    pub working_set_bytes: u64,
}

impl Default for Hackbench {
    fn default() -> Self {
        Self {
            groups: 10,
            pairs: 20,
            loops: 100,
            message_bytes: 100,
            tasks: Tasks::Processes,
            channel: Channel::Socket,
            working_set_bytes: 0,
        }
    }
}

impl Hackbench {
    /// The workload.
    ///
    /// # Errors
    /// When a count is zero or there are too many tasks.
    pub fn build(&self) -> Result<Workload, SimError> {
        const NAME: &str = "hackbench";
        for (what, count) in [
            ("groups", self.groups),
            ("pairs", self.pairs),
            ("loops", self.loops),
            ("message_bytes", self.message_bytes),
        ] {
            at_least_one(NAME, what, count)?;
        }
        at_most(NAME, u64::from(self.groups) * u64::from(self.pairs) * 2)?;
        let Some(received) = self.loops.checked_mul(self.pairs) else {
            return Err(SimError::parameters(
                NAME,
                "loops times pairs is more than 4,294,967,295 messages to a receiver",
            ));
        };
        let holds = self.channel.pipe();
        if self.message_bytes.saturating_add(holds.overhead_bytes) > holds.capacity_bytes {
            let most = holds.capacity_bytes - holds.overhead_bytes;
            let problem = format!("message_bytes is {}; expected at most {most}", self.message_bytes);
            return Err(SimError::parameters(NAME, problem));
        }
        let mut workload = Workload { name: NAME.to_owned(), ..Workload::default() };
        for group in 0..self.groups {
            self.add_group(&mut workload, group, received);
        }
        Ok(workload)
    }

    fn add_group(&self, workload: &mut Workload, group: u32, received: u32) {
        let bytes = self.message_bytes;
        let pipes: Vec<u32> = (0..self.pairs).map(|_| workload.add_pipe(self.channel)).collect();
        // perf makes a group's receivers first.
        for (place, pipe) in pipes.iter().copied().enumerate() {
            let mut ops = Vec::new();
            repeat(&mut ops, received, 0, |ops| ops.push(Op::Receive { pipe, bytes }));
            let program = workload.add_program(ops);
            self.add_task(workload, format!("receiver-{group}-{place}"), program);
        }
        let mut ops = Vec::new();
        let sends = pipes.iter().map(|pipe| Op::Send { pipe: *pipe, bytes });
        repeat(&mut ops, self.loops, 0, |ops| ops.extend(sends));
        let program = workload.add_program(ops);
        for place in 0..self.pairs {
            self.add_task(workload, format!("sender-{group}-{place}"), program);
        }
    }

    fn add_task(&self, workload: &mut Workload, name: String, program: u32) {
        workload.add_task(name, program, self.tasks, self.working_set_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tests::{balance, check};

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
        let pipes = Hackbench { channel: Channel::Pipe, message_bytes: 65_536, ..ours };
        assert!(problem(pipes).contains("message_bytes is 65536; expected at most 65534"));
    }
}
