//! The thread that keeps events, and decides when a Trace of them is written.

use super::FlightOptions;
use super::condition::Condition;
use super::kept::{KeptPart, KeptRing};
use super::limits::{Asks, Edge, RateLimit, STILL_NS, Suppression, bytes_of_traces};
use super::requests::{Caller, DumpAnswer, Requests};
use super::window::{Window, WindowCounters};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{Mode, Options, Target};
use crate::plan::Facts;
use crate::rights;
use crate::session::{
    self, Collector, GroupNames, KeptEvents, Mark, PERIODS, SystemIntervals, longest_period, next_period,
    write_kept,
};
use crate::sources::bpf::{Bpf, LoadOptions, Losses, PackedEvent, PackedEvents};
use crate::system::{Cgroup, Detail, Snapshot};
use crate::task_info;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swtch_trace::accumulate::TaskInfo;
use swtch_trace::event::{Event, Life};
use swtch_trace::model::Header;
use swtch_trace::{Destination, SourceKind};
use swtch_units::{format_ns, utc};

/// Memory of the rings: they are read as long as the machine runs, so less than those of a recording.
const RING_BYTES_PER_CPU: u64 = 16 << 20;
const MOST_RING_BYTES: u64 = 128 << 20;
/// Part of the memory for kept events that those may take which wait for earlier ones of a CPU.
const WAITING_PART: u64 = 4;
/// The nice value of the thread that reads the rings, where it may have it. The rings fill up while other tasks keep it from its
/// CPU.
const READER_NICE: i32 = -10;
/// The nice value of the thread that writes. At 19 it would wait for minutes where tasks wait for CPUs, which is when a Trace is wanted.
const WRITER_NICE: i32 = 10;
/// How often tasks whose end was lost are looked for, ns.
const SWEEP_EVERY_NS: u64 = 60_000_000_000;
/// Bytes of a Trace for each event and task that is kept, and in any case: more than any Trace took.
const TRACE_BYTES: (u64, u64, u64) = (16, 512, 1 << 20);

/// Why a Trace is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DumpCause {
    /// A condition began to hold; the figure.
    Condition(String),
    /// SIGUSR1.
    Signal,
    /// `swtch dump`.
    Request,
}

impl DumpCause {
    /// Its word, for labels.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Condition(_) => "condition",
            Self::Signal => "signal",
            Self::Request => "request",
        }
    }
}

impl fmt::Display for DumpCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition(why) => formatter.write_str(why),
            Self::Signal => formatter.write_str("a signal asked for it"),
            Self::Request => formatter.write_str("'swtch dump' asked for it"),
        }
    }
}

/// What a flight recorder keeps and has written.
#[derive(Clone, Debug, Default)]
pub struct FlightStatus {
    /// The time that is kept, ns.
    pub kept_ns: u64,
    /// Memory of what is kept.
    pub kept_bytes: u64,
    /// Events that went before their time, because they left no memory.
    pub dropped_early: u64,
    /// Events that the programs lost.
    pub lost: u64,
    /// Traces that were written, by cause.
    pub dumps: BTreeMap<&'static str, u64>,
    /// Traces that were not written, by reason.
    pub suppressed: BTreeMap<&'static str, u64>,
}

