//! Arguments of `swtch vm`.

use super::guest::arch;
use super::{duration, size};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use swtch_vm::{Arch, Spec};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch vm -- hackbench -p -g 4 -l 100\n  \
    swtch vm --deterministic -- hackbench -p -g 2 -l 20     the same result on any machine\n  \
    swtch vm --fetch sh.swtch -- swtch record -o sh.swtch --no-profile -- sh -c 'echo hello'\n  \
    swtch vm --deterministic --append preempt=lazy --append preempt=full -- swtch measure --quick\n  \
    swtch vm --deterministic --kernel 6.12 --kernel 7.3 -- hackbench -p -g 1 -l 20\n  \
    swtch vm --arch arm64 --sched flsched -- hackbench -p -g 1 -l 20     another architecture\n  \
    swtch vm --arch arm64 --machine 2f4s -- hackbench -p -g 1 -l 20      two fast and four slow CPUs\n  \
    swtch vm --arch arm64 --machine 2f4s --energy-model -- hackbench -p -g 1 -l 20     tasks placed by energy\n\n\
    The kernel is that of --kernel, or the newest of Debian's packages with sched_ext, fetched once and\n\
    kept in $XDG_CACHE_HOME/swtch.\n\
    Programs and files that the command names are copied with their libraries; --copy adds other files.\n\
    With --arch, programs come from Debian's packages, and swtch and its schedulers from the directory\n\
    SWTCH_GUEST_PROGRAMS, or aarch64 or riscv64 beside swtch.\n\
    With several --kernel or --append, it compares the figures of 'swtch measure', or of any other\n\
    command the kernel's counters.\n\
    Exit status: the command's, 128 + N for signal N, 127 when it is not found; otherwise 0 done, 1\n\
    failed, 2 wrong usage.")]
