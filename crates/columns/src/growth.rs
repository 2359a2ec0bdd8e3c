//! Differences of the kernel's counters, which only grow: one that fell is counted, and never becomes a huge number.

use std::cell::Cell;

/// Takes differences between two readings, and counts the counters that fell. It counts behind a shared reference, as differences of whole
/// records are taken by closures.
///
/// A counter that fell was read too early (a reading overtook a later one), or began again. Its growth is 0 then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    fell: Cell<u64>,
}

impl Growth {
    /// Counters that fell.
    pub fn fell(&self) -> u64 {
        self.fell.get()
    }

    fn count(&self, fell: bool) {
        self.fell.set(self.fell.get() + u64::from(fell));
    }

    /// The growth of a counter of 64 bits, which no counter fills.
    pub fn of(&self, earlier: u64, later: u64) -> u64 {
        self.count(later < earlier);
        later.saturating_sub(earlier)
    }

    /// The growth of a counter of 32 bits, which wraps around when it is full. A step of more than half of that is a step back.
    pub fn of_32_bits(&self, earlier: u32, later: u32) -> u64 {
        let growth = difference(later, earlier);
        self.count(growth == 0 && later != earlier);
        u64::from(growth)
    }
}

/// By how much a count of 32 bits grew, which wraps around when it is full. A count that went backwards, because it was read too late or is
/// another task's, did not grow. Without a sign it would have grown by four thousand million.
pub fn difference(now: u32, before: u32) -> u32 {
    now.wrapping_sub(before).cast_signed().max(0).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_fell_is_counted_and_grows_by_nothing() {
        let growth = Growth::default();
        assert_eq!((growth.of(5, 7), growth.of(7, 7), growth.of_32_bits(5, 7)), (2, 0, 2));
        assert_eq!(growth.of_32_bits(u32::MAX - 2, 4), 7, "it began anew");
        assert_eq!(growth.fell(), 0);
        assert_eq!((growth.of(7, 5), growth.of_32_bits(475, 0), growth.of_32_bits(0, u32::MAX)), (0, 0, 0));
        assert_eq!(growth.fell(), 3);
    }
}
