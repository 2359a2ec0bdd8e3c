//! Cgroups, pinning and the real-time class.

use swtch_units::Bytes;

use super::{Capability, NOT_GVISOR, Privilege, Probe, container_command, has};
use crate::host::{CpuQuota, Host};

/// `(cgroup v1, v2)`.
fn versions(host: &Host) -> String {
    let names: Vec<String> =
        host.limits.cgroup_versions.iter().map(|version| format!("v{version}")).collect();
    format!("cgroup {}", names.join(" and "))
}

pub(super) fn cpu_limit(host: &Host) -> Capability {
    let Some(quota) = &host.limits.cpu_quota else {
        if host.limits.cgroup_versions.is_empty() {
            return Capability::limited(
                "no cgroup is visible",
                "a quota that is set from outside cannot be seen; its throttling would inflate means without a visible cause",
            );
        }
        return Capability::ok(format!("no quota ({})", versions(host)));
    };
    let share = quota.cpus();
    let finding = format!(
        "{}: {} in each {} (cgroup v{}, {})",
        processors(share),
        microseconds(quota.quota_us),
        microseconds(quota.period_us),
        quota.cgroup_version,
        quota.path
    );
    if share >= host.usable_cpus().len().max(1) as f64 {
        return Capability::ok(finding);
    }
    let costs = if share < 1.0 {
        format!(
            "once the quota is used up, all tasks stop until the next period: means grow about {:.0}-fold, and medians \
             of short batches hide it",
            1.0 / share
        )
    } else {
        "tasks on more CPUs than the quota has stop until the next period, which inflates means".to_owned()
    };
    Capability::limited(finding, costs).enabled_by(lift_quota(host, quota))
}

/// Two decimals at most: `0.1 CPUs`, `1 CPU`.
fn processors(share: f64) -> String {
    let text = format!("{share:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} CPU{}", if text == "1" { "" } else { "s" })
}

fn microseconds(us: u64) -> String {
    if us.is_multiple_of(1000) { format!("{} ms", us / 1000) } else { format!("{us} µs") }
}

fn lift_quota(host: &Host, quota: &CpuQuota) -> String {
    match host.virtualisation.container.as_deref() {
        Some("kubernetes") => "remove `resources.limits.cpu` from the container of the pod".to_owned(),
        // What it was started with decides which option `docker update` would accept, so a new container is the sure way.
        Some(_) => "start the container without `--cpus` and `--cpu-quota`".to_owned(),
        None if quota.cgroup_version == 2 => format!("`echo max | sudo tee {}/cpu.max`", quota.path),
        None => format!("`echo -1 | sudo tee {}/cpu.cfs_quota_us`", quota.path),
    }
}

/// Room that suffices for the largest arrays of a measurement, which go well beyond the last-level cache, in several tasks.
const ROOM_IN_LAST_LEVEL_CACHES: u64 = 16;
const LEAST_ROOM_BYTES: u64 = 1 << 30;

pub(super) fn memory_limit(host: &Host) -> Capability {
    let limits = &host.limits;
    let available = limits.available_memory_bytes.map(|bytes| format!(", {} available", Bytes::new(bytes)));
    let available = available.unwrap_or_default();
    let Some(limit) =
        limits.memory_limit_bytes.filter(|limit| host.memory_bytes.is_none_or(|all| *limit < all))
    else {
        if limits.cgroup_versions.is_empty() {
            return Capability::limited(
                format!("no cgroup is visible{available}"),
                "a limit that is set from outside cannot be seen; large arrays may end the run without a message",
            );
        }
        return Capability::ok(format!("no limit ({}){available}", versions(host)));
    };
    let finding = format!("{} by cgroup{available}", Bytes::new(limit));
    let wanted = host
        .last_level_cache_bytes()
        .unwrap_or(0)
        .saturating_mul(ROOM_IN_LAST_LEVEL_CACHES)
        .max(LEAST_ROOM_BYTES);
    if limit >= wanted {
        return Capability::ok(finding);
    }
    let costs = "the indirect cost of arrays that do not fit in the limit is missing";
    Capability::limited(finding, costs).enabled_by(match host.virtualisation.container.as_deref() {
        Some("kubernetes") => "raise `resources.limits.memory` of the container of the pod".to_owned(),
        Some(_) => "start the container without `--memory`".to_owned(),
        None => {
            "`sudo systemctl set-property UNIT MemoryMax=infinity`, UNIT being the one in /proc/self/cgroup"
                .to_owned()
        }
    })
}

pub(super) fn pinning(host: &Host, probe: &Probe) -> Capability {
    if !probe.works {
        let costs = "every figure but the unpinned one is missing, and that one includes wake-ups of other CPUs, \
                     which cost 3 to 5 times as much as a switch";
        let enable = match container_command(host) {
            Some(command) => format!("`{command} run --security-opt seccomp=unconfined`"),
            None => {
                "let the sandbox (a seccomp filter or security module) permit sched_setaffinity".to_owned()
            }
        };
        return Capability::missing(format!("refused: {}", probe.reason()), costs).enabled_by(enable);
    }
    if host.virtualisation.gvisor {
        return Capability::limited(
            "accepted, but gVisor does not pass it on to the host",
            "the host moves the tasks as it likes: placements have no meaning",
        )
        .enabled_by(NOT_GVISOR);
    }
    Capability::ok("works")
}

pub(super) fn realtime_class(host: &Host, probe: &Probe) -> Capability {
    if probe.works {
        let runtime = match host.limits.sched_rt_runtime_us {
            Some(-1) => ", without a limit on its running time".to_owned(),
            Some(us) => format!(", sched_rt_runtime_us {us}"),
            None => String::new(),
        };
        return Capability::ok(format!("SCHED_FIFO works{runtime}"));
    }
    let limit = match host.limits.realtime_priority_limit {
        Some(u64::MAX) => ", rtprio limit: none".to_owned(),
        Some(priority) => format!(", rtprio limit {priority}"),
        None => String::new(),
    };
    let finding = format!("refused: {}{limit}", probe.reason());
    let costs = "the SCHED_FIFO figures are missing, which vary least between runs (the low quartile by 2 % instead of \
                 13 % in one comparison)";
    Capability::missing(finding, costs).perhaps_enabled_by(allow_realtime(host))
}

fn allow_realtime(host: &Host) -> Option<String> {
    if host.virtualisation.gvisor {
        return None;
    }
    if host.limits.sched_rt_runtime_us == Some(0) {
        return Some("`sudo sysctl kernel.sched_rt_runtime_us=950000`".to_owned());
    }
    if has(host, Privilege::SysNice)
        || host.limits.realtime_priority_limit.is_some_and(|priority| priority >= 99)
    {
        // The privilege is there and it was refused: with CONFIG_RT_GROUP_SCHED, a group without a share of its own.
        return Some(
            "give the cgroup real-time running time (cgroup v1: write 950000 into its `cpu.rt_runtime_us`), or \
             let the sandbox permit sched_setscheduler"
                .to_owned(),
        );
    }
    if let Some(command) = container_command(host) {
        return Some(format!("`{command} run --cap-add SYS_NICE --ulimit rtprio=99`"));
    }
    if host.virtualisation.container.as_deref() == Some("kubernetes") {
        return Some(
            "add SYS_NICE to `securityContext.capabilities.add` of the container of the pod".to_owned(),
        );
    }
    Some(
        "`sudo setcap cap_sys_nice+ep $(command -v swtch)`, or add `USER - rtprio 99` to /etc/security/limits.conf, log in \
         again and `ulimit -r 99`"
            .to_owned(),
    )
}
