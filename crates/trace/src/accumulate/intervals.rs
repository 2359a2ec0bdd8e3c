//! Counts over time, in bounded memory.

use crate::tables::IntervalRow;

/// So many intervals at most; then two become one.
const MOST: usize = 1024;
/// The first length, ns.
const SHORTEST_NS: u64 = 50_000_000;

/// What is counted in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
    pub(super) idle: u64,
    pub(super) wakeups: u64,
    pub(super) migrations: u64,
    pub(super) run_ns: u64,
    pub(super) forks: u64,
    pub(super) tasks: u64,
    pub(super) processes: u64,
    pub(super) cost_ns: u64,
}

/// All intervals so far.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    start_ns: u64,
    length_ns: u64,
    list: Vec<Counted>,
}

impl Intervals {
    pub(super) fn new(start_ns: u64) -> Self {
        Self { start_ns, length_ns: SHORTEST_NS, list: Vec::new() }
    }

    /// The interval of a moment.
    pub(super) fn at(&mut self, at_ns: u64) -> &mut Counted {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        while (since_ns / self.length_ns) as usize >= MOST {
            self.halve();
        }
        let index = (since_ns / self.length_ns) as usize;
        if index >= self.list.len() {
            // What exists goes on existing until something says otherwise.
            let last = self.list.last().copied().unwrap_or_default();
            let empty = Counted { tasks: last.tasks, processes: last.processes, ..Counted::default() };
            self.list.resize(index + 1, empty);
        }
        &mut self.list[index]
    }

    /// Adds time on a CPU to the intervals it fell into.
    pub(super) fn add_run(&mut self, from_ns: u64, to_ns: u64) {
        self.at(to_ns);
        let mut from_ns = from_ns.max(self.start_ns);
        while from_ns < to_ns {
            let index = (from_ns - self.start_ns) / self.length_ns;
            let until_ns = (self.start_ns + (index + 1) * self.length_ns).min(to_ns);
            self.list[index as usize].run_ns += until_ns - from_ns;
            from_ns = until_ns;
        }
    }

    fn halve(&mut self) {
        self.list =
            self.list.chunks(2).map(|pair| pair[1..].iter().fold(pair[0], |a, b| a.joined(*b))).collect();
        self.length_ns *= 2;
    }

    pub(super) fn rows(&self, end_ns: u64) -> Vec<IntervalRow> {
        let whole_ns = end_ns.saturating_sub(self.start_ns);
        self.list
            .iter()
            .zip(0_u64..)
            .map(|(counted, index)| {
                let at_ns = index * self.length_ns;
                IntervalRow {
                    at_ns,
                    length_ns: self.length_ns.min(whole_ns.saturating_sub(at_ns)).max(1),
                    voluntary: Some(counted.voluntary),
                    involuntary: Some(counted.involuntary),
                    idle_switches: Some(counted.idle),
                    wakeups: Some(counted.wakeups),
                    migrations: Some(counted.migrations),
                    run_ns: Some(counted.run_ns),
                    forks: Some(counted.forks),
                    tasks: Some(counted.tasks),
                    processes: Some(counted.processes),
                    ..IntervalRow::default()
                }
            })
            .collect()
    }
}

impl Counted {
    fn joined(self, later: Self) -> Self {
        Self {
            voluntary: self.voluntary + later.voluntary,
            involuntary: self.involuntary + later.involuntary,
            idle: self.idle + later.idle,
            wakeups: self.wakeups + later.wakeups,
            migrations: self.migrations + later.migrations,
            run_ns: self.run_ns + later.run_ns,
            forks: self.forks + later.forks,
            cost_ns: self.cost_ns + later.cost_ns,
            // What exists at its end.
            tasks: later.tasks,
            processes: later.processes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let mut intervals = Intervals::new(1000);
        for second in 0..500 {
            intervals.at(1000 + second * 1_000_000_000).voluntary += 1;
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
