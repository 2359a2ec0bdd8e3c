//! Recording without writing: what was seen so far, whenever it is asked for.

#[cfg(test)]
mod tests;

use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Mode, Options, SourceKind, Target};
use crate::session::{self, Groups, Run};
use crate::system::{Cgroup, Detail, Snapshot};
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::Header;

/// A recording that nobody writes down. Programs in the kernel are taken off when it is dropped.
pub struct Live {
    run: Box<dyn Run>,
    header: Header,
    group: Option<Cgroup>,
    groups: Groups,
}

/// What was seen from the beginning to now, in the types of a Trace; all figures are sums since the beginning.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Totals and circumstances; what the system counts is in `system` only.
    pub header: Header,
    /// The small tables.
    pub tables: Tables,
    /// The kernel's own counters as they stand now, since the machine was started.
    pub system: Snapshot,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Live").field("scope", &self.header.scope).finish_non_exhaustive()
    }
}

impl Live {
    /// Begins to look at running tasks; a command is not started.
    ///
    /// # Errors
    /// When the target is not there or the source cannot be used.
    pub fn begin(
        target: Target,
        source: Option<SourceKind>,
        mode: Option<Mode>,
    ) -> Result<Self, RecordError> {
        let options = Options { source, mode, ..Options::new(target, PathBuf::new()) };
        let (mut header, source, group) = session::prepare(&options)?;
        let groups = Groups::begin();
        let (run, _) = session::begin(&options, source, group.as_ref(), &mut header)?;
        Ok(Self { run, header, group, groups })
    }

    /// When to look again, at the latest.
    pub fn period(&self) -> Duration {
        self.run.period()
    }

    /// Takes in what happened since the last time.
    pub fn look(&mut self) {
        self.run.look();
    }

    /// Whether what is looked at is still there.
    pub fn alive(&self) -> bool {
        self.run.alive()
    }

    /// Everything so far.
    pub fn sample(&mut self) -> Sample {
        self.run.look();
        // Single switches are for those who write them down.
        drop(self.run.switches());
        let now_ns = monotonic_ns();
        let mut tables = self.run.fill(now_ns, &mut self.header);
        self.groups.fill(&mut self.header, &mut tables);
        self.header.duration_ns = now_ns - self.header.provenance.started_monotonic_ns;
        let system = Snapshot::read(Path::new("/"), self.group.as_ref(), Detail::Everything);
        Sample { header: self.header.clone(), tables, system }
    }

    /// Everything so far, for one who asks again and again without end: memory stays bounded by what exists.
    ///
    /// As [`sample`](Self::sample), but tasks that ended are there once and then forgotten; quantiles and longest times, and who woke and
    /// preempted whom, are of the time since the last call; tasks have their control groups; histograms, intervals and single interrupts are
    /// left out. Sums of the header and of tasks are since the beginning, as ever.
    pub fn recent(&mut self) -> Sample {
        self.run.look();
        drop(self.run.switches());
        let now_ns = monotonic_ns();
        let mut tables = self.run.recent(now_ns, &mut self.header);
        self.groups.fill(&mut self.header, &mut tables);
        self.header.duration_ns = now_ns.saturating_sub(self.header.provenance.started_monotonic_ns);
        let system = Snapshot::read(Path::new("/"), self.group.as_ref(), Detail::Totals);
        Sample { header: self.header.clone(), tables, system }
    }
}
