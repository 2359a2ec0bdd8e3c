//! The kernel's own counters over time, in addition to what the source saw.

use super::collector::Collector;
use crate::system::{Cgroup, Detail, Snapshot};
use std::path::Path;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::Header;
use swtch_trace::tables::IntervalRow;

/// The time between two readings at first, ns; some 100 us of CPU time each.
const EVERY_NS: u64 = 200_000_000;
/// The most readings. Beyond that, every other one goes, and the time between two doubles.
const MOST: usize = 1024;
/// The source's intervals leave something out at either end. It becomes an interval of its own only if it is longer than this part of a
/// neighbour.
const NOTABLE_PART: u64 = 10;

/// A column of the intervals that sums a counter.
struct Column {
    name: &'static str,
    source: &'static str,
    read: fn(&Snapshot) -> Option<u64>,
    cell: fn(&mut IntervalRow) -> &mut Option<u64>,
}

const STAT: &str = "/proc/stat, the whole machine";
const COLUMNS: [Column; 8] = [
    Column { name: "user_ns", source: STAT, read: |at| at.total.user, cell: |row| &mut row.user_ns },
    Column { name: "system_ns", source: STAT, read: |at| at.total.system, cell: |row| &mut row.system_ns },
    Column { name: "irq_ns", source: STAT, read: |at| at.total.irq, cell: |row| &mut row.irq_ns },
    Column { name: "softirq_ns", source: STAT, read: |at| at.total.softirq, cell: |row| &mut row.softirq_ns },
    Column { name: "idle_ns", source: STAT, read: |at| at.total.idle, cell: |row| &mut row.idle_ns },
    Column { name: "steal_ns", source: STAT, read: |at| at.total.steal, cell: |row| &mut row.steal_ns },
    Column {
        name: "throttled_ns",
        source: "cpu.stat of the cgroup whose quota limits what is recorded",
        read: |at| Some(at.cgroup.as_ref()?.throttling?.throttled_ns),
        cell: |row| &mut row.throttled_ns,
    },
    Column {
        name: "pressure_cpu_ns",
        source: "/proc/pressure/cpu, the whole machine",
        read: |at| at.pressure.iter().find(|row| row.resource == "cpu")?.some_ns,
        cell: |row| &mut row.pressure_cpu_ns,
    },
];

/// The counters at a moment, since the machine was started.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// Since the recording was started, ns.
    at_ns: u64,
    counters: [Option<u64>; COLUMNS.len()],
    runnable: Option<u64>,
}

/// The readings so far.
#[derive(Debug)]
pub(crate) struct SystemIntervals {
    start_ns: u64,
    every_ns: u64,
    readings: Vec<Reading>,
    /// What limits the target, or is it.
    group: Option<Cgroup>,
}

impl SystemIntervals {
    /// Begins with what was read at the beginning. The recording was started at `start_ns` (CLOCK_MONOTONIC).
    pub(crate) fn begin(start_ns: u64, first: &Snapshot, group: Option<&Cgroup>) -> Self {
        let mut new = Self { start_ns, every_ns: EVERY_NS, readings: Vec::new(), group: group.cloned() };
        new.take(first);
        new
    }

    /// Forgets what was read before a moment of CLOCK_MONOTONIC.
    pub(crate) fn forget_before(&mut self, at_ns: u64) {
        let since_ns = at_ns.saturating_sub(self.start_ns);
        self.readings.drain(..self.readings.partition_point(|reading| reading.at_ns < since_ns));
    }

    /// Those of a part of the time: from `first` on and before `end_ns`.
    pub(crate) fn part(&self, first: &Snapshot, end_ns: u64) -> Self {
        let mut part = Self::begin(first.monotonic_ns, first, self.group.as_ref());
        let at_ns = |reading: &Reading| self.start_ns + reading.at_ns;
        let within = |reading: &&Reading| (first.monotonic_ns + 1..end_ns).contains(&at_ns(reading));
        let moved = |reading: &Reading| Reading { at_ns: at_ns(reading) - first.monotonic_ns, ..*reading };
        part.readings.extend(self.readings.iter().filter(within).map(moved));
        part
    }

