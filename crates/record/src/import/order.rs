//! Puts events in the order of time: the lines of several CPUs are merged a little roughly.

use std::collections::BTreeMap;

/// This many events are held back. An event may therefore be that many places too late.
const HELD: usize = 4096;

/// Events that are not yet known to be next.
#[derive(Debug)]
pub(super) struct Order<T> {
    /// By when, and as the how-manieth: events of the same microsecond stay in the order of their lines.
    held: BTreeMap<(u64, u64), T>,
    taken: u64,
    last_ns: u64,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { held: BTreeMap::new(), taken: 0, last_ns: 0 }
    }
}

impl<T> Order<T> {
    /// Takes an event; false when later ones have gone out already, and it is left out.
    #[must_use]
    pub(super) fn push(&mut self, at_ns: u64, value: T) -> bool {
        if at_ns < self.last_ns {
            return false;
        }
        self.taken += 1;
        self.held.insert((at_ns, self.taken), value);
        true
    }

    /// The next event, once enough are held; with `all`, whatever is left.
    pub(super) fn pop(&mut self, all: bool) -> Option<T> {
        if !all && self.held.len() <= HELD {
            return None;
        }
        let ((at_ns, _), value) = self.held.pop_first()?;
        self.last_ns = at_ns;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_put_right_and_far_ones_refused() {
        let mut order = Order::default();
        let mut out = Vec::new();
        for index in 0..10_000_u64 {
            // Pairs in the wrong order, every second at the same moment as another.
            assert!(order.push((index ^ 1) / 2 * 2, index));
            out.extend(order.pop(false));
        }
        assert!(!order.push(0, 0), "thousands of places too late");
        while let Some(value) = order.pop(true) {
            out.push(value);
        }
        assert_eq!(out, (0..10_000).collect::<Vec<_>>());
    }
}
