//! The bill.

use crate::in_place::InPlace;
use crate::model::{CostModel, Range};
use crate::money::{Money, Price};
use crate::refill::{IndirectFrom, Refills};
use crate::waits::Waits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use swtch_trace::TraceView;
use swtch_trace::model::{Ended, Header, Origin, Scope};
use swtch_trace::tables::{PreemptionRow, TaskRow, WakeRow};

/// What a bill is made from: a Trace, and the prices.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The recording.
    pub trace: TraceView<'a>,
    /// The machine's price list, where there is one.
    pub model: Option<&'a CostModel>,
    /// What a CPU costs, when money is asked for.
    pub price: Option<Price>,
}

/// What the context switches of a Trace cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// The switches themselves, ns; absent when nothing says what one costs. An outlier counts as the median: see `in_place`.
    pub direct_ns: Option<Range>,
    /// Median, sum and outliers, where the cost of every switch was measured where it happened and its distribution is known.
    pub in_place: Option<InPlace>,
    /// Refilling caches after them, ns; absent without a Profile.
    pub indirect_ns: Option<Range>,
    /// What bounds most of that; absent when it is.
    pub indirect_from: Option<IndirectFrom>,
    /// CPU time of the tasks, switches included, ns.
    pub cpu_ns: f64,
    /// Both costs as a share of that time.
    pub share: Option<Range>,
    /// Whether the direct cost of every switch was measured where it happened; otherwise it is the Profile's times their number.
    pub measured_in_place: bool,
    /// Mean direct cost of one switch, ns.
    pub switch_ns: Option<Range>,
    /// Of tasks, the dearest first.
    pub tasks: Vec<TaskBill>,
    /// What most of the switches come from, the largest first.
    pub causes: Vec<Cause>,
    /// In money.
    pub money: Option<Money>,
    /// How long the tasks waited for a CPU, and behind what; absent where single switches were not recorded.
    pub waits: Option<Waits>,
}

/// What the switches of one task cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskBill {
    /// The task.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// The switches themselves, ns.
    pub direct_ns: Option<Range>,
    /// Refilling caches, ns.
    pub indirect_ns: Option<Range>,
    /// What bounds that; absent when it is.
    pub indirect_from: Option<IndirectFrom>,
}

/// Something that many switches come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// What it is.
    pub kind: CauseKind,
    /// Its share of all switches of the tasks.
    pub share: f64,
    /// The task and its partner, or the task alone.
    pub who: Vec<String>,
}

/// What a switch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// Threads of one process wake each other: a lock or a queue between them.
    ThreadsWakeEachOther,
    /// Tasks of different processes wake each other: a pipe or a socket between them.
    ProcessesWakeEachOther,
    /// Interrupts wake tasks: timers, devices, the network.
    Interrupts,
    /// Tasks are preempted.
    Preemption,
}

