//! A recording from its beginning to its end: a source, a list of collectors, and one loop.

mod aggregate;
mod bpf_counts;
mod bpf_events;
mod collectors;
mod deferred;
mod events_then_counts;
mod group_names;
mod header;
mod kept_events;
mod members;
mod perf_events;
mod procfs_samples;
mod source;

use crate::clock::{monotonic_ns, process_cpu_ns, thread_cpu_ns};
use crate::error::RecordError;
use crate::options::{Options, Target};
use crate::plan::{Facts, Plan, plan};
use crate::rights;
use crate::system::{Cgroup, Detail, Snapshot};
use crate::workload::{ChildCommand, CommandEnd};
use bpf_counts::BpfCounts;
use bpf_events::BpfEvents;
pub(crate) use bpf_events::longest_period;
use collectors::Collectors;
pub(crate) use collectors::{Collector, NO_HIERARCHY, SystemIntervals, add_interrupts, add_machine_state};
use events_then_counts::EventsThenCounts;
pub(crate) use group_names::GroupNames;
pub(crate) use kept_events::{KeptChunk, KeptEvents, Mark, write_kept};
use perf_events::PerfEvents;
use procfs_samples::ProcfsSamples;
use rustix::process::Signal;
pub use source::{Counted, Progress};
pub(crate) use source::{PERIODS, Source, Status, next_period, own_cost};
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_topology::Host;
use swtch_trace::accumulate::{History, Tables};
use swtch_trace::check::check;
use swtch_trace::model::{Ended, Header, Lost, Scope};
use swtch_trace::tables::SwitchRow;
use swtch_trace::{SourceKind, TraceError, Writer};
use swtch_units::Observer;

/// How often what is on the disk is brought up to date, ns.
const SAVE_EVERY_NS: u64 = 2_000_000_000;
/// The part of one CPU that this may take: it is written less often where there are thousands of tasks.
const SAVE_SHARE: u64 = 1000;
/// A command that ended is waited for so long, so that its last switch is seen too.
const SETTLE: Duration = Duration::from_millis(30);

/// A recording that has ended; the same is in the directory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Totals and circumstances.
    pub header: Header,
    /// The small tables.
    pub tables: Tables,
    /// Where the Trace is.
    pub folder: PathBuf,
    /// How the recorded command ended; absent where there was none, where it runs on, and where it was asked to end after [`Options::duration`].
    pub command_end: Option<CommandEnd>,
}

/// Records.
///
/// # Errors
/// When the target is not there, the source cannot be used, or nothing can be written. A disk that becomes full ends the recording without an
/// error: the Trace says so, and holds everything up to then. A Trace with a figure that cannot be true is an error and is kept.
pub fn record(options: &Options, observer: &mut dyn Observer<Progress>) -> Result<Recording, RecordError> {
    let cpu_before_ns = process_cpu_ns();
    let (mut header, kind, group) = prepare(options, &Facts::of(&options.target))?;
    header.probed.clone_from(&options.probed);
    let mut writer = Writer::create(&options.folder, &header)?;
    let folder = writer.folder().to_owned();
    let mut collectors = Collectors::begin(options, group.as_ref());
    let (source, workload) = begin(options, kind, group.as_ref(), &mut header).inspect_err(|_| {
        // An empty Trace is of no use.
        let _ = std::fs::remove_dir_all(&folder);
    })?;
    let start_ns = header.provenance.started_monotonic_ns;
    collectors.start(&options.target, group.as_ref(), workload.as_ref().map(ChildCommand::pid), start_ns);
    if options.drop_capabilities {
        rights::keep_only(rights::of_recording(options, kind, &header), &mut header);
    }
    let mut session =
        Session { source, collectors, header, next_save_ns: start_ns + SAVE_EVERY_NS, cpu_before_ns };
    let (ended, disk_full) = session.watch(options, observer, workload.as_ref(), &mut writer)?;
    session.header.provenance.ended = ended;
    let end = Snapshot::read(Path::new("/"), group.as_ref(), Detail::Everything);
    let switches = session.source.finish(end.monotonic_ns);
    session.collectors.finish(&end);
    // What a command does after the recording, and how long it takes to end, is in no figure.
    let end_ns = session.source.ends_ns(end.monotonic_ns);
    session.header.duration_ns = end_ns.saturating_sub(start_ns);
    let command_end = match workload {
        Some(workload) if ended == Ended::Duration => {
            // Its status would only be that of this signal.
            workload.signal(Signal::TERM.as_raw());
            collect(workload, observer)?;
            None
        }
        Some(workload) => collect(workload, observer)?,
        None => None,
    };
    session.header.exit_status = command_end.map(|end| end.status);
    let tables = session.tables(end_ns);
    let mut header = session.header;
    write_end(writer, &switches, &mut header, &tables, disk_full)?;
    check(tables.view(&header))
        .map_err(|source| RecordError::Impossible { folder: folder.clone(), source })?;
    Ok(Recording { header, tables, folder, command_end })
}

