//! A recording from its beginning to its end: the same for every source.

mod bpf_run;
mod counted_run;
mod counts_run;
mod events_then_counts;
mod folded;
mod group_names;
mod groups;
mod header;
mod interrupts;
mod joined;
mod members;
mod memory_run;
mod perf_run;
mod present;
mod procfs_run;
mod system_intervals;

use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Options, SourceKind, Target};
use crate::plan::{Facts, Plan, plan};
use crate::sources::perf::counters::HARDWARE;
use crate::system::{Cgroup, Detail, Snapshot};
use crate::workload::Workload;
use bpf_run::BpfRun;
pub(crate) use bpf_run::cache_groups;
use counted_run::CountedRun;
use counts_run::CountsRun;
use events_then_counts::EventsThenCounts;
pub(crate) use group_names::GroupNames;
pub(crate) use groups::Groups;
pub(crate) use header::{add_system, unavailable};
use memory_run::MemoryRun;
use perf_run::PerfRun;
use procfs_run::ProcfsRun;
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_topology::Host;
use swtch_trace::accumulate::Tables;
use swtch_trace::check::check;
use swtch_trace::model::{Ended, Header, Lost, Scope};
use swtch_trace::tables::SwitchRow;
use swtch_trace::{TraceError, Writer};
use system_intervals::SystemIntervals;

/// How often what is on the disk is brought up to date, ns.
const SAVE_EVERY_NS: u64 = 2_000_000_000;
/// A command that ended is waited for so long, so that its last switch is seen too.
const SETTLE: Duration = Duration::from_millis(30);

/// Told how a recording goes, and asked whether to end it.
pub trait Observer {
    /// Called some ten times a second.
    fn progress(&mut self, progress: &Progress);
    /// Whether to end now; asked as often.
    fn stop(&mut self) -> bool;
    /// A signal that came for the command, to be passed on to it.
    fn signal(&mut self) -> Option<i32> {
        None
    }
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the beginning.
    pub elapsed_ns: u64,
    /// Switches so far; absent where the source does not count them while it records.
    pub switches: Option<u64>,
    /// Time on CPUs of what is recorded so far, ns; absent likewise.
    pub run_ns: Option<u64>,
    /// Tasks that exist.
    pub tasks: u64,
    /// Events lost so far.
    pub lost: u64,
}

/// A recording that has ended; the same is in the folder.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Totals and circumstances.
    pub header: Header,
    /// The small tables.
    pub tables: Tables,
    /// Where the Trace is.
    pub folder: PathBuf,
}

/// What a source gives, all at once or little by little.
pub(crate) trait Run {
    /// What is to be done right before the command is started.
    fn before_start(&mut self) {}
    /// The command was started.
    fn started(&mut self, pid: u32) -> Result<(), RecordError>;
    /// Looks at what happened since.
    fn look(&mut self);
    /// When to look again.
    fn period(&self) -> Duration;
    /// Whether what is recorded is still there.
    fn alive(&self) -> bool;
    /// Switches since they were last taken; none where the source does not see single ones.
    fn switches(&mut self) -> Vec<SwitchRow>;
    /// Looks for the last time. What came after `end_ns` is no part of the recording: taking programs off can last.
    fn finish(&mut self, end_ns: u64);
    /// Everything so far.
    fn fill(&mut self, now_ns: u64, header: &mut Header) -> Tables;
    /// As [`fill`](Self::fill), for one who asks without end: tasks that ended are there once and then forgotten, quantiles and pairs are of
    /// the time since the last call, histograms and intervals are left out.
    fn recent(&mut self, now_ns: u64, header: &mut Header) -> Tables;
    /// For the one who waits; the time that passed is filled in for it.
    fn progress(&self) -> Progress;
}

/// What is read beside the source, whichever that is.
struct Beside {
    /// What limits the target, or is it.
    group: Option<Cgroup>,
    groups: Groups,
    over_time: SystemIntervals,
}

impl Beside {
    fn fill(&mut self, run: &mut dyn Run, now_ns: u64, header: &mut Header) -> Tables {
        let mut tables = run.fill(now_ns, header);
        self.groups.fill(header, &mut tables);
        self.over_time.fill(&mut tables.intervals, header);
        tables
    }
}

