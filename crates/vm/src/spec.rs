//! What to run, and on what machine.

use crate::arch::Arch;
use crate::error::VmError;
use crate::packages;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use swtch_units::{CpuId, CpuList};

/// The most CPUs that QEMU's `pc` machine has; `virt` has more.
const MOST_CPUS: u32 = 255;
/// What a CPU of the fastest kind can do (`SCHED_CAPACITY_SCALE` of Linux).
pub(crate) const LARGEST_CAPACITY: u32 = 1024;
/// A CPU that is held up for all but a hundredth is as good as dead.
const LEAST_CAPACITY: u32 = 11;
/// Less does not boot Debian's kernel with a program of any size.
const LEAST_MEMORY_MIB: u64 = 128;

/// One run of one command in one guest.
///
/// ```
/// use swtch_vm::Spec;
///
/// let spec = Spec { cpus: 2, deterministic: true, ..Spec::new(vec!["hackbench".into()]) };
/// assert!(spec.check().is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    /// The command, its program first.
    pub command: Vec<OsString>,
    /// What kind of machine the guest is.
    pub arch: Arch,
    /// Debian packages that a guest of another architecture has besides the usual ones.
    pub packages: Vec<String>,
    /// CPUs of the guest.
    pub cpus: u32,
    /// How much each CPU can do, of 1024. The device tree has it for the kernel, and CPUs that can do less are slowed down. Empty: all CPUs are alike.
    pub capacities: Vec<u32>,
    /// The kernel makes an energy model of the CPUs, by which stock places tasks. With [`capacities`](Self::capacities).
    pub energy_model: bool,
    /// Memory of the guest, MiB.
    pub memory_mib: u64,
    /// The kernel's image; the newest of Debian's with sched_ext when not given.
    pub kernel: Option<PathBuf>,
    /// Look for a newer kernel than those in the cache.
    pub update: bool,
    /// More of the kernel's command line.
    pub append: String,
    /// Files and directories that travel as well.
    pub copy: Vec<PathBuf>,
    /// Programs that are next to swtch in the guest, wherever they are here.
    pub beside: Vec<PathBuf>,
    /// The kernel's configuration travels too: schedulers of others read it as `/boot/config-RELEASE`, and do not load without.
    pub kernel_config: bool,
    /// Files and directories of the guest that come back, by their paths relative to the command's directory.
    pub fetch: Vec<PathBuf>,
    /// The directory they come back to, instead of the current one.
    pub fetch_into: Option<PathBuf>,
    /// Count instructions instead of time, and take every source of randomness away.
    pub deterministic: bool,
    /// Of QEMU's random numbers, where instructions are counted. The kernel gets some of them: with another seed it is another boot.
    pub seed: u32,
    /// Programs and libraries keep their symbols, for stacks with names. Without, builds that differ in nothing else are the same bytes.
    pub symbols: bool,
    /// The scheduler to load first, and its options: `flsched` stands for the program `scx_flsched`.
    pub scheduler: Vec<OsString>,
    /// How long the command may take.
    pub timeout: Option<Duration>,
    /// How long the guest may take until its first process reports.
    pub boot_timeout: Duration,
    /// After so long without a sign of life the guest hangs.
    pub silence: Duration,
    /// Never use KVM.
    pub emulate: bool,
}

