//! A replay with several seeds: what its figures are, and how far apart runs lie.

use crate::error::SimError;
use crate::run::{PolicyRun, Setting, run};
use crate::sink::{Any, Sink, SwitchEvent, WakeEvent};
use crate::stats::{Durations, Histogram};
use crate::workload::{TaskSpec, stem};
use serde::Serialize;
use std::collections::BTreeMap;
use swtch_stats::{median, quantile_interval_sorted};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// All policies of a replay with the same seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ensemble {
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Each policy, in the order of the runs.
    pub policies: Vec<PolicyFigures>,
}

/// A figure over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// The median.
    pub median: u64,
    /// The lower end of its confidence interval (95 %); absent with fewer than six seeds.
    pub ci_low: Option<u64>,
    /// The upper end likewise.
    pub ci_high: Option<u64>,
}

impl Interval {
    /// Of the figures of some seeds; absent without any.
    pub(crate) fn of(figures: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut values: Vec<f64> = figures.into_iter().map(|figure| figure as f64).collect();
        values.sort_by(f64::total_cmp);
        if values.is_empty() {
            return None;
        }
        let ends = quantile_interval_sorted(&values, 0.5, CONFIDENCE);
        Some(Self {
            median: median(&values) as u64,
            ci_low: ends.low.map(|end| end as u64),
            ci_high: ends.high.map(|end| end as u64),
        })
    }

    /// Whether both have intervals, and these have a value in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let meets =
            |low: Option<u64>, high: Option<u64>| low.zip(high).is_some_and(|(low, high)| low <= high);
        meets(self.ci_low, other.ci_high) && meets(other.ci_low, self.ci_high)
    }
}

/// A policy over the seeds. Only recorded tasks count, not those that run beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PolicyFigures {
    /// The policy.
    pub policy: String,
    /// Whether all tasks that count ended, with every seed.
    pub complete: bool,
    /// From the beginning until the last recorded task ended, ns.
    pub makespan_ns: Interval,
    /// Voluntary and involuntary switches.
    pub context_switches: Interval,
    /// Of those, the voluntary ones.
    pub voluntary: Interval,
    /// The involuntary ones.
    pub involuntary: Interval,
    /// Moves between CPUs.
    pub migrations: Interval,
    /// The median of waits in run queues, ns.
    pub wait_p50_ns: Option<Interval>,
    /// Nine waits of ten are at most this long, ns.
    pub wait_p90_ns: Option<Interval>,
    /// 99 waits of 100 are at most this long, ns.
    pub wait_p99_ns: Option<Interval>,
    /// Tasks by name, numbers at its end left out; those that run beside the recorded ones come last.
    pub tasks: Vec<TaskFigures>,
}

/// Tasks of one name over the seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskFigures {
    /// Their name, numbers at its end left out.
    pub name: String,
    /// How many there were.
    pub tasks: u64,
    /// Whether they were recorded, and do not only run beside those that were.
    pub recorded: bool,
    /// Time on CPUs, ns.
    pub run_ns: Interval,
    /// Time in run queues, ns.
    pub wait_ns: Interval,
    /// When the last of them ended, ns; absent where one had not.
    pub ended_ns: Option<Interval>,
    /// The median of one wait, ns.
    pub wait_p50_ns: Option<Interval>,
    /// 99 waits of 100 are at most this long, ns.
    pub wait_p99_ns: Option<Interval>,
    /// The longest wait, ns.
    pub wait_max_ns: Option<Interval>,
}

/// Runs a policy with each of the seeds. `recorded` is how many of the workload's tasks were recorded.
///
/// # Errors
/// The first run's that fails.
pub(crate) fn ensemble(
    setting: &Setting,
    recorded: usize,
    policy: &str,
    seeds: &[u64],
    sink: &mut dyn Sink,
) -> Result<PolicyFigures, SimError> {
    let runs = seeds.iter().map(|seed| {
        let mut setting = setting.clone();
        setting.options.seed = *seed;
        let groups = Groups::of(&setting.workload.tasks, recorded);
        let mut waits = Waits::new(groups, &mut *sink);
        let run = run(&setting, policy, Any(&mut waits)).map(PolicyRun::without_sink)?;
        Ok(SeedRun::of(&run, &waits, recorded))
    });
    Ok(together(policy, &runs.collect::<Result<Vec<_>, SimError>>()?))
}

/// Which tasks are of one name.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// By task.
    of_task: Vec<usize>,
    /// Name, and whether they were recorded.
    names: Vec<(String, bool)>,
}

