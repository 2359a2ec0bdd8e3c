//! The hierarchies of cgroups that are mounted.

use crate::files;
use std::path::Path;

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) version: u32,
    pub(super) point: String,
    /// The group that is mounted there: `/` where all of the hierarchy is.
    pub(super) root: String,
    options: String,
}

impl Mount {
    pub(super) fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }

    pub(super) fn group(&self, path: &str) -> String {
        let path = path.trim_matches('/');
        let point = self.point.trim_end_matches('/');
        if path.is_empty() { point.to_owned() } else { format!("{point}/{path}") }
    }
}

/// `32 31 0:29 ROOT POINT rw,relatime - cgroup cgroup rw,cpu,cpuacct`, with any number of fields before the hyphen
/// (proc_pid_mountinfo(5)). Version 1 first.
pub(super) fn mounts(root: &Path) -> Vec<Mount> {
    let text = files::text(root, "proc/self/mountinfo").unwrap_or_default();
    let mut mounts: Vec<Mount> = text
        .lines()
        .filter_map(|line| {
            let (place, system) = line.split_once(" - ")?;
            let mut system = system.split(' ');
            let version = match system.next()? {
                "cgroup" => 1,
                "cgroup2" => 2,
                _ => return None,
            };
            // Blanks are written in octal; hierarchies are mounted at plain names, so nothing else is undone here.
            let mut place = place.split(' ').skip(3).map(|field| field.replace("\\040", " "));
            let (root, point) = (place.next()?, place.next()?);
            Some(Mount { version, point, root, options: system.nth(1).unwrap_or_default().to_owned() })
        })
        .collect();
    mounts.sort_by_key(|mount| mount.version);
    mounts
}
