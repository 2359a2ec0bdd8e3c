//! Whether what was counted in a window can be true, before it is added to sums that never go back.

use super::MachineDelta;
use crate::system::Snapshot;
use std::path::Path;
use swtch_units::input_error::{Checks, Refused};

/// A running task's time is added at its CPU's next tick. On a virtual machine whose CPU is taken away, that may be seconds late.
const LATE_TICK_NS: u64 = 10_000_000_000;
/// Switches of a CPU that the kernel and the programs count on different sides of a reading.
const SWITCHES_UNDERWAY: u64 = 4;

/// The figures that are checked.
pub const CHECKED: [&str; 5] =
    ["context_switches", "run_seconds", "wait_seconds", "cgroup_cpu_seconds", "cgroup_throttled_seconds"];

/// What the kernel said before the tasks were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelReading {
    pub(super) at_ns: u64,
    pub(super) switches: Option<u64>,
}

impl KernelReading {
    /// To be read before the tasks are: then all they did since is between it and a snapshot that is read after them.
    pub(super) fn read() -> Self {
        let snapshot = Snapshot::read(Path::new("/"), None, crate::system::Detail::Totals);
        Self { at_ns: snapshot.monotonic_ns, switches: snapshot.context_switches }
    }
}

/// What was counted so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    begun_ns: u64,
    /// KernelReading the tasks were read the last time.
    before: KernelReading,
    ran_ns: u64,
    /// Switches of the last window that the kernel counted and the programs had not yet. They are of tasks that had left the list of tasks
    /// and not their CPU.
    uncounted: u64,
    /// A reading of the last window was too old: this one has what it lacked.
    behind: bool,
}

/// What bounds the figures of a window.
pub(super) struct Bounds {
    /// CPUs that were on.
    pub(super) cpus: u64,
    /// The kernel's counters, read after the tasks.
    pub(super) at_ns: u64,
    pub(super) switches: Option<u64>,
    /// A task that waited for longer than it was watched.
    pub(super) too_long: Option<String>,
}

impl Guard {
    pub(super) fn begin(before: KernelReading) -> Self {
        Self { begun_ns: before.at_ns, before, ran_ns: 0, uncounted: 0, behind: false }
    }

