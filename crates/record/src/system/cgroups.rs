//! All control groups of the hierarchy that limits processor time, and what their files count.

use super::cgroup::{Cgroup, Mount, mounts};
use super::cpu_stat::{CgroupCounters, Files};
use crate::{Unavailable, files};
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// All control groups, as their files stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroups {
    /// Path below the hierarchy's root (`/system.slice`), the number of its folder, and its counters; those above come first.
    pub groups: Vec<(String, u64, CgroupCounters)>,
    /// What none of them has, or that not all were read, and why.
    pub unavailable: Vec<Unavailable>,
}

impl Cgroups {
    /// Reads them under `root` (`/` for this machine), `most` at most. One that goes away meanwhile is left out.
    pub fn read(root: &Path, most: usize) -> Self {
        let mounts = mounts(root);
        let of_cpu = |mount: &&Mount| mount.version == 1 && mount.has("cpu");
        let Some(mount) =
            mounts.iter().find(of_cpu).or_else(|| mounts.iter().find(|mount| mount.version == 2))
        else {
            let why = "no hierarchy of control groups with the cpu controller is mounted here";
            return Self { groups: Vec::new(), unavailable: vec![Unavailable::new("cgroups", why)] };
        };
        let accounting = mounts.iter().find(|mount| mount.version == 1 && mount.has("cpuacct"));
        let mut found = Self::default();
        let (mut throttling, mut pressure) = (false, false);
        let mut waiting = VecDeque::from(["/".to_owned()]);
        while let Some(path) = waiting.pop_front() {
            if found.groups.len() == most {
                let why = format!("there are more than {most} control groups; the others are not looked at");
                found.unavailable.push(Unavailable::new("cgroups.others", why));
                break;
            }
            let folder = mount.group(&path);
            let located = files::locate(root, &folder);
            let (Ok(facts), Ok(below)) = (fs::metadata(&located), fs::read_dir(&located)) else { continue };
            let mut names: Vec<String> = below
                .filter_map(Result::ok)
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect();
            names.sort();
            waiting.extend(names.iter().map(|name| format!("{}/{name}", path.trim_end_matches('/'))));
            let group = Cgroup {
                version: mount.version,
                cpuacct_folder: accounting
                    .filter(|_| mount.version == 1)
                    .map(|accounting| accounting.group(&path)),
                folder,
            };
            let counters = Files::read(root, &group).judged(&mut Vec::new());
            throttling |= counters.throttling.is_some();
            pressure |= counters.cpu_pressure.is_some();
            found.groups.push((path, facts.ino(), counters));
        }
        let mut missing = |what: &str, why: &str| found.unavailable.push(Unavailable::new(what, why));
        if !throttling {
            missing("cgroups.throttling", "no control group has the cpu controller, which alone has quotas");
        }
        if !pressure && mount.version == 1 {
            missing("cgroups.pressure", "control groups of version 1 have no pressure information");
        }
        found
    }
}
