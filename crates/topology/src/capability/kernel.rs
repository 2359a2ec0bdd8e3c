//! The kernel, its mitigations and sched_ext.

use super::Capability;
use crate::host::Host;

pub(super) fn kernel(host: &Host) -> Capability {
    let kernel = &host.kernel;
    let release = if kernel.release.is_empty() { "unknown release" } else { &kernel.release };
    let source = kernel.preemption_source.as_deref().unwrap_or("no reason is recorded");
    if let Some(model) = &kernel.preemption {
        return Capability::ok(format!("Linux {release}, preemption {model} ({source})"));
    }
    // Only a kernel with PREEMPT_DYNAMIC has the file in debugfs.
    let has_file = kernel.version.contains("PREEMPT_DYNAMIC") && !host.virtualisation.gvisor;
    Capability::limited(
        format!("Linux {release}, preemption model unknown: {source}"),
        "the model changes how often tasks are switched, so a difference from another machine may be due to it",
    )
    .perhaps_enabled_by(has_file.then_some(match host.limits.effective_uid {
        0 => "`mount -t debugfs none /sys/kernel/debug`",
        _ => {
            "`sudo swtch doctor` (debugfs is for root), after `sudo mount -t debugfs none /sys/kernel/debug` where it is \
             not mounted"
        }
    }))
}

pub(super) fn mitigations(host: &Host) -> Capability {
    let all = &host.kernel.mitigations;
    if all.is_empty() {
        return Capability::missing(
            "the kernel does not list the CPU's vulnerabilities",
            "the profile cannot say which mitigations its figures include",
        );
    }
    // `KVM: Mitigation: ...` is how itlb_multihit writes it.
    let states = || all.iter().map(|mitigation| mitigation.state.trim_start_matches("KVM: "));
    let starting = |text: &str| states().filter(|state| state.starts_with(text)).count();
    let (mitigated, unaffected, vulnerable) =
        (starting("Mitigation"), starting("Not affected"), starting("Vulnerable"));
    let other = match all.len() - mitigated - unaffected - vulnerable {
        0 => String::new(),
        n => format!(", {n} unknown"),
    };
    let finding = format!(
        "{mitigated} active (the figures include them), {vulnerable} vulnerable, {unaffected} not affected{other}"
    );
    Capability::ok(finding)
}

pub(super) fn page_table_isolation(host: &Host) -> Capability {
    match host.kernel.page_table_isolation {
        Some(true) => {
            Capability::ok("on: each system call changes page tables, and the figures include that")
        }
        Some(false) => Capability::ok("off"),
        None => Capability::missing(
            "the kernel does not say whether user and kernel page tables are apart",
            "the profile cannot say whether its figures include a change of page tables for each system call",
        ),
    }
}

pub(super) fn sched_ext(host: &Host) -> Capability {
    if let Some(loaded) = &host.kernel.sched_ext_loaded {
        return Capability::limited(
            format!("in the kernel; scheduler {loaded} is loaded"),
            format!("the figures are those of {loaded}, not of the kernel's own scheduler"),
        )
        .enabled_by("stop the program that loaded it (`sudo systemctl stop scx`, if that service did)");
    }
    if host.kernel.sched_ext == Some(true) {
        return Capability::ok("in the kernel; no scheduler is loaded");
    }
    let finding = match host.kernel.sched_ext {
        Some(_) => "not in this kernel",
        None => "the kernel does not say (no /sys/kernel)",
    };
    Capability::missing(
        finding,
        "no other scheduler can be loaded into this kernel; the figures of `swtch measure` lose nothing",
    )
    .perhaps_enabled_by((!host.virtualisation.gvisor).then_some(
        "boot Linux 6.12 or later, built with CONFIG_SCHED_CLASS_EXT=y and CONFIG_DEBUG_INFO_BTF=y",
    ))
}
