//! A row of the table, simulated with one seed.

use super::{AccuracyError, AccuracyRow};
use std::collections::BTreeSet;
use swtch_profile::Profile;
use swtch_sched::{SimulatedFigure, SimulatedTimes};
use swtch_sim::plan::{Overrides, Plan, Work};
use swtch_sim::run::figures_and_events;
use swtch_sim::sink::{Sink, SwitchEvent, WakeEvent};
use swtch_sim::stats::Histogram;
use swtch_stats::{quantile_sorted, sorted};

/// What a seed came to.
pub(super) struct Simulated {
    pub(super) seconds: f64,
    pub(super) context_switches: f64,
    /// In the order of the row's own.
    pub(super) latencies_us: Vec<f64>,
}

/// What a row's work is: the text of a file has lines or braces, a name does not.
pub(super) fn work(text: &str) -> Work<'_> {
    if text.contains(['\n', '{']) { Work::Text(text) } else { Work::Named(text) }
}

/// One seed of a row.
pub(super) fn simulated(
    row: &AccuracyRow,
    machine: &str,
    seed: u64,
    profile: &Profile,
) -> Result<Simulated, AccuracyError> {
    let refused = |source| AccuracyError::Plan {
        work: row.work.clone(),
        policy: row.simulated_policy.clone(),
        source: Box::new(source),
    };
    let overrides = Overrides {
        machine: Some(machine.to_owned()),
        policies: vec![row.simulated_policy.clone()],
        seed: Some(seed),
        ..Overrides::default()
    };
    let plan = Plan::of(work(&row.work), "", &overrides, Some(profile)).map_err(refused)?;
    let mut lateness = Lateness::default();
    let run = figures_and_events(&plan.setting, &row.simulated_policy, &mut lateness)
        .map_err(|error| refused(error.into()))?;
    // A program whose own clock does not run from its start to its end has one request.
    let ns = match run.stats.requests.max() {
        Some(longest_ns) if run.stats.requests.count() == 1 => longest_ns,
        _ => run.makespan_ns,
    };
    // The last switch of a thread is in no count of its process: it has been taken off its accounts before (release_task, kernel/exit.c).
    let mut processes = BTreeSet::new();
    let own = run.tasks.iter().filter(|task| !task.kernel_thread);
    let threads = own.filter(|task| !processes.insert(task.process)).count() as u64;
    // The kernel's own threads are not of the load.
    let own = run.tasks.iter().zip(&run.stats.tasks).filter(|(task, _)| !task.kernel_thread);
    let switches: u64 = own.map(|(_, stats)| stats.voluntary + stats.involuntary).sum();
    let latency_us = |figure: &SimulatedFigure| {
        let share = figure.percent / 100.0;
        let of = |times: &Histogram| times.quantile(share).map_or(f64::NAN, |ns| ns as f64 / 1e3);
        match figure.times {
            SimulatedTimes::Request => of(&run.stats.requests),
            SimulatedTimes::Answer => of(&run.stats.answers),
            SimulatedTimes::Lateness => {
                let own = |task: usize| run.tasks.get(task).is_some_and(|task| !task.kernel_thread);
                let late =
                    lateness.late.iter().filter(|(task, _)| own(*task)).map(|(_, ns)| *ns as f64 / 1e3);
                quantile_sorted(&sorted(&late.collect::<Vec<_>>()), share)
            }
        }
    };
    Ok(Simulated {
        seconds: ns as f64 / 1e9,
        context_switches: switches.saturating_sub(threads) as f64,
        latencies_us: row.latencies.iter().map(|latency| latency_us(&latency.simulated_by)).collect(),
    })
}

/// From when sleeps were to end until their tasks run.
#[derive(Default)]
struct Lateness {
    /// By task, where it has been woken and has not run: since when.
    due_ns: Vec<Option<u64>>,
    /// Which task, and for how long, ns.
    late: Vec<(usize, u64)>,
}

impl Sink for Lateness {
    fn wake(&mut self, event: WakeEvent) {
        if self.due_ns.len() <= event.wakee {
            self.due_ns.resize(event.wakee + 1, None);
        }
        self.due_ns[event.wakee] = event.due_ns;
    }

    fn switch(&mut self, event: SwitchEvent) {
        let Some(task) = event.next else { return };
        let Some(due_ns) = self.due_ns.get_mut(task).and_then(Option::take) else { return };
        self.late.push((task, (event.at_ns + event.cost_ns).saturating_sub(due_ns)));
    }
}
