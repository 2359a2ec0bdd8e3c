//! What a run will cost: some are tried, and the others follow from their machine, workload and policy.
//!
//! The cost of a run is taken as a product of three factors. It only decides how shards are cut, so it need not be right: a shard that takes
//! longer is run all the same.

use swtch_sim::sweep::{Prepared, Sweep, SweepError};

/// Most runs that are tried.
const MOST_RUNS: u64 = 400;
/// Most CPU time for one of them, s. A run that takes longer is taken to cost this much: it gets a shard of its own or with few others.
const LONGEST_S: f64 = 2.0;
/// Most CPU time for all of them, s, and as a share of what the sweep is estimated to cost.
const MOST_S: f64 = 10.0;
const MOST_SHARE: f64 = 0.003;
/// In any case this much may be spent, s.
const LEAST_S: f64 = 0.05;
/// No run costs less, s.
const FLOOR_S: f64 = 1e-6;
/// How often the factors are adapted to each other.
const ROUNDS: usize = 8;

/// The costs of all runs.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    lengths: [usize; 4],
    /// Logarithms: of all, and of each machine, workload and policy beyond it.
    base: f64,
    factors: [Vec<f64>; 3],
}

/// A run that was tried: the places of its machine, workload and policy, and the logarithm of what it took.
type Tried = ([usize; 3], f64);

/// Tries runs from a step on, until enough is known or `stop` says so. `report` gets the step and what its run took, s.
///
/// # Errors
/// When a run cannot be.
pub(crate) fn try_runs(
    prepared: &Prepared,
    from: u64,
    stop: &dyn Fn() -> bool,
    report: &mut dyn FnMut(u64, f64),
) -> Result<(), SweepError> {
    let sweep = prepared.sweep();
    let cells = cells(sweep);
    let (mut count, mut spent) = (0.0, 0.0);
    for step in from..MOST_RUNS.min(cells) {
        let estimate: f64 = if count > 0.0 { spent / count * sweep.runs() as f64 } else { 0.0 };
        if spent > (MOST_SHARE * estimate).clamp(LEAST_S, MOST_S) || stop() {
            break;
        }
        let run = place(step, cells) * sweep.lengths()[3] as u64;
        let began = cpu_s();
        prepared.run(run, &mut || cpu_s() - began < LONGEST_S && !stop())?;
        let took = (cpu_s() - began).max(FLOOR_S);
        (count, spent) = (count + 1.0, spent + took);
        report(step, took);
    }
    Ok(())
}

/// CPU seconds of this thread.
pub(crate) fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Combinations of a machine, a workload and a policy.
fn cells(sweep: &Sweep) -> u64 {
    sweep.lengths()[..3].iter().map(|length| *length as u64).product()
}

/// The cell that is tried at a step: wherever it ends, those before lie evenly among all. No cell comes twice.
fn place(step: u64, cells: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut stride = (cells as f64 * 0.618_033_988_749_895) as u64;
    stride = stride.max(1);
    while gcd(stride, cells) != 1 {
        stride += 1;
    }
    (u128::from(step) * u128::from(stride) % u128::from(cells)) as u64
}

/// The machine, workload and policy of a cell.
fn places(cell: u64, lengths: [usize; 4]) -> [usize; 3] {
    let policies = lengths[2] as u64;
    let workloads = lengths[1] as u64;
    [
        (cell / policies / workloads) as usize,
        (cell / policies % workloads) as usize,
        (cell % policies) as usize,
    ]
}

impl Costs {
    /// All runs cost the same, s.
    pub(crate) fn alike(sweep: &Sweep, cost_s: f64) -> Self {
        let tried = [([0, 0, 0], cost_s.max(FLOOR_S).ln())];
        Self::of(sweep.lengths(), &tried)
    }

