//! Settings of cgroups that may help: a wider quota, and a larger weight. Each is tried in a cgroup of its own, so that no other task has it.

use super::NotTried;
use super::candidates::{Candidate, Present, Setting};
use super::group::GroupPlan;
use std::fs;
use std::path::{Path, PathBuf};
use swtch_cost::stands_out;
use swtch_record::Scheduling;
use swtch_topology::host::CpuQuota;
use swtch_topology::{CpuGroup, cpu_groups};
use swtch_trace::TraceView;

/// How much more than another one the group weighs.
pub(super) const WEIGHT: u32 = 10;
/// The weight that a group has unless it is set: `cpu.weight` (version 2) and `cpu.shares` (version 1).
const USUAL_WEIGHT: u32 = 100;
const USUAL_SHARES: u32 = 1024;

/// The cgroups of this process, and what its quota had done before the recording.
#[derive(Debug)]
pub(super) struct Groups {
    /// Its own first.
    all: Vec<CpuGroup>,
    /// The one whose quota is tightest.
    limiting: Option<Limiting>,
}

#[derive(Debug)]
struct Limiting {
    place: usize,
    quota: CpuQuota,
    /// Periods in which it stopped the group, by the beginning.
    stopped: u64,
}

impl Groups {
    pub(super) fn read() -> Self {
        let all = cpu_groups(Path::new("/"));
        let with_quota =
            all.iter().enumerate().filter_map(|(place, group)| Some((place, group.quota.clone()?)));
        let tightest = with_quota.min_by(|(_, one), (_, other)| one.cpus().total_cmp(&other.cpus()));
        let limiting = tightest.map(|(place, quota)| {
            let stopped = stopped_periods(&all[place].directory).unwrap_or(0);
            Limiting { place, quota, stopped }
        });
        Self { all, limiting }
    }

    /// Without the quota that stopped the command in the recording, and with twice the quota.
    pub(super) fn wider_quotas(
        &self,
        present: &Present<'_>,
        trace: TraceView<'_>,
        not_tried: &mut Vec<NotTried>,
    ) -> Vec<Candidate> {
        let mut refuse = |why: String| not_tried.push(NotTried { what: "a larger quota".to_owned(), why });
        let Some(Limiting { place, quota, stopped }) = &self.limiting else {
            let own = trace.cgroups.iter().find(|row| row.throttled_periods > Some(0));
            if let Some(own) = own {
                let path = &own.path;
                refuse(format!("the command goes into the cgroup {path} by itself, which has the quota"));
            }
            return Vec::new();
        };
        let group = &self.all[*place];
        let directory = group.directory.display();
        // The recording's own figure is of the command alone, where it is of this group; the group's is of swtch's preparations, too.
        let recorded = trace.header.totals.throttled.map(|throttled| throttled.throttled_periods);
        let all = stopped_periods(&group.directory).unwrap_or(0).saturating_sub(*stopped);
        let stopped = recorded.filter(|periods| *periods > 0).unwrap_or(all).min(all);
        if stopped == 0 {
            refuse(format!("the quota of {directory} did not stop the command"));
            return Vec::new();
        }
        let Some(above) = self.all.get(place + 1) else {
            refuse(format!("{directory} has the quota, and the cgroup above it cannot be seen from here"));
            return Vec::new();
        };
        let periods = (trace.header.duration_ns as f64 / 1e3 / quota.period_us as f64).max(1.0);
        let stopped = (stopped as f64 / periods).min(1.0);
        let one = |what: String, times: Option<u32>| {
            let settings = settings_of_quota(group, quota, times);
            let line =
                settings.iter().map(|(file, value)| format!("echo {} > {directory}/{file}", quoted(value)));
            let prefix = format!("{} &&", line.collect::<Vec<_>>().join(" && "));
            let setting = Setting::Quota { times, cpus: quota.cpus(), stopped };
            let mut one =
                present.with(what, &prefix, setting, Scheduling::default(), &[stands_out::THROTTLED]);
            // The recording says so even where the group above the command's has the quota.
            one.because.get_or_insert_with(|| stands_out::THROTTLED.to_owned());
            // The trial's group has no quota to begin with.
            let settings = if times.is_some() { settings } else { Vec::new() };
            let weight = weight_file(group.version);
            let kept = fs::read_to_string(group.directory.join(weight)).ok();
            let kept = kept.map(|value| (weight.to_owned(), value.trim().to_owned()));
            let settings = settings.into_iter().chain(kept).collect();
            one.group = Some(GroupPlan { parent: above.directory.clone(), settings });
            one
        };
        vec![one("no quota".to_owned(), None), one("twice the quota".to_owned(), Some(2))]
    }

