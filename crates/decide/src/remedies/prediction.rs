//! What a setting is predicted to do: by the simulator, which runs the recorded work again, or by the bill.

use super::Goal;
use super::candidates::Setting;
use std::path::Path;
use swtch_cost::Bill;
use swtch_profile::Profile;
use swtch_sim::plan::{Overrides, Plan, Work};
use swtch_sim::simulate;
use swtch_sim::summary::Summary;
use swtch_trace::TraceView;
use swtch_units::Silent;

/// A prediction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Predicted {
    pub(super) ratio: Option<f64>,
    /// What predicted it, or why nothing did.
    pub(super) by: String,
}

impl Predicted {
    fn none(why: impl Into<String>) -> Self {
        Self { ratio: None, by: why.into() }
    }
}

/// The kernel's fair class in the simulator.
const FAIR: &str = "eevdf";

/// Predicts from one recording.
pub(super) struct Predictor<'a> {
    trace: String,
    view: TraceView<'a>,
    bill: &'a Bill,
    profile: Option<&'a Profile>,
    /// CPUs that the command may use.
    cpus: usize,
    /// The recorded work, as it is.
    present: Result<Summary, String>,
}

impl<'a> Predictor<'a> {
    pub(super) fn new(
        trace: &Path,
        view: TraceView<'a>,
        bill: &'a Bill,
        profile: Option<&'a Profile>,
    ) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let mut new = Self {
            trace: trace.display().to_string(),
            view,
            bill,
            profile,
            cpus,
            present: Err(String::new()),
        };
        new.present = new.replayed(cpus, FAIR);
        new
    }

    pub(super) fn predict(&self, setting: &Setting, goal: Goal) -> Predicted {
        match setting {
            Setting::Threads(threads) => self.of_threads(*threads, goal),
            Setting::Cpus { cpus, elsewhere: false } => self.simulated(cpus.len(), FAIR, goal),
            Setting::Cpus { elsewhere: true, .. } => self.elsewhere(goal),
            Setting::Slice(ns) => {
                self.simulated(self.cpus, &format!("{FAIR}:slice-ms={}", *ns as f64 / 1e6), goal)
            }
            Setting::Fifo => self.simulated(self.cpus, "fifo", goal),
            Setting::Batch => Predicted::none("the simulator has no class for batches"),
            Setting::Named => Predicted::none("nothing says what the value does"),
        }
    }

    /// The recorded work again on this number of CPUs, under this policy.
    fn replayed(&self, cpus: usize, policy: &str) -> Result<Summary, String> {
        let overrides = Overrides {
            machine: Some(cpus.to_string()),
            policies: vec![policy.to_owned()],
            ..Overrides::default()
        };
        let plan = Plan::of(Work::Recording(&self.trace), "", &overrides, self.profile)
            .map_err(|error| error.to_string())?;
        let (mut document, _) = simulate(&plan, None, &mut Silent).map_err(|error| error.to_string())?;
        document.runs.pop().ok_or_else(String::new)
    }

    fn simulated(&self, cpus: usize, policy: &str, goal: Goal) -> Predicted {
        let (present, other) = match (&self.present, self.replayed(cpus, policy)) {
            (Ok(present), Ok(other)) => (present, other),
            (Err(why), _) => return Predicted::none(why.clone()),
            (_, Err(why)) => return Predicted::none(why),
        };
        let of = |summary: &Summary| match goal {
            Goal::Time => summary.makespan_ns,
            Goal::CpuTime => summary.cpu_ns.sum_ns() - summary.cpu_ns.idle_ns,
            Goal::Switches => summary.context_switches,
        };
        let before = of(present);
        let ratio = (before > 0).then(|| of(&other) as f64 / before as f64);
        Predicted {
            ratio,
            by: format!("the simulator, which runs the recording again under {policy} on {cpus} CPUs"),
        }
    }

    /// On CPUs that it does not use now, it meets neither the interrupts nor the programs that it waited behind.
    fn elsewhere(&self, goal: Goal) -> Predicted {
        let Some(waits) = self.bill.waits.as_ref().filter(|_| goal == Goal::Time) else {
            return Predicted::none("the recording does not say what it waited behind");
        };
        let parts = waits.programs.iter().flat_map(|program| &program.behind);
        let behind_ns: u64 = parts.filter(|part| !part.in_scope).map(|part| part.ns).sum();
        let available_ns = (self.view.header.duration_ns as f64 * self.cpus as f64).max(1.0);
        let ratio = (1.0 - behind_ns as f64 / available_ns).max(0.0);
        Predicted {
            ratio: Some(ratio),
            by: "the waits behind interrupts and other programs, which it leaves".to_owned(),
        }
    }

    /// As many threads as CPUs take the CPU from each other no more: their involuntary switches go, and what these cost. With fewer, the rest of the
    /// work has fewer CPUs.
    fn of_threads(&self, threads: u32, goal: Goal) -> Predicted {
        let (mut involuntary, mut switches, mut run_ns) = (0_u64, 0_u64, 0_u64);
        for task in self.view.in_scope() {
            involuntary += task.involuntary;
            switches += task.switches();
            run_ns += task.run_ns;
        }
        if switches == 0 {
            return Predicted::none("nothing switched");
        }
        let of_switches = involuntary as f64 / switches as f64;
        let saved = self.bill.share.map_or(0.0, |share| share.low) * of_switches;
        let duration_ns = (self.view.header.duration_ns as f64).max(1.0);
        let used = (run_ns as f64 / duration_ns).max(1.0);
        let slower = (used / f64::from(threads)).max(1.0);
        let ratio = match goal {
            Goal::Time => (1.0 - saved) * slower,
            Goal::CpuTime => 1.0 - saved,
            Goal::Switches => 1.0 - of_switches,
        };
        Predicted {
            ratio: Some(ratio),
            by: "the bill: involuntary switches are saved, at the least that they cost".to_owned(),
        }
    }
}
