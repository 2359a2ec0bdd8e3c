//! A binary heap, the least first.
//!
//! [`std::collections::BinaryHeap`] would do, but the lines of many tasks are larger than the cache. A way down such a heap is one
//! wait for memory after the other. Here a place's grandchildren are one cache line, and what the next steps may come to is fetched
//! ahead. The entries are moved exactly as std does it, so that lines whose later entries are looked at are the same.

use crate::prefetch::prefetch;

/// Behind all that are there.
const NOTHING: u128 = u128::MAX;

/// More entries than these are worth fetching ahead, because they may not be in the cache: 16 KiB.
const LARGE: usize = 1024;

/// Four entries: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct CacheLine([u128; 4]);

/// A heap of pairs of a key and a number; the number decides between equal keys. No two pairs are the same.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    /// Entry `n` is in line `n / 4`, and its children are `2 n` and `2 n + 1`. There is no entry 0.
    lines: Vec<CacheLine>,
    len: usize,
}

impl Default for Heap {
    fn default() -> Self {
        Self { lines: vec![CacheLine([NOTHING; 4])], len: 0 }
    }
}

/// Pairs as numbers that are ordered as they are.
#[inline]
fn entry_of((key, number): (i64, u64)) -> u128 {
    u128::from(key as u64 ^ 1 << 63) << 64 | u128::from(number)
}

#[inline]
fn pair_of(entry: u128) -> (i64, u64) {
    (((entry >> 64) as u64 ^ 1 << 63) as i64, entry as u64)
}

impl Heap {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The least.
    #[inline]
    pub(super) fn peek(&self) -> Option<(i64, u64)> {
        (self.len > 0).then(|| pair_of(self.lines[0].0[1]))
    }

    /// All, in the order of their places.
    #[inline]
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, u64)> {
        (1..=self.len).map(|place| pair_of(self.at(place)))
    }

    #[inline]
    pub(super) fn push(&mut self, pair: (i64, u64)) {
        self.len += 1;
        if self.len / 4 == self.lines.len() {
            self.lines.push(CacheLine([NOTHING; 4]));
        }
        self.up(self.len, entry_of(pair));
    }

    pub(super) fn pop(&mut self) -> Option<(i64, u64)> {
        let first = self.peek()?;
        let last = self.at(self.len);
        self.set(self.len, NOTHING);
        self.len -= 1;
        if self.len > 0 {
            let place = self.down_to_bottom();
            self.up(place, last);
        }
        Some(first)
    }

    /// Keeps only some.
    pub(super) fn retain(&mut self, keep: impl Fn((i64, u64)) -> bool) {
        let before = self.len;
        let mut kept = 0;
        let mut first_gap = None;
        for place in 1..=before {
            let entry = self.at(place);
            if keep(pair_of(entry)) {
                kept += 1;
                self.set(kept, entry);
            } else if first_gap.is_none() {
                first_gap = Some(kept);
            }
        }
        (kept + 1..=before).for_each(|place| self.set(place, NOTHING));
        self.len = kept;
        self.lines.truncate(kept / 4 + 1);
        if let Some(in_order) = first_gap {
            self.put_in_order(in_order);
        }
    }

    /// The first `in_order` are a heap already.
    fn put_in_order(&mut self, in_order: usize) {
        let behind = self.len - in_order;
        if behind == 0 {
            return;
        }
        let one_by_one = match in_order {
            few if few < behind => 0,
            some if self.len <= 2048 => behind * some.ilog2() as usize,
            _ => behind * 11,
        };
        if in_order < behind || 2 * self.len < one_by_one {
            (1..=self.len / 2).rev().for_each(|place| self.down(place));
        } else {
            (in_order + 1..=self.len).for_each(|place| self.up(place, self.at(place)));
        }
    }

    /// Moves the lesser child up into the first place, its lesser child into its place, and so on. Where there is room then.
    #[inline]
    fn down_to_bottom(&mut self) -> usize {
        let mut place = 1;
        let is_large = self.len > LARGE;
        while 2 * place <= self.len {
            if is_large {
                // The line of the grandchildren is needed next; the two lines after it are fetched meanwhile.
                prefetch(&self.lines, 2 * place);
                prefetch(&self.lines, 2 * place + 1);
            }
            let (child, entry) = self.lesser_child(place);
            self.set(place, entry);
            place = child;
        }
        place
    }

    #[inline]
    fn lesser_child(&self, place: usize) -> (usize, u128) {
        let pair = &self.lines[place / 2].0;
        let left = 2 * (place % 2);
        let (one, other) = (pair[left], pair[left + 1]);
        let right = usize::from(other < one);
        (2 * place + right, if other < one { other } else { one })
    }

    /// Moves an entry down to where it belongs.
    fn down(&mut self, mut place: usize) {
        let own = self.at(place);
        while 2 * place <= self.len {
            let (child, entry) = self.lesser_child(place);
            if own <= entry {
                break;
            }
            self.set(place, entry);
            place = child;
        }
        self.set(place, own);
    }

    /// Puts an entry where it belongs on the way up from a free place.
    #[inline]
    fn up(&mut self, mut place: usize, entry: u128) {
        while place > 1 {
            let parent = self.at(place / 2);
            if entry >= parent {
                break;
            }
            self.set(place, parent);
            place /= 2;
        }
        self.set(place, entry);
    }

    #[inline]
    fn at(&self, place: usize) -> u128 {
        self.lines[place / 4].0[place % 4]
    }

    #[inline]
    fn set(&mut self, place: usize, entry: u128) {
        self.lines[place / 4].0[place % 4] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        #[test]
        fn the_entries_lie_as_in_the_heap_of_std(steps in proptest::collection::vec((any::<i8>(), 0_u8..20), 0..600)) {
            let (mut heap, mut plain) = (Heap::default(), BinaryHeap::new());
            for (number, (key, what)) in (0_u64..).zip(steps) {
                match what {
                    0..12 => {
                        heap.push((key.into(), number));
                        plain.push(Reverse((i64::from(key), number)));
                    }
                    12..19 => prop_assert_eq!(heap.pop(), plain.pop().map(|Reverse(pair)| pair)),
                    _ => {
                        let rest = key as u64 % 7;
                        heap.retain(|(_, number)| number % 7 > rest);
                        plain.retain(|Reverse((_, number))| number % 7 > rest);
                    }
                }
                prop_assert_eq!((heap.len(), heap.peek()), (plain.len(), plain.peek().map(|Reverse(pair)| *pair)));
                let order: Vec<_> = plain.as_slice().iter().map(|Reverse(pair)| *pair).collect();
                prop_assert_eq!(heap.iter().collect::<Vec<_>>(), order);
            }
        }
    }
}
