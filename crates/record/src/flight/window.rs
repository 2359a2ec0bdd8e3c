//! What happened in the last second, for conditions: the accumulator of every recording sees the events, and its rows are counted here.

use std::collections::VecDeque;
use swtch_stats::{Histogram, class_quantile};
use swtch_trace::accumulate::{Accumulator, CacheGroups, History, TaskInfo};
use swtch_trace::event::Event;
use swtch_trace::tables::SwitchRow;

/// Parts of the second, each a quarter of it.
const PARTS: usize = 4;
/// How long a part is at least, ns.
pub(super) const PART_NS: u64 = 250_000_000;
/// Within 1/64 of the value.
const CLASS_BITS: u32 = 5;
/// Tasks that ended are forgotten so often, in parts.
const FORGET_EVERY: u64 = 40;

/// A part of the second.
#[derive(Debug, Default)]
pub(super) struct WindowPart {
    length_ns: u64,
    waits: Histogram<CLASS_BITS>,
    slices: Histogram<CLASS_BITS>,
    pub(super) switches: u64,
    pub(super) wakeups: u64,
    pub(super) lost: u64,
    /// Time in which some task waited for a CPU, and time that the hypervisor took, where the kernel reports them.
    pub(super) pressure_ns: Option<u64>,
    pub(super) steal_ns: Option<u64>,
}

/// Counters that only grow, as they are at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowCounters {
    pub(super) at_ns: u64,
    pub(super) lost: u64,
    pub(super) pressure_ns: Option<u64>,
    pub(super) steal_ns: Option<u64>,
}

/// The last second, of all tasks and of those that conditions name.
#[derive(Debug)]
pub(super) struct Window {
    accumulator: Accumulator,
    rows: Vec<SwitchRow>,
    scopes: Vec<WindowScope>,
    last: WindowCounters,
    ended_parts: u64,
}

/// The last second of all tasks, or of those of a name.
#[derive(Debug)]
pub(super) struct WindowScope {
    task: Option<String>,
    pub(super) cpus: u64,
    parts: VecDeque<WindowPart>,
    current: WindowPart,
}

impl Window {
    /// Begins with the tasks that exist, for all tasks (`None`) and for those of some names.
    pub(super) fn new<'a>(
        cpus: usize,
        now: WindowCounters,
        tasks: &[TaskInfo],
        names: impl Iterator<Item = Option<&'a str>>,
    ) -> Self {
        let mut accumulator = Accumulator::new(now.at_ns, CacheGroups::default(), false);
        for task in tasks {
            accumulator.name(task);
        }
        let mut scopes: Vec<WindowScope> = Vec::new();
        for name in names {
            if !scopes.iter().any(|scope| scope.task.as_deref() == name) {
                let (parts, current) = (VecDeque::new(), WindowPart::default());
                scopes.push(WindowScope { task: name.map(str::to_owned), cpus: cpus as u64, parts, current });
            }
        }
        Self { accumulator, rows: Vec::new(), scopes, last: now, ended_parts: 0 }
    }

    /// That of the tasks of a name.
    pub(super) fn scope(&self, task: Option<&str>) -> Option<&WindowScope> {
        self.scopes.iter().find(|scope| scope.task.as_deref() == task)
    }

    pub(super) fn take(&mut self, event: &Event) {
        self.accumulator.take(event, &mut self.rows);
        for WindowScope { task, current, .. } in &mut self.scopes {
            let is_of = |tid| task.is_none() || self.accumulator.comm(tid) == task.as_deref();
            if let Event::Wake(wake) = event {
                current.wakeups += u64::from(is_of(wake.wakee_tid));
            }
            for row in &self.rows {
                if is_of(row.prev_tid) {
                    current.switches += 1;
                    row.ran_ns.into_iter().for_each(|ns| current.slices.add(ns));
                }
                row.waited_ns
                    .filter(|_| is_of(row.next_tid))
                    .into_iter()
                    .for_each(|ns| current.waits.add(ns));
            }
        }
        self.rows.clear();
    }

    /// Whether it is time to end a part.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.last.at_ns) >= PART_NS
    }

    /// Ends a part. Returns whether a whole second is known.
    pub(super) fn end_part(&mut self, now: WindowCounters) -> bool {
        let since = |now: Option<u64>, last: Option<u64>| Some(now?.saturating_sub(last?));
        for WindowScope { parts, current, .. } in &mut self.scopes {
            parts.push_back(WindowPart {
                length_ns: now.at_ns - self.last.at_ns,
                lost: now.lost - self.last.lost,
                pressure_ns: since(now.pressure_ns, self.last.pressure_ns),
                steal_ns: since(now.steal_ns, self.last.steal_ns),
                ..std::mem::take(current)
            });
            if parts.len() > PARTS {
                parts.pop_front();
            }
        }
        self.last = now;
        self.ended_parts += 1;
        if self.ended_parts.is_multiple_of(FORGET_EVERY) {
            drop(self.accumulator.snapshot(now.at_ns, History::Recent, &|_| None));
        }
        self.ended_parts >= PARTS as u64
    }

    /// Forgets tasks that exist no more and whose end was lost.
    pub(super) fn forget_unless(&mut self, exists: impl Fn(u32) -> bool) {
        self.accumulator.forget_unless(self.last.at_ns, exists);
    }
}

