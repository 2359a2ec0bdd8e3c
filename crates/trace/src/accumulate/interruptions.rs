//! Time in interrupts, CPU by CPU, in bounded memory.

use crate::event::Interrupts;
use crate::tables::InterruptionRow;
use rustc_hash::FxHashMap;

/// The most rows. Beyond that, neighbours become one.
const MOST: usize = 1 << 15;
/// Rows are at first at most this long if more than one event is in them, ns.
const SHORTEST_NS: u64 = 2_000_000;

/// All rows so far.
#[derive(Debug)]
pub(super) struct Interruptions {
    rows: Vec<InterruptionRow>,
    /// The last row of each CPU.
    last: FxHashMap<u32, usize>,
    most_ns: u64,
}

impl Default for Interruptions {
    fn default() -> Self {
        Self { rows: Vec::new(), last: FxHashMap::default(), most_ns: SHORTEST_NS }
    }
}

impl Interruptions {
    /// Takes an event, of a recording that began at `start_ns`.
    pub(super) fn add(&mut self, event: &Interrupts, start_ns: u64) {
        let at_ns = event.at_ns.saturating_sub(event.over_ns).saturating_sub(start_ns);
        let length_ns = event.at_ns.saturating_sub(start_ns).saturating_sub(at_ns);
        self.push(InterruptionRow { at_ns, cpu: event.cpu, length_ns, ns: event.ns.min(length_ns) });
        if self.rows.len() > MOST {
            self.most_ns *= 2;
            self.last.clear();
            for row in std::mem::take(&mut self.rows) {
                self.push(row);
            }
        }
    }

    /// Adds a row that begins where the last one of its CPU ends, or later.
    fn push(&mut self, row: InterruptionRow) {
        let end_ns = row.at_ns + row.length_ns;
        if let Some(last) = self.last.get(&row.cpu).and_then(|index| self.rows.get_mut(*index))
            && end_ns.saturating_sub(last.at_ns) <= self.most_ns
        {
            last.length_ns = last.length_ns.max(end_ns - last.at_ns);
            last.ns += row.ns;
            return;
        }
        self.last.insert(row.cpu, self.rows.len());
        self.rows.push(row);
    }

    pub(super) fn rows(&self) -> Vec<InterruptionRow> {
        self.rows.clone()
    }

    /// Forgets the past.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_and_nothing_is_lost() {
        let mut found = Interruptions::default();
        let event = |at_ns: u64, cpu, ns| Interrupts { at_ns: 1000 + at_ns, cpu, ns, over_ns: 1_000_000 };
        for (at_ns, cpu) in [(1_000_000, 0), (2_000_000, 0), (2_500_000, 1), (3_000_000, 0), (9_000_000, 0)] {
            found.add(&event(at_ns, cpu, 60_000), 1000);
        }
        let row = |at_ns, cpu, length_ns, ns| InterruptionRow { at_ns, cpu, length_ns, ns };
        let expected = [
            row(0, 0, 2_000_000, 120_000),
            row(1_500_000, 1, 1_000_000, 60_000),
            row(2_000_000, 0, 1_000_000, 60_000),
            row(8_000_000, 0, 1_000_000, 60_000),
        ];
        assert_eq!(found.rows(), expected);
        for at_ns in 10..200_000 {
            found.add(&event(at_ns * 1_000_000, 0, 60_000), 1000);
        }
        let rows = found.rows();
        assert!(rows.len() <= MOST);
        assert_eq!(rows.iter().map(|row| row.ns).sum::<u64>(), 60_000 * (5 + 200_000 - 10));
        assert!(rows.iter().all(|row| row.ns <= row.length_ns));
    }
}
