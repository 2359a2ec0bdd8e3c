//! A ring in a mapped map: the programs take a place, write, and complete it with the number of the lap; the recorder follows.

use super::mapping::{Mapping, Shared};
use std::sync::atomic::{AtomicU64, Ordering};

/// A value in a ring.
pub(super) trait Lapped: Shared {
    /// Whether it was completed on this lap, counted from 1; of the number, as many bits as the value keeps.
    fn is_of_lap(&self, lap: u64) -> bool;
}

/// A task's name, as the kernel keeps it: bytes up to the first zero.
pub(super) fn comm(bytes: &[i8; 16]) -> String {
    comm_of_bytes(&bytes.map(i8::cast_unsigned))
}

/// The same of bytes.
pub(super) fn comm_of_bytes(bytes: &[u8; 16]) -> String {
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// One CPU's ring of 2^`shift` places.
pub(super) struct Ring<'a, T: Lapped> {
    pub(super) values: &'a Mapping<T>,
    pub(super) cpu: usize,
    pub(super) shift: u32,
    pub(super) head: &'a AtomicU64,
    pub(super) tail: &'a AtomicU64,
}

/// How a ring was found.
pub(super) struct Drained {
    /// Places that were taken.
    pub(super) head: u64,
    /// Places that were read.
    pub(super) tail: u64,
    /// How full it was, from 0 to 1.
    pub(super) full: f64,
}

impl<T: Lapped> Ring<'_, T> {
    /// Takes all complete values in order and frees their places. Returns up to which place they were taken and up to which they were read,
    /// and how full the ring was, from 0 to 1.
    pub(super) fn drain(&self, mut take: impl FnMut(T)) -> Drained {
        let head = self.head.load(Ordering::Acquire);
        let begin = self.tail.load(Ordering::Relaxed);
        let (places, base) = (1_u64 << self.shift, self.cpu << self.shift);
        let mut place = begin;
        while place < head {
            let value = self.values.read(base + (place & (places - 1)) as usize);
            if !value.is_of_lap((place >> self.shift) + 1) {
                break; // Taken and not yet written.
            }
            take(value);
            place += 1;
        }
        self.tail.store(place, Ordering::Release);
        Drained { head, tail: place, full: (head - begin) as f64 / places as f64 }
    }
}
