//! The kinds of machine that guests are: one table of what differs between them.

use object::elf;
use serde::{Serialize, Serializer};
use std::env;
use std::fmt;
use swtch_units::EMULATED_PARAMETER;

/// A kind of machine. [`Arch::default`] is this machine's own, or x86-64 where guests cannot be of its kind.
///
/// ```
/// use swtch_vm::Arch;
///
/// assert_eq!(Arch::named("arm64"), Some(Arch::Arm64));
/// assert_eq!(Arch::named("vax"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arch {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Arm64,
    /// 64-bit RISC-V.
    Riscv64,
}

/// What differs between kinds of machine.
#[derive(Debug)]
pub(crate) struct Facts {
    /// What `--arch` takes.
    pub(crate) name: &'static str,
    /// Rust's name, which release archives and directories of programs have.
    pub(crate) rust: &'static str,
    /// Debian's name.
    pub(crate) debian: &'static str,
    /// The end of the versions of Debian's kernels for virtual machines: smaller, and with what they need built in.
    pub(crate) kernel_flavour: &'static str,
    /// The end of the versions of those for all machines, which know frequencies of CPUs; where guests can have such.
    pub(crate) frequency_flavour: Option<&'static str>,
    /// `e_machine` of its programs.
    pub(crate) elf_machine: u16,
    /// Where in a kernel's image a magic number is, and which (Documentation/arch/x86/boot.rst, arm64/booting.rst
    /// and riscv/boot-image-header.rst).
    pub(crate) image_magic: (u64, [u8; 4]),
    /// How users know such images.
    pub(crate) image_names: &'static str,
    /// Where Debian keeps libraries of this kind, below `/usr/lib`.
    pub(crate) library_folder: &'static str,
    /// The program that emulates it.
    pub(crate) emulator: &'static str,
    /// Debian's package of that.
    pub(crate) emulator_package: &'static str,
    /// QEMU's board. That of Arm gives the kernel random numbers in its device tree, unless they are turned off.
    pub(crate) machine: &'static str,
    /// The CPU where it is emulated.
    pub(crate) cpu: &'static str,
    /// The same without instructions that give random numbers.
    pub(crate) cpu_without_random: &'static str,
    /// How QEMU emulates the CPUs where it does not count their instructions.
    pub(crate) emulation: &'static str,
    /// Whether several CPUs can have their instructions counted. A CPU of RISC-V that waits for another in a loop, as its firmware and kernel do for
    /// each other's fences, has no instruction by which it gives its turn away (QEMU 7.2: `rr_cpu_thread_fn`): the other one may never have one.
    pub(crate) counts_several_cpus: bool,
    /// Why its CPUs cannot be fast and slow ones that the kernel knows of, where they cannot.
    pub(crate) why_all_alike: Option<&'static str>,
    /// The kernel's name of the first serial port.
    pub(crate) console: &'static str,
    /// More of the kernel's command line.
    pub(crate) command_line: &'static str,
    /// Likewise where software executes the instructions.
    pub(crate) emulated_command_line: &'static str,
}

/// CPUs take turns. As threads of their own (QEMU 7.2 with Linux 7.3 on x86-64), one guest in ten or so failed. It hung before its first process, or its
/// kernel fell over while it rewrote its own code. A kernel does so when a scheduler comes or goes.
const ONE_THREAD: &str = "tcg,thread=single";

const X86_64: Facts = Facts {
    name: "x86_64",
    rust: "x86_64",
    debian: "amd64",
    kernel_flavour: "-cloud-amd64",
    frequency_flavour: None,
    elf_machine: elf::EM_X86_64.0,
    image_magic: (0x202, *b"HdrS"),
    image_names: "a vmlinuz or bzImage",
    library_folder: "x86_64-linux-gnu",
    emulator: "qemu-system-x86_64",
    emulator_package: "qemu-system-x86",
    machine: "pc",
    cpu: "max",
    cpu_without_random: "max,-rdrand,-rdseed",
    emulation: ONE_THREAD,
    counts_several_cpus: true,
    why_all_alike: Some("its kernel learns which CPUs are slow from the CPUs, and QEMU's do not say"),
    console: "ttyS0",
    // The timer need not be tried out. The kernel itself leaves that out under KVM, and a loop that waits is what emulation is slowest at.
    command_line: "no_timer_check",
    // Its CPU's name tells it.
    emulated_command_line: "",
};

