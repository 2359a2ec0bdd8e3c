//! A watch without end: a source is polled, snapshots are taken, and what happened is the difference between two of them.
//!
//! `swtch top` takes snapshots of any target with a [`Watch`]. `swtch serve` asks a [`MachineWatch`], the same loop, for differences of the
//! whole machine. They have the use of cgroups by their own files. Differences that cannot be true are marked.

mod groups;
mod guard;
mod kernel_counters;
mod machine;
#[cfg(test)]
mod tests;

pub use crate::session::Counted;
pub use groups::GroupUse;
pub use guard::CHECKED;
pub use machine::{MachineDelta, MachineWatch};

use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Mode, Options, Target};
use crate::plan::Facts;
use crate::rights;
use crate::session::{self, Source, Status};
use crate::system::{self, Cgroup, Detail, Hierarchy};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swtch_trace::accumulate::History;
use swtch_trace::model::Header;
use swtch_trace::{Snapshot, SourceKind, fields};

/// A recording that is not written. Memory stays bounded by what exists. Programs in the kernel are detached when it is dropped.
pub struct Watch {
    source: Box<dyn Source>,
    /// As it was at the last poll.
    status: Status,
    header: Header,
    group: Option<Cgroup>,
    detail: Detail,
    /// The kernel's own counters at the last snapshot.
    system: system::Snapshot,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watch").field("scope", &self.header.scope).finish_non_exhaustive()
    }
}

impl Watch {
    /// Begins to watch running tasks; a command is not started. Counting sees every switch a share of the time, `sample`.
    ///
    /// # Errors
    /// When the target is not there or the source cannot be used.
    pub fn begin(
        target: Target,
        source: Option<SourceKind>,
        mode: Option<Mode>,
        sample: f64,
    ) -> Result<Self, RecordError> {
        let options = Options { source, mode, sample, ..Options::new(target, PathBuf::new()) };
        let (mut header, source, group) = session::prepare(&options, &Facts::of(&options.target))?;
        let source = session::open(&options, History::Recent, source, group.as_ref(), &mut header)?;
        Ok(Self::of(source, header, group, Detail::Totals))
    }

    fn of(source: Box<dyn Source>, header: Header, group: Option<Cgroup>, detail: Detail) -> Self {
        let status = source.status();
        Self { source, status, header, group, detail, system: system::Snapshot::default() }
    }

    /// Gives up the capabilities of the calling thread that the rest of the watch does not need. Where that is refused, the header says why.
    pub fn drop_capabilities(&mut self) {
        if let Some(source) = self.header.provenance.source() {
            rights::keep_only(rights::of_watch(source, &self.header), &mut self.header);
        }
    }

    /// When to poll again, at the latest, where a snapshot is taken at each `interval`.
    pub fn period(&self, interval: Duration) -> Duration {
        let period = self.status.period;
        // A sample of all tasks costs as much as a snapshot. Two an interval find most threads that come and go, and the kernel keeps the
        // counts of all others.
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
        self.header.duration_ns = now_ns.saturating_sub(self.header.provenance.started_monotonic_ns);
        self.system = system::Snapshot::read(Path::new("/"), self.group.as_ref(), self.detail);
        let mut header = self.header.clone();
        session::add_machine_state(&self.system, &mut header, &mut tables);
        if self.detail == Detail::Totals && Hierarchy::find(Path::new("/")).is_none() {
            header.miss(fields::CGROUPS, session::NO_HIERARCHY);
        }
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_ns = unix.map_or(0, |since| since.as_nanos() as u64);
        Snapshot { at_ns: self.system.monotonic_ns, unix_ns, header, tables }
    }
}
