//! Machines with any number of kinds of cores.

use crate::allocate::mixed_part;
use crate::demand::{self, Demand, divide};
use crate::error::FairnessError;
use crate::linear::Program;
use crate::metrics::{Ddof, Metrics, mean_and_deviation};
use crate::policy::{POLICIES, Policy, Variant};
use crate::similar_kinds::{One, alike, groups, part_of_the_way};

/// A machine with several kinds of cores, and how fast each application is on each.
///
/// For two kinds this is what [`Policy::MinFair`](crate::Policy::MinFair) solves in closed form. For three and more, sharing alike is not the
/// best for everybody, so that even a guarantee of 1 can gain throughput.
///
/// ```
/// use swtch_fairness::CoreTypes;
///
/// let speeds = vec![vec![3.0, 2.0, 1.0], vec![2.8, 2.2, 1.0], vec![2.4, 1.8, 1.0], vec![1.6, 1.4, 1.0]];
/// let found = CoreTypes::new(vec![1, 1, 2], speeds)?.min_fair(0.85)?;
/// let least = found.performance.iter().copied().fold(f64::INFINITY, f64::min);
/// assert!((least - 0.85).abs() < 1e-9);
/// # Ok::<(), swtch_fairness::FairnessError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CoreTypes {
    counts: Vec<u32>,
    speeds: Vec<Vec<f64>>,
    demands: Vec<Demand>,
    least_share: f64,
    /// Applications that have what they are entitled to, whatever the policy.
    unknown: Vec<bool>,
}

/// Shares of time, by application and kind of core.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedShares {
    /// Fraction of the time on the clock that an application (outer), each of its tasks, spends on a kind of core (inner).
    pub shares: Vec<Vec<f64>>,
    /// What each application achieves, relative to what it is entitled to.
    pub performance: Vec<f64>,
    /// CPU time of each application, all of its tasks, in cores.
    pub cpus: Vec<f64>,
    /// The part of the throughput allocation in its mix with max-fair; of uni-fair and guaranteed fairness.
    pub mix: Option<f64>,
}

impl TypedShares {
    /// What the shares are measured by.
    pub fn metrics(&self, ddof: Ddof) -> Metrics {
        Metrics::weighted(&self.performance, &self.cpus, ddof)
    }

    /// The part of its own CPU time that each application (outer) spends on a kind of core (inner); together 1.
    pub fn own_shares(&self) -> Vec<Vec<f64>> {
        let own = |row: &Vec<f64>| {
            let sum: f64 = row.iter().sum();
            row.iter().map(|share| share / sum).collect()
        };
        self.shares.iter().map(own).collect()
    }
}

/// What each application is entitled to on machines with several kinds of cores.
struct Entitlements {
    /// CPU time of all its tasks, in cores.
    cpus: Vec<f64>,
    /// The part of that time on each kind of core.
    shares: Vec<Vec<f64>>,
}

impl CoreTypes {
    /// `counts` has the number of cores of each kind, from the fastest to the slowest. `speeds` has, for each application, its speed on each
    /// kind, in any unit.
    ///
    /// # Errors
    /// When there are no cores or applications, a row has another length than `counts`, or a speed is not a number above 0.
    pub fn new(counts: Vec<u32>, speeds: Vec<Vec<f64>>) -> Result<Self, FairnessError> {
        if counts.iter().all(|count| *count == 0) {
            return Err(FairnessError::NoCores);
        }
        if speeds.is_empty() {
            return Err(FairnessError::NoApplications);
        }
        for (index, row) in speeds.iter().enumerate() {
            if row.len() != counts.len() {
                let (found, expected) = (row.len(), counts.len());
                return Err(FairnessError::Length { what: "speeds of an application", found, expected });
            }
            if let Some(value) = row.iter().find(|speed| !(speed.is_finite() && **speed > 0.0)) {
                return Err(FairnessError::Speedup { index, value: *value });
            }
        }
        let (demands, unknown) = (vec![Demand::default(); speeds.len()], vec![false; speeds.len()]);
        Ok(Self { counts, speeds, demands, least_share: 0.0, unknown })
    }

