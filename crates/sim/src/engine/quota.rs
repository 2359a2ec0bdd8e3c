//! Quotas of cgroups (`cfs_bandwidth`, Linux 6.18, kernel/sched/fair.c): a group has so much time a period, which its CPUs take in slices; one
//! that finds none left is throttled until the next period.

use super::Engine;
use super::events::NEVER;
use crate::hook::Hook;
use crate::kernel::{NONE, RunState};
use crate::policy::{Arrival, Departure, Policy};
use crate::sink::Sink;
use crate::workload::Workload;

/// `sysctl_sched_cfs_bandwidth_slice`: what a CPU takes at once, ns.
const SLICE_NS: i64 = 5_000_000;
/// `min_cfs_rq_runtime`: what a CPU without tasks of the group keeps, ns.
const KEPT_NS: i64 = 1_000_000;

/// A group with a quota.
#[derive(Clone, Debug)]
struct Bandwidth {
    /// Its place among the groups.
    group: usize,
    quota_ns: i64,
    period_ns: u64,
    /// What is left of the period.
    pool_ns: i64,
    /// What each CPU has taken and not used; negative: what it has used too much.
    local_ns: Vec<i64>,
    /// CPUs where it is throttled, and since when.
    throttled_since_ns: Vec<Option<u64>>,
    /// Its tasks.
    members: Vec<u32>,
    /// When the period ends; never while nothing of it runs.
    period_ends_ns: u64,
    /// Nothing has asked for time since the last period ended.
    is_idle: bool,
}

/// All quotas of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotas {
    bandwidths: Vec<Bandwidth>,
    /// Quotas that bind the tasks of each group: its own and those above.
    of_group: Vec<Vec<usize>>,
    /// Up to when each CPU's running task has been charged.
    charged_ns: Vec<u64>,
}

impl Quotas {
    pub(super) fn of(workload: &Workload, cpus: usize) -> Self {
        let mut quotas = Self { charged_ns: vec![0; cpus], ..Self::default() };
        for (place, cgroup) in workload.cgroups.iter().enumerate() {
            // A group stands behind those above it.
            let above = cgroup.parent.and_then(|parent| quotas.of_group.get(parent as usize));
            let mut binding = above.cloned().unwrap_or_default();
            if let Some(quota) = cgroup.quota {
                binding.push(quotas.bandwidths.len());
                quotas.bandwidths.push(Bandwidth {
                    group: place,
                    quota_ns: quota.runtime_ns as i64,
                    period_ns: quota.period_ns.max(1),
                    pool_ns: quota.runtime_ns as i64,
                    local_ns: vec![0; cpus],
                    throttled_since_ns: vec![None; cpus],
                    members: Vec::new(),
                    period_ends_ns: NEVER,
                    is_idle: false,
                });
            }
            quotas.of_group.push(binding);
        }
        if quotas.bandwidths.is_empty() {
            quotas.of_group.clear();
        }
        quotas
    }

    /// The quotas that bind a task of a group.
    #[inline]
    fn binding(&self, group: u32) -> &[usize] {
        self.of_group.get(group as usize).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add_member(&mut self, group: u32, task: usize) {
        let binding = self.binding(group).to_vec();
        for place in binding {
            self.bandwidths[place].members.push(task as u32);
        }
    }

    /// When the first period ends.
    #[inline]
    pub(super) fn at_ns(&self) -> u64 {
        self.bandwidths.iter().map(|bandwidth| bandwidth.period_ends_ns).min().unwrap_or(NEVER)
    }
}

impl Bandwidth {
    /// A CPU takes time (`assign_cfs_rq_runtime`). Whether it has any now.
    fn assign(&mut self, cpu: usize, now_ns: u64) -> bool {
        if self.local_ns[cpu] > 0 {
            return true;
        }
        if self.period_ends_ns == NEVER {
            self.period_ends_ns = now_ns + self.period_ns;
        }
        self.is_idle = false;
        let taken_ns = (SLICE_NS - self.local_ns[cpu]).min(self.pool_ns);
        self.pool_ns -= taken_ns;
        self.local_ns[cpu] += taken_ns;
        self.local_ns[cpu] > 0
    }
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The group of a task; none where groups are not simulated.
    #[inline]
    fn group_of(&self, task: usize) -> u32 {
        if self.kernel.groups.is_empty() { NONE } else { self.kernel.specs[task].cgroup.unwrap_or(NONE) }
    }

    /// A task becomes runnable or ceases to be: its groups have more or less to run.
    #[inline]
    pub(super) fn count_in_groups(&mut self, task: usize, is_more: bool) {
        let group = self.group_of(task);
        if group == NONE {
            return;
        }
        let weight = self.kernel.tasks[task].weight;
        if is_more {
            self.kernel.groups.add(group, weight);
        } else {
            self.kernel.groups.remove(group, weight);
        }
    }

