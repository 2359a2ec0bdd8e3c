//! Spans: pieces of a program's work, such as requests, each with its beginning and its end.
//!
//! A program writes them as lines of the workload contract (`contract`), and a tracing library as OTLP/JSON (`otlp`). A web server
//! writes them as lines of its access log (`access_log`). [`Spans::read`] puts them on the clock of a Trace and finds the tasks that
//! worked on them.

mod access_log;
mod contract;
mod otlp;

pub use access_log::LogFormat;

use crate::model::{Header, Scope};
use crate::tables::TraceView;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Larger than any file of spans that is read at once; keeps a mistaken argument from filling the memory.
const LARGEST_FILE_BYTES: u64 = 1 << 30;

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What was done, such as `checkout`.
    pub name: String,
    /// Which one it was, where its program says.
    pub id: Option<String>,
    /// The tasks that worked on it.
    pub owner: SpanOwner,
    /// When it began, ns since the Trace's start.
    pub begin_ns: u64,
    /// When it ended, ns since the Trace's start.
    pub end_ns: u64,
}

impl Span {
    /// How long it took.
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// The tasks that worked on a span, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SpanOwner {
    /// One thread.
    Thread(u32),
    /// Some thread of a process.
    Process(u32),
    /// Some task of this name.
    Program(String),
    /// Some task that was recorded.
    Recorded,
}

/// The clock of a file's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpanClock {
    /// CLOCK_MONOTONIC.
    Monotonic,
    /// The time of day, since 1970.
    Wall,
}

impl SpanClock {
    fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::Wall => "the time of day",
        }
    }

    /// The Trace's start by this clock, ns; absent where the Trace does not say.
    fn start_ns(self, header: &Header) -> Option<u64> {
        let provenance = &header.provenance;
        let start_ns = match self {
            Self::Monotonic => provenance.started_monotonic_ns,
            Self::Wall => provenance.started_unix_ns,
        };
        (start_ns > 0).then_some(start_ns)
    }
}

/// A span as its file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RawSpan {
    name: String,
    id: Option<String>,
    pid: Option<u32>,
    tid: Option<u32>,
    begin_ns: u64,
    end_ns: u64,
}

/// What a file of spans holds.
#[derive(Debug)]
struct SpanFile {
    clock: SpanClock,
    spans: Vec<RawSpan>,
    /// How many began and have no end.
    unended: usize,
}

/// A line that is not as expected: its number, from 1, and why.
type LineError = (usize, String);

/// Why spans cannot be used. Every message is one line: what failed, the cause, the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpansError {
    /// The file cannot be read.
    #[error("cannot read the spans in {}: {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A line is not what its format says.
    #[error("{}:{line}: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The defect, and what was expected.
        why: String,
    },
    /// The spans do not fit the Trace.
    #[error("{}: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
}

/// Spans on the clock of a Trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Those that lie within the Trace, by their beginning.
    pub spans: Vec<Span>,
    /// How many began or ended outside the Trace, and are left out.
    pub outside: usize,
    /// How many began and never ended, and are left out.
    pub unended: usize,
    /// How many are of tasks that are not in the Trace, and are left out.
    pub of_other_tasks: usize,
}

/// The file of the spans of a Trace's command, beside its directory: `NAME.spans.jsonl` of `NAME.swtch`.
pub fn beside(trace: &Path) -> PathBuf {
    trace.with_extension("spans.jsonl")
}

/// How a file of spans is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanSource<'a> {
    /// The format of an access log, when the file is one.
    pub log_format: Option<&'a LogFormat>,
    /// The program (`comm`) that worked on spans whose thread and process are not known.
    pub program: Option<&'a str>,
}

