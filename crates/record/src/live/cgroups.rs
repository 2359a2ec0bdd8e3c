//! Which control group each task is in, asked for no oftener than needed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Arc;
use swtch_trace::tables::TaskRow;

/// A task may be moved; it is asked again where after this long, ns, if it ran since.
const ASK_AGAIN_NS: u64 = 10_000_000_000;

/// The groups of the tasks that were there last.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    known: HashMap<(u32, u64), Found>,
    /// Processes are what children come from.
    by_pid: HashMap<u32, Arc<str>>,
}

#[derive(Debug)]
struct Found {
    path: Option<Arc<str>>,
    asked_ns: u64,
    switches: u64,
}

impl Cgroups {
    /// Fills in the paths at `now_ns`, any clock. A task that was gone before it could be asked for is taken to have been where its process or
    /// its parent is.
    pub(super) fn fill(&mut self, tasks: &mut [TaskRow], now_ns: u64) {
        self.fill_from(tasks, now_ns, |tid| fs::read_to_string(format!("/proc/{tid}/cgroup")).ok());
    }

    fn fill_from(&mut self, tasks: &mut [TaskRow], now_ns: u64, text: impl Fn(u32) -> Option<String>) {
        let mut there = HashSet::with_capacity(tasks.len());
        for row in tasks.iter().filter(|row| row.in_scope && !row.kernel_thread) {
            let (key, switches) = ((row.tid, row.first_ns), row.voluntary + row.involuntary);
            there.insert(key);
            let known = self.known.get(&key);
            let still_holds = known.is_some_and(|found| {
                found.switches == switches || now_ns.saturating_sub(found.asked_ns) < ASK_AGAIN_NS
            });
            if still_holds {
                continue;
            }
            let path = text(row.tid).and_then(|text| of_cpu(&text).map(Arc::from));
            // What ended was last where it was last found.
            let path = path.or_else(|| known.and_then(|found| found.path.clone()));
            if let Some(path) = path.clone().filter(|_| row.tid == row.pid) {
                self.by_pid.insert(row.pid, path);
            }
            self.known.insert(key, Found { path, asked_ns: now_ns, switches });
        }
        for row in tasks.iter_mut().filter(|row| row.in_scope && row.cgroup.is_none()) {
            let found = self.known.get(&(row.tid, row.first_ns)).and_then(|found| found.path.as_deref());
            let parent = || row.parent_pid.and_then(|parent| self.by_pid.get(&parent));
            row.cgroup = if row.kernel_thread {
                Some("/".to_owned())
            } else {
                let of_kin = || self.by_pid.get(&row.pid).or_else(parent).map(|path| &**path);
                found.or_else(of_kin).map(str::to_owned)
            };
        }
        self.known.retain(|key, _| there.contains(key));
        let pids: HashSet<u32> = tasks.iter().map(|row| row.pid).collect();
        self.by_pid.retain(|pid, _| pids.contains(pid));
    }
}

/// The path in the hierarchy that shares out processor time, of the lines of `/proc/PID/cgroup` (cgroups(7)): that of version 1 with `cpu` among
/// its controllers, if the task is below its root, otherwise that of version 2.
fn of_cpu(text: &str) -> Option<&str> {
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let first = lines().find(|(names, _)| names.split(',').any(|name| name == "cpu")).map(|(_, path)| path);
    let second = lines().find(|(names, _)| names.is_empty()).map(|(_, path)| path);
    first.filter(|path| *path != "/").or(second).or(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn row(tid: u32, parent: u32, voluntary: u64) -> TaskRow {
        TaskRow { tid, pid: tid, parent_pid: Some(parent), in_scope: true, voluntary, ..TaskRow::default() }
    }

    #[test]
    fn the_group_that_shares_out_processors_is_meant() {
        assert_eq!(of_cpu("0::/user.slice/shell\n"), Some("/user.slice/shell"));
        let hybrid = "5:cpu,cpuacct:/web\n4:memory:/m\n0::/system.slice/web.service\n";
        assert_eq!(of_cpu(hybrid), Some("/web"));
        assert_eq!(
            of_cpu("5:cpu,cpuacct:/\n0::/system.slice/a:b.service\n"),
            Some("/system.slice/a:b.service")
        );
        assert_eq!(of_cpu("5:cpu:/\n"), Some("/"));
        assert_eq!(of_cpu(""), None);
    }

    #[test]
    fn who_is_gone_was_where_its_parent_is_and_who_sleeps_is_not_asked_again() {
        let asked = Cell::new(0);
        let text = |tid: u32| {
            asked.set(asked.get() + 1);
            (tid == 7).then(|| "0::/web\n".to_owned())
        };
        let mut cgroups = Cgroups::default();
        let mut rows = [row(7, 1, 5), row(8, 7, 1), row(9, 2, 1)];
        cgroups.fill_from(&mut rows, 1, text);
        let paths: Vec<Option<&str>> = rows.iter().map(|row| row.cgroup.as_deref()).collect();
        assert_eq!(paths, [Some("/web"), Some("/web"), None]);
        assert_eq!(asked.get(), 3);
        cgroups.fill_from(&mut [row(7, 1, 5)], 2 * ASK_AGAIN_NS, text);
        assert_eq!(asked.get(), 3, "it did not run");
        let mut later = [row(7, 1, 6)];
        cgroups.fill_from(&mut later, 2 * ASK_AGAIN_NS, text);
        assert_eq!((asked.get(), later[0].cgroup.as_deref()), (4, Some("/web")));
        assert_eq!(cgroups.known.len(), 1, "who is not there any more is forgotten");
    }
}
