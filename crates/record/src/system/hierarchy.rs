//! The hierarchy of cgroups that divides CPU time: the paths of its groups, and of a task's group.

use super::cpu_stat;
use super::mounts::{Mount, mounts};
use crate::files;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use swtch_trace::model::Throttled;

/// Groups that a walk visits at most; those nearest to the root come first.
const MOST: usize = 16_384;

/// A mounted hierarchy: that of a controller where it has one of its own (version 1), or else the common one (version 2). A group's path is
/// of this hierarchy only: the same path in another one is another group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    mount: Mount,
}

/// A group, as a walk finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedGroup {
    /// The number of its directory's inode, by which the kernel knows it.
    pub(crate) number: u64,
    /// Its path, as `/proc/PID/cgroup` gives it.
    pub(crate) path: String,
}

impl Hierarchy {
    /// Finds that of the cpu controller; nothing where none is mounted.
    pub(crate) fn find(root: &Path) -> Option<Self> {
        Self::of(root, "cpu").or_else(|| Self::common(root))
    }

    /// That which a controller of version 1 has; nothing where it is not mounted.
    pub(crate) fn of(root: &Path, controller: &str) -> Option<Self> {
        let mount = mounts(root).into_iter().find(|mount| mount.version == 1 && mount.has(controller))?;
        Some(Self { mount })
    }

    /// That of version 2; nothing where it is not mounted.
    pub(super) fn common(root: &Path) -> Option<Self> {
        let mount = mounts(root).into_iter().find(|mount| mount.version == 2)?;
        Some(Self { mount })
    }

    /// Where it is mounted.
    pub(super) fn mount(&self) -> &Mount {
        &self.mount
    }

    /// 1 or 2.
    pub(crate) fn version(&self) -> u32 {
        self.mount.version
    }

    /// Whether its groups have their CPU time in their own files.
    pub(crate) fn counts_time(&self) -> bool {
        self.mount.version == 2 || self.mount.has("cpuacct")
    }

    /// Whether all of it is mounted, and not a group below the top only, as in a container.
    pub(crate) fn is_whole(&self) -> bool {
        self.mount.root == "/"
    }

    /// Whether it is the cpu controller's own.
    pub(crate) fn is_of_cpu(&self) -> bool {
        self.mount.version == 1
    }

    /// The group that the text of a `/proc/PID/cgroup` names (cgroups(7)).
    pub(crate) fn path_in(&self, text: &str) -> Option<String> {
        Some(self.mount.absolute(self.mount.path_in(text)?))
    }

    /// All groups, parents before their children. One that goes meanwhile is left out.
    pub(crate) fn walk(&self, root: &Path) -> Vec<NumberedGroup> {
        let mut found = Vec::new();
        let top = files::locate(root, &self.mount.point);
        let Ok(metadata) = fs::metadata(&top) else { return found };
        found.push(NumberedGroup { number: metadata.ino(), path: self.mount.root.clone() });
        let mut folders = VecDeque::from([(top, self.mount.root.clone())]);
        while let Some((folder, path)) = folders.pop_front() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                if found.len() >= MOST {
                    return found;
                }
                let path = format!("{}/{}", path.trim_end_matches('/'), entry.file_name().to_string_lossy());
                found.push(NumberedGroup { number: entry.ino(), path: path.clone() });
                folders.push_back((entry.path(), path));
            }
        }
        found
    }

    /// What the quota of a group did since the group was made; nothing where it has none, or where the group is gone.
    pub(crate) fn throttling(&self, root: &Path, path: &str) -> Option<Throttled> {
        let text = fs::read_to_string(self.folder(root, path)?.join("cpu.stat")).ok()?;
        // Periods are counted for groups with a quota only.
        cpu_stat::parse(&text).throttling.filter(|throttling| throttling.periods > 0)
    }

    /// The directory of a group as the machine sees it; nothing for one outside of what is mounted.
    pub(crate) fn place(&self, path: &str) -> Option<String> {
        let below = path.strip_prefix(self.mount.root.trim_end_matches('/'))?;
        // Groups outside of the reader's own namespace have such paths.
        let inside =
            !below.split('/').any(|part| part == "..") && (below.is_empty() || below.starts_with('/'));
        let point = self.mount.point.trim_end_matches('/');
        inside.then(|| if below == "/" { point.to_owned() } else { format!("{point}{below}") })
    }

    /// The directory of a group under another root.
    pub(crate) fn folder(&self, root: &Path, path: &str) -> Option<PathBuf> {
        Some(files::locate(root, &self.place(path)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(mounts: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
        root
    }

    const V1: &str = "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n41 31 0:38 / /cg/all rw - cgroup2 cgroup2 rw\n";
    const PROC: &str = "3:cpuset:/\n1:cpu,cpuacct:/web\n0::/system.slice/web.service\n";

    #[test]
    fn the_cpu_controllers_own_hierarchy_goes_first() {
        let root = machine(V1);
        let hierarchy = Hierarchy::find(root.path()).unwrap();
        assert!(hierarchy.is_of_cpu());
        assert_eq!(hierarchy.path_in(PROC).as_deref(), Some("/web"));
        let root = machine("41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n");
        let hierarchy = Hierarchy::find(root.path()).unwrap();
        assert!(!hierarchy.is_of_cpu());
        assert_eq!(hierarchy.path_in(PROC).as_deref(), Some("/system.slice/web.service"));
        assert_eq!(Hierarchy::find(machine("1 1 0:1 / / rw - ext4 /dev/vda rw\n").path()), None);
    }

    #[test]
    fn a_walk_finds_every_group_and_its_number() {
        let root = machine(V1);
        fs::create_dir_all(root.path().join("cg/cpu/web/worker")).unwrap();
        fs::write(
            root.path().join("cg/cpu/web/cpu.stat"),
            "nr_periods 5\nnr_throttled 2\nthrottled_time 70\n",
        )
        .unwrap();
        fs::write(root.path().join("cg/cpu/cpu.stat"), "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
            .unwrap();
        let hierarchy = Hierarchy::find(root.path()).unwrap();
        let found = hierarchy.walk(root.path());
        let paths: Vec<&str> = found.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(paths, ["/", "/web", "/web/worker"]);
        let number = |path: &str| fs::metadata(root.path().join(path)).unwrap().ino();
        assert_eq!(found[2].number, number("cg/cpu/web/worker"));
        let throttled = hierarchy.throttling(root.path(), "/web").map(|group| group.throttled_ns);
        assert_eq!(throttled, Some(70));
        assert_eq!(hierarchy.throttling(root.path(), "/"), None, "no quota");
        assert_eq!(hierarchy.throttling(root.path(), "/gone"), None);
    }

    #[test]
    fn in_a_container_paths_are_those_of_the_host() {
        let root = machine("32 31 0:29 /docker/a /cg rw - cgroup cgroup rw,cpu\n");
        fs::create_dir_all(root.path().join("cg/web")).unwrap();
        let hierarchy = Hierarchy::find(root.path()).unwrap();
        assert_eq!(hierarchy.walk(root.path())[1].path, "/docker/a/web");
        assert_eq!(hierarchy.folder(root.path(), "/docker/a/web"), Some(root.path().join("cg/web")));
        assert_eq!(hierarchy.folder(root.path(), "/docker/b"), None);
        assert_eq!(hierarchy.folder(root.path(), "/docker/abc"), None, "not below /docker/a");
    }
}
