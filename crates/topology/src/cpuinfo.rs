//! `/proc/cpuinfo`, whose keys differ by architecture.

use crate::arm_cores;
use crate::files::Files;

/// What `/proc/cpuinfo` says; empty where there is none.
pub(crate) struct CpuInfo(String);

impl CpuInfo {
    pub(crate) fn read(files: &Files) -> Self {
        Self(files.text("proc/cpuinfo").unwrap_or_default())
    }

    /// The first value of a key, if it is not empty.
    fn value(&self, key: &'static str) -> Option<&str> {
        self.values(key).find(|value| !value.is_empty())
    }

    fn values(&self, key: &'static str) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then_some(value.trim())
        })
    }

    /// The CPUs that are on.
    pub(crate) fn processors(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.values("processor").filter_map(|value| value.parse().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The CPU's model. On Arm, whose cores are numbers there, their names, the first CPU's first; `Hardware` where those are not known, since many
    /// boards give that of an older one.
    pub(crate) fn model(&self) -> Option<String> {
        if let Some(name) = ["model name", "cpu model", "uarch"].iter().find_map(|key| self.value(key)) {
            return Some(name.to_owned());
        }
        let mut cores: Vec<String> = Vec::new();
        for (implementer, part) in self.values("CPU implementer").zip(self.values("CPU part")) {
            let name = arm_cores::name(implementer, part);
            if !cores.contains(&name) {
                cores.push(name);
            }
        }
        let is_known = cores.iter().any(|name| !name.starts_with("implementer "));
        let hardware = self.value("Hardware").filter(|_| !is_known).map(str::to_owned);
        hardware.or_else(|| {
            let (last, others) = cores.split_last()?;
            Some(if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) })
        })
    }

    /// Whether an x86 CPU runs under a hypervisor; `None` on other architectures, which have no such flag.
    pub(crate) fn hypervisor_flag(&self) -> Option<bool> {
        self.value("flags").map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
    }

    /// The architecture, judged by keys that only one of them has.
    pub(crate) fn architecture(&self) -> Option<&'static str> {
        if let Some(flags) = self.value("flags") {
            let long_mode = flags.split_whitespace().any(|flag| flag == "lm");
            return Some(if long_mode { "x86_64" } else { "i686" });
        }
        match self.value("CPU architecture") {
            Some("8" | "AArch64") => Some("aarch64"),
            Some(_) => Some("armv7l"),
            None => self.value("isa").filter(|isa| isa.starts_with("rv64")).map(|_| "riscv64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arm_cores_have_their_names() {
        let info = CpuInfo(
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd05\n\
            processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
                .to_owned(),
        );
        assert_eq!(info.model().as_deref(), Some("Cortex-A55 and Cortex-A76"));
        assert_eq!(info.processors(), [0, 1]);
        assert_eq!(info.hypervisor_flag(), None);
        assert_eq!(info.architecture(), Some("aarch64"));
        let model = |part: &str, hardware: &str| {
            CpuInfo(format!("CPU implementer\t: 0x41\nCPU part\t: {part}\n{hardware}")).model().unwrap()
        };
        assert_eq!(model("0xd08", "Hardware\t: BCM2835\n"), "Cortex-A72");
        assert_eq!(model("0xfff", "Hardware\t: Board\n"), "Board");
        assert_eq!(model("0xfff", ""), "implementer 0x41 part 0xfff");
    }

    #[test]
    fn the_hypervisor_flag_is_a_whole_word() {
        let info = |flags: &str| CpuInfo(format!("model name\t: X\nflags\t\t: {flags}\n"));
        assert_eq!(info("fpu hypervisor lm").hypervisor_flag(), Some(true));
        assert_eq!(info("fpu nohypervisor lm").hypervisor_flag(), Some(false));
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}") {
            let info = CpuInfo(text);
            let _ = (info.processors(), info.model(), info.hypervisor_flag(), info.architecture());
        }
    }
}
