//! What applications are called, and whether they are still there: processes, or cgroups.

use crate::controller::AppId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Applications of one kind.
#[derive(Debug)]
pub enum Apps {
    /// Processes, by their numbers.
    Processes,
    /// Cgroups, by the numbers of their directories, which the kernel uses too.
    Groups {
        /// Where they are mounted.
        root: PathBuf,
        /// Those that were found, relative to it.
        known: RefCell<BTreeMap<AppId, PathBuf>>,
    },
}

impl Apps {
    /// Cgroups below a directory.
    pub fn groups_below(root: &Path) -> Self {
        Self::Groups { root: root.to_owned(), known: RefCell::default() }
    }

    /// A process's command, a cgroup's path.
    pub fn name(&self, app: AppId) -> Option<String> {
        match self {
            Self::Processes => {
                Some(fs::read_to_string(format!("/proc/{app}/comm")).ok()?.trim_end().to_owned())
            }
            Self::Groups { root, known } => {
                let path = group(root, known, app)?;
                Some(path.to_string_lossy().into_owned())
            }
        }
    }

    /// Its own weight, 1 for the usual 100: a cgroup's `cpu.weight`. `None` for processes, whose weights are those of their tasks, and where
    /// the controller `cpu` is not on.
    pub fn weight(&self, app: AppId) -> Option<f64> {
        match self {
            Self::Processes => None,
            Self::Groups { root, known } => {
                let path = group(root, known, app)?;
                let file = root.join(path).join("cpu.weight");
                let weight = fs::read_to_string(file).ok()?.trim().parse::<f64>().ok()?;
                (weight > 0.0).then_some(weight / 100.0)
            }
        }
    }

    /// Whether it is still there.
    pub fn is_there(&self, app: AppId) -> bool {
        match self {
            Self::Processes => i32::try_from(app).is_ok_and(process_is_there),
            Self::Groups { root, known } => group(root, known, app).is_some(),
        }
    }
}

/// Whether there is a process, a zombie too: a signal that is none finds it. A look into /proc takes ten times as long.
fn process_is_there(pid: i32) -> bool {
    if pid <= 0 {
        return false;
    }
    // SAFETY: signal 0 is sent to no process; only whether one could be sent is looked up.
    let status = unsafe { libc::kill(pid, 0) };
    status == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// A cgroup's path, while it exists.
fn group(root: &Path, known: &RefCell<BTreeMap<AppId, PathBuf>>, app: AppId) -> Option<PathBuf> {
    let still = |path: &PathBuf| number(&root.join(path)) == Some(app);
    if let Some(path) = known.borrow().get(&app).filter(|path| still(path)) {
        return Some(path.clone());
    }
    // New, renamed or gone.
    let mut found = BTreeMap::new();
    walk(root, Path::new(""), &mut found);
    known.replace(found);
    known.borrow().get(&app).cloned()
}

fn number(folder: &Path) -> Option<AppId> {
    Some(fs::metadata(folder).ok()?.ino())
}

/// Notes a directory, by its path below the root, and those in it.
fn walk(root: &Path, below: &Path, found: &mut BTreeMap<AppId, PathBuf>) {
    let folder = root.join(below);
    let Some(number) = number(&folder) else { return };
    let name = if below.as_os_str().is_empty() { PathBuf::from("/") } else { below.to_owned() };
    found.insert(number, name);
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(root, &below.join(entry.file_name()), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_their_commands() {
        let own = AppId::from(std::process::id());
        assert!(Apps::Processes.is_there(own) && Apps::Processes.name(own).is_some());
        assert!(!Apps::Processes.is_there(AppId::MAX) && Apps::Processes.weight(own).is_none());
    }

    #[test]
    fn groups_have_their_paths_and_may_come_and_go() {
        let root = tempfile::tempdir().unwrap();
        let apps = Apps::groups_below(root.path());
        assert_eq!(apps.name(number(root.path()).unwrap()).as_deref(), Some("/"));
        let inner = root.path().join("batch/job");
        fs::create_dir_all(&inner).unwrap();
        let job = number(&inner).unwrap();
        assert_eq!(apps.name(job).as_deref(), Some("batch/job"));
        assert_eq!(apps.weight(job), None, "without the controller");
        fs::write(inner.join("cpu.weight"), "250\n").unwrap();
        assert_eq!(apps.weight(job), Some(2.5));
        fs::remove_file(inner.join("cpu.weight")).unwrap();
        fs::remove_dir(&inner).unwrap();
        assert!(!apps.is_there(job));
    }
}
