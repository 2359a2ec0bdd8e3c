//! Machines with any number of kinds of cores.

use crate::error::FairnessError;
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

/// A machine with several kinds of cores, and how fast each application is on each.
///
/// For two kinds this is what [`Policy::MinFair`](crate::Policy::MinFair) solves in closed form. For three and more, sharing alike is not the
/// best for everybody, so that even a guarantee of 1 can gain throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreTypes {
    counts: Vec<u32>,
    speeds: Vec<Vec<f64>>,
}

/// Shares of time, by application and kind of core.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedShares {
    /// Fraction of the time on the clock that an application (outer) spends on a kind of core (inner).
    pub shares: Vec<Vec<f64>>,
    /// What each application achieves, relative to sharing alike.
    pub performance: Vec<f64>,
}

impl CoreTypes {
    /// `counts` has how many cores there are of each kind, `speeds` for each application its speed on each kind, in any unit.
    ///
    /// # Errors
    /// When there is no core or no application, a row has another length than `counts`, or a speed is no number above 0.
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
        Ok(Self { counts, speeds })
    }

    /// Fraction of the time that each application runs at all.
    pub fn occupancy(&self) -> f64 {
        (self.cores() / self.speeds.len() as f64).min(1.0)
    }

    /// The speed of each application when all share all cores alike.
    pub fn equal_speeds(&self) -> Vec<f64> {
        let of = |row: &Vec<f64>| {
            let weighted: f64 =
                row.iter().zip(&self.counts).map(|(speed, count)| speed * f64::from(*count)).sum();
            self.occupancy() * weighted / self.cores()
        };
        self.speeds.iter().map(of).collect()
    }

    fn cores(&self) -> f64 {
        self.counts.iter().copied().map(f64::from).sum()
    }

    /// The shares with the most throughput that keep everybody at `min_fairness` of what sharing alike gives:
    /// maximise `mean(sum_k v_ik x_ik / base_i)` with `sum_k x_ik = c`, `sum_i x_ik <= n_k`, `sum_k v_ik x_ik >= M base_i`.
    ///
    /// # Errors
    /// When `min_fairness` is not from 0 to 1, or the solver gives up.
    pub fn min_fair(&self, min_fairness: f64) -> Result<TypedShares, FairnessError> {
        crate::Policy::MinFair { min_fairness }.check()?;
        let base = self.equal_speeds();
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let applications = self.speeds.len() as f64;
        let variables: Vec<Vec<Variable>> = self
            .speeds
            .iter()
            .zip(&base)
            .map(|(row, base)| {
                row.iter().map(|speed| problem.add_var(speed / base / applications, (0.0, 1.0))).collect()
            })
            .collect();
        for ((row, variables), base) in self.speeds.iter().zip(&variables).zip(&base) {
            let times: Vec<(Variable, f64)> = variables.iter().map(|variable| (*variable, 1.0)).collect();
            problem.add_constraint(&times[..], ComparisonOp::Eq, self.occupancy());
            let speeds: Vec<(Variable, f64)> =
                variables.iter().zip(row).map(|(variable, speed)| (*variable, speed / base)).collect();
            problem.add_constraint(&speeds[..], ComparisonOp::Ge, min_fairness);
        }
        for (kind, count) in self.counts.iter().enumerate() {
            let users: Vec<(Variable, f64)> = variables.iter().map(|row| (row[kind], 1.0)).collect();
            problem.add_constraint(&users[..], ComparisonOp::Le, f64::from(*count));
        }
        let unsolved = |why: String| FairnessError::Unsolved { why };
        let solution = problem
            .solve()
            .map_err(|error| unsolved(error.to_string()))?
            .into_solution()
            .map_err(|_| unsolved("the solver stopped before it was done".to_owned()))?;
        let shares: Vec<Vec<f64>> = variables
            .iter()
            .map(|row| row.iter().map(|variable| solution.var_value(*variable)).collect())
            .collect();
        let achieved = |((shares, speeds), base): ((&Vec<f64>, &Vec<f64>), &f64)| {
            shares.iter().zip(speeds).map(|(share, speed)| share * speed).sum::<f64>() / base
        };
        let performance = shares.iter().zip(&self.speeds).zip(&base).map(achieved).collect();
        Ok(TypedShares { shares, performance })
    }
}
