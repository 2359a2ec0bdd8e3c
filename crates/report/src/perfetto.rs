//! A Trace as Perfetto's viewer (ui.perfetto.dev) opens it. It shows the thread that runs on each CPU, each thread's state and waker, processes
//! and threads by name, counters over time, and spans.
//!
//! The messages are written by hand, from protos/perfetto/trace/ of Perfetto v59 (trace_packet.proto, ftrace/sched.proto,
//! ps/process_tree.proto, track_event/), because the crates that generate them take minutes to compile. Switches are written as they are read,
//! so that the number of tasks bounds the memory.
//!
//! The parts of a Trace in this format:
//! - A switch is an ftrace event `sched_switch` on its CPU. A task in state `other` is shown as ended if that is the last the Trace has of it,
//!   else as stopped. A Trace has no priorities, so the viewer shows 0.
//! - A wake-up is an ftrace event `sched_waking` at the time from which the task waited, since a switch has no other time of it. A wake-up
//!   without a waker is marked as done in an interrupt. It is written near the switch that ended the wait, and the viewer sorts.
//! - A stack is a pile of slices on a track of its task's name (`stacks`).
//! - A wait of 0.1 ms or more is a slice on its thread's track. Its arguments name what had the CPU meanwhile, and for how long.
//! - Times are CLOCK_MONOTONIC. They are written as CLOCK_BOOTTIME, which ftrace events have: the two differ only by time asleep.

mod counters;
mod events;
mod names;
mod spans;
mod stacks;
mod tasks;
mod waits;

use crate::export::{ExportError, Exported, Exporter};
use crate::proto::Message;
use crate::tables::lost;
use events::Events;
use names::Names;
use std::io::{self, Write};
use swtch_cost::divided;
use swtch_trace::Trace;
use swtch_trace::model::{Header, Scope};
use swtch_trace::spans::Spans;
use swtch_trace::tables::StackReason;
use waits::Waits;

/// Numbers of fields in `TracePacket`.
mod packet {
    pub(super) const FTRACE_EVENTS: u32 = 1;
    pub(super) const PROCESS_TREE: u32 = 2;
    pub(super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const SYSTEM_INFO: u32 = 45;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
}

/// Numbers of fields in `TrackEvent`, and of its types.
mod event {
    pub(super) const ANNOTATIONS: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const TRACK: u32 = 11;
    pub(super) const NAME: u32 = 23;
    pub(super) const SLICE_BEGIN: u64 = 1;
    pub(super) const SLICE_END: u64 = 2;
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Size of the file.
    pub bytes: u64,
    /// Switches.
    pub switches: u64,
    /// Wake-ups.
    pub wakeups: u64,
    /// Waits of 0.1 ms or more.
    pub waits: u64,
    /// Threads.
    pub threads: u64,
    /// Counter tracks.
    pub counters: u64,
    /// Slices of stacks.
    pub slices: u64,
    /// Spans.
    pub spans: u64,
    /// Data of the Trace for which this format has no place, and data that the format has a place for and the Trace lacks. In words.
    pub left_out: Vec<String>,
}

/// The row of the table of formats.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "perfetto",
    about: "Tracks of CPUs and threads, for Perfetto's viewer",
    is_text: false,
    has_table: false,
    has_weight: false,
    has_prices: false,
    has_spans: true,
    write: |trace, options, sink| {
        let written = write(trace, options.spans, sink)?;
        let Written { switches, wakeups, waits, threads, counters, slices, spans, left_out, .. } = written;
        let of = |count: u64, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
        let of_waits = of(waits, "waits of 0.1 ms or more");
        let (of_stacks, of_spans) = (of(slices, "slices of stacks"), of(spans, "spans"));
        let text = format!(
            "{switches} switches, {wakeups} wake-ups{of_waits}, {threads} threads, {counters} counters{of_stacks}{of_spans}; \
             open it at https://ui.perfetto.dev"
        );
        let figures = [
            ("switches", switches.into()),
            ("wakeups", wakeups.into()),
            ("waits", waits.into()),
            ("threads", threads.into()),
            ("counters", counters.into()),
            ("slices", slices.into()),
            ("spans", spans.into()),
        ];
        Ok(Exported::new(text, figures, left_out))
    },
};

