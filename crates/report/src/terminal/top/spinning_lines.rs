//! A line for each process whose threads wait on the CPUs that others of them need.

use super::cells::printable;
use super::header::{Pieces, Tone};
use super::spinning::TopSpinning;
use swtch_cost::SpinningProcess;

/// The lines of a window's.
pub(super) fn lines(found: &[TopSpinning]) -> Vec<Pieces> {
    found.iter().map(line).collect()
}

fn line(one: &TopSpinning) -> Pieces {
    let TopSpinning { process, remedy } = one;
    let SpinningProcess { threads, program, pid, cpus, by_quota, waiting, involuntary, .. } = process;
    let cpus = match (by_quota, cpus) {
        (true, cpus) => format!("a quota of {cpus:.1} CPUs"),
        (false, 1.0) => "1 CPU".to_owned(),
        (false, cpus) => format!("{cpus} CPUs"),
    };
    let share = 100.0 * *waiting as f64 / (*involuntary).max(1) as f64;
    vec![
        (
            format!(
                "{threads} threads of {} ({pid}) on {cpus}: those that wait hold them",
                printable(program)
            ),
            Tone::Warning,
        ),
        (format!("{share:.0} % of its involuntary switches"), Tone::Plain),
        (format!("try {remedy}"), Tone::Plain),
    ]
}
