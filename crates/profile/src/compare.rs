//! What changed between two Profiles, and whether the change is larger than what one run and the next differ by.

use crate::model::{Estimate, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_stats::compare_launch_medians;

/// One figure that both Profiles have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Which figure.
    pub what: String,
    /// Its median then, ns.
    pub old_ns: f64,
    /// Its median now, ns.
    pub new_ns: f64,
    /// Now over then, from the medians of each fresh process; absent with fewer than three processes on a side.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's 95 % interval.
    pub ratio_low: Option<f64>,
    /// Upper end of it.
    pub ratio_high: Option<f64>,
    /// Whether the change is larger than the noise between processes; absent when that cannot be said.
    pub larger_than_noise: Option<bool>,
}

/// Two Profiles set side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The figures both have.
    pub changes: Vec<Change>,
    /// Figures that only the old one has.
    pub only_old: Vec<String>,
    /// Figures that only the new one has.
    pub only_new: Vec<String>,
    /// What differs between the machines or their settings: a difference here may explain every change above.
    pub circumstances: Vec<String>,
}

/// Seed of the resampling: the same two files always give the same intervals.
const SEED: u64 = 0x5117_c4ed;

/// Compares two Profiles figure by figure.
pub fn compare(old: &Profile, new: &Profile) -> Comparison {
    let (old_rows, new_rows) = (figures(old), figures(new));
    let mut changes = Vec::new();
    let mut only_old = Vec::new();
    for (what, before) in &old_rows {
        match new_rows.iter().find(|(name, _)| name == what) {
            Some((_, after)) => changes.push(change(what, before, after)),
            None => only_old.push(what.clone()),
        }
    }
    let only_new = new_rows
        .iter()
        .filter(|(name, _)| old_rows.iter().all(|(what, _)| what != name))
        .map(|(name, _)| name.clone())
        .collect();
    Comparison { changes, only_old, only_new, circumstances: circumstances(old, new) }
}

fn change(what: &str, before: &Estimate, after: &Estimate) -> Change {
    let difference = compare_launch_medians(&before.launch_medians, &after.launch_medians, SEED);
    Change {
        what: what.to_owned(),
        old_ns: before.median,
        new_ns: after.median,
        ratio: difference.as_ref().map(|found| found.ratio),
        ratio_low: difference.as_ref().map(|found| found.interval.low),
        ratio_high: difference.as_ref().map(|found| found.interval.high),
        larger_than_noise: difference.as_ref().map(|found| found.larger_than_noise),
    }
}

/// Every figure of a Profile by a name that two Profiles share.
fn figures(profile: &Profile) -> Vec<(String, &Estimate)> {
    let mut rows = Vec::new();
    for row in &profile.direct {
        let core = profile.core_of(row).map(|core| format!(" ({core})")).unwrap_or_default();
        let name = format!("switch, {}, {}, {}{core}, {}", row.method, row.tasks, row.placement, row.class);
        rows.push((name, &row.switch_cost_ns));
    }
    for row in &profile.total {
        let name = format!(
            "c2, {}, {}, stride {}",
            swtch_units::Bytes::new(row.array_bytes),
            row.access,
            row.stride_bytes
        );
        rows.push((name, &row.total_cost_ns));
    }
    for row in &profile.ring {
        let name = format!("ring of {}, {}", row.processes, swtch_units::Bytes::new(row.array_bytes));
        rows.push((name, &row.switch_cost_ns));
    }
    for row in &profile.messages {
        rows.push((row.name(), &row.message_ns));
    }
    let references = &profile.references;
    let named = [
        ("system call", &references.syscall_ns),
        ("fork + exit + wait", &references.fork_ns),
        ("thread create + join", &references.thread_create_ns),
    ];
    for (name, estimate) in named {
        rows.extend(estimate.as_ref().map(|estimate| (name.to_owned(), estimate)));
    }
    rows
}

fn circumstances(old: &Profile, new: &Profile) -> Vec<String> {
    let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let flag = |value: Option<bool>| match value {
        Some(true) => "on".to_owned(),
        Some(false) => "off".to_owned(),
        None => "unknown".to_owned(),
    };
    let (then, now) = (&old.host, &new.host);
    let online =
        |cpus: &[swtch_topology::host::Cpu]| cpus.iter().filter(|cpu| cpu.online).count().to_string();
    let rows = [
        ("processor", show(&then.cpu_model), show(&now.cpu_model)),
        ("processors online", online(&then.cpus), online(&now.cpus)),
        ("kernel", then.kernel.release.clone(), now.kernel.release.clone()),
        ("kernel build", then.kernel.version.clone(), now.kernel.version.clone()),
        ("preemption", show(&then.kernel.preemption), show(&now.kernel.preemption)),
        (
            "page-table isolation",
            flag(then.kernel.page_table_isolation),
            flag(now.kernel.page_table_isolation),
        ),
        ("governor", show(&then.frequency.governor), show(&now.frequency.governor)),
        ("hypervisor", show(&then.virtualisation.hypervisor), show(&now.virtualisation.hypervisor)),
        ("clock", old.clock.source.clone(), new.clock.source.clone()),
    ];
    let mut found: Vec<String> = rows
        .into_iter()
        .filter(|(_, then, now)| then != now)
        .map(|(what, then, now)| format!("{what}: {then} -> {now}"))
        .collect();
    for before in &then.kernel.mitigations {
        let after = now.kernel.mitigations.iter().find(|row| row.name == before.name);
        if let Some(after) = after.filter(|after| after.state != before.state) {
            found.push(format!("mitigation {}: {} -> {}", before.name, before.state, after.state));
        }
    }
    found
}

#[cfg(test)]
mod tests;
