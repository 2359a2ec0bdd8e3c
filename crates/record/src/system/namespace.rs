//! Paths of cgroups for a reader in a cgroup namespace of its own, as in a container: relative to that namespace's root, with `..` for
//! what is above it (cgroup_namespaces(7); `kernfs_path_from_node`, fs/kernfs/dir.c, v6.18).

use crate::files;
use std::path::Path;

/// The number of the inode of a hierarchy's top directory (`kernfs_create_root`, fs/kernfs/dir.c, v6.18).
pub(super) const TOP: u64 = 1;

/// Where the root of the reader's namespace is in a hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamespaceRoot {
    /// How many groups deep.
    depth: usize,
    /// Its path, if it was found.
    path: Vec<String>,
}

impl NamespaceRoot {
    /// For a mount whose root the reader sees as `seen`. Nothing unless that is `/..` once or several times: the reader is at the top of
    /// the hierarchy, or not all of the hierarchy is mounted.
    pub(super) fn of(seen: &str) -> Option<Self> {
        let parts: Vec<&str> = parts(seen).collect();
        let is_above = !parts.is_empty() && parts.iter().all(|part| *part == "..");
        is_above.then(|| Self { depth: parts.len(), path: Vec::new() })
    }

    /// Looks for the group in which this process is, whose path the reader sees as `own`, in the hierarchy mounted at `point`. That gives
    /// the path of the namespace's root.
    pub(super) fn look(&mut self, root: &Path, point: &str, own: &str) {
        let own: Vec<&str> = parts(own).collect();
        if own.contains(&"..") {
            return;
        }
        let pid = std::process::id().to_string();
        let found = find(&files::locate(root, point), self.depth + own.len(), &pid);
        self.path = found.unwrap_or_default();
        self.path.truncate(self.depth);
    }

    /// The path from the top of the hierarchy; `path` itself where that cannot be known.
    pub(super) fn absolute(&self, path: &str) -> String {
        let all: Vec<&str> = parts(path).collect();
        let up = all.iter().take_while(|part| **part == "..").count();
        let above = self.depth.checked_sub(up).and_then(|kept| self.path.get(..kept));
        match above {
            Some(above) => {
                let parts = above.iter().map(String::as_str).chain(all[up..].iter().copied());
                format!("/{}", parts.collect::<Vec<_>>().join("/"))
            }
            None => path.to_owned(),
        }
    }
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// The path to the group at that depth that holds the process.
fn find(folder: &Path, depth: usize, pid: &str) -> Option<Vec<String>> {
    if depth == 0 {
        let listed = std::fs::read_to_string(folder.join("cgroup.procs")).ok()?;
        return listed.lines().any(|line| line == pid).then(Vec::new);
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).find_map(|entry| {
        let mut path = find(&entry.path(), depth - 1, pid)?;
        path.insert(0, entry.file_name().to_string_lossy().into_owned());
        Some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_are_completed_by_what_is_above_the_namespace() {
        let root = tempfile::tempdir().unwrap();
        for (group, processes) in [("pods/a/c1", "1\n"), ("pods/b/c2/sub", "PID\n"), ("pods/b/c3/sub", "")] {
            let folder = root.path().join("cg").join(group);
            fs::create_dir_all(&folder).unwrap();
            let processes = processes.replace("PID", &std::process::id().to_string());
            fs::write(folder.join("cgroup.procs"), processes).unwrap();
        }
        let mut namespace = NamespaceRoot::of("/../../..").unwrap();
        assert_eq!(namespace.absolute("/../../../system.slice"), "/system.slice", "needs no search");
        assert_eq!(namespace.absolute("/../../a/c1"), "/../../a/c1");
        namespace.look(root.path(), "/cg", "/sub");
        for (seen, meant) in [
            ("/", "/pods/b/c2"),
            ("/sub", "/pods/b/c2/sub"),
            ("/../c3", "/pods/b/c3"),
            ("/../../a/c1", "/pods/a/c1"),
            ("/../../..", "/"),
            ("/../../../..", "/../../../.."),
        ] {
            assert_eq!(namespace.absolute(seen), meant, "{seen}");
        }
    }

    #[test]
    fn who_is_at_the_top_or_sees_a_part_only_is_in_no_such_namespace() {
        for seen in ["/", "/docker/a", "/../docker"] {
            assert_eq!(NamespaceRoot::of(seen), None, "{seen}");
        }
    }
}
