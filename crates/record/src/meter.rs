//! The whole machine for as long as one likes: what happened since the last time, in the types of a Trace.
//!
//! A recording has sums since its beginning, of each task. A watch of days needs sums that never go back and memory that does
//! not grow: a [`Meter`] gives differences and forgets tasks that ended.

mod deltas;
mod groups;
mod guard;

use crate::clock::{monotonic_ns, process_cpu_ns};
use crate::error::RecordError;
use crate::options::{Mode, Options, Target};
use crate::plan::Facts;
use crate::session::{self, GroupNames};
use crate::sources::counts::{CLASS_BITS, CLASSES, Counter, CpuCounts};
use crate::system::{CgroupCounters, Detail, Difference, Snapshot, difference};
use deltas::Deltas;
use groups::Groups;
pub use guard::CHECKED;
use guard::{Bounds, Guard, KernelReading};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_stats::classes;
use swtch_trace::SourceKind;
use swtch_trace::accumulate::{CacheGroups, Tables};
use swtch_trace::fields;
use swtch_trace::growth::Growth;
use swtch_trace::model::{Header, RecorderCost};
use swtch_trace::tables::HistogramRow;
use swtch_units::input_error::Refused;

/// What is left without programs in the kernel.
const WITHOUT_BPF: &str = "the kernel's own counters are all there is";
/// Why perf events are none of it.
const WITHOUT_PERF: &str = "they cost too much to watch for days";
/// How often tasks that ended are collected: their places are needed for others.
const PERIOD: Duration = Duration::from_millis(50);
/// Memory of the kernel for each task that is counted.
const TASK_BYTES: u64 = 700;

/// Counts on the whole machine. Programs in the kernel are taken off when it is dropped.
pub struct Meter {
    programs: Option<Programs>,
    header: Header,
    system: Snapshot,
    groups: Groups,
    guard: Guard,
    cpu_ns: u64,
}

/// The programs in the kernel, and what was seen of them.
struct Programs {
    counter: Counter,
    deltas: Deltas,
    cpus: CpuCounts,
    costs: Vec<[[u32; CLASSES]; 3]>,
    groups: GroupNames,
    threads: u64,
    group_threads: BTreeMap<String, u64>,
    findings: Findings,
}

/// What the last window saw besides its figures.
#[derive(Debug, Default)]
struct Findings {
    /// Readings in which a counter fell, of tasks and of processors.
    backwards: BTreeMap<&'static str, u64>,
    /// See [`Delta::quota_ns`].
    quota_ns: BTreeMap<Option<String>, u64>,
    /// A task that waited for longer than it was watched.
    too_long: Option<String>,
}

/// What happened between two snapshots.
#[derive(Clone, Debug)]
pub struct Delta {
    /// Totals and circumstances of this time only; `recorder.memory_bytes` is what the programs' maps take now.
    pub header: Header,
    /// Tasks that did something, processors, distributions (`cost` by kind, `wait` of all), interrupts: of this time only.
    pub tables: Tables,
    /// Direct cost of the switches between threads, between processes, from or to idle, ns; absent where it is not measured.
    pub cost_ns_by_kind: Option<[u64; 3]>,
    /// The part of the tasks' waits in which a quota, of their control group or one above it, stopped them, ns, by control group; absent
    /// where the kernel does not tell.
    pub quota_ns: Option<BTreeMap<Option<String>, u64>>,
    /// What control groups used, by their own files, the one first that used most since it was made.
    pub groups: Vec<GroupUse>,
    /// The kernel's own counters.
    pub system: Difference,
    /// Threads that exist now; absent without programs in the kernel.
    pub threads: Option<u64>,
    /// The same by control group, as far as tasks' groups are known.
    pub group_threads: BTreeMap<String, u64>,
    /// Counters that fell between two readings, by what they count (`tasks`, `cpus`, `kernel`); what they gained is not known and counts
    /// as nothing.
    pub backwards: BTreeMap<&'static str, u64>,
    /// Whether all of this can be true. Where it cannot, nothing of it is to be shown.
    pub checked: Result<(), Refused>,
}

/// What a control group used, by its own files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupUse {
    /// Its path below the hierarchy's root, such as `/system.slice/nginx.service`.
    pub path: String,
    /// Its counters.
    pub since: CgroupCounters,
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Meter").field("counts", &self.programs.is_some()).finish_non_exhaustive()
    }
}

