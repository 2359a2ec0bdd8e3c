//! What happened in the last second, for conditions: the accumulator of every recording sees the events, and its rows are counted here.

use std::collections::VecDeque;
use swtch_stats::{Histogram, class_quantile};
use swtch_trace::accumulate::{Accumulator, CacheGroups, History};
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

/// The last second.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) cpus: u64,
    accumulator: Accumulator,
    rows: Vec<SwitchRow>,
    parts: VecDeque<WindowPart>,
    current: WindowPart,
    last: WindowCounters,
    ended_parts: u64,
}

impl Window {
    pub(super) fn new(cpus: usize, now: WindowCounters) -> Self {
        Self {
            cpus: cpus as u64,
            accumulator: Accumulator::new(now.at_ns, CacheGroups::default(), false),
            rows: Vec::new(),
            parts: VecDeque::new(),
            current: WindowPart::default(),
            last: now,
            ended_parts: 0,
        }
    }

    pub(super) fn take(&mut self, event: &Event) {
        self.current.wakeups += u64::from(matches!(event, Event::Wake(_)));
        self.accumulator.take(event, &mut self.rows);
        for row in self.rows.drain(..) {
            self.current.switches += 1;
            row.waited_ns.into_iter().for_each(|ns| self.current.waits.add(ns));
            row.ran_ns.into_iter().for_each(|ns| self.current.slices.add(ns));
        }
    }

    /// Whether it is time to end a part.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.last.at_ns) >= PART_NS
    }

    /// Ends a part. Returns whether a whole second is known.
    pub(super) fn end_part(&mut self, now: WindowCounters) -> bool {
        let since = |now: Option<u64>, last: Option<u64>| Some(now?.saturating_sub(last?));
        let part = WindowPart {
            length_ns: now.at_ns - self.last.at_ns,
            lost: now.lost - self.last.lost,
            pressure_ns: since(now.pressure_ns, self.last.pressure_ns),
            steal_ns: since(now.steal_ns, self.last.steal_ns),
            ..std::mem::take(&mut self.current)
        };
        self.last = now;
        self.parts.push_back(part);
        if self.parts.len() > PARTS {
            self.parts.pop_front();
        }
        self.ended_parts += 1;
        if self.ended_parts.is_multiple_of(FORGET_EVERY) {
            drop(self.accumulator.snapshot(now.at_ns, History::Recent, &|_| None));
        }
        self.parts.len() == PARTS
    }

    /// Forgets tasks that exist no more and whose end was lost.
    pub(super) fn forget_unless(&mut self, exists: impl Fn(u32) -> bool) {
        self.accumulator.forget_unless(self.last.at_ns, exists);
    }

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
    pub(super) fn rate(&self, of: fn(&WindowPart) -> u64) -> Option<f64> {
        let length_ns: u64 = self.parts.iter().map(|part| part.length_ns).sum();
        Some(self.parts.iter().map(of).sum::<u64>() as f64 * 1e9 / length_ns.max(1) as f64)
    }

    /// The share of the time of so many CPUs.
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
        let mut window = Window::new(2, at(0));
        let wait = |window: &mut Window, at_ns: u64, waited_ns: u64| {
            window.take(&Event::Wake(Wake { at_ns, cpu: 0, wakee_tid: 7, waker_tid: None, new: false }));
            let runs = Switch::bare(at_ns + waited_ns, 0, 0, 7, PrevState::Runnable);
            let sleeps = Switch::bare(at_ns + waited_ns + 1000, 0, 7, 0, PrevState::Sleeping);
            [runs, sleeps].into_iter().for_each(|switch| window.take(&Event::Switch(switch)));
        };
        wait(&mut window, 1_000, 30_000_000);
        assert!(!window.end_part(at(1)), "one part is not a second");
        for part in 2..=4 {
            (0..33).for_each(|index| wait(&mut window, (part - 1) * PART_NS + index * 100_000, 2_000));
            assert_eq!(window.end_part(at(part)), part == 4);
        }
        assert_eq!(window.wait_ns(1.0), Some(30e6));
        assert!(window.wait_ns(0.5).unwrap() < 2_100.0 && window.wait_ns(0.99).unwrap() < 2_100.0);
        assert_eq!(window.rate(|part| part.switches), Some(200.0));
        assert_eq!(window.rate(|part| part.wakeups), Some(100.0));
        assert_eq!((window.rate(|part| part.lost), window.share(|part| part.steal_ns, 2)), (Some(4.0), None));
        assert_eq!(window.share(|part| part.pressure_ns, 1), Some(0.5));
        window.end_part(at(5));
        assert!(window.wait_ns(1.0).unwrap() < 2_100.0, "the long wait is more than a second ago");
        for part in 6..=8 {
            window.end_part(at(part));
        }
        assert_eq!((window.wait_ns(0.5), window.rate(|part| part.switches)), (None, Some(0.0)));
    }
}
