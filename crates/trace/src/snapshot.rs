//! Snapshots of a watch without end, and what happened between two of them.

use crate::growth::Growth;
use crate::model::{Header, Lost, RecorderCost};
use crate::tables::{CpuRow, Tables, TaskRow};
use std::borrow::Cow;
use std::collections::HashSet;

/// What a watch knows at a moment, in the types of a Trace.
///
/// Figures are sums since the watch began. CPU times and pressure are the kernel's own, since the machine was started. Quantiles, longest times
/// and pairs of tasks are of the time since the snapshot before. A task that ended is in one snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When, ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// When, ns since 1970.
    pub unix_ns: u64,
    /// Totals and circumstances.
    pub header: Header,
    /// The small tables. A CPU without times is off, where others have times.
    pub tables: Tables,
}

/// What happened between two snapshots.
#[derive(Clone, Debug)]
pub struct Delta {
    /// Totals, losses and the recorder's CPU time are of this time only, and its length is the duration.
    pub header: Header,
    /// What changed, by the rules of the columns. A task that ended is in it with what it did last.
    pub tables: Tables,
}

impl Snapshot {
    /// What happened since `earlier`. Counters that fell are counted in `growth`.
    ///
    /// ```
    /// use swtch_trace::growth::Growth;
    /// use swtch_trace::model::{Header, Provenance, Scope};
    /// use swtch_trace::tables::{Tables, TaskRow};
    /// use swtch_trace::Snapshot;
    /// let at = |at_ns, voluntary| Snapshot {
    ///     at_ns,
    ///     unix_ns: at_ns,
    ///     header: Header::new(Provenance::default(), Default::default(), Scope::Machine),
    ///     tables: Tables { tasks: vec![TaskRow { tid: 7, voluntary, ..TaskRow::default() }], ..Tables::default() },
    /// };
    /// let delta = at(30, 12).delta(&at(10, 10), &Growth::default());
    /// assert_eq!((delta.header.duration_ns, delta.tables.tasks[0].voluntary), (20, 2));
    /// ```
    #[must_use]
    pub fn delta(&self, earlier: &Self, growth: &Growth) -> Delta {
        let mut tables = self.tables.delta(&renumbered(&earlier.tables, &self.tables), growth);
        // These are of this time already.
        tables.wakes.clone_from(&self.tables.wakes);
        tables.preemptions.clone_from(&self.tables.preemptions);
        let known: HashSet<u32> = earlier.tables.cpus.iter().map(|row| row.cpu).collect();
        for row in tables.cpus.iter_mut().filter(|row| !known.contains(&row.cpu)) {
            // It came on meanwhile, and its times count since some other time.
            let CpuRow { cpu, switches, idle_switches, lost, .. } = *row;
            *row = CpuRow { cpu, switches, idle_switches, lost, ..CpuRow::default() };
        }
        let mut header = self.header.clone();
        header.provenance.started_monotonic_ns = earlier.at_ns;
        header.duration_ns = self.at_ns.saturating_sub(earlier.at_ns);
        header.totals = self.header.totals.delta(&earlier.header.totals, growth);
        header.lost = self.header.lost.iter().map(|row| lost_since(row, &earlier.header.lost)).collect();
        let (now, before) = (&self.header.recorder, &earlier.header.recorder);
        header.recorder = RecorderCost {
            cpu_ns: now.cpu_ns.zip(before.cpu_ns).map(|(now, before)| now.saturating_sub(before)),
            ..now.clone()
        };
        Delta { header, tables }
    }
}

fn lost_since(row: &Lost, earlier: &[Lost]) -> Lost {
    let before = earlier.iter().find(|before| before.cpu == row.cpu && before.what == row.what);
    Lost { events: row.events.saturating_sub(before.map_or(0, |before| before.events)), ..row.clone() }
}

