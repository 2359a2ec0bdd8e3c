//! The structures that the counting programs and the recorder share: a task since it was first seen, the record of a task, and a CPU. They are
//! made of the programs' own types, `src/bpf/counts.h`.

pub(super) use super::skeleton::types::{
    cpu_counts as RawCpu, task_counts as RawCounts, task_record as RawRecord,
};
use crate::sources::mapping::Shared;
use crate::sources::ring::Lapped;

/// Classes of a histogram: two an octave.
pub(crate) const CLASSES: usize = 64;

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
