//! What changes to a replay do: the same policy and seeds, with the changes and without.

use crate::ensemble::{Interval, PolicyFigures, TaskFigures};
use serde::Serialize;

/// A replay with changes beside the same without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WhatIfEffects {
    /// The changes, in words.
    pub changes: Vec<String>,
    /// What they do under each policy.
    pub policies: Vec<Effect>,
}

/// What changes do under a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// The policy.
    pub policy: String,
    /// Whether any figure of it differs from seed to seed by less than by the changes.
    pub differs: bool,
    /// From the beginning until the last recorded task ended, ns.
    pub makespan_ns: FigureChange,
    /// Switches of the recorded tasks.
    pub context_switches: FigureChange,
    /// Each name among the tasks, numbers at its end left out.
    pub tasks: Vec<TaskEffect>,
}

/// What changes do to the tasks of a name. Figures of one that is not there are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskEffect {
    /// Their name.
    pub name: String,
    /// The median of one wait in a run queue, ns.
    pub wait_p50_ns: FigureChange,
    /// 99 waits of 100 are at most this long, ns.
    pub wait_p99_ns: FigureChange,
    /// The longest wait, ns.
    pub wait_max_ns: FigureChange,
    /// All time in run queues, ns.
    pub wait_ns: FigureChange,
    /// All time on CPUs, ns.
    pub run_ns: FigureChange,
    /// When the last of them ended, ns.
    pub ended_ns: FigureChange,
}

/// A figure without the changes and with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FigureChange {
    /// As recorded.
    pub before: Option<Interval>,
    /// With the changes.
    pub after: Option<Interval>,
    /// Whether the two intervals have no value in common: the seeds do not explain the difference.
    pub differs: bool,
}

impl FigureChange {
    fn of(before: Option<Interval>, after: Option<Interval>) -> Self {
        let apart = |(before, after): (Interval, Interval)| {
            let known = before.ci_low.is_some() && after.ci_low.is_some();
            known && !before.overlaps(&after)
        };
        Self { before, after, differs: before.zip(after).is_some_and(apart) }
    }

    /// After over before, less 1.
    pub(crate) fn part(&self) -> Option<f64> {
        let (before, after) = (self.before?, self.after?);
        (before.median > 0).then(|| after.median as f64 / before.median as f64 - 1.0)
    }
}

impl Effect {
    /// Of the same policy with the same seeds.
    pub(crate) fn of(before: &PolicyFigures, after: &PolicyFigures) -> Self {
        let mut names: Vec<&str> = before.tasks.iter().map(|row| row.name.as_str()).collect();
        let new = after.tasks.iter().map(|row| row.name.as_str()).filter(|name| !names.contains(name));
        names.extend(new.collect::<Vec<_>>());
        let makespan_ns = FigureChange::of(Some(before.makespan_ns), Some(after.makespan_ns));
        let context_switches = FigureChange::of(Some(before.context_switches), Some(after.context_switches));
        let tasks: Vec<TaskEffect> =
            names.into_iter().map(|name| TaskEffect::of(name, before, after)).collect();
        let differs =
            makespan_ns.differs || context_switches.differs || tasks.iter().any(TaskEffect::differs);
        Self { policy: after.policy.clone(), differs, makespan_ns, context_switches, tasks }
    }
}

impl TaskEffect {
    fn of(name: &str, before: &PolicyFigures, after: &PolicyFigures) -> Self {
        let find = |all: &PolicyFigures| all.tasks.iter().find(|row| row.name == name).cloned();
        let (before, after) = (find(before), find(after));
        let change = |of: fn(&TaskFigures) -> Option<Interval>| {
            FigureChange::of(before.as_ref().and_then(of), after.as_ref().and_then(of))
        };
        Self {
            name: name.to_owned(),
            wait_p50_ns: change(|row| row.wait_p50_ns),
            wait_p99_ns: change(|row| row.wait_p99_ns),
            wait_max_ns: change(|row| row.wait_max_ns),
            wait_ns: change(|row| Some(row.wait_ns)),
            run_ns: change(|row| Some(row.run_ns)),
            ended_ns: change(|row| row.ended_ns),
        }
    }

    fn differs(&self) -> bool {
        [self.wait_p50_ns, self.wait_p99_ns, self.wait_ns, self.run_ns, self.ended_ns]
            .iter()
            .any(|change| change.differs)
    }
}
