//! `/proc/interrupts` (kernel/irq/proc.c and arch/*/kernel/irq.c, Linux 6.18) and `/proc/softirqs` (fs/proc/softirqs.c).

use swtch_trace::model::Unavailable;

/// Counters by line and CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterTable {
    /// The CPUs, in the order of [`CounterRow::counts`]. Of interrupts, those that are on; of soft interrupts, all.
    pub cpus: Vec<u32>,
    /// The lines, in the kernel's order.
    pub rows: Vec<CounterRow>,
}

/// One line of a [`CounterTable`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterRow {
    /// The line's label: `24`, `LOC`, `TIMER`.
    pub line: String,
    /// The device that asked for the interrupt (`virtio2-input.0`), or what an architecture's line counts (`Local timer interrupts`).
    /// Empty for soft interrupts.
    pub name: String,
    /// A count for each CPU of the table; empty when the line counts for the whole machine.
    pub counts: Vec<u64>,
    /// The count of a line without CPUs (`ERR`, `MIS`).
    pub machine: Option<u64>,
}

impl CounterRow {
    /// The count of all CPUs together.
    pub fn total(&self) -> u64 {
        self.counts.iter().copied().chain(self.machine).fold(0, u64::saturating_add)
    }
}

/// Lines that count for the whole machine, on x86 and on Arm. On a machine with one CPU they look like any other.
const WITHOUT_PROCESSORS: [&str; 3] = ["ERR", "MIS", "Err"];

/// Parses either file; nothing when its first line names no CPUs. Lines that are not understood are passed over.
pub(super) fn parse(text: &str) -> Option<CounterTable> {
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines
        .next()?
        .split_whitespace()
        .map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect::<Option<_>>()
        .filter(|cpus: &Vec<u32>| !cpus.is_empty())?;
    let rows = lines.filter_map(|line| parse_row(line, cpus.len())).collect();
    Some(CounterTable { cpus, rows })
}

fn parse_row(line: &str, cpus: usize) -> Option<CounterRow> {
    let (label, mut rest) = line.split_once(':')?;
    let label = label.trim();
    let mut counts = Vec::with_capacity(cpus);
    while counts.len() < cpus {
        let start = rest.trim_start();
        let end = start.find(char::is_whitespace).unwrap_or(start.len());
        let Ok(count) = start[..end].parse() else { break };
        counts.push(count);
        rest = &start[end..];
    }
    let mut row = CounterRow { line: label.to_owned(), ..CounterRow::default() };
    if label.is_empty() || counts.is_empty() {
        return None;
    } else if WITHOUT_PROCESSORS.contains(&label) {
        row.machine = counts.first().copied();
        return Some(row);
    } else if counts.len() < cpus {
        return None;
    }
    row.counts = counts;
    if label.bytes().all(|byte| byte.is_ascii_digit()) {
        // `PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0`: names are set off by two blanks, and so is their absence.
        rest = rest.rsplit_once("  ").map_or("", |(_, name)| name);
    }
    row.name = words(rest);
    Some(row)
}

/// The text with single blanks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parses the file `/proc/WHAT`, or says why there is nothing.
pub(super) fn judged(
    what: &'static str,
    text: Result<String, String>,
    unavailable: &mut Vec<Unavailable>,
) -> Option<CounterTable> {
    let why = match text.map(|text| parse(&text)) {
        Ok(Some(table)) if table.rows.iter().any(|row| row.total() > 0) => return Some(table),
        Ok(Some(_)) => {
            format!(
                "all of /proc/{what} is zero, which cannot be: this kernel, perhaps a sandbox, does not count"
            )
        }
        Ok(None) => format!("/proc/{what} does not begin with the names of CPUs"),
        Err(why) => why,
    };
    unavailable.push(Unavailable::new(what, why));
    None
}
