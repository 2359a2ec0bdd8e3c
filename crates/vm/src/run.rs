//! One run: everything is prepared, the guest boots, its messages are followed to the end.

use crate::archives::{self, Archives};
use crate::elf;
use crate::error::VmError;
use crate::event::{Event, Outcome};
use crate::file_closure::{GuestEntry, GuestFiles};
use crate::guest::{FREQUENCY_DRIVER, GuestJob, KERNEL_CONFIG, Resumed};
use crate::guest_paths::{GuestPaths, USUAL_PATH};
use crate::guest_result::GuestResult;
use crate::icount_barrier::IcountBarrier;
use crate::kept_boot::{self, KeptBoot};
use crate::kernel::{self, Kernel, Wanted};
use crate::packages;
use crate::qemu::{self, Accelerator, Files};
use crate::session::{End, Session};
use crate::spec::Spec;
use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_units::Observer;

/// Slows the guest's CPUs down; swtch's packages have it.
const SLOWING: &str = "swtch-slow";
/// A working KVM boots a guest in a second or two; one that exists and hangs does not.
const KVM_PATIENCE: Duration = Duration::from_secs(10);

/// Boots a kernel, runs the command in it, and reports to the observer what happens. `first_process` is the program that calls
/// [`guest::run`](crate::guest::run) when a kernel starts it.
///
/// # Errors
/// See [`VmError`]. A command that ends with a status other than 0 is not an error.
///
/// ```no_run
/// use swtch_units::Silent;
/// use swtch_vm::{Spec, run};
///
/// let spec = Spec { deterministic: true, ..Spec::new(vec!["hackbench".into()]) };
/// let outcome = run(&spec, &std::env::current_exe()?, &mut Silent)?;
/// println!("{} switches in {} ns", outcome.exited.context_switches, outcome.exited.elapsed_ns);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    spec: &Spec,
    first_process: &Path,
    observer: &mut dyn Observer<Event>,
) -> Result<Outcome, VmError> {
    spec.check()?;
    qemu::emulator(spec.arch)?;
    let mut tell = |text: &str| observer.event(&Event::Preparing { text: text.to_owned() });
    let is_foreign = !spec.arch.is_native();
    let root = is_foreign.then(|| packages::root(spec.arch, &spec.packages, &mut tell)).transpose()?;
    let here = env::current_dir().map_err(VmError::system("reading the current directory"))?;
    // Before anything is fetched or booted: a mistyped name should not cost a minute.
    let packed = pack(spec, first_process, root.as_deref(), &here)?;
    let back = spec.fetch_into.clone().unwrap_or_else(|| here.clone());
    GuestResult::new(&spec.fetch, &back)?;
    let wanted = Wanted {
        arch: spec.arch,
        given: spec.kernel.as_deref(),
        sched_ext: !spec.scheduler.is_empty(),
        energy_model: spec.energy_model,
        update: spec.update,
    };
    let kernel = kernel::choose(wanted, &mut tell)?;
    let folder = tempfile::Builder::new()
        .prefix("swtch-vm-")
        .tempdir()
        .map_err(VmError::system("creating a directory for the guest's files"))?;
    let Packed { mut items, own_items, first_process, job } = packed;
    if spec.kernel_config
        && let Some(from) = kernel::config_beside(&kernel.image)
    {
        items.insert(KERNEL_CONFIG.into(), GuestEntry::File { from, mode: 0o644 });
    }
    if spec.energy_model {
        let from = kernel.image.with_file_name(kernel::FREQUENCY_DRIVER);
        items.insert(FREQUENCY_DRIVER.into(), GuestEntry::File { from, mode: 0o644 });
    }
    let archives = Archives {
        spec,
        folder: folder.path(),
        items,
        own_items,
        system: root.unwrap_or_else(|| "/".into()),
        first_process,
        job,
    };
    boot(&archives, &kernel, &back, observer)
}

