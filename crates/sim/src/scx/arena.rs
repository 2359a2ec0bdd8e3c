//! Memory of a scheduler's arenas (Linux kernel/bpf/arena.c). In the kernel user space shares it; here the scheduler has it alone.

use std::alloc::{Layout, alloc_zeroed, dealloc};

const PAGE_BYTES: usize = 4096;
/// A scheduler that asks for more asks again and again for what it has.
const MOST_BYTES: usize = 1 << 30;

/// Pages with addresses that never change, until the core ends.
#[derive(Debug, Default)]
pub(super) struct Arena {
    parts: Vec<(*mut u8, Layout)>,
    bytes: usize,
}

impl Arena {
    /// Zeroed pages that follow each other; null where there are none left.
    pub(super) fn pages(&mut self, count: usize) -> *mut u8 {
        let bytes = count.saturating_mul(PAGE_BYTES);
        let Ok(layout) = Layout::from_size_align(bytes, PAGE_BYTES) else { return std::ptr::null_mut() };
        if bytes == 0 || bytes > MOST_BYTES - self.bytes {
            return std::ptr::null_mut();
        }
        // SAFETY: the layout has a size, as just checked.
        let at = unsafe { alloc_zeroed(layout) };
        if !at.is_null() {
            self.parts.push((at, layout));
            self.bytes += bytes;
        }
        at
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (at, layout) in self.parts.drain(..) {
            // SAFETY: allocated with this layout, and freed once.
            unsafe { dealloc(at, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeroed_aligned_and_bounded() {
        let mut arena = Arena::default();
        let [one, other] = [arena.pages(2), arena.pages(1)];
        assert!(!one.is_null() && !other.is_null() && one != other);
        assert_eq!((one as usize % PAGE_BYTES, other as usize % PAGE_BYTES), (0, 0));
        // SAFETY: two pages from there are the arena's.
        assert!(unsafe { std::slice::from_raw_parts(one, 2 * PAGE_BYTES) }.iter().all(|byte| *byte == 0));
        assert!(arena.pages(0).is_null() && arena.pages(MOST_BYTES / PAGE_BYTES).is_null());
        assert!(arena.pages(usize::MAX).is_null());
    }
}