impl FlightStatus {
    /// Nothing yet, of every kind.
    fn begin() -> Self {
        let causes = [DumpCause::Condition(String::new()), DumpCause::Signal, DumpCause::Request];
        Self {
            dumps: causes.iter().map(|cause| (cause.name(), 0)).collect(),
            suppressed: Suppression::ALL.iter().map(|reason| (reason.name(), 0)).collect(),
            ..Self::default()
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A Trace was written.
    Written {
        /// Where it is.
        trace: PathBuf,
        /// The time that it covers.
        seconds: f64,
        /// Why it was written.
        cause: DumpCause,
    },
    /// Something is wrong: a sentence.
    Complaint(String),
}

/// What the recorder's thread shares with the others.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) ended: AtomicBool,
    /// A Trace is asked for by a signal.
    pub(super) asked: AtomicBool,
    pub(super) status: Mutex<FlightStatus>,
    pub(super) notices: Mutex<Vec<Notice>>,
}

/// A Trace that is wanted as soon as the events up to now are complete.
struct Wanted {
    cause: DumpCause,
    at_ns: u64,
    callers: Vec<Caller>,
}

/// A Trace that is being written.
struct Writing {
    wanted: Wanted,
    seconds: f64,
    thread: JoinHandle<Result<PathBuf, RecordError>>,
}

/// Keeps events.
pub(super) struct Recorder {
    options: FlightOptions,
    shared: Arc<Shared>,
    requests: Requests,
    header: Header,
    group: Option<Cgroup>,
    groups: GroupNames,
    bpf: Bpf,
    period: Duration,
    longest_period: Duration,
    /// Seen, and not yet old enough to be in order.
    waiting: PackedEvents,
    ring: KeptRing,
    /// Where the chunk that is being filled will end.
    boundary: Option<Arc<Mark>>,
    intervals: SystemIntervals,
    window: Option<Window>,
    edges: Vec<Edge>,
    rate: RateLimit,
    wanted: Option<Wanted>,
    writing: Option<Writing>,
    status: FlightStatus,
    /// Reasons of which a message reported since the last Trace.
    said: Vec<Suppression>,
    said_shorter: bool,
    swept_ns: u64,
}

impl Recorder {
    pub(super) fn begin(
        options: FlightOptions,
        requests: Requests,
        shared: Arc<Shared>,
    ) -> Result<Self, RecordError> {
        let target = Options {
            source: Some(SourceKind::BpfEvents),
            mode: Some(Mode::Events),
            ..Options::new(Target::Machine, PathBuf::new())
        };
        let (mut header, _, group) = session::prepare(&target, &Facts::of_machine())?;
        let cpus = header.host.cpus.len().max(1);
        let ring_bytes = RING_BYTES_PER_CPU.min(MOST_RING_BYTES / cpus as u64);
        let groups = GroupNames::begin();
        let mut bpf = Bpf::load(LoadOptions {
            buffer_bytes: ring_bytes,
            scoped: false,
            cpu_hierarchy: groups.is_of_cpu(),
            in_place: true,
        })?;
        bpf.attach()?;
        let _ = rustix::process::setpriority_process(None, READER_NICE);
        rights::keep_only(rights::of_watch(SourceKind::BpfEvents, &header), &mut header);
        let tids = task_info::all().into_iter();
        let tasks: Vec<TaskInfo> = tids.filter_map(|tid| task_info::task(tid, groups.hierarchy())).collect();
        let begin = Arc::new(Mark::take(&bpf, group.as_ref()));
        let keep_ns = options.keep.as_nanos() as u64;
        let ring = KeptRing::new(Arc::clone(&begin), tasks.iter().cloned(), keep_ns, options.most_bytes);
        let intervals = SystemIntervals::begin(begin.at_ns(), &begin.system, group.as_ref());
        let mut new = Self {
            edges: options.when.iter().map(|_| Edge::default()).collect(),
            period: PERIODS.0,
            longest_period: longest_period(ring_bytes),
            waiting: PackedEvents::default(),
            boundary: None,
            window: None,
            rate: RateLimit::default(),
            wanted: None,
            writing: None,
            status: FlightStatus::begin(),
            said: Vec::new(),
            said_shorter: false,
            swept_ns: begin.at_ns(),
            options,
            shared,
            requests,
            header,
            group,
            groups,
            bpf,
            ring,
            intervals,
        };
        if !new.options.when.is_empty() {
            new.window = Some(Window::new(
                cpus,
                new.counters(begin.at_ns()),
                &tasks,
                new.options.when.iter().map(Condition::subject),
            ));
        }
        new.name_missing_cgroups();
        new.look_at_cgroups();
        Ok(new)
    }

    /// Says which cgroups of conditions are not there.
    fn name_missing_cgroups(&mut self) {
        let hierarchy = self.groups.hierarchy();
        let is_missing = |path: &str| {
            !hierarchy.and_then(|of| of.folder(Path::new("/"), path)).is_some_and(|folder| folder.is_dir())
        };
        let missing = self.options.when.iter().filter(|condition| condition.cgroup().is_some_and(is_missing));
        let sentences: Vec<String> = missing
            .map(|condition| {
                let path = condition.cgroup().unwrap_or_default();
                format!(
                    "'{condition}' cannot hold until there is a cgroup {path}; /proc/PID/cgroup has the paths"
                )
            })
            .collect();
        for sentence in sentences {
            self.complain(sentence);
        }
    }

