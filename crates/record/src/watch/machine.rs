//! The whole machine for days: what happened since the last time, and whether it can be true.

use super::groups::{GroupUse, Groups};
use super::guard::{Bounds, Guard, KernelReading};
use super::kernel_counters::KernelCounters;
use super::{Snapshot, Watch};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Mode, Options, Target};
use crate::plan::Facts;
use crate::session::{self, Counted, Source};
use crate::system::{self, Detail, Difference, difference};
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_trace::accumulate::{History, Tables};
use swtch_trace::growth::Growth;
use swtch_trace::model::Header;
use swtch_trace::tables::TaskRow;
use swtch_trace::{Delta, SourceKind, fields};
use swtch_units::input_error::Refused;

/// What is left without programs in the kernel.
const WITHOUT_BPF: &str = "the kernel's own counters are all there is";
/// Why perf events are none of it.
const WITHOUT_PERF: &str = "they cost too much to watch for days";

/// Counts on the whole machine. Programs in the kernel are taken off when it is dropped.
#[derive(Debug)]
pub struct MachineWatch {
    watch: Watch,
    /// The last snapshot, and the kernel's own counters then.
    last: Snapshot,
    system: system::Snapshot,
    groups: Groups,
    guard: Guard,
}

/// What happened since the last time.
#[derive(Clone, Debug)]
pub struct MachineDelta {
    /// Totals and circumstances of this time only; `recorder.memory_bytes` is what the programs' maps take now.
    pub header: Header,
    /// Tasks that did something, CPUs, distributions (`cost` by kind, `wait` of all), interrupts: of this time only.
    pub tables: Tables,
    /// What the programs know beyond the tables. `backwards` are counters of the kernel that fell, too; what such a one gained is not known and
    /// counts as nothing.
    pub counted: Counted,
    /// What cgroups used, by their own files, the one first that used most since it was made.
    pub groups: Vec<GroupUse>,
    /// The kernel's own counters.
    pub system: Difference,
    /// Whether all of this can be true. Where it cannot, nothing of it is to be shown.
    pub checked: Result<(), Refused>,
}

impl MachineWatch {
    /// Begins to count; every switch is seen a share of the time, `sample`. Where no source was asked for and programs in the kernel are
    /// not to be had, the kernel's own counters are all there is. The header has the reason.
    ///
    /// # Errors
    /// When the source that was asked for cannot be used, or the machine's facts cannot be read.
    pub fn begin(source: Option<SourceKind>, sample: f64) -> Result<Self, RecordError> {
        let guard = Guard::begin(KernelReading::read());
        let mode = Some(Mode::Counts);
        // Perf events cannot be used here, so nothing says what would permit them.
        let facts = Facts { perf: Err(WITHOUT_BPF.to_owned()), ..Facts::of_machine() };
        let options = Options { source, mode, sample, ..Options::new(Target::Machine, PathBuf::new()) };
        let (mut header, chosen, _) = session::prepare(&options, &facts)?;
        let mut source = opened(&options, chosen, &mut header)?;
        // Thousands of tasks that sleep are to cost nothing.
        source.only_changes();
        let mut watch = Watch::of(source, header, None, Detail::Everything);
        let mut last = watch.snapshot();
        watch.source.counted();
        // What it took to begin is a cost of the recorder, too.
        last.header.recorder.cpu_ns = Some(0);
        let mut groups = Groups::new(Path::new("/"));
        groups.since(&mut Vec::new());
        let system = watch.system.clone();
        Ok(Self { watch, last, system, groups, guard })
    }

    /// As [`Watch::drop_capabilities`].
    pub fn drop_capabilities(&mut self) {
        self.watch.drop_capabilities();
    }

    /// Where the figures come from, and why from there.
    pub fn source(&self) -> (&str, &str) {
        let provenance = &self.watch.header.provenance;
        (&provenance.recorder, &provenance.why)
    }

    /// When to poll again, at the latest.
    pub fn period(&self) -> Duration {
        self.watch.status.period
    }

    /// Takes in what ended since the last time.
    pub fn poll(&mut self) {
        self.watch.poll();
    }

    /// What happened since this was last called, or since the beginning.
    pub fn delta(&mut self) -> MachineDelta {
        let before = KernelReading::read();
        let now = self.watch.snapshot();
        if let Some(tasks) = self.watch.source.tasks_before() {
            self.last.tables.tasks = tasks;
        }
        let mut counted = self.watch.source.counted();
        let system = difference(&self.system, &self.watch.system);
        let Delta { mut header, mut tables } = now.delta(&self.last, &Growth::default());
        tables.tasks.retain(is_active);
        explain(&counted, &mut header);
        session::add_interrupts(&system, &mut header, &mut tables);
        for row in &system.unavailable {
            if !header.unavailable.contains(row) {
                header.unavailable.push(row.clone());
            }
        }
        let groups = self.groups.since(&mut header.unavailable);
        counted.backwards.insert("kernel", system.fell + self.groups.take_fell());
        let cpus = self.system.cpus.len().max(self.watch.system.cpus.len());
        let ran = tables.cpus.iter().filter(|row| row.switches + row.idle_switches > 0).count();
        let bounds = Bounds {
            cpus: cpus.max(ran) as u64,
            at_ns: monotonic_ns(),
            switches: self.watch.system.context_switches,
            too_long: counted.too_long.take(),
        };
        self.last = now;
        self.system = self.watch.system.clone();
        let mut delta = MachineDelta { header, tables, counted, groups, system, checked: Ok(()) };
        delta.checked = self.guard.check(&delta, &bounds, before);
        delta
    }
}

/// The counting programs, or what is left without them.
fn opened(
    options: &Options,
    chosen: SourceKind,
    header: &mut Header,
) -> Result<Box<dyn Source>, RecordError> {
    let why = match chosen {
        SourceKind::Procfs => return Ok(Box::new(KernelCounters)),
        SourceKind::Perf => format!("perf events were asked for; {WITHOUT_PERF}, so {WITHOUT_BPF}"),
        SourceKind::BpfEvents | SourceKind::BpfCounts | SourceKind::BpfEventsThenCounts => {
            match session::open(options, History::Recent, SourceKind::BpfCounts, None, header) {
                Err(error) if options.source.is_none() => format!("{error}; {WITHOUT_BPF}"),
                opened => return opened,
            }
        }
    };
    SourceKind::Procfs.name().clone_into(&mut header.provenance.recorder);
    header.provenance.why = why;
    Ok(Box::new(KernelCounters))
}

fn is_active(row: &TaskRow) -> bool {
    row.voluntary + row.involuntary + row.run_ns + row.wait_ns + row.waits > 0
}

/// Says what a watch of the machine lacks, and how much memory the programs take. A watch does not report what else a recording lacks.
fn explain(counted: &Counted, header: &mut Header) {
    if counted.threads.is_none() {
        return;
    }
    header.unavailable.retain(|row| row.field == fields::TASKS_SWITCH_COST_NS);
    let why = "events are counted, not kept; swtch record --events sees wake-ups";
    header.miss(fields::TOTALS_WAKEUPS, why);
    if counted.quota_ns.is_none() {
        let why = "this kernel does not tell how long a quota stopped a task; Linux 6.6 and later do, with CONFIG_CFS_BANDWIDTH=y";
        header.miss(fields::TASKS_QUOTA_NS, why);
    }
    if let Some(bytes) = &mut header.recorder.memory_bytes {
        *bytes += counted.task_bytes;
    }
}
