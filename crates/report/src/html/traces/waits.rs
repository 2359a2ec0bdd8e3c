//! How long each program waited for a CPU, and what had the CPU meanwhile.

use swtch_cost::{ProgramWaits, WaitPart};
use swtch_trace::fields;

use super::{PricedTrace, Traces};
use crate::html::prelude::*;
use crate::wording::waits;

/// Rows of each table.
const MOST: usize = 100;

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let intro = "A wait is time in which a task was ready and had no CPU. Each wait is charged to what had \
                 that CPU meanwhile. That is other tasks, its own program’s tasks, interrupts, or nothing, \
                 while the CPU came out of idle. A quota that stopped the task has the time until its cgroup \
                 runs again. Short tasks of one name are one row.";
    let known = |priced: &PricedTrace| priced.bill.waits.is_some();
    let tables = subjects.iter().filter_map(|one| {
        let programs = &one.of.bill.waits.as_ref()?.programs;
        Some([table_of_programs(one, programs), table_of_parts(one, programs)])
    });
    Section::new("waits", "Waits for a CPU", intro).put(tables.flatten()).put(subjects.lacking(
        "waits by program",
        &[fields::WAITS],
        known,
    ))
}

fn percent(title: &'static str, share: Option<f64>) -> Cell {
    Cell::figure(title, share, |share| format!("{:.0} %", 100.0 * share))
}

fn table_of_programs(one: One<'_, PricedTrace>, programs: &[ProgramWaits]) -> Table {
    let row = |program: &ProgramWaits| {
        let idle = program.idle_elsewhere_ns.map(|ns| ns as f64 / program.wait_ns.max(1) as f64);
        let cells = vec![
            Cell::count("Tasks", program.tasks),
            Cell::count("Waits", program.waits),
            Cell::time("Waited in all", program.wait_ns),
            Cell::time("After wake-ups", program.woken_ns),
            Cell::time("After preemptions", program.preempted_ns),
            Cell::time("Wait p50", program.p50_ns),
            Cell::time("p99", program.p99_ns),
            Cell::time("Longest", program.max_ns),
            percent("Another CPU was idle", idle),
        ];
        TableRow::new(&program.program, cells)
    };
    let rows = programs.iter().take(MOST).map(row);
    Table::new(one.prefixed(&title("Programs that waited", programs.len())), "Program", rows).sortable()
}

fn table_of_parts(one: One<'_, PricedTrace>, programs: &[ProgramWaits]) -> Table {
    let parts = programs.iter().flat_map(|program| program.behind.iter().map(move |part| (program, part)));
    let mut parts: Vec<(&ProgramWaits, &WaitPart)> = parts.collect();
    parts.sort_by_key(|(_, part)| std::cmp::Reverse(part.ns));
    let row = |(program, part): &(&ProgramWaits, &WaitPart)| {
        let cells = vec![
            Cell::text("Waited", waits::place(part, program)),
            Cell::time("Time", part.ns),
            percent("Of its waiting", Some(part.share)),
            Cell::time("After wake-ups", part.woken_ns),
            Cell::time("After preemptions", part.preempted_ns),
        ];
        TableRow::new(&program.program, cells)
    };
    let rows = parts.iter().take(MOST).map(row);
    Table::new(one.prefixed(&title("What they waited behind", parts.len())), "Program", rows).sortable()
}

fn title(what: &str, rows: usize) -> String {
    if rows > MOST {
        format!("{what}: the longest {MOST} of {}", text::count(rows as u64))
    } else {
        what.to_owned()
    }
}