    /// Keeps events until the end is asked for.
    pub(super) fn run(&mut self) {
        while !self.shared.ended.load(Ordering::Relaxed) {
            std::thread::park_timeout(self.period);
            self.poll();
        }
        if let Some(writing) = self.writing.take() {
            self.written(writing);
        }
        self.publish(monotonic_ns());
    }

    fn poll(&mut self) {
        let round = self.bpf.drain(&mut self.waiting);
        self.period = next_period(self.period, round.full, self.longest_period);
        self.waiting.events.sort_by_key(PackedEvent::at_ns);
        self.waiting.lives.sort_by_key(|life| life.at_ns);
        let most_waiting = self.options.most_bytes / WAITING_PART;
        // A CPU that was taken away for long must not take all memory: what it gives then is late.
        let horizon_ns = if self.waiting.bytes() > most_waiting { u64::MAX } else { round.horizon_ns };
        if let Some(boundary) = self.boundary.take_if(|boundary| boundary.at_ns() <= horizon_ns) {
            let end_ns = boundary.at_ns();
            self.keep_until(end_ns);
            self.ring.end_chunk(boundary);
            self.write(end_ns);
        }
        self.keep_until(self.boundary.as_ref().map_or(horizon_ns, |boundary| boundary.at_ns()));
        let now_ns = monotonic_ns();
        self.groups.poll(now_ns);
        self.intervals.poll(now_ns);
        self.judge(now_ns);
        self.take_requests(now_ns);
        // Traces are written one after another.
        let is_wanted = self.wanted.is_some() && self.writing.is_none();
        if self.boundary.is_none() && (is_wanted || self.ring.is_full(now_ns)) {
            self.boundary = Some(Arc::new(Mark::take(&self.bpf, self.group.as_ref())));
        }
        let groups = &self.groups;
        self.ring.trim(now_ns, self.waiting.bytes(), &|number| groups.name(number));
        self.intervals.forget_before(self.ring.begin_ns());
        self.sweep(now_ns);
        if let Some(writing) = self.writing.take_if(|writing| writing.thread.is_finished()) {
            self.written(writing);
        }
        self.publish(now_ns);
    }

    /// Keeps the events before a moment, and shows them to the window.
    fn keep_until(&mut self, until_ns: u64) {
        let events = self.waiting.events.partition_point(|event| event.at_ns() < until_ns);
        let lives = self.waiting.lives.partition_point(|life| life.at_ns < until_ns);
        let begun_ns = self.ring.begin_ns();
        for life in &self.waiting.lives[..lives] {
            self.groups.note(life.group.unwrap_or(0));
        }
        if let Some(window) = &mut self.window {
            for event in self.waiting.events[..events].iter().filter_map(PackedEvent::unpack) {
                window.take(&event);
            }
            self.waiting.lives[..lives].iter().for_each(|life| window.take(&Event::Life(life.clone())));
        }
        let groups = &self.groups;
        // What came before the first mark only names tasks.
        let before = self.waiting.lives[..lives].partition_point(|life| life.at_ns < begun_ns);
        for life in self.waiting.lives.drain(..before) {
            self.ring.outlive(&life, &|number| groups.name(number));
        }
        let events = self.waiting.events.drain(..events).filter(|event| event.at_ns() >= begun_ns);
        self.ring.add(events, self.waiting.lives.drain(..lives - before));
    }

    /// What the window needs of the kernel's counters.
    fn counters(&self, now_ns: u64) -> WindowCounters {
        let system = self
            .options
            .when
            .iter()
            .any(Condition::is_of_machine)
            .then(|| Snapshot::read(Path::new("/"), None, Detail::Totals));
        let pressure = |system: &Snapshot| system.pressure.iter().find(|row| row.resource == "cpu")?.some_ns;
        WindowCounters {
            at_ns: now_ns,
            lost: self.bpf.lost().iter().map(Losses::all).sum(),
            pressure_ns: system.as_ref().and_then(pressure),
            steal_ns: system.as_ref().and_then(|system| system.total.steal),
        }
    }

