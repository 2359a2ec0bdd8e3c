//! The ring in which the kernel leaves the records of a CPU.

use super::event::PerfEvent;
use super::record::{Record, head, parse};
use crate::sources::mapping::Mapping;
use std::io;
use std::sync::atomic::Ordering;

/// Places of `data_head` and `data_tail` in the page before the records, in words (`struct perf_event_mmap_page`).
const HEAD: usize = 1024 / 8;
const TAIL: usize = 1032 / 8;
/// The longest record has the path of a file (4,096 bytes); a longer one is none.
const MOST_WORDS: usize = 544;

/// A mapped ring.
pub(super) struct Ring {
    words: Mapping<u64>,
    /// Where the records begin, in words, and how many words they have: a power of two.
    first: usize,
    length: usize,
}

impl Ring {
    /// Maps a ring of `bytes` for records, rounded down to a power of two, a page at least.
    pub(super) fn new(event: &PerfEvent, bytes: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let bytes = 1 << bytes.max(page).ilog2();
        let words = Mapping::new(event, (page + bytes) / 8)?;
        Ok(Self { words, first: page / 8, length: bytes / 8 })
    }

    pub(super) fn bytes(&self) -> usize {
        self.length * 8
    }

    /// Moves what is there to `take`, and gives it free. Returns how full the ring was, from 0 to 1, and how many records made no
    /// sense.
    pub(super) fn drain(&self, take: impl FnMut(Record)) -> (f64, u64) {
        // What the kernel wrote before it moved the head is seen after the head is.
        let head = self.words.atomic(HEAD, 0).load(Ordering::Acquire);
        let tail = self.words.atomic(TAIL, 0).load(Ordering::Relaxed);
        let mask = self.length - 1;
        let at = |word: u64| self.words.read(self.first + (word as usize & mask));
        let malformed = walk(tail / 8, head / 8, self.length as u64, at, take);
        // The kernel may overwrite the records once it sees the tail. All of them have been read.
        self.words.atomic(TAIL, 0).store(head, Ordering::Release);
        (head.wrapping_sub(tail) as f64 / self.bytes() as f64, malformed)
    }
}

/// The records from word `from` to word `to`. One whose length cannot be makes all after it unreadable: they count as one.
fn walk(from: u64, to: u64, length: u64, at: impl Fn(u64) -> u64, mut take: impl FnMut(Record)) -> u64 {
    let mut malformed = 0;
    let mut place = from;
    if to.wrapping_sub(from) > length {
        return 1;
    }
    let mut words = [0; MOST_WORDS];
    while place < to {
        let (_, _, count) = head(at(place));
        if count == 0 || count > MOST_WORDS || count as u64 > to - place {
            return malformed + 1;
        }
        for (word, index) in words[..count].iter_mut().zip(place..) {
            *word = at(index);
        }
        match parse(&words[..count]) {
            Some(record) => take(record),
            None => malformed += 1,
        }
        place += count as u64;
    }
    malformed
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::written;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_go_round_the_end() {
        let records: Vec<Vec<u64>> = (0..5).map(|at_ns| written(14, 0, &[], [7, at_ns, 0])).collect();
        let (length, from) = (32, 25);
        let mut ring = [0_u64; 32];
        for (word, index) in records.concat().iter().zip(from..) {
            ring[index % length] = *word;
        }
        let mut seen = Vec::new();
        let to = (from + 4 * records.len()) as u64;
        let at = |word: u64| ring[word as usize % length];
        assert_eq!(walk(from as u64, to, length as u64, at, |record| seen.push(record.at_ns)), 0);
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn nonsense_is_counted_and_ends() {
        let mut words = [written(14, 0, &[], [7, 1, 0]), written(15, 1 << 13, &[], [7, 2, 0])].concat();
        words.extend([0, 0, 0]);
        let mut seen = 0;
        let malformed = walk(0, words.len() as u64, 64, |word| words[word as usize], |_| seen += 1);
        assert_eq!((seen, malformed), (1, 2), "one is too short, then there is none");
    }

    proptest! {
        #[test]
        fn nothing_panics(words in prop::collection::vec(any::<u64>(), 1..64), from in any::<u64>(), more in 0_u64..80) {
            let at = |word: u64| words[word as usize % words.len()];
            walk(from >> 1, (from >> 1) + more, words.len() as u64, at, |_| {});
            walk(from, from.wrapping_add(more), words.len() as u64, at, |_| {});
        }
    }
}
