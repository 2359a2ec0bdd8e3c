//! Traces against Traces.

use super::{Diff, DiffError, DiffSide, LimitResult, SCHEMA, answer, who};
use crate::limit::{Bound, Limit};
use crate::metric::{Figure, PricedTrace};
use crate::verdict::{Change, RunOrder, judge};
use swtch_cost::is_over;
use swtch_profile::compare::different_machines;
use swtch_stats::median;
use swtch_trace::model::{Header, Origin, Scope};

/// From this ratio on, the lengths of two recordings of what goes on differ so much that their distributions may, too.
const OTHER_LENGTH: f64 = 1.5;

/// Compares the Traces of two sides. The order of the runs is that of their starts unless it is given.
///
/// # Errors
/// When a limit cannot be decided.
pub fn diff_traces(
    old: &[PricedTrace<'_>],
    new: &[PricedTrace<'_>],
    order: Option<RunOrder>,
    fail_if: &[Limit],
) -> Result<Diff, DiffError> {
    let goes_on = old.iter().chain(new).any(|run| !is_over(run.trace.header));
    let order = order.unwrap_or_else(|| order_of(old, new));
    let (olds, news) = (by_start(old), by_start(new));
    let change = |figure: Figure| {
        let values =
            |side: &[PricedTrace<'_>]| side.iter().map(|run| figure.of(*run)).collect::<Option<Vec<f64>>>();
        Some((values(&olds)?, values(&news)?))
            .and_then(|(old, new)| Change::between(figure, &old, &new, order))
    };
    let mut changes: Vec<Change> = Figure::all(goes_on).filter_map(change).collect();
    let verdict = judge(&mut changes);
    let who = who::differences(old, new, goes_on);
    let limits: Result<_, DiffError> = fail_if
        .iter()
        .map(|limit| {
            // A change of what goes on is one of its rate.
            let is_rate = limit.figure.is_rate
                || goes_on && limit.figure.metric.adds_up && matches!(limit.bound, Bound::Change(_));
            let figure = Figure { is_rate, ..limit.figure };
            let known = changes.iter().find(|change| change.metric == figure.to_string()).cloned();
            let change = known.or_else(|| change(figure)).ok_or_else(|| no_figure(limit, old))?;
            Ok(LimitResult { limit: limit.to_string(), holds: limit.holds_of(&change), change: Some(change) })
        })
        .collect();
    let mut found = Diff {
        schema: SCHEMA.to_owned(),
        verdict,
        answer: String::new(),
        amounts_per: Some(if goes_on { "second" } else { "run" }.to_owned()),
        old: side(old),
        new: side(new),
        changes,
        who,
        circumstances: circumstances(old, new),
        notes: notes(old, new, goes_on, order),
        limits: limits?,
    };
    found.answer = answer::answer(&found);
    Ok(found)
}

fn no_figure(limit: &Limit, old: &[PricedTrace<'_>]) -> DiffError {
    let lacks = old.iter().any(|run| limit.figure.of(*run).is_none());
    let side = if lacks { "the old side" } else { "the new side" };
    DiffError::NoFigure { limit: limit.to_string(), side, figure: limit.figure.to_string() }
}

fn side(runs: &[PricedTrace<'_>]) -> DiffSide {
    let lengths: Vec<f64> = runs.iter().map(|run| run.trace.header.duration_ns as f64).collect();
    DiffSide {
        files: Vec::new(),
        runs: runs.len(),
        duration_ns: Some(median(&lengths) as u64),
        caveats: Vec::new(),
    }
}

/// In mixed order where each side has a start between the starts of the other.
pub(super) fn order_of(old: &[PricedTrace<'_>], new: &[PricedTrace<'_>]) -> RunOrder {
    let is_simulated = |run: &PricedTrace<'_>| run.trace.header.provenance.origin == Origin::Simulated;
    if old.len() == 1 && new.len() == 1 && old.iter().chain(new).all(is_simulated) {
        return RunOrder::Exact;
    }
    let span = |side: &[PricedTrace<'_>]| {
        let starts = side.iter().map(|run| run.trace.header.provenance.started_unix_ns);
        starts.clone().min().zip(starts.max())
    };
    match (span(old), span(new)) {
        (Some((old_first, old_last)), Some((new_first, new_last)))
            if old_first <= new_last && new_first <= old_last =>
        {
            if in_turns(old, new) {
                RunOrder::Pairs
            } else {
                RunOrder::Mixed
            }
        }
        _ => RunOrder::Apart,
    }
}

fn by_start<'a>(side: &[PricedTrace<'a>]) -> Vec<PricedTrace<'a>> {
    let mut side = side.to_vec();
    side.sort_by_key(|run| run.trace.header.provenance.started_unix_ns);
    side
}

/// Whether the runs of both sides form pairs: two that started one after the other, with no other between them.
fn in_turns(old: &[PricedTrace<'_>], new: &[PricedTrace<'_>]) -> bool {
    let starts = |side: &[PricedTrace<'_>], is_new: bool| {
        let of = |run: &PricedTrace<'_>| (run.trace.header.provenance.started_unix_ns, is_new);
        side.iter().map(of).collect::<Vec<_>>()
    };
    let mut all = [starts(old, false), starts(new, true)].concat();
    all.sort_unstable();
    old.len() == new.len() && all.chunks(2).all(|pair| matches!(pair, [one, other] if one.1 != other.1))
}

/// What differs between the first Traces of the sides besides their figures.
fn circumstances(old: &[PricedTrace<'_>], new: &[PricedTrace<'_>]) -> Vec<String> {
    let (Some(old), Some(new)) = (old.first(), new.first()) else { return Vec::new() };
    let (then, now) = (old.trace.header, new.trace.header);
    let mut found = different_machines(&then.host, &now.host);
    let rows = [
        ("what was recorded", scope(then), scope(now)),
        ("source", then.provenance.recorder.clone(), now.provenance.recorder.clone()),
        ("policy", policy(then), policy(now)),
        ("exit status", status(then), status(now)),
        ("swtch", then.provenance.swtch_version.clone(), now.provenance.swtch_version.clone()),
    ];
    let differs =
        rows.into_iter().filter(|(_, then, now)| then != now && !then.is_empty() && !now.is_empty());
    found.extend(differs.map(|(what, then, now)| format!("{what}: {then} -> {now}")));
    found
}

fn scope(header: &Header) -> String {
    match &header.scope {
        Scope::Command { command, .. } => command.join(" "),
        Scope::Processes { .. } => "running processes".to_owned(),
        Scope::Cgroup { path } => format!("the cgroup {path}"),
        Scope::Machine => "the machine".to_owned(),
    }
}

fn policy(header: &Header) -> String {
    header.provenance.policy.clone().unwrap_or_default()
}

fn status(header: &Header) -> String {
    header.exit_status.map_or_else(String::new, |status| status.to_string())
}

fn notes(old: &[PricedTrace<'_>], new: &[PricedTrace<'_>], goes_on: bool, order: RunOrder) -> Vec<String> {
    let mut notes = Vec::new();
    let ended = |side: &[PricedTrace<'_>]| side.iter().filter(|run| is_over(run.trace.header)).count();
    if goes_on && ended(old) + ended(new) > 0 {
        notes.push("Some of these recordings are of what ended, others of what goes on: amounts are compared by the second.".to_owned());
    }
    let length = |side: &[PricedTrace<'_>]| self::side(side).duration_ns.unwrap_or(0) as f64;
    let ratio = length(new) / length(old).max(1.0);
    if goes_on && !(1.0 / OTHER_LENGTH..OTHER_LENGTH).contains(&ratio) {
        notes.push(
            "The recordings have different lengths: the longest wait of a longer one is longer by itself."
                .to_owned(),
        );
    }
    if order == RunOrder::Apart && old.len().min(new.len()) > 1 {
        notes.push(
            "All runs of one side precede those of the other, so a slower machine in between looks like a \
             slower program. The intervals allow for that. Runs in turns need no such allowance."
                .to_owned(),
        );
    }
    let lost: u64 = old.iter().chain(new).map(|run| run.trace.header.lost_events()).sum();
    if lost > 0 {
        notes.push(format!("The recorders lost {lost} events, so pairs and waits may be incomplete."));
    }
    notes
}
