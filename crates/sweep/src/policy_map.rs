//! Which policy does best where: the runs of a table by machine, workload and policy.

use crate::error::{Error, reading};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use swtch_columns::TableFile;
use swtch_sim::sweep::{IDENTITY, RunRow};

/// A figure of runs that policies are compared by. Less is better in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapFigure {
    /// From the beginning to the end of the last task that counts, ns.
    Makespan,
    /// The 99th percentile of the waits in run queues, ns.
    Waits,
    /// The 99th percentile of the requests, ns.
    Requests,
    /// Context switches.
    Switches,
}

impl MapFigure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Makespan, Self::Waits, Self::Requests, Self::Switches];

    fn of(self, row: &RunRow) -> Option<u64> {
        match self {
            Self::Makespan => row.makespan_ns,
            Self::Waits => row.wait_p99_ns,
            Self::Requests => row.request_p99_ns,
            Self::Switches => row.context_switches,
        }
    }
}

/// A figure over the runs of several seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedRange {
    /// The smallest.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The largest.
    pub high: f64,
}

/// The runs of a workload under a policy on a machine; they differ in their seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct MapCell {
    /// The machine's place among [`PolicyMap::machines`].
    pub machine: usize,
    /// The workload's among [`PolicyMap::workloads`].
    pub workload: usize,
    /// The policy's among [`PolicyMap::policies`].
    pub policy: usize,
    /// How many runs ended.
    pub runs: u64,
    /// How many did not, or failed; they are not in the figures.
    pub failed: u64,
    figures: [Option<SeedRange>; 4],
}

impl MapCell {
    /// A figure; absent where no run has it.
    pub fn figure(&self, figure: MapFigure) -> Option<SeedRange> {
        self.figures[figure as usize]
    }
}

/// The runs of a sweep by machine, workload and policy, each in the order in which the sweep names them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyMap {
    /// Machines.
    pub machines: Vec<String>,
    /// Workloads with their parameters.
    pub workloads: Vec<String>,
    /// Policies.
    pub policies: Vec<String>,
    /// One for each combination that has runs, by machine, then workload, then policy.
    pub cells: Vec<MapCell>,
}

/// What a combination has of each figure, a value a run.
#[derive(Default)]
struct Gathered {
    runs: u64,
    failed: u64,
    values: [Vec<f64>; 4],
}

impl PolicyMap {
    /// Reads the table of a sweep. Of each run four numbers are kept, so a million runs take some 40 MB.
    ///
    /// # Errors
    /// When the file is not the table of a sweep, or cannot be read.
    pub fn read(table: &Path) -> Result<Self, Error> {
        let file = File::open(table).map_err(reading(table))?;
        if swtch_columns::note(file, IDENTITY).is_none() {
            return Err(Error::Wrong(format!(
                "{} is not the table of a sweep; 'swtch sweep merge' and 'swtch simulate --sweep' write one",
                table.display()
            )));
        }
        let mut rows = TableFile::<RunRow>::open(table)?;
        let (mut machines, mut workloads, mut policies) = <(Names, Names, Names)>::default();
        let mut all: BTreeMap<(usize, usize, usize), Gathered> = BTreeMap::new();
        while let Some(group) = rows.next_group()? {
            if group.iter().any(|row| row.printed.is_some()) {
                return Err(Error::Wrong(format!(
                    "{} is of a sweep of commands, whose figures are in its column printed, as JSON; read it with DuckDB or pandas",
                    table.display()
                )));
            }
            for row in &group {
                let key = (
                    machines.place(&row.machine),
                    workloads.place(&row.workload),
                    policies.place(&row.policy),
                );
                all.entry(key).or_default().add(row);
            }
        }
        Ok(Self {
            machines: machines.listed,
            workloads: workloads.listed,
            policies: policies.listed,
            cells: all.into_iter().map(|(key, gathered)| gathered.cell(key)).collect(),
        })
    }

    /// The runs of a workload on a machine, by policy.
    pub fn row(&self, machine: usize, workload: usize) -> impl Iterator<Item = &MapCell> {
        let key = (machine, workload);
        let first = self.cells.partition_point(|cell| (cell.machine, cell.workload) < key);
        self.cells[first..].iter().take_while(move |cell| (cell.machine, cell.workload) == key)
    }

