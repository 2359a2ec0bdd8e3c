//! Why a command could not be run in a virtual machine.

use crate::arch::Arch;
use crate::protocol::FrameError;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What went wrong, its likely cause, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VmError {
    /// There is no command to run.
    #[error("no command given; say what to run: swtch vm -- COMMAND")]
    NoCommand,
    /// The command is not on this machine.
    #[error(
        "'{command}' is neither a program on PATH nor an executable file; the guest gets its programs from this machine, so install it here first"
    )]
    CommandNotFound {
        /// As it was given.
        command: String,
    },
    /// The command is in none of the packages of a guest of another architecture.
    #[error(
        "'{command}' is in none of Debian's packages for {arch} that are here; add the package that has it with --package NAME"
    )]
    NotPackaged {
        /// As it was given.
        command: String,
        /// What the guest is.
        arch: Arch,
    },
    /// A program is for another kind of machine than the guest.
    #[error("{program} is a program for {is}, and the guest is {arch}; {next}", program = program.display())]
    WrongMachine {
        /// The program.
        program: PathBuf,
        /// What it is for.
        is: String,
        /// What the guest is.
        arch: Arch,
        /// What to do.
        next: String,
    },
    /// There is no `swtch` that can be a guest's first process.
    #[error(
        "no swtch for {arch}, which the guest needs as its first process: there is none in {looked}; unpack the release archive \
         swtch-VERSION-{rust}-linux.tar.gz and set SWTCH_GUEST_PROGRAMS to its directory bin", rust = arch.facts().rust
    )]
    NoGuestProgram {
        /// What the guest is.
        arch: Arch,
        /// Where it was searched for.
        looked: String,
    },
    /// Debian's packages for another architecture cannot be had.
    #[error("no programs for {arch} could be fetched from Debian's packages: {why}")]
    NoPackages {
        /// What the guest is.
        arch: Arch,
        /// Why.
        why: String,
    },
    /// A library that a program needs is not found.
    #[error("{program} needs {library}, which is in {missing}", program = program.display())]
    Library {
        /// The program or library that needs it.
        program: PathBuf,
        /// What is missing.
        library: String,
        /// Where it is missing, and what to do.
        missing: &'static str,
    },
    /// A file cannot be taken along.
    #[error("cannot copy {path} into the guest: {source}; check the name and its permissions", path = path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A scheduler is not on this machine.
    #[error(
        "no scheduler scx_{name}: it is neither on PATH nor next to swtch; build it, or add its directory to PATH"
    )]
    NoScheduler {
        /// As it was given.
        name: String,
    },
    /// What slows CPUs down is not on this machine.
    #[error(
        "no {program}, which slows the guest's CPUs down: it is neither on PATH nor next to swtch; build it, or add its directory to PATH"
    )]
    NoSlowing {
        /// The program.
        program: &'static str,
    },
    /// The guest's CPUs could not be slowed down.
    #[error("the guest's CPUs cannot be slowed down: {why}")]
    Slowing {
        /// What the program says.
        why: String,
    },
    /// The guest's kernel does not place tasks by energy.
    #[error("the guest's kernel has no energy model: {why}; take another kernel (--kernel), or none")]
    Energy {
        /// What the kernel lacks.
        why: String,
    },
    /// QEMU is missing.
    #[error("QEMU is not installed: there is no {program} on PATH; on Debian: apt-get install {package}")]
    NoQemu {
        /// Its program's name.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
    },
    /// The kernel's file cannot be read or is none.
    #[error("cannot boot {path}: {why}", path = path.display())]
    Kernel {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The kernel cannot do what is asked of it.
    #[error("the kernel {path} is built without {option}; {next}", path = path.display())]
    KernelLacks {
        /// The file.
        path: PathBuf,
        /// The option of its configuration.
        option: String,
        /// What to do.
        next: &'static str,
    },
    /// No kernel could be had.
    #[error(
        "no kernel with sched_ext could be fetched from Debian's packages: {why}; give one with --kernel FILE"
    )]
    NoKernel {
        /// Why.
        why: String,
    },
    /// Debian has no such kernel.
    #[error("Debian's packages have no Linux {version} for virtual machines; there are: {known}")]
    NoVersion {
        /// As it was given.
        version: String,
        /// Those there are.
        known: String,
    },
    /// What travels does not fit.
    #[error("with {path}, the files for the guest take {bytes} MiB, more than half of its {memory} MiB of memory; give it more with --memory", path = path.display())]
    TooLarge {
        /// The file that no longer fits.
        path: PathBuf,
        /// Of all files, MiB.
        bytes: u64,
        /// Of the guest, MiB.
        memory: u64,
    },
    /// A number that QEMU would refuse.
    #[error("{0}")]
    Wish(String),
    /// A booted guest cannot be kept, or no guest resumes from it.
    #[error("QEMU cannot keep a booted guest in {directory} and resume from it: {why}; look for free space there, and for a newer QEMU", directory = directory.display())]
    KeptBoot {
        /// Where it is, or would be.
        directory: PathBuf,
        /// QEMU's reason.
        why: String,
    },
    /// QEMU ended before the guest had reported.
    #[error("QEMU ended before the guest had booted: {last}")]
    Qemu {
        /// Its last words.
        last: String,
    },
    /// QEMU's threads cannot be kept in step.
    #[error(
        "this QEMU does not let its threads be kept in step (a library is preloaded into it), so two runs could differ; use a QEMU that is linked dynamically and names its threads, as distributions' do, or leave out --deterministic"
    )]
    Inexact,
    /// The guest's first process did not report.
    #[error(
        "the guest did not boot within {limit:?}{last}; a slow host needs more (--boot-timeout), a kernel of your own may lack virtio's console (CONFIG_VIRTIO_CONSOLE=y, CONFIG_VIRTIO_PCI=y)"
    )]
    NotBooted {
        /// How long it was waited for.
        limit: Duration,
        /// The last kernel messages, after a colon.
        last: String,
    },
    /// The guest's kernel panicked.
    #[error("the guest's kernel panicked{last}")]
    Panicked {
        /// The last kernel messages, after a colon.
        last: String,
    },
    /// The guest was gone without a word.
    #[error("the guest powered off before its command had ended{last}")]
    Vanished {
        /// The last kernel messages, after a colon.
        last: String,
    },
    /// No sign of life.
    #[error("the guest printed nothing for {silence:?}: it hangs{last}")]
    Hung {
        /// For how long.
        silence: Duration,
        /// The last kernel messages, after a colon.
        last: String,
    },
    /// The time for the command was up.
    #[error("the command did not end within {limit:?} (--timeout)")]
    Timeout {
        /// How long it was allowed.
        limit: Duration,
    },
    /// A stop was requested.
    #[error("interrupted")]
    Interrupted,
    /// The scheduler did not get going.
    #[error("scx_{name} does not schedule the guest: {why}")]
    Scheduler {
        /// Its name.
        name: String,
        /// Why, in the guest's words.
        why: String,
    },
    /// The command cannot be started in the guest.
    #[error("cannot start '{command}' in the guest: {why}")]
    Start {
        /// Its name.
        command: String,
        /// Why.
        why: String,
    },
    /// A file to bring back is not there.
    #[error("cannot copy {path} back from the guest: {why}", path = path.display())]
    Fetch {
        /// As it was asked for.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The guest sent bytes that are not a message.
    #[error("{0}; the command may have written to the guest's own channel")]
    Frame(#[from] FrameError),
    /// Something of this machine's failed.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl VmError {
    /// The status with which a shell ends for a command that cannot be started, where that is what failed.
    ///
    /// ```
    /// use swtch_vm::VmError;
    ///
    /// assert_eq!(VmError::CommandNotFound { command: "make".into() }.shell_status(), Some(127));
    /// assert_eq!(VmError::Interrupted.shell_status(), None);
    /// ```
    pub fn shell_status(&self) -> Option<u8> {
        match self {
            Self::CommandNotFound { .. } | Self::NotPackaged { .. } => Some(127),
            Self::Start { .. } => Some(126),
            _ => None,
        }
    }

    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }
}
