//! Puts events in the order of time: the lines of several CPUs are merged a little roughly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// So many events are held back; an event may stand that many places too late.
const HELD: usize = 4096;

/// Events that are not yet known to be next.
#[derive(Debug)]
pub(super) struct Order<T> {
    held: BinaryHeap<Reverse<Held<T>>>,
    taken: u64,
    last_ns: u64,
}

#[derive(Debug)]
struct Held<T> {
    /// When, and as the how-manieth: events of the same microsecond stay in the order of their lines.
    key: (u64, u64),
    value: T,
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Held<T> {}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { held: BinaryHeap::new(), taken: 0, last_ns: 0 }
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
        self.held.push(Reverse(Held { key: (at_ns, self.taken), value }));
        true
    }

    /// The next event, once enough are held; with `all`, whatever is left.
    pub(super) fn pop(&mut self, all: bool) -> Option<T> {
        if !all && self.held.len() <= HELD {
            return None;
        }
        let Reverse(next) = self.held.pop()?;
        self.last_ns = next.key.0;
        Some(next.value)
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
