//! The hierarchies of cgroups that are mounted.

use super::namespace::{NamespaceRoot, TOP};
use crate::files;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) version: u32,
    pub(super) point: String,
    /// The group that is mounted there: `/` where all of the hierarchy is.
    pub(super) root: String,
    /// Where the reader's own cgroup namespace begins, if that is below the group that is mounted.
    namespace: Option<NamespaceRoot>,
    options: String,
}

impl Mount {
    pub(super) fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }

    /// The path of a group of which `/proc/PID/cgroup` gives `seen`, as it is on the host.
    pub(super) fn absolute(&self, seen: &str) -> String {
        self.namespace.as_ref().map_or_else(|| seen.to_owned(), |namespace| namespace.absolute(seen))
    }

    /// The whole hierarchy is mounted, and the reader is in a cgroup namespace: paths are then those of the host.
    fn leave_namespace(&mut self, root: &Path) {
        let is_top = |mount: &Self| {
            std::fs::metadata(files::locate(root, &mount.point)).is_ok_and(|found| found.ino() == TOP)
        };
        let Some(mut namespace) = NamespaceRoot::of(&self.root).filter(|_| is_top(self)) else { return };
        let text = files::text(root, "proc/self/cgroup").unwrap_or_default();
        if let Some(own) = self.path_in(&text) {
            namespace.look(root, &self.point, own);
        }
        "/".clone_into(&mut self.root);
        self.namespace = Some(namespace);
    }

    /// The path of the group that the text of a `/proc/PID/cgroup` names (cgroups(7)), as the reader sees it.
    pub(super) fn path_in<'a>(&self, text: &'a str) -> Option<&'a str> {
        let mut lines = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let (_, path) = lines.find(|(controllers, _)| match self.version {
            1 => controllers.split(',').any(|name| self.has(name)),
            _ => controllers.is_empty(),
        })?;
        Some(path)
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
            let options = system.nth(1).unwrap_or_default().to_owned();
            Some(Mount { version, point, root, namespace: None, options })
        })
        .collect();
    for mount in &mut mounts {
        mount.leave_namespace(root);
    }
    mounts.sort_by_key(|mount| mount.version);
    mounts
}
