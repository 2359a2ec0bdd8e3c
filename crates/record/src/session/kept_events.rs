//! A Trace of events that were kept in memory: the accumulator, the collectors, the writer and the checks are those of any recording.

use super::bpf_events::{add_lost, add_lost_rows, describe};
use super::collectors::{CgroupSums, Collectors, SystemIntervals};
use super::{Recording, write_end};
use crate::clock::process_cpu_ns;
use crate::error::RecordError;
use crate::options::Cost;
use crate::sources::bpf::{Bpf, Losses, PackedEvents, Tracepoints};
use crate::system::{Cgroup, Detail, Hierarchy, Snapshot};
use crate::task_info;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use swtch_trace::Writer;
use swtch_trace::accumulate::{Accumulator, CacheGroups, History, Tables, TaskInfo};
use swtch_trace::check::check;
use swtch_trace::event::Event;
use swtch_trace::growth::Growth;
use swtch_trace::model::{Ended, Header, RecorderCost};
use swtch_trace::tables::InterruptRow;

/// Rows of a segment of the Trace, and so rows in memory while it is written.
const SEGMENT_ROWS: usize = 1 << 17;

/// Everything that counts without events, at a moment at which a Trace may begin or end.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    pub(crate) system: Snapshot,
    unix_ns: u64,
    cgroups: CgroupSums,
    lost: Vec<Losses>,
    interrupts: Vec<InterruptRow>,
    cpu_ns: u64,
}

impl Mark {
    /// The present moment; `group` is this process's own.
    pub(crate) fn take(bpf: &Bpf, group: Option<&Cgroup>) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            system: Snapshot::read(Path::new("/"), group, Detail::Everything),
            unix_ns: unix.map_or(0, |since| since.as_nanos() as u64),
            cgroups: CgroupSums::begin(),
            lost: bpf.lost(),
            interrupts: bpf.interrupts(),
            cpu_ns: process_cpu_ns(),
        }
    }

    /// Which moment it is, ns of CLOCK_MONOTONIC.
    pub(crate) fn at_ns(&self) -> u64 {
        self.system.monotonic_ns
    }
}

/// The events from one mark to the next, in the order of time. Its memory counts as held while it exists, in the ring or in a writer.
#[derive(Debug)]
pub(crate) struct KeptChunk {
    pub(crate) begin: Arc<Mark>,
    pub(crate) packed: PackedEvents,
    bytes: u64,
    held_bytes: Arc<AtomicU64>,
}

impl Drop for KeptChunk {
    fn drop(&mut self) {
        self.held_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl KeptChunk {
    /// A chunk that is complete, counted in `held_bytes`.
    pub(crate) fn new(begin: Arc<Mark>, mut packed: PackedEvents, held_bytes: &Arc<AtomicU64>) -> Self {
        packed.events.shrink_to_fit();
        packed.lives.shrink_to_fit();
        let bytes = packed.bytes();
        held_bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { begin, packed, bytes, held_bytes: Arc::clone(held_bytes) }
    }

    /// All events in the order of time.
    fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let mut events = self.packed.events.iter().peekable();
        let mut lives = self.packed.lives.iter().peekable();
        std::iter::from_fn(move || {
            let life_is_next = match (events.peek(), lives.peek()) {
                (Some(event), Some(life)) => life.at_ns < event.at_ns(),
                (None, life) => life.is_some(),
                (Some(_), None) => false,
            };
            Some(if life_is_next { lives.next().cloned().map(Event::Life) } else { events.next()?.unpack() })
        })
        .flatten()
    }
}

/// Events that were kept, and what a Trace of them takes.
pub(crate) struct KeptEvents {
    /// The circumstances; the times are filled in.
    pub(crate) header: Header,
    /// The tasks that existed when the first chunk began.
    pub(crate) tasks: Vec<TaskInfo>,
    /// In the order of time, at least one.
    pub(crate) chunks: Vec<Arc<KeptChunk>>,
    /// Where the last chunk ends.
    pub(crate) end: Arc<Mark>,
    pub(crate) intervals: SystemIntervals,
    /// Paths of the cgroups that events name by number.
    pub(crate) group_names: HashMap<u64, String>,
    pub(crate) tracepoints: Tracepoints,
    /// Memory of the programs and of what was kept.
    pub(crate) memory_bytes: u64,
}

/// Writes a Trace of kept events. Each chunk is let go of when it is taken in.
///
/// # Errors
/// As those of a recording.
pub(crate) fn write_kept(kept: KeptEvents, folder: &Path) -> Result<Recording, RecordError> {
    let KeptEvents { mut header, tasks, chunks, end, intervals, group_names, tracepoints, memory_bytes } =
        kept;
    let begin = Arc::clone(&chunks[0].begin);
    let (start_ns, end_ns) = (begin.at_ns(), end.at_ns());
    header.provenance.started_monotonic_ns = start_ns;
    header.provenance.started_unix_ns = begin.unix_ns;
    header.provenance.ended = Ended::Complete;
    header.duration_ns = end_ns - start_ns;
    let mut writer = Writer::create_aside(folder, &header)?.with_segment_rows(SEGMENT_ROWS);
    let mut accumulator = Accumulator::new(start_ns, CacheGroups::of(&header.host), false);
    for task in &tasks {
        accumulator.follow(task);
    }
    let mut switches = Vec::new();
    for chunk in chunks {
        for event in chunk.events() {
            accumulator.take(&event, &mut switches);
            if switches.len() >= SEGMENT_ROWS {
                writer.append_switches(&switches)?;
                switches.clear();
            }
        }
    }
    accumulator.end(&mut switches);
    task_info::look_again(&mut accumulator, Hierarchy::find(Path::new("/")).as_ref());
    let mut tables =
        accumulator.snapshot(end_ns, History::Whole, &|number| group_names.get(&number).cloned());
    describe(&accumulator, tracepoints, Cost::InPlace, &mut header);
    let lost: Vec<Losses> = end.lost.iter().zip(&begin.lost).map(|(end, begin)| end.since(begin)).collect();
    add_lost(&lost, &accumulator, &mut header);
    add_lost_rows(&lost, &mut tables);
    tables.interrupts = interrupts(&begin, &end);
    header.recorder = RecorderCost {
        cpu_ns: Some(end.cpu_ns - begin.cpu_ns),
        bpf_ns: None,
        memory_bytes: Some(memory_bytes),
    };
    let cgroups = CgroupSums::between(&begin.cgroups, &end.cgroups);
    let mut collectors = Collectors::of_part(&begin.system, cgroups, intervals);
    collectors.finish(&end.system);
    collectors.add(&mut header, &mut tables);
    write_end(writer, &switches, &mut header, &tables, false)?;
    let folder = folder.to_owned();
    check(tables.view(&header))
        .map_err(|source| RecordError::Impossible { folder: folder.clone(), source })?;
    Ok(Recording { header, tables, folder, command_end: None })
}

/// The interrupts between two marks.
fn interrupts(begin: &Mark, end: &Mark) -> Vec<InterruptRow> {
    let table = |mark: &Mark| Tables { interrupts: mark.interrupts.clone(), ..Tables::default() };
    let mut rows = table(end).delta(&table(begin), &Growth::default()).interrupts;
    rows.retain(|row| row.count > 0);
    rows
}
