//! Profiles against Profiles, studies against studies.

use super::{Diff, DiffError, DiffSide, SCHEMA, answer};
use crate::verdict::{Change, RunOrder, judge};
use std::mem::discriminant;
use std::path::PathBuf;
use swtch_cost::{Caveat, profile_caveats};
use swtch_faas::tiers::Ending;
use swtch_faas::{Document, studies_in};
use swtch_profile::Profile;
use swtch_profile::compare::{circumstances, different_machines, figures};
use swtch_profile::model::Estimate;
use swtch_stats::Side;
use swtch_study::model::{Run, Study};
use swtch_topology::Host;
use swtch_units::Unit;

/// Figures of only one side that are named.
const MOST_MISSING: usize = 6;

/// A figure with its values, one a run.
type Values = (String, Unit, Vec<f64>);

fn diff_of(changes: Vec<Change>, runs: [usize; 2], circumstances: Vec<String>) -> Diff {
    let mut changes = changes;
    let verdict = judge(&mut changes);
    let side = |runs| DiffSide { runs, ..DiffSide::default() };
    let mut found = Diff {
        schema: SCHEMA.to_owned(),
        verdict,
        answer: String::new(),
        amounts_per: None,
        old: side(runs[0]),
        new: side(runs[1]),
        changes,
        who: Vec::new(),
        circumstances,
        notes: Vec::new(),
        limits: Vec::new(),
    };
    found.answer = answer::answer_of_documents(&found);
    found
}

/// The values of one name together, in the order in which the names come.
fn together(rows: impl IntoIterator<Item = Values>) -> Vec<Values> {
    let mut found: Vec<Values> = Vec::new();
    for (name, unit, values) in rows {
        match found.iter_mut().find(|row| row.0 == name) {
            Some(row) => row.2.extend(values),
            None => found.push((name, unit, values)),
        }
    }
    found
}

fn changes(old: &[Values], new: &[Values], order: RunOrder) -> Vec<Change> {
    let matched =
        old.iter().filter_map(|before| Some((before, new.iter().find(|after| after.0 == before.0)?)));
    matched
        .filter_map(|(before, after)| Change::named(&before.0, before.1, &before.2, &after.2, order))
        .collect()
}

/// Profiles from their files.
pub(super) fn profiles(old: &[PathBuf], new: &[PathBuf]) -> Result<Diff, DiffError> {
    let read = |paths: &[PathBuf]| {
        paths.iter().map(|path| swtch_profile::file::read(path)).collect::<Result<Vec<_>, _>>()
    };
    Ok(diff_profiles(&read(old)?, &read(new)?))
}

/// Profiles, figure by figure: by the differences between several of a side, or between the processes that measured a single one.
pub fn diff_profiles(old: &[Profile], new: &[Profile]) -> Diff {
    let circumstances =
        old.first().zip(new.first()).map_or_else(Vec::new, |(old, new)| circumstances(old, new));
    let mut found = if let ([before], [after]) = (old, new) {
        pair(before, after, circumstances)
    } else {
        let rows = |side: &[Profile]| {
            together(side.iter().flat_map(|profile| {
                figures(profile).into_iter().map(|(name, row)| (name, Unit::Time, vec![row.median]))
            }))
        };
        diff_of(changes(&rows(old), &rows(new), RunOrder::Mixed), [old.len(), new.len()], circumstances)
    };
    (found.old.caveats, found.new.caveats) = (caveats(old), caveats(new));
    if old == new {
        found.notes.push("Both sides hold the same measurement.".to_owned());
    }
    found
}

/// Each kind of them once.
fn caveats(side: &[Profile]) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = Vec::new();
    for caveat in side.iter().flat_map(profile_caveats) {
        if found.iter().all(|known| discriminant(known) != discriminant(&caveat)) {
            found.push(caveat);
        }
    }
    found
}

fn side(estimate: &Estimate) -> Side<'_> {
    Side { figure: estimate.median, launches: &estimate.launch_medians }
}

fn pair(old: &Profile, new: &Profile, circumstances: Vec<String>) -> Diff {
    let (before, after) = (figures(old), figures(new));
    let matched = before
        .iter()
        .filter_map(|(name, row)| Some((name, *row, after.iter().find(|(other, _)| other == name)?.1)));
    let change = |(name, old, new): (&String, &Estimate, &Estimate)| {
        let mut change = Change::of_sides(name, Unit::Time, side(old), side(new), RunOrder::Apart)?;
        // A difference of two medians, as a cost without its baseline is, may be anything down to zero within its interval.
        let may_be_0 = |of: &Estimate| of.ci_low <= 0.0 || of.launch_medians.iter().any(|ns| *ns <= 0.0);
        let which = [("old", old), ("new", new)].into_iter().find(|(_, estimate)| may_be_0(estimate));
        if let Some((which, _)) = which {
            change.undecided(&format!("the {which} figure may be 0"));
        }
        Some(change)
    };
    let only = |one: &[(String, &Estimate)], other: &[(String, &Estimate)], which: &str| {
        let missing: Vec<&str> = one
            .iter()
            .filter(|(name, _)| other.iter().all(|(what, _)| what != name))
            .map(|(name, _)| name.as_str())
            .collect();
        let more = match missing.len().saturating_sub(MOST_MISSING) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let named = missing.iter().take(MOST_MISSING).copied().collect::<Vec<_>>().join("; ");
        (!missing.is_empty()).then(|| format!("Only in the {which} Profile: {named}{more}."))
    };
    let mut found = diff_of(matched.filter_map(change).collect(), [1, 1], circumstances);
    found.notes.extend(only(&before, &after, "old"));
    found.notes.extend(only(&after, &before, "new"));
    found
}

