//! The CPUs: which there are, their cores, packages and dies, and their kinds.

use crate::cpuinfo::CpuInfo;
use crate::error::TopologyError;
use crate::files::Files;
use crate::host::{CoreKind, Cpu};

const SYSFS: &str = "sys/devices/system/cpu";

/// A core below three quarters of the fastest one is of another kind. Favoured cores of one kind differ by less (Turbo Boost
/// Max: some 5 %), little cores by more. An Arm little core has a quarter to a half of the capacity.
const SLOWER_KIND: (u64, u64) = (3, 4);

/// Reads the CPUs.
///
/// # Errors
/// When no file lists any, or the list is malformed.
pub(crate) fn read(files: &Files, cpuinfo: &CpuInfo) -> Result<Vec<Cpu>, TopologyError> {
    let online = online(files, cpuinfo)?;
    let mut present = files.cpu_list(&format!("{SYSFS}/present")).unwrap_or_default();
    // A malformed or shorter `present` must not lose a CPU that runs.
    present.extend(&online);
    present.sort_unstable();
    present.dedup();
    let mut cpus: Vec<Cpu> =
        present.into_iter().map(|id| read_one(files, id, online.binary_search(&id).is_ok())).collect();
    set_kinds(files, &mut cpus);
    Ok(cpus)
}

fn online(files: &Files, cpuinfo: &CpuInfo) -> Result<Vec<u32>, TopologyError> {
    let path = format!("{SYSFS}/online");
    if let Some(text) = files.text(&path) {
        let list = files.cpu_list(&path).filter(|list| !list.is_empty());
        return list.ok_or_else(|| TopologyError::Malformed {
            file: files.locate(&path),
            expected: "a list of CPUs such as 0-3,8",
            found: text.chars().take(40).collect(),
        });
    }
    let listed = cpuinfo.processors();
    if listed.is_empty() {
        return Err(TopologyError::NoProcessors {
            root: files.root().to_owned(),
            sysfs: files.locate(&path),
            procfs: files.locate("proc/cpuinfo"),
        });
    }
    Ok(listed)
}

fn read_one(files: &Files, id: u32, online: bool) -> Cpu {
    let directory = format!("{SYSFS}/cpu{id}");
    // Where the firmware does not say, the kernel writes -1, which does not parse as a number without sign: absent.
    let topology = |name: &str| files.number::<u32>(&format!("{directory}/topology/{name}"));
    Cpu {
        id,
        online,
        core: topology("core_id"),
        package: topology("physical_package_id"),
        die: topology("die_id"),
        smt_siblings: siblings(files, &directory),
        numa_node: None,
        capacity: files.number(&format!("{directory}/cpu_capacity")),
        max_frequency_khz: files.number(&format!("{directory}/cpufreq/cpuinfo_max_freq")),
        kind: CoreKind::Uniform,
    }
}

/// `core_cpus_list` is the newer name (Linux 5.3) of `thread_siblings_list`.
fn siblings(files: &Files, directory: &str) -> Vec<u32> {
    ["core_cpus_list", "thread_siblings_list"]
        .iter()
        .find_map(|name| files.cpu_list(&format!("{directory}/topology/{name}")))
        .unwrap_or_default()
}

/// The lists of the performance monitoring units name the kinds on x86; elsewhere capacity tells, or else clearly different
/// frequencies.
fn set_kinds(files: &Files, cpus: &mut [Cpu]) {
    let list = |unit: &str| files.cpu_list(&format!("sys/devices/{unit}/cpus")).unwrap_or_default();
    let performance = list("cpu_core");
    let mut efficiency = list("cpu_atom");
    efficiency.extend(list("cpu_lowpower"));
    if !performance.is_empty() && !efficiency.is_empty() {
        for cpu in cpus {
            if performance.contains(&cpu.id) {
                cpu.kind = CoreKind::Performance;
            } else if efficiency.contains(&cpu.id) {
                cpu.kind = CoreKind::Efficiency;
            }
        }
        return;
    }
    if !split_by(cpus, |cpu| cpu.capacity.map(u64::from)) {
        split_by(cpus, |cpu| cpu.max_frequency_khz);
    }
}

/// Sets the kinds by a measure of speed, if it sets the cores apart; says whether it did.
fn split_by(cpus: &mut [Cpu], speed: impl Fn(&Cpu) -> Option<u64>) -> bool {
    let fastest = cpus.iter().filter_map(&speed).max().unwrap_or(0);
    let (part, whole) = SLOWER_KIND;
    let is_slower =
        |value: u64| u128::from(value) * u128::from(whole) < u128::from(fastest) * u128::from(part);
    if !cpus.iter().filter_map(&speed).any(is_slower) {
        return false;
    }
    for cpu in cpus {
        cpu.kind = match speed(cpu) {
            Some(value) if is_slower(value) => CoreKind::Efficiency,
            Some(_) => CoreKind::Performance,
            None => CoreKind::Uniform,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(speeds: &[Option<u64>]) -> Vec<CoreKind> {
        let mut cpus: Vec<Cpu> =
            speeds.iter().map(|khz| Cpu { max_frequency_khz: *khz, ..Cpu::default() }).collect();
        split_by(&mut cpus, |cpu| cpu.max_frequency_khz);
        cpus.iter().map(|cpu| cpu.kind).collect()
    }

    #[test]
    fn favoured_cores_are_no_kind_of_their_own() {
        assert_eq!(kinds(&[Some(5_200_000), Some(4_900_000)]), [CoreKind::Uniform; 2]);
    }

    #[test]
    fn clearly_slower_cores_are_and_an_unknown_one_stays_unknown() {
        assert_eq!(
            kinds(&[Some(5_100_000), Some(3_300_000), None]),
            [CoreKind::Performance, CoreKind::Efficiency, CoreKind::Uniform]
        );
    }

    #[test]
    fn absurd_speeds_do_not_overflow() {
        assert_eq!(kinds(&[Some(u64::MAX), Some(0)]), [CoreKind::Performance, CoreKind::Efficiency]);
    }
}
