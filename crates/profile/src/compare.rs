//! What two Profiles share and what they differ in besides their figures: machines, kernels, clocks.

use crate::model::{Estimate, Profile};
use swtch_topology::Host;
use swtch_units::Bytes;

/// Every figure of a Profile by a name that two Profiles share.
pub fn figures(profile: &Profile) -> Vec<(String, &Estimate)> {
    let mut rows = Vec::new();
    for row in &profile.direct {
        let core = profile.core_of(row).map(|core| format!(" ({core})")).unwrap_or_default();
        let name = format!("switch, {}, {}, {}{core}, {}", row.method, row.tasks, row.placement, row.class);
        rows.push((name, &row.switch_cost_ns));
    }
    for row in &profile.total {
        let size = Bytes::new(row.array_bytes);
        let name = format!("c2, {size}, {}, stride {}", row.access, row.stride_bytes);
        rows.push((name, &row.total_cost_ns));
    }
    for row in &profile.ring {
        let name = format!("ring of {}, {}", row.processes, Bytes::new(row.array_bytes));
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

/// What differs between the machines of two Profiles or their settings: a difference here may explain every change.
pub fn circumstances(old: &Profile, new: &Profile) -> Vec<String> {
    let mut found = different_hosts(&old.host, &new.host);
    if old.clock.source != new.clock.source {
        found.push(["clock".to_owned(), old.clock.source.clone(), new.clock.source.clone()]);
    }
    found.iter().map(words).collect()
}

/// The differences between two machines, or two states of one, that change the cost of a switch, as `what: then -> now`. A property that one of
/// the two does not have does not count as a difference.
///
/// ```
/// use swtch_profile::compare::different_machines;
/// use swtch_topology::Host;
/// let (mut then, mut now) = (Host::default(), Host::default());
/// now.kernel.release = "6.12.1".to_owned();
/// assert!(different_machines(&then, &now).is_empty(), "the first does not say");
/// then.kernel.release = "6.1.0".to_owned();
/// assert_eq!(different_machines(&then, &now), ["kernel: 6.1.0 -> 6.12.1"]);
/// ```
pub fn different_machines(then: &Host, now: &Host) -> Vec<String> {
    let known = |found: &&Difference| found[1..].iter().all(|side| side != UNKNOWN);
    different_hosts(then, now).iter().filter(known).map(words).collect()
}

const UNKNOWN: &str = "unknown";

/// A circumstance that is not the same on two sides: what, then and now.
type Difference = [String; 3];

fn words([what, then, now]: &Difference) -> String {
    format!("{what}: {then} -> {now}")
}

fn different_hosts(then: &Host, now: &Host) -> Vec<Difference> {
    let text = |value: &str| if value.is_empty() { UNKNOWN.to_owned() } else { value.to_owned() };
    let show = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
    let isolation = |host: &Host| match host.kernel.page_table_isolation {
        Some(true) => "on".to_owned(),
        Some(false) => "off".to_owned(),
        None => UNKNOWN.to_owned(),
    };
    let online = |cpus: &[swtch_topology::host::Cpu]| match cpus.iter().filter(|cpu| cpu.online).count() {
        0 => UNKNOWN.to_owned(),
        count => count.to_string(),
    };
    let rows = [
        ("CPU model", show(&then.cpu_model), show(&now.cpu_model)),
        ("CPUs online", online(&then.cpus), online(&now.cpus)),
        ("kernel", text(&then.kernel.release), text(&now.kernel.release)),
        ("kernel build", text(&then.kernel.version), text(&now.kernel.version)),
        ("preemption", show(&then.kernel.preemption), show(&now.kernel.preemption)),
        ("page-table isolation", isolation(then), isolation(now)),
        ("governor", show(&then.frequency.governor), show(&now.frequency.governor)),
        ("hypervisor", show(&then.virtualisation.hypervisor), show(&now.virtualisation.hypervisor)),
    ];
    let differs = rows.into_iter().filter(|(_, then, now)| then != now);
    let mut found: Vec<Difference> = differs.map(|(what, then, now)| [what.to_owned(), then, now]).collect();
    for before in &then.kernel.mitigations {
        let after = now.kernel.mitigations.iter().find(|row| row.name == before.name);
        if let Some(after) = after.filter(|after| after.state != before.state) {
            let what = format!("mitigation {}", before.name);
            found.push([what, before.state.clone(), after.state.clone()]);
        }
    }
    found
}