    /// Sets the number of tasks of each application, which is one otherwise. The tasks of an application share alike, and each task counts as much
    /// as a task of another application.
    ///
    /// # Errors
    /// When `tasks` has another number of applications, or an application has no task.
    pub fn with_tasks(self, tasks: &[u32]) -> Result<Self, FairnessError> {
        let demand = |threads: &u32| Demand { weight: f64::from((*threads).max(1)), threads: *threads };
        self.with_demands(tasks.iter().map(demand).collect())
    }

    /// Sets weight and threads of each application.
    ///
    /// # Errors
    /// When `demands` has another number of applications, a weight is not a number above 0, or an application has no thread.
    pub fn with_demands(mut self, demands: Vec<Demand>) -> Result<Self, FairnessError> {
        let (found, expected) = (demands.len(), self.speeds.len());
        if found != expected {
            return Err(FairnessError::Length { what: "weights and threads", found, expected });
        }
        demand::check(&demands)?;
        self.demands = demands;
        Ok(self)
    }

    /// Every task spends this much of its own CPU time on every kind of core, so that its speeds can be sampled. It spends its equal share,
    /// where that is less.
    #[must_use]
    pub fn keeping(mut self, least_share: f64) -> Self {
        self.least_share = least_share;
        self
    }

    /// Applications whose speeds are not known yet, as those that have just come. These have what they are entitled to, and the others share what
    /// these leave by the policy. Whatever `speeds` says of them does not count.
    ///
    /// # Errors
    /// When there is another number of applications.
    pub fn with_unknown(mut self, unknown: Vec<bool>) -> Result<Self, FairnessError> {
        let (found, expected) = (unknown.len(), self.speeds.len());
        if found != expected {
            return Err(FairnessError::Length {
                what: "applications that are known or not",
                found,
                expected,
            });
        }
        self.unknown = unknown;
        Ok(self)
    }

    /// CPU time that each application is entitled to, in cores: by weight, a core at most for each of its tasks.
    fn cpus(&self) -> Vec<f64> {
        let mut cpus: Vec<f64> = self.demands.iter().map(|demand| f64::from(demand.threads)).collect();
        divide(self.counts.iter().copied().map(f64::from).sum(), &self.demands, &mut cpus, |one| one);
        cpus
    }

    /// What each application is entitled to: of each kind of core in turn by weight, from the fastest, within what is left of its CPU time. So no
    /// slower core is used while a faster one is idle, as with two kinds ([`Cores::entitle`](crate::Cores::entitle)). With as many tasks as
    /// cores, all of one weight, each application has every kind's part of the cores.
    fn entitlements(&self) -> Entitlements {
        let cpus = self.cpus();
        let (mut left, mut shares) = (cpus.clone(), vec![Vec::with_capacity(self.counts.len()); cpus.len()]);
        let mut parts = cpus.clone();
        for (kind, count) in self.counts.iter().enumerate() {
            parts.copy_from_slice(&left);
            // The last kind takes what is left: rounding must not leave some of it.
            if kind + 1 < self.counts.len() {
                divide(f64::from(*count), &self.demands, &mut parts, |part| part);
            }
            for (((shares, left), part), cpus) in shares.iter_mut().zip(&mut left).zip(&parts).zip(&cpus) {
                shares.push(part / cpus);
                *left = (*left - part).max(0.0);
            }
        }
        Entitlements { cpus, shares }
    }

    /// The share of its own CPU time that each application (outer) is entitled to on each kind of core (inner).
    pub fn equal_shares(&self) -> Vec<Vec<f64>> {
        self.entitlements().shares
    }

    /// Fraction of the time that each task of an application runs at all.
    pub fn occupancies(&self) -> Vec<f64> {
        let of = |(cpus, demand): (f64, &Demand)| cpus / f64::from(demand.threads);
        self.cpus().into_iter().zip(&self.demands).map(of).collect()
    }

