//! What happened in the last second, for conditions.

use super::subject::Subject;
use super::tasks::WindowTasks;
use std::collections::{HashSet, VecDeque};
use swtch_stats::{Histogram, class_quantile};
use swtch_trace::accumulate::TaskInfo;
use swtch_trace::event::Event;
use swtch_trace::model::Throttled;

/// Parts of the second, each a quarter of it.
const PARTS: usize = 4;
/// How long a part is at least, ns.
pub(super) const PART_NS: u64 = 250_000_000;
/// Within 1/64 of the value.
const CLASS_BITS: u32 = 5;

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
    /// Of a cgroup with a quota: its periods, and those in which it was stopped.
    periods: Option<(u64, u64)>,
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
    tasks: WindowTasks,
    scopes: Vec<WindowScope>,
    last: WindowCounters,
    ended_parts: u64,
}

/// The last second of all tasks, or of those of a name or a cgroup.
#[derive(Debug)]
pub(super) struct WindowScope {
    subject: Subject,
    /// What the quota of its cgroup has done so far.
    throttled: Option<Throttled>,
    pub(super) cpus: u64,
    parts: VecDeque<WindowPart>,
    current: WindowPart,
}

impl Window {
    /// Begins with the tasks that exist, for these subjects.
    pub(super) fn new<'a>(
        cpus: usize,
        now: WindowCounters,
        tasks: &[TaskInfo],
        subjects: impl Iterator<Item = &'a Subject>,
    ) -> Self {
        let mut scopes: Vec<WindowScope> = Vec::new();
        for subject in subjects {
            if !scopes.iter().any(|scope| scope.subject == *subject) {
                scopes.push(WindowScope {
                    subject: subject.clone(),
                    throttled: None,
                    cpus: cpus as u64,
                    parts: VecDeque::new(),
                    current: WindowPart::default(),
                });
            }
        }
        let tasks = WindowTasks::new(scopes.iter().map(|scope| scope.subject.clone()).collect(), tasks);
        Self { tasks, scopes, last: now, ended_parts: 0 }
    }

    /// That of a subject.
    pub(super) fn scope(&self, subject: &Subject) -> Option<&WindowScope> {
        self.scopes.iter().find(|scope| scope.subject == *subject)
    }

    pub(super) fn take(&mut self, event: &Event) {
        let scopes = &mut self.scopes;
        match event {
            Event::Wake(wake) if wake.wakee_tid != 0 => {
                for scope in self.tasks.wake(wake) {
                    scopes[usize::from(*scope)].current.wakeups += 1;
                }
            }
            Event::Switch(switch) => {
                let (ran_ns, left) = self.tasks.leaves(switch);
                for scope in left {
                    let current = &mut scopes[usize::from(*scope)].current;
                    current.switches += 1;
                    if let Some(ns) = ran_ns {
                        current.slices.add(ns);
                    }
                }
                self.tasks.ends(switch);
                let (waited_ns, came) = self.tasks.comes(switch);
                if let Some(ns) = waited_ns {
                    for scope in came {
                        scopes[usize::from(*scope)].current.waits.add(ns);
                    }
                }
            }
            Event::Life(life) if life.tid != 0 => self.tasks.life(life),
            _ => {}
        }
    }

    /// Sets which tasks are in the cgroup of a path now, and what its quota did so far: no event reports that.
    pub(super) fn set_cgroup(
        &mut self,
        path: &str,
        tids: Option<&HashSet<u32>>,
        throttled: Option<Throttled>,
    ) {
        for (scope, index) in self.scopes.iter_mut().zip(0..) {
            if !matches!(&scope.subject, Subject::Cgroup(of) if of == path) {
                continue;
            }
            if let (Some(now), Some(before)) = (&throttled, &scope.throttled) {
                let periods = now.periods.saturating_sub(before.periods);
                let stopped = now.throttled_periods.saturating_sub(before.throttled_periods);
                scope.current.periods = Some((periods, stopped));
            }
            scope.throttled = throttled;
            if let Some(tids) = tids {
                self.tasks.set_members(index, tids);
            }
        }
    }

    /// Whether it is time to look which tasks are in cgroups: once a second.
    pub(super) fn looks_for_members(&self) -> bool {
        self.ended_parts.is_multiple_of(PARTS as u64)
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
        self.ended_parts >= PARTS as u64
    }

    /// Forgets tasks that exist no more and whose end was lost.
    pub(super) fn forget_unless(&mut self, exists: impl Fn(u32) -> bool) {
        self.tasks.forget_unless(exists);
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

    /// The share of the periods of the cgroup's quota in which it was stopped; unknown without a quota, or where it did not run.
    pub(super) fn throttled(&self) -> Option<f64> {
        let parts = || self.parts.iter().filter_map(|part| part.periods);
        let periods: u64 = parts().map(|(periods, _)| periods).sum();
        let stopped: u64 = parts().map(|(_, stopped)| stopped).sum();
        (periods > 0).then(|| (stopped as f64 / periods as f64).min(1.0))
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
    use super::super::condition::Condition;
    use super::*;
    use swtch_trace::event::{LifeKind, PrevState, Switch, Wake};

    #[test]
    fn the_last_second_slides_and_what_is_before_it_is_forgotten() {
        let at = |part: u64| WindowCounters {
            at_ns: part * PART_NS,
            lost: part,
            pressure_ns: Some(part * PART_NS / 2),
            steal_ns: None,
        };
        let web = TaskInfo { tid: 7, comm: "web".into(), ..TaskInfo::default() };
        let named = |name: &str| Subject::Task(name.to_owned());
        let subjects = [Subject::All, named("web"), named("other"), Subject::All];
        let mut window = Window::new(2, at(0), &[web], subjects.iter());
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
        for subject in &subjects[..2] {
            let scope = window.scope(subject).unwrap();
            assert_eq!(scope.wait_ns(1.0), Some(30e6));
            assert!(scope.wait_ns(0.5).unwrap() < 2_100.0 && scope.wait_ns(0.99).unwrap() < 2_100.0);
            assert_eq!(scope.rate(|part| part.wakeups), 100.0);
        }
        let of_others = window.scope(&named("other")).unwrap();
        assert_eq!((of_others.wait_ns(1.0), of_others.rate(|part| part.switches)), (None, 0.0));
        // Those from the idle task are of no task.
        assert_eq!(window.scope(&named("web")).unwrap().rate(|part| part.switches), 100.0);
        let all = window.scope(&Subject::All).unwrap();
        assert_eq!(all.rate(|part| part.switches), 200.0);
        assert_eq!((all.rate(|part| part.lost), all.share(|part| part.steal_ns, 2)), (4.0, None));
        assert_eq!(all.share(|part| part.pressure_ns, 1), Some(0.5));
        window.end_part(at(5));
        assert!(
            window.scope(&Subject::All).unwrap().wait_ns(1.0).unwrap() < 2_100.0,
            "the long wait is more than a second ago"
        );
        for part in 6..=8 {
            window.end_part(at(part));
        }
        let all = window.scope(&Subject::All).unwrap();
        assert_eq!((all.wait_ns(0.5), all.rate(|part| part.switches)), (None, 0.0));
    }

    /// Members come by a look and by being made by one, and go by a look.
    #[test]
    fn a_cgroup_has_its_own_tasks_and_the_share_of_its_periods() {
        let at = |part: u64| WindowCounters { at_ns: part * PART_NS, ..WindowCounters::default() };
        let web = Subject::Cgroup("/web".to_owned());
        let mut window = Window::new(2, at(0), &[], [&Subject::All, &web].into_iter());
        let throttled =
            |periods, throttled_periods| Some(Throttled { periods, throttled_periods, throttled_ns: 0 });
        let wake = |window: &mut Window, tid| {
            let wake = Wake { at_ns: PART_NS, cpu: 0, wakee_tid: tid, waker_tid: None, new: false };
            window.take(&Event::Wake(wake));
        };
        window.set_cgroup("/web", Some(&HashSet::from([7])), throttled(100, 50));
        let child = TaskInfo { tid: 8, pid: 7, ..TaskInfo::default() };
        window.take(&child.life(PART_NS, LifeKind::Fork));
        for tid in [7, 8, 9] {
            wake(&mut window, tid);
        }
        window.end_part(at(1));
        let wakes = |window: &Window, of: &Subject| -> u64 {
            window.scope(of).unwrap().parts.iter().map(|part| part.wakeups).sum()
        };
        assert_eq!((wakes(&window, &Subject::All), wakes(&window, &web)), (3, 2));
        assert_eq!(
            window.scope(&web).unwrap().throttled(),
            None,
            "an earlier stop is not of the last second"
        );
        window.set_cgroup("/web", Some(&HashSet::from([9])), throttled(103, 51));
        window.set_cgroup("/other", None, throttled(500, 500));
        for tid in [7, 8, 9] {
            wake(&mut window, tid);
        }
        window.end_part(at(2));
        assert_eq!((wakes(&window, &web), window.scope(&web).unwrap().throttled()), (3, Some(1.0 / 3.0)));
        let condition = |text: &str| text.parse::<Condition>().unwrap().why(window.scope(&web).unwrap());
        assert!(condition("throttled > 34% for cgroup /web").is_none());
        let why = condition("throttled > 30% for cgroup /web").unwrap();
        assert!(why.ends_with("(throttled > 30% for cgroup /web)"), "{why}");
        // It is gone, and a new one of the path begins from nothing.
        window.set_cgroup("/web", Some(&HashSet::new()), None);
        window.end_part(at(3));
        window.set_cgroup("/web", None, throttled(4, 4));
        for part in 4..8 {
            window.end_part(at(part));
        }
        assert_eq!(window.scope(&web).unwrap().throttled(), None);
    }
}