    /// From the steps that were tried, and what each took.
    pub(crate) fn of_steps(sweep: &Sweep, steps: &[(u64, f64)]) -> Self {
        let (lengths, cells) = (sweep.lengths(), cells(sweep));
        let steps = steps.iter().filter(|(step, _)| *step < cells);
        let tried: Vec<Tried> = steps
            .map(|(step, took)| (places(place(*step, cells), lengths), took.max(FLOOR_S).ln()))
            .collect();
        Self::of(lengths, &tried)
    }

    fn of(lengths: [usize; 4], tried: &[Tried]) -> Self {
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
            (count > 0).then(|| sum / f64::from(count))
        };
        let base = mean(&mut tried.iter().map(|(_, cost)| *cost)).unwrap_or((0.01_f64).ln());
        let mut costs =
            Self { lengths, base, factors: [0, 1, 2].map(|which: usize| vec![0.0; lengths[which]]) };
        for _ in 0..ROUNDS {
            for which in 0..3 {
                let mut known: Vec<Option<f64>> = vec![None; lengths[which]];
                let mut sums = vec![(0_u32, 0.0); lengths[which]];
                for (places, cost) in tried {
                    let rest = cost - costs.logarithm(*places) + costs.factors[which][places[which]];
                    let (count, sum) = &mut sums[places[which]];
                    (*count, *sum) = (*count + 1, *sum + rest);
                }
                for (known, (count, sum)) in known.iter_mut().zip(sums) {
                    *known = (count > 0).then(|| sum / f64::from(count));
                }
                costs.factors[which] = filled(&known);
            }
        }
        costs
    }

    fn logarithm(&self, places: [usize; 3]) -> f64 {
        self.base + (0..3).map(|which| self.factors[which][places[which]]).sum::<f64>()
    }

    /// What each run of a cell costs, s.
    pub(crate) fn of_cell(&self, cell: u64) -> f64 {
        self.logarithm(places(cell, self.lengths)).exp().max(FLOOR_S)
    }
}

/// Between two that are known, a straight line: parameters of a grid stand in order.
fn filled(known: &[Option<f64>]) -> Vec<f64> {
    let places: Vec<(usize, f64)> =
        known.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?))).collect();
    let at = |place: usize| {
        let after = places.partition_point(|(known, _)| *known < place);
        match (after.checked_sub(1).map(|before| places[before]), places.get(after).copied()) {
            (Some((low, before)), Some((high, after))) => {
                before + (after - before) * (place - low) as f64 / (high - low) as f64
            }
            (Some((_, one)), None) | (None, Some((_, one))) => one,
            (None, None) => 0.0,
        }
    };
    (0..known.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_cell_is_tried_at_most_once_and_early_ones_lie_apart() {
        for cells in [1, 2, 3, 10, 97, 1000] {
            let all: BTreeSet<u64> = (0..cells).map(|step| place(step, cells)).collect();
            assert_eq!(all.len() as u64, cells);
        }
        let mut first: Vec<u64> = (0..10).map(|step| place(step, 1000)).collect();
        first.sort_unstable();
        assert!(first.windows(2).all(|pair| pair[1] - pair[0] > 30), "{first:?}");
    }

    #[test]
    fn factors_are_found_from_half_of_the_cells_and_lie_between_neighbours() {
        let lengths = [2, 5, 3, 4];
        let truth = |[machine, workload, policy]: [usize; 3]| {
            0.001 * [1.0, 8.0][machine] * 2_f64.powi(workload as i32) * [1.0, 1.5, 0.5][policy]
        };
        let tried: Vec<Tried> = (0..30)
            .map(|cell| places(cell, lengths))
            .filter(|[machine, workload, policy]| *workload != 2 && (machine + workload + policy) % 2 == 0)
            .map(|places| (places, truth(places).ln()))
            .collect();
        assert_eq!(tried.len(), 12);
        let costs = Costs::of(lengths, &tried);
        for cell in 0..30 {
            let (found, expected) = (costs.of_cell(cell), truth(places(cell, lengths)));
            assert!((found / expected - 1.0).abs() < 0.15, "{cell}: {found} {expected}");
        }
    }
}
