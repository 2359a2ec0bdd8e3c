//! A watch without end: what was seen so far, whenever it is asked for.

#[cfg(test)]
mod tests;

use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Mode, Options, Target};
use crate::plan::Facts;
use crate::session::{self, CgroupSums, Collector, Source, Status};
use crate::system::{self, Cgroup, Detail};
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_trace::SourceKind;
use swtch_trace::accumulate::{History, Tables};
use swtch_trace::model::Header;

/// A watch without end: a recording that is not written. Programs in the kernel are detached when it is dropped.
pub struct Live {
    source: Box<dyn Source>,
    /// As it was at the last poll.
    status: Status,
    header: Header,
    group: Option<Cgroup>,
    cgroups: CgroupSums,
}

/// The state at one time, in the types of a Trace. Figures are sums since the watch began.
///
/// Memory stays bounded by what exists: a task that ended is in one snapshot and then forgotten. Quantiles, longest times and pairs are of the
/// time since the last snapshot. Histograms, intervals and single interrupts are left out.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When, ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Totals and circumstances. CPU times and pressure are the kernel's own counters, since the machine was started.
    pub header: Header,
    /// The small tables; CPUs are those that are on, with their times since the machine was started.
    pub tables: Tables,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Live").field("scope", &self.header.scope).finish_non_exhaustive()
    }
}

impl Live {
    /// Begins to watch running tasks; a command is not started.
    ///
    /// # Errors
    /// When the target is not there or the source cannot be used.
    pub fn begin(
        target: Target,
        source: Option<SourceKind>,
        mode: Option<Mode>,
    ) -> Result<Self, RecordError> {
        let options = Options { source, mode, ..Options::new(target, PathBuf::new()) };
        let (mut header, source, group) = session::prepare(&options, &Facts::of(&options.target))?;
        let cgroups = CgroupSums::begin();
        let source = session::open(&options, History::Recent, source, group.as_ref(), &mut header)?;
        let status = source.status();
        Ok(Self { source, status, header, group, cgroups })
    }

    /// When to poll again, at the latest, where a snapshot is taken at each `interval`.
    pub fn period(&self, interval: Duration) -> Duration {
        let period = self.status.period;
        // A sample of all tasks costs as much as a snapshot: two an interval find most threads that come and go, and the kernel keeps the counts
        // of all others.
        let sampled = self.header.provenance.source().is_some_and(SourceKind::is_sampled);
        if sampled { period.max(interval / 2) } else { period }
    }

    /// Takes in what happened since the last time.
    pub fn poll(&mut self) {
        // Single switches are for a recording that is written.
        drop(self.source.poll());
        self.status = self.source.status();
    }

    /// Whether what is watched was still there at the last poll.
    pub fn alive(&self) -> bool {
        self.status.alive
    }

    /// Everything so far.
    pub fn snapshot(&mut self) -> Snapshot {
        self.poll();
        let now_ns = monotonic_ns();
        let mut tables = self.source.snapshot(now_ns, &mut self.header);
        self.cgroups.add(&mut self.header, &mut tables);
        self.header.duration_ns = now_ns.saturating_sub(self.header.provenance.started_monotonic_ns);
        let system = system::Snapshot::read(Path::new("/"), self.group.as_ref(), Detail::Totals);
        let mut header = self.header.clone();
        session::add_machine_state(&system, &mut header, &mut tables);
        Snapshot { at_ns: system.monotonic_ns, header, tables }
    }
}
