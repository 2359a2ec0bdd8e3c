//! Machines with any number of kinds of cores.

use crate::error::FairnessError;
use crate::linear::Program;

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
    tasks: Vec<u32>,
    least_share: f64,
}

/// Shares of time, by application and kind of core.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedShares {
    /// Fraction of the time on the clock that an application (outer), each of its tasks, spends on a kind of core (inner).
    pub shares: Vec<Vec<f64>>,
    /// What each application achieves, relative to sharing alike.
    pub performance: Vec<f64>,
}

impl CoreTypes {
    /// `counts` has the number of cores of each kind. `speeds` has, for each application, its speed on each kind, in any unit.
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
        let tasks = vec![1; speeds.len()];
        Ok(Self { counts, speeds, tasks, least_share: 0.0 })
    }

    /// Sets the number of tasks of each application, which is one otherwise. The tasks of an application share alike, and each task counts as much
    /// as a task of another application.
    ///
    /// # Errors
    /// When `tasks` has another number of applications, or an application has no task.
    pub fn with_tasks(mut self, tasks: Vec<u32>) -> Result<Self, FairnessError> {
        let (found, expected) = (tasks.len(), self.speeds.len());
        if found != expected || tasks.contains(&0) {
            return Err(FairnessError::Length { what: "applications with tasks", found, expected });
        }
        self.tasks = tasks;
        Ok(self)
    }

    /// Every task spends this much of its own CPU time on every kind of core, so that its speeds can be sampled. It spends its equal share,
    /// where that is less.
    #[must_use]
    pub fn keeping(mut self, least_share: f64) -> Self {
        self.least_share = least_share;
        self
    }

    /// Fraction of the time that each task runs at all.
    pub fn occupancy(&self) -> f64 {
        (self.cores() / self.all_tasks()).min(1.0)
    }

    /// The share of its own CPU time that a task spends on each kind of core when all share all cores alike. It is the kind's
    /// part of the cores.
    pub fn equal_shares(&self) -> impl Iterator<Item = f64> {
        self.counts.iter().map(|count| f64::from(*count) / self.cores())
    }

    /// The speed of each application when all share all cores alike.
    pub fn equal_speeds(&self) -> Vec<f64> {
        self.speeds.iter().map(|row| self.occupancy() * self.equal_rate(row)).collect()
    }

    fn cores(&self) -> f64 {
        self.counts.iter().copied().map(f64::from).sum()
    }

    fn all_tasks(&self) -> f64 {
        self.tasks.iter().copied().map(f64::from).sum()
    }

    /// An application's speed while it runs, when all share alike.
    fn equal_rate(&self, speeds: &[f64]) -> f64 {
        speeds.iter().zip(self.equal_shares()).map(|(speed, share)| speed * share).sum()
    }

    /// The shares with the most throughput that keep every task at `min_fairness` of its result when all share alike. They maximise
    /// `mean(sum_k v_ik x_ik / base_i)` with `sum_k x_ik = c`, `sum_i x_ik <= n_k` and `sum_k v_ik x_ik >= M base_i`. A
    /// [least share](Self::keeping) `l` that is kept adds `x_ik >= c l`. Kim and Huh (2018) leave more than two kinds as future
    /// work.
    ///
    /// # Errors
    /// When `min_fairness` is not from 0 to 1, or rounding errors are in the way.
    pub fn min_fair(&self, min_fairness: f64) -> Result<TypedShares, FairnessError> {
        crate::Policy::MinFair { min_fairness }.check()?;
        let least: Vec<f64> = self.equal_shares().map(|equal| equal.min(self.least_share)).collect();
        let mut shares = Moves::of(self, &least, min_fairness).shares(&least).ok_or_else(|| {
            let why = format!("the solver stopped at {min_fairness} for {} applications", self.speeds.len());
            FairnessError::Unsolved { why }
        })?;
        let occupancy = self.occupancy();
        for share in shares.iter_mut().flatten() {
            *share = (*share * occupancy).max(0.0);
        }
        let achieved = |((shares, speeds), base): ((&Vec<f64>, &Vec<f64>), f64)| {
            shares.iter().zip(speeds).map(|(share, speed)| share * speed).sum::<f64>() / base
        };
        let performance = shares.iter().zip(&self.speeds).zip(self.equal_speeds()).map(achieved).collect();
        Ok(TypedShares { shares, performance })
    }
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
    fn of(machine: &CoreTypes, least: &[f64], min_fairness: f64) -> Self {
        let (applications, kinds) = (machine.speeds.len(), machine.counts.len());
        let fastest = |row: &Vec<f64>| {
            // Of equally fast ones the first: named from the fastest to the slowest, they are tried from there.
            (0..kinds).reduce(|best, kind| if row[kind] > row[best] { kind } else { best }).unwrap_or(0)
        };
        let best: Vec<usize> = machine.speeds.iter().map(fastest).collect();
        let mut moves = Self { program: Program::default(), best, kinds };
        moves.program.clear(2 * applications + kinds, applications * (kinds - 1));
        let free = 1.0 - least.iter().sum::<f64>();
        // In units of CPU time. All tasks have as many of them as there are, or fewer where there are more cores than tasks.
        let mut room: Vec<f64> = (machine.counts.iter().zip(least))
            .map(|(count, least)| f64::from(*count) / machine.occupancy() - machine.all_tasks() * least)
            .collect();
        for (application, speeds) in machine.speeds.iter().enumerate() {
            let (best, tasks) = (moves.best[application], f64::from(machine.tasks[application]));
            let equal = machine.equal_rate(speeds);
            let (mine, guarantee) = (2 * application, 2 * application + 1);
            for (column, kind) in moves.columns(application) {
                let lost = (speeds[best] - speeds[kind]) / equal;
                let program = &mut moves.program;
                program.set_worth(column, -lost * tasks / machine.all_tasks());
                program.set(mine, column, 1.0);
                program.set(guarantee, column, lost);
                program.set(2 * applications + kind, column, tasks);
                program.set(2 * applications + best, column, -tasks);
            }
            let kept: f64 = speeds.iter().zip(least).map(|(speed, least)| speed * least).sum();
            moves.program.set_limit(mine, free);
            moves.program.set_limit(guarantee, (kept + free * speeds[best]) / equal - min_fairness);
            room[best] -= tasks * free;
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
    fn shares(mut self, least: &[f64]) -> Option<Vec<Vec<f64>>> {
        let mut moved = vec![0.0; self.best.len() * (self.kinds - 1)];
        self.program.solve(&mut moved)?;
        let of = |(application, best): (usize, &usize)| {
            let mut row = least.to_vec();
            row[*best] += 1.0 - least.iter().sum::<f64>();
            for (column, kind) in self.columns(application) {
                row[kind] += moved[column];
                row[*best] -= moved[column];
            }
            row
        };
        Some(self.best.iter().enumerate().map(of).collect())
    }
}