/// Writes `trace` to `sink`, with spans and the share of them that counts as slow and is divided.
///
/// # Errors
/// When the Trace is damaged or has no switches to divide spans by, or `sink` does not take it.
pub fn write(trace: &Trace, spans: Option<(&Spans, f64)>, sink: impl Write) -> Result<Written, ExportError> {
    let mut packets = Packets { sink, bytes: 0 };
    let start_ns = trace.header.provenance.started_monotonic_ns;
    let names = Names::of(&trace.tasks);
    clocks(&trace.header, &mut packets)?;
    system(&trace.header, &mut packets)?;
    let threads = tasks::write(&trace.tasks, start_ns, &mut packets)?;
    let counters = counters::write(&trace.intervals, start_ns, &mut packets)?;
    let slices = stacks::write(&trace.stacks, &trace.tasks, counters, start_ns, &mut packets)?;
    let mut written_spans = 0;
    if let Some((spans, slowest)) = spans {
        let slow = divided(trace, spans, slowest)?;
        written_spans = spans::write(spans, &slow, start_ns, &mut packets)?;
    }
    let mut events = Events::new(start_ns, &names);
    events.reused_numbers(&trace.tasks);
    let mut waits = Waits::new(start_ns, &names);
    for row in trace.switches() {
        let row = row?;
        events.take(&row);
        waits.take(&row, &mut packets)?;
        if events.is_full() {
            events.flush(&mut packets)?;
        }
    }
    events.flush(&mut packets)?;
    packets.sink.flush()?;
    Ok(Written {
        bytes: packets.bytes,
        switches: events.switches,
        wakeups: events.wakeups,
        waits: waits.written,
        threads,
        counters,
        slices,
        spans: written_spans,
        left_out: left_out(trace),
    })
}

/// Writes packets, one after the other: a file is one message `Trace`, whose only field repeats.
struct Packets<W> {
    sink: W,
    bytes: u64,
}

impl<W: Write> Packets<W> {
    fn put(&mut self, build: impl FnOnce(&mut Message)) -> io::Result<()> {
        let mut message = Message::default();
        message.message(1, |packet| {
            packet.number(packet::TRUSTED_PACKET_SEQUENCE_ID, 1);
            build(packet);
        });
        self.bytes += message.bytes().len() as u64;
        self.sink.write_all(message.bytes())
    }
}

/// Says that the clocks agree, and which time of day it was, where that is known.
fn clocks(header: &Header, packets: &mut Packets<impl Write>) -> io::Result<()> {
    // protos/perfetto/common/builtin_clock.proto.
    const REALTIME: u64 = 1;
    const MONOTONIC: u64 = 3;
    const BOOTTIME: u64 = 6;
    const SEQ_INCREMENTAL_STATE_CLEARED: u64 = 1;
    let provenance = &header.provenance;
    packets.put(|packet| {
        packet.number(packet::TIMESTAMP, provenance.started_monotonic_ns);
        packet.number(packet::SEQUENCE_FLAGS, SEQ_INCREMENTAL_STATE_CLEARED);
        packet.message(packet::CLOCK_SNAPSHOT, |snapshot| {
            let mut clock = |id, ns| {
                snapshot.message(1, |clock| {
                    clock.number(1, id);
                    clock.number(2, ns);
                });
            };
            clock(BOOTTIME, provenance.started_monotonic_ns);
            clock(MONOTONIC, provenance.started_monotonic_ns);
            if provenance.started_unix_ns > 0 {
                clock(REALTIME, provenance.started_unix_ns);
            }
            snapshot.number(2, BOOTTIME);
        });
    })
}

/// The kernel's version: the viewer reads task states by it.
fn system(header: &Header, packets: &mut Packets<impl Write>) -> io::Result<()> {
    let host = &header.host;
    if host.kernel.release.is_empty() {
        return Ok(());
    }
    packets.put(|packet| {
        packet.message(packet::SYSTEM_INFO, |info| {
            info.message(1, |name| {
                name.text(1, "Linux");
                name.text(3, &host.kernel.release);
                name.text(4, &host.architecture);
            });
            info.number(8, host.cpus.len() as u64);
        });
    })
}

fn left_out(trace: &Trace) -> Vec<String> {
    let mut left_out = Vec::new();
    if trace.switch_rows().is_none() {
        let recorder = &trace.header.provenance.recorder;
        left_out.push(format!("single switches and wake-ups, which {recorder} does not see"));
    } else {
        left_out.push("priorities, which are not in a Trace (0 is shown)".to_owned());
        if !trace.header.lacks(&swtch_trace::fields::SWITCHES_COST_NS) {
            left_out.push("the cost of each switch".to_owned());
        }
    }
    if trace.switch_rows().is_some() && trace.header.scope != Scope::Machine {
        left_out
            .push("tasks that were not recorded, but where they follow or precede one that was".to_owned());
    }
    left_out.extend(lost(trace));
    if trace.stacks.iter().any(|row| row.reason == StackReason::Wake) {
        left_out.push("stacks of wake-ups".to_owned());
    }
    let shown = |name: &&str| ["tasks", "wakes", "waits", "intervals", "stacks"].contains(name);
    let tables = trace.tables.row_counts().into_iter().filter(|(_, rows)| *rows > 0).map(|(name, _)| name);
    let tables: Vec<&str> = tables.filter(|name| !shown(name)).collect();
    if !tables.is_empty() {
        left_out.push(format!("the tables {} ('--to csv --table NAME' has them)", tables.join(", ")));
    }
    left_out
}