impl Meter {
    /// Begins to count. Where no source was asked for and programs in the kernel are not to be had, the kernel's own counters are all there
    /// is, and the header says why.
    ///
    /// # Errors
    /// When the source that was asked for cannot be used, or the machine's facts cannot be read.
    pub fn begin(source: Option<SourceKind>) -> Result<Self, RecordError> {
        let guard = Guard::begin(KernelReading::read());
        let mode = Some(Mode::Counts);
        // Perf events are out of the question, so nothing is said of what would permit them.
        let facts = Facts { perf: Err(WITHOUT_BPF.to_owned()), ..Facts::of_machine() };
        let options = Options { source, mode, ..Options::new(Target::Machine, PathBuf::new()) };
        let (mut header, chosen, _) = session::prepare(&options, &facts)?;
        let programs = match chosen {
            SourceKind::Procfs => None,
            SourceKind::Perf => {
                SourceKind::Procfs.info().name.clone_into(&mut header.provenance.recorder);
                header.provenance.why =
                    format!("perf events were asked for; {WITHOUT_PERF}, so {WITHOUT_BPF}");
                None
            }
            SourceKind::BpfEvents | SourceKind::BpfCounts | SourceKind::BpfEventsThenCounts => {
                match Programs::begin(&header) {
                    Ok(programs) => Some(programs),
                    Err(error) if source.is_some() => return Err(error),
                    Err(error) => {
                        SourceKind::Procfs.info().name.clone_into(&mut header.provenance.recorder);
                        header.provenance.why = format!("{error}; {WITHOUT_BPF}");
                        None
                    }
                }
            }
        };
        let system = Snapshot::read(Path::new("/"), None, Detail::Everything);
        let mut groups = Groups::new(Path::new("/"));
        groups.since(&mut Vec::new());
        Ok(Self { programs, header, system, groups, guard, cpu_ns: 0 })
    }

    /// Where the figures come from, and why from there.
    pub fn source(&self) -> (&str, &str) {
        let provenance = &self.header.provenance;
        (&provenance.recorder, &provenance.why)
    }

    /// When to poll again, at the latest.
    pub fn period(&self) -> Duration {
        if self.programs.is_some() { PERIOD } else { Duration::from_secs(1) }
    }

    /// Takes in what ended since the last time.
    pub fn poll(&mut self) {
        if let Some(programs) = &mut self.programs {
            programs.take_ended();
        }
    }

    /// What happened since this was last called, or since the beginning.
    pub fn delta(&mut self) -> Delta {
        let before = KernelReading::read();
        let mut header = self.header.clone();
        let mut tables = Tables::default();
        header.provenance.started_monotonic_ns = self.system.monotonic_ns;
        let cost_ns_by_kind = if let Some(programs) = &mut self.programs {
            programs.fill(&mut header, &mut tables)
        } else {
            for what in ["tasks", "cpus", "histograms", "totals.context_switches", "totals.processes"] {
                header.miss(what, header.provenance.why.clone());
            }
            None
        };
        let cpu_ns = process_cpu_ns();
        header.recorder = RecorderCost {
            cpu_ns: Some(cpu_ns.saturating_sub(std::mem::replace(&mut self.cpu_ns, cpu_ns))),
            bpf_ns: None,
            memory_bytes: self.programs.as_ref().map(Programs::memory_bytes),
        };
        let later = Snapshot::read(Path::new("/"), None, Detail::Everything);
        let system = difference(&self.system, &later);
        session::add_machine_counters(&system, &Target::Machine, &mut header, &mut tables);
        header.duration_ns = monotonic_ns().saturating_sub(header.provenance.started_monotonic_ns);
        let mut missing = Vec::new();
        let groups = self.groups.since(&mut missing);
        header.unavailable.append(&mut missing);
        let findings = self.programs.as_mut().map(|programs| std::mem::take(&mut programs.findings));
        let quotas = self.programs.as_ref().is_some_and(|programs| programs.counter.knows_quota());
        let Findings { mut backwards, quota_ns, too_long } = findings.unwrap_or_default();
        *backwards.entry("kernel").or_default() += system.fell + self.groups.take_fell();
        let ran = tables.cpus.iter().filter(|row| row.switches + row.idle_switches > 0).count();
        let bounds = Bounds {
            cpus: self.system.cpus.len().max(later.cpus.len()).max(ran) as u64,
            at_ns: monotonic_ns(),
            switches: later.context_switches,
            too_long,
        };
        self.system = later;
        let programs = self.programs.as_ref();
        let mut delta = Delta {
            header,
            tables,
            cost_ns_by_kind,
            quota_ns: quotas.then_some(quota_ns),
            groups,
            system,
            threads: programs.map(|programs| programs.threads),
            group_threads: programs.map(|programs| programs.group_threads.clone()).unwrap_or_default(),
            backwards,
            checked: Ok(()),
        };
        delta.checked = self.guard.check(&delta, &bounds, before);
        delta
    }
}

