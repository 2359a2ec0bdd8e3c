//! Dispatch queues (`struct scx_dispatch_q`, Linux 7.3 kernel/sched/ext.c): first in, first out, or ordered by virtual time.

use std::collections::{BTreeMap, VecDeque};

/// Where a task is in its queue. Places of a queue are ordered, and a place is never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DsqPosition {
    /// Virtual time as a signed number: a queue's times lie close together and may begin just below zero. 0 in a FIFO.
    pub(super) vtime: i64,
    /// Grows with every task; those put at the head have negative ones.
    pub(super) seq: i64,
}

/// A dispatch queue of tasks, which are numbers here.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Dsq {
    len: usize,
    pub(super) id: u64,
    /// Ascending by `seq`. `None` is a task that left from the middle.
    fifo: VecDeque<(i64, Option<u32>)>,
    tree: BTreeMap<DsqPosition, u32>,
    head_seq: i64,
    tail_seq: i64,
}

impl Dsq {
    pub(super) fn new(id: u64) -> Self {
        Self { id, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether tasks in it are ordered by virtual time.
    pub(super) fn is_by_vtime(&self) -> bool {
        !self.tree.is_empty()
    }

    /// Whether tasks in it are in the order of their coming.
    pub(super) fn is_fifo(&self) -> bool {
        self.len > self.tree.len()
    }

    #[inline]
    pub(super) fn push_back(&mut self, task: u32) -> DsqPosition {
        let seq = self.tail_seq;
        self.tail_seq += 1;
        self.fifo.push_back((seq, Some(task)));
        self.len += 1;
        DsqPosition { vtime: 0, seq }
    }

    pub(super) fn push_front(&mut self, task: u32) -> DsqPosition {
        self.head_seq -= 1;
        self.fifo.push_front((self.head_seq, Some(task)));
        self.len += 1;
        DsqPosition { vtime: 0, seq: self.head_seq }
    }

    pub(super) fn insert_by_vtime(&mut self, task: u32, vtime: u64) -> DsqPosition {
        let place = DsqPosition { vtime: vtime as i64, seq: self.tail_seq };
        self.tail_seq += 1;
        self.tree.insert(place, task);
        self.len += 1;
        place
    }

    /// Takes the task at a place out.
    pub(super) fn remove(&mut self, place: DsqPosition) {
        if self.tree.remove(&place).is_some() {
            self.len -= 1;
            return;
        }
        let found = match self.fifo.front() {
            Some((seq, _)) if *seq == place.seq => Ok(0),
            _ => self.fifo.binary_search_by_key(&place.seq, |(seq, _)| *seq),
        };
        let Ok(at) = found else { return };
        self.len -= usize::from(self.fifo[at].1.take().is_some());
        self.trim();
    }

    /// Forgets gaps at both ends, and all of them once they are the larger part.
    fn trim(&mut self) {
        while self.fifo.front().is_some_and(|(_, task)| task.is_none()) {
            self.fifo.pop_front();
        }
        while self.fifo.back().is_some_and(|(_, task)| task.is_none()) {
            self.fifo.pop_back();
        }
        if self.fifo.len() > 64 + 2 * self.len {
            self.fifo.retain(|(_, task)| task.is_some());
        }
    }

    /// The first task and its place.
    #[inline]
    pub(super) fn first(&self) -> Option<(DsqPosition, u32)> {
        // Schedulers look into the queues of all CPUs for work, and most are empty.
        if self.len == 0 {
            return None;
        }
        match self.fifo.front() {
            Some((seq, Some(task))) => Some((DsqPosition { vtime: 0, seq: *seq }, *task)),
            _ => self.tree.first_key_value().map(|(place, task)| (*place, *task)),
        }
    }

    /// Up to where tasks have come so far: an iteration leaves out what comes later.
    pub(super) fn end_seq(&self) -> i64 {
        self.tail_seq
    }

    /// The task after a place, or before it if `backwards`; from the end without one. Tasks from `end_seq` on are left out.
    pub(super) fn next(
        &self,
        after: Option<DsqPosition>,
        end_seq: i64,
        backwards: bool,
    ) -> Option<(DsqPosition, u32)> {
        if self.tree.is_empty() {
            return self.next_in_fifo(after, end_seq, backwards);
        }
        let mut entries: Box<dyn Iterator<Item = _>> = match (after, backwards) {
            (None, false) => Box::new(self.tree.iter()),
            (None, true) => Box::new(self.tree.iter().rev()),
            (Some(place), false) => Box::new(self.tree.range(place..).filter(move |(at, _)| **at != place)),
            (Some(place), true) => Box::new(self.tree.range(..place).rev()),
        };
        entries.find(|(place, _)| place.seq < end_seq).map(|(place, task)| (*place, *task))
    }

    fn next_in_fifo(
        &self,
        after: Option<DsqPosition>,
        end_seq: i64,
        backwards: bool,
    ) -> Option<(DsqPosition, u32)> {
        let whole =
            |(seq, task): &(i64, Option<u32>)| task.map(|task| (DsqPosition { vtime: 0, seq: *seq }, task));
        if backwards {
            let end = after.map_or(end_seq, |place| place.seq.min(end_seq));
            let end = self.fifo.partition_point(|(seq, _)| *seq < end);
            return self.fifo.range(..end).rev().find_map(whole);
        }
        let begin = after.map_or(0, |place| self.fifo.partition_point(|(seq, _)| *seq <= place.seq));
        self.fifo.range(begin..).find_map(whole).filter(|(place, _)| place.seq < end_seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tasks(dsq: &Dsq, backwards: bool) -> Vec<u32> {
        let mut place = None;
        let next = || {
            let (at, task) = dsq.next(place, dsq.end_seq(), backwards)?;
            place = Some(at);
            Some(task)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn heads_come_before_tails() {
        let mut dsq = Dsq::new(1);
        dsq.push_back(1);
        dsq.push_back(2);
        dsq.push_front(3);
        dsq.push_front(4);
        assert_eq!((tasks(&dsq, false), tasks(&dsq, true)), (vec![4, 3, 1, 2], vec![2, 1, 3, 4]));
        assert_eq!(dsq.first().map(|(_, task)| task), Some(4));
        assert!(dsq.is_fifo() && !dsq.is_by_vtime());
    }

    #[test]
    fn virtual_times_may_begin_below_zero_and_ties_keep_their_order() {
        let mut dsq = Dsq::new(1);
        dsq.insert_by_vtime(1, 5);
        dsq.insert_by_vtime(2, 0_u64.wrapping_sub(20));
        dsq.insert_by_vtime(3, 5);
        assert_eq!((tasks(&dsq, false), tasks(&dsq, true)), (vec![2, 1, 3], vec![3, 1, 2]));
        assert!(!dsq.is_fifo() && dsq.is_by_vtime());
    }

    #[test]
    fn an_iteration_leaves_out_what_comes_later_and_survives_what_leaves() {
        for by_vtime in [false, true] {
            let mut dsq = Dsq::new(1);
            let add = |dsq: &mut Dsq, task: u32| {
                if by_vtime { dsq.insert_by_vtime(task, task.into()) } else { dsq.push_back(task) }
            };
            let places: Vec<_> = (0..4).map(|task| add(&mut dsq, task)).collect();
            let end = dsq.end_seq();
            let (first, _) = dsq.next(None, end, false).unwrap();
            dsq.remove(first);
            dsq.remove(places[1]);
            add(&mut dsq, 9);
            let (second, task) = dsq.next(Some(first), end, false).unwrap();
            assert_eq!(task, 2);
            dsq.remove(second);
            assert_eq!(dsq.next(Some(second), end, false), Some((places[3], 3)));
            assert_eq!(dsq.next(Some(places[3]), end, false), None);
            assert_eq!(dsq.len(), 2);
        }
    }

    proptest! {
        #[test]
        fn a_fifo_is_as_a_plain_list(steps in proptest::collection::vec((0_u8..4, 0_usize..50), 0..400)) {
            let mut dsq = Dsq::new(1);
            let mut plain: VecDeque<(u32, DsqPosition)> = VecDeque::new();
            for (task, (what, which)) in (0_u32..).zip(steps) {
                match what {
                    0 => plain.push_front((task, dsq.push_front(task))),
                    1 | 2 => plain.push_back((task, dsq.push_back(task))),
                    _ if plain.is_empty() => {}
                    _ => {
                        let (_, place) = plain.remove(which % plain.len()).unwrap();
                        dsq.remove(place);
                        dsq.remove(place);
                    }
                }
                prop_assert_eq!(dsq.first().map(|(_, task)| task), plain.front().map(|(task, _)| *task));
            }
            let expected: Vec<_> = plain.iter().map(|(task, _)| *task).collect();
            prop_assert_eq!(dsq.len(), expected.len());
            prop_assert_eq!(tasks(&dsq, false), expected);
        }
    }
}
