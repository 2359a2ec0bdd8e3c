//! Why some spans took longer than others: the time of each, divided by what its thread did and waited for.
//!
//! Modules: `timeline` (what each thread did when, from the switches), `division` (the time of a span by cause).

mod division;
#[cfg(test)]
mod tests;
mod timeline;

use division::{Divided, Divider, Whom};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use swtch_trace::spans::{Span, SpanOwner, Spans};
use swtch_trace::{Trace, TraceError};
use swtch_units::words;
use timeline::Timelines;

/// Spans that are shown one by one.
const SLOWEST_SHOWN: usize = 20;
/// Programs named for each cause.
const BEHIND_SHOWN: usize = 5;
/// A CPU is named if at least this part of the time was on it.
const ON_ONE_CPU: f64 = 0.9;

words! {
    /// What the time of a span went to.
    pub enum SpanCause("cause of a span's time") {
        /// Its thread ran.
        OnCpu = "on_cpu",
        /// Its thread could run and waited for a CPU.
        RunQueue = "run_queue",
        /// Its thread waited for something else: a lock, a device, a message, a timer.
        Blocked = "blocked",
        /// The quota of its cgroup was used up.
        Throttled = "throttled",
        /// Interrupts had its CPU.
        Interrupt = "interrupt",
        /// The hypervisor gave its CPU to others.
        Steal = "steal",
        /// The Trace does not say: events were lost.
        Unknown = "unknown",
    }
}

/// What the slow spans of one name were spent on, beside the ordinary ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// The name of the spans.
    pub span: String,
    /// The share of the spans that was asked for as the slowest.
    pub slowest_share: f64,
    /// The slowest.
    pub slow: SpanGroup,
    /// The middle half by length, without the slow ones.
    pub ordinary: SpanGroup,
    /// The slowest one by one, the longest first.
    pub slowest: Vec<SlowSpan>,
    /// All names of spans, the most frequent first.
    pub names: Vec<SpanName>,
    /// How spans were attributed to tasks, and which are left out; a sentence each.
    pub notes: Vec<String>,
}

/// Several spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpanGroup {
    /// How many.
    pub count: usize,
    /// Their mean length, ns; absent where there is none.
    pub mean_ns: Option<f64>,
    /// What their time went to, the most first; the shares add up to 1.
    pub causes: Vec<CauseShare>,
}

/// A part of the time of spans.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseShare {
    /// What it went to.
    pub cause: SpanCause,
    /// The part of the spans' time.
    pub share: f64,
    /// The time of a span, on average, ns.
    pub mean_ns: f64,
    /// The tasks that had the CPU meanwhile, or that ended the blocking; the most first.
    pub behind: Vec<Behind>,
}

/// A program that a span waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Behind {
    /// Its name, or what it was where it was not a task.
    pub name: String,
    /// Whether it is of the span's own process.
    pub own_process: bool,
    /// Whether it is a thread of a process that has more threads that wait on CPUs than CPUs.
    pub waits_itself: bool,
    /// The part of the spans' time.
    pub share: f64,
    /// The CPU, where nearly all of it was on one.
    pub cpu: Option<u32>,
}

/// A slow span.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowSpan {
    /// Which one, where its program says.
    pub id: Option<String>,
    /// When it began, ns since the Trace's start.
    pub begin_ns: u64,
    /// How long it took, ns.
    pub length_ns: u64,
    /// What its time went to, ns; the parts add up to its length.
    pub parts: BTreeMap<SpanCause, u64>,
}

/// The spans of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpanName {
    /// The name.
    pub span: String,
    /// How many.
    pub count: usize,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WhyError {
    /// The Trace has no single switches.
    #[error("{path} has no single switches: {why}; {remedy}")]
    NoSwitches {
        /// The Trace.
        path: String,
        /// Why.
        why: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// No span has this name.
    #[error("no span is called '{name}'; there are {}", names.join(", "))]
    NoSuchSpan {
        /// The name.
        name: String,
        /// The names that there are.
        names: Vec<String>,
    },
    /// The Trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// What the slowest spans of a Trace were spent on: those named `name`, else those whose slow ones took most time beyond the ordinary.
///
/// `slowest` is the share of the spans, 0 to 1, that counts as slow; at least one does.
///
/// # Errors
/// When the Trace has no single switches, or no span has that name.
pub fn why(trace: &Trace, spans: &Spans, name: Option<&str>, slowest: f64) -> Result<Why, WhyError> {
    has_switches(trace)?;
    let counts = spans.names();
    if let Some(name) = name.filter(|name| counts.iter().all(|(one, _)| one != name)) {
        let names = counts.iter().map(|(one, _)| (*one).to_owned()).collect();
        return Err(WhyError::NoSuchSpan { name: name.to_owned(), names });
    }
    let name = name.or_else(|| by_excess(spans, slowest).first().copied()).unwrap_or("");
    let chosen = ChosenSpans::of(spans, name, slowest);
    let timelines = Timelines::read(trace, &chosen.owners().collect())?;
    Ok(chosen.explained(&Divider::of(trace.view(), &timelines)))
}

/// The answers of [`why`] for several names, at most `most`: first those whose slow spans took most time beyond the ordinary.
///
/// # Errors
/// When the Trace has no single switches.
pub fn whys(trace: &Trace, spans: &Spans, most: usize, slowest: f64) -> Result<Vec<Why>, WhyError> {
    has_switches(trace)?;
    let names = by_excess(spans, slowest).into_iter().take(most);
    let chosen: Vec<ChosenSpans<'_>> = names.map(|name| ChosenSpans::of(spans, name, slowest)).collect();
    let owners = chosen.iter().flat_map(ChosenSpans::owners).collect();
    let timelines = Timelines::read(trace, &owners)?;
    let divider = Divider::of(trace.view(), &timelines);
    Ok(chosen.iter().map(|chosen| chosen.explained(&divider)).collect())
}

/// A slow span in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct DividedSpan<'a> {
    /// The span.
    pub span: &'a Span,
    /// What its time went to, and the program behind it, in the order of time. Time that is not known is left out.
    pub parts: Vec<SpanPart>,
}

/// A part of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanPart {
    /// When it began, ns since the Trace's start.
    pub from_ns: u64,
    /// When it ended, ns since the Trace's start.
    pub to_ns: u64,
    /// What it went to. Time on a CPU includes that of interrupts and the hypervisor.
    pub cause: SpanCause,
    /// The program that had the CPU, or that ended the blocking.
    pub behind: Option<String>,
}

