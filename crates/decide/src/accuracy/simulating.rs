//! A row of the table, simulated with one seed.

use super::{AccuracyError, AccuracyRow};
use std::collections::BTreeSet;
use swtch_profile::Profile;
use swtch_sched::{SimulatedFigure, SimulatedTimes, Statistic};
use swtch_sim::machine::REFERENCE_SPEED;
use swtch_sim::plan::{Overrides, Plan, Work};
use swtch_sim::run::figures_and_events;
use swtch_sim::sink::{Sink, SwitchEvent, WakeEvent};
use swtch_sim::stats::Histogram;
use swtch_sim::workload::TaskSpec;
use swtch_stats::{mean, quantile_sorted, sorted};

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
    let of_tasks_us = |figure: &SimulatedFigure, times_ns: &[(usize, u64)]| {
        let wanted = |task: usize| {
            let named = |spec: &TaskSpec| figure.task.as_ref().is_none_or(|name| spec.name == *name);
            run.tasks.get(task).is_some_and(|spec| !spec.kernel_thread && named(spec))
        };
        let own = times_ns.iter().filter(|(task, _)| wanted(*task)).map(|(_, ns)| *ns as f64 / 1e3);
        taken(figure.of, &own.collect::<Vec<_>>())
    };
    let figure_us = |figure: &SimulatedFigure| match figure.times {
        SimulatedTimes::Request => of_all_us(figure.of, &run.stats.requests),
        SimulatedTimes::Answer => of_all_us(figure.of, &run.stats.answers),
        SimulatedTimes::Lateness => of_tasks_us(figure, &lateness.late),
        SimulatedTimes::Cpu => {
            let times = run.stats.tasks.iter().map(|task| task.work / u64::from(REFERENCE_SPEED)).enumerate();
            of_tasks_us(figure, &times.collect::<Vec<_>>())
        }
    };
    Ok(Simulated {
        seconds: ns as f64 / 1e9,
        context_switches: switches.saturating_sub(threads) as f64,
        latencies_us: row.latencies.iter().map(|latency| figure_us(&latency.simulated_by)).collect(),
    })
}

/// A figure of times, us.
fn taken(of: Statistic, times_us: &[f64]) -> f64 {
    let all = sorted(times_us);
    let (Some(shortest), Some(longest)) = (all.first(), all.last()) else { return f64::NAN };
    match of {
        Statistic::Median => quantile_sorted(&all, 0.5),
        Statistic::P99 => quantile_sorted(&all, 0.99),
        Statistic::Mean => mean(&all),
        Statistic::Longest => *longest,
        Statistic::Spread => longest - shortest,
    }
}

/// The same of times that are kept in classes.
fn of_all_us(of: Statistic, times: &Histogram) -> f64 {
    let us = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64 / 1e3);
    match of {
        Statistic::Median => us(times.quantile(0.5)),
        Statistic::P99 => us(times.quantile(0.99)),
        Statistic::Mean => times.sum() as f64 / times.count() as f64 / 1e3,
        Statistic::Longest => us(times.max()),
        Statistic::Spread => us(times.max()) - us(times.quantile(0.0)),
    }
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
