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
    let SpinningProcess { threads, program, pid, .. } = process;
    let (cpus, share) = (process.room(), process.waiting_percent());
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