    /// Checks a window; `next` was read before its tasks were. A window that is refused is not added to what was counted.
    ///
    /// # Errors
    /// When a figure of it cannot be true.
    pub(super) fn check(
        &mut self,
        delta: &MachineDelta,
        bounds: &Bounds,
        next: KernelReading,
    ) -> Result<(), Refused> {
        let mut checks = Checks::default();
        let last = std::mem::replace(&mut self.before, next);
        let fell = delta.counted.backwards.values().sum::<u64>() > 0;
        let behind = std::mem::replace(&mut self.behind, fell) || fell;
        let switches = &delta.header.totals.context_switches;
        if let (Some(voluntary), Some(involuntary), Some(idle)) =
            (switches.voluntary, switches.involuntary, switches.idle)
            && let (Some(earlier), Some(later), false) = (last.switches, bounds.switches, behind)
        {
            let counted = voluntary.saturating_add(involuntary).saturating_add(idle);
            let kernel = later.saturating_sub(earlier);
            let most = kernel + SWITCHES_UNDERWAY * bounds.cpus + self.uncounted;
            checks.at_most("context_switches", counted, most, "the kernel's count (ctxt in /proc/stat)");
            self.uncounted = kernel.saturating_sub(counted);
        }
        let time_ns = |from_ns: u64| {
            let ns = bounds.at_ns.saturating_sub(from_ns);
            bounds.cpus * (ns + ns / 100 + LATE_TICK_NS)
        };
        let what = "the time of all CPUs in ns";
        let ran_ns = delta.tables.tasks.iter().map(|row| row.run_ns).fold(self.ran_ns, u64::saturating_add);
        checks.at_most("run_seconds", ran_ns, time_ns(self.begun_ns), what);
        for group in &delta.groups {
            let throttled_ns = group.since.throttling.map(|throttling| throttling.throttled_ns);
            for (figure, ns) in
                [("cgroup_cpu_seconds", group.since.usage_ns), ("cgroup_throttled_seconds", throttled_ns)]
            {
                if let Some(ns) = ns {
                    checks.at_most(figure, ns, time_ns(last.at_ns), what);
                }
            }
        }
        checks.require(bounds.too_long.is_none(), "wait_seconds", || {
            bounds.too_long.clone().unwrap_or_default()
        });
        checks.finish()?;
        self.ran_ns = ran_ns;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Counted;
    use crate::system::{CgroupCounters, Difference};
    use crate::watch::GroupUse;
    use swtch_topology::Host;
    use swtch_trace::accumulate::Tables;
    use swtch_trace::model::{Header, Provenance, Scope, SwitchTotals, Throttled};
    use swtch_trace::tables::TaskRow;

    #[test]
    fn every_figure_that_is_refused_is_in_the_list() {
        let mut guard = Guard::begin(before(0, 0));
        let throttling = Throttled { throttled_ns: 1 << 50, ..Throttled::default() };
        let since = CgroupCounters {
            usage_ns: Some(1 << 50),
            throttling: Some(throttling),
            ..CgroupCounters::default()
        };
        let all = MachineDelta {
            groups: vec![GroupUse { path: "/web".to_owned(), since }],
            ..window(1 << 50, 1 << 50)
        };
        let waited = Bounds { too_long: Some("task 1 waited".to_owned()), ..bounds(1, 9) };
        let mut figures = refused(guard.check(&all, &waited, before(1, 9)));
        figures.sort_unstable();
        let mut wanted = CHECKED.to_vec();
        wanted.sort_unstable();
        assert_eq!(figures, wanted);
    }

    const SECOND: u64 = 1_000_000_000;

    fn window(switches: u64, run_ns: u64) -> MachineDelta {
        let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
        header.totals.context_switches =
            SwitchTotals { voluntary: Some(switches), involuntary: Some(0), idle: Some(0) };
        let tasks = vec![TaskRow { run_ns, ..TaskRow::default() }];
        MachineDelta {
            header,
            tables: Tables { tasks, ..Tables::default() },
            counted: Counted::default(),
            groups: Vec::new(),
            system: Difference::default(),
            checked: Ok(()),
        }
    }

    fn before(seconds: u64, switches: u64) -> KernelReading {
        KernelReading { at_ns: seconds * SECOND, switches: Some(switches) }
    }

    fn bounds(seconds: u64, switches: u64) -> Bounds {
        Bounds { cpus: 2, at_ns: seconds * SECOND, switches: Some(switches), too_long: None }
    }

    fn refused(result: Result<(), Refused>) -> Vec<String> {
        result.err().map_or_else(Vec::new, |refused| {
            refused.figures.into_iter().map(|impossible| impossible.figure).collect()
        })
    }

    #[test]
    fn what_the_kernel_did_not_count_is_refused() {
        let mut guard = Guard::begin(before(0, 100));
        assert_eq!(refused(guard.check(&window(500, 0), &bounds(1, 600), before(1, 590))), [""; 0]);
        // The switches that were underway are allowed for, and a count of 2^32 + 475 is not.
        assert_eq!(refused(guard.check(&window(28, 0), &bounds(2, 610), before(2, 610))), [""; 0]);
        let counted = (1 << 32) + 475;
        assert_eq!(
            refused(guard.check(&window(counted, 0), &bounds(3, 700), before(3, 700))),
            ["context_switches"]
        );
    }

    /// A task that had left the kernel's list, and not its CPU, is counted in the next window.
    #[test]
    fn switches_that_came_too_late_for_a_window_may_come_with_the_next() {
        let mut guard = Guard::begin(before(0, 100));
        assert_eq!(refused(guard.check(&window(400, 0), &bounds(1, 600), before(1, 600))), [""; 0]);
        assert_eq!(refused(guard.check(&window(200, 0), &bounds(2, 700), before(2, 700))), [""; 0]);
        // Once, and not again.
        assert_eq!(
            refused(guard.check(&window(200, 0), &bounds(3, 800), before(3, 800))),
            ["context_switches"]
        );
    }

    #[test]
    fn what_a_late_reading_lacked_may_come_with_the_next() {
        let mut guard = Guard::begin(before(0, 100));
        let counted = Counted { backwards: [("tasks", 1)].into(), ..Counted::default() };
        let late = MachineDelta { counted, ..window(0, 0) };
        assert_eq!(refused(guard.check(&late, &bounds(1, 600), before(1, 600))), [""; 0]);
        assert_eq!(refused(guard.check(&window(500, 0), &bounds(2, 601), before(2, 601))), [""; 0]);
        assert_eq!(
            refused(guard.check(&window(500, 0), &bounds(3, 602), before(3, 602))),
            ["context_switches"]
        );
    }

    #[test]
    fn time_that_no_cpu_had_is_refused_and_late_ticks_are_not() {
        let mut guard = Guard::begin(before(0, 0));
        // A CPU was taken away for 9 s; its task's time comes at once.
        assert_eq!(refused(guard.check(&window(0, 11 * SECOND), &bounds(1, 9), before(1, 9))), [""; 0]);
        assert_eq!(
            refused(guard.check(&window(0, 60 * SECOND), &bounds(2, 9), before(2, 9))),
            ["run_seconds"]
        );
        // The time that was refused is not part of the sum.
        assert_eq!(refused(guard.check(&window(0, SECOND), &bounds(3, 9), before(3, 9))), [""; 0]);
    }

    #[test]
    fn a_group_that_used_more_than_all_cpus_is_refused() {
        let mut guard = Guard::begin(before(0, 0));
        let used = |seconds: u64| MachineDelta {
            groups: vec![GroupUse {
                path: "/web".to_owned(),
                since: CgroupCounters { usage_ns: Some(seconds * SECOND), ..CgroupCounters::default() },
            }],
            ..window(0, 0)
        };
        assert_eq!(refused(guard.check(&used(2), &bounds(1, 9), before(1, 9))), [""; 0]);
        assert_eq!(refused(guard.check(&used(131), &bounds(2, 9), before(2, 9))), ["cgroup_cpu_seconds"]);
        let waited = Bounds { too_long: Some("task 1 waited".to_owned()), ..bounds(3, 9) };
        assert_eq!(refused(guard.check(&used(0), &waited, before(3, 9))), ["wait_seconds"]);
    }
}
