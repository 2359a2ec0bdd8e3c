//! Switches whose second half is still to come, and the rows that wait for it.

use crate::event::Switch;
use crate::tables::SwitchRow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A switch that has been entered and, at the time reached so far, not left.
#[derive(Clone, Copy, Debug)]
struct Pending {
    sequence: u64,
    switch: Switch,
    row: Option<u64>,
}

/// At most one switch a CPU is between its halves.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// By CPU.
    pending: Vec<Option<Pending>>,
    /// When each is left, its CPU, and which one it is. One that was taken earlier is skipped.
    order: BinaryHeap<Reverse<(u64, u32, u64)>>,
    sequence: u64,
    /// Rows in the order of time, and whether they are complete.
    rows: VecDeque<(SwitchRow, bool)>,
    /// Rows that were handed on: a row's number less this is its place.
    handed_on: u64,
}

impl Arrivals {
    /// Takes a row whose second half is to come; its number.
    pub(super) fn add_row(&mut self, row: SwitchRow) -> u64 {
        self.rows.push_back((row, false));
        self.handed_on + self.rows.len() as u64 - 1
    }

    /// Takes a switch that is left later.
    pub(super) fn add(&mut self, switch: Switch, row: Option<u64>) {
        let index = switch.cpu as usize;
        if index >= self.pending.len() {
            self.pending.resize(index + 1, None);
        }
        self.sequence += 1;
        self.pending[index] = Some(Pending { sequence: self.sequence, switch, row });
        self.order.push(Reverse((switch.left_ns(), switch.cpu, self.sequence)));
    }

    /// The switch of this CPU that is not left yet, and its row's number: it is taken.
    pub(super) fn pending_on(&mut self, cpu: u32) -> Option<(Switch, Option<u64>)> {
        let pending = self.pending.get_mut(cpu as usize)?.take()?;
        Some((pending.switch, pending.row))
    }

    /// The next switch that is left by `at_ns`, and its row's number: it is taken.
    pub(super) fn next_until(&mut self, at_ns: u64) -> Option<(Switch, Option<u64>)> {
        while let Some(Reverse((left_ns, cpu, sequence))) = self.order.peek().copied() {
            if left_ns > at_ns {
                return None;
            }
            self.order.pop();
            let slot = &mut self.pending[cpu as usize];
            if let Some(pending) = slot.take_if(|pending| pending.sequence == sequence) {
                return Some((pending.switch, pending.row));
            }
        }
        None
    }

    /// Completes a row.
    pub(super) fn complete(&mut self, row: Option<u64>, waited_ns: Option<u64>, waker_tid: Option<u32>) {
        let place = row.and_then(|row| row.checked_sub(self.handed_on));
        if let Some((row, complete)) = place.and_then(|place| self.rows.get_mut(place as usize)) {
            (row.waited_ns, row.waker_tid, *complete) = (waited_ns, waker_tid, true);
        }
    }

    /// Hands on the complete rows, up to the first that is not.
    pub(super) fn take_rows(&mut self, rows: &mut impl Extend<SwitchRow>) {
        while self.rows.front().is_some_and(|(_, complete)| *complete) {
            self.handed_on += 1;
            rows.extend(self.rows.pop_front().map(|(row, _)| row));
        }
    }
}
