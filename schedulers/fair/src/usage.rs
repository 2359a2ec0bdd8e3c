//! What an application has had, as the BPF half counts it.

/// Totals since it was first seen (`struct usage` of fair.bpf.c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on fast cores, ns.
    pub fast_ns: u64,
    /// Time on slow cores, ns.
    pub slow_ns: u64,
    /// Work done on fast cores, in any unit: instructions, or what the application counts itself; 0 where nobody counts.
    pub fast_work: u64,
    /// Work done on slow cores.
    pub slow_work: u64,
    /// Sum over intervals of its tasks that were busy.
    pub busy: u64,
}

impl Usage {
    /// The size of `struct usage`.
    pub const BYTES: usize = 48;

    /// From the bytes of the BPF half.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes
            .get(..Self::BYTES)?
            .chunks_exact(8)
            .map(|word| word.try_into().map(u64::from_ne_bytes).unwrap_or_default());
        let mut next = || words.next().unwrap_or_default();
        let (fast_ns, slow_ns, fast_work, slow_work) = (next(), next(), next(), next());
        let (_reported, busy) = (next(), next());
        Some(Self { fast_ns, slow_ns, fast_work, slow_work, busy })
    }

    /// What has been added since `earlier`; entries that the BPF half has made anew count from nothing.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        if self.fast_ns < earlier.fast_ns || self.slow_ns < earlier.slow_ns {
            return *self;
        }
        Self {
            fast_ns: self.fast_ns - earlier.fast_ns,
            slow_ns: self.slow_ns - earlier.slow_ns,
            fast_work: self.fast_work.saturating_sub(earlier.fast_work),
            slow_work: self.slow_work.saturating_sub(earlier.slow_work),
            busy: self.busy.saturating_sub(earlier.busy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_words_in_the_order_of_the_source() {
        let bytes: Vec<u8> = (1..=6_u64).flat_map(u64::to_ne_bytes).collect();
        let usage = Usage { fast_ns: 1, slow_ns: 2, fast_work: 3, slow_work: 4, busy: 6 };
        assert_eq!(Usage::parse(&bytes), Some(usage));
        assert_eq!(Usage::parse(&bytes[1..]), None);
    }

    #[test]
    fn an_entry_made_anew_counts_from_nothing() {
        let earlier = Usage { fast_ns: 10, slow_ns: 10, ..Usage::default() };
        let anew = Usage { fast_ns: 3, slow_ns: 12, busy: 1, ..Usage::default() };
        assert_eq!(anew.since(&earlier), anew);
        let later = Usage { fast_ns: 15, slow_ns: 10, busy: 1, ..Usage::default() };
        assert_eq!(later.since(&earlier), Usage { fast_ns: 5, busy: 1, ..Usage::default() });
    }
}
