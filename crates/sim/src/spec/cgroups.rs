//! Cgroups of a specification.

use super::Fault;
use crate::workload::{Cgroup, Quota};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use toml::Spanned;

/// By path, so that a group stands behind those above it.
pub(super) type Cgroups = BTreeMap<String, Spanned<CgroupTable>>;

/// `cgroups.NAME`, in the words of the kernel's files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CgroupTable {
    /// `cpu.weight`.
    weight: Option<u32>,
    /// `cpu.shares` of version 1.
    shares: Option<u32>,
    /// `cpu.max`: quota and period in microseconds.
    max: Option<String>,
}

const WEIGHTS: RangeInclusive<u32> = 1..=10_000;
const SHARES: RangeInclusive<u32> = 2..=262_144;
/// `CGROUP_WEIGHT_DFL`.
const USUAL_WEIGHT: u32 = 100;
/// What the kernel takes for a period, and at least for a quota, us (`tg_set_cfs_bandwidth`, kernel/sched/core.c).
const PERIODS_US: RangeInclusive<u64> = 1_000..=1_000_000;
const USUAL_PERIOD_US: u64 = 100_000;

/// The shares of a `cpu.weight` (`sched_weight_from_cgroup`).
///
/// # Errors
/// When there is no such weight.
pub(crate) fn shares_of(weight: u32) -> Result<u32, String> {
    let weight = within(weight, "weight", &WEIGHTS)?;
    Ok(((weight * 1024 + USUAL_WEIGHT / 2) / USUAL_WEIGHT).max(2))
}

/// The groups, each behind the one that it is in.
pub(super) fn build(tables: &Cgroups) -> Result<Vec<Cgroup>, Fault> {
    let place = |path: &str| tables.keys().position(|known| known == path).map(|place| place as u32);
    let group = |(path, table): (&String, &Spanned<CgroupTable>)| {
        let fault = |problem: String| Fault::new(table.span(), problem);
        let parent = match path.rsplit_once('/') {
            None => None,
            Some((above, _)) => Some(place(above).ok_or_else(|| {
                fault(format!("\"{path}\" is in \"{above}\", which is not there; give it a table too"))
            })?),
        };
        let table = table.get_ref();
        let shares = match (table.weight, table.shares) {
            (Some(_), Some(_)) => {
                return Err(fault("weight and shares are both given; expected one".to_owned()));
            }
            (weight, None) => shares_of(weight.unwrap_or(USUAL_WEIGHT)).map_err(&fault)?,
            (None, Some(shares)) => within(shares, "shares", &SHARES).map_err(&fault)?,
        };
        let quota = table.max.as_deref().map(quota).transpose().map_err(&fault)?.flatten();
        Ok(Cgroup { name: path.clone(), parent, shares, quota })
    };
    tables.iter().map(group).collect()
}

fn within(value: u32, what: &str, range: &RangeInclusive<u32>) -> Result<u32, String> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(format!("{what} is {value}; expected {} to {}", range.start(), range.end()))
}

/// What `cpu.max` holds: `50000 100000`, `max 100000` or `50000`.
pub(crate) fn quota(text: &str) -> Result<Option<Quota>, String> {
    let expected = || {
        format!(
            "max is \"{text}\"; expected what cpu.max holds, such as \"50000 100000\" (quota and period in us) or \"max\""
        )
    };
    let mut words = text.split_whitespace();
    let quota = words.next().ok_or_else(expected)?;
    let period_us = words.next().map_or(Ok(USUAL_PERIOD_US), |word| word.parse().map_err(|_| expected()))?;
    if words.next().is_some() || !PERIODS_US.contains(&period_us) {
        return Err(expected());
    }
    if quota == "max" {
        return Ok(None);
    }
    let quota_us: u64 = quota.parse().map_err(|_| expected())?;
    if !(*PERIODS_US.start()..=u64::from(u32::MAX)).contains(&quota_us) {
        return Err(expected());
    }
    Ok(Some(Quota { runtime_ns: quota_us * 1_000, period_ns: period_us * 1_000 }))
}
