//! Processes and threads.

use super::{Packets, packet};
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use swtch_trace::tables::TaskRow;

/// Threads in a packet.
const IN_PACKET: usize = 4096;

/// Writes all processes and threads, each number once, as it was first used; says how many threads.
pub(super) fn write(rows: &[TaskRow], start_ns: u64, packets: &mut Packets<impl Write>) -> io::Result<u64> {
    let mut first: Vec<&TaskRow> = rows.iter().filter(|row| row.tid != 0).collect();
    first.sort_by_key(|row| (row.first_ns, row.tid));
    let mut seen = HashSet::new();
    first.retain(|row| seen.insert(row.tid));
    // A process whose first thread was not seen is known by another one.
    let mut processes: BTreeMap<u32, &TaskRow> = BTreeMap::new();
    for row in &first {
        let known = processes.entry(row.pid).or_insert(row);
        if row.tid == row.pid {
            *known = row;
        }
    }
    let processes: Vec<(u32, &TaskRow)> = processes.into_iter().collect();
    for chunk in processes.chunks(IN_PACKET) {
        put(start_ns, packets, |tree| {
            for (pid, row) in chunk {
                tree.message(1, |process| {
                    process.number(1, u64::from(*pid));
                    process.number(2, u64::from(row.parent_pid.unwrap_or(0)));
                    if row.tid == *pid {
                        process.text(3, &row.comm);
                        // It is a name, not a command line.
                        process.number(9, 1);
                    }
                    process.number(8, u64::from(row.kernel_thread));
                });
            }
        })?;
    }
    for chunk in first.chunks(IN_PACKET) {
        put(start_ns, packets, |tree| {
            for row in chunk {
                tree.message(2, |thread| {
                    thread.number(1, u64::from(row.tid));
                    thread.text(2, &row.comm);
                    thread.number(3, u64::from(row.pid));
                });
            }
        })?;
    }
    Ok(first.len() as u64)
}

fn put(
    start_ns: u64,
    packets: &mut Packets<impl Write>,
    build: impl FnOnce(&mut super::Message),
) -> io::Result<()> {
    packets.put(|packet| {
        packet.number(packet::TIMESTAMP, start_ns);
        packet.message(packet::PROCESS_TREE, build);
    })
}
