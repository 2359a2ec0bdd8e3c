//! QEMU: its command line, and its process, which ends with this one.

use crate::arch::Arch;
use crate::console::Console;
use crate::device_tree;
use crate::error::VmError;
use crate::guest::{FIRST_PROCESS, PORT};
use crate::icount_barrier::{self, IcountBarrier};
use crate::qmp::{self, Qmp};
use crate::spec::Spec;
use serde::Serialize;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Makes a child die with its parent's thread; part of util-linux. Without it, only SIGKILL to us would leave QEMU behind.
const TIE: &str = "setpriv";
/// The signal is not sent if the parent died before the child asked for it, so the child checks its parent after it has asked.
const LOOK_FOR_PARENT: &str = "[ \"$PPID\" = \"$0\" ] && exec \"$@\"";
/// The console shows warnings and what is worse: enough to tell why a guest ended, and a slow device is not kept busy.
const CONSOLE_LEVEL: u32 = 5;

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Accelerator {
    /// The host's CPU itself.
    Kvm,
    /// Software, a thread a CPU.
    Emulation,
    /// Software, one thread for all CPUs, and a clock that counts instructions.
    CountedInstructions,
}

impl Accelerator {
    /// Its name in documents: `kvm`, `emulation` or `counted-instructions`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulation => "emulation",
            Self::CountedInstructions => "counted-instructions",
        }
    }

    /// What is worth trying, best first. KVM may be there and not work, so emulation comes after it.
    pub(crate) fn candidates(spec: &Spec, kvm_failed_before: bool) -> Vec<Self> {
        if spec.deterministic {
            return vec![Self::CountedInstructions];
        }
        let usable = spec.arch.is_native() && File::options().read(true).write(true).open("/dev/kvm").is_ok();
        if usable && !spec.emulate && !kvm_failed_before {
            vec![Self::Kvm, Self::Emulation]
        } else {
            vec![Self::Emulation]
        }
    }

    fn arguments(self, arch: Arch) -> Vec<&'static str> {
        match self {
            Self::Kvm => vec!["-accel", "kvm", "-cpu", "host"],
            Self::Emulation => vec!["-accel", arch.facts().emulation, "-cpu", arch.facts().cpu],
            // Every source of randomness is out: the host's clock, its threads, and the instructions that give random numbers.
            Self::CountedInstructions => vec![
                "-accel",
                "tcg,thread=single",
                "-cpu",
                arch.facts().cpu_without_random,
                "-icount",
                "shift=0,sleep=off",
                "-rtc",
                "base=2026-01-01,clock=vm",
            ],
        }
    }
}

/// Files of one run.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) kernel: PathBuf,
    pub(crate) initramfs: PathBuf,
    pub(crate) channel: PathBuf,
    pub(crate) console: PathBuf,
    pub(crate) complaints: PathBuf,
    /// Where instructions are counted.
    pub(crate) icount_barrier: Option<IcountBarrier>,
    /// Where the boot is kept, or the guest resumes from one.
    pub(crate) memory: Option<Memory>,
    /// The machine's description for the kernel, where it is not QEMU's own.
    pub(crate) device_tree: Option<PathBuf>,
}

impl Files {
    /// The directory of this run.
    pub(crate) fn folder(&self) -> &Path {
        self.initramfs.parent().unwrap_or(Path::new("."))
    }
}

/// The files in which a guest has its memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) guest: PathBuf,
    /// What the guest writes is in the file. Otherwise it has a copy of its own, and QEMU waits for the rest of its state.
    pub(crate) is_kept: bool,
    /// Memory of a device, in which the guest finds files.
    pub(crate) files: PathBuf,
    pub(crate) files_bytes: u64,
}

