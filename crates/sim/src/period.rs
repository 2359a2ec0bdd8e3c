//! A period that times are divided by again and again.
//!
//! It may have begun before the time 0. Then its multiples are that much earlier.

/// Divides by a fixed number with a multiplication: the quotient of the reciprocal is at most one too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    ns: u64,
    reciprocal: u64,
    /// How long before the time 0 it began, ns; less than the period.
    begun_ns: u64,
}

impl Period {
    /// A period of at least one ns.
    pub(crate) fn new(ns: u64) -> Self {
        let ns = ns.max(1);
        let reciprocal = ((1_u128 << 64) / u128::from(ns)).min(u128::from(u64::MAX)) as u64;
        Self { ns, reciprocal, begun_ns: 0 }
    }

    /// The same, but begun that long before the time 0.
    pub(crate) fn begun(self, begun_ns: u64) -> Self {
        Self { begun_ns: begun_ns % self.ns, ..self }
    }

    #[inline]
    pub(crate) fn ns(self) -> u64 {
        self.ns
    }

    /// Whole periods up to a time, and the rest, ns.
    #[inline]
    pub(crate) fn split(self, ns: u64) -> (u64, u64) {
        let ns = ns.saturating_add(self.begun_ns);
        let quotient = ((u128::from(ns) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = ns - quotient * self.ns;
        if rest >= self.ns { (quotient + 1, rest - self.ns) } else { (quotient, rest) }
    }

    /// When this number of periods has passed, ns.
    #[inline]
    pub(crate) fn end_ns(self, periods: u64) -> u64 {
        self.at_ns(periods, 0)
    }

    /// When this number of periods and a rest of the next one have passed, ns.
    #[inline]
    pub(crate) fn at_ns(self, periods: u64, rest_ns: u64) -> u64 {
        periods.saturating_mul(self.ns).saturating_add(rest_ns).saturating_sub(self.begun_ns)
    }

    /// Whole periods up to a time.
    #[inline]
    pub(crate) fn count(self, ns: u64) -> u64 {
        self.split(ns).0
    }

    /// The first multiple at or after a moment, ns.
    #[inline]
    pub(crate) fn at_or_after_ns(self, ns: u64) -> u64 {
        let (_, rest) = self.split(ns);
        if rest == 0 { ns } else { ns.saturating_add(self.ns - rest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_divides_as_division_does(ns in any::<u64>(), period in prop_oneof![1_u64..10, 1..u64::MAX, Just(4_000_000)]) {
            let split = Period::new(period).split(ns);
            prop_assert_eq!(split, (ns / period, ns % period));
        }
    }

    #[test]
    fn multiples_stay_and_others_go_up() {
        let period = Period::new(10);
        assert_eq!([0, 1, 10, 11].map(|ns| period.at_or_after_ns(ns)), [0, 10, 10, 20]);
        let begun = period.begun(13);
        assert_eq!([0, 7, 8, 17].map(|ns| begun.at_or_after_ns(ns)), [7, 7, 17, 17]);
        assert_eq!([0, 6, 7].map(|ns| begun.split(ns)), [(0, 3), (0, 9), (1, 0)]);
        assert_eq!([1, 2].map(|periods| begun.end_ns(periods)), [7, 17]);
        assert_eq!([(0, 3), (0, 5), (1, 1)].map(|(periods, rest)| begun.at_ns(periods, rest)), [0, 2, 8]);
        assert_eq!([0, 9, 10].map(|ns| period.count(ns)), [0, 0, 1]);
        assert_eq!(Period::new(0).ns(), 1);
    }
}
