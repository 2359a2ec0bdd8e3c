//! Counts of CPUs, and what they are in the types of a Trace.

use super::shared::{CLASSES, RawCpu};
use swtch_trace::growth::Growth;
use swtch_trace::model::Lost;
use swtch_trace::tables::CpuRow;

/// Each CPU by itself, since the programs were loaded.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuCounts(pub(super) Vec<RawCpu>);

impl CpuCounts {
    /// A counter of all together.
    pub(crate) fn sum(&self, of: fn(&RawCpu) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }

    /// Direct cost of the switches between threads, between processes, from or to idle, ns.
    pub(crate) fn cost_ns_by_kind(&self) -> [u64; 3] {
        std::array::from_fn(|kind| self.0.iter().map(|cpu| cpu.cost_ns[kind]).sum())
    }

    /// Costs by CPU, in the classes of each kind. They are of 32 bits and wrap around when those are full: at the highest rates after some
    /// hours.
    pub(crate) fn cost_classes(&self) -> impl Iterator<Item = &[u32; 3 * CLASSES]> {
        self.0.iter().map(|cpu| &cpu.costs_by_kind)
    }

    /// Counters that fell since `earlier`, which no honest counter does.
    pub(crate) fn fell(&self, earlier: &Self) -> u64 {
        let growth = Growth::default();
        for (now, before) in self.0.iter().zip(&earlier.0) {
            for (now, before) in counters(now).into_iter().zip(counters(before)) {
                growth.of(before, now);
            }
        }
        growth.fell()
    }

    /// What was lost, also where nothing was: a count that is missing is not the same as one that does not grow.
    pub(crate) fn lost(&self) -> [Lost; 2] {
        [
            (
                self.sum(|cpu| cpu.refused),
                "arrivals of tasks, because the kernel had no storage for their counts at that moment",
            ),
            (self.sum(|cpu| cpu.ended_lost), "ends of tasks, because too many ended at once"),
        ]
        .map(|(events, what)| Lost { cpu: None, events, what: what.to_owned() })
    }

    /// A row for each CPU that has ever switched.
    pub(crate) fn rows(&self) -> Vec<CpuRow> {
        let rows = self.0.iter().zip(0..).map(|(raw, cpu)| CpuRow {
            cpu,
            switches: raw.switches,
            idle_switches: raw.idle_switches,
            ..CpuRow::default()
        });
        rows.filter(|row| row.switches + row.idle_switches > 0).collect()
    }
}

fn counters(cpu: &RawCpu) -> [u64; 12] {
    let RawCpu { switches, idle_switches, costs, forks, threads, execs, exits, refused, ended_lost, .. } =
        *cpu;
    let [thread_ns, process_ns, idle_ns] = cpu.cost_ns;
    [
        switches,
        idle_switches,
        costs,
        forks,
        threads,
        execs,
        exits,
        refused,
        ended_lost,
        thread_ns,
        process_ns,
        idle_ns,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_never_switched_has_no_row_and_a_counter_that_fell_is_counted() {
        let cpu =
            |switches, idle_switches, forks| RawCpu { switches, idle_switches, forks, ..RawCpu::default() };
        let earlier = CpuCounts(vec![cpu(5, 2, 0), cpu(0, 0, 0)]);
        assert_eq!(earlier.rows(), [CpuRow { switches: 5, idle_switches: 2, ..CpuRow::default() }]);
        let now = CpuCounts(vec![cpu(6, 2, 3), cpu(1, 0, 0)]);
        assert_eq!((now.fell(&earlier), now.fell(&CpuCounts::default())), (0, 0));
        assert_eq!((earlier.fell(&now), now.sum(|cpu| cpu.switches)), (3, 7));
    }
}
