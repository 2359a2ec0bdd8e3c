//! Switches and wake-ups, as ftrace would have recorded them.

use super::names::Names;
use super::{Packets, packet};
use crate::proto::Message;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use swtch_trace::tables::{PrevState, SwitchRow, TaskRow};

/// So much is gathered before it is written, in bytes over all CPUs.
const FULL_BYTES: usize = 1 << 18;

/// Numbers of fields in `FtraceEvent`.
mod event {
    pub(super) const TIMESTAMP: u32 = 1;
    pub(super) const PID: u32 = 2;
    pub(super) const SCHED_SWITCH: u32 = 4;
    pub(super) const COMMON_FLAGS: u32 = 5;
    pub(super) const SCHED_WAKING: u32 = 20;
    pub(super) const TASK_NEWTASK: u32 = 235;
}

/// `TRACE_FLAG_HARDIRQ` (include/linux/trace_events.h, v6.18).
const IN_INTERRUPT: u64 = 0x08;
/// `CLONE_THREAD` (include/uapi/linux/sched.h, v6.18).
const CLONE_THREAD: u64 = 0x0001_0000;

/// Events that are gathered to be written, a bundle a CPU.
pub(super) struct Events<'a> {
    start_ns: u64,
    names: &'a Names<'a>,
    cpus: BTreeMap<u32, Message>,
    bytes: usize,
    /// Whether a task could have gone on when it left its CPU: it then waits without having been woken.
    could_go_on: HashMap<u32, bool>,
    pub(super) switches: u64,
    pub(super) wakeups: u64,
}

impl<'a> Events<'a> {
    pub(super) fn new(start_ns: u64, names: &'a Names<'a>) -> Self {
        Self {
            start_ns,
            names,
            cpus: BTreeMap::new(),
            bytes: 0,
            could_go_on: HashMap::new(),
            switches: 0,
            wakeups: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= FULL_BYTES
    }

    /// Says that a number belongs to another task from some moment on.
    pub(super) fn reused_numbers(&mut self, rows: &[TaskRow]) {
        let mut sorted: Vec<&TaskRow> = rows.iter().collect();
        sorted.sort_by_key(|row| (row.first_ns, row.tid));
        let mut seen = HashSet::new();
        for row in sorted {
            if seen.insert(row.tid) {
                continue;
            }
            let is_thread = row.tid != row.pid;
            let maker = if is_thread { row.pid } else { row.parent_pid.unwrap_or(0) };
            self.put(0, row.first_ns, maker, |event| {
                event.message(event::TASK_NEWTASK, |task| {
                    task.number(1, u64::from(row.tid));
                    task.text(2, &row.comm);
                    task.number(3, if is_thread { CLONE_THREAD } else { 0 });
                });
            });
        }
    }

    /// Takes a switch, and the wake-up that led to it.
    pub(super) fn take(&mut self, row: &SwitchRow) {
        self.waking(row);
        self.switch(row);
        if row.prev_tid != 0 {
            self.could_go_on.insert(row.prev_tid, row.prev_state == PrevState::Runnable);
        }
    }

    fn waking(&mut self, row: &SwitchRow) {
        let Some(waited_ns) = row.waited_ns.filter(|_| row.next_tid != 0) else { return };
        // A preempted task waits from its preemption on. It has no wake-up.
        if row.waker_tid.is_none() && self.could_go_on.get(&row.next_tid) == Some(&true) {
            return;
        }
        self.wakeups += 1;
        let comm = self.comm(row.next_tid, row.at_ns, row.cpu);
        self.put(row.cpu, row.at_ns.saturating_sub(waited_ns), row.waker_tid.unwrap_or(0), |event| {
            if row.waker_tid.is_none() {
                event.number(event::COMMON_FLAGS, IN_INTERRUPT);
            }
            event.message(event::SCHED_WAKING, |waking| {
                waking.text(1, &comm);
                waking.number(2, u64::from(row.next_tid));
                waking.number(5, u64::from(row.cpu));
            });
        });
    }

    fn switch(&mut self, row: &SwitchRow) {
        self.switches += 1;
        let state = self.state(row);
        let (prev, next) =
            (self.comm(row.prev_tid, row.at_ns, row.cpu), self.comm(row.next_tid, row.at_ns, row.cpu));
        self.put(row.cpu, row.at_ns, row.prev_tid, |event| {
            event.message(event::SCHED_SWITCH, |switch| {
                switch.text(1, &prev);
                switch.number(2, u64::from(row.prev_tid));
                switch.number(4, state);
                switch.text(5, &next);
                switch.number(6, u64::from(row.next_tid));
            });
        });
    }

    /// As the kernel numbers states (include/linux/sched.h, v6.18; the same since 2.6): `TASK_INTERRUPTIBLE`,
    /// `TASK_UNINTERRUPTIBLE`, `__TASK_STOPPED`, `EXIT_DEAD`.
    fn state(&self, row: &SwitchRow) -> u64 {
        match row.prev_state {
            PrevState::Runnable => 0,
            PrevState::Sleeping => 1,
            PrevState::Uninterruptible => 2,
            PrevState::Other => {
                let ends =
                    self.names.task(row.prev_tid, row.at_ns).is_some_and(|task| row.at_ns >= task.last_ns);
                if ends { 0x10 } else { 4 }
            }
        }
    }

    fn comm(&self, tid: u32, at_ns: u64, cpu: u32) -> std::borrow::Cow<'a, str> {
        match self.names.task(tid, at_ns) {
            // As the kernel calls its idle tasks.
            _ if tid == 0 => format!("swapper/{cpu}").into(),
            Some(task) => task.comm.as_str().into(),
            None => format!("tid {tid}").into(),
        }
    }

    /// Adds an event on a CPU, in the name of the task that ran there.
    fn put(&mut self, cpu: u32, at_ns: u64, tid: u32, build: impl FnOnce(&mut Message)) {
        let bundle = self.cpus.entry(cpu).or_default();
        let before = bundle.bytes().len();
        bundle.message(2, |event| {
            event.number(event::TIMESTAMP, self.start_ns.saturating_add(at_ns));
            event.number(event::PID, u64::from(tid));
            build(event);
        });
        self.bytes += bundle.bytes().len() - before;
    }

    /// Writes what was gathered.
    pub(super) fn flush(&mut self, packets: &mut Packets<impl Write>) -> io::Result<()> {
        for (cpu, events) in self.cpus.iter_mut().filter(|(_, events)| !events.bytes().is_empty()) {
            packets.put(|packet| {
                packet.message(packet::FTRACE_EVENTS, |bundle| {
                    bundle.number(1, u64::from(*cpu));
                    bundle.append(events);
                });
            })?;
            events.clear();
        }
        self.bytes = 0;
        Ok(())
    }
}