/// Resumes from a kept boot, which is made anew once where no guest resumes from it.
fn resume(
    archives: &Archives,
    accelerator: Accelerator,
    files: &Files,
    result: impl Fn() -> Result<GuestResult, VmError>,
    observer: &mut dyn Observer<Event>,
) -> Result<Outcome, VmError> {
    let spec = archives.spec;
    archives.write_own()?;
    archives.write_rest(None)?;
    let boots = archives::digest(&[&files.kernel, &files.initramfs])?;
    let inputs = archives::inputs(spec, accelerator, &[boots, archives::digest(&[&archives.files()])?]);
    if accelerator != Accelerator::CountedInstructions {
        archives.write_rest(Some(Resumed::now().map_err(VmError::system("reading random numbers"))?))?;
    }
    File::options()
        .write(true)
        .open(archives.files())
        .and_then(|file| file.set_len(kept_boot::files_bytes(spec)))
        .map_err(VmError::system("making a file for the guest's memory"))?;
    let mut is_second = false;
    loop {
        let mut kept = KeptBoot::find_or_make(spec, accelerator, files, boots, observer)?;
        let files = Files { memory: Some(kept.memory(archives.files(), spec)), ..files.clone() };
        let session = Session::start(spec, accelerator, &files, Some(&kept), spec.boot_timeout, result()?);
        kept.let_go();
        let end = session
            .map_or_else(|error| End::Failed { error, booted: false }, |session| session.follow(observer));
        match end {
            End::Done(outcome) => return Ok(Outcome { inputs, ..outcome }),
            End::Failed { error: VmError::Interrupted, .. } => return Err(VmError::Interrupted),
            End::Failed { error, booted } if booted || is_second => return Err(error),
            End::Failed { .. } => kept.discard(),
        }
        is_second = true;
        for path in [&files.channel, &files.console] {
            let _ = fs::remove_file(path);
        }
    }
}

/// With the best accelerator that works.
fn boot(
    archives: &Archives,
    kernel: &Kernel,
    back: &Path,
    observer: &mut dyn Observer<Event>,
) -> Result<Outcome, VmError> {
    let Archives { spec, folder, .. } = *archives;
    let mark = qemu::kvm_mark();
    let failed_before = mark.as_ref().is_some_and(|mark| mark.exists());
    for accelerator in Accelerator::candidates(spec, failed_before) {
        let files = Files {
            kernel: std::path::absolute(&kernel.image)
                .map_err(VmError::system("reading the current directory"))?,
            initramfs: archives.initramfs(),
            channel: folder.join(format!("channel-{accelerator:?}")),
            console: folder.join(format!("console-{accelerator:?}")),
            complaints: folder.join(format!("complaints-{accelerator:?}")),
            icount_barrier: (accelerator == Accelerator::CountedInstructions)
                .then(|| IcountBarrier::prepare(folder))
                .transpose()?,
            memory: None,
            device_tree: (!spec.capacities.is_empty())
                .then(|| folder.join(format!("device-tree-{accelerator:?}"))),
        };
        observer.event(&Event::Booting { kernel: kernel.name.clone(), accelerator });
        let result = || GuestResult::new(&spec.fetch, back);
        if kept_boot::is_for(spec, accelerator) {
            return resume(archives, accelerator, &files, result, observer);
        }
        archives.write_all()?;
        qemu::write_device_tree(spec, accelerator, &files)?;
        let inputs =
            archives::inputs(spec, accelerator, &[archives::digest(&[&files.kernel, &files.initramfs])?]);
        let is_trial = accelerator == Accelerator::Kvm;
        let boot_timeout = if is_trial { KVM_PATIENCE.min(spec.boot_timeout) } else { spec.boot_timeout };
        let session = Session::start(spec, accelerator, &files, None, boot_timeout, result()?)?;
        match session.follow(observer) {
            End::Done(outcome) => return Ok(Outcome { inputs, ..outcome }),
            End::Failed { error: VmError::Interrupted, .. } => return Err(VmError::Interrupted),
            End::Failed { booted: false, .. } if is_trial => {
                // Not to wait for it again until this machine restarts.
                if let Some(mark) = &mark {
                    let _ = mark.parent().map(fs::create_dir_all);
                    let _ = fs::write(mark, "");
                }
                observer.event(&Event::Preparing {
                    text: "KVM is there but boots no guest; emulating".to_owned(),
                });
            }
            End::Failed { error, .. } => return Err(error),
        }
    }
    Err(VmError::Qemu { last: "there is nothing to run it with".to_owned() })
}

/// What travels, by its place in the guest, and what the guest is to do with it.
struct Packed {
    items: BTreeMap<PathBuf, GuestEntry>,
    /// Those of the first process alone.
    own_items: BTreeMap<PathBuf, GuestEntry>,
    first_process: PathBuf,
    job: GuestJob,
}

