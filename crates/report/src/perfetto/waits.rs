//! Waits for a CPU, as slices of the thread that waits.

use super::names::Names;
use super::{Packets, event, packet};
use crate::proto::Message;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use swtch_trace::tables::{PrevState, SwitchRow, WaitStart};
use swtch_trace::timeline::CpuTimeline;
use swtch_units::format_ns;

/// Shorter waits have no slice, ns: a viewer shows a run queue's ordinary traffic as well by the threads' states.
const LEAST_NS: u64 = 100_000;
/// Programs that a slice names.
const NAMED: usize = 4;

/// Tracks of threads have numbers of their own.
const THREADS: u64 = 1 << 63;

/// What had a CPU, and which task has it now.
struct CpuState {
    past: CpuTimeline<u32>,
    now: u32,
}

/// The CPU that a task left, and whether a quota stopped it.
#[derive(Clone, Copy)]
struct Left {
    cpu: u32,
    stopped: bool,
}

/// What waits are behind, from the switches as they come.
pub(super) struct Waits<'a> {
    start_ns: u64,
    names: &'a Names<'a>,
    cpus: Vec<CpuState>,
    /// How a task left its CPU, if it could have gone on.
    left: HashMap<u32, Left>,
    tracks: HashSet<u64>,
    pub(super) written: u64,
}

impl<'a> Waits<'a> {
    pub(super) fn new(start_ns: u64, names: &'a Names<'a>) -> Self {
        Self { start_ns, names, cpus: Vec::new(), left: HashMap::new(), tracks: HashSet::new(), written: 0 }
    }

    /// Takes a switch, and writes the wait that it ends.
    pub(super) fn take(&mut self, row: &SwitchRow, packets: &mut Packets<impl Write>) -> io::Result<()> {
        let index = row.cpu as usize;
        if index >= self.cpus.len() {
            self.cpus.resize_with(index + 1, || CpuState { past: CpuTimeline::begin(0), now: 0 });
        }
        let cpu = &mut self.cpus[index];
        cpu.past.extend(row.at_ns, row.prev_tid, 0);
        cpu.now = row.next_tid;
        if row.prev_state == PrevState::Runnable && row.prev_tid != 0 {
            let stopped = row.throttled == Some(true);
            self.left.insert(row.prev_tid, Left { cpu: row.cpu, stopped });
        }
        // A task that was preempted waited for the CPU that it left.
        let left = self.left.remove(&row.next_tid);
        match row.waited_ns {
            Some(waited_ns) if waited_ns >= LEAST_NS && row.next_tid != 0 => {
                self.write(row, waited_ns, left, packets)
            }
            _ => Ok(()),
        }
    }

    fn write(
        &mut self,
        row: &SwitchRow,
        waited_ns: u64,
        left: Option<Left>,
        packets: &mut Packets<impl Write>,
    ) -> io::Result<()> {
        let Some(task) = self.names.task(row.next_tid, row.at_ns) else { return Ok(()) };
        let from_ns = row.at_ns.saturating_sub(waited_ns);
        let mut behind = self.behind(from_ns, row.at_ns, left.map_or(row.cpu, |left| left.cpu));
        let Some((most, _)) = behind.first() else { return Ok(()) };
        let mut name = format!("waits behind {most}");
        // What ran on the CPU was not in front of it.
        if left.is_some_and(|left| left.stopped) {
            "stopped by its quota".clone_into(&mut name);
            behind.clear();
        }
        let began = if left.is_some() { WaitStart::Preempted } else { WaitStart::Woken };
        self.written += 1;
        let track = THREADS | u64::from(task.pid) << 32 | u64::from(task.tid);
        if self.tracks.insert(track) {
            packets.put(|packet| {
                packet.message(packet::TRACK_DESCRIPTOR, |descriptor| {
                    descriptor.number(1, track);
                    descriptor.message(4, |thread| {
                        thread.number(1, u64::from(task.pid));
                        thread.number(2, u64::from(task.tid));
                        thread.text(5, &task.comm);
                    });
                });
            })?;
        }
        packets.put(|packet| {
            packet.number(packet::TIMESTAMP, self.start_ns.saturating_add(from_ns));
            packet.message(packet::TRACK_EVENT, |slice| {
                slice.number(event::TYPE, event::SLICE_BEGIN);
                slice.number(event::TRACK, track);
                slice.text(event::NAME, &name);
                annotate(slice, "began", began.name());
                for (place, (name, ns)) in (1..).zip(behind.iter().take(NAMED)) {
                    let share = 100.0 * *ns as f64 / waited_ns as f64;
                    let words = format!("{name}, {} ({share:.0} %)", format_ns(*ns as f64));
                    annotate(slice, &format!("behind {place}"), &words);
                }
            });
        })?;
        packets.put(|packet| {
            packet.number(packet::TIMESTAMP, self.start_ns.saturating_add(row.at_ns));
            packet.message(packet::TRACK_EVENT, |slice| {
                slice.number(event::TYPE, event::SLICE_END);
                slice.number(event::TRACK, track);
            });
        })
    }

    /// What had a CPU, by name, the longest first.
    fn behind(&self, from_ns: u64, until_ns: u64, cpu: u32) -> Vec<(&'a str, u64)> {
        let Some(CpuState { past, now }) = self.cpus.get(cpu as usize) else { return Vec::new() };
        let mut behind: Vec<(&str, u64)> = Vec::new();
        past.divide(from_ns, until_ns, Some(*now), |part| {
            let name = match part.front {
                None => "what was not recorded",
                Some(0) => "an idle CPU",
                Some(tid) => self
                    .names
                    .task(tid, part.from_ns)
                    .map_or("a task that was gone", |task| task.comm.as_str()),
            };
            let ns = part.to_ns - part.from_ns;
            match behind.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum_ns)) => *sum_ns += ns,
                None => behind.push((name, ns)),
            }
        });
        behind.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        behind
    }
}

fn annotate(slice: &mut Message, name: &str, value: &str) {
    slice.message(event::ANNOTATIONS, |annotation| {
        annotation.text(10, name);
        annotation.text(6, value);
    });
}