    /// Shows the window the cgroups that conditions name.
    fn look_at_cgroups(&mut self) {
        let (Some(window), Some(hierarchy)) = (&mut self.window, self.groups.hierarchy()) else { return };
        let root = Path::new("/");
        let paths: BTreeSet<&str> = self.options.when.iter().filter_map(Condition::cgroup).collect();
        for path in paths {
            let list = || -> HashSet<u32> {
                let folder = hierarchy.folder(root, path);
                folder.map(|folder| task_info::in_folder(&folder).into_iter().collect()).unwrap_or_default()
            };
            let tids = window.looks_for_members().then(list);
            window.set_cgroup(path, tids.as_ref(), hierarchy.throttling(root, path));
        }
    }

    /// Looks whether a condition begins to hold.
    fn judge(&mut self, now_ns: u64) {
        if !self.window.as_ref().is_some_and(|window| window.is_due(now_ns)) {
            return;
        }
        let counters = self.counters(now_ns);
        self.look_at_cgroups();
        let Some(window) = &mut self.window else { return };
        if !window.end_part(counters) {
            return;
        }
        let limits = self.options.limits;
        let found: Vec<(Asks, Option<String>, String)> = self
            .options
            .when
            .iter()
            .zip(&mut self.edges)
            .map(|(condition, edge)| {
                let why = window.scope(condition.subject()).and_then(|scope| condition.why(scope));
                (edge.step(why.is_some(), now_ns), why, condition.to_string())
            })
            .collect();
        for (asks, why, condition) in found {
            match asks {
                Asks::Nothing => {}
                // One that is wanted already will show it.
                Asks::ForTrace if self.wanted.is_some() => {}
                Asks::ForTrace if self.rate.admits(&limits, now_ns) => {
                    self.wanted = Some(Wanted {
                        cause: DumpCause::Condition(why.unwrap_or_default()),
                        at_ns: now_ns,
                        callers: Vec::new(),
                    });
                }
                Asks::ForTrace => self.suppress(Suppression::Rate, || {
                    format!(
                        "'{condition}' holds again, and {} in {} were written (--at-most); swtch_dumps_suppressed_total counts those that are not",
                        limits.most,
                        format_ns(limits.per.as_nanos() as f64)
                    )
                }),
                Asks::Still => self.complain(format!(
                    "'{condition}' still holds after {}: a Trace is written when it begins to hold, and the next one when it does so again",
                    format_ns(STILL_NS as f64)
                )),
            }
        }
    }

    /// Takes what a signal or `swtch dump` asks for.
    fn take_requests(&mut self, now_ns: u64) {
        if self.shared.asked.swap(false, Ordering::Relaxed) {
            self.wanted.get_or_insert_with(|| Wanted {
                cause: DumpCause::Signal,
                at_ns: now_ns,
                callers: Vec::new(),
            });
        }
        while let Some(caller) = self.requests.next() {
            let wanted = self.wanted.get_or_insert_with(|| Wanted {
                cause: DumpCause::Request,
                at_ns: now_ns,
                callers: Vec::new(),
            });
            wanted.callers.push(caller);
        }
    }

    /// Begins to write the Trace that is wanted.
    fn write(&mut self, end_ns: u64) {
        let Some(wanted) = self.wanted.take_if(|wanted| self.writing.is_none() && wanted.at_ns <= end_ns)
        else {
            return;
        };
        let Some(KeptPart { chunks, end, tasks }) = self.ring.kept() else {
            return self.refuse(wanted, Suppression::Empty, "nothing is kept yet".to_owned());
        };
        let begin = &chunks[0].begin;
        let seconds = (end.at_ns() - begin.at_ns()) as f64 / 1e9;
        let events: u64 = chunks.iter().map(|chunk| chunk.packed.events.len() as u64).sum();
        let (of_event, of_task, least) = TRACE_BYTES;
        let born: u64 = chunks.iter().map(|chunk| chunk.packed.lives.len() as u64).sum();
        let needed = events * of_event + (tasks.len() as u64 + born) * of_task + least;
        let folder = &self.options.folder;
        match bytes_of_traces(folder) {
            Ok(bytes) if bytes + needed > self.options.limits.bytes => {
                let why = format!(
                    "{} holds {bytes} bytes of Traces, and one more may take {needed}: more than --dumps-bytes {} allows; remove some",
                    folder.display(),
                    self.options.limits.bytes
                );
                return self.refuse(wanted, Suppression::Bytes, why);
            }
            Err(error) => {
                let why = format!("cannot list {}: {error}", folder.display());
                return self.refuse(wanted, Suppression::Failed, why);
            }
            Ok(_) => {}
        }
        let mut header = self.header.clone();
        header.provenance.why = format!("the last {seconds:.1} s that 'swtch serve' kept: {}", wanted.cause);
        let lives = chunks.iter().flat_map(|chunk| &chunk.packed.lives);
        let numbers = lives.filter_map(|life: &Life| life.group);
        let group_names: HashMap<u64, String> =
            numbers.filter_map(|number| Some((number, self.groups.name(number)?))).collect();
        let kept = KeptEvents {
            header,
            tasks,
            intervals: self.intervals.part(&begin.system, end.at_ns()),
            group_names,
            tracepoints: self.bpf.tracepoints(),
            memory_bytes: self.bpf.memory_bytes() + self.ring.bytes(),
            chunks,
            end,
        };
        let folder = folder.join(format!("swtch-{}.swtch", now_in_name()));
        let write = move || {
            // Where it is not allowed, the Trace is written nevertheless.
            let _ = rustix::process::setpriority_process(None, WRITER_NICE);
            let folder = Destination::free(&folder)?.folder;
            Ok(write_kept(kept, &folder)?.folder)
        };
        match std::thread::Builder::new().name("swtch-dump".to_owned()).spawn(write) {
            Ok(thread) => self.writing = Some(Writing { wanted, seconds, thread }),
            Err(error) => {
                self.refuse(wanted, Suppression::Failed, format!("no thread can be started: {error}"));
            }
        }
    }