    /// A task has come onto a CPU: it is charged from now on.
    #[inline]
    pub(super) fn begin_charging(&mut self, cpu: usize) {
        if !self.quotas.of_group.is_empty() {
            self.quotas.charged_ns[cpu] = self.kernel.now_ns;
        }
    }

    /// When the running task of a CPU has used what the CPU has taken, ns.
    #[inline]
    pub(super) fn quota_ends_ns(&self, cpu: usize) -> u64 {
        if self.quotas.of_group.is_empty() {
            return NEVER;
        }
        let Some(task) = self.kernel.current(cpu) else { return NEVER };
        let binding = self.quotas.binding(self.group_of(task)).iter();
        let left_ns = binding.map(|place| self.quotas.bandwidths[*place].local_ns[cpu].max(0) as u64).min();
        left_ns.map_or(NEVER, |left_ns| self.quotas.charged_ns[cpu].saturating_add(left_ns))
    }

    /// Charges a CPU's running task for its time up to now (`account_cfs_rq_runtime`). Whether a quota has no time left for it.
    pub(super) fn charge_quota(&mut self, cpu: usize, task: usize) -> bool {
        if self.quotas.of_group.is_empty() {
            return false;
        }
        let now_ns = self.kernel.now_ns;
        let ran_ns = now_ns.saturating_sub(std::mem::replace(&mut self.quotas.charged_ns[cpu], now_ns));
        let binding = self.quotas.binding(self.group_of(task)).to_vec();
        let mut is_over = false;
        for place in binding {
            let bandwidth = &mut self.quotas.bandwidths[place];
            bandwidth.local_ns[cpu] -= ran_ns as i64;
            is_over |= !bandwidth.assign(cpu, now_ns);
        }
        is_over
    }

    /// Puts a task aside that a quota does not let run, and the others of its group that wait on that CPU. Whether it did. The task itself is in no
    /// queue.
    pub(super) fn throttle(&mut self, cpu: usize, task: usize) -> bool {
        if self.quotas.of_group.is_empty() {
            return false;
        }
        let now_ns = self.kernel.now_ns;
        let mut is_throttled = false;
        let binding = self.quotas.binding(self.group_of(task)).to_vec();
        for place in binding {
            let bandwidth = &mut self.quotas.bandwidths[place];
            if bandwidth.throttled_since_ns[cpu].is_some() {
                is_throttled = true;
                continue;
            }
            if bandwidth.assign(cpu, now_ns) {
                continue;
            }
            is_throttled = true;
            bandwidth.throttled_since_ns[cpu] = Some(now_ns);
            let members = bandwidth.members.clone();
            for other in members {
                let other = other as usize;
                let state = &self.kernel.tasks[other];
                if other != task && state.state == RunState::Queued && state.cpu as usize == cpu {
                    self.charge(cpu, cpu, Hook::Dequeue);
                    self.policy.dequeue(&mut self.kernel, cpu, other, Departure::Throttle);
                    self.charge_callbacks(Hook::Dequeue);
                    self.count_runnable(cpu, -1);
                    self.count_in_groups(other, false);
                    self.kernel.tasks[other].state = RunState::Throttled;
                }
            }
        }
        is_throttled
    }

    /// Whether a quota keeps a task out of the queue of a CPU (`check_enqueue_throttle`).
    pub(super) fn may_not_come(&mut self, cpu: usize, task: usize) -> bool {
        if self.quotas.of_group.is_empty() {
            return false;
        }
        let current = self.kernel.current(cpu);
        let mut held = false;
        let binding = self.quotas.binding(self.group_of(task)).to_vec();
        for place in binding {
            let runs =
                current.is_some_and(|current| self.quotas.binding(self.group_of(current)).contains(&place));
            let bandwidth = &mut self.quotas.bandwidths[place];
            let is_throttled = bandwidth.throttled_since_ns[cpu].is_some();
            // A task of the group that runs there is charged, and finds out.
            held |= is_throttled || !runs && !bandwidth.assign(cpu, self.kernel.now_ns);
        }
        // Tasks of the group that wait there are put aside as well.
        held && self.throttle(cpu, task)
    }

    /// Whether a quota holds a task's group on that CPU. Balancing brings no task to such a one (`lb_throttled_hierarchy` of Linux 6.18,
    /// kernel/sched/fair.c; `throttled_lb_pair` before).
    pub(super) fn is_held_on(&self, cpu: usize, task: usize) -> bool {
        !self.quotas.of_group.is_empty()
            && self
                .quotas
                .binding(self.group_of(task))
                .iter()
                .any(|place| self.quotas.bandwidths[*place].throttled_since_ns[cpu].is_some())
    }

