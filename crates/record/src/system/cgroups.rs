//! All cgroups of the hierarchy that limits CPU time, and what their files count.

use super::accounts::{Matches, matches};
use super::cgroup::Cgroup;
use super::cpu_stat::{CgroupCounters, CgroupFiles};
use super::hierarchy::Hierarchy;
use crate::files;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use swtch_trace::fields;
use swtch_trace::model::{Field, Unavailable};

/// All cgroups, with the contents of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroups {
    /// Those above come first.
    pub groups: Vec<CgroupReading>,
    /// What none of them has, or that not all were read, and why.
    pub unavailable: Vec<Unavailable>,
    /// Numbers of all directories in which CPU time is counted.
    pub accounts: BTreeSet<u64>,
    /// Not all were read.
    pub truncated: bool,
    /// By the path of a group of cpu, that of the group of cpuacct with the same tasks; empty where the two have one hierarchy.
    matches: Matches,
}

/// A cgroup, with the contents of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupReading {
    /// Its path below the hierarchy's root, as `/proc/PID/cgroup` gives it (`/system.slice`).
    pub path: String,
    /// The number of its directory.
    pub number: u64,
    /// The number of the directory in which its CPU time is counted: its own, or that of cpuacct's group with the same tasks.
    pub account: Option<u64>,
    /// Its counters.
    pub counters: CgroupCounters,
}

impl Cgroups {
    /// Reads them under `root` (`/` for this machine), `most` at most; `before` is the last reading. One that goes away meanwhile is left out.
    pub fn read(root: &Path, most: usize, before: &Self) -> Self {
        let Some(hierarchy) = Hierarchy::find(root) else {
            let why = "no hierarchy of cgroups with the cpu controller is mounted here";
            return Self { unavailable: vec![Unavailable::new(fields::CGROUPS, why)], ..Self::default() };
        };
        let accounts = Hierarchy::of(root, "cpuacct").filter(|_| !hierarchy.counts_time());
        let matches = accounts
            .as_ref()
            .map(|accounts| matches(root, &hierarchy, accounts, &before.matches))
            .unwrap_or_default();
        let account = |path: &str| match &accounts {
            Some(accounts) => accounts.place(matches.get(path)?),
            None => hierarchy.place(path).filter(|_| hierarchy.counts_time()),
        };
        let mut found = Self::default();
        let (mut throttling, mut pressure, mut unmatched) = (false, false, false);
        for group in hierarchy.walk(root) {
            if found.groups.len() == most {
                let why = format!("there are more than {most} cgroups; the others are left out");
                found.unavailable.push(Unavailable::new(fields::CGROUPS_OTHERS, why));
                found.truncated = true;
                break;
            }
            let Some(folder) = hierarchy.place(&group.path) else { continue };
            let number =
                |folder: &str| fs::metadata(files::locate(root, folder)).ok().map(|facts| facts.ino());
            let Some(own) = number(&folder) else { continue };
            let cpuacct_folder = account(&group.path);
            let reading = Cgroup { version: hierarchy.version(), cpuacct_folder, folder };
            let counters = CgroupFiles::read(root, &reading).judged(&mut Vec::new());
            throttling |= counters.throttling.is_some();
            pressure |= counters.cpu_pressure.is_some();
            unmatched |= counters.usage_ns.is_none();
            let account = reading.cpuacct_folder.as_deref().and_then(number);
            found.groups.push(CgroupReading { path: group.path, number: own, account, counters });
        }
        let mut missing = |what: Field, why: &str| found.unavailable.push(Unavailable::new(what, why));
        if !throttling {
            missing(fields::CGROUPS_THROTTLING, "no cgroup has the cpu controller, which alone has quotas");
        }
        if !pressure && hierarchy.is_of_cpu() {
            missing(fields::CGROUPS_PRESSURE, "cgroups of version 1 have no pressure information");
        }
        if unmatched {
            missing(fields::CGROUPS_USAGE_NS, without_account(&hierarchy, accounts.is_some()));
        }
        found.accounts = match &accounts {
            Some(accounts) => accounts.walk(root).into_iter().map(|group| group.number).collect(),
            None => found.groups.iter().map(|group| group.number).collect(),
        };
        found.matches = matches;
        found
    }
}

fn without_account(hierarchy: &Hierarchy, accounts: bool) -> &'static str {
    match (hierarchy.counts_time(), accounts) {
        (true, _) => "the files of some cgroups hold no CPU time",
        (false, true) => {
            "cpu and cpuacct are two hierarchies here, and for some groups of cpu there is no group of cpuacct with the same tasks; \
             their own tasks' CPU time is in cgroup_run_seconds, and mounting both controllers together gives all of it"
        }
        (false, false) => {
            "the cpuacct controller, which counts the CPU time of groups of version 1, is not mounted; mount it together with cpu"
        }
    }
}
