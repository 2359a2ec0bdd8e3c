//! The kernel: its name, its mitigations, sched_ext and BTF.

use crate::files::Files;
use crate::host::{Kernel, Mitigation};
use crate::preemption;

const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";
const EVENT_SOURCES: &str = "sys/bus/event_source/devices";

/// Reads what the kernel says of itself.
pub(crate) fn read(files: &Files) -> Kernel {
    let (release, version) = names(files);
    let preemption = preemption::read(files, &release, &version);
    let mitigations: Vec<Mitigation> = files
        .names(VULNERABILITIES)
        .into_iter()
        .filter_map(|name| {
            Some(Mitigation { state: files.word(&format!("{VULNERABILITIES}/{name}"))?, name })
        })
        .collect();
    Kernel {
        page_table_isolation: page_table_isolation(&mitigations),
        mitigations,
        // Without /sys/kernel there is no telling: sysfs is not mounted, or a sandbox hides it.
        sched_ext: files.exists("sys/kernel").then(|| files.exists("sys/kernel/sched_ext")),
        sched_ext_loaded: files.word("sys/kernel/sched_ext/root/ops"),
        btf: files.exists("sys/kernel/btf/vmlinux"),
        hardware_counters: hardware_counters(files),
        preemption: preemption.model,
        preemption_source: Some(preemption.source),
        release,
        version,
    }
}

/// Release and version as `uname` gives them. Sandboxes may lack the two files but have `/proc/version`, which holds both:
/// `Linux version RELEASE (who built it) (with what) #1 SMP ...`.
fn names(files: &Files) -> (String, String) {
    let line = files.text("proc/version").unwrap_or_default();
    let release = files
        .word("proc/sys/kernel/osrelease")
        .or_else(|| line.strip_prefix("Linux version ")?.split_whitespace().next().map(str::to_owned));
    let version = files
        .word("proc/sys/kernel/version")
        .or_else(|| line.rsplit_once(" #").map(|(_, version)| format!("#{version}")));
    (release.unwrap_or_default(), version.unwrap_or_default())
}

/// Whether one of the kernel's event sources counts in the CPUs. That is `cpu`, s390's `cpum_cf`, or one with a list of its CPUs. Arm and
/// CPUs of several kinds have such a list (`is_pmu_core` in tools/perf/util/pmu.c, Linux 6.18). Every kernel with perf events lists some
/// source.
fn hardware_counters(files: &Files) -> Option<bool> {
    let sources = files.names(EVENT_SOURCES);
    let counts = |name: &String| {
        matches!(name.as_str(), "cpu" | "cpum_cf") || files.exists(&format!("{EVENT_SOURCES}/{name}/cpus"))
    };
    (!sources.is_empty()).then(|| sources.iter().any(counts))
}

/// Whether user and kernel page tables are apart, by what the kernel says of Meltdown (`cpu_show_meltdown`,
/// arch/x86/kernel/cpu/bugs.c and arch/arm64/kernel/cpufeature.c, Linux 6.18).
fn page_table_isolation(mitigations: &[Mitigation]) -> Option<bool> {
    let state = &mitigations.iter().find(|mitigation| mitigation.name == "meltdown")?.state;
    if state.starts_with("Mitigation: PTI") {
        Some(true)
    } else if state.starts_with("Not affected") || state.starts_with("Vulnerable") {
        Some(false)
    } else {
        // A Xen guest says that its hypervisor would have to do it.
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn isolation(state: &str) -> Option<bool> {
        page_table_isolation(&[Mitigation { name: "meltdown".into(), state: state.into() }])
    }

    #[test]
    fn page_tables() {
        assert_eq!(isolation("Mitigation: PTI"), Some(true));
        assert_eq!(isolation("Not affected"), Some(false));
        assert_eq!(isolation("Vulnerable"), Some(false));
        assert_eq!(isolation("Unknown (XEN PV detected, hypervisor mitigation required)"), None);
        assert_eq!(page_table_isolation(&[]), None);
    }
}