impl Spans {
    /// Reads the spans in the file `path`, which belong to `trace`.
    ///
    /// # Errors
    /// When the file is not one of spans, is of another clock or machine, or does not say which tasks worked on them.
    pub fn read(path: &Path, source: SpanSource<'_>, trace: TraceView<'_>) -> Result<Self, SpansError> {
        let file = parse(path, source.log_format)?;
        let foreign = |why: String| SpansError::Foreign { path: path.to_owned(), why };
        if file.spans.is_empty() {
            let why = match file.unended {
                0 => "it holds no span; see 'swtch why --help' for what writes them".to_owned(),
                unended => format!("none of its {unended} spans has an end; end them, and record again"),
            };
            return Err(foreign(why));
        }
        let Some(start_ns) = file.clock.start_ns(trace.header) else {
            return Err(foreign(format!(
                "its times are {}, and the Trace does not say when it began by that clock; record with 'swtch record'",
                file.clock.name()
            )));
        };
        let mut spans = Self { unended: file.unended, ..Self::default() };
        let owners = Owners::of(trace, source.program);
        let reach = reach(&file.spans);
        let nameless = file.spans.iter().all(|span| span.tid.is_none() && span.pid.is_none());
        for raw in file.spans {
            let begin_ns = raw.begin_ns.checked_sub(start_ns);
            let end_ns =
                raw.end_ns.checked_sub(start_ns).filter(|end_ns| *end_ns <= trace.header.duration_ns);
            match (begin_ns.zip(end_ns), owners.owner(&raw)) {
                (None, _) => spans.outside += 1,
                (Some(_), None) => spans.of_other_tasks += 1,
                (Some((begin_ns, end_ns)), Some(owner)) => {
                    spans.spans.push(Span { name: raw.name, id: raw.id, owner, begin_ns, end_ns });
                }
            }
        }
        if spans.spans.is_empty() {
            return Err(foreign(match spans.of_other_tasks {
                0 => no_overlap(file.clock, reach, start_ns, trace.header),
                _ if nameless => {
                    "its spans name neither thread nor process; say which program worked on them with \
                    --program NAME"
                        .to_owned()
                }
                count => format!(
                    "none of the tasks of its {count} spans is in the Trace: it is of another machine, or a container numbers its own \
                     tasks; name the program with --program NAME"
                ),
            }));
        }
        spans.spans.sort_by_key(|span| (span.begin_ns, span.end_ns));
        Ok(spans)
    }

    /// The names of the spans with the number of each, the most frequent first.
    pub fn names(&self) -> Vec<(&str, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for span in &self.spans {
            *counts.entry(&span.name).or_default() += 1;
        }
        let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
        names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        names
    }

    /// How many spans of one thread overlap another one of the same name there, without lying in it.
    pub fn overlapping(&self) -> usize {
        let mut open: HashMap<(&SpanOwner, &str), u64> = HashMap::new();
        let mut count = 0;
        for span in self.spans.iter().filter(|span| matches!(span.owner, SpanOwner::Thread(_))) {
            let end_ns = open.entry((&span.owner, &span.name)).or_default();
            count += usize::from(span.begin_ns < *end_ns && span.end_ns > *end_ns);
            *end_ns = (*end_ns).max(span.end_ns);
        }
        count
    }
}

fn parse(path: &Path, log_format: Option<&LogFormat>) -> Result<SpanFile, SpansError> {
    let fail = |source| SpansError::Read { path: path.to_owned(), source };
    let found = fs::metadata(path).map_err(fail)?;
    if found.len() > LARGEST_FILE_BYTES {
        return Err(fail(io::Error::other("it has more than 1 GiB")));
    }
    let bytes = fs::read(path).map_err(fail)?;
    let text = String::from_utf8_lossy(&bytes);
    let parsed = match log_format {
        Some(format) => format.parse_log(&text),
        None => parse_json(&text),
    };
    parsed.map_err(|(line, why)| SpansError::Line { path: path.to_owned(), line, why })
}

