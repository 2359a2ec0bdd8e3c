//! What control groups used since the last time, from their own files.

use super::GroupUse;
use crate::Unavailable;
use crate::system::{CgroupCounters, Cgroups};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// So many are looked at; each takes some 20 microseconds.
const MOST: usize = 2_000;

/// The groups when they were last looked at.
pub(super) struct Groups {
    root: PathBuf,
    /// By path: which folder it was, as one of the same name may have been made anew, and its counters.
    before: Option<BTreeMap<String, (u64, CgroupCounters)>>,
}

impl Groups {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), before: None }
    }

    /// What each used since, the one first that used most since it was made. The first time, that is nothing.
    pub(super) fn since(&mut self, unavailable: &mut Vec<Unavailable>) -> Vec<GroupUse> {
        let found = Cgroups::read(&self.root, MOST);
        unavailable.extend(found.unavailable);
        let mut uses = Vec::with_capacity(found.groups.len());
        let mut now = BTreeMap::new();
        for (path, number, counters) in found.groups {
            let zero = zero(&counters);
            let earlier = match &self.before {
                None => counters,
                Some(before) => match before.get(&path) {
                    Some((same, earlier)) if *same == number => *earlier,
                    // Made since, or made anew: all it counted is new.
                    _ => zero,
                },
            };
            let since = counters.both(&earlier, u64::saturating_sub);
            uses.push((counters.usage_ns, GroupUse { path: path.clone(), since }));
            now.insert(path, (number, counters));
        }
        self.before = Some(now);
        uses.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.path.cmp(&b.path)));
        uses.into_iter().map(|(_, group)| group).collect()
    }
}

/// Zero where there is a figure.
fn zero(counters: &CgroupCounters) -> CgroupCounters {
    counters.both(counters, u64::saturating_sub)
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
        // Made anew, under the same name, while nobody looked; the place is kept so that its number is another.
        let web = root.path().join("sys/fs/cgroup/web");
        fs::rename(&web, root.path().join("old")).unwrap();
        put(root.path(), "web", 40, 1);
        let third = groups.since(&mut missing);
        assert_eq!(of(&third, "/web"), (Some(40_000), 1));
        assert!(third.iter().all(|group| group.path != "/web/inner"));
        assert_eq!(missing, [], "a group without pressure is no news");
    }
}
