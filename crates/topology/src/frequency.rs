//! The driver that sets the CPUs' frequency.

use crate::files::Files;
use crate::host::{Cpu, Frequency};

const SYSFS: &str = "sys/devices/system/cpu";

/// Reads driver, governor and boost; absent in most virtual machines, where the host decides.
pub(crate) fn read(files: &Files, cpus: &[Cpu]) -> Frequency {
    // The first CPU that has them: CPU 0 may be off, and its directory gone.
    let policy =
        |name: &str| cpus.iter().find_map(|cpu| files.word(&format!("{SYSFS}/cpu{}/cpufreq/{name}", cpu.id)));
    Frequency { driver: policy("scaling_driver"), governor: policy("scaling_governor"), boost: boost(files) }
}

/// `intel_pstate` has a switch of its own, with the opposite sense.
fn boost(files: &Files) -> Option<bool> {
    let flag = |path: &str| match files.text(&format!("{SYSFS}/{path}"))?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    flag("cpufreq/boost").or_else(|| flag("intel_pstate/no_turbo").map(|off| !off))
}
