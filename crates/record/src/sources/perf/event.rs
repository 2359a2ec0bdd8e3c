//! perf_event_open(2), as much of it as is used here (include/uapi/linux/perf_event.h, v6.18).

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;

/// `PERF_TYPE_SOFTWARE`, of which `PERF_COUNT_SW_DUMMY` counts nothing: it is used for its other records.
pub(super) const TYPE_SOFTWARE: u32 = 1;
pub(super) const SOFTWARE_DUMMY: u64 = 9;

pub(super) const SAMPLE_TID: u64 = 1 << 1;
pub(super) const SAMPLE_TIME: u64 = 1 << 2;
pub(super) const SAMPLE_CPU: u64 = 1 << 7;
/// The fields at the end of every record: task, time and CPU. [`record`](super::record) reads them.
pub(super) const SAMPLE: u64 = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU;

pub(super) const READ_ENABLED: u64 = 1 << 0;
pub(super) const READ_RUNNING: u64 = 1 << 1;
pub(super) const READ_ID: u64 = 1 << 2;
/// Since Linux 6.0.
pub(super) const READ_LOST: u64 = 1 << 4;

// Places of the bits in the structure's bit field on machines whose lowest byte comes first.
pub(super) const DISABLED: u64 = 1 << 0;
pub(super) const INHERIT: u64 = 1 << 1;
pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const MMAP: u64 = 1 << 8;
pub(super) const COMM: u64 = 1 << 9;
pub(super) const INHERIT_STAT: u64 = 1 << 11;
pub(super) const ENABLE_ON_EXEC: u64 = 1 << 12;
pub(super) const TASK: u64 = 1 << 13;
pub(super) const SAMPLE_ID_ALL: u64 = 1 << 18;
pub(super) const MMAP2: u64 = 1 << 23;
pub(super) const COMM_EXEC: u64 = 1 << 24;
pub(super) const USE_CLOCK: u64 = 1 << 25;
pub(super) const CONTEXT_SWITCH: u64 = 1 << 26;

const _: () = assert!(cfg!(target_endian = "little"), "the bits above lie elsewhere");

const IOCTL_ENABLE: libc::Ioctl = 0x2400;
const IOCTL_DISABLE: libc::Ioctl = 0x2401;
const IOCTL_SET_OUTPUT: libc::Ioctl = 0x2405;
const IOCTL_ID: libc::Ioctl = 0x8008_2407_u32 as libc::Ioctl;

const OPEN_CLOEXEC: u64 = 1 << 3;

/// What is to be opened: `struct perf_event_attr` up to `PERF_ATTR_SIZE_VER3`, which has the clock.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attribute {
    pub(super) kind: u32,
    size: u32,
    pub(super) config: u64,
    sample_period: u64,
    sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_registers: u64,
    sample_stack: u32,
    clock: i32,
}

const _: () = assert!(size_of::<Attribute>() == 96);

impl Attribute {
    /// An event whose records have the task, the time (CLOCK_MONOTONIC) and the CPU. The event has not begun yet.
    pub(super) fn new(kind: u32, config: u64, flags: u64, read_format: u64) -> Self {
        Self {
            kind,
            size: size_of::<Self>() as u32,
            config,
            sample_type: SAMPLE,
            read_format,
            flags: flags | DISABLED | SAMPLE_ID_ALL | USE_CLOCK,
            clock: libc::CLOCK_MONOTONIC,
            ..Self::default()
        }
    }
}

/// EventScope event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventScope {
    /// Of the calling thread.
    Own,
    /// Of a task.
    Task(u32),
    /// Of everyone.
    Everyone,
}

/// An open event; ends when it is dropped, for all that inherited it too.
#[derive(Debug)]
pub(super) struct PerfEvent(OwnedFd);

impl PerfEvent {
    /// Opens it on one CPU, or on all (`None`).
    pub(super) fn open(attribute: &Attribute, whose: EventScope, cpu: Option<u32>) -> io::Result<Self> {
        let pid = match whose {
            EventScope::Own => 0,
            EventScope::Task(tid) => tid as i32,
            EventScope::Everyone => -1,
        };
        let cpu = cpu.map_or(-1, |cpu| cpu as i32);
        // SAFETY: the kernel reads `size` bytes of the structure, which are all of it.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const *attribute, pid, cpu, -1, OPEN_CLOEXEC)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    fn control(&self, request: libc::Ioctl, argument: libc::c_long) -> io::Result<()> {
        // SAFETY: requests whose argument is a number; the descriptor is ours.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Begins it, and those that inherited it.
    pub(super) fn enable(&self) -> io::Result<()> {
        self.control(IOCTL_ENABLE, 0)
    }

    /// Ends it, and those that inherited it.
    pub(super) fn disable(&self) -> io::Result<()> {
        self.control(IOCTL_DISABLE, 0)
    }

    /// Lets its records go where those of `other` go.
    pub(super) fn write_to(&self, other: &Self) -> io::Result<()> {
        self.control(IOCTL_SET_OUTPUT, other.0.as_raw_fd().into())
    }

    /// Its number in records.
    pub(super) fn id(&self) -> io::Result<u64> {
        let mut id = 0_u64;
        // SAFETY: the kernel writes eight bytes to `id`.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), IOCTL_ID, &raw mut id) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(id) }
    }

    /// Its numbers as they are, by its `read_format`.
    pub(super) fn read<const N: usize>(&self) -> io::Result<[u64; N]> {
        let mut bytes = [0_u8; 64];
        let got = rustix::io::read(&self.0, &mut bytes[..8 * N])?;
        if got != 8 * N {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (words, _) = bytes.as_chunks::<8>();
        Ok(std::array::from_fn(|index| u64::from_ne_bytes(words[index])))
    }
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
