//! Tasks together: processes and cgroups.

use super::rates::{TaskPair, TopRow};
use super::window::{Window, add_behind};
use std::collections::BTreeMap;

/// What a line of the table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// A task, that is a thread.
    #[default]
    Tasks,
    /// A process: its threads together.
    Processes,
    /// A CPU.
    Cpus,
    /// A cgroup: its tasks together, without those of groups below it.
    Cgroups,
}

impl Window {
    /// Processes: the sums of their threads, under the name of the first thread.
    pub fn processes(&self) -> Vec<TopRow> {
        grouped(
            &self.tasks,
            |row| row.pid,
            |pid, row| {
                if row.tid == Some(*pid) || row.name.is_empty() { Some(row.name.clone()) } else { None }
            },
        )
        .into_iter()
        .map(|(pid, row)| TopRow { pid: Some(pid), ..row })
        .collect()
    }

    /// Cgroups: the sums of their tasks. Tasks whose group is not known are together under `?`.
    pub fn cgroups(&self) -> Vec<TopRow> {
        let path = |row: &TopRow| Some(row.cgroup.clone().unwrap_or_else(|| "?".to_owned()));
        grouped(&self.tasks, path, |path, _| Some(path.clone()))
            .into_values()
            .map(|row| TopRow { pid: None, ..row })
            .collect()
    }
}

fn grouped<K: Ord>(
    tasks: &[TopRow],
    key: impl Fn(&TopRow) -> Option<K>,
    name: impl Fn(&K, &TopRow) -> Option<String>,
) -> BTreeMap<K, TopRow> {
    let mut groups: BTreeMap<K, TopRow> = BTreeMap::new();
    for task in tasks {
        let Some(key) = key(task) else { continue };
        let wanted = name(&key, task);
        match groups.entry(key) {
            std::collections::btree_map::Entry::Vacant(place) => {
                let first =
                    TopRow { tid: None, name: wanted.unwrap_or_else(|| task.name.clone()), ..task.clone() };
                place.insert(first);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                let sum = place.get_mut();
                if let Some(name) = wanted {
                    sum.name = name;
                }
                sum.tasks += 1;
                sum.rates = sum.rates.plus(&task.rates);
                sum.kernel_thread &= task.kernel_thread;
                sum.ended &= task.ended;
                if let (Some(sum), Some(more)) = (&mut sum.behind, &task.behind) {
                    add_behind(sum, more);
                }
                add(&mut sum.preempted_by, task.preempted_by.as_deref());
                add(&mut sum.woken_by, task.woken_by.as_deref());
            }
        }
    }
    groups
}

fn add(sum: &mut Option<Vec<TaskPair>>, more: Option<&[TaskPair]>) {
    let (Some(sum), Some(more)) = (sum, more) else { return };
    for pair in more {
        match sum.iter_mut().find(|known| known.tid == pair.tid) {
            Some(known) => {
                known.per_s += pair.per_s;
                known.wait_share = known.wait_share.zip(pair.wait_share).map(|(one, other)| one + other);
            }
            None => sum.push(pair.clone()),
        }
    }
    sum.sort_by(|a, b| b.per_s.total_cmp(&a.per_s).then(a.tid.cmp(&b.tid)));
}
