//! For one who asks again and again, without end: what happened lately, and nothing of what is over.

use super::{Accumulator, Edge, Tables};
use std::collections::HashMap;

impl Accumulator {
    /// The tables as they stand at `now_ns` (CLOCK_MONOTONIC), for one who asks without end: memory stays bounded by what exists.
    ///
    /// Figures of tasks are sums since the beginning; their medians, quantiles and longest times are of the time since this was last called,
    /// and so are the pairs. Tasks that have ended are there once. Histograms and intervals are left out.
    ///
    /// ```
    /// use swtch_trace::accumulate::{Accumulator, CacheGroups};
    /// let mut accumulator = Accumulator::new(0, CacheGroups::default(), false);
    /// assert!(accumulator.recent(1, &|_| None).tasks.is_empty());
    /// ```
    pub fn recent(&mut self, now_ns: u64, group_name: &dyn Fn(u64) -> Option<String>) -> Tables {
        self.arrive_until(now_ns);
        let tables = Tables {
            tasks: self.task_rows(now_ns, group_name),
            cpus: self.cpu_rows(),
            wakes: self.wake_rows(),
            preemptions: self.preemption_rows(),
            ..Tables::default()
        };
        self.ended.clear();
        for task in self.tasks.values_mut() {
            task.waits.begin_anew();
            task.slices.begin_anew();
        }
        begin_anew(&mut self.wakes);
        begin_anew(&mut self.preemptions);
        tables
    }

    /// Forgets tasks without an event since `since_ns` (CLOCK_MONOTONIC) that do not exist any more: the event of their end was lost.
    pub fn forget_unless(&mut self, since_ns: u64, exists: impl Fn(u32) -> bool) {
        let quiet_ns = since_ns.saturating_sub(self.start_ns);
        let (processes, members) = (&mut self.processes, &mut self.members);
        self.tasks.retain(|tid, task| {
            let stays = task.last_ns >= quiet_ns || exists(*tid);
            if !stays {
                processes.remove(tid);
                if let Some(members) = members {
                    members.remove(tid);
                }
            }
            stays
        });
    }
}

/// Counts from zero. A pair stays for one more turn, since a wait may end in the next one; then it is gone unless something happened.
fn begin_anew(edges: &mut HashMap<(u32, u32), Edge>) {
    edges.retain(|_, edge| edge.count > 0 || edge.ns > 0);
    for edge in edges.values_mut() {
        *edge = Edge::default();
    }
}
