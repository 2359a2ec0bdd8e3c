//! How recorded tasks are scheduled: their nice values, classes, priorities, CPUs and working sets, as far as the recording has them.

use crate::assumption::Assumption;
use crate::workload::{TaskClass, TaskSpec};
use swtch_trace::tables::{SchedPolicy, TaskRow};
use swtch_units::CpuList;

/// The nice value of a recorded real-time task under a fair class: no other task has more weight.
const REALTIME_NICE: i8 = -20;

/// What is missing of the tasks so far.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    tasks: usize,
    without_nice: usize,
    without_working_set: usize,
    realtime: usize,
    throttled: u64,
}

impl Attributes {
    /// A task's attributes.
    pub(super) fn spec(&mut self, row: Option<&TaskRow>) -> TaskSpec {
        self.tasks += 1;
        let policy = row.and_then(|row| row.policy);
        let is_realtime = policy.is_some_and(SchedPolicy::is_realtime);
        self.realtime += usize::from(is_realtime);
        let nice = row.and_then(|row| row.nice).and_then(|nice| i8::try_from(nice).ok());
        self.without_nice += usize::from(nice.is_none() && !is_realtime);
        let working_set_bytes = row.and_then(|row| row.working_set_bytes).unwrap_or(0);
        self.without_working_set += usize::from(working_set_bytes == 0);
        let allowed = row.and_then(|row| row.cpus_allowed.as_ref()?.parse::<CpuList>().ok());
        let priority = row.and_then(|row| row.realtime_priority).unwrap_or(0);
        TaskSpec {
            nice: if is_realtime { REALTIME_NICE } else { nice.unwrap_or(0).clamp(-20, 19) },
            class: match policy {
                Some(SchedPolicy::Batch) => TaskClass::Batch,
                Some(SchedPolicy::Idle) => TaskClass::Idle,
                _ => TaskClass::Normal,
            },
            priority: if policy == Some(SchedPolicy::Deadline) { 99 } else { priority.min(99) as u8 },
            allowed: allowed.map(|list| list.cpus().to_vec()).unwrap_or_default(),
            working_set_bytes,
            ..TaskSpec::default()
        }
    }

    /// A switch that a quota made.
    pub(super) fn throttled(&mut self) {
        self.throttled += 1;
    }

    /// What is missing, in short.
    pub(super) fn lacks(&self) -> Vec<&'static str> {
        let missing = [(self.without_nice, "nice values"), (self.without_working_set, "working sets")];
        missing.into_iter().filter(|(count, _)| *count > 0).map(|(_, what)| what).collect()
    }

    /// What is missing and what stands for it.
    pub(super) fn assumed(&self) -> Vec<Assumption> {
        let of = |count: usize, value: &str| format!("{value} for {count} of {} tasks", self.tasks);
        let rows = [
            (self.without_nice, "nice values", of(self.without_nice, "0"), "they were not recorded"),
            (
                self.without_working_set,
                "working sets",
                of(self.without_working_set, "0 bytes"),
                "they were not recorded; no refill is charged",
            ),
            (
                self.realtime,
                "real-time tasks",
                of(self.realtime, "nice -20"),
                "no class goes before the fair one here; fifo and rr take their priorities",
            ),
            (
                self.throttled as usize,
                "quotas",
                "none".to_owned(),
                "the recording does not have them; a quota stopped some of its tasks, which were runnable then",
            ),
        ];
        let rows = rows.into_iter().filter(|(count, ..)| *count > 0);
        rows.map(|(_, what, value, why)| Assumption::new(what, value, why)).collect()
    }
}