    /// A cgroup that gets ten times what others get, where the tasks wait behind other programs.
    pub(super) fn more_weight(
        &self,
        present: &Present<'_>,
        not_tried: &mut Vec<NotTried>,
    ) -> Option<Candidate> {
        let reasons = [stands_out::OTHERS_IN_FRONT];
        if !present.advice.iter().any(|one| reasons.contains(&one.what.as_str())) {
            return None;
        }
        let what = "a larger weight".to_owned();
        let Some(own) = self.all.first() else {
            let why = "no cgroups with the cpu controller are mounted here".to_owned();
            not_tried.push(NotTried { what, why });
            return None;
        };
        let (parent, kept) = self.place_of_weight(own);
        let usual = if own.version == 1 { USUAL_SHARES } else { USUAL_WEIGHT };
        let (file, value) = (weight_file(own.version).to_owned(), (usual * WEIGHT).to_string());
        let group = parent.join("first");
        let group = group.display();
        let prefix = format!(
            "mkdir -p {group} && echo {value} > {group}/{file} && sh -c 'echo $$ > {group}/cgroup.procs && exec \"$@\"' sh"
        );
        let words = format!("{WEIGHT} times the weight");
        let mut one = present.with(words, &prefix, Setting::Weight, Scheduling::default(), &reasons);
        let settings = kept.into_iter().chain([(file, value)]).collect();
        one.group = Some(GroupPlan { parent, settings });
        Some(one)
    }

    /// The group below which one is made, and what is kept of the command's present group. In version 2, a group with processes in it can have none below
    /// it, but for the one at the top (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint").
    fn place_of_weight(&self, own: &CpuGroup) -> (PathBuf, Vec<(String, String)>) {
        match self.all.get(1) {
            Some(above) if own.version == 2 => {
                let kept = own.quota.as_ref().map(|quota| settings_of_quota(own, quota, Some(1)));
                (above.directory.clone(), kept.unwrap_or_default())
            }
            _ => (own.directory.clone(), Vec::new()),
        }
    }

    /// A place for a group without settings: below the command's own, or beside it.
    pub(super) fn place(&self) -> Option<PathBuf> {
        self.all.first().map(|own| self.place_of_weight(own).0)
    }
}

/// The settings for a quota that is a multiple of this one, or none.
fn settings_of_quota(group: &CpuGroup, quota: &CpuQuota, times: Option<u32>) -> Vec<(String, String)> {
    let (file, unlimited) = if group.version == 1 { ("cpu.cfs_quota_us", "-1") } else { ("cpu.max", "max") };
    let Some(times) = times else { return vec![(file.to_owned(), unlimited.to_owned())] };
    let quota_us = quota.quota_us * u64::from(times);
    let setting = |file: &str, value: String| (file.to_owned(), value);
    match group.version {
        1 => vec![
            setting("cpu.cfs_period_us", quota.period_us.to_string()),
            setting(file, quota_us.to_string()),
        ],
        _ => vec![setting(file, format!("{quota_us} {}", quota.period_us))],
    }
}

fn quoted(value: &str) -> String {
    if value.contains(' ') { format!("'{value}'") } else { value.to_owned() }
}