    /// The speed of each application's tasks when each has what it is entitled to.
    pub fn equal_speeds(&self) -> Vec<f64> {
        let rates = self.speeds.iter().zip(self.equal_shares()).map(|(speeds, shares)| rate(speeds, &shares));
        rates.zip(self.occupancies()).map(|(rate, occupancy)| rate * occupancy).collect()
    }

    /// The shares with the most throughput that keep every task at `min_fairness` of its result when all have what they are entitled to. With one
    /// weight, they maximise `mean(sum_k v_ik x_ik / base_i)` with `sum_k x_ik = c`, `sum_i x_ik <= n_k` and `sum_k v_ik x_ik >= M base_i`. A
    /// [least share](Self::keeping) `l` that is kept adds `x_ik >= c l`. With weights the mean is by CPU time, as with two kinds. Kim and Huh
    /// (2018) leave more than two kinds as future work.
    ///
    /// # Errors
    /// When `min_fairness` is not from 0 to 1, or rounding errors are in the way.
    pub fn min_fair(&self, min_fairness: f64) -> Result<TypedShares, FairnessError> {
        self.allocate(&Policy::MinFair { min_fairness })
    }

    /// Shares by a policy. The definitions are this project's:
    ///
    /// - max-fair is what each is entitled to, and so is scaled-load;
    /// - max-perf is [`min_fair`](Self::min_fair) with a guarantee of 0;
    /// - r-fair keeps the part `r` of what each is entitled to on every kind but the slowest, and gets the most throughput from the rest; or it mixes
    ///   max-fair and max-perf;
    /// - uni-fair and guaranteed mix max-fair with min-fair and max-perf, as with two kinds;
    /// - similar-min-fair is min-fair, and then those that are about as much faster on every kind share their time on each kind alike. A group
    ///   of these goes only so far that all keep the guarantee, but all of the way as published.
    ///
    /// # Errors
    /// When the policy is defined for two kinds only (equal-speedup, equal-slowdown), a parameter is out of its range, or rounding
    /// errors are in the way.
    pub fn allocate(&self, policy: &Policy) -> Result<TypedShares, FairnessError> {
        policy.check()?;
        let entitled = self.entitlements();
        let floor = |of: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            let row = |(row, unknown): (&Vec<f64>, &bool)| {
                // All of it, so that nothing is left to move.
                if *unknown { row.clone() } else { row.iter().map(|share| of(*share)).collect() }
            };
            entitled.shares.iter().zip(&self.unknown).map(row).collect()
        };
        let least = || floor(&|equal| equal.min(self.least_share));
        let (own, mix) = match *policy {
            Policy::MaxFair | Policy::ScaledLoad => (entitled.shares.clone(), None),
            Policy::MaxPerf => (self.best(&entitled, &least(), 0.0)?, None),
            Policy::MinFair { min_fairness } => (self.best(&entitled, &least(), min_fairness)?, None),
            Policy::SimilarMinFair { min_fairness, similarity, published } => {
                let best = self.best(&entitled, &least(), min_fairness)?;
                (self.similar(&entitled, best, min_fairness, similarity, published), None)
            }
            Policy::RFair { r, variant: Variant::Greedy } => {
                let mut kept = floor(&|equal| equal.min(self.least_share.max(r * equal)));
                // An application on the slowest kind for a part of its time may have a faster one instead.
                let least = least();
                for (kept, least) in kept.iter_mut().zip(&least) {
                    kept[self.counts.len() - 1] = least[self.counts.len() - 1];
                }
                (self.best(&entitled, &kept, 0.0)?, None)
            }
            Policy::RFair { r, variant: Variant::Mix } => {
                (mixed(&self.best(&entitled, &least(), 0.0)?, &entitled.shares, 1.0 - r), None)
            }
            Policy::UniFair { uniformity, min_fairness, ddof } => {
                let best = self.best(&entitled, &least(), min_fairness)?;
                self.uniform(&entitled, &best, uniformity, ddof)
            }
            Policy::Guaranteed { threshold, ddof } => {
                let best = self.best(&entitled, &least(), 0.0)?;
                self.uniform(&entitled, &best, threshold, ddof)
            }
            Policy::EqualSpeedup | Policy::EqualSlowdown => {
                let others = POLICIES.iter().filter(|row| row.policy.is_for_any_kinds()).map(|row| row.name);
                let others = others.collect::<Vec<_>>().join(", ");
                let (policy, kinds) = (policy.name(), self.counts.len());
                return Err(FairnessError::TwoKindsOnly { policy, kinds, others });
            }
        };
        let performance = self.performance(&entitled, &own);
        let shares = own.into_iter().zip(self.occupancies());
        let shares = shares
            .map(|(row, occupancy)| row.into_iter().map(|share| (share * occupancy).max(0.0)).collect());
        Ok(TypedShares { shares: shares.collect(), performance, cpus: entitled.cpus, mix })
    }

    /// Shares of each application's own time with the most throughput, above these least ones.
    fn best(
        &self,
        entitled: &Entitlements,
        least: &[Vec<f64>],
        min_fairness: f64,
    ) -> Result<Vec<Vec<f64>>, FairnessError> {
        Moves::of(self, entitled, least, min_fairness).shares(least).ok_or_else(|| {
            let why = format!("the solver stopped at {min_fairness} for {} applications", self.speeds.len());
            FairnessError::Unsolved { why }
        })
    }

    /// What each achieves with these shares of its own time.
    fn performance(&self, entitled: &Entitlements, shares: &[Vec<f64>]) -> Vec<f64> {
        let of = |((speeds, own), equal): ((&Vec<f64>, &Vec<f64>), &Vec<f64>)| achieved(speeds, own, equal);
        self.speeds.iter().zip(shares).zip(&entitled.shares).map(of).collect()
    }

    /// These shares, with what similar applications have divided among them.
    fn similar(
        &self,
        entitled: &Entitlements,
        mut shares: Vec<Vec<f64>>,
        min_fairness: f64,
        similarity: f64,
        published: bool,
    ) -> Vec<Vec<f64>> {
        let before = self.performance(entitled, &shares);
        let one = |place: usize| One {
            speeds: &self.speeds[place],
            cpus: entitled.cpus[place],
            performance: before[place],
        };
        let all: Vec<One<'_>> = (0..before.len()).map(one).collect();
        for group in groups(&all, similarity) {
            // One that is not known yet has what it is entitled to.
            let group: Vec<usize> = group.into_iter().filter(|place| !self.unknown[*place]).collect();
            if group.len() < 2 {
                continue;
            }
            let alike = alike(&group, &all, &shares);
            let after = |place: usize| achieved(&self.speeds[place], &alike, &entitled.shares[place]);
            let way = |place: &usize| part_of_the_way(before[*place], after(*place), min_fairness);
            let part = if published { 1.0 } else { group.iter().map(way).fold(1.0, f64::min) };
            for place in group {
                shares[place] = mixed_row(&alike, &shares[place], part);
            }
        }
        shares
    }

    /// A mix of shares with max-fair that is as uniform as asked, and the part of the shares in it.
    fn uniform(
        &self,
        entitled: &Entitlements,
        best: &[Vec<f64>],
        uniformity: f64,
        ddof: Ddof,
    ) -> (Vec<Vec<f64>>, Option<f64>) {
        let achieved = self.performance(entitled, best);
        let pairs = achieved.iter().copied().zip(entitled.cpus.iter().copied());
        let (throughput, deviation) = mean_and_deviation(pairs, ddof);
        let part = mixed_part(throughput, deviation, uniformity);
        (mixed(best, &entitled.shares, part), Some(part))
    }
}

