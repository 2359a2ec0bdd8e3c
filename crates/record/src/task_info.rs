//! Tasks that are there already, as `/proc` names them.

use crate::files;
use crate::system::Hierarchy;
use crate::thread_files;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use swtch_trace::accumulate::{Accumulator, TaskInfo};
use swtch_trace::event::Scheduling;
use swtch_trace::tables::SchedPolicy;

/// A task by its number, if it is still there. `hierarchy` is that of its cgroup.
pub(crate) fn task(tid: u32, hierarchy: Option<&Hierarchy>) -> Option<TaskInfo> {
    let directory = directory(tid);
    let status = fs::read_to_string(format!("{directory}/status")).ok()?;
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).and_then(|value| value.trim().parse().ok())
    };
    Some(TaskInfo {
        tid,
        pid: field("Tgid:")?,
        parent_pid: field("PPid:"),
        comm: fs::read_to_string(format!("{directory}/comm")).ok()?.trim_end().to_owned(),
        kernel_thread: fs::read(format!("{directory}/stat"))
            .is_ok_and(|text| thread_files::stat(&text).is_some_and(|stat| stat.is_kernel_thread())),
        group: hierarchy.and_then(|hierarchy| group(tid, hierarchy)),
        scheduling: scheduling(&directory),
    })
}

/// The files of one task. Those of `/proc/TID` are of its process. There `stat` sums the times of all threads, so that to read it for each of
/// ten thousand takes half a minute.
fn directory(tid: u32) -> String {
    format!("/proc/{tid}/task/{tid}")
}

/// How a task is scheduled, from the files in its directory.
fn scheduling(directory: &str) -> Scheduling {
    let stat = fs::read_to_string(format!("{directory}/stat")).unwrap_or_default();
    // Fields are numbered as in proc_pid_stat(5); behind the name follows the third.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let at = |number: usize| fields.get(number - 3).copied();
    let status = fs::read_to_string(format!("{directory}/status")).unwrap_or_default();
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Scheduling {
        nice: at(19).and_then(|field| field.parse().ok()),
        realtime_priority: at(40).and_then(|field| field.parse().ok()).filter(|priority| *priority > 0),
        policy: at(41).and_then(|field| SchedPolicy::from_kernel(field.parse().ok()?)),
        cpus: cpus.and_then(|list| list.parse().ok()),
    }
}

/// The path of a task's cgroup, if the task is still there. Of one that has ended and waits to be collected, version 1 does not say.
pub(crate) fn group(tid: u32, hierarchy: &Hierarchy) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{tid}/cgroup")).ok()?;
    if hierarchy.is_of_cpu() && !exists(tid) {
        return None;
    }
    hierarchy.path_in(&text)
}

/// The number of the calling thread.
pub(crate) fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Names the tasks of which no event gave a name.
pub(crate) fn name_unnamed(accumulator: &mut Accumulator, hierarchy: Option<&Hierarchy>) {
    for known in accumulator.nameless().into_iter().filter_map(|tid| task(tid, hierarchy)) {
        accumulator.name(&known);
    }
}

/// Looks once more how the tasks that are still there are scheduled, and in which cgroups they are: no event reports a change.
pub(crate) fn look_again(accumulator: &mut Accumulator, hierarchy: Option<&Hierarchy>) {
    for tid in accumulator.living() {
        accumulator.reschedule(tid, &scheduling(&directory(tid)));
        if let Some(path) = hierarchy.and_then(|hierarchy| group(tid, hierarchy)) {
            accumulator.regroup(tid, path);
        }
    }
}

/// Whether a task has this number.
pub(crate) fn is_there(tid: u32) -> bool {
    Path::new(&format!("/proc/{tid}")).exists()
}

/// Whether a process is there and has not ended; one that waits to be collected has ended.
pub(crate) fn exists(pid: u32) -> bool {
    let text = fs::read(format!("{}/stat", directory(pid))).unwrap_or_default();
    thread_files::stat(&text).is_some_and(|stat| !stat.is_over())
}

/// Whether this process is in the first process namespace of the machine whose files are under `root`, as far as these show. Otherwise it
/// is in a container with task numbers of its own.
pub(crate) fn in_first_pid_namespace(root: &Path) -> Option<bool> {
    /// `PROC_PID_INIT_INO` (include/linux/proc_ns.h, v6.18).
    const FIRST: &str = "pid:[4026531836]";
    let space = fs::read_link(files::locate(root, "proc/self/ns/pid")).ok()?;
    Some(space.as_os_str() == FIRST)
}

/// Moves the descendants of `members` from `strangers` to `members`. Both hold processes, `strangers` with their parents. Processes that do not
/// descend from `members` stay in `strangers`.
pub(crate) fn adopt(members: &mut HashSet<u32>, strangers: &mut Vec<(u32, u32)>) {
    // A child may have a smaller number than its parent, since numbers begin again: until nothing more is found.
    loop {
        let before = strangers.len();
        strangers.retain(|(pid, parent)| !(members.contains(parent) && members.insert(*pid)));
        if strangers.len() == before {
            return;
        }
    }
}

/// Numbers of the threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    numbers(Path::new(&format!("/proc/{pid}/task")))
}

/// Numbers of all threads.
pub(crate) fn all() -> Vec<u32> {
    numbers(Path::new("/proc")).into_iter().flat_map(threads).collect()
}

/// Numbers of all processes.
pub(crate) fn processes() -> Vec<u32> {
    numbers(Path::new("/proc"))
}

/// Numbers of the threads in a cgroup and those below it.
pub(crate) fn in_folder(directory: &Path) -> Vec<u32> {
    // Version 2 has threads, version 1 has tasks.
    listed(directory, &["cgroup.threads", "tasks"])
}

/// Numbers of the processes in a cgroup and those below it.
pub(crate) fn processes_in_folder(directory: &Path) -> Vec<u32> {
    listed(directory, &["cgroup.procs"])
}

/// The numbers in the first of the files that is there, in a directory and in those below it.
fn listed(directory: &Path, files: &[&str]) -> Vec<u32> {
    let text =
        files.iter().find_map(|name| fs::read_to_string(directory.join(name)).ok()).unwrap_or_default();
    let mut found: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let below = fs::read_dir(directory).into_iter().flatten().flatten();
    found.extend(below.filter(|entry| entry.path().is_dir()).flat_map(|entry| listed(&entry.path(), files)));
    found
}

fn numbers(directory: &Path) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_know_ourselves() {
        let me = std::process::id();
        let hierarchy = Hierarchy::find(Path::new("/"));
        let known = task(me, hierarchy.as_ref()).unwrap();
        assert_eq!((known.tid, known.pid, known.kernel_thread), (me, me, false));
        assert!(!known.comm.is_empty() && known.parent_pid.is_some());
        assert_eq!(known.group.is_some(), hierarchy.is_some());
        let Scheduling { policy, nice, cpus, .. } = &known.scheduling;
        assert!(
            (-20..20).contains(&nice.unwrap())
                && policy.is_some()
                && !cpus.as_ref().unwrap().numbers().is_empty()
        );
        assert!(threads(me).contains(&me) && all().contains(&me));
        assert_eq!(task(u32::MAX, None), None);
    }
}