/// The slowest spans of every name, each divided in the order of time.
///
/// # Errors
/// When the Trace has no single switches.
pub fn divided<'a>(trace: &Trace, spans: &'a Spans, slowest: f64) -> Result<Vec<DividedSpan<'a>>, WhyError> {
    has_switches(trace)?;
    let slow = |(name, _): (&str, usize)| chosen(spans, name, slowest).0;
    let slow: Vec<&Span> = spans.names().into_iter().flat_map(slow).collect();
    let timelines = Timelines::read(trace, &slow.iter().map(|span| &span.owner).collect())?;
    let divider = Divider::of(trace.view(), &timelines);
    let part = |part: division::Part| SpanPart {
        from_ns: part.from_ns,
        to_ns: part.to_ns,
        cause: part.cause,
        behind: part.whom.map(|whom| whom.name),
    };
    let divide =
        |span: &'a Span| DividedSpan { span, parts: divider.parts(span).into_iter().map(part).collect() };
    Ok(slow.into_iter().map(divide).collect())
}

/// The spans of a name that are compared.
struct ChosenSpans<'a> {
    spans: &'a Spans,
    name: &'a str,
    slowest: f64,
    slow: Vec<&'a Span>,
    ordinary: Vec<&'a Span>,
}

impl<'a> ChosenSpans<'a> {
    fn of(spans: &'a Spans, name: &'a str, slowest: f64) -> Self {
        let (slow, ordinary) = chosen(spans, name, slowest);
        Self { spans, name, slowest, slow, ordinary }
    }

    fn owners(&self) -> impl Iterator<Item = &'a SpanOwner> {
        self.slow.iter().chain(&self.ordinary).map(|span| &span.owner)
    }

    fn explained(&self, divider: &Divider<'_>) -> Why {
        let divided =
            |spans: &[&Span]| -> Vec<Divided> { spans.iter().map(|span| divider.divide(span)).collect() };
        let slow = divided(&self.slow);
        let names = self.spans.names();
        Why {
            span: self.name.to_owned(),
            slowest_share: self.slowest,
            slow: group(&self.slow, &slow),
            ordinary: group(&self.ordinary, &divided(&self.ordinary)),
            slowest: self
                .slow
                .iter()
                .zip(&slow)
                .take(SLOWEST_SHOWN)
                .map(|(span, divided)| one(span, divided))
                .collect(),
            names: names
                .iter()
                .map(|(name, count)| SpanName { span: (*name).to_owned(), count: *count })
                .collect(),
            notes: notes(self.spans, &self.slow, divider),
        }
    }
}

/// The names of spans: first those whose slow ones took most time beyond the ordinary, then the frequent ones.
fn by_excess(spans: &Spans, slowest: f64) -> Vec<&str> {
    let mut names: Vec<&str> = spans.names().into_iter().map(|(name, _)| name).collect();
    names.sort_by_cached_key(|name| std::cmp::Reverse(excess_ns(spans, name, slowest)));
    names
}

/// Checks that a Trace can say why a span was slow.
///
/// # Errors
/// When it has no single switches: the message says how to record them.
pub fn has_switches(trace: &Trace) -> Result<(), WhyError> {
    if trace.switch_rows().is_some() {
        return Ok(());
    }
    let provenance = &trace.header.provenance;
    let known = provenance.source().and_then(|source| source.facts().without_switches);
    let (why, remedy) = known.unwrap_or(("it was recorded without them", "record again with --events"));
    Err(WhyError::NoSwitches { path: trace.folder().display().to_string(), why, remedy })
}

