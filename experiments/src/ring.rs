//! lmbench's ring: a token goes round processes that each sum an array before they pass it on (McVoy and Staelin, USENIX 1996).

use crate::cache_model::{Replacement, Shape, Turns};
use crate::registry::Options;
use crate::table::{Row, Table};
use anyhow::Result;

/// Their machine: a Pentium Pro at 167 MHz with 256 KB of L2, 4 ways, lines of 32 bytes.
const SHAPE: Shape = Shape { cache_bytes: 256 << 10, ways: 4, line_bytes: 32 };
const LAYOUTS: u64 = 40;

/// Processes in the ring.
const PROCESSES: [u32; 5] = [2, 4, 8, 16, 20];
/// What a hop takes, µs, by array size in KB and processes.
const PUBLISHED: [(u64, [f64; 5]); 5] = [
    (0, [6.0, 7.0, 7.0, 8.0, 8.0]),
    (4, [7.0, 8.0, 9.0, 10.0, 12.0]),
    (16, [14.0, 15.0, 18.0, 46.0, 88.0]),
    (32, [22.0, 24.0, 107.0, 187.0, 188.0]),
    (64, [38.0, 140.0, 363.0, 367.0, 367.0]),
];
/// Pages of the kernel that every hop touches; chosen by the published 140 µs of four processes with 64 KB.
const FOOTPRINT_PAGES: u32 = 5;

/// Published in whole µs; what is checked may be off by this, or by a tenth where that is more.
const TOLERANCE: f64 = 2.0;
const RELATIVE_TOLERANCE: f64 = 0.1;

/// The table of 25 points, eight of them used for calibration.
///
/// # Errors
/// None that are expected.
pub(crate) fn run(_options: Options) -> Result<Vec<Table>> {
    let lines = |kib: u64| (kib * 1024 / SHAPE.line_bytes) as f64;
    let largest = PUBLISHED[4];
    // No process misses the L2 with two processes, and all do with twenty: the cost of a line from L2, and from memory.
    let near_us = (largest.1[0] - PUBLISHED[0].1[0]) / lines(largest.0);
    let far_us = (largest.1[4] - PUBLISHED[0].1[4]) / lines(largest.0);
    let mut table = Table::new(
        "Time per hop by array size and processes, less that of a hop in one process with hot caches",
    );
    for (kib, published) in PUBLISHED {
        for (index, (processes, published)) in PROCESSES.into_iter().zip(published).enumerate() {
            let missed = missed_lines(processes, kib);
            let obtained = PUBLISHED[0].1[index] + near_us * (lines(kib) - missed) + far_us * missed;
            let what = format!("{kib} KB, {processes} processes");
            let row =
                Row::new(&what, published, obtained, "µs", TOLERANCE.max(RELATIVE_TOLERANCE * published));
            let is_calibrated = kib == 0 || (kib == 64 && [2, 4, 20].contains(&processes));
            table.rows.push(if is_calibrated { row.calibrated() } else { row });
        }
    }
    for (what, why) in DEPARTURES {
        table.depart(what, why)?;
    }
    Ok(vec![table])
}

const DEPARTURES: [(&str, &str); 1] = [(
    "16 KB, 16 processes",
    "the arrays fill the cache exactly, so that the few pages between them decide; more of them collide here",
)];

fn missed_lines(processes: u32, array_kib: u64) -> f64 {
    let turns = Turns {
        shape: SHAPE,
        replacement: Replacement::Lru,
        tasks: processes,
        array_bytes: array_kib << 10,
        passes: 1,
        footprint_pages: FOOTPRINT_PAGES,
    };
    turns.missed_lines(LAYOUTS)
}
