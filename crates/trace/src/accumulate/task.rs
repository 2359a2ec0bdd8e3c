//! One task, as its events make it up.

use super::distribution::Distribution;
use super::waits::{Charges, CpuSet, Front};
use crate::event::{Counts, Scheduling};

/// Migrations by the nearest cache that the two CPUs share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrations {
    /// Within a level 2 cache.
    pub same_l2: u64,
    /// Within a level 3 cache, not a level 2 cache.
    pub same_l3: u64,
    /// Between CPUs that share neither.
    pub across: u64,
}

/// A cgroup, by what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CgroupName {
    Number(u64),
    Path(String),
}

/// A task so far.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskState {
    pub(super) pid: Option<u32>,
    pub(super) parent_pid: Option<u32>,
    pub(super) comm: String,
    pub(super) kernel_thread: bool,
    pub(super) group: Option<CgroupName>,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) switches: SwitchCounts,
    /// Involuntary switches at which it waited on its CPU, the time until those, and how many were yields.
    pub(super) spinning: u64,
    pub(super) spinning_ns: u64,
    pub(super) yields: u64,
    pub(super) wakeups: u64,
    pub(super) waits: Distribution,
    pub(super) slices: Distribution,
    pub(super) migrations: Migrations,
    pub(super) cold_switch_ins: u64,
    pub(super) cost_ns: u64,
    pub(super) costs: u64,
    pub(super) process_switches: u64,
    pub(super) thread_switches: u64,
    pub(super) scheduling: Scheduling,
    /// The CPUs that it may use, once it has waited.
    pub(super) cpu_set: CpuSet,
    /// The number of its program; none until it is asked for, and after a change of its name.
    pub(super) program: Option<Front>,
    pub(super) behind: Charges,
    pub(super) idle_elsewhere_ns: u64,
    /// It is not recorded, and had the CPU while a task that is recorded waited.
    pub(super) was_in_front: bool,
    pub(super) now: Now,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    pub(super) cpu: Option<u32>,
    pub(super) running_since_ns: Option<u64>,
    pub(super) left_ns: Option<u64>,
    pub(super) queued_ns: Option<u64>,
    pub(super) waker: Option<u32>,
    pub(super) preempted_by: Option<u32>,
    /// It could go on when it left its CPU, and was not woken since.
    pub(super) was_runnable: bool,
    /// A quota stopped it then.
    pub(super) was_stopped: bool,
    /// How long one of the CPUs that it may use was idle when it began to wait.
    pub(super) idle_then_ns: Option<u64>,
}

impl TaskState {
    /// Takes a name.
    pub(super) fn rename(&mut self, comm: &str) {
        if self.comm != comm {
            comm.clone_into(&mut self.comm);
            self.program = None;
        }
    }

    /// Takes what is known of how it is scheduled.
    pub(super) fn schedule(&mut self, new: &Scheduling) {
        let known = &mut self.scheduling;
        known.policy = new.policy.or(known.policy);
        known.nice = new.nice.or(known.nice);
        known.realtime_priority = new.realtime_priority.or(known.realtime_priority);
        if new.cpus.is_some() && new.cpus != known.cpus {
            known.cpus.clone_from(&new.cpus);
            self.cpu_set = CpuSet::Unknown;
            self.now.idle_then_ns = None;
        }
    }
}

/// A task's switches. Where the kernel counts them, each switch has the kernel's counts from before that switch, so even lost events leave the
/// totals right.
///
/// The totals do not depend on the order in which the events come. By the time of the events, they are the last counts less the first ones,
/// plus the last switch. Counts that go backwards although time does not belong to another task, which was given the same number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SwitchCounts {
    voluntary: u64,
    involuntary: u64,
    span: Option<Span>,
}

/// The first and the last switch with counts: when, and the counts from before it; and what the last one was taken for.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: (u64, Counts),
    last: (u64, Counts),
    last_looks_voluntary: bool,
}

/// No task switches faster, ns: the fastest switch that was ever measured takes several times as long.
const FASTEST_SWITCH_NS: u64 = 100;

/// The switches between two moments with counts, of which only the low bits are known. `None` when the time is too short for that many switches:
/// the counts went backwards, or are of two tasks.
fn between(earlier: (u64, Counts), later: (u64, Counts)) -> Option<(i64, i64)> {
    let voluntary = later.1.voluntary.wrapping_sub(earlier.1.voluntary);
    let involuntary = later.1.involuntary.wrapping_sub(earlier.1.involuntary);
    // A switch at the same moment may have been counted once.
    let most = later.0.saturating_sub(earlier.0) / FASTEST_SWITCH_NS + 1;
    let all = u64::from(voluntary) + u64::from(involuntary);
    (all <= most).then_some((voluntary.into(), involuntary.into()))
}