/// Studies of workloads: every workload and setting that both have, over its complete runs.
pub(super) fn studies(old: &[PathBuf], new: &[PathBuf]) -> Result<Diff, DiffError> {
    let read =
        |paths: &[PathBuf]| paths.iter().map(|path| swtch_study::read(path)).collect::<Result<Vec<_>, _>>();
    let (old, new) = (read(old)?, read(new)?);
    let rows = |side: &[Study]| {
        together(side.iter().flat_map(|study| study.complete().flat_map(figures_of_run).collect::<Vec<_>>()))
    };
    Ok(documents(&rows(&old), &rows(&new), hosts(&old, &new, |study| &study.host)))
}

fn figures_of_run(run: &Run) -> Vec<Values> {
    let per = run.per_inference;
    let rows = [
        (
            "time per image",
            Unit::Time,
            run.images_per_second.filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate),
        ),
        ("latency p50", Unit::Time, run.latency_ns.map(|latency| latency.p50)),
        ("latency p99", Unit::Time, run.latency_ns.map(|latency| latency.p99)),
        ("voluntary switches per inference", Unit::Ratio, per.and_then(|per| per.voluntary)),
        ("involuntary switches per inference", Unit::Ratio, per.and_then(|per| per.involuntary)),
        ("CPU time per inference", Unit::Time, per.and_then(|per| per.cpu_ns)),
    ];
    let of = format!("{}, {}", run.workload.name, run.settings.words());
    rows.into_iter()
        .filter_map(|(what, unit, value)| Some((format!("{what}, {of}"), unit, vec![value?])))
        .collect()
}

/// Measurements of functions: every tier and amount of work that both have, over its complete invocations; or the switches of responses.
pub(super) fn functions(old: &[PathBuf], new: &[PathBuf]) -> Result<Diff, DiffError> {
    let read = |paths: &[PathBuf]| -> Result<Vec<Document>, DiffError> {
        paths.iter().flat_map(|path| studies_in(path)).map(|path| Ok(swtch_faas::read(&path)?)).collect()
    };
    let (old, new) = (read(old)?, read(new)?);
    let rows = |side: &[Document]| together(side.iter().flat_map(figures_of_functions));
    let host = |document: &Document| document.tiers().map(|tiers| tiers.host.clone());
    let hosts = old.first().and_then(host).zip(new.first().and_then(host));
    let circumstances = hosts.map_or_else(Vec::new, |(old, new)| different_machines(&old, &new));
    Ok(documents(&rows(&old), &rows(&new), circumstances))
}

fn figures_of_functions(document: &Document) -> Vec<Values> {
    match document {
        Document::Tiers(tiers) => tiers
            .invocations
            .iter()
            .filter(|one| one.outcome == Ending::Complete && !one.measured())
            .flat_map(|one| {
                let of = format!("{}, {} ms of work", one.tier, one.work_ms);
                [("latency", one.latency_ns), ("CPU time", one.function_cpu_ns)].into_iter().filter_map(
                    move |(what, ns)| Some((format!("{what}, {of}"), Unit::Time, vec![ns? as f64])),
                )
            })
            .collect(),
        Document::Response(response) => response
            .measurements
            .iter()
            .filter_map(|row| {
                Some((format!("switch, {}, {}", row.method, row.tasks), Unit::Time, vec![row.net_ns?.median]))
            })
            .collect(),
    }
}

fn hosts<T>(old: &[T], new: &[T], host: fn(&T) -> &Host) -> Vec<String> {
    let both = old.first().zip(new.first());
    both.map_or_else(Vec::new, |(old, new)| different_machines(host(old), host(new)))
}

fn documents(old: &[Values], new: &[Values], circumstances: Vec<String>) -> Diff {
    let fewest = |side: &[Values]| side.iter().map(|row| row.2.len()).min().unwrap_or(0);
    diff_of(changes(old, new, RunOrder::Apart), [fewest(old), fewest(new)], circumstances)
}

#[cfg(test)]
mod tests;
