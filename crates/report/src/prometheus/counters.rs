//! Sums over all intervals so far.

use super::exposition::{Distribution, Exposition};
use super::family::{
    BACKWARDS, BLOCKED, BUILD, CGROUP_INFO, CGROUP_THREADS, CGROUP_WAITS, COST, CPU_SWITCHES, CPU_TIME,
    DUMPS, DUMPS_SUPPRESSED, ESTIMATE, EXECS, EXITS, FORKS, Family, INTERRUPT_TIME, INTERRUPTS, KEPT,
    KEPT_DROPPED, KEPT_LOST, KEPT_MEMORY, KERNEL_FORKS, KERNEL_INTERRUPTS, KERNEL_SWITCHES, LOST, MIGRATIONS,
    OBSERVED, OTLP_EXPORTS, OTLP_REJECTED, PRESSURE, RECORDER, RECORDER_BPF_MEMORY, RECORDER_CPU,
    RECORDER_MEMORY, RECORDER_SAMPLE, REJECTED, RUN, RUNNABLE, SAMPLED_COST, SAMPLED_SHARE, SAMPLED_WINDOWS,
    SOFTIRQ_TIME, SOFTIRQS, SWITCHES, THREADS, THREADS_CREATED, UNAVAILABLE, WAIT, WAITS,
};
use super::labels::{cgroup_label, label, reason};
use super::processes::{ProcessSums, Processes};
use super::series_limiter::{OTHER, SeriesLimiter};
use super::unavailable::metric_of;
use std::collections::BTreeMap;
use swtch_cost::{CostModel, Inputs, bill};
use swtch_record::flight::FlightStatus;
use swtch_stats::middle_of_class;
use swtch_trace::model::{Header, Sampled};
use swtch_trace::tables::{HistogramRow, InterruptKind, InterruptRow, TaskRow};
use swtch_trace::{CgroupName, PodNames, Tables, TraceView, fields};

/// Figures that are missing and are named at most.
const MOST_UNAVAILABLE: usize = 100;

/// How many series of a kind there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Cgroups that have series of their own.
    pub cgroups: usize,
    /// Interrupt lines that have series of their own.
    pub irqs: usize,
    /// CPUs that have series of their own.
    pub cpus: usize,
    /// Processes that have series of their own, for OTLP only.
    pub processes: usize,
}

impl Limits {
    /// Together at most some 500 series, whatever comes and goes: a cgroup has up to 13, a CPU 2, an interrupt line 2, and half as many cgroups and lines as
    /// are shown may stand still for a while.
    pub const DEFAULT: Self = Self { cgroups: 14, irqs: 14, cpus: 32, processes: 0 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What happened in a time: a whole Trace, or what came since the last snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Delta<'a> {
    /// Totals, circumstances and tables. Where it has no cgroups, the tasks are summed by theirs.
    pub trace: TraceView<'a>,
    /// Direct cost of switches between threads, between processes, from or to idle, ns. Where it is not known, it is taken from the
    /// middles of the classes.
    pub cost_ns_by_kind: Option<[u64; 3]>,
    /// The part of the tasks' waits in which a quota stopped them, ns, by cgroup; where it is absent, causes of waits are unknown.
    pub quota_ns: Option<&'a BTreeMap<Option<String>, u64>>,
    /// The tasks' waits by cgroup; where it is absent, they are not known.
    pub group_waits: Option<&'a BTreeMap<Option<String>, Vec<HistogramRow>>>,
}

/// What a cgroup used between two looks, by its own files. Absent figures are unavailable.
#[derive(Clone, Debug, Default)]
pub struct GroupUse {
    /// Its path.
    pub path: String,
    /// CPU time, ns.
    pub cpu_ns: Option<u64>,
    /// Periods of its quota.
    pub periods: Option<u64>,
    /// Those in which it did not last.
    pub throttled_periods: Option<u64>,
    /// Time it was kept from running, ns.
    pub throttled_ns: Option<u64>,
    /// Time in which some, and in which all of its tasks waited for a CPU, ns.
    pub pressure_ns: [Option<u64>; 2],
}

/// What the kernel itself counted between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelCounts {
    /// Context switches.
    pub context_switches: Option<u64>,
    /// Hardware interrupts.
    pub interrupts: Option<u64>,
    /// Processes and threads created.
    pub forks: Option<u64>,
}

