//! What the lines so far say about tasks.

use super::body::Named;
use std::collections::HashMap;
use swtch_trace::accumulate::TaskInfo;

/// The tasks that exist, by the lines so far.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    tasks: HashMap<u32, ImportedTask>,
    /// Whether any line named a process in addition to a thread.
    pub(super) names_processes: bool,
}

#[derive(Debug, Default)]
struct ImportedTask {
    comm: String,
    pid: Option<u32>,
    parent_pid: Option<u32>,
    /// A wake-up has begun and is not done.
    waking: bool,
}

impl ImportedTask {
    fn known(&self, tid: u32) -> TaskInfo {
        TaskInfo {
            tid,
            // A text without processes leaves every thread by itself.
            pid: self.pid.unwrap_or(tid),
            parent_pid: self.parent_pid,
            comm: self.comm.clone(),
            kernel_thread: false,
            ..TaskInfo::default()
        }
    }
}

impl Tasks {
    /// Takes a name of a task. Returns what is known of the task when the name is new.
    pub(super) fn name(&mut self, named: Named<'_>) -> Option<TaskInfo> {
        if named.tid == 0 {
            return None;
        }
        let task = self.tasks.entry(named.tid).or_default();
        if task.comm == named.comm {
            return None;
        }
        named.comm.clone_into(&mut task.comm);
        Some(task.known(named.tid))
    }

    /// Takes the running task of a line, perhaps with its process. The name serves until an event gives one.
    pub(super) fn runs(&mut self, tid: u32, comm: &str, pid: Option<u32>) -> Option<TaskInfo> {
        if tid == 0 {
            return None;
        }
        self.names_processes |= pid.is_some();
        let task = self.tasks.entry(tid).or_default();
        let news = pid.is_some() && pid != task.pid;
        task.pid = pid.or(task.pid);
        // `<...>` is a task that the recorder did not know.
        let nameless = task.comm.is_empty() && !comm.is_empty() && comm != "<...>";
        if nameless {
            comm.clone_into(&mut task.comm);
        }
        (news || nameless).then(|| task.known(tid))
    }

    /// A task is made. Its process is its own, as far as the text says.
    pub(super) fn made(&mut self, parent: Named<'_>, child: Named<'_>) -> TaskInfo {
        let parent_pid = self.tasks.get(&parent.tid).and_then(|task| task.pid).unwrap_or(parent.tid);
        let task = ImportedTask {
            comm: child.comm.to_owned(),
            parent_pid: Some(parent_pid),
            ..ImportedTask::default()
        };
        let known = task.known(child.tid);
        self.tasks.insert(child.tid, task);
        known
    }

    /// What is known of a task.
    pub(super) fn known(&self, tid: u32) -> TaskInfo {
        self.tasks
            .get(&tid)
            .map_or_else(|| TaskInfo { tid, pid: tid, ..TaskInfo::default() }, |task| task.known(tid))
    }

    /// A wake-up begins.
    pub(super) fn waking(&mut self, tid: u32) {
        self.tasks.entry(tid).or_default().waking = true;
    }

    /// A wake-up is done; whether its beginning was seen.
    pub(super) fn woken(&mut self, tid: u32) -> bool {
        self.tasks.get_mut(&tid).is_some_and(|task| std::mem::take(&mut task.waking))
    }

    /// A task has left for good; its number may be another's soon.
    pub(super) fn gone(&mut self, tid: u32) {
        self.tasks.remove(&tid);
    }
}
