//! Ticks that are not simulated: what they take from the running task, in closed form.
//!
//! A tick comes at every end of a period and keeps the CPU for a fixed time. How much of an interval is left can be computed
//! and added up over any division of the interval. So leaving ticks out gives the same figures as simulating them.

use crate::period::Period;

/// The ticks of a CPU that is never idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) period: Period,
    pub(crate) tick_ns: u64,
    /// What a period leaves besides its tick.
    left: Period,
}

impl Ticks {
    pub(crate) fn new(period: Period, tick_ns: u64) -> Self {
        let tick_ns = tick_ns.min(period.ns() - 1);
        Self { period, tick_ns, left: Period::new(period.ns() - tick_ns) }
    }

    /// Time that ticks took up to `at_ns`.
    #[inline]
    fn stolen_until_ns(self, at_ns: u64) -> u64 {
        let (ticks, within) = self.period.split(at_ns);
        ticks * self.tick_ns + within.min(self.tick_ns)
    }

    /// Time that ticks took in an interval.
    #[inline]
    pub(crate) fn stolen_ns(self, from_ns: u64, to_ns: u64) -> u64 {
        if self.tick_ns == 0 { 0 } else { self.stolen_until_ns(to_ns) - self.stolen_until_ns(from_ns) }
    }

    /// When `need_ns` of time besides ticks will have passed since `from_ns`.
    #[inline]
    pub(crate) fn end_ns(self, from_ns: u64, need_ns: u64) -> u64 {
        if need_ns == 0 || self.tick_ns == 0 {
            return from_ns.saturating_add(need_ns);
        }
        let (ticks, within) = self.period.split(from_ns);
        // Most steps end before the next tick.
        if within >= self.tick_ns && need_ns <= self.period.ns() - within {
            return from_ns + need_ns;
        }
        let used = ticks * self.left.ns() + within.saturating_sub(self.tick_ns);
        let target = used.saturating_add(need_ns);
        let (periods, rest) = self.left.split(target);
        // A step that ends where a period ends has ended before the next tick.
        let (periods, rest) = if rest == 0 { (periods - 1, self.left.ns()) } else { (periods, rest) };
        self.period.at_ns(periods, self.tick_ns + rest)
    }

    /// What a tick still takes of the time from `at_ns` on, ns.
    #[inline]
    pub(crate) fn left_ns(self, at_ns: u64) -> u64 {
        self.tick_ns.saturating_sub(self.period.split(at_ns).1)
    }

    /// Ticks in `from_ns..to_ns`, the first moment left out and the last counted.
    #[inline]
    pub(crate) fn count(self, from_ns: u64, to_ns: u64) -> u64 {
        self.period.count(to_ns).saturating_sub(self.period.count(from_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn time_besides_ticks_adds_up(from in 0_u64..500, need in 0_u64..500, cut in 0_u64..1000, tick in 0_u64..9, begun in 0_u64..10) {
            let ticks = Ticks::new(Period::new(10).begun(begun), tick);
            let end = ticks.end_ns(from, need);
            let free = |a: u64, b: u64| b - a - ticks.stolen_ns(a, b);
            prop_assert_eq!(free(from, end), need);
            // It is the first such moment.
            prop_assert!(need == 0 || free(from, end - 1) < need);
            let middle = from + cut % (end - from + 1);
            prop_assert_eq!(free(from, middle) + free(middle, end), need);
            prop_assert_eq!(ticks.end_ns(middle, need - free(from, middle)), if need == free(from, middle) { middle } else { end });
        }
    }

    #[test]
    fn a_step_may_begin_within_a_tick_from_before_the_run() {
        let ticks = Ticks::new(Period::new(10).begun(1), 4);
        assert_eq!((ticks.end_ns(0, 1), ticks.end_ns(0, 6), ticks.end_ns(0, 7)), (4, 9, 14));
    }

    #[test]
    fn a_tick_at_the_end_counts_and_one_at_the_beginning_does_not() {
        let ticks = Ticks::new(Period::new(10), 1);
        assert_eq!((ticks.count(10, 20), ticks.count(11, 19), ticks.count(9, 31)), (1, 0, 3));
        assert_eq!(
            (ticks.end_ns(5, 5), ticks.end_ns(5, 6), ticks.end_ns(0, 9), ticks.end_ns(0, 10)),
            (10, 12, 10, 12)
        );
    }
}
