//! Until when a quota keeps a task that it stopped from its CPU.

use super::task::CgroupName;
use rustc_hash::FxHashMap;

/// When tasks of a cgroup came back to a CPU on which its quota had stopped one of them.
#[derive(Debug, Default)]
pub(super) struct Stopped {
    /// By CPU; none while none has come.
    came_ns: FxHashMap<CgroupName, FxHashMap<u32, Option<u64>>>,
}

impl Stopped {
    pub(super) fn is_empty(&self) -> bool {
        self.came_ns.is_empty()
    }

    pub(super) fn stops(&mut self, group: &CgroupName, cpu: u32) {
        if let Some(came_ns) = self.came_ns.get_mut(group) {
            came_ns.insert(cpu, None);
        } else {
            self.came_ns.insert(group.clone(), [(cpu, None)].into_iter().collect());
        }
    }

    pub(super) fn comes(&mut self, group: &CgroupName, cpu: u32, at_ns: u64) {
        if let Some(came_ns) = self.came_ns.get_mut(group).and_then(|cpus| cpus.get_mut(&cpu)) {
            came_ns.get_or_insert(at_ns);
        }
    }

    /// When the first one came.
    pub(super) fn came_ns(&self, group: &CgroupName, cpu: u32) -> Option<u64> {
        *self.came_ns.get(group)?.get(&cpu)?
    }
}
