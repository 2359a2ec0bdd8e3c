//! One task, as its events make it up.

use super::distribution::Distribution;
use crate::event::Counts;

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

/// A control group, by what is known of it.
#[derive(Clone, Debug)]
pub(super) enum Group {
    Number(u64),
    Path(String),
}

/// A task so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Task {
    pub(super) pid: Option<u32>,
    pub(super) parent_pid: Option<u32>,
    pub(super) comm: String,
    pub(super) kernel_thread: bool,
    pub(super) group: Option<Group>,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) switches: SwitchCounts,
    pub(super) wakeups: u64,
    pub(super) waits: Distribution,
    pub(super) slices: Distribution,
    pub(super) migrations: Migrations,
    pub(super) displaced: u64,
    pub(super) cost_ns: u64,
    pub(super) costs: u64,
    pub(super) process_switches: u64,
    pub(super) thread_switches: u64,
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
}

/// A task's switches, counted by the kernel where it says: its counts come with each switch from before that switch, so that even lost
/// events leave the totals right.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SwitchCounts {
    voluntary: u64,
    involuntary: u64,
    last: Option<(Counts, bool)>,
}

impl SwitchCounts {
    /// A switch that looks voluntary or not, and the kernel's counts from before it. Says by how much the figures for voluntary and
    /// involuntary switches grew: usually one of them by one.
    pub(super) fn add(&mut self, looks_voluntary: bool, before: Option<Counts>) -> (i64, i64) {
        let (mut voluntary, mut involuntary) = (i64::from(looks_voluntary), i64::from(!looks_voluntary));
        if let (Some(before), Some((last, was))) = (before, self.last) {
            // What the kernel counted since the last switch's event, less what that event was taken for.
            voluntary += i64::from(before.voluntary.wrapping_sub(last.voluntary)) - i64::from(was);
            involuntary += i64::from(before.involuntary.wrapping_sub(last.involuntary)) - i64::from(!was);
        }
        self.last = before.map(|before| (before, looks_voluntary));
        self.voluntary = self.voluntary.saturating_add_signed(voluntary);
        self.involuntary = self.involuntary.saturating_add_signed(involuntary);
        (voluntary, involuntary)
    }

    pub(super) fn voluntary(&self) -> u64 {
        self.voluntary
    }

    pub(super) fn involuntary(&self) -> u64 {
        self.involuntary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::unnecessary_wraps)]
    fn counts(voluntary: u32, involuntary: u16) -> Option<Counts> {
        Some(Counts { voluntary, involuntary })
    }

    #[test]
    fn the_kernel_decides_what_a_switch_was() {
        let mut switches = SwitchCounts::default();
        assert_eq!(switches.add(true, counts(10, 5)), (1, 0));
        assert_eq!(switches.add(false, counts(11, 5)), (0, 1));
        // The last one looked involuntary; the kernel says that it was voluntary.
        assert_eq!(switches.add(true, counts(12, 5)), (2, -1));
        assert_eq!((switches.voluntary(), switches.involuntary()), (3, 0));
    }

    #[test]
    fn lost_events_are_made_up_for_and_counts_wrap() {
        let mut switches = SwitchCounts::default();
        switches.add(true, counts(u32::MAX, u16::MAX));
        switches.add(true, counts(4, 1));
        assert_eq!((switches.voluntary(), switches.involuntary()), (6, 2));
    }

    #[test]
    fn without_the_kernels_counts_looks_decide() {
        let mut switches = SwitchCounts::default();
        switches.add(true, None);
        switches.add(false, None);
        assert_eq!((switches.voluntary(), switches.involuntary()), (1, 1));
    }
}
