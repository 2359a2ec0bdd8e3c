//! What happened between two snapshots.

use super::rates::{Behind, Rates, TaskPair, TopRow};
use super::spinning::TopSpinning;
use serde::Serialize;
use std::collections::HashMap;
use swtch_cost::{CostModel, Range};
use swtch_trace::growth::Growth;
use swtch_trace::model::{Header, Sampled, Unavailable};
use swtch_trace::tables::{CpuRow, InFront, Merge, TaskRow};
use swtch_trace::{Delta, PodNames, Snapshot, SourceKind, Tables, fields};

/// The number of tasks that are kept of those that preempted a task, and of those that woke it.
const MOST_PAIRS: usize = 10;

/// Where the cost of a switch is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostSource {
    /// Measured where it happened, switch by switch.
    InPlace,
    /// The machine's Profile, times the number of switches.
    Profile,
    /// From nowhere: not known.
    #[default]
    Unknown,
}

/// What happened between two snapshots, as rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Window {
    /// When it ended, ns since 1970.
    pub unix_ns: u64,
    /// How long it was, ns.
    pub length_ns: u64,
    /// The source, by its name in [`SourceKind`].
    pub source: String,
    /// Why this one.
    pub why: String,
    /// Where costs are from.
    pub cost_source: CostSource,
    /// All together.
    pub totals: Totals,
    /// Tasks that are there, and those that ended in the window.
    pub tasks: Vec<TopRow>,
    /// CPUs that are on.
    pub cpus: Vec<CpuRates>,
    /// Processes whose threads wait on the CPUs that others of them need; none where the source does not see it.
    pub spinning: Vec<TopSpinning>,
    /// What the source does not see, and why.
    pub unavailable: Vec<Unavailable>,
}

/// All together. Rates are a second; what is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Voluntary switches.
    pub voluntary_per_s: Option<f64>,
    /// Involuntary switches.
    pub involuntary_per_s: Option<f64>,
    /// Switches from idle.
    pub idle_per_s: Option<f64>,
    /// Wake-ups.
    pub wakeups_per_s: Option<f64>,
    /// Moves between CPUs.
    pub migrations_per_s: Option<f64>,
    /// Processes created.
    pub forks_per_s: Option<f64>,
    /// Direct cost of the switches as a share of all CPUs' time.
    pub cost_share: Option<Range>,
    /// Direct cost of one switch, ns.
    pub cost_ns: Option<Range>,
    /// Shares of all CPUs' time.
    pub cpu: CpuShares,
    /// Tasks that are there.
    pub tasks: u64,
    /// Of those, that ran or switched.
    pub active: u64,
    /// How the cost is sampled, since the beginning; absent where every switch is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// Events lost in the window.
    pub lost: u64,
    /// Events lost since the beginning.
    pub lost_ever: u64,
    /// Time in which at least one task waited for a resource, as a share of the time.
    pub pressure: Vec<(String, f64)>,
    /// What looking takes, as a share of one CPU; programs in the kernel not included.
    pub own_cpu_share: Option<f64>,
}

/// Shares of CPU time by use; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuShares {
    /// In programs.
    pub user: Option<f64>,
    /// In the kernel.
    pub system: Option<f64>,
    /// In hardware interrupts.
    pub irq: Option<f64>,
    /// In soft interrupts.
    pub softirq: Option<f64>,
    /// Given to others by the hypervisor.
    pub steal: Option<f64>,
    /// Idle while a task waited for a device.
    pub iowait: Option<f64>,
    /// Idle.
    pub idle: Option<f64>,
}

/// A CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuRates {
    /// The kernel's number.
    pub cpu: u32,
    /// Switches from tasks a second.
    pub switches_per_s: Option<f64>,
    /// Switches from idle a second.
    pub idle_switches_per_s: Option<f64>,
    /// How its time was used.
    pub shares: CpuShares,
    /// Events lost in the window.
    pub lost: u64,
}