/// Records.
///
/// # Errors
/// When the target is not there, the source cannot be used, or nothing can be written. A disk that becomes full ends the recording without an
/// error: the Trace says so, and holds everything up to then. A Trace with a figure that cannot be true is an error and is kept.
pub fn record(options: &Options, observer: &mut dyn Observer) -> Result<Recording, RecordError> {
    let (mut header, source, group) = prepare(options)?;
    let mut writer = Writer::create(&options.folder, &header)?;
    let groups = Groups::begin();
    let begun = begin(options, source, group.as_ref(), &mut header);
    let (mut run, workload) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            // A folder with nothing in it helps nobody.
            let _ = std::fs::remove_dir_all(writer.folder());
            return Err(error);
        }
    };
    let earlier = Snapshot::read(Path::new("/"), group.as_ref(), Detail::Everything);
    let start_ns = header.provenance.started_monotonic_ns;
    let mut beside = Beside { group, groups, over_time: SystemIntervals::begin(start_ns, &earlier) };
    let (ended, disk_full) =
        watch(options, observer, run.as_mut(), workload.as_ref(), &mut beside, &mut writer, &mut header)?;
    header.provenance.ended = ended;
    let later = Snapshot::read(Path::new("/"), beside.group.as_ref(), Detail::Everything);
    beside.over_time.add(&later);
    run.finish(later.monotonic_ns);
    if let Some(workload) = workload {
        header.exit_status = header::collect(workload, observer)?;
    }
    header.duration_ns = monotonic_ns() - start_ns;
    let mut tables = beside.fill(run.as_mut(), later.monotonic_ns, &mut header);
    header::add_system(
        &crate::system::difference(&earlier, &later),
        &options.target,
        &mut header,
        &mut tables,
    );
    let folder = writer.folder().to_owned();
    end(writer, run.as_mut(), &mut header, &tables, disk_full)?;
    check(tables.parts(&header))
        .map_err(|source| RecordError::Impossible { folder: folder.clone(), source })?;
    Ok(Recording { header, tables, folder })
}

/// Looks at the machine and the target, chooses the source, and begins the header.
pub(crate) fn prepare(options: &Options) -> Result<(Header, SourceKind, Option<Cgroup>), RecordError> {
    prepare_with(options, &Facts::of(&options.target))
}

