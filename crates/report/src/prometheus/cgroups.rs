//! What cgroups did and used: the busiest have series of their own.

use super::counters::{Counters, Delta, GroupUse, causes};
use super::family::{
    CGROUP_COST, CGROUP_CPU, CGROUP_PERIODS, CGROUP_PRESSURE, CGROUP_RUN, CGROUP_SWITCHES, CGROUP_THROTTLED,
    CGROUP_THROTTLED_PERIODS, CGROUP_WAIT, CGROUP_WAITS,
};
use super::labels::cgroup_label;
use super::series_limiter::OTHER;
use super::unavailable::metric_of;
use std::collections::{BTreeMap, BTreeSet};
use swtch_trace::tables::{CgroupRow, TaskRow};
use swtch_trace::{CgroupName, fields};

impl Counters {
    /// Adds what cgroups used. The first that are named have series of their own.
    pub fn add_group_use(&mut self, groups: &[GroupUse]) {
        for group in groups {
            let name = self.cgroup(&group.path, group.cpu_ns.unwrap_or(0));
            let name = name.as_str();
            self.sum(&CGROUP_PERIODS, &[name], group.periods);
            self.sum(&CGROUP_THROTTLED_PERIODS, &[name], group.throttled_periods);
            self.sum(&CGROUP_THROTTLED, &[name], group.throttled_ns);
            if name != OTHER {
                // These include the groups below: a sum of several would count twice.
                self.sum(&CGROUP_CPU, &[name], group.cpu_ns);
                if group.cpu_ns.is_none() {
                    // A sum that did not grow would say that the group did nothing.
                    self.drop_series(&CGROUP_CPU, |labels| labels[0] == name);
                }
                for (kind, ns) in ["some", "full"].iter().zip(group.pressure_ns) {
                    self.sum(&CGROUP_PRESSURE, &[name, kind], ns);
                }
            }
        }
    }