impl Window {
    /// What happened from `earlier` to `later`; where the cost was not measured in place, with the prices of `model`.
    ///
    /// No rate is ever negative. A new task or CPU counts from nothing, and one that is gone does not count. A number that was given
    /// again is another task.
    pub fn between(earlier: &Snapshot, later: &Snapshot, model: Option<&CostModel>) -> Self {
        let length_ns = later.at_ns.saturating_sub(earlier.at_ns).max(1);
        let cost_source = match (later.header.totals.switch_cost_ns, model.and_then(CostModel::any_switch_ns))
        {
            (Some(_), _) => CostSource::InPlace,
            (None, Some(_)) => CostSource::Profile,
            (None, None) => CostSource::Unknown,
        };
        // Nothing is ever negative: sums that fell started again.
        let delta = later.delta(earlier, &Growth::default());
        let maker = Maker { length_ns, later, delta, model, cost_source };
        let tasks = maker.tasks();
        Self {
            unix_ns: later.unix_ns,
            length_ns,
            source: later.header.provenance.recorder.clone(),
            why: later.header.provenance.why.clone(),
            cost_source,
            totals: maker.totals(&tasks),
            cpus: maker.cpus(),
            spinning: maker.spinning(),
            tasks,
            unavailable: later.header.unavailable.clone(),
        }
    }

    /// Names the cgroups of all tasks.
    pub fn name_cgroups(&mut self, pods: &PodNames) {
        // Thousands of tasks share few cgroups.
        let mut names: HashMap<String, String> = HashMap::new();
        for row in &mut self.tasks {
            let name =
                |path: &String| names.entry(path.clone()).or_insert_with(|| pods.name(path).name).clone();
            row.cgroup_name = row.cgroup.as_ref().map(name);
        }
    }

    /// Context switches of tasks a second, as [`swtch_trace::figures::switches_per_second`] defines them: without those from idle. Absent if the
    /// source does not count them.
    pub fn switches_per_s(&self) -> Option<f64> {
        let known = [self.totals.voluntary_per_s, self.totals.involuntary_per_s];
        known.into_iter().flatten().reduce(|sum, rate| sum + rate)
    }
}

/// Moves to another CPU, however near.
fn moves(task: &TaskRow) -> Option<u64> {
    Some(task.migrations_same_l2? + task.migrations_same_l3? + task.migrations_across?)
}

struct Maker<'a> {
    length_ns: u64,
    later: &'a Snapshot,
    delta: Delta,
    model: Option<&'a CostModel>,
    cost_source: CostSource,
}