/// An application's speed while it runs, with these shares of its time.
fn rate(speeds: &[f64], shares: &[f64]) -> f64 {
    speeds.iter().zip(shares).map(|(speed, share)| speed * share).sum()
}

/// What an application achieves with shares of its own time, relative to what it is entitled to.
fn achieved(speeds: &[f64], own: &[f64], entitled: &[f64]) -> f64 {
    rate(speeds, own) / rate(speeds, entitled)
}

/// So much of the first and the rest of the second, entry by entry.
fn mixed(first: &[Vec<f64>], second: &[Vec<f64>], part: f64) -> Vec<Vec<f64>> {
    first.iter().zip(second).map(|(one, other)| mixed_row(one, other, part)).collect()
}

/// The same of one application's.
fn mixed_row(first: &[f64], second: &[f64], part: f64) -> Vec<f64> {
    first.iter().zip(second).map(|(one, other)| part * one + (1.0 - part) * other).collect()
}

/// The program as moves. At first every task spends all of its free time on the kind of core where it is fastest. A variable is the time
/// that it spends on another kind instead. A move costs throughput, so no moves are best. Too many tasks on a kind are not permitted: the
/// dual simplex method begins at such a point.
struct Moves {
    program: Program,
    /// The kind of core on which each application is fastest.
    best: Vec<usize>,
    kinds: usize,
}