/// The same, with the facts that decide on the source.
pub(crate) fn prepare_with(
    options: &Options,
    facts: &Facts,
) -> Result<(Header, SourceKind, Option<Cgroup>), RecordError> {
    let host = Host::read(Path::new("/"))?;
    let Plan { source, why } = plan(options, facts);
    let group = match &options.target {
        Target::Cgroup(path) => Some(Cgroup::locate(Path::new("/"), path)?),
        // What limits the recorder's group limits the command in it.
        _ => Cgroup::of_process(Path::new("/"), std::process::id()).ok(),
    };
    if let Target::Processes(pids) = &options.target
        && let Some(missing) = pids.iter().find(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    {
        return Err(RecordError::NoProcess(*missing));
    }
    Ok((header::begin(&options.target, host, source, why), source, group))
}

pub(crate) type Begun = (Box<dyn Run>, Option<Workload>);

/// Starts the source, then the command.
pub(crate) fn begin(
    options: &Options,
    source: SourceKind,
    group: Option<&Cgroup>,
    header: &mut Header,
) -> Result<Begun, RecordError> {
    let run: Box<dyn Run> = match source {
        SourceKind::BpfEvents => match options.events_for {
            Some(time) => Box::new(EventsThenCounts::begin(options, time, group, header)?),
            None => Box::new(BpfRun::begin(options, group, header)?),
        },
        SourceKind::BpfCounts => Box::new(CountsRun::begin(options, group, &[], header)?),
        SourceKind::Perf => Box::new(PerfRun::begin(options, group, header)?),
        SourceKind::Procfs => Box::new(ProcfsRun::begin(&options.target, group, header)?),
    };
    let run: Box<dyn Run> = Box::new(CountedRun::begin(run, &options.target, HARDWARE));
    let mut run = Box::new(MemoryRun::begin(run, options, group));
    let Target::Command(command) = &options.target else { return Ok((run, None)) };
    run.before_start();
    let workload = Workload::start(command)?;
    run.started(workload.pid())?;
    if let Scope::Command { pid, .. } = &mut header.scope {
        *pid = workload.pid();
    }
    Ok((run, Some(workload)))
}

/// Looks, writes and waits until something ends it: why, and whether the disk is full.
fn watch(
    options: &Options,
    observer: &mut dyn Observer,
    run: &mut dyn Run,
    workload: Option<&Workload>,
    beside: &mut Beside,
    writer: &mut Writer,
    header: &mut Header,
) -> Result<(Ended, bool), RecordError> {
    let start_ns = header.provenance.started_monotonic_ns;
    let mut saved_ns = start_ns;
    loop {
        let left = options.duration.map(|duration| {
            duration.saturating_sub(Duration::from_nanos(monotonic_ns().saturating_sub(start_ns)))
        });
        let pause = left.map_or(run.period(), |left| left.min(run.period()));
        let over = workload.is_some_and(|workload| workload.ends_within(pause));
        if workload.is_none() {
            std::thread::sleep(pause);
        }
        if over {
            // Its last switch comes after its end is announced.
            std::thread::sleep(SETTLE);
        }
        run.look();
        let now_ns = monotonic_ns();
        beside.over_time.look(now_ns, beside.group.as_ref());
        observer.progress(&Progress { elapsed_ns: now_ns - start_ns, ..run.progress() });
        while let (Some(workload), Some(signal)) = (workload, observer.signal()) {
            workload.signal(signal);
        }
        let written = write(run, beside, writer, header, now_ns, &mut saved_ns);
        let ended = match written {
            Err(error) if error.is_disk_full() => return Ok((Ended::DiskFull, true)),
            Err(error) => return Err(error.into()),
            Ok(()) if over => Ended::Complete,
            Ok(()) if observer.stop() => Ended::Interrupted,
            Ok(()) if left.is_some_and(|left| left.is_zero()) => Ended::Duration,
            Ok(()) if workload.is_none() && !run.alive() => Ended::TargetGone,
            Ok(()) => continue,
        };
        return Ok((ended, false));
    }
}

/// Writes the switches, and every few seconds the rest, so that a recorder that is killed leaves what it saw.
fn write(
    run: &mut dyn Run,
    beside: &mut Beside,
    writer: &mut Writer,
    header: &mut Header,
    now_ns: u64,
    saved_ns: &mut u64,
) -> Result<(), TraceError> {
    writer.append_switches(&run.switches())?;
    if now_ns - *saved_ns >= SAVE_EVERY_NS {
        *saved_ns = now_ns;
        header.duration_ns = now_ns - header.provenance.started_monotonic_ns;
        let tables = beside.fill(run, now_ns, header);
        put(writer, &tables)?;
        writer.flush()?;
        writer.save(header)?;
    }
    Ok(())
}

fn put(writer: &mut Writer, tables: &Tables) -> Result<(), TraceError> {
    writer.put(&tables.tasks)?;
    writer.put(&tables.cpus)?;
    writer.put(&tables.cgroups)?;
    writer.put(&tables.wakes)?;
    writer.put(&tables.preemptions)?;
    writer.put(&tables.histograms)?;
    writer.put(&tables.intervals)?;
    writer.put(&tables.interrupts)
}

/// Writes what is left. On a full disk, what does not fit is counted as lost.
fn end(
    mut writer: Writer,
    run: &mut dyn Run,
    header: &mut Header,
    tables: &Tables,
    disk_full: bool,
) -> Result<(), RecordError> {
    let rest = run.switches();
    let written = if disk_full {
        Ok(())
    } else {
        writer.append_switches(&rest).and_then(|()| put(&mut writer, tables))
    };
    let full = disk_full || written.as_ref().is_err_and(TraceError::is_disk_full);
    if full {
        let events = writer.abandon_unwritten() + if disk_full { rest.len() as u64 } else { 0 };
        header.provenance.ended = Ended::DiskFull;
        header.lost.push(Lost { cpu: None, events, what: "switches, because the disk was full".to_owned() });
        // The header may not fit either; the older one is then still there.
        let _ = put(&mut writer, tables);
        let _ = writer.finish(header);
        return Ok(());
    }
    written?;
    Ok(writer.finish(header)?)
}