    /// The last task of a group on a CPU has gone: the CPU gives back what it does not need (`return_cfs_rq_runtime`).
    pub(super) fn return_quota(&mut self, cpu: usize, task: usize) {
        if self.quotas.of_group.is_empty() {
            return;
        }
        let binding = self.quotas.binding(self.group_of(task)).to_vec();
        for place in binding {
            let bandwidth = &self.quotas.bandwidths[place];
            let is_there = |other: &u32| {
                let state = &self.kernel.tasks[*other as usize];
                let runs = matches!(state.state, RunState::Queued | RunState::Running);
                runs && state.cpu as usize == cpu && *other as usize != task
            };
            if bandwidth.members.iter().any(is_there) {
                continue;
            }
            let bandwidth = &mut self.quotas.bandwidths[place];
            let spare_ns = bandwidth.local_ns[cpu] - KEPT_NS;
            if spare_ns > 0 {
                bandwidth.local_ns[cpu] -= spare_ns;
                bandwidth.pool_ns += spare_ns;
            }
        }
    }

    /// A period ends (`do_sched_cfs_period_timer`): the group has its quota again, and its CPUs go on.
    pub(super) fn end_period(&mut self) {
        let now_ns = self.kernel.now_ns;
        for place in 0..self.quotas.bandwidths.len() {
            let bandwidth = &mut self.quotas.bandwidths[place];
            if bandwidth.period_ends_ns > now_ns {
                continue;
            }
            bandwidth.pool_ns = bandwidth.quota_ns;
            let stats = &mut self.stats.cgroups[bandwidth.group];
            stats.periods += 1;
            let mut throttled: Vec<usize> = (0..bandwidth.throttled_since_ns.len())
                .filter(|cpu| bandwidth.throttled_since_ns[*cpu].is_some())
                .collect();
            // throttle_cfs_rq: a CPU goes to the end of the list.
            throttled.sort_by_key(|cpu| bandwidth.throttled_since_ns[*cpu]);
            bandwidth.period_ends_ns = now_ns + bandwidth.period_ns;
            if throttled.is_empty() {
                if std::mem::replace(&mut bandwidth.is_idle, true) {
                    bandwidth.period_ends_ns = NEVER;
                }
                continue;
            }
            stats.throttled_periods += 1;
            bandwidth.is_idle = false;
            for cpu in throttled {
                // distribute_cfs_runtime: just enough to go on; it asks for more when it runs.
                let bandwidth = &mut self.quotas.bandwidths[place];
                let given_ns = (1 - bandwidth.local_ns[cpu]).min(bandwidth.pool_ns);
                bandwidth.pool_ns -= given_ns;
                bandwidth.local_ns[cpu] += given_ns;
                if bandwidth.local_ns[cpu] > 0 {
                    self.unthrottle(place, cpu);
                }
            }
        }
    }

    fn unthrottle(&mut self, place: usize, cpu: usize) {
        let bandwidth = &mut self.quotas.bandwidths[place];
        let now_ns = self.kernel.now_ns;
        if let Some(since_ns) = bandwidth.throttled_since_ns[cpu].take() {
            self.stats.cgroups[bandwidth.group].throttled_ns += now_ns - since_ns;
        }
        let members = bandwidth.members.clone();
        self.begin(cpu);
        for task in members {
            let task = task as usize;
            let state = &self.kernel.tasks[task];
            if state.state != RunState::Throttled || state.cpu as usize != cpu {
                continue;
            }
            // A group above it may be throttled as well.
            if self.is_held_on(cpu, task) {
                continue;
            }
            self.enqueue(task, cpu, cpu, Arrival::Wakeup);
        }
        self.resched_and_update_curr(cpu);
    }

    /// What a run's end leaves throttled, in the figures.
    pub(super) fn finish_quotas(&mut self) {
        let now_ns = self.kernel.now_ns;
        for bandwidth in &self.quotas.bandwidths {
            let since = bandwidth.throttled_since_ns.iter().flatten();
            self.stats.cgroups[bandwidth.group].throttled_ns +=
                since.map(|since_ns| now_ns.saturating_sub(*since_ns)).sum::<u64>();
        }
        for (spec, task) in self.kernel.specs.iter().zip(&self.kernel.tasks) {
            let mut group = spec.cgroup;
            while let Some(stats) = group.and_then(|group| self.stats.cgroups.get_mut(group as usize)) {
                stats.run_ns += task.run_ns;
                let above = group.and_then(|group| self.workload.cgroups.get(group as usize));
                group = above.and_then(|cgroup| cgroup.parent);
            }
        }
    }
}
