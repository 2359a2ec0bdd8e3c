//! Boots a machine once, and keeps it: later guests of the same kind resume from there, each as a copy with files of its own.
//!
//! A boot takes seconds under emulation, and is the same for every command: the kernel, and a first process that has nothing to do yet. That process
//! stops the machine (`guest/kept.rs`). QEMU's state goes into one file; the guest's memory is a file already. A guest that goes on maps that file
//! as its own copy, page by page as it needs them. What its command needs is laid into the memory of a device.
//!
//! Where instructions are counted the machine stops at an instruction, not at a time, so that every machine keeps the same boot, and what follows is the
//! same everywhere. All such guests resume from a kept boot, also the one that was the reason to make it.

use crate::console::Console;
use crate::error::VmError;
use crate::event::Event;
use crate::initramfs::SHARE_FOR_FILES;
use crate::kernel::cache_folder;
use crate::qemu::{self, Accelerator, Files, Memory, Qemu};
use crate::qmp::Qmp;
use crate::spec::Spec;
use crate::tail::Tail;
use rustix::fs::{FlockOperation, flock, statvfs};
use serde_json::json;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use swtch_units::Observer;

/// Below the cache directory.
const FOLDER: &str = "guests";
const LOCK: &str = "lock";
const MEMORY: &str = "memory";
const STATE: &str = "state";
/// In the directory of one run, where QEMU reads and writes it: a name that needs no quoting.
const STATE_IN_RUN: &str = "kept-state";
/// Kept boots take so much in all; the one that was not used for the longest time goes first.
const MOST_BYTES: u64 = 4 << 30;
/// What must be free for one more; a guest with its programs has written some 200 MB when it stops.
const LEAST_ROOM_BYTES: u64 = 1 << 30;
/// A device's memory is a power of two.
const LEAST_FILES_BYTES: u64 = 16 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Where the machine's start is named, so that what a crash of it left half-written is never used after it.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How the file of a device's memory begins: with the length of what follows.
pub(crate) const HEADER_BYTES: u64 = 8;

/// A machine that stopped after its boot.
#[derive(Debug)]
pub(crate) struct KeptBoot {
    folder: PathBuf,
    /// No other process removes it while this is open.
    in_use: Option<File>,
}

/// Whether such guests resume from a kept boot. With KVM a boot takes a second. Those of other architectures have first processes of their own, and those
/// with fast and slow CPUs a device tree of their own.
pub(crate) fn is_for(spec: &Spec, accelerator: Accelerator) -> bool {
    accelerator != Accelerator::Kvm && spec.arch.is_native() && spec.capacities.is_empty()
}

/// Of the memory that holds the files: the share of a guest's memory that they may take, rounded up.
pub(crate) fn files_bytes(spec: &Spec) -> u64 {
    ((spec.memory_mib << 20) / SHARE_FOR_FILES).next_power_of_two().max(LEAST_FILES_BYTES)
}

impl KeptBoot {
    /// The one for this machine, made where there is none. `files` boot it; they lie in the directory of this run. `digest` is of the bytes that boot.
    pub(crate) fn find_or_make(
        spec: &Spec,
        accelerator: Accelerator,
        files: &Files,
        digest: u64,
        observer: &mut dyn Observer<Event>,
    ) -> Result<Self, VmError> {
        let all = place(files.folder())?;
        let key = key(spec, accelerator, digest)?;
        let folder = all.join(&key);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(all.join(LOCK))
            .map_err(VmError::system("opening the lock of kept guests"))?;
        take(&lock, FlockOperation::NonBlockingLockShared, observer)?;
        if !folder.join(STATE).is_file() {
            take(&lock, FlockOperation::NonBlockingLockExclusive, observer)?;
            // Another process may have been quicker.
            if !folder.join(STATE).is_file() {
                make(spec, accelerator, files, &all, &folder, observer)?;
                prune(&all, &folder, MOST_BYTES);
            }
            take(&lock, FlockOperation::NonBlockingLockShared, observer)?;
        }
        // When it was used last.
        let _ = File::open(&folder).and_then(|opened| opened.set_modified(SystemTime::now()));
        Ok(Self { folder, in_use: Some(lock) })
    }

    /// How a guest that goes on has its memory.
    pub(crate) fn memory(&self, files: PathBuf, spec: &Spec) -> Memory {
        Memory { guest: self.folder.join(MEMORY), is_kept: false, files, files_bytes: files_bytes(spec) }
    }

