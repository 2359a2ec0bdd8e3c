//! Puts the facts together.

use std::path::Path;

use swtch_units::EMULATED_PARAMETER;

use crate::cpuinfo::CpuInfo;
use crate::error::TopologyError;
use crate::files::Files;
use crate::host::{EMULATED_MODEL, Host};
use crate::{caches, cpus, frequency, kernel, limits, memory, numa, virtualisation};

impl Host {
    /// Reads the facts from the sysfs and procfs files under `root`: `/` for this machine.
    ///
    /// Facts that are specific to a process (allowed CPUs, cgroups, capabilities) are those of the calling process.
    ///
    /// # Errors
    /// When no file lists the CPUs, or that list is malformed. Any other fact that is missing is absent.
    pub fn read(root: &Path) -> Result<Self, TopologyError> {
        let files = Files::under(root);
        let cpuinfo = CpuInfo::read(&files);
        let mut cpus = cpus::read(&files, &cpuinfo)?;
        let numa_nodes = numa::read(&files, &mut cpus);
        let memory = memory::read(&files);
        Ok(Self {
            architecture: architecture(&files, &cpuinfo),
            cpu_model: cpu_model(&files, &cpuinfo),
            caches: caches::read(&files, &cpus),
            numa_nodes,
            memory_bytes: memory.total_bytes,
            frequency: frequency::read(&files, &cpus),
            virtualisation: virtualisation::read(&files, &cpuinfo),
            kernel: kernel::read(&files),
            limits: limits::read(&files, &cpus, &memory),
            cpus,
        })
    }
}

/// As the CPU names itself; behind what QEMU names its own, where a guest of `swtch vm` tells that it is one of those.
fn cpu_model(files: &Files, cpuinfo: &CpuInfo) -> Option<String> {
    let model = cpuinfo.model();
    let command_line = files.text("proc/cmdline").unwrap_or_default();
    if !command_line.split_whitespace().any(|word| word == EMULATED_PARAMETER) {
        return model;
    }
    Some(model.map_or_else(|| EMULATED_MODEL.to_owned(), |model| format!("{EMULATED_MODEL}, {model}")))
}

/// The file is as young as Linux 6.1. For an older kernel the live machine is asked, and files are judged by their keys.
fn architecture(files: &Files, cpuinfo: &CpuInfo) -> String {
    if let Some(name) = files.word("proc/sys/kernel/arch") {
        return name;
    }
    if files.is_live() {
        return rustix::system::uname().machine().to_string_lossy().into_owned();
    }
    cpuinfo.architecture().unwrap_or_default().to_owned()
}