/// The earlier tables, with the tasks by the numbers that they have later. A thread that executes another program goes on under the number
/// of its process. What identifies it then is when it was first seen.
fn renumbered<'a>(earlier: &'a Tables, later: &Tables) -> Cow<'a, Tables> {
    let known: HashSet<(u32, u64)> = earlier.tasks.iter().map(|row| (row.tid, row.first_ns)).collect();
    let is_new = |row: &&TaskRow| row.tid == row.pid && !known.contains(&(row.tid, row.first_ns));
    let new: HashSet<(u32, u64)> =
        later.tasks.iter().filter(is_new).map(|row| (row.pid, row.first_ns)).collect();
    let goes_on = |row: &TaskRow| new.contains(&(row.pid, row.first_ns));
    if !earlier.tasks.iter().any(goes_on) {
        return Cow::Borrowed(earlier);
    }
    let mut earlier = earlier.clone();
    for row in earlier.tasks.iter_mut().filter(|row| goes_on(row)) {
        row.tid = row.pid;
    }
    Cow::Owned(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Provenance, Scope};
    use swtch_topology::Host;

    fn snapshot(at_ns: u64, tasks: Vec<TaskRow>, cpus: Vec<CpuRow>) -> Snapshot {
        let header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
        Snapshot { at_ns, unix_ns: at_ns, header, tables: Tables { tasks, cpus, ..Tables::default() } }
    }

    fn task(tid: u32, pid: u32, first_ns: u64, voluntary: u64) -> TaskRow {
        TaskRow { tid, pid, first_ns, voluntary, ..TaskRow::default() }
    }

    #[test]
    fn another_number_after_exec_is_the_same_task() {
        let earlier = snapshot(1, vec![task(7, 7, 70, 100), task(8, 7, 80, 10)], vec![]);
        let later = snapshot(2, vec![task(7, 7, 80, 11)], vec![]);
        let delta = later.delta(&earlier, &Growth::default());
        assert_eq!(delta.tables.tasks, [task(7, 7, 80, 1)]);
        // Threads of a process that were first seen together are not one.
        let earlier = snapshot(1, vec![task(7, 7, 70, 100), task(8, 7, 70, 10)], vec![]);
        let later = snapshot(2, vec![task(7, 7, 70, 101)], vec![]);
        assert_eq!(later.delta(&earlier, &Growth::default()).tables.tasks, [task(7, 7, 70, 1)]);
    }

    #[test]
    fn the_times_of_a_cpu_that_came_on_are_not_of_this_time() {
        let cpu = |cpu, switches, user_ns| CpuRow { cpu, switches, user_ns, ..CpuRow::default() };
        let earlier = snapshot(1, vec![], vec![cpu(0, 5, Some(50)), cpu(1, 9, None)]);
        let later =
            snapshot(2, vec![], vec![cpu(0, 6, Some(70)), cpu(1, 11, Some(400)), cpu(2, 1, Some(900))]);
        let delta = later.delta(&earlier, &Growth::default());
        assert_eq!(delta.tables.cpus, [cpu(0, 1, Some(20)), cpu(1, 2, None), cpu(2, 1, None)]);
    }

    #[test]
    fn losses_and_own_cost_are_of_the_time() {
        let at = |at_ns, events, cpu_ns| {
            let mut snapshot = snapshot(at_ns, vec![], vec![]);
            let lost = |what: &str, events| Lost { cpu: None, events, what: what.to_owned() };
            snapshot.header.lost = vec![lost("ends", events), lost("arrivals", 0)];
            snapshot.header.recorder = RecorderCost { cpu_ns, bpf_ns: None, memory_bytes: Some(at_ns) };
            snapshot
        };
        let delta = at(30, 12, Some(9)).delta(&at(10, 2, Some(4)), &Growth::default()).header;
        assert_eq!(delta.lost.iter().map(|lost| lost.events).collect::<Vec<_>>(), [10, 0]);
        assert_eq!((delta.recorder.cpu_ns, delta.recorder.memory_bytes), (Some(5), Some(30)));
        assert_eq!((delta.duration_ns, delta.provenance.started_monotonic_ns), (20, 10));
        assert_eq!(
            at(30, 0, Some(9)).delta(&at(10, 0, None), &Growth::default()).header.recorder.cpu_ns,
            None
        );
    }
}