    /// Has a QEMU that waits for it resume from here.
    pub(crate) fn resume(&self, qemu: &mut Qemu, files: &Files) -> Result<(), VmError> {
        let run = files.folder();
        fs::copy(self.folder.join(STATE), run.join(STATE_IN_RUN))
            .map_err(VmError::system("reading the state of a kept guest"))?;
        let resumed = (|| {
            let monitor = qemu.monitor()?;
            share_memory(monitor)?;
            // Announcements to a network are for when real time has passed, and until then no instruction runs where they are counted.
            monitor.ask("migrate-set-parameters", &json!({ "announce-rounds": 0 }))?;
            monitor.ask("migrate-incoming", &json!({ "uri": format!("exec:cat {STATE_IN_RUN}") }))?;
            monitor.ask_until("query-status", |answer| Ok(answer["status"] != "inmigrate"))?;
            monitor.ask("cont", &json!({})).map(drop)
        })();
        resumed.map_err(|why: String| {
            let said = qemu::read_complaints(&files.complaints);
            let why = said.lines().last().map_or(why.clone(), |said| format!("{why} ({said})"));
            VmError::KeptBoot { directory: self.folder.clone(), why }
        })
    }

    /// A guest has resumed from it, and needs no more of it than what it has opened. Others may make and remove boots again.
    pub(crate) fn let_go(&mut self) {
        self.in_use = None;
    }