impl Maker<'_> {
    fn per_s(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.length_ns as f64
    }

    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.length_ns as f64
    }

    fn tasks(&self) -> Vec<TopRow> {
        let key = |row: &TaskRow| (row.tid, row.first_ns);
        let deltas = self.delta.tables.tasks.iter().map(|row| (key(row), row));
        let deltas: HashMap<(u32, u64), &TaskRow> = deltas.collect();
        let mut pairs = Pairs::of(self);
        // A task that ended and whose number is another's by now has an earlier row.
        let tasks = &self.later.tables.tasks;
        let last: HashMap<u32, u64> = tasks.iter().map(|row| (row.tid, row.first_ns)).collect();
        let rows = tasks.iter().filter(|row| row.in_scope);
        rows.map(|row| {
            let delta = deltas.get(&key(row)).map_or_else(|| unchanged(row), |delta| (*delta).clone());
            let is_last = last.get(&row.tid) == Some(&row.first_ns);
            let (preempted_by, woken_by, behind) = if is_last { pairs.take(row.tid) } else { pairs.none() };
            TopRow {
                tid: Some(row.tid),
                pid: Some(row.pid),
                name: row.comm.clone(),
                cgroup: row.cgroup.clone(),
                cgroup_name: None,
                kernel_thread: row.kernel_thread,
                ended: !is_last,
                tasks: 1,
                rates: self.rates(&delta, row),
                behind,
                preempted_by,
                woken_by,
            }
        })
        .collect()
    }

    fn rates(&self, delta: &TaskRow, row: &TaskRow) -> Rates {
        let switches = delta.voluntary + delta.involuntary;
        let cost_ns = self.cost_ns(delta);
        // The measured cost may belong to switches from idle, which the task does not count.
        let each = cost_ns.filter(|_| switches > 0).map(|cost| cost.times(1.0 / switches as f64));
        let waited = !self.later.header.lacks(&fields::TASKS_WAIT_NS);
        Rates {
            voluntary_per_s: self.per_s(delta.voluntary),
            involuntary_per_s: self.per_s(delta.involuntary),
            cost_share: cost_ns.map(|cost| cost.times(1.0 / self.length_ns as f64)),
            cost_ns: each,
            cpu_share: self.share(delta.run_ns),
            wait_share: waited.then(|| self.share(delta.wait_ns)),
            wait_p50_ns: row.wait_p50_ns,
            wait_p90_ns: row.wait_p90_ns,
            wait_p99_ns: row.wait_p99_ns,
            wait_max_ns: row.wait_max_ns,
            wakeups_per_s: (!self.later.header.lacks(&fields::TASKS_WAKEUPS))
                .then(|| self.per_s(delta.wakeups)),
            migrations_per_s: moves(delta).map(|count| self.per_s(count)),
        }
    }

    fn cost_ns(&self, delta: &TaskRow) -> Option<Range> {
        match self.cost_source {
            // Absent for a task that has not switched yet; of one that has, it is not known before the first window.
            CostSource::InPlace => {
                let known = delta.switch_cost_ns.or((delta.waits == 0).then_some(0));
                known.map(|ns| Range::exactly(ns as f64))
            }
            CostSource::Unknown => None,
            CostSource::Profile => {
                let any = self.model?.any_switch_ns()?;
                match (delta.process_switches, delta.thread_switches) {
                    (Some(process), Some(thread)) => {
                        let of = |price: Option<Range>, count: u64| price.unwrap_or(any).times(count as f64);
                        let prices = self.model?;
                        Some(of(prices.process_switch_ns, process).plus(of(prices.thread_switch_ns, thread)))
                    }
                    _ => Some(any.times((delta.voluntary + delta.involuntary) as f64)),
                }
            }
        }
    }

    fn totals(&self, tasks: &[TopRow]) -> Totals {
        let header = &self.delta.header;
        let sums = &header.totals;
        let rate = |count: Option<u64>| count.map(|count| self.per_s(count));
        let moves = || {
            let moves = &sums.migrations;
            Some(moves.same_l2? + moves.same_l3? + moves.across?)
        };
        let lost = |header: &Header| header.lost.iter().map(|lost| lost.events).sum::<u64>();
        let cpus = self.on().count().max(1) as f64;
        let machine_ns = self.length_ns as f64 * cpus;
        let cost_ns = match self.cost_source {
            CostSource::InPlace => sums.switch_cost_ns.map(|ns| Range::exactly(ns as f64)),
            CostSource::Profile => {
                let shares = tasks.iter().filter_map(|row| row.rates.cost_share);
                Some(shares.fold(Range::default(), Range::plus).times(self.length_ns as f64))
            }
            CostSource::Unknown => None,
        };
        let totals = Totals {
            voluntary_per_s: rate(sums.context_switches.voluntary),
            involuntary_per_s: rate(sums.context_switches.involuntary),
            idle_per_s: rate(sums.context_switches.idle),
            wakeups_per_s: rate(sums.wakeups),
            migrations_per_s: rate(moves()),
            forks_per_s: rate(sums.processes.forked),
            cost_share: cost_ns.map(|cost| cost.times(1.0 / machine_ns)),
            cost_ns: None,
            cpu: self.machine_shares(),
            tasks: tasks.iter().filter(|row| !row.ended).count() as u64,
            active: tasks.iter().filter(|row| row.is_active()).count() as u64,
            sampled: header.sampled.get("totals.switch_cost_ns").copied(),
            lost: lost(header),
            lost_ever: lost(&self.later.header),
            pressure: self.pressure(),
            own_cpu_share: header.recorder.cpu_ns.map(|ns| self.share(ns)),
        };
        let all = [totals.voluntary_per_s, totals.involuntary_per_s, totals.idle_per_s];
        let all = all.into_iter().flatten().sum::<f64>() * self.length_ns as f64 / 1e9;
        Totals { cost_ns: cost_ns.filter(|_| all > 0.5).map(|cost| cost.times(1.0 / all)), ..totals }
    }

    fn spinning(&self) -> Vec<TopSpinning> {
        // Most sources do not see it, and hardly any window has it: then nothing is copied.
        if !self.delta.tables.tasks.iter().any(|task| task.spinning.is_some_and(|times| times > 0)) {
            return Vec::new();
        }
        // Waits have counts since the snapshot before.
        let waits = self.later.tables.waits.clone();
        let tables = Tables { tasks: self.delta.tables.tasks.clone(), waits, ..Tables::default() };
        TopSpinning::of(tables.view(&self.delta.header), self.length_ns)
    }

    fn pressure(&self) -> Vec<(String, f64)> {
        let rows = self.delta.header.totals.pressure.iter();
        rows.filter_map(|row| Some((row.resource.clone(), self.share(row.some_ns?).min(1.0)))).collect()
    }

    fn machine_shares(&self) -> CpuShares {
        let cpu = &self.delta.header.totals.cpu_ns;
        shares([cpu.user, cpu.system, cpu.irq, cpu.softirq, cpu.steal, cpu.iowait, cpu.idle])
    }

    fn cpus(&self) -> Vec<CpuRates> {
        let counts = !self.later.header.provenance.source().is_some_and(SourceKind::is_sampled);
        let deltas: HashMap<u32, &CpuRow> = self.delta.tables.cpus.iter().map(|row| (row.cpu, row)).collect();
        let of = |row: &CpuRow| {
            let delta = deltas.get(&row.cpu).map_or_else(|| unchanged(row), |delta| (*delta).clone());
            CpuRates {
                cpu: row.cpu,
                switches_per_s: counts.then(|| self.per_s(delta.switches)),
                idle_switches_per_s: counts.then(|| self.per_s(delta.idle_switches)),
                shares: shares(cpu_times(&delta)),
                lost: delta.lost,
            }
        };
        self.on().map(of).collect()
    }

    /// The CPUs that are on, where the system says which: those have times.
    fn on(&self) -> impl Iterator<Item = &CpuRow> {
        let rows = &self.later.tables.cpus;
        let is_known = rows.iter().any(|row| row.user_ns.is_some());
        rows.iter().filter(move |row| !is_known || row.user_ns.is_some())
    }
}