impl Groups {
    fn of(tasks: &[TaskSpec], recorded: usize) -> Self {
        let mut groups = Self::default();
        let mut places: BTreeMap<(&str, bool), usize> = BTreeMap::new();
        for (place, task) in tasks.iter().enumerate() {
            let key = (stem(&task.name), place < recorded);
            let next = groups.names.len();
            let group = *places.entry(key).or_insert(next);
            if group == next {
                groups.names.push((key.0.to_owned(), key.1));
            }
            groups.of_task.push(group);
        }
        groups
    }
}

/// Waits in run queues by name of the task, counted as the engine counts them. A task that was forked counts in no group.
struct Waits<'a> {
    groups: Groups,
    since_ns: Vec<u64>,
    /// Of each group.
    of_group: Vec<Histogram>,
    /// Of all recorded tasks.
    all: Histogram,
    then: &'a mut dyn Sink,
}

impl<'a> Waits<'a> {
    fn new(groups: Groups, then: &'a mut dyn Sink) -> Self {
        let since_ns = vec![0; groups.of_task.len()];
        let of_group = vec![Histogram::default(); groups.names.len()];
        Self { groups, since_ns, of_group, all: Histogram::default(), then }
    }

    fn begins(&mut self, at_ns: u64, task: usize) {
        if let Some(since_ns) = self.since_ns.get_mut(task) {
            *since_ns = at_ns;
        }
    }
}

impl Sink for Waits<'_> {
    fn switch(&mut self, event: SwitchEvent) {
        if let Some(task) = event.prev.filter(|_| event.prev_runnable) {
            self.begins(event.at_ns, task);
        }
        if let Some(task) = event.next
            && let Some(group) = self.groups.of_task.get(task)
        {
            let waited_ns = event.at_ns.saturating_sub(self.since_ns[task]);
            self.of_group[*group].add(waited_ns);
            if self.groups.names[*group].1 {
                self.all.add(waited_ns);
            }
        }
        self.then.switch(event);
    }

    fn wake(&mut self, event: WakeEvent) {
        self.begins(event.at_ns, event.wakee);
        self.then.wake(event);
    }

    fn fork(&mut self, at_ns: u64, parent: Option<usize>, child: usize) {
        self.begins(at_ns, child);
        self.then.fork(at_ns, parent, child);
    }

    fn exit(&mut self, at_ns: u64, task: usize) {
        self.then.exit(at_ns, task);
    }

    fn goes_on(&mut self, now_ns: u64, events: u64) -> bool {
        self.then.goes_on(now_ns, events)
    }
}

/// One seed's figures.
struct SeedRun {
    makespan_ns: u64,
    complete: bool,
    voluntary: u64,
    involuntary: u64,
    migrations: u64,
    waits: Durations,
    tasks: Vec<SeedTasks>,
}

struct SeedTasks {
    name: String,
    recorded: bool,
    tasks: u64,
    run_ns: u64,
    wait_ns: u64,
    /// Of the last that ended, while all did.
    ended_ns: Option<u64>,
    waits: Durations,
}

impl SeedRun {
    fn of<S>(run: &PolicyRun<S>, waits: &Waits<'_>, recorded: usize) -> Self {
        let groups = &waits.groups;
        let mut tasks: Vec<SeedTasks> = groups
            .names
            .iter()
            .zip(&waits.of_group)
            .map(|((name, recorded), waits)| SeedTasks {
                name: name.clone(),
                recorded: *recorded,
                tasks: 0,
                run_ns: 0,
                wait_ns: 0,
                ended_ns: Some(0),
                waits: Durations::of(waits),
            })
            .collect();
        for (task, group) in groups.of_task.iter().enumerate() {
            let row = &mut tasks[*group];
            row.tasks += 1;
            row.run_ns += run.run_ns[task];
            row.wait_ns += run.wait_ns[task];
            let ended_ns = run.stats.tasks[task].ended_ns;
            row.ended_ns = row.ended_ns.zip(ended_ns).map(|(before, ended_ns)| before.max(ended_ns));
        }
        let counted = || run.stats.tasks.iter().take(recorded);
        Self {
            makespan_ns: run.makespan_ns,
            complete: run.complete,
            voluntary: counted().map(|task| task.voluntary).sum(),
            involuntary: counted().map(|task| task.involuntary).sum(),
            migrations: counted().map(|task| task.migrations).sum(),
            waits: Durations::of(&waits.all),
            tasks,
        }
    }
}

