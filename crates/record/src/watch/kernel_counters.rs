//! Where programs in the kernel are not to be had: the kernel's own counters are all there is.

use crate::error::RecordError;
use crate::session::{Source, Status, own_cost};
use std::time::Duration;
use swtch_trace::accumulate::Tables;
use swtch_trace::fields;
use swtch_trace::model::Header;
use swtch_trace::tables::SwitchRow;

/// A source that sees no task.
pub(super) struct KernelCounters;

impl Source for KernelCounters {
    fn launch(&mut self, start: &mut dyn FnMut() -> Result<u32, RecordError>) -> Result<(), RecordError> {
        start().map(drop)
    }

    fn poll(&mut self) -> Vec<SwitchRow> {
        Vec::new()
    }

    fn status(&self) -> Status {
        Status { period: Duration::from_secs(1), alive: true, ..Status::default() }
    }

    fn finish(&mut self, _: u64) -> Vec<SwitchRow> {
        Vec::new()
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