/// The difference to itself: zeros of what is known.
fn unchanged<R: Merge>(row: &R) -> R {
    row.delta(row, &Growth::default())
}

fn cpu_times(row: &CpuRow) -> [Option<u64>; 7] {
    // A CPU without user time is one that the system does not account, so its idle time is not a figure either.
    let idle_ns = row.user_ns.map(|_| row.idle_ns);
    [row.user_ns, row.system_ns, row.irq_ns, row.softirq_ns, row.steal_ns, row.iowait_ns, idle_ns]
}

/// Shares of the time that was counted: the kernel counts in ticks, of which a short window has few.
fn shares(times: [Option<u64>; 7]) -> CpuShares {
    let all = times.into_iter().flatten().sum::<u64>();
    let [user, system, irq, softirq, steal, iowait, idle] =
        times.map(|ns| ns.filter(|_| all > 0).map(|ns| ns as f64 / all as f64));
    CpuShares { user, system, irq, softirq, steal, iowait, idle }
}

type Lists = (Option<Vec<TaskPair>>, Option<Vec<TaskPair>>, Option<Vec<Behind>>);

/// For each task, the tasks that preempted it, those that woke it, and what had the CPU while it waited.
struct Pairs {
    preempted: Option<HashMap<u32, Vec<TaskPair>>>,
    woken: Option<HashMap<u32, Vec<TaskPair>>>,
    behind: Option<HashMap<u32, Vec<Behind>>>,
}