    /// Forgets it: a guest did not resume from it.
    pub(crate) fn discard(self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Where they all are: with what else is kept, or only for this run where nothing can be.
fn place(run: &Path) -> Result<PathBuf, VmError> {
    let can_be = |kept: &PathBuf| {
        fs::create_dir_all(kept).is_ok() && has_room(kept) && File::create(kept.join(LOCK)).is_ok()
    };
    if let Some(kept) = cache_folder().map(|cache| cache.join(FOLDER)).filter(can_be) {
        return Ok(kept);
    }
    let here = run.join(FOLDER);
    fs::create_dir_all(&here).map_err(VmError::system("making a directory for the booted guest"))?;
    Ok(here)
}

/// A guest whose memory is in a file dies where the file system is full.
fn has_room(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= LEAST_ROOM_BYTES)
}

/// Everything that decides how it boots: the programs' bytes, the machine, and this start of the host.
fn key(spec: &Spec, accelerator: Accelerator, digest: u64) -> Result<String, VmError> {
    let mut hasher = DefaultHasher::new();
    digest.hash(&mut hasher);
    // Its own paths differ from run to run.
    let nowhere = PathBuf::from("-");
    let nameless = Files {
        kernel: nowhere.clone(),
        initramfs: nowhere.clone(),
        channel: nowhere.clone(),
        console: nowhere.clone(),
        complaints: nowhere,
        icount_barrier: None,
        memory: None,
        device_tree: None,
    };
    qemu::arguments(spec, accelerator, &nameless).hash(&mut hasher);
    qemu::emulator_version()?.hash(&mut hasher);
    fs::read_to_string(BOOT_ID).unwrap_or_default().hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

fn take(lock: &File, how: FlockOperation, observer: &mut dyn Observer<Event>) -> Result<(), VmError> {
    while let Err(error) = flock(lock, how) {
        if error != rustix::io::Errno::WOULDBLOCK && error != rustix::io::Errno::INTR {
            return Err(VmError::system("locking the kept guests")(error.into()));
        }
        if observer.stop() {
            return Err(VmError::Interrupted);
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Boots it, and writes it to its place when it is whole.
fn make(
    spec: &Spec,
    accelerator: Accelerator,
    files: &Files,
    all: &Path,
    folder: &Path,
    observer: &mut dyn Observer<Event>,
) -> Result<(), VmError> {
    observer
        .event(&Event::Preparing { text: "booting a guest that later ones resume from (once)".to_owned() });
    let making = tempfile::Builder::new()
        .prefix("making-")
        .tempdir_in(all)
        .map_err(VmError::system("making a directory for the booted guest"))?;
    let run = files.folder();
    let no_files = run.join("no-files");
    File::create(&no_files)
        .and_then(|file| file.set_len(files_bytes(spec)))
        .map_err(VmError::system("making a file for the guest's memory"))?;
    let memory = Memory {
        guest: making.path().join(MEMORY),
        is_kept: true,
        files: no_files,
        files_bytes: files_bytes(spec),
    };
    let files = Files {
        channel: files.channel.with_extension("boot"),
        console: files.console.with_extension("boot"),
        complaints: files.complaints.with_extension("boot"),
        memory: Some(memory),
        ..files.clone()
    };
    let _ = fs::remove_file(&files.console);
    let mut console =
        Tail::create(&files.console).map_err(VmError::system("making a file for the console"))?;
    let mut qemu = Qemu::start(spec, accelerator, &files)?;
    until_stopped(&mut qemu, spec, &mut console, &files.complaints, observer)?;
    let kept = (|| {
        let monitor = qemu.monitor()?;
        share_memory(monitor)?;
        monitor.ask("migrate", &json!({ "uri": format!("exec:cat >{STATE_IN_RUN}") }))?;
        monitor.ask_until("query-migrate", |answer| match answer["status"].as_str() {
            Some("failed") => Err(answer["error-desc"].as_str().unwrap_or("it failed").to_owned()),
            status => Ok(status == Some("completed")),
        })
    })();
    kept.map_err(|why: String| VmError::KeptBoot { directory: folder.to_owned(), why })?;
    drop(qemu);
    let state = run.join(STATE_IN_RUN);
    fs::copy(&state, making.path().join(STATE))
        .and_then(|_| fs::rename(making.path(), folder))
        .map_err(VmError::system("keeping the booted guest"))?;
    Ok(())
}

fn until_stopped(
    qemu: &mut Qemu,
    spec: &Spec,
    console_file: &mut Tail,
    complaints: &Path,
    observer: &mut dyn Observer<Event>,
) -> Result<(), VmError> {
    let began = Instant::now();
    let mut console = Console::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let has_ended = qemu.ended().is_some();
        let length =
            console_file.read(&mut buffer).map_err(VmError::system("reading what the guest wrote"))?;
        for line in console.push(&buffer[..length]) {
            observer.event(&Event::Kernel { line });
        }
        let monitor = qemu.monitor().map_err(|last| VmError::Qemu { last })?;
        // First why, then that: until the second, a command would come too early.
        if monitor.has_come("GUEST_PANICKED") && monitor.has_come("STOP") {
            return Ok(());
        }
        if length > 0 {
            continue;
        }
        if has_ended {
            return Err(qemu::why_it_ended(&console, complaints));
        }
        if observer.stop() {
            return Err(VmError::Interrupted);
        }
        if began.elapsed() >= spec.boot_timeout {
            return Err(VmError::NotBooted { limit: spec.boot_timeout, last: console.quoted() });
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Memory that lies in a file is not written again.
fn share_memory(monitor: &mut Qmp) -> Result<(), String> {
    let capability = json!({ "capability": "x-ignore-shared", "state": true });
    monitor.ask("migrate-set-capabilities", &json!({ "capabilities": [capability] })).map(drop)
}

/// Removes those that were not used for the longest time, and what an earlier one left half-made, until the rest takes no more than `most_bytes`.
fn prune(all: &Path, but: &Path, most_bytes: u64) {
    let mut found: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(all)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && path != but)
        .map(|path| {
            (
                fs::metadata(&path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH),
                bytes_of(&path),
                path,
            )
        })
        .collect();
    found.sort();
    let mut bytes = bytes_of(but) + found.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
    for (_, of_it, path) in found {
        let is_whole = path.join(STATE).is_file();
        if bytes <= most_bytes && is_whole {
            continue;
        }
        if fs::remove_dir_all(&path).is_ok() {
            bytes -= of_it;
        }
    }
}

/// What the files of a directory take on the disk; they have holes.
fn bytes_of(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|data| data.blocks() * 512).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_not_used_for_the_longest_time_goes_first() {
        let all = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for (age_s, name) in [(30, "old"), (20, "half-made"), (10, "young"), (0, "new")] {
            let folder = all.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(MEMORY), vec![1; 1 << 20]).unwrap();
            if name != "half-made" {
                fs::write(folder.join(STATE), "state").unwrap();
            }
            File::open(&folder).unwrap().set_modified(now - Duration::from_secs(age_s)).unwrap();
        }
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(all.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
            names.sort();
            names
        };
        prune(all.path(), &all.path().join("new"), 10 << 20);
        assert_eq!(names(), ["new", "old", "young"], "there is room for all that are whole");
        prune(all.path(), &all.path().join("new"), 5 << 19);
        assert_eq!(names(), ["new", "young"]);
        prune(all.path(), &all.path().join("new"), 0);
        assert_eq!(names(), ["new"], "the one that was just made stays");
    }

    #[test]
    fn memory_for_files_is_a_power_of_two() {
        let of = |memory_mib| files_bytes(&Spec { memory_mib, ..Spec::new(vec![]) }) >> 20;
        assert_eq!([128, 1024, 1500].map(of), [64, 512, 1024]);
    }
}