/// What became of messages to a receiver of OTLP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtlpExports {
    /// Those that were received.
    pub sent: u64,
    /// Those that the receiver refused for good.
    pub refused: u64,
    /// Those that were given up because newer ones waited.
    pub dropped: u64,
    /// Figures in received messages that the receiver says it did not take.
    pub rejected_points: u64,
}

/// Figures of the gauges. Absent ones are not shown.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// Threads that exist.
    pub threads: Option<u64>,
    /// Threads that run or wait to run.
    pub runnable: Option<u64>,
    /// Threads that wait for a disk.
    pub blocked: Option<u64>,
    /// Threads that exist, by cgroup.
    pub group_threads: BTreeMap<String, u64>,
    /// Memory of this process.
    pub memory_bytes: Option<u64>,
    /// Memory of its programs in the kernel.
    pub bpf_memory_bytes: Option<u64>,
    /// Time that the last look took, ns.
    pub sample_ns: Option<u64>,
    /// How the cost of all switches is sampled.
    pub sampled: Option<Sampled>,
}

/// Sums that never go back.
#[derive(Clone, Debug)]
pub struct Counters {
    pub(super) sums: BTreeMap<&'static str, BTreeMap<Vec<String>, u64>>,
    pub(super) distributions: BTreeMap<(&'static str, Vec<String>), Distribution>,
    version: Option<String>,
    recorder: Vec<String>,
    pub(super) unavailable: BTreeMap<String, String>,
    rejected: Option<String>,
    flight: Option<FlightStatus>,
    pub(super) cgroups: SeriesLimiter,
    irqs: SeriesLimiter,
    cpus: usize,
    processes: Processes,
    pub(super) pods: PodNames,
    /// The names of the cgroups that have series of their own, by label.
    pub(super) names: BTreeMap<String, CgroupName>,
}

impl Counters {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            sums: BTreeMap::new(),
            distributions: BTreeMap::new(),
            version: None,
            recorder: Vec::new(),
            unavailable: BTreeMap::new(),
            rejected: None,
            flight: None,
            cgroups: SeriesLimiter::new(limits.cgroups, true),
            irqs: SeriesLimiter::new(limits.irqs, false),
            cpus: limits.cpus,
            processes: Processes::new(limits.processes),
            pods: PodNames::default(),
            names: BTreeMap::new(),
        }
    }

    /// The pods that exist now. A cgroup whose pod was known once keeps its name.
    pub fn note_pods(&mut self, pods: PodNames) {
        self.pods = pods;
    }

    /// Sets what a flight recorder did.
    pub fn set_flight(&mut self, flight: FlightStatus) {
        let by_label = [(&DUMPS, &flight.dumps), (&DUMPS_SUPPRESSED, &flight.suppressed)];
        let by_label = by_label.into_iter().flat_map(|(family, sums)| {
            sums.iter().map(move |(label, sum)| (family, vec![(*label).to_owned()], *sum))
        });
        let lost = (&KEPT_LOST, Vec::new(), flight.lost);
        let dropped = (&KEPT_DROPPED, Vec::new(), flight.dropped_early);
        for (family, labels, sum) in by_label.chain([lost, dropped]) {
            self.sums.entry(family.stem).or_default().insert(labels, sum);
        }
        self.flight = Some(flight);
    }

    /// Adds what happened up to `now_ns` of a clock that never goes back.
    pub fn add(&mut self, delta: &Delta<'_>, model: Option<&CostModel>, now_ns: u64) {
        let header = delta.trace.header;
        let provenance = &header.provenance;
        self.version = Some(label(&provenance.swtch_version));
        self.recorder = [label(&provenance.recorder), reason(&provenance.why)].into();
        self.unavailable.clear();
        for row in header.unavailable.iter().take(MOST_UNAVAILABLE) {
            self.unavailable.insert(label(&metric_of(row.field.as_str())), reason(&row.reason));
        }
        self.sum(&OBSERVED, &[], Some(header.duration_ns));
        self.add_totals(header);
        self.add_tasks(delta);
        self.add_cgroups(delta);
        self.add_interrupts(&delta.trace.interrupts);
        self.add_distributions(delta);
        self.add_estimate(delta, model);
        self.review(now_ns);
    }

    /// Adds what the kernel counted.
    pub fn add_kernel(&mut self, kernel: &KernelCounts) {
        self.sum(&KERNEL_SWITCHES, &[], kernel.context_switches);
        self.sum(&KERNEL_INTERRUPTS, &[], kernel.interrupts);
        self.sum(&KERNEL_FORKS, &[], kernel.forks);
    }

    /// Counts wrong figures. `figures` are those that are checked, `refused` those of a window that was left out, `why` its reason.
    /// `backwards` are counters that fell, by what they count.
    pub fn add_checks(
        &mut self,
        figures: &[&str],
        refused: &[&str],
        why: Option<&str>,
        backwards: &BTreeMap<&'static str, u64>,
    ) {
        for figure in figures {
            let times = refused.iter().filter(|refused| refused == &figure).count() as u64;
            self.sum(&REJECTED, &[figure], Some(times.min(1)));
        }
        for (of, fell) in backwards {
            self.sum(&BACKWARDS, &[of], Some(*fell));
        }
        if let Some(why) = why {
            self.rejected = Some(reason(why));
        }
    }

    /// Everything as OpenMetrics text.
    pub fn text(&self, gauges: &Gauges) -> String {
        self.exposition(gauges).text()
    }

    /// What the processes with series of their own did.
    pub(crate) fn processes(&self) -> &BTreeMap<u32, ProcessSums> {
        self.processes.sums()
    }

    /// Adds what processes did up to `now_ns`. `program` names the program of a process that is there.
    pub fn add_processes(
        &mut self,
        trace: TraceView<'_>,
        program: &dyn Fn(u32) -> Option<String>,
        now_ns: u64,
    ) {
        self.processes.add(trace.in_scope(), program, now_ns);
    }

    /// Sets what became of messages to a receiver of OTLP.
    pub fn set_exports(&mut self, exports: &OtlpExports) {
        let by_outcome = [("sent", exports.sent), ("refused", exports.refused), ("dropped", exports.dropped)];
        let sums =
            by_outcome.into_iter().map(|(outcome, sum)| (&OTLP_EXPORTS, vec![outcome.to_owned()], sum));
        for (family, labels, sum) in sums.chain([(&OTLP_REJECTED, Vec::new(), exports.rejected_points)]) {
            self.sums.entry(family.stem).or_default().insert(labels, sum);
        }
    }

    /// Every series, in one place for all formats.
    pub(crate) fn exposition(&self, gauges: &Gauges) -> Exposition {
        let mut exposition = Exposition::new(&self.sums, &self.distributions);
        if let Some(version) = &self.version {
            exposition.gauge(&BUILD, std::slice::from_ref(version), Some(1.0));
            exposition.gauge(&RECORDER, &self.recorder, Some(1.0));
        }
        let rejected = self.rejected.iter().map(|why| ("window".to_owned(), why.clone()));
        for (what, why) in self.unavailable.clone().into_iter().chain(rejected) {
            exposition.gauge(&UNAVAILABLE, &[what, why], Some(1.0));
        }
        let number = |value: Option<u64>| value.map(|value| value as f64);
        exposition.gauge(&THREADS, &[], number(gauges.threads));
        exposition.gauge(&RUNNABLE, &[], number(gauges.runnable));
        exposition.gauge(&BLOCKED, &[], number(gauges.blocked));
        exposition.gauge(&RECORDER_MEMORY, &[], number(gauges.memory_bytes));
        exposition.gauge(&RECORDER_BPF_MEMORY, &[], number(gauges.bpf_memory_bytes));
        let flight = self.flight.as_ref();
        exposition.gauge(&KEPT, &[], flight.map(|flight| flight.kept_ns as f64 / 1e9));
        exposition.gauge(&KEPT_MEMORY, &[], flight.map(|flight| flight.kept_bytes as f64));
        if let Some(sampled) = gauges.sampled {
            exposition.gauge(&SAMPLED_SHARE, &[], Some(sampled.share));
            exposition.gauge(&SAMPLED_WINDOWS, &[], Some(sampled.windows as f64));
            for (bound, ns) in [("low", sampled.ci_low), ("high", sampled.ci_high)] {
                exposition.gauge(&SAMPLED_COST, &[bound.to_owned()], ns.map(|ns| ns / 1e9));
            }
        }
        exposition.gauge(&RECORDER_SAMPLE, &[], gauges.sample_ns.map(|ns| ns as f64 / 1e9));
        let mut threads: BTreeMap<String, u64> = BTreeMap::new();
        for (path, count) in &gauges.group_threads {
            let label = cgroup_label(path).filter(|path| self.cgroups.has(path));
            let name = label.unwrap_or_else(|| OTHER.to_owned());
            *threads.entry(name).or_default() += count;
        }
        for (name, count) in threads {
            exposition.gauge(&CGROUP_THREADS, &[name], Some(count as f64));
        }
        for (path, CgroupName { kind, name, namespace, pod, container, id: _ }) in &self.names {
            let known = |part: &Option<String>| label(part.as_deref().unwrap_or_default());
            let labels = [known(namespace), known(pod), known(container)];
            let labels = [path.clone(), kind.name().to_owned(), label(name)].into_iter().chain(labels);
            exposition.gauge(&CGROUP_INFO, &labels.collect::<Vec<_>>(), Some(1.0));
        }
        exposition
    }

    pub(super) fn sum(&mut self, family: &'static Family, labels: &[&str], more: Option<u64>) {
        let Some(more) = more else { return };
        let series = self.sums.entry(family.stem).or_default();
        let labels = labels.iter().map(|&value| value.to_owned()).collect();
        let sum = series.entry(labels).or_insert(0_u64);
        *sum = sum.saturating_add(more);
    }

    /// Ends the series of a metric whose labels are those of something that is gone.
    pub(super) fn drop_series(&mut self, family: &'static Family, is_gone: impl Fn(&[String]) -> bool) {
        if let Some(series) = self.sums.get_mut(family.stem) {
            series.retain(|labels, _| !is_gone(labels));
        }
    }

    fn add_totals(&mut self, header: &Header) {
        let totals = &header.totals;
        let (switches, moves, cpu) = (&totals.context_switches, &totals.migrations, &totals.cpu_ns);
        for (family, label, sum) in [
            (&SWITCHES, "voluntary", switches.voluntary),
            (&SWITCHES, "involuntary", switches.involuntary),
            (&SWITCHES, "from_idle", switches.idle),
            (&MIGRATIONS, "same_l2", moves.same_l2),
            (&MIGRATIONS, "same_l3", moves.same_l3),
            (&MIGRATIONS, "across", moves.across),
            (&CPU_TIME, "user", cpu.user),
            (&CPU_TIME, "system", cpu.system),
            (&CPU_TIME, "irq", cpu.irq),
            (&CPU_TIME, "softirq", cpu.softirq),
            (&CPU_TIME, "idle", cpu.idle),
            (&CPU_TIME, "iowait", cpu.iowait),
            (&CPU_TIME, "steal", cpu.steal),
        ] {
            self.sum(family, &[label], sum);
        }
        for (family, sum) in [
            (&FORKS, totals.processes.forked),
            (&EXECS, totals.processes.execs),
            (&EXITS, totals.processes.exited),
            (&THREADS_CREATED, totals.threads_created),
            (&RECORDER_CPU, header.recorder.cpu_ns),
        ] {
            self.sum(family, &[], sum);
        }
        for pressure in &totals.pressure {
            self.sum(&PRESSURE, &[&label(&pressure.resource), "some"], pressure.some_ns);
            self.sum(&PRESSURE, &[&label(&pressure.resource), "full"], pressure.full_ns);
        }
        for lost in &header.lost {
            self.sum(&LOST, &[&label(&lost.what)], Some(lost.events));
        }
    }

    fn add_tasks(&mut self, delta: &Delta<'_>) {
        let counts = !delta.trace.header.lacks(&fields::CPUS);
        for row in delta.trace.cpus.iter().filter(|_| counts) {
            let shown = (row.cpu as usize) < self.cpus;
            let cpu = if shown { row.cpu.to_string() } else { OTHER.to_owned() };
            self.sum(&CPU_SWITCHES, &[&cpu, "task"], Some(row.switches));
            self.sum(&CPU_SWITCHES, &[&cpu, "idle"], Some(row.idle_switches));
        }
        if delta.trace.tasks.is_empty() {
            return;
        }
        let sum = |of: fn(&TaskRow) -> u64| delta.trace.in_scope().map(of).fold(0, u64::saturating_add);
        self.sum(&RUN, &[], Some(sum(|task| task.run_ns)));
        let quota_ns = delta.quota_ns.map(|groups| groups.values().copied().fold(0, u64::saturating_add));
        for (cause, ns) in causes(sum(|task| task.wait_ns), quota_ns) {
            self.sum(&WAIT, &[cause], Some(ns));
        }
        if quota_ns.is_none() {
            let why = "whether a task waited for a CPU or for its quota was not recorded".to_owned();
            self.unavailable.entry(metric_of(fields::TASKS_QUOTA_NS.as_str())).or_insert(why);
        }
    }

    fn add_interrupts(&mut self, rows: &[InterruptRow]) {
        // Where a line has rows of single CPUs, it has one of all besides.
        for row in rows.iter().filter(|row| row.cpu.is_none()) {
            let line = label(&row.line);
            match row.kind {
                InterruptKind::Hard => {
                    let name = label(&row.name);
                    let shown = self.irqs.note(&irq_key(&line, &name), row.count);
                    let labels = if shown { [line.as_str(), name.as_str()] } else { [OTHER, ""] };
                    self.sum(&INTERRUPTS, &labels, Some(row.count));
                    self.sum(&INTERRUPT_TIME, &labels, row.ns);
                }
                InterruptKind::Soft => {
                    self.sum(&SOFTIRQS, &[&line], Some(row.count));
                    self.sum(&SOFTIRQ_TIME, &[&line], row.ns);
                }
            }
        }
    }

    fn add_distributions(&mut self, delta: &Delta<'_>) {
        let of = |metric: &'static str, of: &'static str| {
            delta.trace.histograms.iter().filter(move |row| row.metric == metric && row.of == of)
        };
        let kinds =
            [("thread", "kind thread"), ("process", "kind process"), ("from_or_to_idle", "kind idle")];
        let mut sums = [0_u64; 3];
        if let Some(known) = delta.cost_ns_by_kind {
            sums = known;
        } else {
            let middles = kinds.map(|(_, name)| of("cost", name).map(middles_ns).sum::<f64>());
            let all: f64 = middles.iter().sum();
            // What all of them took is known better.
            let scale = delta.trace.header.totals.switch_cost_ns.map_or(1.0, |ns| ns as f64 / all.max(1.0));
            for (sum, middle) in sums.iter_mut().zip(middles) {
                *sum = (middle * scale) as u64;
            }
        }
        let measured = delta.cost_ns_by_kind.is_some() || of("cost", "kind thread").next().is_some();
        for ((kind, name), sum_ns) in kinds.into_iter().zip(sums) {
            if measured || of("cost", name).next().is_some() {
                self.distribution(&COST, &[kind]).add(of("cost", name), sum_ns);
            }
        }
        if of("wait", "all").next().is_some() || self.distributions.contains_key(&(WAITS.stem, Vec::new())) {
            let waits = delta.trace.in_scope().map(|task| task.wait_ns);
            let sum_ns = waits.fold(0, u64::saturating_add);
            self.distribution(&WAITS, &[]).add(of("wait", "all"), sum_ns);
        }
    }

    pub(super) fn distribution(&mut self, family: &'static Family, labels: &[&str]) -> &mut Distribution {
        let labels = labels.iter().map(|&value| value.to_owned()).collect();
        let bounds_ns: &'static [u64] = match family.stem {
            stem if stem == COST.stem => &COST_BOUNDS_NS,
            stem if stem == CGROUP_WAITS.stem => &CGROUP_WAIT_BOUNDS_NS,
            _ => &WAIT_BOUNDS_NS,
        };
        self.distributions.entry((family.stem, labels)).or_insert_with(|| Distribution::new(bounds_ns))
    }

    fn add_estimate(&mut self, delta: &Delta<'_>, model: Option<&CostModel>) {
        let Some(model) = model else {
            let why = "it takes a Profile of this machine; 'swtch measure --quick' makes one".to_owned();
            self.unavailable.insert(metric_of(fields::SWITCH_COST_ESTIMATE.as_str()), why);
            return;
        };
        let tables = Tables { tasks: delta.trace.tasks.clone(), ..Tables::default() };
        let bill = bill(Inputs { trace: tables.view(delta.trace.header), model: Some(model), price: None });
        let Some(direct) = bill.direct_ns else { return };
        let all = direct.plus(bill.indirect_ns.unwrap_or_default());
        self.sum(&ESTIMATE, &["low"], Some(all.low as u64));
        self.sum(&ESTIMATE, &["high"], Some(all.high as u64));
    }

    fn review(&mut self, now_ns: u64) {
        self.review_cgroups(now_ns);
        for key in self.irqs.review(now_ns) {
            for family in [&INTERRUPTS, &INTERRUPT_TIME] {
                self.drop_series(family, |labels| irq_key(&labels[0], &labels[1]) == key);
            }
        }
    }
}

