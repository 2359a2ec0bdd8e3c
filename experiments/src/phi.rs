//! FLSCHED's machine, policies and published figures (Jo, Kang, Min, Kim, APSys 2017), for the experiments that simulate it.

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use swtch_sim::costs::Costs;
use swtch_sim::machine::{Machine, named};
use swtch_sim::run::{PolicyRun, Setting, run};
use swtch_sim::sink::Nothing;
use swtch_sim::workload::Workload;
use swtch_topology::Host;

const FIGURES: &str = include_str!("../data/flsched_figures.json");

/// Names of the policies: in tables, in the file of figures, in the simulator.
pub(crate) const POLICIES: [(&str, &str, &str); 4] =
    [("CFS", "CFS", "cfs-2.6"), ("FIFO", "FIFO", "fifo"), ("RR", "RR", "rr"), ("FLSCHED", "FL", "flsched")];
/// The place of CFS among them.
pub(crate) const CFS: usize = 0;
/// The place of FLSCHED.
pub(crate) const FLSCHED: usize = 3;

/// CPUs of a Xeon Phi 31S1P.
pub(crate) const CPUS: usize = 228;

/// The first `cpus` CPUs of a Xeon Phi 31S1P, four to a core.
///
/// # Errors
/// None that are expected.
pub(crate) fn machine(cpus: usize) -> Result<Machine> {
    let whole = named("xeon-phi-31s1p", &Host::default())?;
    let part = whole.cpus[..cpus].to_vec();
    Machine::new("part of a Xeon Phi 31S1P", whole.types.clone(), part, whole.smt_speed.clone())
        .context("a part of a machine is one")
}

/// A workload there under a policy of the simulator.
///
/// # Errors
/// When the workload cannot run to its end.
pub(crate) fn simulate(cpus: usize, workload: Workload, policy: &str) -> Result<PolicyRun<Nothing>> {
    let costs = Costs::xeon_phi();
    let setting =
        Setting { machine: machine(cpus)?, costs, workload, options: swtch_sim::Options::default() };
    Ok(run(&setting, policy, Nothing)?)
}

/// What was read off the figures.
#[derive(Debug)]
pub(crate) struct Figures(Value);

impl Figures {
    /// # Errors
    /// When the file is none.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self(serde_json::from_str(FIGURES)?))
    }

    /// A figure by the names on the way to it.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn value(&self, path: &[&str]) -> Result<f64> {
        let found = path.iter().try_fold(&self.0, |value, name| value.get(name));
        found.and_then(Value::as_f64).with_context(|| format!("no figure {}", path.join("/")))
    }

    /// A curve of a figure at `x`. Between two of its points it is the line through them, beyond the last the line through the last two.
    ///
    /// # Errors
    /// When there is none, or it has fewer than two points.
    pub(crate) fn at(&self, figure: &str, axis: &str, curve: &str, x: f64) -> Result<f64> {
        let list = |name: &str| -> Result<Vec<f64>> {
            let values =
                self.0[figure][name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
            Ok(values)
        };
        let (xs, ys) = (list(axis)?, list(curve)?);
        if xs.len() < 2 || xs.len() != ys.len() {
            return Err(anyhow!(
                "figure {figure} has {} points of {curve} over {} of {axis}",
                ys.len(),
                xs.len()
            ));
        }
        let after = xs.partition_point(|known| *known < x).clamp(1, xs.len() - 1);
        let part = (x - xs[after - 1]) / (xs[after] - xs[after - 1]);
        Ok(ys[after - 1] + part * (ys[after] - ys[after - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_between_and_beyond_their_points() {
        let figures = Figures::read().unwrap();
        let exact = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
        exact(figures.value(&["fig1_normalised_OPS_1600thr", "is", "FL"]).unwrap(), 0.868);
        let cfs = |groups| figures.at("fig2_hackbench_thread_pipe_time_s", "groups", "CFS", groups).unwrap();
        exact(cfs(20.0), 2.447);
        exact(cfs(50.0), f64::midpoint(5.42, 8.06));
        exact(cfs(210.0), 19.36 + 0.5 * (19.36 - 17.334));
        assert!(figures.value(&["fig1", "is"]).is_err());
        assert!(figures.at("fig2_hackbench_thread_pipe_time_s", "groups", "EEVDF", 1.0).is_err());
    }

    #[test]
    fn a_part_of_the_machine_has_whole_cores() {
        let part = machine(28).unwrap();
        assert_eq!((part.cpus.len(), part.core(27)), (28, 24..28));
    }
}
