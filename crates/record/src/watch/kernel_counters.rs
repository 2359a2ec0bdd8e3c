//! Where programs in the kernel are not to be had: the kernel's own counters are all there is.

use crate::session::{Source, Status, own_cost};
use std::time::Duration;
use swtch_trace::accumulate::Tables;
use swtch_trace::fields;
use swtch_trace::model::Header;

/// A source that sees no task.
pub(super) struct KernelCounters;

impl Source for KernelCounters {
    fn status(&self) -> Status {
        Status { period: Duration::from_secs(1), alive: true, ..Status::default() }
    }

    fn snapshot(&mut self, _: u64, header: &mut Header) -> Tables {
        header.recorder = own_cost(None);
        header.unavailable.clear();
        let unseen = [
            fields::TASKS,
            fields::CPUS,
            fields::HISTOGRAMS,
            fields::TOTALS_CONTEXT_SWITCHES,
            fields::TOTALS_PROCESSES,
        ];
        let why = header.provenance.why.clone();
        header.miss_all(unseen, &why);
        Tables::default()
    }
}