impl Spec {
    /// A command on 4 CPUs with 1 GiB.
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            command,
            arch: Arch::default(),
            packages: Vec::new(),
            cpus: 4,
            capacities: Vec::new(),
            energy_model: false,
            memory_mib: 1024,
            kernel: None,
            update: false,
            append: String::new(),
            copy: Vec::new(),
            beside: Vec::new(),
            kernel_config: false,
            fetch: Vec::new(),
            fetch_into: None,
            deterministic: false,
            seed: 1,
            symbols: false,
            scheduler: Vec::new(),
            timeout: None,
            boot_timeout: Duration::from_secs(120),
            silence: Duration::from_secs(60),
            emulate: false,
        }
    }

    /// Finds options that QEMU or the kernel would refuse, before anything is done.
    ///
    /// # Errors
    /// [`VmError::Wish`] names the first, [`VmError::NoCommand`] that there is nothing to run.
    pub fn check(&self) -> Result<(), VmError> {
        let wish = |text: String| Err(VmError::Wish(text));
        if self.command.is_empty() {
            return Err(VmError::NoCommand);
        }
        if !(1..=MOST_CPUS).contains(&self.cpus) {
            return wish(format!("a guest has 1 to {MOST_CPUS} CPUs, not {}", self.cpus));
        }
        self.check_capacities()?;
        if self.memory_mib < LEAST_MEMORY_MIB {
            return wish(format!(
                "a guest needs {LEAST_MEMORY_MIB} MiB of memory and more, not {} MiB",
                self.memory_mib
            ));
        }
        if self.arch.is_native() && !self.packages.is_empty() {
            return wish(format!(
                "--package is for guests of another architecture; a guest of {} runs this machine's programs, so install the package here",
                self.arch
            ));
        }
        if let Some(name) = self.packages.iter().find(|name| !packages::is_name(name)) {
            return wish(format!("'{name}' is not the name of a Debian package"));
        }
        if self.deterministic && self.cpus > 1 && !self.arch.facts().counts_several_cpus {
            return wish(format!(
                "the instructions of a {} guest can be counted with one CPU: give it --cpus 1 (with more, QEMU 7.2 may never let one of them run)",
                self.arch
            ));
        }
        if self.append.contains(['\n', '\0']) {
            return wish("the kernel's command line is one line".to_owned());
        }
        Ok(())
    }

    fn check_capacities(&self) -> Result<(), VmError> {
        let wish = |text: String| Err(VmError::Wish(text));
        if self.capacities.is_empty() {
            return if self.energy_model {
                wish("an energy model is of fast and slow CPUs: give a machine too (--machine)".to_owned())
            } else {
                Ok(())
            };
        }
        if let Some(why) = self.arch.facts().why_all_alike {
            return wish(format!(
                "all CPUs of a {} guest are alike: {why}; use --arch arm64 (or slow CPUs down unknown to the kernel, with `swtch slow` in the guest)",
                self.arch
            ));
        }
        if self.capacities.len() != self.cpus as usize {
            return wish(format!("{} CPUs, and capacities of {}", self.cpus, self.capacities.len()));
        }
        let is_one = |capacity: &u32| (LEAST_CAPACITY..=LARGEST_CAPACITY).contains(capacity);
        if !self.capacities.iter().all(is_one) || !self.capacities.contains(&LARGEST_CAPACITY) {
            return wish(format!(
                "a CPU can do {LEAST_CAPACITY} to {LARGEST_CAPACITY}, the fastest {LARGEST_CAPACITY}"
            ));
        }
        Ok(())
    }

    /// The CPUs that are slowed down and how many times, as `swtch slow` takes them: `2-5=3.495`.
    pub(crate) fn slowed(&self) -> Vec<String> {
        let kinds = kinds(&self.capacities);
        let of_kind = |kind: &u32| {
            let cpus = self.capacities.iter().zip(0..).filter(|(capacity, _)| *capacity == kind);
            let cpus: CpuList = cpus.map(|(_, cpu)| CpuId::new(cpu)).collect();
            format!("{cpus}={:.3}", f64::from(LARGEST_CAPACITY) / f64::from(*kind))
        };
        kinds.iter().filter(|kind| **kind < LARGEST_CAPACITY).map(of_kind).collect()
    }
}

/// Each capacity once, the largest first.
pub(crate) fn kinds(capacities: &[u32]) -> Vec<u32> {
    let mut kinds = capacities.to_vec();
    kinds.sort_unstable_by(|left, right| right.cmp(left));
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cpus_go_by_their_kinds() {
        let capacities = vec![1024, 512, 1024, 512, 256, 256];
        let spec = Spec { arch: Arch::Arm64, cpus: 6, capacities, ..Spec::new(vec!["true".into()]) };
        assert!(spec.check().is_ok());
        assert_eq!(spec.slowed(), ["1,3=2.000", "4-5=4.000"]);
        assert!(Spec::new(vec![]).slowed().is_empty());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let spec = Spec::new(vec!["true".into()]);
        assert!(spec.check().is_ok());
        for (bad, word) in [
            (Spec { cpus: 0, ..spec.clone() }, "CPUs"),
            (Spec { cpus: 256, ..spec.clone() }, "CPUs"),
            (Spec { memory_mib: 1, ..spec.clone() }, "memory"),
            (Spec { append: "a\nb".into(), ..spec.clone() }, "one line"),
            (Spec { packages: vec!["stress-ng".into()], ..spec.clone() }, "--package"),
            (Spec { capacities: vec![1024; 4], arch: Arch::X86_64, ..spec.clone() }, "--arch arm64"),
            (Spec { capacities: vec![1024; 3], arch: Arch::Arm64, ..spec.clone() }, "4 CPUs"),
            (Spec { capacities: vec![512; 4], arch: Arch::Arm64, ..spec.clone() }, "1024"),
            (Spec { energy_model: true, ..spec.clone() }, "--machine"),
            (Spec { arch: Arch::Riscv64, cpus: 2, deterministic: true, ..spec.clone() }, "--cpus 1"),
            (Spec { command: vec![], ..spec }, "no command"),
        ] {
            let error = bad.check().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
