//! Cgroups: what share of the CPUs a task has by those that it is in.
//!
//! The kernel has a queue for each group on each CPU, and an entity in the queue above it whose weight is the group's, divided by where its tasks
//! are (`calc_group_shares`, Linux 6.18, kernel/sched/fair.c). Here the hierarchy is flattened: each task has the weight that it has by its own and
//! by those of its groups, of all that is runnable in them at the moment. So shares are the kernel's; a group that has many tasks has more places in a queue.

use crate::workload::Cgroup;

/// No group above: the root.
const ROOT: u32 = u32::MAX;
/// `MIN_SHARES`.
const LEAST_WEIGHT: u64 = 2;

#[derive(Clone, Debug)]
struct Group {
    parent: u32,
    shares: u64,
    /// Weights of its runnable tasks, and of the groups in it that have some.
    load: u64,
    /// How many of both there are.
    runnable: u32,
}

/// The groups of a run. Empty where nothing is in a group, or the policy knows none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
}

impl Groups {
    pub(crate) fn of(cgroups: &[Cgroup]) -> Self {
        let group = |cgroup: &Cgroup| Group {
            parent: cgroup.parent.unwrap_or(ROOT),
            shares: u64::from(cgroup.shares),
            load: 0,
            runnable: 0,
        };
        Self { groups: cgroups.iter().map(group).collect() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// A task of a weight in a group becomes runnable.
    pub(crate) fn add(&mut self, mut place: u32, weight: u32) {
        let mut weight = u64::from(weight);
        while let Some(group) = self.groups.get_mut(place as usize) {
            group.load += weight;
            group.runnable += 1;
            if group.runnable > 1 {
                return;
            }
            (place, weight) = (group.parent, group.shares);
        }
    }

    /// It is no longer.
    pub(crate) fn remove(&mut self, mut place: u32, weight: u32) {
        let mut weight = u64::from(weight);
        while let Some(group) = self.groups.get_mut(place as usize) {
            group.load -= weight;
            group.runnable -= 1;
            if group.runnable > 0 {
                return;
            }
            (place, weight) = (group.parent, group.shares);
        }
    }

    /// The weight that a runnable task of a group has beside tasks of the root.
    pub(crate) fn weight(&self, mut place: u32, weight: u32) -> u32 {
        let mut weight = u128::from(weight);
        let mut over = 1_u128;
        while let Some(group) = self.groups.get(place as usize) {
            weight *= u128::from(group.shares);
            over *= u128::from(group.load.max(1));
            // Eight levels of the largest weights are beyond 128 bits.
            while weight > u128::from(u64::MAX) && over > 1 {
                weight >>= 1;
                over = (over >> 1).max(1);
            }
            place = group.parent;
        }
        u64::try_from(weight / over).unwrap_or(u64::MAX).clamp(LEAST_WEIGHT, u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(parent: Option<u32>, shares: u32) -> Cgroup {
        Cgroup { parent, shares, ..Cgroup::default() }
    }

    #[test]
    fn a_groups_weight_is_divided_among_its_runnable_tasks() {
        let mut groups =
            Groups::of(&[group(None, 1024), group(None, 2048), group(Some(1), 1024), group(Some(1), 3072)]);
        groups.add(0, 1024);
        assert_eq!(groups.weight(0, 1024), 1024, "alone it has all of it");
        groups.add(0, 1024);
        groups.add(0, 2048);
        assert_eq!((groups.weight(0, 1024), groups.weight(0, 2048)), (256, 512));
        groups.remove(0, 2048);
        assert_eq!(groups.weight(0, 1024), 512);
        // 2048 for the two groups within: a quarter and three quarters while both have tasks.
        groups.add(2, 335);
        assert_eq!(groups.weight(2, 335), 2048);
        groups.add(3, 1024);
        groups.add(3, 1024);
        assert_eq!((groups.weight(2, 335), groups.weight(3, 1024)), (512, 768));
        groups.remove(3, 1024);
        groups.remove(3, 1024);
        assert_eq!(groups.weight(2, 335), 2048);
        let idle = Groups::of(&[group(None, 2)]);
        assert_eq!(idle.weight(0, 15), 30);
    }

    #[test]
    fn many_levels_do_not_overflow() {
        let deep: Vec<Cgroup> = (0..40).map(|level: u32| group(level.checked_sub(1), 262_144)).collect();
        let mut groups = Groups::of(&deep);
        groups.add(39, 88_761);
        assert!((260_000..=262_144).contains(&groups.weight(39, 88_761)), "{}", groups.weight(39, 88_761));
    }
}