/// The figures of all seeds.
fn together(policy: &str, runs: &[SeedRun]) -> PolicyFigures {
    let count = |of: fn(&SeedRun) -> u64| Interval::of(runs.iter().map(of)).unwrap_or_default();
    let wait = |of: fn(&Durations) -> Option<u64>| Interval::of(runs.iter().filter_map(|run| of(&run.waits)));
    let groups = runs.first().map_or(0, |run| run.tasks.len());
    let mut tasks: Vec<TaskFigures> = (0..groups)
        .map(|place| {
            let all = || runs.iter().map(move |run| &run.tasks[place]);
            let count = |of: fn(&SeedTasks) -> u64| Interval::of(all().map(of)).unwrap_or_default();
            let wait =
                |of: fn(&Durations) -> Option<u64>| Interval::of(all().filter_map(|row| of(&row.waits)));
            let first = &runs[0].tasks[place];
            let ended: Option<Vec<u64>> = all().map(|row| row.ended_ns).collect();
            TaskFigures {
                name: first.name.clone(),
                tasks: first.tasks,
                recorded: first.recorded,
                run_ns: count(|row| row.run_ns),
                wait_ns: count(|row| row.wait_ns),
                ended_ns: ended.and_then(Interval::of),
                wait_p50_ns: wait(|waits| waits.p50),
                wait_p99_ns: wait(|waits| waits.p99),
                wait_max_ns: wait(|waits| waits.max),
            }
        })
        .collect();
    tasks.sort_by_key(|row| !row.recorded);
    PolicyFigures {
        policy: policy.to_owned(),
        complete: runs.iter().all(|run| run.complete),
        makespan_ns: count(|run| run.makespan_ns),
        context_switches: count(|run| run.voluntary + run.involuntary),
        voluntary: count(|run| run.voluntary),
        involuntary: count(|run| run.involuntary),
        migrations: count(|run| run.migrations),
        wait_p50_ns: wait(|waits| waits.p50),
        wait_p90_ns: wait(|waits| waits.p90),
        wait_p99_ns: wait(|waits| waits.p99),
        tasks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Overrides, Plan, Work};
    use crate::sink::Nothing;

    #[test]
    fn six_seeds_have_an_interval_and_five_have_none() {
        let of = |count: u64| Interval::of(1..=count).unwrap();
        assert_eq!(of(6), Interval { median: 3, ci_low: Some(1), ci_high: Some(6) });
        assert_eq!((of(5).ci_low, of(5).ci_high), (None, None));
        assert_eq!(Interval::of([]), None);
        let [low, high] = [1..=6, 6..=11].map(|range| Interval::of(range).unwrap());
        assert!(low.overlaps(&high) && !low.overlaps(&Interval::of(7..=12).unwrap()));
        assert!(!of(5).overlaps(&of(5)), "without intervals nothing is known to overlap");
    }

    /// The waits of a seed are those that the engine counted, and tasks beside the recorded ones are in no total.
    #[test]
    fn figures_are_those_of_the_runs() {
        let overrides = Overrides { machine: Some("2".to_owned()), ..Overrides::default() };
        let plan = Plan::of(Work::Named("schbench:workers=5,requests=20"), "", &overrides, None).unwrap();
        let tasks = plan.setting.workload.tasks.len();
        let figures = |recorded: usize, seeds: &[u64]| {
            ensemble(&plan.setting, recorded, "eevdf", seeds, &mut Nothing).unwrap()
        };
        let one = figures(tasks, &[1]);
        let run = run(&plan.setting, "eevdf", Nothing).unwrap();
        let waits = Durations::of(&run.stats.waits);
        assert_eq!(one.makespan_ns.median, run.makespan_ns);
        assert_eq!(one.context_switches.median, run.stats.context_switches());
        assert_eq!(one.wait_p99_ns.map(|wait| wait.median), waits.p99);
        let longest = one.tasks.iter().filter_map(|row| Some(row.wait_max_ns?.median)).max();
        assert_eq!(longest, waits.max);
        assert_eq!(
            one.tasks.iter().map(|row| row.wait_ns.median).sum::<u64>(),
            run.wait_ns.iter().sum::<u64>()
        );
        let part = figures(1, &[1, 2, 3, 4, 5, 6]);
        assert!(part.context_switches.median < one.context_switches.median);
        assert!(part.makespan_ns.ci_low < part.makespan_ns.ci_high);
        assert!(part.tasks[0].recorded && part.tasks[1..].iter().all(|row| !row.recorded));
    }
}
