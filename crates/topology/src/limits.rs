//! What this process may use of the machine.

use crate::cgroups;
use crate::files::Files;
use crate::host::{Cpu, Limits};
use crate::memory::Memory;

/// Reads the limits of the calling process.
pub(crate) fn read(files: &Files, cpus: &[Cpu], memory: &Memory) -> Limits {
    let status = files.text("proc/self/status").unwrap_or_default();
    let cgroups = cgroups::read(files);
    Limits {
        allowed_cpus: allowed_cpus(&status, cpus),
        cpu_quota: cgroups.cpu_quota,
        memory_limit_bytes: cgroups.memory_limit_bytes,
        available_memory_bytes: cgroups::least(memory.available_bytes, cgroups.memory_room_bytes),
        cgroup_versions: cgroups.versions,
        effective_uid: effective_uid(&status).unwrap_or_default(),
        effective_capabilities: status_field(&status, "CapEff")
            .and_then(|text| u64::from_str_radix(text, 16).ok())
            .unwrap_or_default(),
        realtime_priority_limit: files
            .text("proc/self/limits")
            .and_then(|text| soft_limit(&text, "Max realtime priority")),
        perf_event_paranoid: files.number("proc/sys/kernel/perf_event_paranoid"),
        unprivileged_bpf_disabled: files.number("proc/sys/kernel/unprivileged_bpf_disabled"),
        sched_rt_runtime_us: files.number("proc/sys/kernel/sched_rt_runtime_us"),
    }
}

fn status_field<'a>(status: &'a str, field: &str) -> Option<&'a str> {
    status.lines().find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.trim()))
}

/// The kernel's list may name CPUs that are off or not there. Where there is no list, every CPU is allowed.
fn allowed_cpus(status: &str, cpus: &[Cpu]) -> Vec<u32> {
    let allowed = status_field(status, "Cpus_allowed_list")
        .and_then(|text| text.parse::<swtch_units::CpuList>().ok())
        .map(|list| list.numbers());
    cpus.iter()
        .filter(|cpu| cpu.online && allowed.as_ref().is_none_or(|list| list.binary_search(&cpu.id).is_ok()))
        .map(|cpu| cpu.id)
        .collect()
}

/// The second of `Uid: real effective saved filesystem`.
fn effective_uid(status: &str) -> Option<u32> {
    status_field(status, "Uid")?.split_whitespace().nth(1)?.parse().ok()
}

/// The soft limit, which is the one that the kernel checks; the lines are `NAME  SOFT  HARD  UNIT`.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn online(ids: &[u32]) -> Vec<Cpu> {
        ids.iter().map(|id| Cpu { id: *id, online: true, ..Cpu::default() }).collect()
    }

    #[test]
    fn processors_beyond_64_and_those_that_are_off() {
        let mut cpus = online(&[0, 31, 32, 64, 200]);
        cpus[1].online = false;
        assert_eq!(allowed_cpus("Cpus_allowed_list:\t31-64,200-4095\n", &cpus), [32, 64, 200]);
        assert_eq!(allowed_cpus("Name:\tx\n", &cpus), [0, 32, 64, 200]);
    }

    #[test]
    fn limits_are_soft_ones() {
        let text = "Max nice priority         0   0   \nMax realtime priority     99   unlimited   \n";
        assert_eq!(soft_limit(text, "Max realtime priority"), Some(99));
        assert_eq!(
            soft_limit("Max realtime priority unlimited unlimited", "Max realtime priority"),
            Some(u64::MAX)
        );
        assert_eq!(soft_limit("Max realtime priority", "Max realtime priority"), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}") {
            let _ = allowed_cpus(&format!("Cpus_allowed_list:{text}"), &online(&[0, 1]));
            let _ = (effective_uid(&format!("Uid:{text}")), soft_limit(&text, "Max"), status_field(&text, "CapEff"));
        }
    }
}