impl WindowScope {
    /// A quantile of the waits, ns.
    pub(super) fn wait_ns(&self, share: f64) -> Option<f64> {
        self.quantile(share, |part| &part.waits)
    }

    /// A quantile of the slices, ns.
    pub(super) fn slice_ns(&self, share: f64) -> Option<f64> {
        self.quantile(share, |part| &part.slices)
    }

    fn quantile(&self, share: f64, of: fn(&WindowPart) -> &Histogram<CLASS_BITS>) -> Option<f64> {
        let longest = self.parts.iter().filter_map(|part| of(part).max()).max();
        if share >= 1.0 {
            return longest.map(|ns| ns as f64);
        }
        let mut all = Histogram::<CLASS_BITS>::default();
        for (from, _, count) in self.parts.iter().flat_map(|part| of(part).classes()) {
            all.add_many(from, count);
        }
        class_quantile(all.classes(), share, longest).map(|ns| ns as f64)
    }

    /// How many a second.
    pub(super) fn rate(&self, of: fn(&WindowPart) -> u64) -> f64 {
        let length_ns: u64 = self.parts.iter().map(|part| part.length_ns).sum();
        self.parts.iter().map(of).sum::<u64>() as f64 * 1e9 / length_ns.max(1) as f64
    }

    /// The share of the time of this number of CPUs.
    pub(super) fn share(&self, of: fn(&WindowPart) -> Option<u64>, cpus: u64) -> Option<f64> {
        let length_ns: u64 = self.parts.iter().map(|part| part.length_ns).sum();
        let sum_ns = self.parts.iter().map(of).try_fold(0, |sum, ns| Some(sum + ns?))?;
        Some(sum_ns as f64 / (length_ns * cpus).max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_trace::event::{PrevState, Switch, Wake};

    #[test]
    fn the_last_second_slides_and_what_is_before_it_is_forgotten() {
        let at = |part: u64| WindowCounters {
            at_ns: part * PART_NS,
            lost: part,
            pressure_ns: Some(part * PART_NS / 2),
            steal_ns: None,
        };
        let web = TaskInfo { tid: 7, comm: "web".into(), ..TaskInfo::default() };
        let names = [None, Some("web"), Some("other"), None];
        let mut window = Window::new(2, at(0), &[web], names.into_iter());
        assert_eq!(window.scopes.len(), 3);
        let wait = |window: &mut Window, at_ns: u64, waited_ns: u64| {
            window.take(&Event::Wake(Wake { at_ns, cpu: 0, wakee_tid: 7, waker_tid: None, new: false }));
            let runs = Switch::bare(at_ns + waited_ns, 0, 0, 7, PrevState::Runnable);
            let sleeps = Switch::bare(at_ns + waited_ns + 1000, 0, 7, 0, PrevState::Sleeping);
            for switch in [runs, sleeps] {
                window.take(&Event::Switch(switch));
            }
        };
        wait(&mut window, 1_000, 30_000_000);
        assert!(!window.end_part(at(1)), "one part is not a second");
        for part in 2..=4 {
            (0..33).for_each(|index| wait(&mut window, (part - 1) * PART_NS + index * 100_000, 2_000));
            assert_eq!(window.end_part(at(part)), part == 4);
        }
        for name in [None, Some("web")] {
            let scope = window.scope(name).unwrap();
            assert_eq!(scope.wait_ns(1.0), Some(30e6));
            assert!(scope.wait_ns(0.5).unwrap() < 2_100.0 && scope.wait_ns(0.99).unwrap() < 2_100.0);
            assert_eq!(scope.rate(|part| part.wakeups), 100.0);
        }
        let of_others = window.scope(Some("other")).unwrap();
        assert_eq!((of_others.wait_ns(1.0), of_others.rate(|part| part.switches)), (None, 0.0));
        // Those from the idle task are of no task.
        assert_eq!(window.scope(Some("web")).unwrap().rate(|part| part.switches), 100.0);
        let all = window.scope(None).unwrap();
        assert_eq!(all.rate(|part| part.switches), 200.0);
        assert_eq!((all.rate(|part| part.lost), all.share(|part| part.steal_ns, 2)), (4.0, None));
        assert_eq!(all.share(|part| part.pressure_ns, 1), Some(0.5));
        window.end_part(at(5));
        assert!(
            window.scope(None).unwrap().wait_ns(1.0).unwrap() < 2_100.0,
            "the long wait is more than a second ago"
        );
        for part in 6..=8 {
            window.end_part(at(part));
        }
        let all = window.scope(None).unwrap();
        assert_eq!((all.wait_ns(0.5), all.rate(|part| part.switches)), (None, 0.0));
    }
}
