//! What a watch without end forgets, so that memory stays bounded by what exists.

use super::{Accumulator, Edge};
use rustc_hash::FxHashMap;

impl Accumulator {
    /// Keeps sums, and nothing of what is over.
    pub(super) fn forget_past(&mut self) {
        self.ended.clear();
        for task in self.tasks.values_mut() {
            task.waits.begin_anew();
            task.slices.begin_anew();
            task.behind.clear();
        }
        self.interruptions.clear();
        begin_anew(&mut self.wakes);
        begin_anew(&mut self.preemptions);
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
fn begin_anew(edges: &mut FxHashMap<(u32, u32), Edge>) {
    edges.retain(|_, edge| edge.count > 0 || edge.ns > 0);
    for edge in edges.values_mut() {
        *edge = Edge::default();
    }
}
