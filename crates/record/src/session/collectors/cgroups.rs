//! What each cgroup came to: the sums of its tasks, and what its quota did.

use super::collector::Collector;
use crate::system::Hierarchy;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use swtch_trace::accumulate::Tables;
use swtch_trace::growth::Growth;
use swtch_trace::model::{Header, Throttled, Totals};
use swtch_trace::tables::{CgroupRow, Merge, TaskRow};
use swtch_trace::{CgroupName, PodNames, fields};

/// Groups with rows of their own, those with most switches; the rest shares one.
const MOST: usize = 1000;
/// The name of what is in no group that could be found out.
const UNKNOWN: &str = "unknown cgroup";

/// Why no task's cgroup is known.
pub(crate) const NO_HIERARCHY: &str = "no hierarchy of cgroups is mounted where swtch can see it";

/// The cgroups of a recording.
#[derive(Debug, Default)]
pub(crate) struct CgroupSums {
    hierarchy: Option<Hierarchy>,
    /// The quotas were read for the last time.
    is_over: bool,
    /// What the quota of each group that has one had done before the recording, and by the last time it could be read.
    quotas: HashMap<String, (Throttled, Throttled)>,
}

impl CgroupSums {
    /// Reads the quotas of the groups that are there. One that is made later has done nothing before.
    pub(crate) fn begin() -> Self {
        let root = Path::new("/");
        let hierarchy = Hierarchy::find(root);
        let read = |hierarchy: &Hierarchy, path: String| {
            let before = hierarchy.throttling(root, &path)?;
            Some((path, (before, before)))
        };
        let found = hierarchy.iter().flat_map(|hierarchy| {
            hierarchy.walk(root).into_iter().filter_map(|found| read(hierarchy, found.path))
        });
        let quotas = found.collect();
        Self { hierarchy, is_over: false, quotas }
    }

    /// Those of the time between two that were begun.
    pub(crate) fn between(begin: &Self, end: &Self) -> Self {
        let mut new = Self { hierarchy: end.hierarchy.clone(), is_over: true, quotas: HashMap::new() };
        for (path, (_, now)) in &end.quotas {
            let before = begin.quotas.get(path).map_or_else(Throttled::default, |(_, then)| *then);
            // Where periods fell, it is another group of that name.
            let before = if before.periods <= now.periods { before } else { Throttled::default() };
            new.quotas.insert(path.clone(), (before, *now));
        }
        new
    }

    fn rows(&mut self, tasks: &[TaskRow], more: &[CgroupRow]) -> Vec<CgroupRow> {
        let mut rows = sums(tasks, more);
        for row in &mut rows {
            if let Some(throttling) = self.throttling(&row.path) {
                row.throttled_periods = Some(throttling.throttled_periods);
                row.throttled_ns = Some(throttling.throttled_ns);
            }
        }
        rows.sort_by_key(|row| Reverse(row.voluntary + row.involuntary));
        let mut rows = bounded(rows);
        // Read at the end: a pod that began during the recording has its directory by now.
        let pods = PodNames::read(Path::new("/"));
        for row in &mut rows {
            let CgroupName { kind, name, namespace, pod, container, id: _ } = pods.name(&row.path);
            (row.kind, row.name) = (Some(kind), Some(name));
            (row.namespace, row.pod, row.container) = (namespace, pod, container);
        }
        rows
    }

    /// What the quota of a group did during the recording; up to when it was last seen, if it is gone.
    fn throttling(&mut self, path: &str) -> Option<Throttled> {
        let read = self.hierarchy.as_ref().filter(|_| !self.is_over);
        let now = read.and_then(|hierarchy| hierarchy.throttling(Path::new("/"), path));
        let (before, last) = match (self.quotas.get_mut(path), now) {
            (Some(quota), Some(now)) if now.periods >= quota.1.periods => {
                quota.1 = now;
                *quota
            }
            (Some(quota), None) => *quota,
            // A new group, or another one of that name.
            (_, Some(now)) => {
                let new = (Throttled::default(), now);
                self.quotas.insert(path.to_owned(), new);
                new
            }
            (None, None) => return None,
        };
        let totals = |throttled| Totals { throttled: Some(throttled), ..Totals::default() };
        totals(last).delta(&totals(before), &Growth::default()).throttled
    }
}

