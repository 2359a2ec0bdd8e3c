//! Records of the mappings of processes, of their births, programs and ends, on the whole machine. By them addresses of a process can be
//! resolved after it has ended.

use super::event::{
    Attribute, COMM, COMM_EXEC, EXCLUDE_KERNEL, EventScope, MMAP, MMAP2, PerfEvent, SOFTWARE_DUMMY, TASK,
    TYPE_SOFTWARE,
};
use super::record::{Record, What};
use super::ring::Ring;
use super::{PerfError, refused};

/// Memory of a CPU's records; each is some 150 bytes.
const RING_BYTES: usize = 512 << 10;

/// Open events and their rings, one each for a CPU.
pub(crate) struct MappingEvents {
    rings: Vec<(PerfEvent, Ring)>,
    lost: u64,
}

impl MappingEvents {
    /// Watches from now on.
    ///
    /// # Errors
    /// When the kernel does not permit it.
    pub(crate) fn open(cpus: impl Iterator<Item = u32>) -> Result<Self, PerfError> {
        let flags = EXCLUDE_KERNEL | MMAP | MMAP2 | COMM | COMM_EXEC | TASK;
        let attribute = Attribute::new(TYPE_SOFTWARE, SOFTWARE_DUMMY, flags, 0);
        let mut rings = Vec::new();
        for cpu in cpus {
            let event = match PerfEvent::open(&attribute, EventScope::Everyone, Some(cpu)) {
                // It is off.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                opened => opened.map_err(|source| refused(EventScope::Everyone, source))?,
            };
            let ring = Ring::new(&event, RING_BYTES).map_err(PerfError::Memory)?;
            event.enable().map_err(|source| refused(EventScope::Everyone, source))?;
            rings.push((event, ring));
        }
        if rings.is_empty() { Err(PerfError::NoCpus) } else { Ok(Self { rings, lost: 0 }) }
    }

    /// What came since the last time, in order.
    pub(crate) fn drain(&mut self) -> Vec<Record> {
        let mut records = Vec::new();
        for (_, ring) in &self.rings {
            let lost = &mut self.lost;
            let (_, malformed) = ring.drain(|record| match record.what {
                What::Lost(count) => *lost += count,
                _ => records.push(record),
            });
            self.lost += malformed;
        }
        records.sort_by_key(|record| record.at_ns);
        records
    }

    /// Records that were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}
