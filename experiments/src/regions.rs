//! The cost of a switch by array size (Li, Ding and Shen, ExpCS 2007): flat while both arrays fit, steep while one does, and then no more.

use crate::cache_model::{PAGE_BYTES, Replacement, Shape, Turns};
use crate::registry::Options;
use crate::table::{Grid, Row, Table};
use anyhow::Result;

/// Their machine: a dual 2.0 GHz Pentium 4 Xeon, 512 KB of L2, 8 ways, lines of 128 bytes.
const SHAPE: Shape = Shape { cache_bytes: 512 << 10, ways: 8, line_bytes: 128 };
/// Its data TLB.
const TLB_ENTRIES: u64 = 64;
/// They traverse arrays of doubles.
const ELEMENT_BYTES: u64 = 8;
const LAYOUTS: u64 = 8;

/// What they published, µs.
const DIRECT: f64 = 3.8;
const FLAT: [f64; 2] = [4.2, 8.7];
const STEEP: [f64; 2] = [38.6, 203.2];
const STRIDED: [f64; 2] = [133.8, 1496.1];
const STRIDED_MEAN: f64 = 825.3;
/// Array sizes of the second region in their figures.
const STEEP_KIB: [u64; 3] = [256, 384, 512];

/// Pages of the kernel that every turn touches; chosen by the published 38.6 µs at 256 KB.
const FOOTPRINT_PAGES: u32 = 13;

/// How an array is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    /// Write, or read, modify and write: a line comes and goes, which takes twice the bandwidth.
    Modify,
    /// The same, in steps of a line.
    ModifyStrided,
}

/// Costs of the machine, from four published points.
#[derive(Clone, Copy, Debug)]
struct Machine {
    replacement: Replacement,
    page_us: f64,
    line_us: f64,
    strided_line_us: f64,
}

impl Machine {
    fn calibrated(replacement: Replacement) -> Self {
        let most = |access| {
            STEEP_KIB.map(|kib| more_missed(replacement, access, kib)).into_iter().fold(0.0, f64::max)
        };
        Self {
            replacement,
            page_us: (FLAT[1] - DIRECT) / pages(200) as f64,
            line_us: (STEEP[1] - DIRECT) / most(Access::Modify),
            strided_line_us: (STRIDED[1] - DIRECT) / most(Access::ModifyStrided),
        }
    }

    /// The total cost of a switch, µs.
    fn cost_us(&self, access: Access, array_kib: u64) -> f64 {
        let line_us = match access {
            Access::Read => self.line_us / 2.0,
            Access::Modify => self.line_us,
            Access::ModifyStrided => self.strided_line_us,
        };
        // A switch of address space empties the TLB; with more pages than entries the task alone misses them too.
        let refilled = if pages(array_kib) <= TLB_ENTRIES { pages(array_kib) } else { 0 };
        DIRECT + refilled as f64 * self.page_us + line_us * more_missed(self.replacement, access, array_kib)
    }
}

fn pages(array_kib: u64) -> u64 {
    (array_kib << 10).div_ceil(PAGE_BYTES)
}

/// Lines that a task misses when two take turns, less those that it misses alone.
fn more_missed(replacement: Replacement, access: Access, array_kib: u64) -> f64 {
    let passes = if access == Access::ModifyStrided { SHAPE.line_bytes / ELEMENT_BYTES } else { 1 };
    let turns = Turns {
        shape: SHAPE,
        replacement,
        tasks: 1,
        array_bytes: array_kib << 10,
        passes: passes as u32,
        footprint_pages: FOOTPRINT_PAGES,
    };
    Turns { tasks: 2, ..turns }.missed_lines(LAYOUTS) - turns.missed_lines(LAYOUTS)
}

/// The three regions, and the effect of the stride.
///
/// # Errors
/// None that are expected.
pub(crate) fn run(_options: Options) -> Result<Vec<Table>> {
    let machine = Machine::calibrated(Replacement::Random);
    let mut by_size = size(&machine);
    let mut by_stride = stride(&machine);
    for (what, why) in DEPARTURES {
        by_size.depart(what, why).or_else(|_| by_stride.depart(what, why))?;
    }
    Ok(vec![by_size, by_stride, curve(&machine)])
}

const DEPARTURES: [(&str, &str); 1] = [(
    "256 KB, modified by read (no difference below 384 KB)",
    "one price a missed line here; there, the bandwidth seems to have been enough for both below 384 KB",
)];

