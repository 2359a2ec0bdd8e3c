//! Counters and tracing: getrusage, perf, BPF.

use super::{Capability, NOT_GVISOR, Privilege, Probe, Probes, container_command, has};
use crate::host::Host;

const CONTAINER_PERF: &str = "run --cap-add PERFMON --security-opt seccomp=unconfined";

pub(super) fn switch_counts(host: &Host, probe: &Probe) -> Capability {
    if probe.works {
        return Capability::ok("getrusage counts switches");
    }
    Capability::missing(
        format!("not counted: {}", probe.reason()),
        "the number of switches that a method made cannot be checked, so its figures rest on an assumption and are \
         marked so",
    )
    .perhaps_enabled_by(host.virtualisation.gvisor.then_some(NOT_GVISOR))
}

pub(super) fn perf_events(host: &Host, probe: &Probe) -> Capability {
    let paranoid = host.limits.perf_event_paranoid;
    let level = paranoid.map(|level| format!(", perf_event_paranoid {level}")).unwrap_or_default();
    if probe.works {
        return Capability::ok(format!("software events work{level}"));
    }
    Capability::missing(
        format!("refused: {}{level}", probe.reason()),
        "migrations are not counted, and switches by getrusage only",
    )
    .perhaps_enabled_by(allow_perf(host))
}

/// Level 1 is needed: at 2 only user space may be observed, and a switch happens in the kernel (perf_event_open(2)).
fn allow_perf(host: &Host) -> Option<String> {
    if host.virtualisation.gvisor {
        return None;
    }
    let Some(level) = host.limits.perf_event_paranoid else {
        // The file is there exactly if the kernel has perf events.
        return Some("a kernel built with CONFIG_PERF_EVENTS=y".to_owned());
    };
    let privileged = has(host, Privilege::Perfmon) || has(host, Privilege::SysAdmin);
    match container_command(host) {
        // In a container the seccomp filter asks for the capability whatever the level.
        Some(command) if !privileged => return Some(format!("`{command} {CONTAINER_PERF}`")),
        Some(command) => return Some(format!("`{command} run --security-opt seccomp=unconfined`")),
        None if level > 1 && !privileged => {
            return Some("`sudo sysctl kernel.perf_event_paranoid=1`".to_owned());
        }
        None => {}
    }
    Some("let the sandbox (a seccomp filter or security module) permit perf_event_open".to_owned())
}

pub(super) fn hardware_counters(host: &Host, probes: &Probes) -> Capability {
    let probe = &probes.hardware_counters;
    if probe.works {
        return Capability::ok("instructions, cycles and misses are counted");
    }
    // The kernel may refuse the event before it looks for counters; its list of sources says whether there are any.
    let none = host.kernel.hardware_counters == Some(false);
    let finding = match host.virtualisation.hypervisor.as_deref() {
        _ if !none => format!("not available: {}", probe.reason()),
        Some(hypervisor) => {
            format!("there are none: the hypervisor ({hypervisor}) gives this machine no counters")
        }
        None => "there are none: the kernel has no driver for counters of this CPU".to_owned(),
    };
    // No permission helps where there are none. Where there may be some, the permission comes first.
    let enable = if none || probes.perf_events.works { virtual_pmu(host) } else { allow_perf(host) };
    Capability::missing(
        finding,
        "cache misses, TLB misses and instructions for each switch are missing; the indirect cost is known as time only",
    )
    .perhaps_enabled_by(enable)
}

fn virtual_pmu(host: &Host) -> Option<String> {
    // An emulator has no counters to give.
    if host.virtualisation.gvisor || host.is_emulated() {
        return None;
    }
    let advice = match host.virtualisation.hypervisor.as_deref()? {
        "amazon" => {
            "use an instance with a whole socket or a .metal one; smaller ones have few counters or none"
        }
        "vmware" => {
            "switch on \"Virtualize CPU performance counters\" for the virtual machine (vpmc.enable = \"TRUE\")"
        }
        "microsoft" => "on the hypervisor: `Set-VMProcessor NAME -Perfmon @(\"pmu\")`",
        "qemu" | "kvm" => {
            "on the hypervisor, give the guest a virtual PMU: QEMU `-cpu host,pmu=on`, libvirt <pmu state='on'/>"
        }
        _ => "on the hypervisor, give the guest a virtual PMU",
    };
    Some(advice.to_owned())
}

pub(super) fn bpf(host: &Host, probe: &Probe) -> Capability {
    let costs =
        "single switches and waits in the run queue cannot be traced; no figure of `swtch measure` needs it";
    if !probe.works {
        let unprivileged = match host.limits.unprivileged_bpf_disabled {
            Some(0) | None => String::new(),
            Some(value) => format!(", unprivileged_bpf_disabled {value}"),
        };
        return Capability::missing(format!("refused: {}{unprivileged}", probe.reason()), costs)
            .perhaps_enabled_by(allow_bpf(host));
    }
    if !host.kernel.btf {
        return Capability::limited("works, but the kernel does not describe its types (no BTF)", costs)
            .enabled_by("a kernel built with CONFIG_DEBUG_INFO_BTF=y");
    }
    Capability::ok("works, and the kernel describes its types (BTF)")
}

fn allow_bpf(host: &Host) -> Option<String> {
    if host.virtualisation.gvisor {
        return None;
    }
    if has(host, Privilege::SysAdmin) || has(host, Privilege::Bpf) {
        return Some("let the sandbox (a seccomp filter or kernel lockdown) permit bpf".to_owned());
    }
    if let Some(command) = container_command(host) {
        return Some(format!("`{command} run --cap-add BPF --cap-add PERFMON`"));
    }
    Some("`sudo setcap cap_bpf,cap_perfmon+ep $(command -v swtch)`, or run it with sudo".to_owned())
}
