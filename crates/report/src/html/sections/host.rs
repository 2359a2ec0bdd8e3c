//! The machines, a column for each profile.

use swtch_topology::host::Host;
use swtch_units::{CpuId, CpuList};

use crate::html::prelude::*;

/// The section: the machine of each subject.
pub(in crate::html) fn section<T: Subject>(subjects: Subjects<'_, T>, host: fn(&T) -> &Host) -> Section {
    Section::bare("machine", "The machine")
        .put([subjects.fact_table("Facts about the machine", |subject| facts(host(subject)))])
}

const UNSAID: &str = "the machine does not say";

fn said(value: Option<String>) -> String {
    value.unwrap_or_else(|| UNSAID.to_owned())
}

fn yes_no(value: Option<bool>) -> String {
    said(value.map(|value| if value { "yes" } else { "no" }.to_owned()))
}

/// The machine in a few words: CPU, how many, kernel.
pub(in crate::html) fn words(host: &Host) -> Vec<String> {
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    words_of(host.cpu_model.as_deref().unwrap_or(&host.architecture), online, &host.kernel.release)
}

/// As [`words`], of a machine about which less is known. A number of 0 CPUs is left out.
pub(in crate::html) fn words_of(processor: &str, online: usize, release: &str) -> Vec<String> {
    let mut words = vec![processor.to_owned()];
    if online > 0 {
        words.push(format!("{online} {}", if online == 1 { "CPU" } else { "CPUs" }));
    }
    if !release.is_empty() {
        words.push(format!("Linux {release}"));
    }
    words
}

/// The machine as names and values.
pub(in crate::html) fn facts(host: &Host) -> Vec<(&'static str, String)> {
    let kernel = &host.kernel;
    vec![
        ("CPU model", said(host.cpu_model.clone())),
        ("Architecture", host.architecture.clone()),
        ("CPUs", cpus(host)),
        ("SMT", smt(host)),
        ("Caches", caches(host)),
        (
            "NUMA nodes",
            if host.numa_nodes.is_empty() { UNSAID.to_owned() } else { host.numa_nodes.len().to_string() },
        ),
        ("Memory", said(host.memory_bytes.map(text::bytes))),
        ("Frequency governor", said(host.frequency.governor.clone())),
        ("Boost", yes_no(host.frequency.boost)),
        ("Hypervisor", host.virtualisation.hypervisor.clone().unwrap_or_else(|| "none seen".to_owned())),
        ("Container", host.virtualisation.container.clone().unwrap_or_else(|| "none seen".to_owned())),
        ("Imitated kernel (gVisor)", yes_no(Some(host.virtualisation.gvisor))),
        ("Kernel", kernel.release.clone()),
        ("Preemption", said(kernel.preemption.clone())),
        ("Page-table isolation", yes_no(kernel.page_table_isolation)),
        ("Mitigations", mitigations(host)),
        ("sched_ext", sched_ext(host)),
        ("Allowed CPUs", cpu_list(&host.limits.allowed_cpus)),
        ("CPU quota", quota(host)),
        ("Memory limit", host.limits.memory_limit_bytes.map_or_else(|| "none".to_owned(), text::bytes)),
        ("Real-time limit", realtime(host)),
    ]
}

fn cpu_list(cpus: &[u32]) -> String {
    if cpus.is_empty() {
        return UNSAID.to_owned();
    }
    cpus.iter().map(|&cpu| CpuId::new(cpu)).collect::<CpuList>().to_string()
}

fn cpus(host: &Host) -> String {
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    let kinds = once(host.cpus.iter().map(|cpu| format!("{:?}", cpu.kind).to_lowercase()));
    let kinds =
        if kinds.len() > 1 { format!(", cores of kinds {}", text::joined(&kinds)) } else { String::new() };
    format!("{online} online of {}{kinds}", host.cpus.len())
}

fn smt(host: &Host) -> String {
    let siblings = host.cpus.iter().map(|cpu| cpu.smt_siblings.len()).max().unwrap_or(0);
    match siblings {
        0 => UNSAID.to_owned(),
        1 => "no siblings".to_owned(),
        n => format!("{n} CPUs a core"),
    }
}

/// `L1d 48 KiB, L2 1 MiB, L3 32 MiB (shared by 8)`, each kind once with how many there are.
fn caches(host: &Host) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for cache in &host.caches {
        let sharing = cache.shared_by.len();
        let shared = if sharing > 1 { format!(" (shared by {sharing})") } else { String::new() };
        let name = format!("{} {}{shared}", naming::cache_name(cache), text::bytes(cache.bytes));
        *gathered(&mut kinds, name) += 1;
    }
    if kinds.is_empty() {
        return UNSAID.to_owned();
    }
    let lines: Vec<String> = kinds
        .into_iter()
        .map(|(name, count)| if count > 1 { format!("{count} × {name}") } else { name })
        .collect();
    lines.join(", ")
}

fn mitigations(host: &Host) -> String {
    let active: Vec<String> = host
        .kernel
        .mitigations
        .iter()
        .filter(|mitigation| !mitigation.state.starts_with("Not affected"))
        .map(|mitigation| format!("{}: {}", mitigation.name, mitigation.state))
        .collect();
    if active.is_empty() { "none listed".to_owned() } else { active.join("; ") }
}

fn sched_ext(host: &Host) -> String {
    match (&host.kernel.sched_ext_loaded, host.kernel.sched_ext) {
        (Some(name), _) => format!("loaded: {name}"),
        (None, Some(true)) => "built in, none loaded".to_owned(),
        (None, Some(false)) => "not built in".to_owned(),
        (None, None) => UNSAID.to_owned(),
    }
}

fn quota(host: &Host) -> String {
    host.limits.cpu_quota.as_ref().map_or_else(
        || "none".to_owned(),
        |quota| {
            format!(
                "{:.2} CPUs ({} of every {})",
                quota.cpus(),
                text::ns(quota.quota_us as f64 * 1e3),
                text::ns(quota.period_us as f64 * 1e3)
            )
        },
    )
}

fn realtime(host: &Host) -> String {
    match host.limits.sched_rt_runtime_us {
        Some(-1) => "real-time tasks may use all time".to_owned(),
        Some(us) => format!("real-time tasks may use {} of each period", text::ns(us as f64 * 1e3)),
        None => UNSAID.to_owned(),
    }
}