impl Moves {
    fn of(machine: &CoreTypes, entitled: &Entitlements, least: &[Vec<f64>], min_fairness: f64) -> Self {
        let (applications, kinds) = (machine.speeds.len(), machine.counts.len());
        let fastest = |row: &Vec<f64>| {
            // Of equally fast ones the first: named from the fastest to the slowest, they are tried from there.
            (0..kinds).reduce(|best, kind| if row[kind] > row[best] { kind } else { best }).unwrap_or(0)
        };
        let best: Vec<usize> = machine.speeds.iter().map(fastest).collect();
        let mut moves = Self { program: Program::default(), best, kinds };
        moves.program.clear(2 * applications + kinds, applications * (kinds - 1));
        // In units of the mean CPU time of a task, so that numbers are near 1.
        let tasks: u32 = machine.demands.iter().map(|demand| demand.threads).sum();
        let unit = entitled.cpus.iter().sum::<f64>() / f64::from(tasks);
        let mut room: Vec<f64> = machine.counts.iter().map(|count| f64::from(*count) / unit).collect();
        for (application, speeds) in machine.speeds.iter().enumerate() {
            let (best, cpus) = (moves.best[application], entitled.cpus[application] / unit);
            let (least, equal) = (&least[application], rate(speeds, &entitled.shares[application]));
            let free = (1.0 - least.iter().sum::<f64>()).max(0.0);
            let (mine, guarantee) = (2 * application, 2 * application + 1);
            for (column, kind) in moves.columns(application) {
                let lost = (speeds[best] - speeds[kind]) / equal;
                let program = &mut moves.program;
                program.set_worth(column, -lost * cpus / f64::from(tasks));
                program.set(mine, column, 1.0);
                program.set(guarantee, column, lost);
                program.set(2 * applications + kind, column, cpus);
                program.set(2 * applications + best, column, -cpus);
            }
            let kept = rate(speeds, least);
            moves.program.set_limit(mine, free);
            moves.program.set_limit(guarantee, (kept + free * speeds[best]) / equal - min_fairness);
            room[best] -= cpus * free;
            for (room, least) in room.iter_mut().zip(least) {
                *room -= cpus * least;
            }
        }
        for (kind, room) in room.into_iter().enumerate() {
            moves.program.set_limit(2 * applications + kind, room);
        }
        moves
    }

    /// The variables of an application, and the kinds that they move to.
    fn columns(&self, application: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (best, first) = (self.best[application], application * (self.kinds - 1));
        (0..self.kinds)
            .filter(move |kind| *kind != best)
            .enumerate()
            .map(move |(index, kind)| (first + index, kind))
    }

    /// Of its own time, what a task of each application spends on every kind of core; `least` is what it must.
    fn shares(mut self, least: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
        let mut moved = vec![0.0; self.best.len() * (self.kinds - 1)];
        self.program.solve(&mut moved)?;
        let of = |((application, best), least): ((usize, &usize), &Vec<f64>)| {
            let mut row = least.clone();
            row[*best] += 1.0 - least.iter().sum::<f64>();
            for (column, kind) in self.columns(application) {
                row[kind] += moved[column];
                row[*best] -= moved[column];
            }
            row
        };
        Some(self.best.iter().enumerate().zip(least).map(of).collect())
    }
}