/// The contract's lines have `event`, those of OTLP `resourceSpans`. One document over several lines can only be OTLP.
fn parse_json(text: &str) -> Result<SpanFile, LineError> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match serde_json::from_str::<serde_json::Value>(first) {
        Ok(line) if line.get("event").is_some() => contract::parse(text),
        Ok(line) if line.get("resourceSpans").is_some() => otlp::parse(text.lines().enumerate()),
        Err(_) if text.trim_start().starts_with('{') && text.contains("\"resourceSpans\"") => {
            otlp::parse([(0, text)].into_iter())
        }
        _ if text.trim().is_empty() => Ok(SpanFile { clock: SpanClock::Monotonic, spans: Vec::new(), unended: 0 }),
        _ => Err((
            1,
            "is neither a line of the workload contract nor OTLP/JSON; an access log needs --log-format FORMAT".to_owned(),
        )),
    }
}

/// Takes every line; of the last one, which a program may have been writing, only if it is whole.
fn each_line(text: &str, mut take: impl FnMut(&str) -> Result<(), String>) -> Result<(), LineError> {
    let whole = text.ends_with('\n');
    let last = text.lines().count();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        match take(line) {
            Err(why) if whole || index + 1 < last => return Err((index + 1, why)),
            _ => {}
        }
    }
    Ok(())
}

/// From the first beginning to the last end.
fn reach(spans: &[RawSpan]) -> (u64, u64) {
    let begin_ns = spans.iter().map(|span| span.begin_ns).min().unwrap_or(0);
    (begin_ns, spans.iter().map(|span| span.end_ns).max().unwrap_or(0))
}

fn no_overlap(clock: SpanClock, (begin_ns, end_ns): (u64, u64), start_ns: u64, header: &Header) -> String {
    let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
    format!(
        "no span lies within the Trace: by {} they are from {} to {}, and the Trace from {} to {}; it is of another machine, clock or time",
        clock.name(),
        seconds(begin_ns),
        seconds(end_ns),
        seconds(start_ns),
        seconds(start_ns + header.duration_ns)
    )
}

/// Which tasks a Trace has.
struct Owners<'a> {
    /// Process by thread.
    threads: HashMap<u32, u32>,
    processes: HashSet<u32>,
    program: Option<&'a str>,
    /// Whether a span without process cannot be attributed: the whole machine was recorded, and no program is named.
    unnamed: bool,
}

impl<'a> Owners<'a> {
    fn of(trace: TraceView<'_>, program: Option<&'a str>) -> Self {
        let threads: HashMap<u32, u32> = trace.tables.in_scope().map(|task| (task.tid, task.pid)).collect();
        let processes = threads.values().copied().collect();
        let program = program.filter(|program| trace.tasks.iter().any(|task| task.comm == *program));
        let unnamed = trace.header.scope == Scope::Machine && program.is_none();
        Self { threads, processes, program, unnamed }
    }

    /// A thread's number may be one that a language gives, and not the kernel's: it must be a thread of the process.
    fn owner(&self, span: &RawSpan) -> Option<SpanOwner> {
        let of_process =
            |tid: &u32| self.threads.get(tid).is_some_and(|pid| span.pid.is_none_or(|named| named == *pid));
        if let Some(tid) = span.tid.filter(of_process) {
            return Some(SpanOwner::Thread(tid));
        }
        if let Some(pid) = span.pid.filter(|pid| self.processes.contains(pid)) {
            return Some(SpanOwner::Process(pid));
        }
        if let Some(program) = self.program {
            return Some(SpanOwner::Program(program.to_owned()));
        }
        (span.pid.is_none() && span.tid.is_none() && !self.unnamed).then_some(SpanOwner::Recorded)
    }
}

/// A span's times, checked: it must not end before it begins.
fn checked(begin_ns: u64, end_ns: u64) -> Result<(), String> {
    if end_ns >= begin_ns {
        return Ok(());
    }
    Err(format!("a span ends at {end_ns} ns, before it begins at {begin_ns} ns"))
}

#[cfg(test)]
mod tests;