    /// A Trace is written, or is not.
    fn written(&mut self, writing: Writing) {
        let Writing { wanted, seconds, thread } = writing;
        match thread.join() {
            Ok(Ok(trace)) => {
                *self.status.dumps.entry(wanted.cause.name()).or_default() += 1;
                self.said.clear();
                let answer = Ok(DumpAnswer { trace: trace.clone(), seconds });
                wanted.callers.into_iter().for_each(|caller| caller.answer(&answer));
                self.say(Notice::Written { trace, seconds, cause: wanted.cause });
            }
            Ok(Err(error)) => self.refuse(wanted, Suppression::Failed, error.to_string()),
            Err(_) => self.refuse(wanted, Suppression::Failed, "its thread failed".to_owned()),
        }
    }

    fn refuse(&mut self, wanted: Wanted, reason: Suppression, why: String) {
        self.suppress(reason, || format!("no Trace is written: {why}"));
        let answer = Err(why);
        wanted.callers.into_iter().for_each(|caller| caller.answer(&answer));
    }

    /// Counts a Trace that is not written, and says why, once until one is.
    fn suppress(&mut self, reason: Suppression, why: impl FnOnce() -> String) {
        *self.status.suppressed.entry(reason.name()).or_default() += 1;
        if !self.said.contains(&reason) {
            self.said.push(reason);
            self.complain(why());
        }
    }

    /// Forgets tasks whose end was lost.
    fn sweep(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.swept_ns) < SWEEP_EVERY_NS {
            return;
        }
        self.swept_ns = now_ns;
        let existing = task_info::all().into_iter().collect();
        self.ring.forget_unless(&existing);
        if let Some(window) = &mut self.window {
            window.forget_unless(|tid| existing.contains(&tid));
        }
    }

    fn publish(&mut self, now_ns: u64) {
        self.status.kept_ns = now_ns.saturating_sub(self.ring.begin_ns());
        self.status.kept_bytes = self.ring.bytes() + self.waiting.bytes();
        self.status.dropped_early = self.ring.dropped_early();
        self.status.lost = self.bpf.lost().iter().map(Losses::all).sum();
        if self.status.dropped_early > 0 && !self.said_shorter {
            self.said_shorter = true;
            self.complain(format!(
                "the last {} are kept instead of {}: there is no memory for more; a larger --keep-bytes keeps more",
                format_ns(self.status.kept_ns as f64),
                format_ns(self.options.keep.as_nanos() as f64)
            ));
        }
        self.shared.status.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.status);
    }

    fn complain(&mut self, sentence: String) {
        self.say(Notice::Complaint(sentence));
    }

    fn say(&mut self, notice: Notice) {
        self.shared.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }
}

/// The present as part of a name: `20261123T030412Z`.
fn now_in_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let [year, month, day, hour, minute, second] = utc(since.map_or(0, |since| since.as_secs()));
    format!("{year}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}
