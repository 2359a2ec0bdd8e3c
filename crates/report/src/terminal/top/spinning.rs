//! Processes whose threads wait on the CPUs that others of them need.

use super::cells::printable;
use super::header::{Pieces, Tone};
use super::window::Window;
use serde::Serialize;
use swtch_cost::{SpinningProcess, spinning_processes};
use swtch_trace::TraceView;

/// Lines about such processes.
const MOST: usize = 2;

/// Such a process, with what to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopSpinning {
    /// What is seen of it.
    #[serde(flatten)]
    pub process: SpinningProcess,
    /// What to change.
    pub remedy: String,
}

impl TopSpinning {
    /// Those of a window, those that waited longest first.
    pub(super) fn of(window: TraceView<'_>, length_ns: u64) -> Vec<Self> {
        let found = spinning_processes(window, length_ns).into_iter().take(MOST);
        found.map(|process| Self { remedy: process.remedy(window), process }).collect()
    }
}

/// A line for each such process of the window.
pub(super) fn lines(window: &Window) -> Vec<Pieces> {
    window.spinning.iter().map(line).collect()
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
