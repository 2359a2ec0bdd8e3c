//! Sets of CPUs as bits.

use std::ops::Range;

/// A set of CPUs, by place in the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    words: Vec<u64>,
    count: usize,
}

impl CpuSet {
    /// The empty set for a machine of `cpus` CPUs.
    pub fn empty(cpus: usize) -> Self {
        Self { words: vec![0; cpus.div_ceil(64)], count: 0 }
    }

    /// All CPUs of a machine of `cpus` CPUs.
    pub fn full(cpus: usize) -> Self {
        let mut set = Self::empty(cpus);
        (0..cpus).for_each(|cpu| set.insert(cpu));
        set
    }

    /// Whether the CPU is in it.
    #[inline]
    pub fn contains(&self, cpu: usize) -> bool {
        self.words[cpu / 64] & (1 << (cpu % 64)) != 0
    }

    /// Adds a CPU.
    #[inline]
    pub fn insert(&mut self, cpu: usize) {
        let word = &mut self.words[cpu / 64];
        let bit = 1 << (cpu % 64);
        self.count += usize::from(*word & bit == 0);
        *word |= bit;
    }

    /// Takes a CPU out.
    #[inline]
    pub fn remove(&mut self, cpu: usize) {
        let word = &mut self.words[cpu / 64];
        let bit = 1 << (cpu % 64);
        self.count -= usize::from(*word & bit != 0);
        *word &= !bit;
    }

    /// How many CPUs are in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The words of 64 CPUs each, the lowest first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The first CPU of the range that is in this set and for which `fits` holds.
    #[inline]
    pub fn first_in(&self, range: Range<usize>, mut fits: impl FnMut(usize) -> bool) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let mut place = range.start;
        while place < range.end {
            let word = self.words[place / 64] >> (place % 64);
            if word == 0 {
                place = (place / 64 + 1) * 64;
                continue;
            }
            place += word.trailing_zeros() as usize;
            if place < range.end && fits(place) {
                return Some(place);
            }
            place += 1;
        }
        None
    }

    /// As [`first_in`](Self::first_in), beginning at `from` and going round the range once.
    #[inline]
    pub(crate) fn first_from(
        &self,
        range: Range<usize>,
        from: usize,
        mut fits: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let from = from.clamp(range.start, range.end);
        self.first_in(from..range.end, &mut fits).or_else(|| self.first_in(range.start..from, &mut fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_of_a_range_is_found_across_words() {
        let mut set = CpuSet::empty(200);
        for cpu in [3, 64, 130, 199] {
            set.insert(cpu);
            set.insert(cpu);
        }
        assert_eq!((set.len(), set.contains(64), set.contains(65)), (4, true, false));
        assert_eq!(set.first_in(0..200, |_| true), Some(3));
        assert_eq!(set.first_in(4..130, |_| true), Some(64));
        assert_eq!(set.first_in(4..64, |_| true), None);
        assert_eq!(set.first_in(0..200, |cpu| cpu > 64), Some(130));
        assert_eq!(set.first_from(0..200, 131, |_| true), Some(199));
        assert_eq!(set.first_from(0..199, 131, |_| true), Some(3));
        set.remove(3);
        set.remove(3);
        assert_eq!((set.len(), set.first_in(0..64, |_| true)), (3, None));
        assert_eq!(CpuSet::full(65).len(), 65);
    }
}
