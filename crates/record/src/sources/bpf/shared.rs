//! What the programs in the kernel and the recorder share; the programs' half is `src/bpf/record.h`.

use crate::sources::mapping::Shared;
use crate::sources::ring::Lapped;

/// An event in a CPU's ring.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawEvent {
    pub(super) at_ns: u64,
    pub(super) tid: u32,
    pub(super) other: u32,
    pub(super) cost_ns: u32,
    pub(super) state: u16,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) voluntary: u32,
    pub(super) involuntary: u16,
    pub(super) lap: u16,
}

pub(super) const EVENT_SWITCH: u8 = 1;
pub(super) const EVENT_WAKE: u8 = 2;

pub(super) const FLAG_PREEMPT: u8 = 1 << 0;
pub(super) const FLAG_ADDRESS_SPACE: u8 = 1 << 1;
pub(super) const FLAG_DEAD: u8 = 1 << 2;
pub(super) const FLAG_COST: u8 = 1 << 3;
pub(super) const FLAG_INTERRUPT: u8 = 1 << 4;
pub(super) const FLAG_NEW: u8 = 1 << 5;
pub(super) const FLAG_GAP: u8 = 1 << 6;

/// `entered_ns` before its time is read.
pub(super) const ENTERING: u64 = 1;

/// Heads and tails of a CPU's rings, and the switch it is in.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawRing {
    pub(super) head: u64,
    pub(super) lost_switches: u64,
    pub(super) lost_wakes: u64,
    pub(super) info_head: u64,
    pub(super) infos_lost: u64,
    pub(super) entered_ns: u64,
    pub(super) entered_mm: u64,
    pub(super) entered_tid: u32,
    pub(super) entered_voluntary: u32,
    pub(super) entered_involuntary: u32,
    pub(super) entered_state: u16,
    pub(super) entered_flags: u8,
    pub(super) writing: u8,
    pub(super) interrupts: [u64; 5],
    pub(super) served: [u32; 4],
    pub(super) tail: u64,
    pub(super) info_tail: u64,
    pub(super) pad1: [u64; 14],
}

/// A task when it is made, renamed by exec, or gone.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawInfo {
    pub(super) at_ns: u64,
    pub(super) kind: u32,
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) parent_pid: u32,
    pub(super) comm: [u8; 16],
    pub(super) group: u64,
    pub(super) kernel_thread: u32,
    pub(super) lap: u32,
}

pub(super) const INFO_FORK: u32 = 1;
pub(super) const INFO_EXEC: u32 = 2;
pub(super) const INFO_EXIT: u32 = 3;
/// Places in the ring of infos of each CPU, as a power of two.
pub(super) const INFO_SHIFT: u32 = 12;

/// Count and time of the interrupts of one line on one CPU.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawInterrupt {
    pub(super) count: u64,
    pub(super) ns: u64,
}

pub(super) const HARD_LINES: u32 = 1024;
pub(super) const SOFT_KINDS: u32 = 16;
pub(super) const TIMER_LINE: u32 = HARD_LINES + SOFT_KINDS;
pub(super) const LINES: u32 = TIMER_LINE + 1;

// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawEvent {}
// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawRing {}
// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawInfo {}
// SAFETY: integers only.
unsafe impl Shared for RawInterrupt {}

impl Lapped for RawEvent {
    fn is_of_lap(&self, lap: u64) -> bool {
        self.lap == lap as u16
    }
}

impl Lapped for RawInfo {
    fn is_of_lap(&self, lap: u64) -> bool {
        self.lap == lap as u32
    }
}

// As the other half asserts.
const _: () = assert!(size_of::<RawEvent>() == 32 && size_of::<RawRing>() == 256);
const _: () = assert!(std::mem::offset_of!(RawRing, tail) == 128);
const _: () = assert!(size_of::<RawInfo>() == 56 && std::mem::offset_of!(RawInfo, lap) == 52);
