//! The structures that the counting programs and the recorder share: what switches show of a task, the record of a task, and a CPU. They are
//! made of the programs' own types, `src/bpf/counts.h`.

pub(super) use super::skeleton::types::{
    cpu_counts as RawCpu, task_counts as RawCounts, task_record as RawRecord,
};
use crate::sources::mapping::Shared;

/// Classes of a histogram: two an octave.
pub(crate) const CLASSES: usize = 64;

/// The unit of costs that are squared, ns.
pub(super) const COST_UNIT_NS: f64 = 64.0;

/// Bits of a record's flags.
pub(super) const KERNEL_THREAD: u32 = 1;
pub(super) const ENDED: u32 = 2;
pub(super) const WAITING: u32 = 4;
pub(super) const COUNTED: u32 = 8;

// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawRecord {}
// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawCounts {}
// SAFETY: integers and arrays of integers only.
unsafe impl Shared for RawCpu {}

/// The value that begins `bytes`; absent where they are too few.
pub(super) fn value<T: Shared>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: they are as many as the value has, and every bit pattern is a value. The read is unaligned, so they need not be aligned.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

// As the other half asserts.
const _: () = assert!(size_of::<RawCounts>() == 656 && size_of::<RawRecord>() == 152);
const _: () = assert!(size_of::<RawCpu>() == 1024);
