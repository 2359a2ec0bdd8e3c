//! What made spans slow, as a sentence, as text and as a document.

use crate::terminal::paragraph;
use crate::wording::text;
use serde_json::{Value, json};
use swtch_cost::{Behind, CauseShare, SpanCause, SpanGroup, Why};
use swtch_units::{TextTable, format_ns};

/// A cause is named if it explains at least this part of what slow spans took longer.
const NOTABLE: f64 = 0.1;
/// Causes named in the sentence.
const NAMED: usize = 3;
/// Slow spans shown one by one; `--json` has more.
const SHOWN: usize = 5;
/// Programs named for each cause.
const BEHIND_SHOWN: usize = 3;
/// A program with a smaller share of the time is not named.
const LEAST_BEHIND: f64 = 0.005;
/// Slow spans that take less than this many times the ordinary ones are not slow.
const HARDLY: f64 = 1.1;

/// The document of `swtch why --json`.
pub fn document(why: &Why) -> Value {
    let mut document = json!({ "schema": "swtch/why/1" });
    if let (Some(document), Ok(Value::Object(figures))) =
        (document.as_object_mut(), serde_json::to_value(why))
    {
        document.extend(figures);
    }
    document
}

/// The answer in a sentence.
pub fn headline(why: &Why) -> String {
    let (slow, ordinary) = (&why.slow, &why.ordinary);
    let Some(slow_ns) = slow.mean_ns else { return "There is no span.".to_owned() };
    let took = format_ns(slow_ns);
    let which = format!("The slowest {} of {}", percent(why.slowest_share), why.span);
    let Some(ordinary_ns) = ordinary.mean_ns else {
        return format!("{which} took {took}: {}.", parts(&largest(slow)));
    };
    if slow_ns < ordinary_ns * HARDLY {
        let others = format_ns(ordinary_ns);
        return format!(
            "{which} took {took}, hardly longer than the {others} of others: {}.",
            parts(&largest(slow))
        );
    }
    format!("{which} took {took} instead of {}: {}.", format_ns(ordinary_ns), parts(&notable(why)))
}

/// The causes that explain what slow spans took longer, by their share of the slow spans' time.
fn notable(why: &Why) -> Vec<&CauseShare> {
    let usual = |cause: SpanCause| part(&why.ordinary, cause).map_or(0.0, |part| part.mean_ns);
    let excess = |part: &CauseShare| part.mean_ns - usual(part.cause);
    let all: f64 = why.slow.mean_ns.unwrap_or(0.0) - why.ordinary.mean_ns.unwrap_or(0.0);
    let mut causes: Vec<&CauseShare> =
        why.slow.causes.iter().filter(|part| excess(part) >= NOTABLE * all).collect();
    causes.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    causes.truncate(NAMED);
    causes
}

fn largest(group: &SpanGroup) -> Vec<&CauseShare> {
    group.causes.iter().filter(|part| part.share >= NOTABLE).take(NAMED).collect()
}

fn part(group: &SpanGroup, cause: SpanCause) -> Option<&CauseShare> {
    group.causes.iter().find(|part| part.cause == cause)
}

fn parts(causes: &[&CauseShare]) -> String {
    let words: Vec<String> =
        causes.iter().map(|part| format!("{} {}", percent(part.share), phrase(part))).collect();
    words.join(", ")
}

/// A cause in words, with what was in front, or woke.
fn phrase(part: &CauseShare) -> String {
    let most = part.behind.first();
    let mostly = |behind: &Behind| behind.share >= part.share / 2.0;
    let whom = most.map(|most| if mostly(most) { name(most) } else { format!("{} and others", name(most)) });
    match part.cause {
        SpanCause::OnCpu => "on CPU".to_owned(),
        SpanCause::RunQueue => {
            let cpu =
                most.and_then(|behind| behind.cpu).map_or("a CPU".to_owned(), |cpu| format!("CPU {cpu}"));
            let spins = most.is_some_and(|behind| behind.waits_itself);
            let spins = if spins { ", which has the CPU to wait too" } else { "" };
            whom.map_or_else(
                || format!("waiting for {cpu}"),
                |whom| format!("waiting for {cpu} behind {whom}{spins}"),
            )
        }
        SpanCause::Blocked => {
            whom.map_or_else(|| "blocked".to_owned(), |whom| format!("blocked until {whom} woke it"))
        }
        SpanCause::Throttled => "throttled by a quota".to_owned(),
        SpanCause::Interrupt => "in interrupts".to_owned(),
        SpanCause::Steal => "taken by the hypervisor".to_owned(),
        SpanCause::Unknown => "not known".to_owned(),
    }
}