fn pack(spec: &Spec, first_process: &Path, root: Option<&Path>, here: &Path) -> Result<Packed, VmError> {
    let mut path = env::var_os("PATH").filter(|path| !path.is_empty()).unwrap_or_else(|| USUAL_PATH.into());
    if root.is_some() {
        // The system that the guest gets has its programs there, whatever this machine's user has; schedulers are beside swtch.
        let own = first_process.parent().unwrap_or(Path::new("/")).as_os_str();
        path = [OsStr::new(USUAL_PATH), own, &path].join(OsStr::new(":"));
    }
    let no_files = || {
        GuestFiles::new(env::split_paths(&path).collect(), here.to_owned())
            .for_guests(spec.arch, root.map(Path::to_owned))
    };
    let (mut guest_files, mut own_files) = (no_files(), no_files());
    let program = guest_files.command(&spec.command)?;
    elf::check_machine(first_process, spec.arch, || {
        "a guest's first process is a program for it".to_owned()
    })?;
    guest_files.program(first_process)?;
    own_files.program(first_process)?;
    for file in &spec.copy {
        guest_files.copy(file)?;
    }
    for program in &spec.beside {
        guest_files.program(program)?;
    }
    let scheduler = match spec.scheduler.split_first() {
        Some((name, options)) => {
            let found = scheduler_program(&guest_files, name, first_process, &spec.beside)?;
            guest_files.program(&found)?;
            Some((found, options))
        }
        None => None,
    };
    let slowing = slowing_program(spec, &mut guest_files, first_process)?;
    // A system of its own has no directories of this machine's users.
    let mut paths = if spec.deterministic || root.is_some() {
        GuestPaths::fixed(&guest_files, here, first_process, &words(spec))
    } else {
        GuestPaths::default()
    };
    let beside = spec.beside.iter().map(|program| guest_files.absolute(program)).collect();
    paths.put_beside(beside, &guest_files.absolute(first_process));
    let path = paths.path(&path, &guest_files.items);
    let environment: [(&str, &OsStr); 5] = [
        ("PATH", &path),
        ("HOME", OsStr::new("/root")),
        ("USER", OsStr::new("root")),
        ("LANG", OsStr::new("C.UTF-8")),
        ("TERM", OsStr::new("dumb")),
    ];
    let program = paths.of(&program).into_os_string();
    let arguments = spec.command.iter().skip(1).map(|word| paths.word(word));
    let job = GuestJob {
        command: std::iter::once(program.clone()).chain(arguments).collect(),
        program,
        working_folder: paths.working_folder(here).into_os_string(),
        // The same for everybody: what the host's shell happens to have set would change a deterministic run.
        environment: environment.map(|(name, value)| (name.into(), value.to_owned())).to_vec(),
        scheduler: scheduler.map_or_else(Vec::new, |(found, options)| {
            std::iter::once(paths.of(&found).into_os_string()).chain(options.iter().cloned()).collect()
        }),
        slowing: slowing
            .iter()
            .map(|program| paths.of(program).into_os_string())
            .chain(spec.slowed().into_iter().map(OsString::from))
            .collect(),
        fetch: spec.fetch.iter().map(|path| paths.word(path.as_os_str())).collect(),
        resumed: None,
    };
    let first_process = paths.of(&guest_files.absolute(first_process));
    let own_items = paths.items(&own_files.items);
    Ok(Packed { items: paths.items(&guest_files.items), own_items, first_process, job })
}

/// What slows the guest's CPUs down, where some are to be slow; it travels.
fn slowing_program(
    spec: &Spec,
    guest_files: &mut GuestFiles,
    first_process: &Path,
) -> Result<Option<PathBuf>, VmError> {
    if spec.slowed().is_empty() {
        return Ok(None);
    }
    let found = beside(guest_files, OsStr::new(SLOWING), first_process);
    let program = found.ok_or(VmError::NoSlowing { program: SLOWING })?;
    guest_files.program(&program)?;
    Ok(Some(program))
}

/// The words that may name files.
fn words(spec: &Spec) -> Vec<OsString> {
    let paths = spec.copy.iter().chain(&spec.fetch).map(|path| path.clone().into_os_string());
    spec.command.iter().skip(1).cloned().chain(paths).collect()
}

/// A program on PATH, or next to this one.
fn beside(guest_files: &GuestFiles, program: &OsStr, first_process: &Path) -> Option<PathBuf> {
    let beside = first_process.with_file_name(program);
    guest_files.find(program).or_else(|| beside.is_file().then_some(beside))
}

/// `scx_NAME` among what is to be next to this program, on PATH, or next to it. One for another kind of machine is passed over on PATH.
fn scheduler_program(
    guest_files: &GuestFiles,
    name: &OsStr,
    first_process: &Path,
    placed: &[PathBuf],
) -> Result<PathBuf, VmError> {
    let mut program = OsString::from("scx_");
    program.push(name);
    if let Some(placed) = placed.iter().find(|path| path.file_name() == Some(&program)) {
        return Ok(guest_files.absolute(placed));
    }
    beside(guest_files, &program, first_process)
        .ok_or_else(|| VmError::NoScheduler { name: name.to_string_lossy().into_owned() })
}
