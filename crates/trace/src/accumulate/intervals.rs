//! Counts over time, in bounded memory.

use crate::tables::{IntervalRow, Merge};

/// The most intervals. Beyond that, two become one.
const MOST: usize = 1024;
/// The first length, ns.
const SHORTEST_NS: u64 = 50_000_000;

/// All intervals so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    start_ns: u64,
    length_ns: u64,
    list: Vec<IntervalRow>,
}

impl Intervals {
    pub(super) fn new(start_ns: u64) -> Self {
        Self { start_ns, length_ns: SHORTEST_NS, list: Vec::new() }
    }

    /// The interval of a moment.
    pub(super) fn at(&mut self, at_ns: u64) -> &mut IntervalRow {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        while (since_ns / self.length_ns) as usize >= MOST {
            self.halve();
        }
        let index = (since_ns / self.length_ns) as usize;
        while index >= self.list.len() {
            let at_ns = self.list.len() as u64 * self.length_ns;
            // What exists goes on existing until something says otherwise.
            let (tasks, processes) =
                self.list.last().map_or((Some(0), Some(0)), |last| (last.tasks, last.processes));
            self.list.push(IntervalRow { at_ns, tasks, processes, ..nothing_yet() });
        }
        &mut self.list[index]
    }

    /// Adds to a count of the interval of a moment.
    pub(super) fn add(
        &mut self,
        at_ns: u64,
        column: impl Fn(&mut IntervalRow) -> &mut Option<u64>,
        more: i64,
    ) {
        let count = column(self.at(at_ns));
        *count = count.map(|count| count.saturating_add_signed(more));
    }

    /// Adds time on a CPU to the intervals it fell into.
    pub(super) fn add_run(&mut self, from_ns: u64, to_ns: u64) {
        self.at(to_ns);
        let mut from_ns = from_ns.max(self.start_ns);
        while from_ns < to_ns {
            let index = (from_ns - self.start_ns) / self.length_ns;
            let until_ns = (self.start_ns + (index + 1) * self.length_ns).min(to_ns);
            let run_ns = &mut self.list[index as usize].run_ns;
            *run_ns = run_ns.map(|run_ns| run_ns + until_ns - from_ns);
            from_ns = until_ns;
        }
    }

    fn halve(&mut self) {
        let both = |pair: &[IntervalRow]| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|later| sum.merge(later));
            sum
        };
        self.list = self.list.chunks(2).map(both).collect();
        self.length_ns *= 2;
    }

    pub(super) fn rows(&self, end_ns: u64) -> Vec<IntervalRow> {
        let whole_ns = end_ns.saturating_sub(self.start_ns);
        let length_ns = |row: &IntervalRow| self.length_ns.min(whole_ns.saturating_sub(row.at_ns)).max(1);
        self.list.iter().map(|row| IntervalRow { length_ns: length_ns(row), ..row.clone() }).collect()
    }
}

/// An interval with what events count, in which nothing happened.
fn nothing_yet() -> IntervalRow {
    let none = Some(0);
    IntervalRow {
        voluntary: none,
        involuntary: none,
        idle_switches: none,
        wakeups: none,
        migrations: none,
        run_ns: none,
        forks: none,
        ..IntervalRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let mut intervals = Intervals::new(1000);
        for second in 0..500 {
            intervals.add(1000 + second * 1_000_000_000, |row| &mut row.voluntary, 1);
        }
        assert!(intervals.list.len() <= MOST);
        let rows = intervals.rows(1000 + 500_000_000_000);
        assert_eq!(rows.iter().map(|row| row.voluntary.unwrap()).sum::<u64>(), 500);
        assert!(rows.windows(2).all(|pair| pair[0].at_ns + pair[0].length_ns == pair[1].at_ns));
    }

    #[test]
    fn a_run_is_divided_among_its_intervals() {
        let mut intervals = Intervals::new(0);
        intervals.add_run(SHORTEST_NS / 2, 3 * SHORTEST_NS + 7);
        let rows = intervals.rows(4 * SHORTEST_NS);
        let run: Vec<u64> = rows.iter().map(|row| row.run_ns.unwrap()).collect();
        assert_eq!(run, [SHORTEST_NS / 2, SHORTEST_NS, SHORTEST_NS, 7]);
    }
}
