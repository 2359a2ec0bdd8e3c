//! Whether the kernel has ended a scheduler, at the price of one load.
//!
//! A scheduler's program looks every 50 ms. By calls it would copy all of the scheduler's variables each time, the dump's 32 KiB among them,
//! which is 135 us of a CPU in a deterministic guest.

use crate::layout::{Layout, map_of_section};
use libbpf_rs::{AsRawLibbpf, MapCore, Object};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};

/// BPF_F_MMAPABLE of include/uapi/linux/bpf.h (Linux 6.12).
const MAPPED: u32 = 1 << 10;

/// Where the kernel writes why it ended the scheduler, in memory that the scheduler and this process share. It is there as long as the object.
#[derive(Debug)]
pub(crate) struct Ending(NonNull<AtomicI32>);

impl Ending {
    /// Finds it; nothing where the scheduler keeps no account, or its variables are not shared.
    pub(crate) fn of(layout: &Layout, object: &Object) -> Option<Self> {
        let kind = layout.exit_info.get("kind")?;
        let (section, place) = layout.variable("uei").ok()?;
        let map = map_of_section(object, section)?;
        if map.info().ok()?.info.map_flags & MAPPED == 0 {
            return None;
        }
        let mut bytes = 0;
        // SAFETY: the map is of a loaded object, and the size has a place.
        let start =
            unsafe { libbpf_sys::bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &raw mut bytes) };
        let offset = place.offset + kind.offset;
        let fits = kind.bytes == size_of::<AtomicI32>()
            && offset.is_multiple_of(align_of::<AtomicI32>())
            && usize::try_from(bytes).is_ok_and(|bytes| offset + kind.bytes <= bytes);
        // SAFETY: by the check the number lies within the section.
        fits.then(|| NonNull::new(unsafe { start.cast::<u8>().add(offset) }))
            .flatten()
            .map(|at| Self(at.cast()))
    }

    /// Whether it ended.
    pub(crate) fn has_come(&self) -> bool {
        // SAFETY: the number is aligned and mapped as long as the object, which lives beside this in `Running`; the kernel writes it once.
        unsafe { self.0.as_ref() }.load(Ordering::Acquire) != 0
    }
}