impl Pairs {
    fn of(maker: &Maker<'_>) -> Self {
        let later = maker.later;
        let names: HashMap<u32, &str> =
            later.tables.tasks.iter().map(|row| (row.tid, row.comm.as_str())).collect();
        let pair = |tid: u32, count: u64, wait_share: Option<f64>| TaskPair {
            tid,
            comm: match names.get(&tid) {
                Some(name) => (*name).to_owned(),
                None if tid == 0 => "an interrupt".to_owned(),
                None => format!("tid {tid}"),
            },
            per_s: maker.per_s(count),
            wait_share,
        };
        let rows = later.tables.preemptions.iter();
        let preemptions =
            rows.map(|row| (row.of_tid, pair(row.by_tid, row.count, row.ns.map(|ns| maker.share(ns)))));
        let wakes =
            later.tables.wakes.iter().map(|row| (row.wakee_tid, pair(row.waker_tid, row.count, None)));
        Self {
            preempted: (!later.header.lacks(&fields::PREEMPTIONS)).then(|| lists(preemptions)),
            woken: (!later.header.lacks(&fields::WAKES)).then(|| lists(wakes)),
            behind: (!later.header.lacks(&fields::WAITS)).then(|| parts(maker)),
        }
    }

    fn take(&mut self, tid: u32) -> Lists {
        (of(&mut self.preempted, tid), of(&mut self.woken, tid), of(&mut self.behind, tid))
    }

    fn none(&self) -> Lists {
        let behind = self.behind.as_ref().map(|_| Vec::new());
        (self.preempted.as_ref().map(|_| Vec::new()), self.woken.as_ref().map(|_| Vec::new()), behind)
    }
}

fn of<P>(lists: &mut Option<HashMap<u32, Vec<P>>>, tid: u32) -> Option<Vec<P>> {
    lists.as_mut().map(|lists| lists.remove(&tid).unwrap_or_default())
}

/// What had the CPU while each task waited since the last snapshot, the longest first.
fn parts(maker: &Maker<'_>) -> HashMap<u32, Vec<Behind>> {
    let mut parts: HashMap<u32, Vec<Behind>> = HashMap::new();
    for row in &maker.later.tables.waits {
        let program = (row.behind == InFront::Task).then(|| row.program.clone());
        let part = Behind { cause: row.behind, program, wait_share: maker.share(row.ns) };
        add_behind(parts.entry(row.of_tid).or_default(), &[part]);
    }
    parts
}

/// Adds what was in front of one task to what was in front of others.
pub(super) fn add_behind(sum: &mut Vec<Behind>, more: &[Behind]) {
    for part in more {
        let same = |known: &&mut Behind| (known.cause, &known.program) == (part.cause, &part.program);
        match sum.iter_mut().find(same) {
            Some(known) => known.wait_share += part.wait_share,
            None => sum.push(part.clone()),
        }
    }
    sum.sort_by(|a, b| b.wait_share.total_cmp(&a.wait_share));
}

/// By task; each list with the most frequent first.
fn lists(pairs: impl Iterator<Item = (u32, TaskPair)>) -> HashMap<u32, Vec<TaskPair>> {
    let mut lists: HashMap<u32, Vec<TaskPair>> = HashMap::new();
    for (of, pair) in pairs {
        lists.entry(of).or_default().push(pair);
    }
    for list in lists.values_mut() {
        list.sort_by(|a, b| b.per_s.total_cmp(&a.per_s).then(a.tid.cmp(&b.tid)));
        list.truncate(MOST_PAIRS);
    }
    lists
}
