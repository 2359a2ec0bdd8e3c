//! Paths of cgroups, by the numbers under which the kernel knows them.

use crate::clock::monotonic_ns;
use crate::system::Hierarchy;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The shortest time between two walks through the hierarchy, ns; and a walk may take this part of one CPU.
const LEAST_PAUSE_NS: u64 = 100_000_000;
const COST_SHARE: u64 = 50;
/// Groups remembered at most, those that are gone among them: a recording of days sees very many come and go.
const MOST: usize = 65_536;
/// Stands for many groups.
pub(crate) const OTHERS: u64 = u64::MAX;

/// The groups that exist, and those that existed at an earlier walk.
#[derive(Debug)]
pub(crate) struct GroupNames {
    hierarchy: Option<Hierarchy>,
    paths: HashMap<u64, String>,
    /// Came up since the last walk, and no walk has found them.
    wanted: HashSet<u64>,
    missing: HashSet<u64>,
    next_walk_ns: u64,
}

impl GroupNames {
    /// Those that are there.
    pub(crate) fn begin() -> Self {
        let mut names = Self {
            hierarchy: Hierarchy::find(Path::new("/")),
            paths: HashMap::new(),
            wanted: HashSet::new(),
            missing: HashSet::new(),
            next_walk_ns: 0,
        };
        names.walk();
        names
    }

    /// The hierarchy they are of.
    pub(crate) fn hierarchy(&self) -> Option<&Hierarchy> {
        self.hierarchy.as_ref()
    }

    /// Whether it is the cpu controller's own.
    pub(crate) fn is_of_cpu(&self) -> bool {
        self.hierarchy.as_ref().is_some_and(Hierarchy::is_of_cpu)
    }

    /// A group came up.
    pub(crate) fn note(&mut self, number: u64) {
        if number > 0 && !self.paths.contains_key(&number) && !self.missing.contains(&number) {
            self.wanted.insert(number);
        }
    }

    /// Looks for those that came up and are not known, not too often.
    pub(crate) fn poll(&mut self, now_ns: u64) {
        if !self.wanted.is_empty() && now_ns >= self.next_walk_ns {
            self.walk();
        }
    }

    /// Looks for them now: for the last time.
    pub(crate) fn poll_again(&mut self) {
        self.poll(u64::MAX);
    }

    fn walk(&mut self) {
        let Some(hierarchy) = &self.hierarchy else { return };
        let began_ns = monotonic_ns();
        for found in hierarchy.walk(Path::new("/")) {
            if self.paths.len() < MOST || self.paths.contains_key(&found.number) {
                self.paths.insert(found.number, found.path);
            }
        }
        let now_ns = monotonic_ns();
        self.next_walk_ns = now_ns + LEAST_PAUSE_NS.max(now_ns.saturating_sub(began_ns) * COST_SHARE);
        if self.missing.len() > MOST {
            self.missing.clear();
        }
        let paths = &self.paths;
        self.missing.extend(self.wanted.drain().filter(|number| !paths.contains_key(number)));
    }

    /// The name of a group, also of one that was removed before any walk; nothing for no group.
    pub(crate) fn name(&self, number: u64) -> Option<String> {
        match (number, self.paths.get(&number)) {
            (0, _) => None,
            (_, Some(path)) => Some(path.clone()),
            (OTHERS, None) => Some("other cgroups".to_owned()),
            (_, None) => Some(format!("removed cgroup (number {number})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_nobody_saw_is_looked_for_once_and_named_all_the_same() {
        let mut names = GroupNames::begin();
        let gone = u64::MAX - 7;
        assert_eq!(names.name(0), None);
        assert!(names.name(gone).unwrap().contains(&gone.to_string()));
        names.note(gone);
        names.note(0);
        assert_eq!(names.wanted.len(), 1);
        names.poll_again();
        // Where there is no hierarchy, nothing is looked for.
        assert_eq!(names.wanted.is_empty(), names.hierarchy.is_some());
        let before_ns = names.next_walk_ns;
        names.note(gone);
        names.poll_again();
        assert_eq!(names.next_walk_ns, before_ns, "not looked for again");
    }

    #[test]
    fn the_root_is_known_where_there_is_one() {
        let names = GroupNames::begin();
        assert_eq!(names.paths.is_empty(), names.hierarchy().is_none());
    }
}
