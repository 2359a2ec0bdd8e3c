//! A map's memory, mapped: read and written without a system call.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a value in memory that the kernel writes too must be: plain numbers without padding, whatever they are.
///
/// # Safety
/// Every bit pattern must be a value of the type.
pub(super) unsafe trait Shared: Copy {}

// SAFETY: an integer.
unsafe impl Shared for u64 {}

/// An array map of `T` in our address space.
pub(super) struct Mapping<T: Shared> {
    start: NonNull<T>,
    length: usize,
    bytes: usize,
    of: PhantomData<T>,
}

// SAFETY: the memory belongs to the kernel's map and is reached through volatile reads and atomics only.
unsafe impl<T: Shared> Send for Mapping<T> {}

impl<T: Shared> Mapping<T> {
    /// Maps a map (`BPF_F_MMAPABLE`) of `length` values.
    pub(super) fn new(map: impl AsFd, length: usize) -> io::Result<Self> {
        let bytes = (length * size_of::<T>()).next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping at a place the kernel chooses.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                map.as_fd(),
                0,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, length, bytes, of: PhantomData })
    }

    /// A value as it is now; the kernel may be writing it, so parts may be newer than others.
    pub(super) fn read(&self, index: usize) -> T {
        assert!(index < self.length, "{index} is past the map's {} values", self.length);
        // SAFETY: inside the mapping, aligned by the map's layout; every bit pattern is a `T`.
        unsafe { self.start.add(index).read_volatile() }
    }

    /// The number at `offset` bytes into a value, as something both sides change.
    pub(super) fn atomic(&self, index: usize, offset: usize) -> &AtomicU64 {
        assert!(index < self.length && offset.is_multiple_of(8) && offset + 8 <= size_of::<T>());
        // SAFETY: inside the mapping and aligned to eight bytes.
        unsafe {
            AtomicU64::from_ptr(self.start.as_ptr().cast::<u8>().add(index * size_of::<T>() + offset).cast())
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }
}

impl Mapping<u64> {
    /// Sets or clears a bit of a map of bits. Returns whether it was set.
    pub(super) fn set_bit(&self, bit: u32, on: bool) -> bool {
        let (word, bit) = (bit as usize / 64, 1 << (bit % 64));
        if word >= self.length {
            return false;
        }
        let word = self.atomic(word, 0);
        let before =
            if on { word.fetch_or(bit, Ordering::Relaxed) } else { word.fetch_and(!bit, Ordering::Relaxed) };
        before & bit != 0
    }
}

impl<T: Shared> Drop for Mapping<T> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