impl Memory {
    fn arguments(&self, memory_mib: u64) -> Vec<String> {
        // QEMU looks at where shared memory is in the guest, which it cannot know of a device's yet when the state comes.
        let share = if self.is_kept { "on" } else { "off" };
        let backend = |id: &str, bytes: u64, path: &Path| {
            format!("memory-backend-file,id={id},size={bytes},mem-path={},share={share}", option(path))
        };
        let mut arguments = vec![
            "-object".to_owned(),
            backend("memory", memory_mib << 20, &self.guest),
            "-object".to_owned(),
            backend("files", self.files_bytes, &self.files),
        ];
        let devices = [
            "-device",
            "ivshmem-plain,memdev=files,master=on",
            "-device",
            "pvpanic-pci",
            "-action",
            "panic=pause",
        ];
        arguments.extend(devices.iter().chain(&qmp::QEMU_ARGUMENTS).map(|word| (*word).to_owned()));
        if !self.is_kept {
            arguments.extend(["-incoming".to_owned(), "defer".to_owned()]);
        }
        arguments
    }
}

/// QEMU's arguments.
pub(crate) fn arguments(spec: &Spec, accelerator: Accelerator, files: &Files) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
    add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none"]);
    let machine = spec.arch.facts().machine;
    let in_file = files.memory.as_ref().map_or_else(String::new, |_| ",memory-backend=memory".to_owned());
    add(&["-M", &format!("{machine}{in_file}")]);
    add(&accelerator.arguments(spec.arch));
    if accelerator == Accelerator::CountedInstructions {
        // QEMU's own random numbers, some of which some versions give to the kernel.
        add(&["-seed", &spec.seed.to_string()]);
    }
    if files.icount_barrier.is_some() {
        add(&icount_barrier::QEMU_ARGUMENTS);
    }
    add(&["-smp", &spec.cpus.to_string(), "-m", &format!("{}M", spec.memory_mib)]);
    // Files take what is written at once, so nothing that this process does or does not can delay the guest. Without ioeventfd the
    // device answers at the instruction that asked, which counted instructions need.
    add(&["-chardev", &format!("file,id=console,path={}", option(&files.console))]);
    add(&["-serial", "chardev:console"]);
    add(&["-chardev", &format!("file,id=channel,path={}", option(&files.channel))]);
    add(&["-device", "virtio-serial-pci,ioeventfd=off"]);
    add(&["-device", &format!("virtserialport,chardev=channel,name={PORT}")]);
    add(&["-append", &command_line(spec, accelerator)]);
    if let Some(memory) = &files.memory {
        arguments.extend(memory.arguments(spec.memory_mib).into_iter().map(OsString::from));
    }
    if let Some(tree) = &files.device_tree {
        arguments.extend(["-dtb".into(), tree.clone().into()]);
    }
    arguments.extend(["-kernel".into(), files.kernel.clone().into()]);
    arguments.extend(["-initrd".into(), files.initramfs.clone().into()]);
    arguments
}

/// Writes the device tree of the guest, in which its CPUs have their capacities; nothing where they are all alike.
pub(crate) fn write_device_tree(spec: &Spec, accelerator: Accelerator, files: &Files) -> Result<(), VmError> {
    let Some(tree) = &files.device_tree else { return Ok(()) };
    let program = emulator(spec.arch)?;
    // QEMU writes its own and ends.
    let plain = Files { device_tree: None, icount_barrier: None, ..files.clone() };
    let mut words = arguments(spec, accelerator, &plain);
    words.extend(["-machine".into(), format!("dumpdtb={}", option(tree)).into()]);
    let doing = || VmError::system(format!("asking {} for its device tree", program.display()));
    let output = Command::new(&program).args(words).stdin(Stdio::null()).output().map_err(doing())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = || said.lines().last().unwrap_or("it said nothing").to_owned();
    let bytes = fs::read(tree).map_err(|_| VmError::Qemu { last: last() })?;
    for made in [&files.channel, &files.console] {
        // The guest's own QEMU makes them.
        let _ = fs::remove_file(made);
    }
    let changed = device_tree::with_capacities(&bytes, &spec.capacities)
        .map_err(|why| VmError::Qemu { last: format!("its device tree cannot be changed: {why}") })?;
    fs::write(tree, changed).map_err(doing())
}

