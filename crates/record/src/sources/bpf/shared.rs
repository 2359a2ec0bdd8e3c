//! What the programs in the kernel and the recorder share. The structures are made of the programs' own types, `src/bpf/record.h`. They are
//! an event in a CPU's ring, and a task when it is made, renamed by exec, or gone. They are heads and tails of a CPU's rings, and the
//! switch it is in. They are count and time of the interrupts of one line on one CPU.

pub(super) use super::skeleton::types::{
    event as RawEvent, info as RawInfo, interrupt as RawInterrupt, ring as RawRing,
};
use crate::sources::mapping::Shared;
use crate::sources::ring::Lapped;

pub(super) const EVENT_SWITCH: u8 = 1;
pub(super) const EVENT_WAKE: u8 = 2;
pub(super) const EVENT_INTERRUPTS: u8 = 3;
pub(super) const EVENT_IDLE: u8 = 4;

pub(super) const FLAG_PREEMPT: u8 = 1 << 0;
pub(super) const FLAG_ADDRESS_SPACE: u8 = 1 << 1;
pub(super) const FLAG_DEAD: u8 = 1 << 2;
pub(super) const FLAG_COST: u8 = 1 << 3;
pub(super) const FLAG_INTERRUPT: u8 = 1 << 4;
pub(super) const FLAG_NEW: u8 = 1 << 5;
pub(super) const FLAG_SPINNING: u8 = 1 << 5;
pub(super) const FLAG_GAP: u8 = 1 << 6;
pub(super) const FLAG_THROTTLED: u8 = 1 << 7;

/// The `state` of a switch with [`FLAG_SPINNING`] whose task yielded.
pub(super) const SPIN_YIELD: u16 = 2;

/// `entered_ns` before its time is read.
pub(super) const ENTERING: u64 = 1;

pub(super) const INFO_FORK: u32 = 1;
pub(super) const INFO_EXEC: u32 = 2;
pub(super) const INFO_EXIT: u32 = 3;
pub(super) const INFO_SEEN: u32 = 4;
pub(super) const INFO_NAME: u32 = 5;
/// Places in the ring of infos of each CPU, as a power of two.
pub(super) const INFO_SHIFT: u32 = 12;

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
const _: () = assert!(size_of::<RawInfo>() == 80 && std::mem::offset_of!(RawInfo, lap) == 76);
