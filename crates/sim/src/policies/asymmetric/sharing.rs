//! From speedups, weights and threads of applications to the shares of their tasks.

use super::kinds::{ByKind, Kinds, MOST_KINDS};
use super::options::AsymmetricOptions;
use swtch_fairness::{
    Allocator, CoreTypes, Cores, Ddof, Demand, FairnessError, Guaranteed, Policy as Rule, keep_least_of,
};

/// An application as it is known when shares are computed.
#[derive(Clone, Debug)]
pub(super) struct Application {
    /// Its live tasks.
    pub(super) tasks: Vec<usize>,
    /// The sum of their weights, 1 for nice 0.
    pub(super) weight: f64,
    /// Its speedup on each kind of core over the slowest, as far as it is known.
    pub(super) speedups: Option<ByKind<f64>>,
}

impl Application {
    fn demand(&self) -> Demand {
        Demand { weight: self.weight, threads: self.tasks.len() as u32 }
    }
}

/// Guaranteed fairness for applications whose speedups are all known.
pub(super) fn guaranteed(
    kinds: &Kinds,
    applications: &[Application],
    threshold: f64,
    ddof: Ddof,
) -> Option<Guaranteed> {
    let cores = fast_and_slow(kinds)?;
    let speedups: Option<Vec<f64>> = applications.iter().map(|one| Some(one.speedups?[0])).collect();
    let demands: Vec<Demand> = applications.iter().map(Application::demand).collect();
    if are_alike(&demands) {
        Guaranteed::new(cores, &speedups?, threshold, ddof).ok()
    } else {
        Guaranteed::by_weight(cores, &speedups?, &demands, threshold, ddof).ok()
    }
}

/// One task each, all of one weight.
fn are_alike(demands: &[Demand]) -> bool {
    demands.iter().all(|demand| demand.threads == 1 && demand.weight == demands[0].weight)
}

/// The fast cores and all others.
fn fast_and_slow(kinds: &Kinds) -> Option<Cores> {
    let (fast, others) = kinds.counts.split_first()?;
    Cores::new(*fast, others.iter().sum()).ok()
}

/// The part of its own time that each application spends on every kind of core.
pub(super) fn shares(
    kinds: &Kinds,
    applications: &[Application],
    rule: &Rule,
    options: &AsymmetricOptions,
) -> Result<Vec<ByKind<f64>>, FairnessError> {
    let least = if options.sampled { options.least_share } else { 0.0 };
    let is_known = applications.iter().all(|one| one.speedups.is_some());
    let rule = if is_known || !options.waits { *rule } else { Rule::MaxFair };
    if kinds.count() > 2 {
        of_several(kinds, applications, &rule, least)
    } else {
        of_two(kinds, applications, &rule, least)
    }
}

fn of_two(
    kinds: &Kinds,
    applications: &[Application],
    rule: &Rule,
    least: f64,
) -> Result<Vec<ByKind<f64>>, FairnessError> {
    let cores = fast_and_slow(kinds).ok_or(FairnessError::NoCores)?;
    let mut fast = vec![0.0; applications.len()];
    let mut allocator = Allocator::with_capacity(applications.len());
    let demands: Vec<Demand> = applications.iter().map(Application::demand).collect();
    let speedups: Vec<Option<f64>> =
        applications.iter().map(|one| one.speedups.map(|speedups| speedups[0])).collect();
    // The published rules, to the digit.
    if are_alike(&demands) && (speedups.iter().all(Option::is_some) || *rule == Rule::MaxFair) {
        let speedups: Vec<f64> = speedups.iter().map(|speedup| speedup.unwrap_or(1.0)).collect();
        allocator.allocate(cores, &speedups, rule, &mut fast)?;
    } else {
        allocator.allocate_known(cores, &speedups, &demands, rule, &mut fast)?;
    }
    if least > 0.0 {
        let cpus = |place: usize| allocator.entitled()[place].cpus;
        let budget = fast.iter().enumerate().map(|(place, share)| share * cpus(place)).sum();
        keep_least_of(&mut fast, cpus, least, budget);
    }
    let row = |fast: f64| {
        let mut row = [0.0; MOST_KINDS];
        (row[0], row[1]) = (fast, 1.0 - fast);
        row
    };
    Ok(fast.into_iter().map(row).collect())
}

fn of_several(
    kinds: &Kinds,
    applications: &[Application],
    rule: &Rule,
    least: f64,
) -> Result<Vec<ByKind<f64>>, FairnessError> {
    let speeds = |one: &Application| one.speedups.unwrap_or([1.0; MOST_KINDS])[..kinds.count()].to_vec();
    let machine = CoreTypes::new(kinds.counts.clone(), applications.iter().map(speeds).collect())?
        .with_demands(applications.iter().map(Application::demand).collect())?
        .with_unknown(applications.iter().map(|one| one.speedups.is_none()).collect())?
        .keeping(least);
    let row = |shares: Vec<f64>| {
        let mut row = [0.0; MOST_KINDS];
        row[..shares.len()].copy_from_slice(&shares);
        row
    };
    Ok(machine.allocate(rule)?.own_shares().into_iter().map(row).collect())
}
