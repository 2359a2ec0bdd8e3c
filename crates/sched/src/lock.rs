//! One `swtch sched` at a time. The kernel refuses a second scheduler by itself, but only once it is loaded, and does not say whose the first is.

use crate::error::SchedError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use swtch_sched_ext::{Holder, Status};

const FILE: &str = "run/swtch-sched.lock";

/// The kernel's status, with the `swtch sched` that runs the scheduler.
pub fn status(root: &Path) -> Status {
    let mut status = Status::read(root);
    status.holder = Lock::holder(root);
    if status.is_loaded() && status.holder.is_none() {
        status.miss(
            "holder",
            "it was not started by 'swtch sched', and the kernel does not report which program loaded it, or when",
        );
    }
    status
}

/// Whether this machine permits a scheduler. No other `swtch sched` runs then until the lock is dropped, which `holder` has.
///
/// # Errors
/// When it does not, with the reason.
pub fn permit(scheduler: &str, holder: &str) -> Result<Option<Lock>, SchedError> {
    let root = Path::new("/");
    let is_root = rustix::process::geteuid().is_root();
    let permitted = Status::read(root).permits(scheduler, is_root);
    // Its lock says more than the kernel does.
    let lock = if is_root { Some(Lock::take(root, holder)?) } else { None };
    permitted?;
    Ok(lock)
}

/// Held until dropped, or until the process ends.
#[derive(Debug)]
pub struct Lock {
    /// None where there is no place for it: the kernel still refuses a second scheduler.
    _file: Option<File>,
}

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// [`SchedError::AnotherRuns`] names the holder.
    pub fn take(root: &Path, name: &str) -> Result<Self, SchedError> {
        let path = root.join(FILE);
        let _ = path.parent().map(fs::create_dir_all);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let Ok(mut file) = opened else { return Ok(Self { _file: None }) };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let holder = read(&mut file);
            let (name, pid) = holder.map_or(("unknown".to_owned(), 0), |holder| (holder.name, holder.pid));
            return Err(SchedError::AnotherRuns { name, pid });
        }
        let since_unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let holder = Holder { name: name.to_owned(), pid: std::process::id(), since_unix };
        let text = serde_json::to_string(&holder).unwrap_or_default();
        let _ = file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        Ok(Self { _file: Some(file) })
    }

    /// The holder of the lock at this moment.
    pub fn holder(root: &Path) -> Option<Holder> {
        let mut file = File::open(root.join(FILE)).ok()?;
        // A lock that can be taken has no holder. It is taken shared, so that two such checks do not hinder each other.
        let is_free = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        if is_free { None } else { read(&mut file) }
    }
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_that_others_started_has_no_holder() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join(swtch_sched_ext::DIRECTORY);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("state"), "enabled\n").unwrap();
        let found = status(root.path());
        assert!(
            found.holder.is_none()
                && found.unavailable.iter().any(|missing| missing.field.as_str() == "holder")
        );
    }

    #[test]
    fn the_second_is_told_who_is_first() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Lock::holder(root.path()), None);
        let first = Lock::take(root.path(), "flsched").unwrap();
        let error = Lock::take(root.path(), "fair").unwrap_err().to_string();
        assert!(error.contains("flsched") && error.contains(&std::process::id().to_string()), "{error}");
        assert_eq!(Lock::holder(root.path()).unwrap().name, "flsched");
        assert_eq!(status(root.path()).holder.unwrap().pid, std::process::id());
        drop(first);
        assert_eq!(Lock::holder(root.path()), None);
        assert!(Lock::take(root.path(), "fair").is_ok());
    }
}