/// A cause as the head of a row.
pub(crate) fn title(cause: SpanCause) -> &'static str {
    match cause {
        SpanCause::OnCpu => "on CPU",
        SpanCause::RunQueue => "run queue",
        SpanCause::Blocked => "blocked",
        SpanCause::Throttled => "throttled",
        SpanCause::Interrupt => "interrupts",
        SpanCause::Steal => "hypervisor",
        SpanCause::Unknown => "not known",
    }
}

fn name(behind: &Behind) -> String {
    if behind.own_process { format!("{} of its own process", behind.name) } else { behind.name.clone() }
}

/// Those behind a cause, with their shares: the first few, and the others together.
pub(crate) fn behind(part: &CauseShare) -> String {
    let words = |behind: &Behind| format!("{} {}", name(behind), percent(behind.share));
    let shown = part.behind.iter().filter(|behind| behind.share >= LEAST_BEHIND).take(BEHIND_SHOWN);
    let mut named: Vec<String> = shown.clone().map(words).collect();
    let rest = part.share - shown.map(|behind| behind.share).sum::<f64>();
    if !named.is_empty() && rest >= LEAST_BEHIND {
        named.push(format!("others {}", percent(rest)));
    }
    named.join(", ")
}

/// `71 %`, without a space that does not break.
pub(crate) fn percent(share: f64) -> String {
    let digits = usize::from(share < 0.0095);
    format!("{:.digits$} %", share * 100.0)
}

/// The answer as lines for a terminal: the sentence, slow beside ordinary by cause, the slowest one by one, and what to know of it.
pub fn terminal(why: &Why) -> String {
    let mut lines = paragraph("", &headline(why), 0);
    lines.push('\n');
    lines.push_str(&causes(why));
    lines.push_str(&slowest(why));
    for note in &why.notes {
        lines.push_str(&paragraph("", note, 2));
    }
    lines
}

fn causes(why: &Why) -> String {
    let mut table =
        TextTable::new(["cause", "slow", "share", "ordinary", "share", "behind, or woken by"]).left([5]);
    for cause in SpanCause::ALL {
        let (slow, ordinary) = (part(&why.slow, cause), part(&why.ordinary, cause));
        if slow.is_none() && ordinary.is_none() {
            continue;
        }
        let time = |part: Option<&CauseShare>| part.map_or_else(String::new, |part| format_ns(part.mean_ns));
        let share = |part: Option<&CauseShare>| part.map_or_else(String::new, |part| percent(part.share));
        let cells =
            [time(slow), share(slow), time(ordinary), share(ordinary), slow.map_or_else(String::new, behind)];
        table.row([title(cause).to_owned()].into_iter().chain(cells));
    }
    let mean = |group: &SpanGroup| group.mean_ns.map_or_else(String::new, format_ns);
    let (slow, ordinary) = (mean(&why.slow), mean(&why.ordinary));
    table.row(["all".to_owned(), slow, String::new(), ordinary, String::new(), String::new()]);
    let heading = format!(
        "Mean time of a span: the {} slowest and {} ordinary ones",
        text::count(why.slow.count as u64),
        text::count(why.ordinary.count as u64)
    );
    table.under(&heading)
}

fn slowest(why: &Why) -> String {
    let mut table = TextTable::new(["began", "took", "id", "most of it"]).left([2, 3]);
    for span in why.slowest.iter().take(SHOWN) {
        let most = span.parts.iter().max_by_key(|(_, ns)| **ns);
        let most = most.map_or_else(String::new, |(cause, ns)| {
            format!("{} {}", title(*cause), percent(*ns as f64 / span.length_ns.max(1) as f64))
        });
        let id = span.id.clone().unwrap_or_default();
        table.row([
            format!("{:.3} s", span.begin_ns as f64 / 1e9),
            format_ns(span.length_ns as f64),
            id,
            most,
        ]);
    }
    table.under("The slowest, by when they began in the Trace")
}
