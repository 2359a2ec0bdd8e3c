//! Fetching what will be needed soon.
//!
//! With more tasks than the cache holds, most of an event's time is waiting for the lines of the task it is about. But the next task is
//! known some events before. A hint does not keep the CPU waiting, as reading a value ahead may.

#![allow(unsafe_code)]

/// With fewer tasks than these, what is known of them all is in the cache anyway, and hints only take time.
pub(crate) const WORTH_FETCHING: usize = 2048;

/// Asks for the first cache line of an entry, if there is one.
#[inline(always)]
pub(crate) fn prefetch<T>(table: &[T], place: usize) {
    if let Some(entry) = table.get(place) {
        prefetch_line(entry, 0);
    }
}

/// Asks for one of the cache lines that begin with an entry. Nothing happens where this is not known how to do.
#[inline(always)]
pub(crate) fn prefetch_line<T>(entry: &T, line: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::from_ref(entry).cast::<i8>().wrapping_add(64 * line);
        // SAFETY: a hint reads and writes nothing as far as the program can tell, whatever the address; every x86-64 has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (entry, line);
}