pub(crate) struct VmArgs {
    /// Architecture of the guest; another than this machine's is emulated and runs Debian's programs
    #[arg(long, value_name = "ARCH", value_parser = arch(), default_value_t = Arch::default())]
    pub(crate) arch: Arch,
    /// Add a Debian package to a guest of another architecture, e.g. stress-ng
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Vec<String>,
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) cpus: u32,
    /// Fast and slow CPUs that the kernel knows of: a machine of 'swtch simulate', or a specification with one (arm64, riscv64)
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "cpus")]
    pub(crate) machine: Option<String>,
    /// Give the kernel an energy model of the CPUs of --machine, by which stock places tasks; takes Debian's kernel for all machines (arm64)
    #[arg(long, requires = "machine")]
    pub(crate) energy_model: bool,
    /// Memory of the guest
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1G")]
    pub(crate) memory: u64,
    /// The kernel: an image (vmlinuz, bzImage), or a version of Debian's, e.g. 6.12; repeat to compare kernels
    #[arg(long, value_name = "KERNEL")]
    pub(crate) kernel: Vec<PathBuf>,
    /// Append to the kernel's command line, e.g. mitigations=off; repeat to compare
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) append: Vec<String>,
    /// Copy this file or directory into the guest, to the same path
    #[arg(long, value_name = "FILE")]
    pub(crate) copy: Vec<PathBuf>,
    /// Copy this file or directory back from the guest after the command
    #[arg(long, value_name = "FILE")]
    pub(crate) fetch: Vec<PathBuf>,
    /// Count instructions instead of time, without randomness: the same command gives the same figures
    #[arg(long)]
    pub(crate) deterministic: bool,
    /// Load the scheduler scx_NAME, or NAME.bpf.c, first; its options follow in the same word
    #[arg(long, value_name = "NAME")]
    pub(crate) sched: Option<String>,
    /// Kill the command after this time, e.g. 30s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Kill the guest if it has not booted after this time
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2m")]
    pub(crate) boot_timeout: Duration,
    /// Kill the guest if it prints nothing for this time
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1m")]
    pub(crate) hang_after: Duration,
    /// Look for a newer kernel in Debian's packages
    #[arg(long, conflicts_with = "kernel")]
    pub(crate) update: bool,
    /// Emulate the CPUs even if KVM works
    #[arg(long)]
    pub(crate) emulate: bool,
    /// Print the guest's kernel messages to standard error
    #[arg(long)]
    pub(crate) console: bool,
    /// Print events as JSON, one a line; when comparing, print the comparisons
    #[arg(long)]
    pub(crate) json: bool,
    /// List the kernels that --kernel takes by version
    #[arg(long, conflicts_with_all = ["command", "kernel"])]
    pub(crate) list_kernels: bool,
    /// The command to run in the guest
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl VmArgs {
    /// Every kernel with every command line; one where nothing is compared. Without the CPUs of [`machine`](Self::machine).
    pub(crate) fn specs(&self, command: &[OsString]) -> Vec<Spec> {
        let kernels: Vec<Option<PathBuf>> =
            if self.kernel.is_empty() { vec![None] } else { self.kernel.iter().cloned().map(Some).collect() };
        let none = [String::new()];
        let lines = if self.append.is_empty() { &none[..] } else { &self.append };
        let spec = |kernel: &Option<PathBuf>, append: &String| Spec {
            arch: self.arch,
            packages: self.package.clone(),
            cpus: self.cpus,
            energy_model: self.energy_model,
            memory_mib: self.memory >> 20,
            kernel: kernel.clone(),
            update: self.update,
            append: append.clone(),
            copy: self.copy.clone(),
            fetch: self.fetch.clone(),
            deterministic: self.deterministic,
            scheduler: self
                .sched
                .iter()
                .flat_map(|text| text.split_whitespace())
                .map(OsString::from)
                .collect(),
            timeout: self.timeout,
            boot_timeout: self.boot_timeout,
            silence: self.hang_after,
            emulate: self.emulate,
            ..Spec::new(command.to_vec())
        };
        kernels.iter().flat_map(|kernel| lines.iter().map(move |line| spec(kernel, line))).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn specs(line: &str) -> Vec<swtch_vm::Spec> {
        let Command::Vm(args) = Cli::try_parse_from(line.split(' ')).unwrap().command else { unreachable!() };
        args.specs(&args.command)
    }

    #[test]
    fn kernels_and_command_lines_multiply() {
        assert_eq!(specs("swtch vm -- true").len(), 1);
        let specs = specs("swtch vm --kernel a --kernel b --append x=1 --append y --memory 512M -- true");
        let runs: Vec<_> = specs
            .iter()
            .map(|spec| (spec.kernel.as_deref().unwrap().to_str().unwrap(), spec.append.as_str()))
            .collect();
        assert_eq!(runs, [("a", "x=1"), ("a", "y"), ("b", "x=1"), ("b", "y")]);
        assert!(specs.iter().all(|spec| spec.memory_mib == 512));
    }

    #[test]
    fn a_guest_may_be_of_another_architecture_with_packages_of_its_own() {
        let spec = &specs("swtch vm --arch arm64 --package stress-ng --package numactl -- true")[0];
        assert_eq!((spec.arch, spec.packages.len()), (swtch_vm::Arch::Arm64, 2));
        assert_eq!(specs("swtch vm -- true")[0].arch, swtch_vm::Arch::default());
        let error =
            Cli::try_parse_from(["swtch", "vm", "--arch", "vax", "--", "true"]).unwrap_err().to_string();
        assert!(error.contains("x86_64, arm64, riscv64"), "{error}");
    }

    #[test]
    fn a_scheduler_may_have_options() {
        assert_eq!(specs("swtch vm --sched flsched -- true")[0].scheduler, ["flsched"]);
        let line = ["swtch", "vm", "--sched", "flsched --slice 5ms", "--", "true"];
        let Command::Vm(args) = Cli::try_parse_from(line).unwrap().command else { unreachable!() };
        assert_eq!(args.specs(&args.command)[0].scheduler, ["flsched", "--slice", "5ms"]);
    }
}
