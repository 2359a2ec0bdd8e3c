//! Counters over time.

use super::{Packets, packet};
use std::collections::BTreeSet;
use std::io::{self, Write};
use swtch_trace::tables::IntervalRow;

/// What is counted: its name, its unit, and its value in an interval.
struct Counter {
    name: &'static str,
    unit: &'static str,
    value: Value,
}

enum Value {
    /// A count, shown per second.
    Rate(fn(&IntervalRow) -> Option<u64>),
    /// A time, shown as a share of the interval's length; of several CPUs it may be more than one.
    Share(fn(&IntervalRow) -> Option<u64>),
    /// A number at the interval's end.
    Level(fn(&IntervalRow) -> Option<u64>),
}

const COUNTERS: [Counter; 19] = [
    rate("switches: voluntary", |row| row.voluntary),
    rate("switches: involuntary", |row| row.involuntary),
    rate("switches: from idle", |row| row.idle_switches),
    rate("wake-ups", |row| row.wakeups),
    rate("migrations", |row| row.migrations),
    rate("forks", |row| row.forks),
    share("tasks running", |row| row.run_ns),
    share("time: user", |row| row.user_ns),
    share("time: system", |row| row.system_ns),
    share("time: hardware interrupts", |row| row.irq_ns),
    share("time: soft interrupts", |row| row.softirq_ns),
    share("time: idle", |row| row.idle_ns),
    share("time: steal", |row| row.steal_ns),
    share("stopped by quota", |row| row.throttled_ns),
    pressure("waiting for a CPU (PSI some)", |row| row.pressure_cpu_ns),
    level("threads", |row| row.tasks),
    level("threads that run or wait", |row| row.runnable),
    level("processes", |row| row.processes),
    rate("switches: all", all_switches),
];

fn all_switches(row: &IntervalRow) -> Option<u64> {
    Some(row.voluntary? + row.involuntary? + row.idle_switches.unwrap_or(0))
}

const fn rate(name: &'static str, of: fn(&IntervalRow) -> Option<u64>) -> Counter {
    Counter { name, unit: "1/s", value: Value::Rate(of) }
}

const fn share(name: &'static str, of: fn(&IntervalRow) -> Option<u64>) -> Counter {
    Counter { name, unit: "CPUs", value: Value::Share(of) }
}

const fn pressure(name: &'static str, of: fn(&IntervalRow) -> Option<u64>) -> Counter {
    Counter { name, unit: "share", value: Value::Share(of) }
}

const fn level(name: &'static str, of: fn(&IntervalRow) -> Option<u64>) -> Counter {
    Counter { name, unit: "", value: Value::Level(of) }
}

impl Counter {
    fn of(&self, row: &IntervalRow) -> Option<f64> {
        let length_ns = row.length_ns.max(1) as f64;
        Some(match self.value {
            Value::Rate(of) => of(row)? as f64 * 1e9 / length_ns,
            Value::Share(of) => of(row)? as f64 / length_ns,
            Value::Level(of) => of(row)? as f64,
        })
    }
}

/// Writes a track for each counter that has values, of the whole scope and of each CPU; says how many tracks.
pub(super) fn write(
    rows: &[IntervalRow],
    start_ns: u64,
    packets: &mut Packets<impl Write>,
) -> io::Result<u64> {
    let cpus: BTreeSet<Option<u32>> = rows.iter().map(|row| row.cpu).collect();
    let mut tracks = 0;
    for cpu in cpus {
        for counter in &COUNTERS {
            let values = rows.iter().filter(|row| row.cpu == cpu);
            let mut values = values.filter_map(|row| Some((row, counter.of(row)?))).peekable();
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

fn track(
    uuid: u64,
    counter: &Counter,
    cpu: Option<u32>,
    packets: &mut Packets<impl Write>,
) -> io::Result<()> {
    let name = cpu.map_or_else(|| counter.name.to_owned(), |cpu| format!("CPU {cpu} {}", counter.name));
    packets.put(|packet| {
        packet.message(packet::TRACK_DESCRIPTOR, |track| {
            track.number(1, uuid);
            track.text(2, &name);
            track.message(8, |counter_of| {
                if !counter.unit.is_empty() {
                    counter_of.text(6, counter.unit);
                }
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
