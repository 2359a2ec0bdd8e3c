//! Up to when all records are known. Pure.
//!
//! The kernel reads a record's time and takes its place in the CPU's ring with interrupts off. So the records of one ring are in the order
//! of time. A ring that gave a record of some moment has given all before it; the order waits for the ring that is the furthest behind. A
//! CPU that switches nothing writes nothing, and does not report how far it is. A ring that has given nothing for [`SILENT_NS`] is waited
//! for no longer than that. The kernel announces no record that it is about to write, so this is the limit. A CPU may be silent and then
//! stolen for longer than [`SILENT_NS`] between a record's time and its place. It writes the record too late. Such records are counted.

/// The longest time that a silent ring holds the order up, ns. The time costs memory only: no task waits for the records.
pub(crate) const SILENT_NS: u64 = 1_000_000_000;

/// Up to when all records are known.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// The last moment that each ring gave a record of, ns.
    last_ns: Vec<u64>,
    reached_ns: u64,
}

impl Order {
    /// A ring gave a record.
    pub(crate) fn gave(&mut self, ring: usize, at_ns: u64) {
        if ring >= self.last_ns.len() {
            self.last_ns.resize(ring + 1, 0);
        }
        self.last_ns[ring] = self.last_ns[ring].max(at_ns);
    }

    /// Returns a time before which every record of `rings` rings has been given. `now_ns` is the clock before the rings were read.
    pub(crate) fn horizon(&mut self, rings: usize, now_ns: u64) -> u64 {
        self.last_ns.resize(rings.max(self.last_ns.len()), 0);
        let silent_ns = now_ns.saturating_sub(SILENT_NS);
        let least_ns =
            self.last_ns.iter().map(|last_ns| (*last_ns).max(silent_ns)).min().unwrap_or(silent_ns);
        self.reached_ns = self.reached_ns.max(least_ns.min(now_ns));
        self.reached_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ring_that_is_the_furthest_behind_is_waited_for() {
        let mut order = Order::default();
        let second = SILENT_NS;
        order.gave(0, 10 * second);
        assert_eq!(order.horizon(2, 10 * second), 9 * second, "the other ring has given nothing");
        order.gave(1, 10 * second + 5);
        order.gave(0, 10 * second + 9);
        assert_eq!(order.horizon(2, 10 * second + 20), 10 * second + 5);
        assert_eq!(order.horizon(2, 30 * second), 29 * second);
        // It never goes back.
        assert_eq!(order.horizon(3, 20 * second), 29 * second);
    }

    proptest! {
        /// Rings are read late and one after the other, and no record comes after a later one was taken.
        #[test]
        fn busy_rings_are_in_order_however_late(
            steps in prop::collection::vec((0_usize..3, 1_u64..900_000_000, 0_u64..900_000_000), 1..200),
        ) {
            let mut order = Order::default();
            let (mut clock_ns, mut taken_ns) = (10 * SILENT_NS, 0);
            let mut written: Vec<Vec<u64>> = vec![Vec::new(); 3];
            for (ring, step_ns, stolen_ns) in steps {
                clock_ns += step_ns;
                // Written a while after its time, and after the ring's others.
                written[ring].push(clock_ns);
                let read_ns = clock_ns + stolen_ns;
                for (ring, records) in written.iter_mut().enumerate() {
                    for at_ns in records.drain(..) {
                        prop_assert!(at_ns >= taken_ns, "{at_ns} came after {taken_ns} was taken");
                        order.gave(ring, at_ns);
                    }
                }
                taken_ns = order.horizon(3, read_ns);
                clock_ns = clock_ns.max(read_ns.saturating_sub(SILENT_NS));
            }
        }
    }
}