/// Prices the switches of a Trace.
pub fn bill(inputs: Inputs<'_>) -> Bill {
    let tasks: Vec<&TaskRow> = inputs.trace.in_scope().collect();
    let in_place = inputs.trace.header.totals.switch_cost_ns;
    let refills = inputs.model.map(|model| Refills::of(model, &tasks, inputs.trace.header.probed.as_ref()));
    let across = across(&inputs.trace.wakes);
    let of = |task: &&TaskRow| {
        let across = across.get(&task.tid).copied().unwrap_or(0);
        of_task(task, in_place.is_some(), across, inputs.model, refills.as_ref())
    };
    let mut priced: Vec<TaskBill> = tasks.iter().map(of).collect();
    let sum = |of: fn(&TaskBill) -> Option<Range>| {
        let parts: Option<Vec<Range>> = priced.iter().map(of).collect();
        parts.map(|parts| parts.into_iter().fold(Range::default(), Range::plus))
    };
    let robust = in_place.and_then(|ns| InPlace::of(ns, &inputs.trace.histograms));
    let direct_ns = match in_place {
        // Those of a machine include the switches from and to idle that belong to no task of ours.
        Some(ns) => {
            let robust_ns = robust.map_or(ns as f64, |robust| robust.robust_ns);
            let range = sampled(inputs.trace.header, ns).times(robust_ns / (ns as f64).max(1.0));
            Some(range.plus(all_outside_ns(&priced, &tasks)))
        }
        None => sum(|task| task.direct_ns),
    };
    let indirect_ns = sum(|task| task.indirect_ns).filter(|_| inputs.model.is_some());
    let run_ns = tasks.iter().map(|task| task.run_ns as f64).sum::<f64>();
    // In place, time is divided into runs and switches; elsewhere a run includes its switches.
    let cpu_ns = run_ns + in_place.unwrap_or(0) as f64;
    let lost_ns = direct_ns.map(|direct| direct.plus(indirect_ns.unwrap_or_default()));
    let share = lost_ns.filter(|_| cpu_ns > 0.0).map(|lost| {
        let share = lost.times(1.0 / cpu_ns);
        Range { low: share.low.min(1.0), high: share.high.min(1.0) }
    });
    let switches: u64 = tasks.iter().map(|task| task.switches()).sum();
    priced.sort_by(|a, b| cost_of(b).total_cmp(&cost_of(a)).then(a.tid.cmp(&b.tid)));
    Bill {
        direct_ns,
        in_place: robust,
        indirect_ns,
        indirect_from: indirect_ns.and_then(|_| mostly_from(&priced)),
        cpu_ns,
        share,
        measured_in_place: in_place.is_some(),
        switch_ns: direct_ns.filter(|_| switches > 0).map(|direct| direct.times(1.0 / switches as f64)),
        tasks: priced,
        causes: causes(inputs, switches),
        waits: Waits::of(inputs.trace),
        money: inputs.price.zip(lost_ns).map(|(price, lost)| {
            Money::of(price, lost, inputs.trace.header.duration_ns, !is_over(inputs.trace.header))
        }),
    }
}

/// The cost of all switches, ns, as measured, or with its confidence interval where only windows were seen.
fn sampled(header: &Header, ns: u64) -> Range {
    let sampled = header.sampled.get("totals.switch_cost_ns");
    let interval = sampled.and_then(|sampled| sampled.ci_low.zip(sampled.ci_high));
    interval.map_or(Range::exactly(ns as f64), |(low, high)| Range { low, high })
}

/// Whether the recorded workload ended before the recording did, and so costs nothing afterwards. True for a command that ended, for
/// processes or a cgroup that are gone, and for every simulated run.
pub fn is_over(header: &Header) -> bool {
    if header.provenance.origin == Origin::Simulated {
        return true;
    }
    match header.scope {
        Scope::Command { .. } => header.exit_status.is_some() || header.provenance.ended == Ended::Complete,
        Scope::Processes { .. } | Scope::Cgroup { .. } => header.provenance.ended == Ended::TargetGone,
        Scope::Machine => false,
    }
}

fn cost_of(task: &TaskBill) -> f64 {
    let high = |range: Option<Range>| range.map_or(0.0, |range| range.high);
    high(task.direct_ns) + high(task.indirect_ns)
}

fn of_task(
    task: &TaskRow,
    in_place: bool,
    across: u64,
    model: Option<&CostModel>,
    refills: Option<&Refills<'_>>,
) -> TaskBill {
    let direct_ns = if in_place {
        Some(in_place_ns(task).plus(outside_ns(task, model)))
    } else {
        model.and_then(|model| from_prices(task, across, model))
    };
    let (indirect_ns, indirect_from) = refills.and_then(|refills| refills.of_task(task)).unzip();
    TaskBill { tid: task.tid, comm: task.comm.clone(), direct_ns, indirect_ns, indirect_from }
}

/// What bounds the largest part of the indirect cost.
fn mostly_from(tasks: &[TaskBill]) -> Option<IndirectFrom> {
    let mut parts: BTreeMap<IndirectFrom, f64> = BTreeMap::new();
    for task in tasks {
        if let (Some(from), Some(ns)) = (task.indirect_from, task.indirect_ns) {
            *parts.entry(from).or_default() += ns.high;
        }
    }
    parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(from, _)| from)
}

