//! Processes whose threads wait on the CPUs that others of them need.

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