impl Programs {
    fn begin(header: &Header) -> Result<Self, RecordError> {
        let groups = GroupNames::begin();
        let mut counter = Counter::load(false, groups.is_of_cpu(), true, &CacheGroups::of(&header.host))?;
        counter.attach()?;
        let costs = counter.cost_classes().iter().map(|_| [[0; CLASSES]; 3]).collect();
        Ok(Self {
            counter,
            deltas: Deltas::default(),
            cpus: CpuCounts::default(),
            costs,
            groups,
            threads: 0,
            group_threads: BTreeMap::new(),
            findings: Findings::default(),
        })
    }

    fn take_ended(&mut self) {
        let ended = self.counter.ended();
        for task in &ended {
            self.groups.note(task.group);
        }
        self.groups.poll(monotonic_ns());
        for task in ended {
            self.deltas.ended(&task, self.groups.name(task.group));
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.counter.memory_bytes() + self.threads * TASK_BYTES
    }

    /// What was counted since the last time; the cost by kind where it is measured.
    fn fill(&mut self, header: &mut Header, tables: &mut Tables) -> Option<[u64; 3]> {
        // First those that exist, then those that ended: a task that ends between the two is in both, which does no harm.
        if let Ok(alive) = self.counter.tasks() {
            self.threads = alive.len() as u64;
            for task in &alive {
                self.groups.note(task.group);
            }
            self.groups.poll(monotonic_ns());
            self.group_threads.clear();
            for name in alive.iter().filter_map(|task| self.groups.name(task.group)) {
                *self.group_threads.entry(name).or_default() += 1;
            }
            let names = &self.groups;
            self.deltas.alive(alive, |number| names.name(number));
        }
        self.take_ended();
        let taken = self.deltas.take();
        let now = self.counter.cpus();
        let before = std::mem::replace(&mut self.cpus, now.clone());
        let growth = Growth::default();
        let delta = now.delta(&before, &growth);
        let measures = self.counter.measures_cost();
        header.totals = delta.totals(&taken.rows, None);
        header.totals.switch_cost_ns = header.totals.switch_cost_ns.filter(|_| measures);
        header.lost = delta.lost().into();
        for (what, why) in [
            ("interrupts.ns", "events are counted, not kept; swtch record --events times interrupts"),
            ("totals.wakeups", "events are counted, not kept; swtch record --events sees wake-ups"),
        ] {
            header.miss(what, why);
        }
        if !measures {
            let why = "this kernel has no sched_entry_tp and sched_exit_tp; the Profile gives the cost";
            header.miss(fields::TASKS_SWITCH_COST_NS, why);
        }
        if !self.counter.knows_quota() {
            let why = "this kernel does not tell how long a quota stopped a task; Linux 6.6 and later do, with CONFIG_CFS_BANDWIDTH=y";
            header.miss(fields::TASKS_QUOTA_NS, why);
        }
        tables.cpus = delta.rows(&now);
        tables.histograms = self.cost_rows(&growth);
        tables.histograms.extend(HistogramRow::of("wait", "all", counted(&taken.waits)));
        tables.tasks = taken.rows;
        self.findings = Findings {
            backwards: [("tasks", taken.backwards), ("cpus", growth.fell())].into(),
            quota_ns: taken.quota_ns,
            too_long: taken.too_long,
        };
        measures.then_some(delta.cost_ns_by_kind)
    }

    /// Costs since the last time, in classes.
    fn cost_rows(&mut self, growth: &Growth) -> Vec<HistogramRow> {
        let now = self.counter.cost_classes();
        let mut sums = [[0_u64; CLASSES]; 3];
        for (now, before) in now.iter().zip(&self.costs) {
            for ((sums, now), before) in sums.iter_mut().zip(now).zip(before) {
                for ((sum, now), before) in sums.iter_mut().zip(now).zip(before) {
                    *sum += growth.of_32_bits(*before, *now);
                }
            }
        }
        self.costs = now;
        let mut rows = Vec::new();
        for (of, counts) in ["kind thread", "kind process", "kind idle"].iter().zip(&sums) {
            rows.extend(HistogramRow::of("cost", of, counted(counts)));
        }
        rows
    }
}

/// The classes that have counts: from (ns), to (exclusive), count.
fn counted(counts: &[u64; CLASSES]) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
    classes::<CLASS_BITS, u64>(counts)
}
