//! `/proc/cpuinfo`, whose keys differ by architecture.

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

    /// The CPU's model. Arm names none, so its parts are given by number, or `Hardware` where a board says it.
    pub(crate) fn model(&self) -> Option<String> {
        if let Some(name) =
            ["model name", "cpu model", "uarch", "Hardware"].iter().find_map(|key| self.value(key))
        {
            return Some(name.to_owned());
        }
        let implementer = self.value("CPU implementer")?;
        let mut parts: Vec<&str> = self.values("CPU part").collect();
        parts.sort_unstable();
        parts.dedup();
        Some(format!("implementer {implementer} part {}", parts.join(" and ")))
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
    fn arm_parts_stand_for_the_model() {
        let info = CpuInfo(
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd05\n\
            processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
                .to_owned(),
        );
        assert_eq!(info.model().as_deref(), Some("implementer 0x41 part 0xd05 and 0xd0b"));
        assert_eq!(info.processors(), [0, 1]);
        assert_eq!(info.hypervisor_flag(), None);
        assert_eq!(info.architecture(), Some("aarch64"));
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
