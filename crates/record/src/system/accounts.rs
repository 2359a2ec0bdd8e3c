//! Which cgroup of the cpuacct controller has the same tasks as one of the cpu controller, where the two have a hierarchy each (version 1).
//!
//! Paths are not evidence: `/web` of one hierarchy and `/web` of the other are two cgroups. The tasks in them are evidence.

use super::hierarchy::{Hierarchy, NumberedGroup};
use crate::files;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Paths of cpu's groups, and of cpuacct's groups with the same tasks.
pub(super) type Matches = BTreeMap<String, String>;

/// The groups of `accounts` with the same tasks, those of groups below included, as the groups of `cpu`. Two without any task go on to belong
/// together if they did `before`.
pub(super) fn matches(root: &Path, cpu: &Hierarchy, accounts: &Hierarchy, before: &Matches) -> Matches {
    let is_whole = cpu.is_whole() && accounts.is_whole();
    // The kernel sorts the list of a group's tasks at each reading, which takes longer than all else where there are thousands.
    let [groups_of_cpu, groups_of_accounts] = [cpu, accounts].map(|hierarchy| hierarchy.walk(root));
    if is_whole && (groups_of_cpu.len() <= 1 || groups_of_accounts.len() <= 1) {
        return Matches::from([("/".to_owned(), "/".to_owned())]);
    }
    let pairs = memberships(root, (cpu, &groups_of_cpu), (accounts, &groups_of_accounts));
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut groups: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for (group, account) in &pairs {
        for above in with_those_above(account) {
            *counted.entry(above).or_default() += 1;
        }
        for above in with_those_above(group) {
            groups
                .entry(above)
                .and_modify(|(tasks, nearest)| (*tasks, *nearest) = (*tasks + 1, common(nearest, account)))
                .or_insert((1, account));
        }
    }
    // All tasks of a group are in the nearest group that has them all; where that has no others, the two are the same.
    let mut found: Matches = groups
        .iter()
        .filter(|(_, (tasks, nearest))| counted.get(nearest) == Some(tasks))
        .map(|(group, (_, nearest))| ((*group).to_owned(), (*nearest).to_owned()))
        .collect();
    for (group, account) in before {
        if !groups.contains_key(group.as_str()) && !counted.contains_key(account.as_str()) {
            found.insert(group.clone(), account.clone());
        }
    }
    if is_whole {
        found.insert("/".to_owned(), "/".to_owned());
    }
    found
}

/// A hierarchy, and the groups that it has.
type Groups<'a> = (&'a Hierarchy, &'a [NumberedGroup]);

/// The two groups of each task.
fn memberships(root: &Path, cpu: Groups<'_>, accounts: Groups<'_>) -> Vec<(String, String)> {
    let (mut ours, mut theirs) = (tasks(root, cpu), tasks(root, accounts));
    let (cpu, accounts) = (cpu.0, accounts.0);
    // A task that came or went between the two says for itself where it is.
    let both = |tid: &u32| {
        let text = files::text(root, &format!("proc/{tid}/cgroup")).ok()?;
        Some((cpu.path_in(&text)?, accounts.path_in(&text)?))
    };
    let unsure: Vec<u32> = ours.keys().filter(|tid| !theirs.contains_key(tid)).copied().collect();
    let unsure: Vec<u32> =
        unsure.into_iter().chain(theirs.keys().filter(|tid| !ours.contains_key(tid)).copied()).collect();
    for tid in &unsure {
        ours.remove(tid);
        theirs.remove(tid);
    }
    let mut pairs: Vec<(String, String)> = unsure.iter().filter_map(both).collect();
    pairs.extend(ours.into_iter().filter_map(|(tid, group)| Some((group, theirs.remove(&tid)?))));
    pairs
}

/// The group of each task, from the groups' own lists.
fn tasks(root: &Path, (hierarchy, groups): Groups<'_>) -> BTreeMap<u32, String> {
    let mut tasks = BTreeMap::new();
    for group in groups {
        let Some(folder) = hierarchy.place(&group.path) else { continue };
        let text = fs::read_to_string(files::locate(root, &folder).join("tasks")).unwrap_or_default();
        for tid in text.lines().filter_map(|line| line.trim().parse().ok()) {
            tasks.insert(tid, group.path.clone());
        }
    }
    tasks
}

/// `/a/b` and those above it: `/a/b`, `/a`, `/`.
fn with_those_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| {
        let end = path.rfind('/').filter(|_| *path != "/")?;
        Some(if end == 0 { "/" } else { &path[..end] })
    })
}

/// The nearest group that both are in or below.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let holds = |above: &str| {
        above == "/" || other.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    with_those_above(one).find(|above| holds(above)).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_group_that_has_both() {
        assert_eq!(with_those_above("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
        assert_eq!(with_those_above("/").collect::<Vec<_>>(), ["/"]);
        assert_eq!((common("/a/b", "/a/c"), common("/a/b", "/a/bc"), common("/a", "/a")), ("/a", "/a", "/a"));
        assert_eq!((common("/ab", "/a"), common("/", "/a")), ("/", "/"));
    }
}
