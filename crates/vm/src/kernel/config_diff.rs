//! How the configurations of two kernels differ, as far as it can change what a switch costs.

use super::{Kind, is_of, kernels_folder, names_in, version_of};
use crate::arch::Arch;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Beginnings of the names of options that change scheduling, the cost of entering the kernel, or what is checked at run time.
const MATTERS: [&str; 32] = [
    "CC_OPTIMIZE",
    "CFS_",
    "CGROUP_SCHED",
    "CONTEXT_TRACKING",
    "CPU_IDLE",
    "CPU_ISOLATION",
    "DEBUG_",
    "FAIR_GROUP_SCHED",
    "FORTIFY",
    "FTRACE",
    "FUNCTION_TRACER",
    "HARDENED",
    "HIGH_RES_TIMERS",
    "HZ",
    "INIT_STACK",
    "KASAN",
    "LOCKDEP",
    "MITIGATION",
    "NO_HZ",
    "PREEMPT",
    "PROVE_",
    "PSI",
    "RANDOMIZE",
    "RCU_",
    "RETPOLINE",
    "RSEQ",
    "SCHED",
    "SLAB",
    "STACKPROTECTOR",
    "TICK_CPU",
    "UCLAMP",
    "VIRT_CPU",
];

/// Two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigDiff {
    /// Options that may change what a switch costs: name, old value, new value. `n` where one is not set or not known.
    pub matters: Vec<(String, String, String)>,
    /// How many others differ.
    pub others: usize,
}

impl ConfigDiff {
    fn of(old: &str, new: &str) -> Self {
        let (old, new) = (options(old), options(new));
        let value = |of: &BTreeMap<&str, &str>, name: &str| (*of.get(name).unwrap_or(&"n")).to_owned();
        let mut found = Self::default();
        let mut names: Vec<&str> = old.keys().chain(new.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| old.get(name) != new.get(name)) {
            if MATTERS.iter().any(|begin| name.starts_with(begin)) {
                found.matters.push((name.to_owned(), value(&old, name), value(&new, name)));
            } else {
                found.others += 1;
            }
        }
        found
    }

    /// In one line: `HZ 250 -> 1000; others: 2`.
    pub fn in_words(&self) -> String {
        let mut parts: Vec<String> =
            self.matters.iter().map(|(name, old, new)| format!("{name} {old} -> {new}")).collect();
        if parts.is_empty() {
            parts.push("no option of scheduling, timing or checks differs".to_owned());
        }
        format!("{}; others: {}", parts.join(", "), self.others)
    }
}

/// Options that are set, without `CONFIG_`.
fn options(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.trim_end().strip_prefix("CONFIG_")?.split_once('=')).collect()
}

/// How the configurations of two kernels of one architecture differ that were given as files or by version; absent where one is not here. `energy_model`:
/// whether their guests have one.
pub fn config_diff(arch: Arch, energy_model: bool, old: &Path, new: &Path) -> Option<ConfigDiff> {
    let kind = Kind::of(arch, energy_model);
    let text = |kernel: &Path| {
        super::config::places(&image_of(kind, kernel)?)
            .into_iter()
            .find_map(|place| fs::read_to_string(place).ok())
    };
    Some(ConfigDiff::of(&text(old)?, &text(new)?))
}

fn image_of(kind: Kind, kernel: &Path) -> Option<PathBuf> {
    let Some(version) = version_of(kernel).filter(|_| !kernel.exists()) else {
        return Some(kernel.to_owned());
    };
    let cache = kernels_folder().ok()?;
    let name = names_in(&cache, kind).into_iter().find(|name| is_of(name, version))?;
    Some(cache.join(name).join("vmlinuz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_named_and_the_rest_counted() {
        let old = "CONFIG_HZ=250\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_EXT4_FS=m\nCONFIG_X=y\n# CONFIG_RSEQ is not set\n";
        let new = "CONFIG_HZ=1000\nCONFIG_PREEMPT_LAZY=y\nCONFIG_EXT4_FS=y\nCONFIG_X=y\n";
        let found = ConfigDiff::of(old, new);
        assert_eq!(
            found.in_words(),
            "HZ 250 -> 1000, PREEMPT_LAZY n -> y, PREEMPT_VOLUNTARY y -> n; others: 1"
        );
        assert!(ConfigDiff::of(old, old).in_words().starts_with("no option of scheduling"));
    }

    #[test]
    fn configurations_beside_images_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        for (version, hz) in [("6.1", 250), ("6.2", 300)] {
            fs::write(folder.path().join(format!("config-{version}")), format!("CONFIG_HZ={hz}\n")).unwrap();
            fs::write(folder.path().join(format!("vmlinuz-{version}")), "").unwrap();
        }
        let image = |version: &str| folder.path().join(format!("vmlinuz-{version}"));
        let found = config_diff(Arch::X86_64, false, &image("6.1"), &image("6.2")).unwrap();
        assert_eq!(found.matters, [("HZ".to_owned(), "250".to_owned(), "300".to_owned())]);
        assert_eq!(config_diff(Arch::X86_64, false, &image("6.1"), &image("6.3")), None);
    }
}
