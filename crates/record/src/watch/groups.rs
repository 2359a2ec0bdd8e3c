//! What cgroups used since the last time, from their own files.

use crate::system::{CgroupCounters, CgroupReading, Cgroups};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use swtch_trace::growth::Growth;
use swtch_trace::model::Unavailable;

/// At most this many cgroups are looked at; each takes some 20 microseconds.
const MOST: usize = 2_000;

/// What a cgroup used, by its own files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupUse {
    /// Its path below the hierarchy's root, such as `/system.slice/nginx.service`.
    pub path: String,
    /// Its counters.
    pub since: CgroupCounters,
}

/// The groups when they were last looked at.
#[derive(Debug)]
pub(super) struct Groups {
    root: PathBuf,
    last: Cgroups,
    /// They were looked at before.
    begun: bool,
    /// Counters that fell since they were last asked for.
    fell: u64,
}

impl Groups {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), last: Cgroups::default(), begun: false, fell: 0 }
    }

    /// Counters that fell since this was last called.
    pub(super) fn take_fell(&mut self) -> u64 {
        std::mem::take(&mut self.fell)
    }

    /// What each used since, the one first that used most since it was made. The first time, that is nothing.
    pub(super) fn since(&mut self, unavailable: &mut Vec<Unavailable>) -> Vec<GroupUse> {
        let mut found = Cgroups::read(&self.root, MOST, &self.last);
        unavailable.append(&mut found.unavailable);
        let before: BTreeMap<&str, &CgroupReading> =
            self.last.groups.iter().map(|group| (group.path.as_str(), group)).collect();
        let accounts = &self.last.accounts;
        // Then a group that was not among them may have been there all the same.
        let unsure = !self.begun || self.last.truncated;
        let growth = Growth::default();
        let difference = |later: u64, earlier: u64| growth.of(earlier, later);
        let mut uses = Vec::with_capacity(found.groups.len());
        for group in &found.groups {
            let counters = &group.counters;
            // A cgroup of the same name may have been made again.
            let earlier = before.get(group.path.as_str()).filter(|earlier| earlier.number == group.number);
            let mut since = match earlier {
                Some(earlier) => counters.both(&earlier.counters, difference),
                None if unsure => counters.both(counters, difference),
                // Made since, or made again: all it counted is new.
                None => counters.clone(),
            };
            let same_account = match earlier {
                None if unsure => true,
                Some(earlier) => earlier.account == group.account,
                // Counts from before the cgroup existed are not the cgroup's own.
                None => group.account.is_none_or(|account| !accounts.contains(&account)),
            };
            if !same_account {
                since.usage_ns = None;
            }
            uses.push((counters.usage_ns, GroupUse { path: group.path.clone(), since }));
        }
        self.fell += growth.fell();
        self.last = found;
        self.begun = true;
        uses.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.path.cmp(&b.path)));
        uses.into_iter().map(|(_, group)| group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(root: &Path, group: &str, usage_us: u64, throttled: u64) {
        let folder = root.join("sys/fs/cgroup").join(group);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cgroup.procs"), "").unwrap();
        fs::write(folder.join("cgroup.controllers"), "cpu").unwrap();
        fs::write(
            folder.join("cpu.stat"),
            format!("usage_usec {usage_us}\nuser_usec 1\nsystem_usec 1\nnr_periods 9\nnr_throttled {throttled}\nthrottled_usec 5\n"),
        )
        .unwrap();
    }

    fn made() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let mount = "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        fs::write(root.path().join("proc/self/mountinfo"), mount).unwrap();
        root
    }

    /// A machine on which cpu and cpuacct have a hierarchy each, and tasks with their groups in the two.
    fn two_hierarchies(
        tasks: &[(u32, &str, &str)],
        usage_ns: &[(&str, u64)],
        groups: &[&str],
    ) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let mounts = "31 23 0:27 / /cg/cpu rw - cgroup cgroup rw,cpu\n32 23 0:28 / /cg/acct rw - cgroup cgroup rw,cpuacct\n";
        fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
        change(root.path(), tasks, usage_ns, groups);
        root
    }

    fn change(root: &Path, tasks: &[(u32, &str, &str)], usage_ns: &[(&str, u64)], groups: &[&str]) {
        for path in groups {
            let folder = root.join("cg/cpu").join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpu.stat"), "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n").unwrap();
            fs::write(folder.join("tasks"), "").unwrap();
        }
        for (path, ns) in usage_ns {
            let folder = root.join("cg/acct").join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpuacct.usage"), format!("{ns}\n")).unwrap();
            fs::write(folder.join("tasks"), "").unwrap();
        }
        for (tid, cpu, acct) in tasks {
            let list = |tree: &str, path: &str| {
                let file = root.join("cg").join(tree).join(path).join("tasks");
                let text = fs::read_to_string(&file).unwrap();
                fs::write(file, format!("{text}{tid}\n")).unwrap();
            };
            list("cpu", cpu);
            list("acct", acct);
        }
    }

    fn used(groups: &[GroupUse]) -> BTreeMap<&str, Option<u64>> {
        groups.iter().map(|group| (group.path.as_str(), group.since.usage_ns)).collect()
    }

    /// The parent has one task of its own, and the group of that name in the other hierarchy has that task only. Its time is not the
    /// parent's, whose children ran for ten times as long.
    #[test]
    fn the_same_path_in_another_hierarchy_is_another_group() {
        let groups = ["", "jobs", "jobs/a", "jobs/b"];
        let tasks = [(1, "", ""), (2, "jobs", "jobs"), (3, "jobs/a", "x"), (4, "jobs/b", "")];
        let root = two_hierarchies(&tasks, &[("", 1_000), ("jobs", 10), ("x", 20)], &groups);
        let mut found = Groups::new(root.path());
        let mut missing = Vec::new();
        let first = found.since(&mut missing);
        let none_yet = [("/", Some(0)), ("/jobs", None), ("/jobs/a", Some(0)), ("/jobs/b", None)];
        assert_eq!(used(&first), none_yet.into());
        let reason = missing.iter().find(|row| row.field.as_str() == "cgroups.usage_ns").unwrap();
        assert!(
            reason.reason.contains("two hierarchies") && reason.reason.contains("cgroup_run_seconds"),
            "{reason:?}"
        );
        change(root.path(), &tasks, &[("", 132_600), ("jobs", 15_100), ("x", 131_600)], &groups);
        let second = found.since(&mut missing);
        let by_tasks = [("/", Some(131_600)), ("/jobs", None), ("/jobs/a", Some(131_580)), ("/jobs/b", None)];
        assert_eq!(used(&second), by_tasks.into());
    }

    #[test]
    fn groups_with_the_same_tasks_belong_together_until_a_task_says_otherwise() {
        let groups = ["", "a", "a/inner", "b"];
        let usage = |ns: u64| [("", 9 * ns), ("one", 3 * ns), ("one/two", ns), ("old", 5 * ns)];
        let tasks = [(1, "", ""), (2, "a", "one"), (3, "a/inner", "one/two")];
        let root = two_hierarchies(&tasks, &usage(100), &groups);
        let mut found = Groups::new(root.path());
        let mut missing = Vec::new();
        found.since(&mut missing);
        // A task more in both; and one that has gone is in neither list when it is asked for.
        change(root.path(), &[tasks[0], tasks[1], tasks[2], (5, "a", "one/two")], &usage(200), &groups);
        fs::write(root.path().join("cg/cpu/b/tasks"), "77\n").unwrap();
        let uses = found.since(&mut missing);
        assert_eq!(used(&uses)["/a"], Some(300));
        assert_eq!(used(&uses)["/a/inner"], None, "one/two has a task of a's own");
        // All end: what they did before is still theirs.
        change(root.path(), &[tasks[0]], &usage(300), &groups);
        assert_eq!(used(&found.since(&mut missing))["/a"], Some(300));
        // Another's task comes into the account: it is not a's any more.
        change(root.path(), &[tasks[0], tasks[1], (6, "b", "one/two")], &usage(400), &groups);
        let uses = found.since(&mut missing);
        assert_eq!((used(&uses)["/a"], used(&uses)["/b"]), (None, None));
        // It is b's alone, which is charged from the next reading on, and not for what was counted before.
        change(root.path(), &[tasks[0], (6, "b", "one/two")], &usage(500), &groups);
        assert_eq!(used(&found.since(&mut missing))["/b"], Some(100));
        // A new group with an old account is not charged for what is old, either.
        change(root.path(), &[tasks[0], (7, "new", "old")], &usage(700), &["", "a", "a/inner", "b", "new"]);
        assert_eq!(used(&found.since(&mut missing))["/new"], None);
    }

    #[test]
    fn in_one_hierarchy_of_both_the_path_says_it() {
        let root = two_hierarchies(&[], &[], &[""]);
        let mounts = "31 23 0:27 /docker/x /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
        change(root.path(), &[], &[], &["", "web"]);
        for (path, ns) in [("", 900), ("web", 500)] {
            fs::write(root.path().join("cg/cpu").join(path).join("cpuacct.usage"), format!("{ns}\n"))
                .unwrap();
        }
        let mut found = Groups::new(root.path());
        let mut missing = Vec::new();
        found.since(&mut missing);
        fs::write(root.path().join("cg/cpu/web/cpuacct.usage"), "700\n").unwrap();
        // Named as /proc/PID/cgroup names them, so that switches and time have one label.
        let uses = found.since(&mut missing);
        assert_eq!(used(&uses), [("/docker/x", Some(0)), ("/docker/x/web", Some(200))].into());
        assert!(missing.iter().all(|row| row.field.as_str() != "cgroups.usage_ns"), "{missing:?}");
    }

    #[test]
    fn groups_that_are_new_or_made_anew_count_from_nothing() {
        let root = made();
        put(root.path(), "", 1000, 0);
        put(root.path(), "web", 500, 3);
        let mut groups = Groups::new(root.path());
        let mut missing = Vec::new();
        let first = groups.since(&mut missing);
        let names: Vec<&str> = first.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(names, ["/", "/web"]);
        assert_eq!(first[1].since.usage_ns, Some(0));
        put(root.path(), "web", 700, 5);
        put(root.path(), "web/inner", 50, 1);
        let second = groups.since(&mut missing);
        let of = |groups: &[GroupUse], path: &str| {
            let group = groups.iter().find(|group| group.path == path).unwrap();
            (group.since.usage_ns, group.since.throttling.unwrap().throttled_periods)
        };
        assert_eq!(of(&second, "/web"), (Some(200_000), 2));
        assert_eq!(of(&second, "/web/inner"), (Some(50_000), 1));
        // The cgroup is made again under the same name, between two readings. The old directory is kept, so that the new one has another number.
        let web = root.path().join("sys/fs/cgroup/web");
        fs::rename(&web, root.path().join("old")).unwrap();
        put(root.path(), "web", 40, 1);
        let third = groups.since(&mut missing);
        assert_eq!(of(&third, "/web"), (Some(40_000), 1));
        assert!(third.iter().all(|group| group.path != "/web/inner"));
        assert_eq!(missing, [], "a group without pressure is not reported");
    }
}
