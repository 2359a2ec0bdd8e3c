//! A cgroup's CPU time, throttling and pressure (Documentation/admin-guide/cgroup-v2.rst and
//! Documentation/scheduler/sched-bwc.rst, Linux 6.18).

use super::{Cgroup, pressure};
use crate::files;
use std::path::Path;
use swtch_trace::fields;
use swtch_trace::model::{Field, Pressure, Throttled, Unavailable};

/// What a cgroup counted. Groups below it are included, except in the throttling of version 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupCounters {
    /// CPU time of its threads, ns.
    pub usage_ns: Option<u64>,
    /// What its own quota did to it; zeros when it has none.
    pub throttling: Option<Throttled>,
    /// Time in which its threads waited for a CPU (version 2).
    pub cpu_pressure: Option<Pressure>,
}

impl CgroupCounters {
    pub(crate) fn both(&self, other: &Self, operation: impl Fn(u64, u64) -> u64 + Copy) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| Some(operation(one?, other?));
        Self {
            usage_ns: both(self.usage_ns, other.usage_ns),
            throttling: self.throttling.zip(other.throttling).map(|(one, other)| Throttled {
                periods: operation(one.periods, other.periods),
                throttled_periods: operation(one.throttled_periods, other.throttled_periods),
                throttled_ns: operation(one.throttled_ns, other.throttled_ns),
            }),
            cpu_pressure: self.cpu_pressure.as_ref().zip(other.cpu_pressure.as_ref()).map(|(one, other)| {
                Pressure {
                    resource: one.resource.clone(),
                    some_ns: both(one.some_ns, other.some_ns),
                    full_ns: both(one.full_ns, other.full_ns),
                }
            }),
        }
    }
}

/// The group's files, read and not yet parsed.
pub(super) struct CgroupFiles {
    version: u32,
    cpu_stat: Result<String, String>,
    cpu_pressure: Result<String, String>,
    /// Of version 1.
    cpuacct: Result<String, String>,
}

impl CgroupFiles {
    pub(super) fn read(root: &Path, group: &Cgroup) -> Self {
        let of = |directory: &str, name: &str| files::text(root, &format!("{directory}/{name}"));
        let cpuacct = match &group.cpuacct_folder {
            Some(folder) => of(folder, "cpuacct.usage"),
            None => Err("no group of the cpuacct controller has the same tasks".to_owned()),
        };
        let cpu_pressure = match group.version {
            2 => of(&group.folder, "cpu.pressure"),
            _ => Err("cgroups of version 1 have no pressure information".to_owned()),
        };
        Self { version: group.version, cpu_stat: of(&group.folder, "cpu.stat"), cpu_pressure, cpuacct }
    }

    /// Parses them, and says what is missing.
    pub(super) fn judged(&self, unavailable: &mut Vec<Unavailable>) -> CgroupCounters {
        let mut row = |what: Field, why: &str| unavailable.push(Unavailable::new(what, why));
        let mut counters = CgroupCounters::default();
        match &self.cpu_stat {
            Ok(text) => {
                counters = parse(text);
                if counters.throttling.is_none() {
                    row(
                        fields::CGROUP_THROTTLING,
                        "cpu.stat has no 'nr_periods': the cpu controller is off in this group",
                    );
                }
            }
            Err(why) => row(fields::CGROUP_THROTTLING, why),
        }
        let source = if self.version == 1 { &self.cpuacct } else { &self.cpu_stat };
        if self.version == 1 {
            counters.usage_ns = source.as_ref().ok().and_then(|text| text.trim().parse().ok());
        }
        if counters.usage_ns.is_none() {
            let why = source.as_ref().err().map_or("the file holds no such number", String::as_str);
            row(fields::CGROUP_USAGE_NS, why);
        }
        match &self.cpu_pressure {
            Ok(text) => counters.cpu_pressure = Some(pressure::parse("cpu", text)),
            Err(why) => row(fields::CGROUP_CPU_PRESSURE, why),
        }
        counters
    }
}

/// `NAME NUMBER` a line. Version 1 gives the throttled time in nanoseconds, version 2 everything in microseconds.
pub(super) fn parse(text: &str) -> CgroupCounters {
    let number = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    };
    let from_us = |name: &str| number(name).map(|us| us.saturating_mul(1000));
    let throttling = || {
        Some(Throttled {
            periods: number("nr_periods")?,
            throttled_periods: number("nr_throttled")?,
            throttled_ns: number("throttled_time").or_else(|| from_us("throttled_usec"))?,
        })
    };
    CgroupCounters { usage_ns: from_us("usage_usec"), throttling: throttling(), cpu_pressure: None }
}