/// The kernel's command line. Nothing in it changes how the kernel schedules.
pub(crate) fn command_line(spec: &Spec, accelerator: Accelerator) -> String {
    let facts = spec.arch.facts();
    let emulated = if accelerator == Accelerator::Kvm { "" } else { facts.emulated_command_line };
    // Debian's monitor of memory (damon_stat) wakes up every 24 ms after boot and every 1.4 s after two minutes: four of five switches of an idle
    // guest are its. So how much of it a command met depended on when it ran.
    let steady = if accelerator == Accelerator::CountedInstructions {
        " nokaslr norandmaps damon_stat.enabled=N"
    } else {
        ""
    };
    // A panic, and an oops with it, ends the guest at once: QEMU gets the option not to start it again. The kernel's tests of its own
    // ciphers would go on for a second during the command.
    let own = format!(
        "console={} loglevel={CONSOLE_LEVEL} panic=-1 oops=panic {} cryptomgr.notests rdinit={FIRST_PROCESS}{steady} {emulated}",
        facts.console, facts.command_line
    );
    own.split_whitespace().chain([spec.append.trim()]).collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

/// QEMU's options take two commas for one.
fn option(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// A running QEMU; ended and collected when dropped.
#[derive(Debug)]
pub(crate) struct Qemu {
    child: Child,
    monitor: Option<Qmp>,
}

impl Qemu {
    /// Starts it, away from the terminal's signals: this process decides when it ends.
    pub(crate) fn start(spec: &Spec, accelerator: Accelerator, files: &Files) -> Result<Self, VmError> {
        let program = emulator(spec.arch)?;
        let mut command = tied(&program, std::process::id());
        if let Some(icount_barrier) = &files.icount_barrier {
            icount_barrier.load_into(&mut command);
        }
        let complaints =
            File::create(&files.complaints).map_err(VmError::system("making a file for QEMU's messages"))?;
        command
            .args(arguments(spec, accelerator, files))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(complaints)
            .process_group(0);
        if files.memory.is_some() {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            // Its state has a name there that needs no quoting.
            command.current_dir(files.folder());
        }
        let child = command.spawn().map_err(VmError::system(format!("starting {}", program.display())))?;
        Ok(Self { child, monitor: None })
    }

    /// Its monitor, where it has one.
    pub(crate) fn monitor(&mut self) -> Result<&mut Qmp, String> {
        if let (Some(to), Some(from)) = (self.child.stdin.take(), self.child.stdout.take()) {
            self.monitor = Some(Qmp::new(to, from)?);
        }
        self.monitor.as_mut().ok_or_else(|| "it has no monitor".to_owned())
    }

    /// Its end, if it has come.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why it ended before its guest had said anything.
pub(crate) fn why_it_ended(console: &Console, complaints: &Path) -> VmError {
    if let Some(panic) = console.panic() {
        return VmError::Panicked { last: format!(": {panic}") };
    }
    let said = read_complaints(complaints);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
    VmError::Qemu { last: last.unwrap_or_else(|| format!("it said nothing{}", console.quoted())) }
}

/// What it has written on its standard error.
pub(crate) fn read_complaints(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// A command that ends when its parent does, and does not begin where that has another number than it should.
fn tied(program: &Path, parent: u32) -> Command {
    let Some(tie) = program_on_path(TIE) else { return Command::new(program) };
    let mut command = Command::new(tie);
    command.args(["--pdeathsig", "KILL", "--", "/bin/sh", "-c", LOOK_FOR_PARENT]);
    command.arg(parent.to_string()).arg(program);
    command
}

/// A program on PATH, from the root on: QEMU may run in another directory.
pub fn program_on_path(name: &str) -> Option<PathBuf> {
    let searched = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&searched).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.and_then(|path| std::path::absolute(path).ok())
}

/// QEMU's program for guests of this kind.
pub(crate) fn emulator(arch: Arch) -> Result<PathBuf, VmError> {
    let (program, package) = (arch.facts().emulator, arch.facts().emulator_package);
    program_on_path(program).ok_or(VmError::NoQemu { program, package })
}

/// The version of the QEMU that runs guests of this machine's kind, in its own words.
///
/// # Errors
/// When it is not there, or cannot be started.
pub fn emulator_version() -> Result<String, VmError> {
    let program = emulator(Arch::default())?;
    let output = Command::new(&program).arg("--version").output();
    let output = output.map_err(VmError::system(format!("starting {}", program.display())))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = said.lines().next().and_then(|line| line.split("version ").nth(1));
    Ok(version.unwrap_or("unknown").trim().to_owned())
}

/// What marks that KVM did not work since this machine started; in the cache directory.
pub(crate) fn kvm_mark() -> Option<PathBuf> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(crate::kernel::cache_folder()?.join(format!("kvm-failed-{}", boot.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let place = |name: &str| PathBuf::from("/run/a,b").join(name);
        Files {
            kernel: place("vmlinuz"),
            initramfs: place("i.cpio"),
            channel: place("channel"),
            console: place("console"),
            complaints: place("complaints"),
            icount_barrier: None,
            memory: None,
            device_tree: None,
        }
    }

    fn text(spec: &Spec, accelerator: Accelerator) -> String {
        let words = arguments(spec, accelerator, &files());
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn wishes_reach_qemu() {
        let arch = Arch::X86_64;
        let spec =
            Spec { arch, cpus: 3, memory_mib: 700, append: " mitigations=off ".into(), ..Spec::new(vec![]) };
        let text = text(&spec, Accelerator::Emulation);
        for part in ["-smp 3", "-m 700M", "rdinit=/.swtch/init mitigations=off", "tcg,thread=single"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("path=/run/a,,b/channel"), "{text}");
        assert!(text.contains("-kernel /run/a,b/vmlinuz"), "{text}");
        assert!(!text.contains("nokaslr"), "{text}");
    }

    #[test]
    fn counted_instructions_leave_no_randomness() {
        let spec = Spec { arch: Arch::X86_64, deterministic: true, ..Spec::new(vec![]) };
        assert_eq!(Accelerator::candidates(&spec, false), [Accelerator::CountedInstructions]);
        let text = text(&spec, Accelerator::CountedInstructions);
        let parts =
            ["thread=single", "-rdrand,-rdseed", "shift=0,sleep=off", "clock=vm", "ioeventfd=off", "-seed 1"];
        for part in parts.into_iter().chain(["nokaslr norandmaps damon_stat.enabled=N", "-nic none"]) {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn an_arm_guest_has_its_own_machine_and_no_randomness_either() {
        let spec = Spec { arch: Arch::Arm64, deterministic: true, ..Spec::new(vec![]) };
        let text = text(&spec, Accelerator::CountedInstructions);
        let parts = [
            "-M virt,",
            "dtb-randomness=off",
            "-cpu neoverse-n1",
            "shift=0,sleep=off",
            "console=ttyAMA0 ",
            " swtch.emulated",
        ];
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in ["rdrand", "no_timer_check", "ttyS0", "-M pc"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
        let foreign = Arch::ALL.into_iter().find(|arch| !arch.is_native()).unwrap();
        let plain = Spec { arch: foreign, ..Spec::new(vec![]) };
        assert_eq!(
            Accelerator::candidates(&plain, false),
            [Accelerator::Emulation],
            "KVM runs its own kind only"
        );
    }

    #[test]
    fn a_child_whose_parent_is_gone_does_not_begin() {
        if program_on_path(TIE).is_none() {
            eprintln!("SKIP a_child_whose_parent_is_gone_does_not_begin: {TIE} is not installed");
            return;
        }
        let echo = program_on_path("echo").unwrap();
        let run = |parent| tied(&echo, parent).arg("begun").output().unwrap();
        assert_eq!(run(std::process::id()).stdout, b"begun\n");
        // As if the parent had been another one, which has died meanwhile.
        let orphan = run(std::process::id() + 1);
        assert!(orphan.stdout.is_empty() && !orphan.status.success(), "{orphan:?}");
    }

    #[test]
    fn kvm_is_not_tried_again_where_it_failed() {
        let spec = Spec::new(vec![]);
        assert_eq!(Accelerator::candidates(&spec, true), [Accelerator::Emulation]);
        let emulated = Spec { emulate: true, ..spec };
        assert_eq!(Accelerator::candidates(&emulated, false), [Accelerator::Emulation]);
    }
}