    /// The cell whose figure is smallest in a row by its median, and the policies that are as good: their seeds' ranges overlap.
    /// Absent where fewer than two policies have the figure.
    pub fn best(
        &self,
        machine: usize,
        workload: usize,
        figure: MapFigure,
    ) -> Option<(&MapCell, Vec<&MapCell>)> {
        let known: Vec<(&MapCell, SeedRange)> =
            self.row(machine, workload).filter_map(|cell| Some((cell, cell.figure(figure)?))).collect();
        let (best, range) =
            known.iter().min_by(|(_, one), (_, other)| one.median.total_cmp(&other.median)).copied()?;
        let others = known.iter().filter(|(cell, _)| cell.policy != best.policy);
        let alike = others.filter(|(_, other)| other.low <= range.high).map(|(cell, _)| *cell).collect();
        (known.len() > 1).then_some((best, alike))
    }
}

impl Gathered {
    fn add(&mut self, row: &RunRow) {
        if row.error.is_some() || row.complete != Some(true) {
            self.failed += 1;
            return;
        }
        self.runs += 1;
        for (values, figure) in self.values.iter_mut().zip(MapFigure::ALL) {
            values.extend(figure.of(row).map(|value| value as f64));
        }
    }

    fn cell(self, (machine, workload, policy): (usize, usize, usize)) -> MapCell {
        let figures = self.values.map(|values| {
            let sorted = swtch_stats::sorted(&values);
            let (low, high) = (*sorted.first()?, *sorted.last()?);
            Some(SeedRange { low, median: swtch_stats::quantile_sorted(&sorted, 0.5), high })
        });
        MapCell { machine, workload, policy, runs: self.runs, failed: self.failed, figures }
    }
}

/// Names in the order in which they come, and the place of each: a sweep may have a million rows of thousands of workloads.
#[derive(Default)]
struct Names {
    listed: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    /// The place of a name; a new one goes to the end.
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.listed.push(name.to_owned());
        self.places.insert(name.to_owned(), self.listed.len() - 1);
        self.listed.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_sim::sweep::write_table;

    fn row(workload: &str, policy: &str, makespan_ns: Option<u64>) -> RunRow {
        let mut row = RunRow::default();
        (row.machine, row.workload, row.policy) = ("4".to_owned(), workload.to_owned(), policy.to_owned());
        (row.complete, row.makespan_ns) = (Some(makespan_ns.is_some()), makespan_ns);
        row
    }

    #[test]
    fn the_best_is_ahead_of_those_whose_seeds_do_not_overlap() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("t.parquet");
        let mut rows = Some(vec![
            row("a", "eevdf", Some(100)),
            row("a", "eevdf", Some(120)),
            row("a", "rr", Some(110)),
            row("a", "rr", Some(300)),
            row("a", "fifo", Some(121)),
            row("a", "fifo", Some(400)),
            row("b", "rr", Some(5)),
            row("b", "eevdf", None),
        ]);
        write_table(&table, (IDENTITY, "x"), &mut || Ok(rows.take())).unwrap();
        let map = PolicyMap::read(&table).unwrap();
        assert_eq!(
            (map.policies.as_slice(), map.workloads.len()),
            (&["eevdf", "rr", "fifo"].map(str::to_owned)[..], 2)
        );
        let (best, alike) = map.best(0, 0, MapFigure::Makespan).unwrap();
        assert_eq!((best.policy, best.figure(MapFigure::Makespan).unwrap().median), (0, 110.0));
        assert_eq!(alike.iter().map(|cell| cell.policy).collect::<Vec<_>>(), [1]);
        // The other one did not end, so there is nothing to compare with.
        assert_eq!(map.best(0, 1, MapFigure::Makespan), None);
        assert_eq!(map.row(0, 1).map(|cell| (cell.runs, cell.failed)).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
        assert_eq!(map.best(0, 0, MapFigure::Requests), None);
    }

    #[test]
    fn what_is_no_table_of_a_sweep_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("t.parquet");
        let mut rows = Some(vec![row("a", "rr", Some(1))]);
        write_table(&table, ("other", "x"), &mut || Ok(rows.take())).unwrap();
        let error = PolicyMap::read(&table).unwrap_err().to_string();
        assert!(error.contains("is not the table of a sweep; 'swtch sweep merge'"), "{error}");
        assert!(PolicyMap::read(&folder.path().join("none.parquet")).is_err());
    }
}
