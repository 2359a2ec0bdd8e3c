//! CPUs, SMT, caches, frequency, and what virtualises them.

use swtch_units::{Bytes, CpuId, CpuList};

use super::{Capability, NOT_GVISOR};
use crate::host::{Cache, CacheKind, CoreKind, Host};
use crate::placement::Placement;

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(|n| CpuId::new(*n)).collect::<CpuList>().to_string()
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

pub(super) fn processors(host: &Host) -> Capability {
    let online: Vec<u32> = host.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let offline: Vec<u32> = host.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    let usable = host.usable_cpus().len();
    let finding = format!("{}{}", plural(online.len(), "CPU", "CPUs"), arrangement(host));
    if usable < online.len() {
        let finding = format!("{finding}; allowed: {}", list(&host.limits.allowed_cpus));
        let costs = if usable < 2 {
            "every placement on two CPUs is missing"
        } else {
            "placements that need the other CPUs are missing"
        };
        return Capability::limited(finding, costs).enabled_by(widen_affinity(host, &online));
    }
    if usable < 2 && offline.is_empty() {
        let virtual_machine = host.virtualisation.hypervisor.is_some();
        return Capability::limited(finding, "every placement on two CPUs is missing")
            .perhaps_enabled_by(virtual_machine.then_some("give the virtual machine two or more CPUs"));
    }
    // With SMT off the siblings are off too; the row of SMT says so.
    if !offline.is_empty() {
        let finding = format!("{finding}; offline: {}", list(&offline));
        let first = offline[0];
        return Capability::limited(finding, "placements that need the CPUs that are off are missing")
            .enabled_by(format!("`echo 1 | sudo tee /sys/devices/system/cpu/cpu{first}/online`"));
    }
    if host.cpus.iter().all(|cpu| cpu.package.is_none() && cpu.smt_siblings.is_empty()) {
        let finding = format!("{finding}; their cores and packages are not described");
        return Capability::limited(finding, "placements on two CPUs cannot be told apart");
    }
    Capability::ok(finding)
}