/// The slowest spans of a name, the longest first, and the ordinary ones.
fn chosen<'a>(spans: &'a Spans, name: &str, slowest: f64) -> (Vec<&'a Span>, Vec<&'a Span>) {
    let mut of: Vec<&Span> = spans.spans.iter().filter(|span| span.name == name).collect();
    of.sort_by_key(|span| std::cmp::Reverse(span.length_ns()));
    let count = ((of.len() as f64 * slowest).ceil() as usize).clamp(1, of.len().max(1)).min(of.len());
    // The middle half, unless there are so few that all others are needed.
    let middle =
        if of.len() < 8 { count..of.len() } else { (of.len() / 4).max(count)..of.len() - of.len() / 4 };
    let ordinary = of.get(middle).unwrap_or_default().to_vec();
    of.truncate(count);
    (of, ordinary)
}

/// How much longer the slow spans of a name took than ordinary ones, all together.
fn excess_ns(spans: &Spans, name: &str, slowest: f64) -> u64 {
    let (slow, ordinary) = chosen(spans, name, slowest);
    let sum = |spans: &[&Span]| spans.iter().map(|span| span.length_ns()).sum::<u64>();
    let usual = sum(&ordinary) / (ordinary.len().max(1) as u64);
    sum(&slow).saturating_sub(usual * slow.len() as u64)
}

fn one(span: &Span, divided: &Divided) -> SlowSpan {
    let parts = SpanCause::ALL.into_iter().zip(divided.parts).filter(|(_, ns)| *ns > 0).collect();
    SlowSpan { id: span.id.clone(), begin_ns: span.begin_ns, length_ns: span.length_ns(), parts }
}

fn group(spans: &[&Span], divided: &[Divided]) -> SpanGroup {
    let (count, all_ns) = (spans.len(), spans.iter().map(|span| span.length_ns()).sum::<u64>());
    if count == 0 {
        return SpanGroup::default();
    }
    let share = |ns: u64| ns as f64 / all_ns.max(1) as f64;
    let mut causes = Vec::new();
    for cause in SpanCause::ALL {
        let ns: u64 = divided.iter().map(|one| one.parts[cause as usize]).sum();
        if ns == 0 {
            continue;
        }
        let mut by_whom: HashMap<&Whom, (u64, HashMap<u32, u64>)> = HashMap::new();
        for ((_, whom), at) in divided.iter().flat_map(|one| &one.behind).filter(|((of, _), _)| *of == cause)
        {
            let entry = by_whom.entry(whom).or_default();
            for (cpu, ns) in at {
                entry.0 += ns;
                *entry.1.entry(*cpu).or_default() += ns;
            }
        }
        let mut behind: Vec<Behind> = by_whom
            .into_iter()
            .map(|(whom, (ns, cpus))| {
                let most = cpus.into_iter().max_by_key(|(cpu, ns)| (*ns, *cpu));
                let cpu =
                    most.filter(|(cpu, on)| *cpu != division::NO_CPU && *on as f64 >= ON_ONE_CPU * ns as f64);
                Behind {
                    name: whom.name.clone(),
                    own_process: whom.own_process,
                    waits_itself: whom.waits_itself,
                    share: share(ns),
                    cpu: cpu.map(|(cpu, _)| cpu),
                }
            })
            .collect();
        behind.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
        behind.truncate(BEHIND_SHOWN);
        causes.push(CauseShare { cause, share: share(ns), mean_ns: ns as f64 / count as f64, behind });
    }
    causes.sort_by(|a, b| b.share.total_cmp(&a.share));
    SpanGroup { count, mean_ns: Some(all_ns as f64 / count as f64), causes }
}

/// What holds the CPUs where threads wait on them, how the spans were attributed, and what is left out.
fn notes(spans: &Spans, slow: &[&Span], divider: &Divider<'_>) -> Vec<String> {
    let spinning = slow.iter().find_map(|span| divider.spinning_of(&span.owner));
    let mut notes: Vec<String> = spinning.map(str::to_owned).into_iter().collect();
    let mut note = |count: usize, text: &str| {
        if count > 0 {
            notes.push(format!("{text}: {count}."));
        }
    };
    note(spans.unended, "Spans that never ended, which are left out");
    note(spans.outside, "Spans that begin or end outside the Trace, which are left out");
    note(spans.of_other_tasks, "Spans of tasks that are not in the Trace, which are left out");
    note(
        spans.overlapping(),
        "Spans that overlap another one of their thread, and each count all of its time",
    );
    let owner = slow.iter().map(|span| &span.owner).find(|owner| !matches!(owner, SpanOwner::Thread(_)));
    let whose = match owner {
        Some(SpanOwner::Process(pid)) => format!("process {pid}"),
        Some(SpanOwner::Program(name)) => name.clone(),
        Some(SpanOwner::Recorded) => "the recorded tasks".to_owned(),
        _ => return notes,
    };
    notes.push(format!(
        "The threads of these spans are not known: a moment is on CPU when any thread of {whose} ran, then run queue, then blocked."
    ));
    notes
}