impl Collector for CgroupSums {
    /// Makes the table from that of the tasks. What the source put there says how many threads of a group share a row with others.
    fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        tables.cgroups = self.rows(&tables.tasks, &tables.cgroups);
        if self.hierarchy.is_none() {
            if !header.lacks(&fields::CGROUPS) {
                header.miss(fields::CGROUPS, NO_HIERARCHY);
            }
            return;
        }
        header.set_source(
            "cgroups.name",
            "the paths of the cgroups, and the kubelet's /var/log/pods and /var/log/containers",
        );
        header.set_source("cgroups", "sums of the tasks by their last cgroup");
        header.set_source("cgroups.throttled_ns", "cpu.stat of each cgroup that has a quota");
    }
}

/// The sums of the tasks that were to be recorded; nothing where no task's group is known.
fn sums(tasks: &[TaskRow], more: &[CgroupRow]) -> Vec<CgroupRow> {
    let ours = || tasks.iter().filter(|task| task.in_scope);
    if ours().all(|task| task.cgroup.is_none()) {
        return Vec::new();
    }
    let mut rows: BTreeMap<&str, CgroupRow> = BTreeMap::new();
    for task in ours() {
        let row = rows.entry(task.cgroup.as_deref().unwrap_or(UNKNOWN)).or_default();
        row.voluntary += task.voluntary;
        row.involuntary += task.involuntary;
        row.run_ns += task.run_ns;
        row.wait_ns += task.wait_ns;
        row.tasks += 1;
    }
    for group in more {
        if let Some(row) = rows.get_mut(group.path.as_str()) {
            row.tasks += group.tasks;
        }
    }
    rows.into_iter().map(|(path, row)| CgroupRow { path: path.to_owned(), ..row }).collect()
}

/// The first rows, and one for the rest.
fn bounded(mut rows: Vec<CgroupRow>) -> Vec<CgroupRow> {
    if rows.len() <= MOST {
        return rows;
    }
    let rest = rows.split_off(MOST - 1);
    let mut all = CgroupRow { path: format!("{} more cgroups", rest.len()), ..CgroupRow::default() };
    // Those without a quota were not stopped by one.
    let stopped = |of: fn(&CgroupRow) -> Option<u64>| rest.iter().filter_map(of).reduce(u64::saturating_add);
    let throttled = (stopped(|row| row.throttled_periods), stopped(|row| row.throttled_ns));
    for row in &rest {
        all.merge(row);
    }
    (all.throttled_periods, all.throttled_ns) = throttled;
    rows.push(all);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(path: Option<&str>, voluntary: u64) -> TaskRow {
        let cgroup = path.map(str::to_owned);
        TaskRow {
            cgroup,
            voluntary,
            involuntary: 1,
            run_ns: 10,
            wait_ns: 3,
            in_scope: true,
            ..TaskRow::default()
        }
    }

    #[test]
    fn groups_are_the_sums_of_their_tasks_and_nothing_is_left_out() {
        let outside = TaskRow { in_scope: false, ..task(Some("/web"), 900) };
        let tasks =
            [task(Some("/web"), 5), task(Some("/web"), 6), task(Some("/db"), 7), task(None, 1), outside];
        let more = [CgroupRow { path: "/db".into(), tasks: 4, ..CgroupRow::default() }];
        let rows = sums(&tasks, &more);
        let found: Vec<(&str, u64, u64)> =
            rows.iter().map(|row| (row.path.as_str(), row.voluntary, row.tasks)).collect();
        assert_eq!(found, [("/db", 7, 5), ("/web", 11, 2), (UNKNOWN, 1, 1)]);
        assert_eq!((rows[1].involuntary, rows[1].run_ns, rows[1].wait_ns), (2, 20, 6));
        assert!(sums(&[task(None, 5)], &[]).is_empty(), "no group is known");
    }

    #[test]
    fn of_very_many_groups_the_rest_is_summed() {
        let paths: Vec<String> = (0..MOST + 50).map(|number| format!("/g{number}")).collect();
        let tasks: Vec<TaskRow> = paths.iter().map(|path| task(Some(path), 2)).collect();
        let rows = bounded(sums(&tasks, &[]));
        assert_eq!((rows.len(), rows[MOST - 1].path.as_str()), (MOST, "51 more cgroups"));
        assert_eq!(rows.iter().map(|row| row.voluntary).sum::<u64>(), 2 * paths.len() as u64);
        assert_eq!(rows.iter().map(|row| row.tasks).sum::<u64>(), paths.len() as u64);
    }
}