/// `, 4 performance + 4 efficiency, 2 packages, 2 NUMA nodes`, as far as there is more than one.
fn arrangement(host: &Host) -> String {
    let of = |kind| host.cpus.iter().filter(|cpu| cpu.kind == kind).count();
    let (fast, slow) = (of(CoreKind::Performance), of(CoreKind::Efficiency));
    let mut packages: Vec<u32> = host.cpus.iter().filter_map(|cpu| cpu.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let (packages, nodes) = (packages.len(), host.numa_nodes.len());
    [
        (slow > 0).then(|| format!(", {fast} performance + {slow} efficiency")),
        (packages > 1).then(|| format!(", {packages} packages")),
        (nodes > 1).then(|| format!(", {nodes} NUMA nodes")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn widen_affinity(host: &Host, online: &[u32]) -> String {
    let all = list(online);
    match &host.virtualisation.container {
        Some(_) => format!("start the container with all CPUs (`docker run --cpuset-cpus={all}`)"),
        None => format!(
            "`taskset -pc {all} $$` in this shell; if it has no effect, widen `cpuset.cpus` of the cgroup"
        ),
    }
}

pub(super) fn smt(host: &Host) -> Capability {
    let threads = host.cpus.iter().map(|cpu| cpu.smt_siblings.len()).max().unwrap_or(0);
    match host.pair_for(Placement::SmtSibling) {
        Ok(_) => Capability::ok(format!("{threads} threads a core")),
        Err(why) if threads > 1 => Capability::limited(
            format!("{threads} threads a core, but {why}"),
            "the smt-sibling figures are missing",
        ),
        Err(why) => {
            let off = host.cpus.iter().any(|cpu| !cpu.online) && host.architecture == "x86_64";
            Capability::missing(why, "the smt-sibling figures are missing, nothing else").perhaps_enabled_by(
                off.then_some(
                    "if SMT was switched off: `echo on | sudo tee /sys/devices/system/cpu/smt/control`",
                ),
            )
        }
    }
}

/// What the kernel takes them from, without firmware that has ACPI.
const SIZES_IN_THE_DEVICE_TREE: &str = "`d-cache-size` and `cache-size` in the board's device tree";

pub(super) fn caches(host: &Host) -> Capability {
    let Some(first) =
        host.usable_cpus().into_iter().find(|cpu| !host.data_caches_of(CpuId::new(cpu.id)).is_empty())
    else {
        let qemu = matches!(host.virtualisation.hypervisor.as_deref(), Some("kvm" | "qemu"));
        // sysfs has what firmware says (`cache_of_set_props`, drivers/base/cacheinfo.c, Linux 6.18); there is nothing else to read.
        let (reason, remedy) = match host.architecture.as_str() {
            "x86_64" => (
                "the machine does not describe its caches",
                qemu.then_some("on the hypervisor: `qemu-system-x86_64 -cpu host,host-cache-info=on`"),
            ),
            "aarch64" => (
                "the firmware gives no cache sizes, and only a kernel may ask the CPU (CCSIDR_EL1)",
                Some(SIZES_IN_THE_DEVICE_TREE),
            ),
            _ => ("the firmware gives no cache sizes", Some(SIZES_IN_THE_DEVICE_TREE)),
        };
        return Capability::missing(
            reason,
            "array sizes for the indirect cost are not placed around the caches, and the shared-l2, shared-l3 and \
             same-package figures are missing",
        )
        .perhaps_enabled_by(remedy);
    };
    let caches = host.data_caches_of(CpuId::new(first.id));
    let names: Vec<String> = caches.iter().map(|cache| described(cache)).collect();
    let line = caches.first().and_then(|cache| cache.line_bytes);
    let lines = line.map(|bytes| format!("; lines of {bytes} B")).unwrap_or_default();
    let whose =
        if host.virtualisation.hypervisor.is_some() { " (as the hypervisor reports them)" } else { "" };
    Capability::ok(format!("{}{lines}{whose}", names.join(", ")))
}

/// `L1d 48 KiB`, `L3 32 MiB shared by 0-7`.
fn described(cache: &Cache) -> String {
    let data = if cache.kind == CacheKind::Data { "d" } else { "" };
    let size = format!("L{}{data} {}", cache.level, Bytes::new(cache.bytes));
    if cache.shared_by.len() < 2 { size } else { format!("{size} shared by {}", list(&cache.shared_by)) }
}

pub(super) fn frequency_governor(host: &Host) -> Capability {
    let frequency = &host.frequency;
    let Some(governor) = &frequency.governor else {
        let (decider, enable) = match host.virtualisation.hypervisor {
            Some(_) => ("the hypervisor's host decides", Some("set the performance governor on the host")),
            None => ("firmware or the CPU decides", None),
        };
        return Capability::missing(
            format!("no governor is visible; {decider}"),
            "a change of clock cannot be seen or prevented, so figures of two runs may differ by it",
        )
        .perhaps_enabled_by(enable);
    };
    let boost = match frequency.boost {
        Some(true) => ", boost on",
        Some(false) => ", boost off",
        None => "",
    };
    let driver = frequency.driver.as_deref().map(|driver| format!(" ({driver})")).unwrap_or_default();
    let finding = format!("{governor}{driver}{boost}");
    if governor == "performance" {
        return Capability::ok(finding);
    }
    Capability::limited(finding,
        "the clock changes with the load, so figures vary more, and those of tasks that sleep much look too high",
    )
    .enabled_by("`sudo cpupower frequency-set -g performance`")
}

pub(super) fn virtualisation(host: &Host) -> Capability {
    let virtualisation = &host.virtualisation;
    if virtualisation.gvisor {
        return Capability::limited(
            "gVisor, which imitates a Linux kernel",
            "the figures describe gVisor, not Linux; pinning, classes and many counters are imitations",
        )
        .enabled_by(NOT_GVISOR);
    }
    match (&virtualisation.hypervisor, &virtualisation.container) {
        (None, None) => Capability::ok("bare metal, no container"),
        (Some(hypervisor), container) => {
            let inside =
                container.as_ref().map(|name| format!(", in a {name} container")).unwrap_or_default();
            Capability::limited(
                format!("{hypervisor} virtual machine{inside}"),
                "the figures include the hypervisor's share (timers, wake-ups of an idle CPU), and other \
                 guests add noise",
            )
            .enabled_by("run it on the host, or on a bare-metal instance")
        }
        (None, Some(container)) => Capability::limited(
            format!("{container} container on bare metal"),
            "a seccomp filter makes every system call slower, and so each method that uses them",
        )
        .enabled_by(match container_run(container) {
            Some(run) => {
                format!("`{run} --security-opt seccomp=unconfined`, or run it outside the container")
            }
            None => "run it outside the container".to_owned(),
        }),
    }
}

fn container_run(container: &str) -> Option<String> {
    matches!(container, "docker" | "podman").then(|| format!("{container} run"))
}
