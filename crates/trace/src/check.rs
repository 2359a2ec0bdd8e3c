//! Figures of a Trace that cannot be true, found before any of them is printed.
//!
//! [`Trace::open`](crate::Trace::open) calls this for every reader, and a recorder calls it for what it has just written. The checks
//! allow for lost events and for a scope that is only a part of the machine. They allow for sources that sample or only count, and
//! for the coarse clocks of the kernel's own sums. The bounds of time are therefore wide by 2 % and a tenth of a second, or by a
//! second for the kernel's own sums. The kernel updates those at a CPU's tick, which a stolen CPU misses.

mod histograms;
mod sums;
mod tasks;
mod times;

use crate::fields;
use crate::model::{Ended, Origin};
use crate::tables::{Tables, TraceView};
use swtch_units::input_error::{Checks, Refused};

/// No switch takes less, ns; the fastest that were measured took some 200.
const SHORTEST_SWITCH_NS: u64 = 50;
/// Counts below this are not compared with rates: a recording may be shorter than the clock's resolution.
const FEW: u64 = 1000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// What bounds a time, for messages.
const LENGTH: &str = "the recording's length with its tolerance in ns";

/// Refuses a Trace with a figure that cannot be true.
///
/// ```
/// use swtch_trace::check::check;
/// use swtch_trace::model::{Header, Provenance, Scope};
/// use swtch_trace::tables::{Tables, TaskRow};
///
/// let header = Header { duration_ns: 12_000_000_000, ..Header::new(Provenance::default(), Default::default(), Scope::Machine) };
/// let task = TaskRow { tid: 7, in_scope: true, involuntary: (1 << 32) + 475, ..TaskRow::default() };
/// let tables = Tables { tasks: vec![task], ..Tables::default() };
/// let refused = check(tables.view(&header)).unwrap_err();
/// assert!(refused.to_string().starts_with("tasks.involuntary of tid 7"));
/// ```
///
/// # Errors
/// [`Refused`], which names the first figure and what it contradicts.
pub fn check(trace: TraceView<'_>) -> Result<(), Refused> {
    checks(trace).finish()
}

/// All checks of a Trace, made.
pub fn checks(trace: TraceView<'_>) -> Checks {
    let mut checks = Checks::default();
    let facts = Facts::of(trace);
    tasks::check(trace, &facts, &mut checks);
    times::check(trace, &facts, &mut checks);
    histograms::check(trace, &facts, &mut checks);
    if facts.whole {
        sums::check(trace, &facts, &mut checks);
    }
    checks
}

/// What the checks go by.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// Length of the recording, ns.
    span_ns: u64,
    /// CPUs that there may have been; 0 when that is not known.
    cpus: u64,
    /// Events that were lost.
    lost: u64,
    /// The recorder finished, so that header and tables are of one moment.
    whole: bool,
    /// A real kernel's: its switches take time.
    real: bool,
    /// Some events may be missing uncounted: another tool's text.
    gappy: bool,
    /// Times of tasks are the kernel's sums, not differences of events.
    kernel_sums: bool,
    /// Wake-ups are counted, each by itself.
    wakeups: bool,
    /// Time that the hypervisor took, ns: the kernel may count it late.
    stolen_ns: u64,
}

impl Facts {
    fn of(trace: TraceView<'_>) -> Self {
        let TraceView { header, tables } = trace;
        let Tables { tasks, cpus, intervals, .. } = tables;
        let whole = !matches!(header.provenance.ended, Ended::Recording | Ended::DiskFull | Ended::Failed);
        let ends = intervals.iter().map(|row| row.at_ns.saturating_add(row.length_ns));
        let seen_ns = tasks.iter().map(|row| row.last_ns).chain(ends).max().unwrap_or(0);
        let source = |column: &str| header.sources.get(column).map_or("", String::as_str);
        let by_kernel = |column: &str| {
            let source = source(column);
            source.contains("kernel") || source.contains("procfs") || source.contains("/proc")
        };
        let made_up = source("tasks.wakeups").contains("as many as");
        let origin = header.provenance.origin;
        Self {
            span_ns: if whole { header.duration_ns } else { header.duration_ns.max(seen_ns) },
            cpus: header.host.cpus.len().max(cpus.len()) as u64,
            lost: header.lost_events(),
            whole,
            real: origin != Origin::Simulated,
            gappy: origin == Origin::Imported,
            kernel_sums: by_kernel("tasks.wait_ns") || by_kernel("tasks"),
            wakeups: origin != Origin::Imported
                && !made_up
                && !header.lacks(&fields::TASKS_WAKEUPS)
                && !header.lacks(&fields::TOTALS_WAKEUPS),
            stolen_ns: header.totals.cpu_ns.steal.unwrap_or(0),
        }
    }

    /// The longest that one CPU, or one task, can have done anything, by differences of events, ns.
    fn wall_ns(&self) -> u64 {
        with_tolerance(self.span_ns, 50, 100 * MS)
    }

    /// The same by the kernel's own sums, which are brought up to date late.
    fn kernel_wall_ns(&self) -> u64 {
        self.wall_ns().saturating_add(SECOND).saturating_add(self.stolen_ns)
    }

    /// The longest that a task can have run, ns.
    fn run_wall_ns(&self) -> u64 {
        if self.kernel_sums { self.kernel_wall_ns() } else { self.wall_ns() }
    }

    /// The most that can have been counted on one CPU.
    fn most(&self) -> u64 {
        (self.span_ns / SHORTEST_SWITCH_NS).saturating_add(FEW)
    }

    /// A count and what it may be off by: lost events, and a thousandth for what is read at two moments.
    fn slack(&self, count: u64) -> u64 {
        (count / 1000).saturating_add(16).saturating_add(self.lost)
    }
}

/// A figure and its tolerance: this part of it, and some more.
fn with_tolerance(figure: u64, parts: u64, more: u64) -> u64 {
    figure.saturating_add(figure / parts).saturating_add(more)
}

/// The sum of a column, which a damaged file must not make overflow.
fn sum<R>(rows: &[R], of: impl Fn(&R) -> u64) -> u64 {
    rows.iter().map(of).fold(0, u64::saturating_add)
}

/// The same of a column that not every row has; none when none has it.
fn sum_known<R>(rows: &[R], of: impl Fn(&R) -> Option<u64>) -> Option<u64> {
    rows.iter()
        .filter_map(of)
        .fold(None, |sum: Option<u64>, more| Some(sum.unwrap_or(0).saturating_add(more)))
}

#[cfg(test)]
mod tests;
