//! Counts of CPUs, and what they are in the types of a Trace.

use super::Classes;
use swtch_trace::growth::Growth;
use swtch_trace::model::{Lost, MigrationTotals, ProcessTotals, SwitchTotals, Totals};
use swtch_trace::tables::{CpuRow, TaskRow};

/// All CPUs together, and each by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuCounts {
    /// Switches from a task, by CPU.
    pub switches: Vec<u64>,
    /// Switches from the idle task, by CPU.
    pub idle_switches: Vec<u64>,
    /// Direct cost of all, ns.
    pub cost_ns: u64,
    /// The same between threads, between processes, from or to idle.
    pub cost_ns_by_kind: [u64; 3],
    /// Of how many switches.
    pub costs: u64,
    /// Processes created.
    pub forks: u64,
    /// Threads created, those of new processes among them.
    pub threads: u64,
    /// Programs executed.
    pub execs: u64,
    /// Processes ended.
    pub exits: u64,
    /// Times a task could not be counted, because the kernel gave no memory for it.
    pub refused: u64,
    /// Tasks whose end was lost, because too many ended between two readings.
    pub ended_lost: u64,
    /// Costs between threads, between processes, from or to idle.
    pub costs_by_kind: [Classes; 3],
}

impl CpuCounts {
    /// What came between `earlier` and these. Counters that fell are counted in `growth`; distributions are left out.
    pub(crate) fn delta(&self, earlier: &Self, growth: &Growth) -> Self {
        let each = |now: &[u64], before: &[u64]| -> Vec<u64> {
            let before = before.iter().copied().chain(std::iter::repeat(0));
            now.iter().zip(before).map(|(now, before)| growth.of(before, *now)).collect()
        };
        let since = |of: fn(&Self) -> u64| growth.of(of(earlier), of(self));
        Self {
            switches: each(&self.switches, &earlier.switches),
            idle_switches: each(&self.idle_switches, &earlier.idle_switches),
            cost_ns: since(|cpus| cpus.cost_ns),
            cost_ns_by_kind: std::array::from_fn(|kind| {
                growth.of(earlier.cost_ns_by_kind[kind], self.cost_ns_by_kind[kind])
            }),
            costs: since(|cpus| cpus.costs),
            forks: since(|cpus| cpus.forks),
            threads: since(|cpus| cpus.threads),
            execs: since(|cpus| cpus.execs),
            exits: since(|cpus| cpus.exits),
            refused: since(|cpus| cpus.refused),
            ended_lost: since(|cpus| cpus.ended_lost),
            ..Self::default()
        }
    }

    /// Totals of these, of the rows of tasks and of one row for many more.
    pub(crate) fn totals(&self, rows: &[TaskRow], more: Option<&TaskRow>) -> Totals {
        let sum = |of: fn(&TaskRow) -> Option<u64>| rows.iter().chain(more).map(of).sum::<Option<u64>>();
        Totals {
            context_switches: SwitchTotals {
                voluntary: sum(|row| Some(row.voluntary)),
                involuntary: sum(|row| Some(row.involuntary)),
                idle: Some(self.idle_switches.iter().sum()),
            },
            migrations: MigrationTotals {
                same_l2: sum(|row| row.migrations_same_l2),
                same_l3: sum(|row| row.migrations_same_l3),
                across: sum(|row| row.migrations_across),
            },
            processes: ProcessTotals {
                forked: Some(self.forks),
                execs: Some(self.execs),
                exited: Some(self.exits),
                peak: None,
            },
            threads_created: Some(self.threads),
            switch_cost_ns: Some(self.cost_ns),
            ..Totals::default()
        }
    }

    /// What was lost, also where nothing was: a count that is missing is not the same as one that stands still.
    pub(crate) fn lost(&self) -> [Lost; 2] {
        [
            (self.refused, "arrivals of tasks, because the kernel had no memory to count them"),
            (self.ended_lost, "ends of tasks, because too many ended at once"),
        ]
        .map(|(events, what)| Lost { cpu: None, events, what: what.to_owned() })
    }

    /// A row for each CPU that has ever switched, by the counts since the beginning.
    pub(crate) fn rows(&self, since_begin: &Self) -> Vec<CpuRow> {
        let ever = since_begin.switches.iter().zip(&since_begin.idle_switches);
        let counts = self.switches.iter().zip(&self.idle_switches);
        let rows = (0..).zip(counts.zip(ever)).filter(|(_, (_, (switches, idle)))| *switches + *idle > 0);
        rows.map(|(cpu, ((switches, idle_switches), _))| CpuRow {
            cpu,
            switches: *switches,
            idle_switches: *idle_switches,
            ..CpuRow::default()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_was_quiet_lately_has_a_row_and_one_that_never_switched_has_none() {
        let earlier = CpuCounts { switches: vec![5, 0], idle_switches: vec![2, 0], ..CpuCounts::default() };
        let now = CpuCounts { forks: 3, ..earlier.clone() };
        let growth = Growth::default();
        let delta = now.delta(&earlier, &growth);
        assert_eq!(delta.rows(&now), [CpuRow::default()]);
        assert_eq!((delta.forks, growth.fell()), (3, 0));
        // Nothing before: all of it is new.
        assert_eq!(now.delta(&CpuCounts::default(), &growth).switches, [5, 0]);
        assert_eq!((earlier.delta(&now, &growth).forks, growth.fell()), (0, 1));
    }
}
