//! Counts of CPUs, and what they are in the types of a Trace.

use swtch_trace::growth::Growth;
use swtch_trace::model::Lost;
use swtch_trace::tables::CpuRow;

/// All CPUs together, and each by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuCounts {
    /// Switches from a task, by CPU.
    pub switches: Vec<u64>,
    /// Switches from the idle task, by CPU.
    pub idle_switches: Vec<u64>,
    /// Direct cost of the switches between threads, between processes, from or to idle, ns.
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
}

impl CpuCounts {
    /// Counters that fell since `earlier`, which no honest counter does.
    pub(crate) fn fell(&self, earlier: &Self) -> u64 {
        let growth = Growth::default();
        for (now, before) in self.counters().zip(earlier.counters()) {
            growth.of(before, now);
        }
        growth.fell()
    }

    fn counters(&self) -> impl Iterator<Item = u64> + '_ {
        let sums =
            [self.costs, self.forks, self.threads, self.execs, self.exits, self.refused, self.ended_lost];
        let of_cpus = self.switches.iter().chain(&self.idle_switches);
        sums.into_iter().chain(self.cost_ns_by_kind).chain(of_cpus.copied())
    }

    /// What was lost, also where nothing was: a count that is missing is not the same as one that stands still.
    pub(crate) fn lost(&self) -> [Lost; 2] {
        [
            (self.refused, "arrivals of tasks, because the kernel had no memory to count them"),
            (self.ended_lost, "ends of tasks, because too many ended at once"),
        ]
        .map(|(events, what)| Lost { cpu: None, events, what: what.to_owned() })
    }

    /// A row for each CPU that has ever switched.
    pub(crate) fn rows(&self) -> Vec<CpuRow> {
        let counts = self.switches.iter().zip(&self.idle_switches);
        let rows = (0..).zip(counts).filter(|(_, (switches, idle))| **switches + **idle > 0);
        rows.map(|(cpu, (switches, idle_switches))| CpuRow {
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
    fn a_cpu_that_never_switched_has_no_row_and_a_counter_that_fell_is_counted() {
        let earlier = CpuCounts { switches: vec![5, 0], idle_switches: vec![2, 0], ..CpuCounts::default() };
        assert_eq!(earlier.rows(), [CpuRow { switches: 5, idle_switches: 2, ..CpuRow::default() }]);
        let now = CpuCounts { forks: 3, switches: vec![6, 1], ..earlier.clone() };
        assert_eq!((now.fell(&earlier), now.fell(&CpuCounts::default())), (0, 0));
        assert_eq!(earlier.fell(&now), 3);
    }
}