    /// Cgroups that exist, though they may do nothing.
    pub fn note_groups<'a>(&mut self, paths: impl Iterator<Item = &'a String>) {
        for path in paths {
            self.cgroup(path, 0);
        }
    }

    /// The label under which what a cgroup did is counted.
    pub(super) fn cgroup(&mut self, path: &str, weight: u64) -> String {
        let Some(label) = cgroup_label(path).filter(|path| self.cgroups.note(path, weight)) else {
            let other = || CgroupName { name: OTHER.to_owned(), ..CgroupName::default() };
            self.names.entry(OTHER.to_owned()).or_insert_with(other);
            return OTHER.to_owned();
        };
        // The kubelet names a pod at about the time that it makes its cgroup: perhaps after the first look.
        if self.names.get(&label).is_none_or(|name| name.id.is_some() && name.container.is_none()) {
            let new = self.pods.name(path);
            let name = self.names.entry(label.clone()).or_default();
            if name.pod.is_none() || new.pod.is_some() {
                *name = new;
            }
        }
        label
    }

    pub(super) fn add_cgroups(&mut self, delta: &Delta<'_>) {
        let mut groups: BTreeMap<&str, CgroupRow> = BTreeMap::new();
        if delta.trace.cgroups.is_empty() {
            for task in delta.trace.in_scope() {
                let Some(path) = &task.cgroup else { continue };
                let group = groups.entry(path).or_default();
                group.voluntary += task.voluntary;
                group.involuntary += task.involuntary;
                group.run_ns += task.run_ns;
                group.wait_ns += task.wait_ns;
            }
            if groups.is_empty() && !delta.trace.tasks.is_empty() {
                let why = "which task is in which cgroup was not recorded".to_owned();
                self.unavailable.insert(metric_of(fields::CGROUPS_CONTEXT_SWITCHES.as_str()), why);
            }
        }
        let mut rows: Vec<(&str, &CgroupRow)> = groups.iter().map(|(path, row)| (*path, row)).collect();
        rows.extend(delta.trace.cgroups.iter().map(|row| (row.path.as_str(), row)));
        if groups.is_empty() {
            // Whatever has most comes first where there are more than may be shown.
            rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.voluntary + row.involuntary));
        }
        for (path, row) in rows {
            let name = self.cgroup(path, row.run_ns);
            let name = name.as_str();
            self.sum(&CGROUP_SWITCHES, &[name, "voluntary"], Some(row.voluntary));
            self.sum(&CGROUP_SWITCHES, &[name, "involuntary"], Some(row.involuntary));
            self.sum(&CGROUP_RUN, &[name], Some(row.run_ns));
            let of_group = |groups: &BTreeMap<Option<String>, u64>| {
                groups.get(&Some(path.to_owned())).copied().unwrap_or(0)
            };
            for (cause, ns) in causes(row.wait_ns, delta.quota_ns.map(of_group)) {
                self.sum(&CGROUP_WAIT, &[name, cause], Some(ns));
            }
            self.sum(&CGROUP_THROTTLED_PERIODS, &[name], row.throttled_periods);
            self.sum(&CGROUP_THROTTLED, &[name], row.throttled_ns);
        }
        self.add_cgroup_costs(delta);
        self.add_cgroup_waits(delta);
        if self.sums.contains_key(CGROUP_SWITCHES.stem) {
            // A group that did nothing can be chosen by its switches all the same: they are counted, and there were none.
            for name in self.cgroups.names() {
                for kind in ["voluntary", "involuntary"] {
                    self.sum(&CGROUP_SWITCHES, &[&name, kind], Some(0));
                }
            }
        }
    }

    fn add_cgroup_costs(&mut self, delta: &Delta<'_>) {
        for (path, ns) in by_cgroup(delta, |task| task.switch_cost_ns) {
            let name = self.cgroup(path, 0);
            self.sum(&CGROUP_COST, &[&name], Some(ns));
        }
    }

    fn add_cgroup_waits(&mut self, delta: &Delta<'_>) {
        let Some(known) = delta.group_waits else { return };
        // Those of which no wait was seen in this time have their sum all the same, once they have classes.
        let wait_ns = by_cgroup(delta, |task| Some(task.wait_ns));
        let paths: BTreeSet<&str> =
            known.keys().filter_map(Option::as_deref).chain(wait_ns.keys().copied()).collect();
        for path in paths {
            let rows = known.get(&Some(path.to_owned()));
            let name = self.cgroup(path, 0);
            if rows.is_some() || self.distributions.contains_key(&(CGROUP_WAITS.stem, vec![name.clone()])) {
                let sum_ns = wait_ns.get(path).copied().unwrap_or(0);
                self.distribution(&CGROUP_WAITS, &[&name]).add(rows.into_iter().flatten(), sum_ns);
            }
        }
    }

    /// Gives the places of cgroups that are gone to others, and ends the series of those that stood still for long enough.
    pub(super) fn review_cgroups(&mut self, now_ns: u64) {
        let of_groups = [
            &CGROUP_SWITCHES,
            &CGROUP_RUN,
            &CGROUP_WAIT,
            &CGROUP_COST,
            &CGROUP_CPU,
            &CGROUP_PERIODS,
            &CGROUP_THROTTLED_PERIODS,
            &CGROUP_THROTTLED,
            &CGROUP_PRESSURE,
        ];
        for path in self.cgroups.review(now_ns) {
            self.names.remove(&path);
            for family in of_groups {
                self.drop_series(family, |labels| labels[0] == path);
            }
            self.distributions.remove(&(CGROUP_WAITS.stem, vec![path]));
        }
    }
}

/// A figure of tasks, summed by their cgroups; of cgroups of which some task has it.
fn by_cgroup<'a>(delta: &'a Delta<'_>, of: impl Fn(&TaskRow) -> Option<u64>) -> BTreeMap<&'a str, u64> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for task in delta.trace.tasks.iter().filter(|task| task.in_scope) {
        if let (Some(path), Some(more)) = (&task.cgroup, of(task)) {
            let sum = sums.entry(path).or_default();
            *sum = sum.saturating_add(more);
        }
    }
    sums
}