impl SwitchCounts {
    /// A switch at `at_ns` that looks voluntary or not, and the kernel's counts from before it. Says by how much the figures for voluntary
    /// and involuntary switches grew: usually one of them by one.
    pub(super) fn add(&mut self, at_ns: u64, looks_voluntary: bool, before: Option<Counts>) -> (i64, i64) {
        let one = (i64::from(looks_voluntary), i64::from(!looks_voluntary));
        let difference = match (before, &mut self.span) {
            (Some(before), Some(span)) if at_ns < span.first.0 => {
                let earlier = between((at_ns, before), span.first);
                if earlier.is_some() {
                    span.first = (at_ns, before);
                }
                earlier.unwrap_or(one)
            }
            // The later switch's counts include it.
            (Some(_), Some(span)) if at_ns < span.last.0 => (0, 0),
            (Some(before), Some(span)) => {
                if let Some((voluntary, involuntary)) = between(span.last, (at_ns, before)) {
                    let was = i64::from(span.last_looks_voluntary);
                    span.last = (at_ns, before);
                    span.last_looks_voluntary = looks_voluntary;
                    // What the kernel counted since the last switch's event, less what that event was taken for.
                    (voluntary - was + one.0, involuntary - (1 - was) + one.1)
                } else {
                    self.span = Some(Span::begin(at_ns, before, looks_voluntary));
                    one
                }
            }
            (Some(before), None) => {
                self.span = Some(Span::begin(at_ns, before, looks_voluntary));
                one
            }
            (None, _) => {
                self.span = None;
                one
            }
        };
        self.voluntary = self.voluntary.saturating_add_signed(difference.0);
        self.involuntary = self.involuntary.saturating_add_signed(difference.1);
        difference
    }

    pub(super) fn voluntary(&self) -> u64 {
        self.voluntary
    }

    pub(super) fn involuntary(&self) -> u64 {
        self.involuntary
    }
}

impl Span {
    fn begin(at_ns: u64, counts: Counts, looks_voluntary: bool) -> Self {
        Self { first: (at_ns, counts), last: (at_ns, counts), last_looks_voluntary: looks_voluntary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[allow(clippy::unnecessary_wraps)]
    fn counts(voluntary: u32, involuntary: u16) -> Option<Counts> {
        Some(Counts { voluntary, involuntary })
    }

    #[test]
    fn the_kernel_decides_what_a_switch_was() {
        let mut switches = SwitchCounts::default();
        assert_eq!(switches.add(100, true, counts(10, 5)), (1, 0));
        assert_eq!(switches.add(200, false, counts(11, 5)), (0, 1));
        // The last one looked involuntary; the kernel says that it was voluntary.
        assert_eq!(switches.add(300, true, counts(12, 5)), (2, -1));
        assert_eq!((switches.voluntary(), switches.involuntary()), (3, 0));
    }

    #[test]
    fn lost_events_are_made_up_for_and_counts_wrap() {
        let mut switches = SwitchCounts::default();
        switches.add(1, true, counts(u32::MAX, u16::MAX));
        switches.add(1_000, true, counts(4, 1));
        assert_eq!((switches.voluntary(), switches.involuntary()), (6, 2));
    }

    #[test]
    fn without_the_kernels_counts_looks_decide() {
        let mut switches = SwitchCounts::default();
        switches.add(1, true, None);
        switches.add(2, false, None);
        assert_eq!((switches.voluntary(), switches.involuntary()), (1, 1));
    }

    /// On the old code, the event that came late made 2^32 switches.
    #[test]
    fn an_event_after_a_later_one_adds_no_four_thousand_million() {
        let mut switches = SwitchCounts::default();
        for (at_ns, before) in
            [(1000, counts(10, 0)), (3000, counts(12, 0)), (2000, counts(11, 0)), (4000, counts(13, 0))]
        {
            switches.add(at_ns, true, before);
        }
        assert_eq!((switches.voluntary(), switches.involuntary()), (4, 0));
    }

    #[test]
    fn counts_that_begin_again_are_another_tasks() {
        let mut switches = SwitchCounts::default();
        switches.add(1_000, true, counts(1_000_000, 7));
        switches.add(2_000, true, counts(0, 0));
        switches.add(3_000, true, counts(1, 0));
        switches.add(4_000, false, counts(2, 65_000));
        assert_eq!((switches.voluntary(), switches.involuntary()), (3, 1));
    }

    proptest! {
        /// Whatever order the events come in, the totals are the same.
        #[test]
        fn totals_do_not_depend_on_the_order(
            kinds in prop::collection::vec(any::<bool>(), 1..40),
            order in any::<u64>(),
        ) {
            let (mut voluntary, mut involuntary) = (4_294_967_290_u32, 65_530_u16);
            let mut events = Vec::new();
            for (kind, at_ns) in kinds.iter().zip(1_u64..) {
                events.push((at_ns * FASTEST_SWITCH_NS, *kind, counts(voluntary, involuntary)));
                voluntary = voluntary.wrapping_add(u32::from(*kind));
                involuntary = involuntary.wrapping_add(u16::from(!*kind));
            }
            let truth = kinds.iter().filter(|kind| **kind).count() as u64;
            events.sort_by_key(|(at_ns, _, _)| (order ^ at_ns).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut switches = SwitchCounts::default();
            let mut sums = (0, 0);
            for (at_ns, kind, before) in events {
                let difference = switches.add(at_ns, kind, before);
                sums = (sums.0 + difference.0, sums.1 + difference.1);
            }
            prop_assert_eq!(switches.voluntary(), truth);
            prop_assert_eq!(switches.involuntary(), kinds.len() as u64 - truth);
            prop_assert_eq!(sums, (truth as i64, (kinds.len() as u64 - truth) as i64));
        }
    }
}