/// What was measured between the scheduler's entry and exit, or its confidence interval where only windows were seen.
fn in_place_ns(task: &TaskRow) -> Range {
    let ns = task.switch_cost_ns.unwrap_or(0);
    let low = task.switch_cost_ci_low_ns.map_or(ns, |low| low.min(ns));
    let high = task.switch_cost_ci_high_ns.map_or(ns, |high| high.max(ns));
    Range { low: low as f64, high: high as f64 }
}

/// Time of switches besides that: going to sleep, waking, and a slower start while branch predictors and the first caches still hold another
/// task. A Profile measures all of it together, from outside. At least, a sleep takes as long as the cheapest one does undisturbed; of
/// that, what was measured in place is known already. At most, every switch takes what one of the Profile does beyond one that was
/// measured here, or beyond one that needs no wake-up.
fn outside_ns(task: &TaskRow, model: Option<&CostModel>) -> Range {
    let Some(model) = model else { return Range::default() };
    let mean_ns = task.switch_cost_ns.unwrap_or(0) as f64 / task.switches().max(1) as f64;
    let whole_ns = model.any_switch_ns().map_or(0.0, |range| range.high);
    let alone_ns = model.least_yield_ns.map_or(mean_ns, |yield_ns| yield_ns.min(mean_ns));
    let high = (whole_ns - alone_ns).max(0.0);
    let low = model.least_sleep_ns.map_or(0.0, |sleep_ns| (sleep_ns - mean_ns).clamp(0.0, high));
    Range { low: low * task.voluntary as f64, high: high * task.switches() as f64 }
}

fn all_outside_ns(priced: &[TaskBill], tasks: &[&TaskRow]) -> Range {
    let in_place = tasks.iter().map(|task| in_place_ns(task)).fold(Range::default(), Range::plus);
    let whole = priced.iter().filter_map(|task| task.direct_ns).fold(Range::default(), Range::plus);
    Range { low: whole.low - in_place.low, high: whole.high - in_place.high }
}

/// How often each task was woken by one on another CPU than it then ran on, where that is known.
fn across(wakes: &[WakeRow]) -> HashMap<u32, u64> {
    let mut across = HashMap::new();
    for wake in wakes {
        *across.entry(wake.wakee_tid).or_default() +=
            wake.count - wake.same_cpu.unwrap_or(wake.count).min(wake.count);
    }
    across
}

/// Switches times c1 of their kind, where the kind is known, and at most what waking across CPUs takes beyond.
fn from_prices(task: &TaskRow, across: u64, model: &CostModel) -> Option<Range> {
    let any = model.any_switch_ns()?;
    let further_ns = across.min(task.voluntary) as f64 * model.other_cpu_ns.unwrap_or(0.0);
    let on_one_cpu = match (task.process_switches, task.thread_switches) {
        (Some(process), Some(thread)) => {
            let process = model.process_switch_ns.unwrap_or(any).times(process as f64);
            process.plus(model.thread_switch_ns.unwrap_or(any).times(thread as f64))
        }
        _ => any.times(task.switches() as f64),
    };
    Some(on_one_cpu.plus(Range { low: 0.0, high: further_ns }))
}