/// Looks at the machine and the target, chooses the source by the facts, and begins the header.
pub(crate) fn prepare(
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

/// Starts the source of a recording, then the command.
fn begin(
    options: &Options,
    source: SourceKind,
    group: Option<&Cgroup>,
    header: &mut Header,
) -> Result<(Box<dyn Source>, Option<ChildCommand>), RecordError> {
    let mut source = match (source, options.events_for) {
        (SourceKind::BpfEvents | SourceKind::BpfEventsThenCounts, Some(time)) => {
            Box::new(EventsThenCounts::begin(options, time, group, header)?) as Box<dyn Source>
        }
        _ => open(options, History::Whole, source, group, header)?,
    };
    let Target::Command(command) = &options.target else { return Ok((source, None)) };
    let mut workload = None;
    source.launch(&mut || {
        let started =
            workload.insert(ChildCommand::start(command, options.spans.as_deref(), &options.start)?);
        Ok(started.pid())
    })?;
    if let (Scope::Command { pid, .. }, Some(workload)) = (&mut header.scope, &workload) {
        *pid = workload.pid();
    }
    Ok((source, workload))
}

/// Starts a source; a command is not started.
pub(crate) fn open(
    options: &Options,
    history: History,
    source: SourceKind,
    group: Option<&Cgroup>,
    header: &mut Header,
) -> Result<Box<dyn Source>, RecordError> {
    Ok(match source {
        SourceKind::BpfEvents | SourceKind::BpfEventsThenCounts => {
            Box::new(BpfEvents::begin(options, history, group, header)?)
        }
        SourceKind::BpfCounts => Box::new(BpfCounts::begin(options, history, group, &[], header)?),
        SourceKind::Perf => Box::new(PerfEvents::begin(options, history, group, header)?),
        SourceKind::Procfs => Box::new(ProcfsSamples::begin(&options.target, history, group, header)?),
    })
}

/// A recording while it lasts.
struct Session {
    source: Box<dyn Source>,
    collectors: Collectors,
    header: Header,
    /// When the tables are written next, ns.
    next_save_ns: u64,
    /// CPU time of this process before the recording: a library's caller has had a life before.
    cpu_before_ns: u64,
}

impl Session {
    /// Polls, writes and waits until something ends it: why, and whether the disk is full.
    fn watch(
        &mut self,
        options: &Options,
        observer: &mut dyn Observer<Progress>,
        workload: Option<&ChildCommand>,
        writer: &mut Writer,
    ) -> Result<(Ended, bool), RecordError> {
        let start_ns = self.header.provenance.started_monotonic_ns;
        let mut period = self.source.status().period;
        loop {
            let left = options.duration.map(|duration| {
                duration.saturating_sub(Duration::from_nanos(monotonic_ns().saturating_sub(start_ns)))
            });
            let pause = left.map_or(period, |left| left.min(period));
            let over = workload.is_some_and(|workload| workload.ends_within(pause));
            if workload.is_none() {
                std::thread::sleep(pause);
            }
            if over {
                // Its last switch comes after its end is announced.
                std::thread::sleep(SETTLE);
            }
            let switches = self.source.poll();
            let now_ns = monotonic_ns();
            self.collectors.poll(now_ns);
            let status = self.source.status();
            period = status.period;
            observer.event(&Progress { elapsed_ns: now_ns - start_ns, ..status.progress });
            while let (Some(workload), Some(signal)) = (workload, observer.signal()) {
                workload.signal(signal);
            }
            let ended = match self.write(&switches, now_ns, writer) {
                Err(error) if error.is_disk_full() => return Ok((Ended::DiskFull, true)),
                Err(error) => return Err(error.into()),
                Ok(()) if over => Ended::Complete,
                Ok(()) if observer.stop() => Ended::Interrupted,
                Ok(()) if left.is_some_and(|left| left.is_zero()) => Ended::Duration,
                Ok(()) if workload.is_none() && !status.alive => Ended::TargetGone,
                Ok(()) => continue,
            };
            return Ok((ended, false));
        }
    }

    /// Writes the switches, and every few seconds the rest, so that a recorder that is killed leaves what it saw.
    fn write(&mut self, switches: &[SwitchRow], now_ns: u64, writer: &mut Writer) -> Result<(), TraceError> {
        writer.append_switches(switches)?;
        if now_ns >= self.next_save_ns && !self.source.is_behind() {
            let before_ns = thread_cpu_ns();
            self.header.duration_ns = now_ns - self.header.provenance.started_monotonic_ns;
            let tables = self.tables(now_ns);
            tables.put_all(writer)?;
            writer.flush()?;
            writer.save(&self.header)?;
            let took_ns = thread_cpu_ns().saturating_sub(before_ns);
            self.next_save_ns = now_ns + SAVE_EVERY_NS.max(took_ns * SAVE_SHARE);
        }
        Ok(())
    }

    /// What the source and the collectors know.
    fn tables(&mut self, now_ns: u64) -> Tables {
        let mut tables = self.source.snapshot(now_ns, &mut self.header);
        if let Some(cpu_ns) = &mut self.header.recorder.cpu_ns {
            *cpu_ns = cpu_ns.saturating_sub(self.cpu_before_ns);
        }
        self.collectors.add(&mut self.header, &mut tables);
        tables
    }
}

/// Waits for the command and collects it.
fn collect(
    workload: ChildCommand,
    observer: &mut dyn Observer<Progress>,
) -> Result<Option<CommandEnd>, RecordError> {
    while !workload.ends_within(Duration::from_millis(100)) {
        match observer.signal() {
            Some(signal) => workload.signal(signal),
            // The recording was ended before the command, which continues.
            None if observer.stop() => return Ok(None),
            None => {}
        }
    }
    let end = workload.collect();
    end.map(Some).map_err(|source| RecordError::System { doing: "waiting for the command", source })
}

/// Writes what is left. On a full disk, what does not fit is counted as lost.
fn write_end(
    mut writer: Writer,
    rest: &[SwitchRow],
    header: &mut Header,
    tables: &Tables,
    disk_full: bool,
) -> Result<(), RecordError> {
    let written = if disk_full {
        Ok(())
    } else {
        writer.append_switches(rest).and_then(|()| tables.put_all(&mut writer))
    };
    let full = disk_full || written.as_ref().is_err_and(TraceError::is_disk_full);
    if full {
        let events = writer.abandon_unwritten() + if disk_full { rest.len() as u64 } else { 0 };
        header.provenance.ended = Ended::DiskFull;
        header.lost.push(Lost { cpu: None, events, what: "switches, because the disk was full".to_owned() });
        // The header may not fit either; the older one is then still there.
        let _ = tables.put_all(&mut writer);
        let _ = writer.finish(header);
        return Ok(());
    }
    written?;
    Ok(writer.finish(header)?)
}
