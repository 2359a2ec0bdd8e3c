//! Stacks as nested slices: a track for the tasks of each name, on which functions lie as in a flame graph.
//!
//! A Trace has sums by stack, not the stack of each switch. A slice is as long as the mean time off the CPU of a task of that name. So no
//! track is longer than the recording. The sums are its arguments. Perfetto's `StackSample` holds sums too, but only viewers of 2026 read
//! it, and it wants a thread where a Trace has a name.

use super::{Message, Packets, packet};
use std::collections::BTreeMap;
use std::io::{self, Write};
use swtch_trace::tables::{StackReason, StackRow, TaskRow};

/// Numbers of fields in `TrackEvent` and its types of events.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// A function, with what happened in it and in what it called.
#[derive(Default)]
struct Node<'a> {
    off_cpu_ns: u64,
    wait_ns: u64,
    switches: u64,
    callees: BTreeMap<&'a str, Self>,
}

impl<'a> Node<'a> {
    fn add(&mut self, row: &'a StackRow) {
        let mut at = self;
        for name in [""].into_iter().chain(row.frames.split(';')) {
            if !name.is_empty() {
                at = at.callees.entry(name).or_default();
            }
            at.off_cpu_ns += row.off_cpu_ns;
            at.wait_ns += row.wait_ns;
            at.switches += row.switches;
        }
    }
}

/// Writes a track for each name of tasks, numbered after `tracks` others; says how many slices.
pub(super) fn write(
    rows: &[StackRow],
    tasks: &[TaskRow],
    tracks: u64,
    start_ns: u64,
    packets: &mut Packets<impl Write>,
) -> io::Result<u64> {
    let mut names: BTreeMap<&str, Node<'_>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.reason != StackReason::Wake && row.off_cpu_ns > 0) {
        names.entry(&row.task).or_default().add(row);
    }
    let mut slices = 0;
    for (uuid, (name, node)) in (tracks + 1..).zip(&names) {
        let same = tasks.iter().filter(|task| task.in_scope && task.comm == *name).count().max(1) as u64;
        let title = match same {
            1 => format!("{name}: time off the CPU by function, not by time"),
            _ => format!("{name}: time off the CPU by function, not by time; mean of {same} tasks"),
        };
        packets.put(|packet| {
            packet.message(packet::TRACK_DESCRIPTOR, |track| {
                track.number(1, uuid);
                track.text(2, &title);
            });
        })?;
        slices += Slices { uuid, tasks: same, packets }.put(node, start_ns)?;
    }
    Ok(slices)
}

/// The slices of a track.
struct Slices<'a, W> {
    uuid: u64,
    tasks: u64,
    packets: &'a mut Packets<W>,
}

impl<W: Write> Slices<'_, W> {
    /// Writes what a function called, the longest first; says how many slices.
    fn put(&mut self, node: &Node<'_>, start_ns: u64) -> io::Result<u64> {
        let mut callees: Vec<(&&str, &Node<'_>)> = node.callees.iter().collect();
        callees.sort_by_key(|(_, callee)| std::cmp::Reverse(callee.off_cpu_ns));
        let (mut before_ns, mut slices) = (0, 0);
        for (name, callee) in callees {
            // Ends are rounded, not lengths: a function lies within the one that called it.
            let at = |sum_ns: u64| start_ns + sum_ns / self.tasks;
            let (begin_ns, end_ns) = (at(before_ns), at(before_ns + callee.off_cpu_ns));
            self.event(begin_ns, SLICE_BEGIN, |event| {
                event.text(23, name);
                let sums = [
                    ("off_cpu_ns", callee.off_cpu_ns),
                    ("wait_ns", callee.wait_ns),
                    ("switches", callee.switches),
                ];
                for (name, sum) in sums {
                    event.message(4, |annotation| {
                        annotation.text(10, name);
                        annotation.number(3, sum);
                    });
                }
            })?;
            slices += 1 + self.put(callee, begin_ns)?;
            self.event(end_ns, SLICE_END, |_| {})?;
            before_ns += callee.off_cpu_ns;
        }
        Ok(slices)
    }

    fn event(&mut self, at_ns: u64, kind: u64, more: impl FnOnce(&mut Message)) -> io::Result<()> {
        let uuid = self.uuid;
        self.packets.put(|packet| {
            packet.number(packet::TIMESTAMP, at_ns);
            packet.message(packet::TRACK_EVENT, |event| {
                event.number(9, kind);
                event.number(11, uuid);
                more(event);
            });
        })
    }
}
