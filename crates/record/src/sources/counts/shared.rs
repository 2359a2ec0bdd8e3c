//! What the counting programs and the recorder share; the programs' half is `src/bpf/counts.h`.

use crate::sources::mapping::Shared;
use crate::sources::ring::Lapped;

/// Classes of a histogram: two an octave.
pub(crate) const CLASSES: usize = 64;

/// A task, since it was first seen.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawCounts {
    pub(super) first_ns: u64,
    pub(super) run_ns: u64,
    pub(super) first_run_ns: u64,
    pub(super) delay_ns: u64,
    pub(super) first_delay_ns: u64,
    pub(super) first_voluntary: u64,
    pub(super) first_involuntary: u64,
    pub(super) wait_max_ns: u64,
    pub(super) slice_max_ns: u64,
    pub(super) arrivals: u64,
    pub(super) cold_switch_ins: u64,
    pub(super) process_switches: u64,
    pub(super) cost_ns: u64,
    pub(super) costs: u64,
    pub(super) quota_ns: u64,
    pub(super) throttled_ns: u64,
    pub(super) involuntary: u64,
    pub(super) cpu: u32,
    pub(super) migrations: [u32; 3],
    pub(super) waits: [u32; CLASSES],
    pub(super) slices: [u32; CLASSES],
}

/// What is said of a task.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawRecord {
    pub(super) now_ns: u64,
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) parent_pid: u32,
    pub(super) kernel_thread: u32,
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
    pub(super) run_ns: u64,
    pub(super) delay_ns: u64,
    pub(super) comm: [u8; 16],
    pub(super) group: u64,
    pub(super) counts: RawCounts,
    pub(super) lap: u64,
}

/// A CPU.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawCpu {
    pub(super) entered: [u64; 2],
    pub(super) tids: [u32; 2],
    pub(super) switches: u64,
    pub(super) idle_switches: u64,
    pub(super) cost_ns: [u64; 3],
    pub(super) costs: u64,
    pub(super) forks: u64,
    pub(super) threads: u64,
    pub(super) execs: u64,
    pub(super) exits: u64,
    pub(super) refused: u64,
    pub(super) ended_head: u64,
    pub(super) ended_lost: u64,
    pub(super) ended_tail: u64,
    pub(super) knows_quota: u64,
    pub(super) pad: [u64; 14],
    pub(super) costs_by_kind: [[u32; CLASSES]; 3],
}

/// Places in the ring of ended tasks of each CPU, as a power of two.
pub(super) const ENDED_SHIFT: u32 = 10;

// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawRecord {}
// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawCpu {}

impl Lapped for RawRecord {
    fn is_of_lap(&self, lap: u64) -> bool {
        self.lap == lap
    }
}

// As the other half asserts.
const _: () = assert!(size_of::<RawCounts>() == 664 && size_of::<RawRecord>() == 752);
const _: () = assert!(size_of::<RawCpu>() == 1024 && std::mem::offset_of!(RawCpu, ended_tail) == 128);