    fn take(&mut self, snapshot: &Snapshot) {
        let before = self.readings.last().copied();
        let mut counters = COLUMNS.map(|column| (column.read)(snapshot));
        for (now, before) in counters.iter_mut().zip(before.iter().flat_map(|before| before.counters)) {
            // Estimates, as that of idle time, may go back a little.
            *now = (*now).max(before).filter(|_| now.is_some());
        }
        self.readings.push(Reading {
            at_ns: snapshot.monotonic_ns.saturating_sub(self.start_ns),
            counters,
            runnable: snapshot.procs_running,
        });
        if self.readings.len() > MOST {
            let mut place = 0..;
            self.readings.retain(|_| place.next().is_some_and(|place: usize| place.is_multiple_of(2)));
            self.every_ns *= 2;
        }
    }

    /// Fills in what the source does not know. Sums over all rows are what the counters grew by from the first reading to the last.
    fn fill(&self, rows: &mut Vec<IntervalRow>, header: &mut Header) {
        self.cover(rows);
        let bounds: Vec<(u64, u64)> = (0..rows.len())
            .map(|index| {
                // From row to row without a gap, and over both ends.
                let from = if index == 0 { 0 } else { rows[index].at_ns };
                (from, rows.get(index + 1).map_or(u64::MAX, |next| next.at_ns))
            })
            .collect();
        for (index, column) in COLUMNS.iter().enumerate() {
            if rows.iter_mut().any(|row| (column.cell)(row).is_some()) {
                continue;
            }
            for (row, (from_ns, to_ns)) in rows.iter_mut().zip(&bounds) {
                let ends = self.at(index, *to_ns).zip(self.at(index, *from_ns));
                *(column.cell)(row) = ends.map(|(to, from)| to.saturating_sub(from));
            }
            header.set_source(&format!("intervals.{}", column.name), column.source);
        }
        if rows.iter().all(|row| row.runnable.is_none()) {
            for (row, (_, to_ns)) in rows.iter_mut().zip(&bounds) {
                let later = self.readings.partition_point(|reading| reading.at_ns <= *to_ns);
                row.runnable =
                    self.readings.get(later.saturating_sub(1)).and_then(|reading| reading.runnable);
            }
            header.set_source("intervals.runnable", STAT);
        }
    }

    /// Adds rows for the time that the source's rows leave out at the ends; all, if it has none.
    fn cover(&self, rows: &mut Vec<IntervalRow>) {
        let [first, .., last] = &self.readings[..] else { return };
        let row = |from_ns: u64, to_ns: u64| IntervalRow {
            at_ns: from_ns,
            length_ns: (to_ns - from_ns).max(1),
            ..IntervalRow::default()
        };
        if rows.is_empty() {
            rows.extend(self.readings.windows(2).map(|pair| row(pair[0].at_ns, pair[1].at_ns)));
            return;
        }
        rows.sort_by_key(|row| row.at_ns);
        let (begin, end) = (&rows[0], &rows[rows.len() - 1]);
        let end_ns = end.at_ns + end.length_ns;
        let notable = |gap_ns: u64, beside: &IntervalRow| gap_ns > beside.length_ns / NOTABLE_PART;
        let before =
            notable(begin.at_ns.saturating_sub(first.at_ns), begin).then(|| row(first.at_ns, begin.at_ns));
        let after = notable(last.at_ns.saturating_sub(end_ns), end).then(|| row(end_ns, last.at_ns));
        rows.splice(0..0, before);
        rows.extend(after);
    }

    /// A counter at any moment: on the line between the two readings around it.
    fn at(&self, column: usize, at_ns: u64) -> Option<u64> {
        let later = self.readings.partition_point(|reading| reading.at_ns <= at_ns);
        let before = self.readings.get(later.saturating_sub(1))?;
        let after = self.readings.get(later).filter(|_| later > 0).unwrap_or(before);
        let (from, to) = (before.counters[column]?, after.counters[column]?);
        let length_ns = u128::from(after.at_ns - before.at_ns).max(1);
        let passed_ns = u128::from(at_ns.clamp(before.at_ns, after.at_ns) - before.at_ns);
        Some(from + (u128::from(to - from) * passed_ns / length_ns) as u64)
    }
}