/// Upper bounds of the classes of costs, ns: bounds of the kernel's classes too, so that nothing is divided.
const COST_BOUNDS_NS: [u64; 12] =
    [128, 256, 512, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 24];
/// Upper bounds of the classes of waits, ns.
const WAIT_BOUNDS_NS: [u64; 12] = powers_of_four(1 << 8);

/// The same of a cgroup, of which there are many: some of those.
const CGROUP_WAIT_BOUNDS_NS: [u64; 4] = [1 << 16, 1 << 20, 1 << 24, 1 << 28];

/// The first, four times that, and so on.
const fn powers_of_four(first: u64) -> [u64; 12] {
    let mut bounds = [first; 12];
    let mut i = 1;
    while i < 12 {
        bounds[i] = bounds[i - 1] * 4;
        i += 1;
    }
    bounds
}

/// The values of a class, summed as if each were its middle, ns.
fn middles_ns(row: &HistogramRow) -> f64 {
    middle_of_class(row.from_ns, row.to_ns) as f64 * row.count as f64
}

fn irq_key(line: &str, name: &str) -> String {
    format!("{line}\n{name}")
}

/// The causes of a wait, and how much of it each had: all of it, where the part that a quota had is not known.
pub(super) fn causes(wait_ns: u64, quota_ns: Option<u64>) -> Vec<(&'static str, u64)> {
    match quota_ns {
        Some(quota_ns) => vec![("cpu", wait_ns.saturating_sub(quota_ns)), ("quota", quota_ns)],
        None => vec![("unknown", wait_ns)],
    }
}
