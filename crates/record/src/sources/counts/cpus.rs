//! Counts of CPUs, and what they are in the types of a Trace.

use super::ClassSums;
use super::shared::{CLASSES, RawCpu};
use super::windows::Seen;
use swtch_stats::class_quantile;
use swtch_trace::figures::OUTLIER_MEDIANS;
use swtch_trace::growth::Growth;
use swtch_trace::model::Lost;
use swtch_trace::tables::CpuRow;

/// Of fewer switches of a kind, the median is not known.
const LEAST_COSTS: u64 = 100;
/// No switch that takes less is called an outlier, ns.
const LEAST_OUTLIER_NS: u64 = 20_000;

/// Each CPU by itself, since the programs were attached.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuCounts(pub(super) Vec<RawCpu>);

impl CpuCounts {
    /// A counter of all together.
    pub(crate) fn sum(&self, of: fn(&RawCpu) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }

    /// Switches of all kinds, by the kernel's own count.
    pub(crate) fn all_switches(&self) -> u64 {
        self.sum(|cpu| cpu.switches + cpu.idle_switches)
    }

    /// Direct cost of the switches that were seen, between threads, between processes, from or to idle, ns.
    pub(crate) fn cost_ns_by_kind(&self) -> [u64; 3] {
        std::array::from_fn(|kind| self.0.iter().map(|cpu| cpu.cost_ns[kind]).sum())
    }

    /// Costs by CPU, in the classes of each kind. They are of 32 bits and wrap around when those are full: at the highest rates after some
    /// hours.
    pub(crate) fn cost_classes(&self) -> impl Iterator<Item = &[u32; 3 * CLASSES]> {
        self.0.iter().map(|cpu| &cpu.costs_by_kind)
    }

    /// A switch that takes longer is an outlier, ns: 20 medians of the slowest kind, as the bill has it. Nothing before enough were seen.
    pub(super) fn outlier_ns(&self) -> Option<u64> {
        let kind = |kind: usize| {
            let mut sums = ClassSums::default();
            for classes in self.cost_classes() {
                sums.grow(
                    &[0; CLASSES],
                    classes[kind * CLASSES..][..CLASSES].first_chunk()?,
                    &Growth::default(),
                );
            }
            let seen: u64 = sums.rows().map(|(_, _, count)| count).sum();
            (seen >= LEAST_COSTS).then(|| class_quantile(sums.rows(), 0.5, None))?
        };
        let slowest_ns = (0..3).filter_map(kind).max()?;
        Some((OUTLIER_MEDIANS * slowest_ns).max(LEAST_OUTLIER_NS))
    }

    /// The figures that windows tell.
    pub(super) fn seen(&self) -> Seen {
        let moves: [u64; 3] =
            std::array::from_fn(|level| self.0.iter().map(|cpu| cpu.migrations[level]).sum());
        let all_moves = moves.iter().sum();
        [
            (self.cost_ns_by_kind().iter().sum(), self.sum(|cpu| cpu.seen - cpu.outliers)),
            (self.sum(|cpu| cpu.arrivals_cost_ns), self.sum(|cpu| cpu.arrivals - cpu.arrivals_outliers)),
            (moves[0], all_moves),
            (moves[1], all_moves),
            (moves[2], all_moves),
        ]
    }

    /// The same less the kernel's sums at the beginning.
    pub(super) fn less(mut self, begun: &Self) -> Self {
        for (cpu, begun) in self.0.iter_mut().zip(&begun.0) {
            cpu.switches = cpu.switches.saturating_sub(begun.switches);
            cpu.idle_switches = cpu.idle_switches.saturating_sub(begun.idle_switches);
        }
        self
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
    pub(crate) fn lost(&self) -> [Lost; 3] {
        [
            (
                self.sum(|cpu| cpu.refused),
                "arrivals of tasks in windows, because the kernel had no storage for their counts at that moment",
            ),
            (self.sum(|cpu| cpu.ended_lost), "ends of tasks, because too many ended at once"),
            (self.sum(|cpu| cpu.early_ends), "last moments of tasks, because they could not be kept until they had ended"),
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

fn counters(cpu: &RawCpu) -> [u64; 14] {
    let RawCpu { switches, idle_switches, seen, arrivals, costs, forks, threads, execs, exits, .. } = *cpu;
    let [thread_ns, process_ns, idle_ns] = cpu.cost_ns;
    [
        switches,
        idle_switches,
        seen,
        arrivals,
        costs,
        forks,
        threads,
        execs,
        exits,
        cpu.refused,
        cpu.ended_lost,
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
        assert_eq!(now.less(&earlier).rows().iter().map(|row| row.switches).collect::<Vec<_>>(), [1, 1]);
    }
}