impl Collector for SystemIntervals {
    fn poll(&mut self, now_ns: u64) {
        let last_ns = self.readings.last().map_or(0, |reading| reading.at_ns);
        if now_ns.saturating_sub(self.start_ns) >= last_ns + self.every_ns {
            self.take(&Snapshot::read(Path::new("/"), self.group.as_ref(), Detail::Totals));
        }
    }

    fn finish(&mut self, end: &Snapshot) {
        self.take(end);
    }

    fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        self.fill(&mut tables.intervals, header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_trace::model::{CpuTime, Provenance, Scope};

    fn snapshot(at_ns: u64, user_ns: u64) -> Snapshot {
        Snapshot {
            monotonic_ns: 1000 + at_ns,
            total: CpuTime { user: Some(user_ns), ..CpuTime::default() },
            procs_running: Some(user_ns / 10),
            ..Snapshot::default()
        }
    }

    fn header() -> Header {
        Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine)
    }

    fn readings(all: &[(u64, u64)]) -> SystemIntervals {
        let mut intervals = SystemIntervals::begin(1000, &snapshot(all[0].0, all[0].1), None);
        all[1..].iter().for_each(|(at_ns, user_ns)| intervals.take(&snapshot(*at_ns, *user_ns)));
        intervals
    }

    fn row(at_ns: u64, length_ns: u64) -> IntervalRow {
        IntervalRow { at_ns, length_ns, voluntary: Some(1), ..IntervalRow::default() }
    }

    fn users(rows: &[IntervalRow]) -> Vec<u64> {
        rows.iter().map(|row| row.user_ns.unwrap()).collect()
    }

    #[test]
    fn the_sources_intervals_share_out_what_the_counters_grew_by() {
        let counters = readings(&[(0, 500), (100, 600), (200, 600), (300, 900)]);
        let mut rows = vec![row(0, 50), row(50, 100), row(150, 100), row(250, 48)];
        let mut header = header();
        counters.fill(&mut rows, &mut header);
        assert_eq!(users(&rows), [50, 50, 150, 150]);
        assert_eq!(rows.iter().map(|row| row.runnable.unwrap()).collect::<Vec<_>>(), [50, 60, 60, 90]);
        assert!(header.sources["intervals.user_ns"].contains("whole machine"));
        assert_eq!(rows[0].irq_ns, None, "what no reading has, no row has");
    }

    #[test]
    fn time_that_the_source_leaves_out_has_rows_of_its_own() {
        let counters = readings(&[(0, 0), (100, 100), (400, 400)]);
        let mut rows = vec![row(90, 100), row(190, 100)];
        counters.fill(&mut rows, &mut header());
        assert_eq!(users(&rows), [90, 100, 100, 110]);
        assert_eq!((rows[0].voluntary, rows[3].at_ns, rows[3].length_ns), (None, 290, 110));
        let mut none = Vec::new();
        counters.fill(&mut none, &mut header());
        assert_eq!(users(&none), [100, 300]);
    }

    #[test]
    fn what_the_source_knows_stays() {
        let mut rows =
            vec![IntervalRow { user_ns: Some(7), runnable: Some(1), ..row(0, 100) }, row(100, 100)];
        let mut header = header();
        readings(&[(0, 0), (200, 150)]).fill(&mut rows, &mut header);
        assert_eq!((rows[0].user_ns, rows[1].user_ns, rows[1].runnable), (Some(7), None, None));
        assert!(!header.sources.contains_key("intervals.user_ns"));
    }

    #[test]
    fn readings_are_bounded_and_their_sum_stays() {
        let all: Vec<(u64, u64)> = (0..5000).map(|index| (index * 10, index * 3)).collect();
        let mut counters = readings(&all);
        counters.take(&snapshot(60_000, 20_000));
        assert!(counters.readings.len() <= MOST && counters.every_ns > EVERY_NS);
        let mut rows = Vec::new();
        counters.fill(&mut rows, &mut header());
        assert_eq!(users(&rows).iter().sum::<u64>(), 20_000);
    }
}