fn weight_file(version: u32) -> &'static str {
    if version == 1 { "cpu.shares" } else { "cpu.weight" }
}

/// In how many periods the quota stopped the group since it was made.
fn stopped_periods(group: &Path) -> Option<u64> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{PlannedCommand, shell};
    use swtch_cost::Advice;

    fn groups(version: u32, quotas: &[Option<u64>]) -> Groups {
        let quota = |quota_us| CpuQuota {
            quota_us,
            period_us: 100_000,
            cgroup_version: version,
            path: String::new(),
        };
        let group = |(depth, us): (usize, &Option<u64>)| CpuGroup {
            directory: ["/cg/a/b", "/cg/a", "/cg"][depth].into(),
            version,
            quota: us.map(quota),
        };
        let all: Vec<CpuGroup> = quotas.iter().enumerate().map(group).collect();
        let place = all.iter().position(|group| group.quota.is_some());
        let limiting =
            place.map(|place| Limiting { place, quota: all[place].quota.clone().unwrap(), stopped: 0 });
        Groups { all, limiting }
    }

    fn advice(what: &str) -> Advice {
        Advice {
            what: what.to_owned(),
            evidence: String::new(),
            try_this: String::new(),
            cost: None,
            saving: String::new(),
            saves_wait_ns: None,
        }
    }

    fn command() -> PlannedCommand {
        PlannedCommand { name: "make".to_owned(), words: shell("make"), ..PlannedCommand::default() }
    }

    #[test]
    fn a_weight_is_tried_where_others_are_in_front_and_keeps_the_quota() {
        let (command, mut not_tried) = (command(), Vec::new());
        let advice = [advice(stands_out::OTHERS_IN_FRONT)];
        let present = Present { command: &command, advice: &advice };
        let first = groups(1, &[Some(50_000), None]).more_weight(&present, &mut not_tried).unwrap();
        let plan = first.group.unwrap();
        assert_eq!(
            (plan.parent, plan.settings),
            ("/cg/a/b".into(), vec![("cpu.shares".into(), "10240".into())])
        );
        assert_eq!(
            first.command,
            "mkdir -p /cg/a/b/first && echo 10240 > /cg/a/b/first/cpu.shares && \
             sh -c 'echo $$ > /cg/a/b/first/cgroup.procs && exec \"$@\"' sh sh -c 'make'"
        );
        let second = groups(2, &[Some(50_000), None]).more_weight(&present, &mut not_tried).unwrap();
        let plan = second.group.unwrap();
        let expected = [("cpu.max", "50000 100000"), ("cpu.weight", "1000")];
        assert_eq!(plan.parent, Path::new("/cg/a"));
        assert_eq!(plan.settings, expected.map(|(file, value)| (file.to_owned(), value.to_owned())));
        assert!(groups(1, &[]).more_weight(&present, &mut not_tried).is_none());
        assert!(not_tried[0].why.contains("no cgroups"), "{not_tried:?}");
        let alone = Present { command: &command, advice: &[] };
        assert!(groups(1, &[None]).more_weight(&alone, &mut not_tried).is_none());
        assert_eq!(not_tried.len(), 1);
    }

    #[test]
    fn a_quota_is_written_as_each_version_does() {
        let group = |version| groups(version, &[Some(20_000)]);
        let settings = |version, times| {
            let groups = group(version);
            let quota = groups.limiting.as_ref().unwrap().quota.clone();
            let found = settings_of_quota(&groups.all[0], &quota, times).into_iter();
            found.map(|(file, value)| format!("{file} {}", quoted(&value))).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(settings(1, None), "cpu.cfs_quota_us -1");
        assert_eq!(settings(1, Some(2)), "cpu.cfs_period_us 100000, cpu.cfs_quota_us 40000");
        assert_eq!(settings(2, None), "cpu.max max");
        assert_eq!(settings(2, Some(2)), "cpu.max '40000 100000'");
    }
}
