//! Handing single tasks to the scheduler: those of a process or a cgroup get the policy SCHED_EXT, and their own back at the end.

use crate::error::SchedulerError;
use crate::options::Options;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The policy's number (Linux include/uapi/linux/sched.h).
const SCHED_EXT: i32 = 7;
/// Policies that are taken over: the fair ones. Real-time tasks keep theirs.
const TAKEN: [i32; 3] = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE];
/// Field `policy` of /proc/PID/stat, counted from the one behind the name (proc_pid_stat(5): field 41 of all).
const POLICY_FIELD: usize = 41 - 3;

/// The tasks that were handed over.
#[derive(Debug)]
pub(crate) struct Members {
    target: Target,
    /// Policies from before.
    former: BTreeMap<i32, i32>,
    /// Threads that had the policy before there was this scheduler.
    foreign: BTreeSet<i32>,
}

#[derive(Debug)]
enum Target {
    Process(u32),
    Cgroup(PathBuf),
}

impl Members {
    /// Those that the options ask for; `None` where they ask for all.
    ///
    /// # Errors
    /// When there is no such process or cgroup.
    pub(crate) fn of(options: &Options) -> Result<Option<Self>, SchedulerError> {
        let target = match (options.only_pid, &options.only_cgroup) {
            (Some(pid), _) if !Path::new(&format!("/proc/{pid}/task")).is_dir() => {
                return Err(SchedulerError::NoSuchTarget { what: format!("there is no process {pid}") });
            }
            (Some(pid), _) => Target::Process(pid),
            (None, Some(path)) if threads_file(path).is_none() => {
                let what =
                    format!("{} is not a cgroup: it has neither cgroup.threads nor tasks", path.display());
                return Err(SchedulerError::NoSuchTarget { what });
            }
            (None, Some(path)) => Target::Cgroup(path.clone()),
            (None, None) => return Ok(None),
        };
        let foreign = with_policy(SCHED_EXT).into_iter().collect();
        Ok(Some(Self { target, former: BTreeMap::new(), foreign }))
    }

    /// Hands over every thread that is not handed over yet; how many have been by now.
    ///
    /// # Errors
    /// When a policy cannot be set although the thread is there.
    pub(crate) fn adopt(&mut self) -> Result<usize, SchedulerError> {
        for tid in self.target.threads() {
            match policy(tid) {
                Some(old) if TAKEN.contains(&old) => {
                    set_policy(tid, SCHED_EXT)?;
                    self.former.insert(tid, old);
                }
                // A child of one of them: it had the policy from its first moment.
                Some(SCHED_EXT) if !self.foreign.contains(&tid) => {
                    self.former.entry(tid).or_insert(libc::SCHED_OTHER);
                }
                _ => {}
            }
        }
        Ok(self.former.len())
    }

    /// Gives every thread its policy back; those that were started since get the normal one.
    fn restore(&self) {
        for tid in with_policy(SCHED_EXT) {
            if !self.foreign.contains(&tid) {
                let former = self.former.get(&tid).copied().unwrap_or(libc::SCHED_OTHER);
                // It may have ended in between; no process is left for any other message.
                let _ = set_policy(tid, former);
            }
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.restore();
    }
}

impl Target {
    fn threads(&self) -> Vec<i32> {
        match self {
            Self::Process(pid) => threads_of(*pid),
            Self::Cgroup(path) => threads_below(path),
        }
    }
}

fn numbers_in(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn threads_of(pid: u32) -> Vec<i32> {
    numbers_in(&PathBuf::from(format!("/proc/{pid}/task"))).into_iter().map(|tid| tid as i32).collect()
}

/// Version 2 lists threads in `cgroup.threads`, version 1 in `tasks`.
fn threads_file(group: &Path) -> Option<PathBuf> {
    ["cgroup.threads", "tasks"].map(|name| group.join(name)).into_iter().find(|file| file.is_file())
}

fn threads_below(group: &Path) -> Vec<i32> {
    let mut threads = Vec::new();
    let mut groups = vec![group.to_owned()];
    while let Some(group) = groups.pop() {
        let list =
            threads_file(&group).and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        threads.extend(list.lines().filter_map(|line| line.trim().parse::<i32>().ok()));
        let inner = std::fs::read_dir(&group).into_iter().flatten().flatten();
        groups.extend(inner.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    threads
}

/// All threads of the machine that have a policy.
fn with_policy(wanted: i32) -> Vec<i32> {
    let threads = numbers_in(Path::new("/proc")).into_iter().flat_map(threads_of);
    threads.filter(|tid| policy(*tid) == Some(wanted)).collect()
}

fn policy(tid: i32) -> Option<i32> {
    policy_in(&std::fs::read_to_string(format!("/proc/{tid}/stat")).ok()?)
}

fn policy_in(stat: &str) -> Option<i32> {
    // The name may hold anything, parentheses too.
    stat.rsplit_once(')')?.1.split_whitespace().nth(POLICY_FIELD)?.parse().ok()
}

fn set_policy(tid: i32, policy: i32) -> Result<(), SchedulerError> {
    // The kernel's `sched_param` is this one number. musl's function of this name always fails.
    let priority: libc::c_int = 0;
    // SAFETY: reads one number that outlives the call.
    if unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid, policy, &raw const priority) } == 0 {
        return Ok(());
    }
    let source = std::io::Error::last_os_error();
    match source.raw_os_error() {
        // It has ended since it was listed.
        Some(libc::ESRCH) => Ok(()),
        _ => Err(SchedulerError::Policy { tid, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_found_whatever_the_name() {
        let fields: Vec<String> = (0..50).map(|index| index.to_string()).collect();
        let stat = format!("12 (a) b ()) {}", fields.join(" "));
        assert_eq!(policy_in(&stat), Some(38));
        assert_eq!(policy_in("12 (short) S 1"), None);
    }

    #[test]
    fn this_process_has_the_policy_that_the_kernel_says() {
        // SAFETY: the call only reads.
        assert_eq!(policy(std::process::id() as i32), Some(unsafe { libc::sched_getscheduler(0) }));
        assert!(threads_of(std::process::id()).contains(&(std::process::id() as i32)));
    }

    #[test]
    fn a_control_group_is_listed_with_those_below() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("inner")).unwrap();
        std::fs::write(root.path().join("cgroup.threads"), "1\n2\n").unwrap();
        std::fs::write(root.path().join("inner/cgroup.threads"), "3\n").unwrap();
        assert_eq!(threads_below(root.path()), [1, 2, 3]);
    }

    #[test]
    fn what_is_not_there_is_refused_before_anything_happens() {
        let missing = Options { only_pid: Some(u32::MAX), ..Options::default() };
        assert!(Members::of(&missing).unwrap_err().to_string().contains("no process 4294967295"));
        let folder = tempfile::tempdir().unwrap();
        let missing = Options { only_cgroup: Some(folder.path().to_owned()), ..Options::default() };
        assert!(Members::of(&missing).unwrap_err().to_string().contains("is not a cgroup"));
        assert!(Members::of(&Options::default()).unwrap().is_none());
    }
}