/// Where the switches come from. Wake-ups end sleeps, so each cause of them has its part of the voluntary switches; preemptions are the
/// involuntary ones. A task that is woken before it has left its CPU has a wake-up without a switch. So wake-ups alone could exceed
/// the switches; the shares of all causes together are at most 1.
fn causes(inputs: Inputs<'_>, switches: u64) -> Vec<Cause> {
    if switches == 0 {
        return Vec::new();
    }
    let sum = |count: fn(&TaskRow) -> u64| inputs.trace.in_scope().map(count).sum::<u64>();
    let (voluntary, involuntary) = (sum(|task| task.voluntary), sum(|task| task.involuntary));
    if inputs.trace.header.totals.wakeups.is_none() {
        // The Trace has neither wakers nor preempting tasks. The number of preemptions is known.
        let share = involuntary as f64 / switches as f64;
        let preemption = Cause { kind: CauseKind::Preemption, share, who: Vec::new() };
        return if involuntary > 0 { vec![preemption] } else { Vec::new() };
    }
    let by_tid: HashMap<u32, &TaskRow> = inputs.trace.tasks.iter().map(|task| (task.tid, task)).collect();
    let pid = |tid: u32| by_tid.get(&tid).map(|task| task.pid);
    let counted = |tid: u32| by_tid.get(&tid).is_some_and(|task| task.in_scope);
    let name = |tid: u32| match by_tid.get(&tid) {
        None => format!("tid {tid}"),
        // Two threads that share a name cannot be told apart by it.
        Some(task) if by_tid.values().any(|other| other.tid != tid && other.comm == task.comm) => {
            format!("{} ({tid})", task.comm)
        }
        Some(task) => task.comm.clone(),
    };
    let wakes: Vec<&WakeRow> = inputs.trace.wakes.iter().filter(|wake| counted(wake.wakee_tid)).collect();
    let (threads, processes): (Vec<&WakeRow>, Vec<&WakeRow>) = wakes.iter().partition(|wake| {
        let (waker, wakee) = (pid(wake.waker_tid), pid(wake.wakee_tid));
        waker.is_some() && waker == wakee
    });
    let top = |rows: &[&WakeRow]| {
        let largest = rows.iter().max_by_key(|wake| (wake.count, wake.wakee_tid));
        largest.map_or(Vec::new(), |wake| vec![name(wake.waker_tid), name(wake.wakee_tid)])
    };
    let count = |rows: &[&WakeRow]| rows.iter().map(|wake| wake.count).sum::<u64>();
    let preempted: Vec<&PreemptionRow> =
        inputs.trace.preemptions.iter().filter(|row| counted(row.of_tid)).collect();
    let worst = preempted.iter().max_by_key(|row| (row.count, row.of_tid));
    let mut found = vec![
        (CauseKind::ThreadsWakeEachOther, count(&threads), top(&threads)),
        (CauseKind::ProcessesWakeEachOther, count(&processes), top(&processes)),
        (CauseKind::Interrupts, sum(|task| task.wakeups).saturating_sub(count(&wakes)), Vec::new()),
        (
            CauseKind::Preemption,
            preempted.iter().map(|row| row.count).sum(),
            worst.map_or(Vec::new(), |row| vec![name(row.by_tid), name(row.of_tid)]),
        ),
    ];
    found.retain(|(_, count, _)| *count > 0);
    let waking: u64 =
        found.iter().filter(|(kind, ..)| *kind != CauseKind::Preemption).map(|(_, count, _)| count).sum();
    let mut shared: Vec<Cause> = found
        .into_iter()
        .map(|(kind, count, who)| {
            let count = count as f64;
            let part = match kind {
                CauseKind::Preemption => count.min(involuntary as f64),
                _ => count.min(voluntary as f64 * count / waking as f64),
            };
            Cause { kind, share: (part / switches as f64).min(1.0), who }
        })
        .collect();
    shared.sort_by(|one, other| other.share.total_cmp(&one.share));
    shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refill;
    use swtch_topology::Host;
    use swtch_trace::Tables;
    use swtch_trace::model::{Ended, Header, Provenance, Scope};

    fn header(in_place: Option<u64>) -> Header {
        let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
        header.totals.switch_cost_ns = in_place;
        header.duration_ns = 1_000_000_000;
        header.totals.wakeups = Some(1);
        header
    }

    fn task(tid: u32, pid: u32, voluntary: u64, involuntary: u64) -> TaskRow {
        TaskRow {
            tid,
            pid,
            comm: format!("task{tid}"),
            in_scope: true,
            voluntary,
            involuntary,
            wakeups: voluntary,
            run_ns: 1_000_000,
            process_switches: Some(voluntary),
            thread_switches: Some(involuntary),
            cold_switch_ins: Some(10),
            switch_cost_ns: Some(40_000),
            ..TaskRow::default()
        }
    }

    fn model() -> CostModel {
        CostModel {
            thread_switch_ns: Some(Range { low: 1000.0, high: 1200.0 }),
            process_switch_ns: Some(Range { low: 2000.0, high: 2400.0 }),
            least_sleep_ns: None,
            least_yield_ns: None,
            other_cpu_ns: None,
            refills: vec![
                Refill { array_bytes: 1 << 10, work_ns: 100.0, refill_ns: 50.0 },
                Refill { array_bytes: 1 << 18, work_ns: 20_000.0, refill_ns: 5000.0 },
                Refill { array_bytes: 1 << 24, work_ns: 1e6, refill_ns: 1e6 },
            ],
            cache_bytes: None,
            miss_ns: None,
            hand_over: None,
            measured_on: None,
        }
    }

    fn bill_of(header: &Header, tables: &Tables, model: Option<&CostModel>) -> Bill {
        bill(Inputs { trace: tables.view(header), model, price: None })
    }

    fn bill_of_tasks(header: &Header, tasks: &[TaskRow], model: Option<&CostModel>) -> Bill {
        bill_of(header, &Tables { tasks: tasks.to_vec(), ..Tables::default() }, model)
    }

    #[test]
    fn a_cost_measured_in_place_is_taken_as_it_is() {
        let (header, tasks, model) =
            (header(Some(80_000)), [task(1, 1, 30, 10), task(2, 2, 30, 10)], model());
        let found = bill_of_tasks(&header, &tasks, Some(&model));
        // 40,000 ns of 40 switches are 1,000 each; the most that a whole one takes is 2,400.
        let outside_ns = 2.0 * 40.0 * 1400.0;
        assert_eq!(found.direct_ns, Some(Range { low: 80_000.0, high: 80_000.0 + outside_ns }));
        assert_eq!(found.indirect_ns, Some(Range { low: 0.0, high: 2.0 * 10.0 * 5000.0 }));
        assert_eq!(found.cpu_ns, 2_080_000.0);
        let share = found.share.unwrap();
        assert!((share.low - 80_000.0 / 2_080_000.0).abs() < 1e-12);
        assert!((share.high - (180_000.0 + outside_ns) / 2_080_000.0).abs() < 1e-12);
        assert_eq!(found.switch_ns.unwrap().low, 1000.0);
        assert!(found.measured_in_place);
    }

    #[test]
    fn a_sleep_takes_at_least_what_the_cheapest_does() {
        let (header, tasks) = (header(Some(40_000)), [task(1, 1, 30, 10)]);
        let model = CostModel { least_sleep_ns: Some(1500.0), ..model() };
        let found = bill_of_tasks(&header, &tasks, Some(&model));
        // Measured in place were 1,000 a switch; 30 of the 40 were sleeps.
        assert_eq!(
            found.direct_ns,
            Some(Range { low: 40_000.0 + 30.0 * 500.0, high: 40_000.0 + 40.0 * 1400.0 })
        );
        assert_eq!(found.tasks[0].direct_ns, found.direct_ns);
        // A switch that needs no wake-up took 800 when the Profile was made: then what comes besides one takes up to 1,600.
        let model = CostModel { least_yield_ns: Some(800.0), ..model };
        let found = bill_of_tasks(&header, &tasks, Some(&model));
        assert_eq!(
            found.direct_ns,
            Some(Range { low: 40_000.0 + 30.0 * 500.0, high: 40_000.0 + 40.0 * 1600.0 })
        );
        // Expensive switches leave no certain cost besides them.
        let dear = [TaskRow { switch_cost_ns: Some(400_000), ..tasks[0].clone() }];
        let found = bill_of_tasks(&header, &dear, Some(&model));
        assert_eq!(found.tasks[0].direct_ns, Some(Range { low: 400_000.0, high: 400_000.0 + 40.0 * 1600.0 }));
    }

    #[test]
    fn what_is_missed_is_bounded_by_the_time_to_touch_it() {
        let model = model();
        assert_eq!(model.most_refill_ns(30.0), Some(30.0));
        assert_eq!(model.most_refill_ns(19_999.0), Some(50.0));
        assert_eq!(model.most_refill_ns(25_000.0), Some(5000.0));
        assert_eq!(CostModel { refills: Vec::new(), ..model }.most_refill_ns(1.0), None);
    }

    #[test]
    fn elsewhere_the_profile_prices_each_kind() {
        let (header, tasks, model) = (header(None), [task(1, 1, 30, 10)], model());
        let found = bill_of_tasks(&header, &tasks, Some(&model));
        assert_eq!(found.direct_ns, Some(Range { low: 70_000.0, high: 84_000.0 }));
        assert!(!found.measured_in_place);
        let unknown = [TaskRow { process_switches: None, ..tasks[0].clone() }];
        let found = bill_of_tasks(&header, &unknown, Some(&model));
        assert_eq!(found.direct_ns, Some(Range { low: 40_000.0, high: 96_000.0 }));
    }

    #[test]
    fn waking_across_cpus_is_dearer_at_most() {
        let (header, tasks) = (header(None), [task(1, 1, 30, 10)]);
        let model = CostModel { other_cpu_ns: Some(500.0), ..model() };
        let wakes = [
            WakeRow { waker_tid: 2, wakee_tid: 1, count: 12, same_cpu: Some(8) },
            WakeRow { waker_tid: 3, wakee_tid: 1, count: 6, same_cpu: None },
        ];
        let with =
            |wakes: &[WakeRow]| Tables { tasks: tasks.to_vec(), wakes: wakes.to_vec(), ..Tables::default() };
        let near = bill_of_tasks(&header, &tasks, Some(&model)).direct_ns.unwrap();
        let found = bill_of(&header, &with(&wakes), Some(&model)).direct_ns.unwrap();
        assert_eq!((found.low, found.high), (near.low, near.high + 4.0 * 500.0));
        // Not more often than it slept.
        let wakes = [WakeRow { waker_tid: 2, wakee_tid: 1, count: 99, same_cpu: Some(0) }];
        let found = bill_of(&header, &with(&wakes), Some(&model)).direct_ns.unwrap();
        assert_eq!(found.high, near.high + 30.0 * 500.0);
    }

    #[test]
    fn without_prices_there_is_no_bill_and_no_zero() {
        let (header, tasks) = (header(None), [task(1, 1, 30, 10)]);
        let found = bill_of_tasks(&header, &tasks, None);
        assert_eq!((found.direct_ns, found.indirect_ns, found.share), (None, None, None));
    }

    #[test]
    fn refilling_cannot_take_longer_than_the_task_ran() {
        let model = model();
        let (header, tasks) =
            (header(Some(0)), [TaskRow { cold_switch_ins: Some(1 << 40), ..task(1, 1, 30, 10) }]);
        let found = bill_of_tasks(&header, &tasks, Some(&model));
        assert_eq!(found.indirect_ns.unwrap().high, 1_000_000.0);
        assert_eq!(found.share.unwrap().high, 1.0);
    }

    #[test]
    fn causes_are_named_with_their_share() {
        let header = header(Some(1));
        let (tasks, wakes) = (
            vec![task(1, 1, 80, 20), task(2, 1, 100, 0)],
            vec![WakeRow { waker_tid: 1, wakee_tid: 2, count: 100, same_cpu: None }],
        );
        let preemptions = vec![PreemptionRow { by_tid: 2, of_tid: 1, count: 20, ns: None }];
        let mut tables = Tables { tasks, wakes, preemptions, ..Tables::default() };
        let found = bill_of(&header, &tables, None);
        let kinds: Vec<(CauseKind, f64)> =
            found.causes.iter().map(|cause| (cause.kind, cause.share)).collect();
        assert_eq!(
            kinds,
            [
                (CauseKind::ThreadsWakeEachOther, 0.5),
                (CauseKind::Interrupts, 0.4),
                (CauseKind::Preemption, 0.1)
            ]
        );
        assert_eq!(found.causes[0].who, ["task1", "task2"]);
        tables.tasks[1].comm = "task1".to_owned();
        let found = bill_of(&header, &tables, None);
        assert_eq!(found.causes[0].who, ["task1 (1)", "task1 (2)"]);
    }

    /// It said "100 % of the switches: preemption" and "2 % of the switches: threads of one process wait for each other".
    #[test]
    fn shares_of_causes_are_at_most_the_whole_together() {
        let header = header(Some(1));
        // All but one switch are preemptions; 20 wake-ups came before the task had left its CPU.
        let (tasks, wakes) = (
            vec![TaskRow { wakeups: 20, ..task(1, 1, 1, 999) }, task(2, 1, 0, 0)],
            vec![WakeRow { waker_tid: 2, wakee_tid: 1, count: 20, same_cpu: None }],
        );
        let preemptions = vec![PreemptionRow { by_tid: 2, of_tid: 1, count: 1000, ns: None }];
        let tables = Tables { tasks, wakes, preemptions, ..Tables::default() };
        let found = bill_of(&header, &tables, None);
        let shares: Vec<f64> = found.causes.iter().map(|cause| cause.share).collect();
        assert_eq!(shares, [0.999, 0.001]);
    }

    #[test]
    fn without_wake_ups_only_preemption_is_known() {
        let mut header = header(Some(1));
        header.totals.wakeups = None;
        let found = bill_of_tasks(&header, &[task(1, 1, 75, 25)], None);
        let preemption = Cause { kind: CauseKind::Preemption, share: 0.25, who: Vec::new() };
        assert_eq!(found.causes, [preemption]);
    }

    /// A month is for what goes on: a command that ended costs what it cost.
    #[test]
    fn what_has_ended_costs_nothing_a_month() {
        let command = Scope::Command { command: vec!["make".into()], pid: 1 };
        let processes = Scope::Processes { pids: vec![1] };
        let cases = [
            (command.clone(), Some(0), Ended::Complete, false),
            (command.clone(), Some(130), Ended::Interrupted, false),
            (command, None, Ended::Duration, true),
            (processes.clone(), None, Ended::Duration, true),
            (processes.clone(), None, Ended::Interrupted, true),
            (processes, None, Ended::TargetGone, false),
            (Scope::Cgroup { path: "/a".into() }, None, Ended::TargetGone, false),
            (Scope::Machine, None, Ended::Duration, true),
        ];
        for (scope, exit_status, ended, goes_on) in cases {
            let mut header = header(Some(3_600_000));
            (header.scope, header.exit_status, header.provenance.ended) = (scope, exit_status, ended);
            let tables = Tables { tasks: vec![task(1, 1, 1, 1)], ..Tables::default() };
            let price = Some(Price { per_vcpu_hour: 1000.0 });
            let money = bill(Inputs { trace: tables.view(&header), model: None, price }).money.unwrap();
            assert_eq!(money.month.is_some(), goes_on, "{:?} {ended:?}", header.scope);
            assert!((money.recording.low - 0.001).abs() < 1e-12, "the run itself always has a price");
        }
    }

    #[test]
    fn money_is_time_by_price() {
        let header = header(Some(3_600_000));
        let tables = Tables { tasks: vec![task(1, 1, 1, 1)], ..Tables::default() };
        let price = Some(Price { per_vcpu_hour: 1000.0 });
        let money = bill(Inputs { trace: tables.view(&header), model: None, price }).money.unwrap();
        assert!((money.recording.low - 0.001).abs() < 1e-12);
        assert!((money.month.unwrap().high - 0.001 * 730.0 * 3600.0).abs() < 1e-6);
    }
}
