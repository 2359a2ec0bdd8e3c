//! What an application has had, as the BPF half counts it.

use crate::kinds::{ByKind, KINDS};

/// Totals since it was first seen (`struct usage` of fair.bpf.c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on every kind of core, ns.
    pub ran_ns: ByKind<u64>,
    /// Work done on every kind of core, in any unit: instructions, or what the application counts itself; 0 where nothing counts.
    pub work: ByKind<u64>,
    /// Sum over intervals of its tasks that were busy.
    pub busy: u64,
    /// Sum of their weights, 100 for nice 0.
    pub weight: u64,
}

impl Usage {
    /// The size of `struct usage`.
    pub const BYTES: usize = 8 * (2 * KINDS + 3);

    /// From the bytes of the BPF half.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes
            .get(..Self::BYTES)?
            .chunks_exact(8)
            .map(|word| word.try_into().map(u64::from_ne_bytes).unwrap_or_default());
        let mut next = || words.next().unwrap_or_default();
        let (ran_ns, work) = (std::array::from_fn(|_| next()), std::array::from_fn(|_| next()));
        let (_reported, busy, weight) = (next(), next(), next());
        Some(Self { ran_ns, work, busy, weight })
    }

    /// What has been added since `earlier`; entries that the BPF half has made again count from nothing.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        if self.ran_ns.iter().zip(&earlier.ran_ns).any(|(now, before)| now < before) {
            return *self;
        }
        Self {
            ran_ns: std::array::from_fn(|kind| self.ran_ns[kind] - earlier.ran_ns[kind]),
            work: std::array::from_fn(|kind| self.work[kind].saturating_sub(earlier.work[kind])),
            busy: self.busy.saturating_sub(earlier.busy),
            weight: self.weight.saturating_sub(earlier.weight),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_words_in_the_order_of_the_source() {
        let bytes: Vec<u8> = (1..=11_u64).flat_map(u64::to_ne_bytes).collect();
        let usage = Usage { ran_ns: [1, 2, 3, 4], work: [5, 6, 7, 8], busy: 10, weight: 11 };
        assert_eq!(Usage::parse(&bytes), Some(usage));
        assert_eq!(Usage::parse(&bytes[1..]), None);
    }

    #[test]
    fn an_entry_made_anew_counts_from_nothing() {
        let earlier = Usage { ran_ns: [10, 10, 0, 0], ..Usage::default() };
        let anew = Usage { ran_ns: [3, 12, 0, 0], busy: 1, ..Usage::default() };
        assert_eq!(anew.since(&earlier), anew);
        let later = Usage { ran_ns: [15, 10, 0, 0], busy: 1, ..Usage::default() };
        assert_eq!(later.since(&earlier), Usage { ran_ns: [5, 0, 0, 0], busy: 1, ..Usage::default() });
    }
}
