//! All C(23, 6) = 100,947 mixes of 23 applications on two fast and four slow cores. The schedules are ideal (slides 15, 16 and 34 of Kim
//! and Huh).

use crate::mix::{Evaluator, Percent, SIZE};
use crate::registry::Options;
use crate::speedups;
use crate::table::{Grid, Row, Table};
use anyhow::Result;
use std::time::Instant;
use swtch_fairness::{Ddof, FairnessError, Metrics, Policy};
use swtch_stats::{mean, quantile_sorted, sorted};

/// Mixes that a thread takes at a time.
const BLOCK: usize = 4096;

/// Policies of the comparison.
fn policies() -> [(&'static str, Policy); 4] {
    let [perf, min_fair, similar] = crate::mix::published_policies();
    let uni_fair = Policy::UniFair { uniformity: 0.85, min_fairness: 0.0, ddof: Ddof::One };
    [perf, min_fair, similar, ("uni-fair(85 %)", uni_fair)]
}

/// The metrics of one mix, by policy.
type EngineOutcome = [Metrics; 4];

/// Published statements against two sets of 23 applications, the distributions of the first, and a third machine that is quite another one.
///
/// # Errors
/// When the speedups cannot be read.
pub(crate) fn run(options: Options) -> Result<Vec<Table>> {
    let sets = [
        ("Apple M1", speedups::values(&speedups::spec_2017("Apple_M1_P-Core_O3", "bookworm")?)),
        ("2.8 over 0.8 GHz", speedups::values(&speedups::evenly_spread(&speedups::estimated()?, 23))),
        (
            "Core i9-12900KS",
            speedups::values(&speedups::spec_2017("Intel_Core_i9-12900KS_P-Core_O3", "bookworm")?),
        ),
    ];
    let mut tables = Vec::new();
    for (index, (name, speedups)) in sets.into_iter().enumerate() {
        let start = Instant::now();
        let outcomes = all(&speedups, options.threads)?;
        let wall_seconds = start.elapsed().as_secs_f64();
        let mut table = statements(name, &outcomes, index < 2)?;
        table.wall_seconds = Some(wall_seconds);
        tables.push(table);
        if index == 0 {
            tables.push(distribution(name, &outcomes));
        }
    }
    Ok(tables)
}

/// The outcome of every mix of six, in lexical order; the same whatever the number of threads.
///
/// # Errors
/// When a speedup is none.
pub(crate) fn all(speedups: &[f64], threads: usize) -> Result<Vec<EngineOutcome>, FairnessError> {
    let mixes = combinations(speedups.len());
    let empty = Metrics { throughput: 0.0, min_fairness: 0.0, uniformity: 0.0 };
    let mut outcomes = vec![[empty; 4]; mixes.len()];
    let threads = threads.max(1);
    // Blocks are dealt out like cards, so that each thread writes places of its own and order never depends on timing.
    let mut hands: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, block) in mixes.chunks(BLOCK).zip(outcomes.chunks_mut(BLOCK)).enumerate() {
        hands[index % threads].push(block);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = hands
            .into_iter()
            .map(|hand| {
                scope.spawn(move || {
                    hand.into_iter().try_for_each(|(mixes, outcomes)| fill(speedups, mixes, outcomes))
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    Ok(outcomes)
}

fn fill(speedups: &[f64], mixes: &[[u8; SIZE]], outcomes: &mut [EngineOutcome]) -> Result<(), FairnessError> {
    let policies = policies();
    let mut evaluator = Evaluator::new()?;
    for (mix, outcome) in mixes.iter().zip(outcomes) {
        let speedups = mix.map(|index| speedups[usize::from(index)]);
        for ((_, policy), metrics) in policies.iter().zip(outcome) {
            *metrics = evaluator.metrics(&speedups, policy)?;
        }
    }
    Ok(())
}

/// All sets of six indices below `count`, in lexical order.
fn combinations(count: usize) -> Vec<[u8; SIZE]> {
    let mut found = Vec::new();
    let mut current: [u8; SIZE] = std::array::from_fn(|index| index as u8);
    if count < SIZE {
        return found;
    }
    loop {
        found.push(current);
        // The last index that can still move up.
        let Some(place) = (0..SIZE).rev().find(|place| usize::from(current[*place]) < count - SIZE + place)
        else {
            return found;
        };
        current[place] += 1;
        for next in place + 1..SIZE {
            current[next] = current[next - 1] + 1;
        }
    }
}

/// One metric of one policy over all mixes, in percent.
fn column(outcomes: &[EngineOutcome], policy: usize, metric: usize) -> Vec<f64> {
    outcomes.iter().map(|outcome| Percent::from(outcome[policy]).named()[metric].1).collect()
}

const THROUGHPUT: usize = 0;
const MIN_FAIRNESS: usize = 1;
const UNIFORMITY: usize = 2;

const MORE_TO_GAIN: &str = "these applications differ more than those of SPEC CPU2006 at 0.8 and 2.8 GHz";
const IDEAL: &str = "no estimate, no sampling and no swap costs throughput in an ideal schedule";
const HIGH: &str = "these speedups are higher, up to the 3.5 that clock rates allow";
const ALIKE: &str = "many of these estimates are alike, at the limit of 3.5";

/// Statements that do not come out.
fn departures(set: &str) -> &'static [(&'static str, &'static str)] {
    match set {
        "Apple M1" => &[(GAINED, MORE_TO_GAIN), (KEPT, IDEAL)],
        "2.8 over 0.8 GHz" => &[(LOST, HIGH), (RAISED, ALIKE)],
        _ => &[],
    }
}

const LOST: &str = "max-perf: minimum fairness lost, mean";
const GAINED: &str = "max-perf: throughput gained, mean";
const KEPT: &str = "similar-min-fair(0.2, 85 %): part of the gain of max-perf that is kept";
const RAISED: &str = "similar-min-fair(0.2, 85 %): uniformity raised over max-perf, mean";
const MISSED: &str = "similar-min-fair(0.2, 85 %): minimum missed, at most";

/// The published statements; those about fair policies are of similar-min-fair, the one proposed. For machines unlike the published one only
/// what comes out.
fn statements(name: &str, outcomes: &[EngineOutcome], is_compared: bool) -> Result<Table> {
    let mut table =
        Table::new(format!("All {} mixes of 23 applications, {name}, ideal schedules", outcomes.len()));
    let average = |policy, metric| mean(&column(outcomes, policy, metric));
    let (perf, similar) = (0, 2);
    let lost = 100.0 - average(perf, MIN_FAIRNESS);
    let gained = average(perf, THROUGHPUT) - 100.0;
    let kept = 100.0 * (average(similar, THROUGHPUT) - 100.0) / gained;
    let raised = average(similar, UNIFORMITY) - average(perf, UNIFORMITY);
    let worst = column(outcomes, similar, MIN_FAIRNESS).into_iter().fold(f64::INFINITY, f64::min);
    table.rows = vec![
        Row::new(LOST, 30.0, lost, "%", 0.0).within(30.0, 40.0),
        Row::new(GAINED, 4.0, gained, "%", 2.0),
        Row::new(KEPT, 51.0, kept, "%", 10.0),
        Row::new(RAISED, 24.0, raised, "points", 5.0),
        Row::new(MISSED, 3.0, 85.0 - worst, "points", 0.0).within(f64::NEG_INFINITY, 3.0),
    ];
    if !is_compared {
        table.rows =
            table.rows.into_iter().map(|row| Row::computed(row.what, row.obtained, row.unit)).collect();
    }
    for (what, why) in departures(name) {
        table.depart(what, why)?;
    }
    Ok(table)
}

fn distribution(name: &str, outcomes: &[EngineOutcome]) -> Table {
    let mut table = Table::new(format!(
        "The same, {name}: distribution over mixes, in percent of max-fair (not published)"
    ));
    let header = ["policy", "metric", "least", "10 %", "median", "90 %", "most", "mean"];
    let mut grid = Grid { header: header.map(str::to_owned).to_vec(), rows: Vec::new() };
    for (policy, (policy_name, _)) in policies().into_iter().enumerate() {
        for (metric, (metric_name, _)) in Percent::default().named().into_iter().enumerate() {
            let values = sorted(&column(outcomes, policy, metric));
            let mut row = vec![policy_name.to_owned(), metric_name.to_owned()];
            row.extend([0.0, 0.1, 0.5, 0.9, 1.0].map(|q| format!("{:.1}", quantile_sorted(&values, q))));
            row.push(format!("{:.1}", mean(&values)));
            grid.rows.push(row);
        }
    }
    table.grid = Some(grid);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_combinations_as_there_should_be() {
        let found = combinations(23);
        assert_eq!(found.len(), 100_947);
        assert_eq!(found[0], [0, 1, 2, 3, 4, 5]);
        assert_eq!(found[100_946], [17, 18, 19, 20, 21, 22]);
        assert!(found.is_sorted_by(|a, b| a < b), "none twice");
        assert_eq!((combinations(6).len(), combinations(5).len()), (1, 0));
    }

    #[test]
    fn outcomes_do_not_depend_on_the_number_of_threads() {
        let speedups: Vec<f64> = (0..18).map(|index| 1.3 + 0.17 * f64::from(index)).collect();
        let one = all(&speedups, 1).unwrap();
        assert_eq!(one.len(), 18_564);
        for threads in [2, 3, 7, 64] {
            assert_eq!(all(&speedups, threads).unwrap(), one, "{threads} threads");
        }
    }
}
