//! Where the files of a cgroup are, versions 1 and 2.

use super::accounts::{Matches, matches};
use super::hierarchy::Hierarchy;
use super::mounts::{Mount, mounts};
use crate::files;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a cgroup was not found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CgroupError {
    /// Neither a directory nor a path in a hierarchy.
    #[error("no cgroup {wish}: looked for cgroup.procs in {}; 'cat /proc/PID/cgroup' shows a process's groups", tried.join(", "))]
    NotFound {
        /// What was asked for.
        wish: String,
        /// The directories that were looked into.
        tried: Vec<String>,
    },
    /// The process has no cgroup that counts CPU time.
    #[error("process {pid} is in no cgroup with the cpu controller: {why}")]
    NoGroup {
        /// The process.
        pid: u32,
        /// What is missing.
        why: String,
    },
}

/// A cgroup. Its directories are written as the machine sees them (`/sys/fs/cgroup/web`), also under another root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// 1 or 2.
    pub version: u32,
    /// The directory with `cgroup.procs`, and `cpu.stat` where the cpu controller is there.
    pub folder: String,
    /// Version 1 counts CPU time in the hierarchy of cpuacct, often the same as that of cpu. Where it is another one, this is the group
    /// with the same tasks, if there is one.
    pub cpuacct_folder: Option<String>,
}

impl Cgroup {
    /// Finds the group that `wish` names: a directory (`/sys/fs/cgroup/web`) or a path in a hierarchy (`/web`, as
    /// `/proc/PID/cgroup` gives it). Where both versions are mounted, the one with the cpu controller is taken.
    ///
    /// # Errors
    /// When there is no such group.
    pub fn locate(root: &Path, wish: &str) -> Result<Self, CgroupError> {
        let mounts = mounts(root);
        let name = wish.trim_matches('/');
        let below_mounts = mounts
            .iter()
            .filter(|mount| mount.version == 2 || mount.has("cpu"))
            .map(|mount| mount.group(name));
        let candidates: Vec<String> = std::iter::once(format!("/{name}")).chain(below_mounts).collect();
        let is_group = |folder: &&String| files::locate(root, folder).join("cgroup.procs").exists();
        let has_cpu = |folder: &&String| files::locate(root, folder).join("cpu.stat").exists();
        let found = candidates
            .iter()
            .filter(is_group)
            .find(has_cpu)
            .or_else(|| candidates.iter().find(is_group))
            .ok_or_else(|| CgroupError::NotFound { wish: wish.to_owned(), tried: candidates.clone() })?;
        Ok(Self::at(root, &mounts, found))
    }

    /// The group of a process in the hierarchy that limits CPU time.
    ///
    /// # Errors
    /// When there is no such process, or the hierarchy is not mounted here.
    pub fn of_process(root: &Path, pid: u32) -> Result<Self, CgroupError> {
        let fail = |why: String| CgroupError::NoGroup { pid, why };
        let text = files::text(root, &format!("proc/{pid}/cgroup")).map_err(fail)?;
        let hierarchies = [Hierarchy::of(root, "cpu"), Hierarchy::common(root)];
        let (path, hierarchy) = hierarchies
            .iter()
            .flatten()
            .find_map(|hierarchy| Some((hierarchy.path_in(&text)?, hierarchy)))
            .ok_or_else(|| fail("no such hierarchy is mounted".to_owned()))?;
        let mount = hierarchy.mount();
        // In a container the path may be that on the host; then the mounted group is the container's own.
        let folder = [mount.group(&path), mount.point.clone()]
            .into_iter()
            .find(|folder| files::locate(root, folder).join("cgroup.procs").exists())
            .ok_or_else(|| fail(format!("{} is not there", mount.group(&path))))?;
        Ok(Self::at(root, &mounts(root), &folder))
    }

    fn at(root: &Path, mounts: &[Mount], folder: &str) -> Self {
        let version = if files::locate(root, folder).join("cgroup.controllers").exists() { 2 } else { 1 };
        let home = mounts
            .iter()
            .filter(|mount| Path::new(folder).starts_with(&mount.point))
            .max_by_key(|mount| mount.point.len());
        let cpuacct_folder = home.filter(|mount| version == 1 && mount.version == 1).and_then(|mount| {
            if mount.has("cpuacct") {
                return Some(folder.to_owned());
            }
            let cpu = Hierarchy::of(root, "cpu").filter(|_| mount.has("cpu"))?;
            let accounts = Hierarchy::of(root, "cpuacct")?;
            let name = folder.strip_prefix(mount.point.as_str())?.trim_matches('/');
            let path = format!("{}/{name}", mount.root.trim_end_matches('/'));
            let path = if name.is_empty() { &mount.root } else { &path };
            accounts.place(matches(root, &cpu, &accounts, &Matches::new()).get(path)?)
        });
        Self { version, folder: folder.to_owned(), cpuacct_folder }
    }

    /// The file with the group's thread numbers.
    pub(crate) fn threads_file(&self) -> &'static str {
        if self.version == 2 { "cgroup.threads" } else { "tasks" }
    }

    /// The directory under another root.
    pub(crate) fn located(&self, root: &Path) -> PathBuf {
        files::locate(root, &self.folder)
    }
}
