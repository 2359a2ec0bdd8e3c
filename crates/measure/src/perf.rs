//! Counters of the perf interface (include/uapi/linux/perf_event.h, Linux 6.18).

use crate::sys;
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::{fs, io};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    kind: u32,
    config: u64,
    /// Whether the kernel's own part is left out: counting a task's own user mode needs no privilege at level 2.
    user_only: bool,
}

impl Event {
    /// Instructions in user mode.
    pub(crate) const INSTRUCTIONS: Self = Self { kind: 0, config: 1, user_only: true };
    /// Time on a CPU, ns.
    pub(crate) const TASK_CLOCK: Self = Self { kind: 1, config: 1, user_only: false };
    /// Context switches.
    pub(crate) const CONTEXT_SWITCHES: Self = Self { kind: 1, config: 3, user_only: false };

    /// System calls, where the kernel counts them and this process may see the number of their tracepoint.
    pub(crate) fn system_calls() -> Option<Self> {
        let roots = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
        let read = |root| fs::read_to_string(format!("{root}/{SYSTEM_CALL_ID}")).ok();
        let id = roots.into_iter().find_map(read).or_else(|| from_unmounted_tracefs().ok());
        Some(Self { kind: 2, config: id?.trim().parse().ok()?, user_only: false })
    }
}

/// The number of the tracepoint, below tracefs.
const SYSTEM_CALL_ID: &str = "events/raw_syscalls/sys_enter/id";

/// The same where tracefs is not mounted: root may look into it without mounting it anywhere.
fn from_unmounted_tracefs() -> io::Result<String> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let root = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    let file = openat(&root, SYSTEM_CALL_ID, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    io::read_to_string(fs::File::from(file))
}

/// The first 64 bytes of `struct perf_event_attr`, which every kernel with perf events knows (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Default)]
struct PerfAttribute {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const ATTRIBUTE_BYTES: u32 = 64;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
/// `PERF_FLAG_FD_CLOEXEC`, an argument of the call.
const CLOSE_ON_EXEC: u64 = 1 << 3;

/// A counter of the kernel.
#[derive(Debug)]
pub(crate) struct Counter(OwnedFd);

impl Counter {
    /// Counts this thread.
    pub(crate) fn of_this_thread(event: Event) -> Result<Self, i32> {
        Self::open(event, 0, 0)
    }

    /// Counts a process and what it starts from now on. (A counter that is inherited from this thread and enabled by exec is lost at times.
    /// The kernel swaps the counters of a thread and its child while they are alike.)
    pub(crate) fn of_program(event: Event, pid: u32) -> Result<Self, i32> {
        Self::open(event, INHERIT, pid)
    }

    fn open(event: Event, flags: u64, pid: u32) -> Result<Self, i32> {
        let attribute = PerfAttribute {
            kind: event.kind,
            size: ATTRIBUTE_BYTES,
            config: event.config,
            flags: flags | if event.user_only { EXCLUDE_KERNEL } else { 0 },
            ..PerfAttribute::default()
        };
        // SAFETY: the kernel reads `size` bytes of the structure.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attribute, pid, -1, -1, CLOSE_ON_EXEC)
        };
        if fd < 0 {
            return Err(sys::errno());
        }
        // SAFETY: the descriptor was just made, and no other code has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// The count so far; 0 when it cannot be read.
    pub(crate) fn read(&self) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(&self.0, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
    }
}
