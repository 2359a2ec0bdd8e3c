//! Counters over time.

use super::{Packets, packet};
use std::collections::BTreeSet;
use std::io::{self, Write};
use swtch_trace::tables::IntervalRow;

use crate::intervals::{Metric, MetricKind, RATES, SUMS, TASKS, TIMES};

/// Writes a track for each counter that has values, of the whole scope and of each CPU; says how many tracks.
pub(super) fn write(
    rows: &[IntervalRow],
    start_ns: u64,
    packets: &mut Packets<impl Write>,
) -> io::Result<u64> {
    let cpus: BTreeSet<Option<u32>> = rows.iter().map(|row| row.cpu).collect();
    let mut tracks = 0;
    for cpu in cpus {
        for counter in [RATES, TASKS, TIMES, SUMS].into_iter().flatten() {
            let values = rows.iter().filter(|row| row.cpu == cpu);
            let mut values = values.filter_map(|row| Some((row, counter.value(row)?))).peekable();
            if values.peek().is_none() {
                continue;
            }
            tracks += 1;
            track(tracks, counter, cpu, packets)?;
            for (row, value) in values {
                point(tracks, start_ns.saturating_add(row.at_ns), value, packets)?;
            }
        }
    }
    Ok(tracks)
}

fn track(uuid: u64, counter: &Metric, cpu: Option<u32>, packets: &mut Packets<impl Write>) -> io::Result<()> {
    let name = cpu.map_or_else(|| counter.track.to_owned(), |cpu| format!("CPU {cpu} {}", counter.track));
    packets.put(|packet| {
        packet.message(packet::TRACK_DESCRIPTOR, |track| {
            track.number(1, uuid);
            track.text(2, &name);
            track.message(8, |counter_of| match counter.kind {
                MetricKind::Rate => counter_of.text(6, "1/s"),
                MetricKind::Cpus => counter_of.text(6, "CPUs"),
                MetricKind::Share => counter_of.text(6, "share"),
                MetricKind::Level => {}
            });
        });
    })
}

fn point(uuid: u64, at_ns: u64, value: f64, packets: &mut Packets<impl Write>) -> io::Result<()> {
    const TYPE_COUNTER: u64 = 4;
    packets.put(|packet| {
        packet.number(packet::TIMESTAMP, at_ns);
        packet.message(packet::TRACK_EVENT, |event| {
            event.number(9, TYPE_COUNTER);
            event.number(11, uuid);
            event.double(44, value);
        });
    })
}