const ARM64: Facts = Facts {
    name: "arm64",
    rust: "aarch64",
    debian: "arm64",
    kernel_flavour: "-cloud-arm64",
    frequency_flavour: Some("-arm64"),
    elf_machine: elf::EM_AARCH64.0,
    image_magic: (0x38, *b"ARM\x64"),
    image_names: "an Image, or a vmlinuz that is not compressed",
    library_folder: "aarch64-linux-gnu",
    emulator: "qemu-system-aarch64",
    emulator_package: "qemu-system-arm",
    // The older interrupt controller, QEMU's default, has eight CPUs at most.
    machine: "virt,gic-version=max,dtb-randomness=off",
    // A server's core of 2019. It has no instruction for random numbers. `max` has every extension, and emulating pointer
    // authentication alone takes longer than all the rest.
    cpu: "neoverse-n1",
    cpu_without_random: "neoverse-n1",
    emulation: ONE_THREAD,
    counts_several_cpus: true,
    why_all_alike: None,
    console: "ttyAMA0",
    command_line: "",
    emulated_command_line: EMULATED_PARAMETER,
};

const RISCV64: Facts = Facts {
    name: "riscv64",
    rust: "riscv64",
    debian: "riscv64",
    // There is none for virtual machines alone; the one for all has what they need built in.
    kernel_flavour: "-riscv64",
    frequency_flavour: None,
    elf_machine: elf::EM_RISCV.0,
    image_magic: (0x38, *b"RSC\x05"),
    image_names: "an Image, or a vmlinuz that is not compressed",
    library_folder: "riscv64-linux-gnu",
    emulator: "qemu-system-riscv64",
    emulator_package: "qemu-system-misc",
    machine: "virt",
    // Of QEMU's extensions those that Debian asks for. None gives random numbers.
    cpu: "rv64",
    cpu_without_random: "rv64",
    // With turns, a fence takes as long as one: a CPU waits for the others in a loop.
    emulation: "tcg,thread=multi",
    counts_several_cpus: false,
    why_all_alike: Some(
        "what slows CPUs down takes timers of BPF, which Linux 7 has only on CPUs with Zacas, and QEMU 7.2 has none",
    ),
    console: "ttyS0",
    command_line: "",
    emulated_command_line: EMULATED_PARAMETER,
};

impl Arch {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Arm64, Self::Riscv64];

    /// That of a name, as `--arch` takes it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.name() == name)
    }

    /// `x86_64`, `arm64` or `riscv64`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether this machine is of this kind: a guest's programs then come from it.
    pub fn is_native(self) -> bool {
        self.facts().rust == env::consts::ARCH
    }

    pub(crate) fn facts(self) -> &'static Facts {
        match self {
            Self::X86_64 => &X86_64,
            Self::Arm64 => &ARM64,
            Self::Riscv64 => &RISCV64,
        }
    }
}

impl Default for Arch {
    fn default() -> Self {
        Self::ALL.into_iter().find(|arch| arch.is_native()).unwrap_or(Self::X86_64)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl Serialize for Arch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_told_from_the_others() {
        for arch in Arch::ALL {
            assert_eq!(Arch::named(arch.name()), Some(arch));
            let same = |other: &Arch| {
                let (one, other) = (arch.facts(), other.facts());
                one.elf_machine == other.elf_machine
                    || one.image_magic == other.image_magic
                    || one.kernel_flavour == other.kernel_flavour
                    || one.rust == other.rust
            };
            assert_eq!(Arch::ALL.iter().filter(|other| same(other)).count(), 1, "{arch}");
        }
    }

    #[test]
    fn by_default_guests_are_of_this_machines_kind() {
        assert!(Arch::default().is_native() || !Arch::ALL.iter().any(|arch| arch.is_native()));
    }
}
