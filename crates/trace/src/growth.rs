//! Differences of the kernel's counters, which only grow: one that fell is counted, and never becomes a huge number.

/// Takes differences between two readings, and counts the counters that fell.
///
/// A counter that fell was read too early (a reading overtook a later one), or began again. Its growth is 0 then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Counters that fell.
    pub fell: u64,
}

impl Growth {
    /// The growth of a counter of 64 bits, which no counter fills.
    pub fn of(&mut self, earlier: u64, later: u64) -> u64 {
        self.fell += u64::from(later < earlier);
        later.saturating_sub(earlier)
    }

    /// The growth of a counter of 32 bits, which begins anew when it is full. A step of more than half of that is a step back.
    pub fn of_32_bits(&mut self, earlier: u32, later: u32) -> u64 {
        let growth = grown(later, earlier);
        self.fell += u64::from(growth == 0 && later != earlier);
        u64::from(growth)
    }
}

/// By how much a count of 32 bits grew, which begins anew when it is full. One that went backwards, because it was read too late or is another
/// task's, did not grow; read without a sign, it would have grown by four thousand million.
pub fn grown(now: u32, before: u32) -> u32 {
    now.wrapping_sub(before).cast_signed().max(0).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_fell_is_counted_and_grows_by_nothing() {
        let mut growth = Growth::default();
        assert_eq!((growth.of(5, 7), growth.of(7, 7), growth.of_32_bits(5, 7)), (2, 0, 2));
        assert_eq!(growth.of_32_bits(u32::MAX - 2, 4), 7, "it began anew");
        assert_eq!(growth.fell, 0);
        assert_eq!((growth.of(7, 5), growth.of_32_bits(475, 0), growth.of_32_bits(0, u32::MAX)), (0, 0, 0));
        assert_eq!(growth.fell, 3);
    }
}
