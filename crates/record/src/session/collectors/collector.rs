//! What adds to the tables of the source.

use crate::system::Snapshot;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::Header;

/// Reads something that the source does not see.
pub(crate) trait Collector {
    /// The command runs as process `pid`.
    fn started(&mut self, _pid: u32) {}
    /// Reads what is due.
    fn poll(&mut self, _now_ns: u64) {}
    /// Reads for the last time; `end` are the kernel's counters at the end.
    fn finish(&mut self, _end: &Snapshot) {}
    /// Adds what it knows so far to the tables of the source.
    fn add(&mut self, header: &mut Header, tables: &mut Tables);
}