fn size(machine: &Machine) -> Table {
    let mut table = Table::new("Total cost of a switch by array size, traversed in sequence");
    let cost = |access, kib| machine.cost_us(access, kib);
    let steep = STEEP_KIB.map(|kib| cost(Access::Modify, kib));
    let most = steep.into_iter().fold(0.0, f64::max);
    let rows = [
        Row::new("1 KB", FLAT[0], cost(Access::Modify, 1), "µs", 0.5),
        Row::new("128 KB", 0.0, cost(Access::Modify, 128), "µs", 0.0).within(FLAT[0], FLAT[1]),
        Row::new("200 KB", FLAT[1], cost(Access::Modify, 200), "µs", 0.5).calibrated(),
        Row::new("256 KB, modified", STEEP[0], steep[0], "µs", 5.0).calibrated(),
        Row::new("most of 256, 384 and 512 KB", STEEP[1], most, "µs", 0.05).calibrated(),
        Row::new(
            "384 KB, modified by read (writes take twice the bandwidth)",
            2.0,
            (steep[1] - DIRECT) / (cost(Access::Read, 384) - DIRECT),
            "times",
            0.1,
        )
        .calibrated(),
        Row::new(
            "256 KB, modified by read (no difference below 384 KB)",
            1.0,
            (steep[0] - DIRECT) / (cost(Access::Read, 256) - DIRECT),
            "times",
            0.1,
        ),
        Row::new(
            "1 MB, still high: not below the least of 256 to 512 KB",
            0.0,
            cost(Access::Modify, 1024),
            "µs",
            0.0,
        )
        .within(STEEP[0], f64::INFINITY)
        .calibrated(),
        Row::new(
            "2 MB by 512 KB, no longer growing",
            0.0,
            cost(Access::Modify, 2048) / steep[2],
            "times",
            0.0,
        )
        .within(f64::NEG_INFINITY, 1.0),
    ];
    table.rows.extend(rows);
    table.rows.push(Row::computed("an entry of the TLB, calibrated", 1000.0 * machine.page_us, "ns"));
    table.rows.push(Row::computed(
        "a missed line that is written back, calibrated",
        1000.0 * machine.line_us,
        "ns",
    ));
    table
}

fn stride(machine: &Machine) -> Table {
    let mut table = Table::new("The same in steps of 128 bytes, a line");
    let cost = |kib| machine.cost_us(Access::ModifyStrided, kib);
    let steep = STEEP_KIB.map(cost);
    let mean = steep.into_iter().sum::<f64>() / 3.0;
    let little = |kib| cost(kib) / machine.cost_us(Access::Modify, kib);
    let rows = [
        Row::new("32 KB by the same in sequence (little impact)", 1.0, little(32), "times", 0.1),
        Row::new("128 KB by the same in sequence (little impact)", 1.0, little(128), "times", 0.1),
        Row::new("256 KB, the least that was published", STRIDED[0], steep[0], "µs", 13.0),
        Row::new(
            "most of 256, 384 and 512 KB",
            STRIDED[1],
            steep.into_iter().fold(0.0, f64::max),
            "µs",
            0.05,
        )
        .calibrated(),
        Row::new("mean of 256, 384 and 512 KB", STRIDED_MEAN, mean, "µs", 41.0),
    ];
    table.rows.extend(rows);
    table.rows.push(Row::computed("a missed line, calibrated", 1000.0 * machine.strided_line_us, "ns"));
    table
}

fn curve(machine: &Machine) -> Table {
    let lru = Machine { replacement: Replacement::Lru, ..*machine };
    let mut table = Table::new("The curve, µs (figure 1 and 2 of the paper; not published as numbers)");
    let header = ["KB", "read", "modified", "in steps of 128 B", "modified, were it LRU"];
    let mut grid = Grid { header: header.map(str::to_owned).to_vec(), rows: Vec::new() };
    for kib in [1, 8, 32, 64, 128, 200, 256, 320, 384, 448, 512, 768, 1024, 2048] {
        let costs = [
            machine.cost_us(Access::Read, kib),
            machine.cost_us(Access::Modify, kib),
            machine.cost_us(Access::ModifyStrided, kib),
            lru.cost_us(Access::Modify, kib),
        ];
        grid.rows
            .push(std::iter::once(kib.to_string()).chain(costs.map(|cost| format!("{cost:.1}"))).collect());
    }
    table.grid = Some(grid);
    table
}
