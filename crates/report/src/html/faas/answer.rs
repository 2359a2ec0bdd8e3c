//! The answer: what a switch costs by tier, which tier is best for which work, how much time is throttled, the quota from inside.

use swtch_faas::response::{Measurement, Response};
use swtch_faas::tiers::{TierRow, Tiers};
use swtch_faas::{Document, Estimate};

use super::figures::{of_work, usual_work};
use super::quota::error;
use super::{Functions, language, studies};
use crate::html::prelude::*;

/// Pieces of advice at the top; the others are in the section.
const AT_TOP: usize = 2;
/// Throttled in less than this share of the periods is as good as not at all.
const HARDLY: f64 = 0.01;

/// What a document answers; less advice where it is not alone.
pub(super) fn sentences(document: &Document, alone: bool) -> Vec<String> {
    match document {
        Document::Response(response) => vec![of_response(response)],
        Document::Tiers(tiers) => {
            let mut texts = vec![of_tiers(tiers)];
            let most = if alone { AT_TOP } else { 1 };
            texts.extend(tiers.advice.iter().take(most).map(|advice| sentence(&advice.text)));
            texts
        }
    }
}

/// `1.59 µs (1.57 to 1.61 µs)`.
fn with_interval(estimate: &Estimate) -> String {
    if estimate.ci_low == estimate.ci_high {
        return text::ns(estimate.median);
    }
    format!("{} ({})", text::ns(estimate.median), text::ns_range(estimate.ci_low, estimate.ci_high))
}

/// The method that says most about a switch: a pipe, or the first that found something.
fn plainest(response: &Response) -> Option<(&Measurement, Estimate)> {
    let pipe = response.measurement("pipe").into_iter();
    pipe.chain(&response.measurements).find_map(|measurement| Some((measurement, measurement.net_ns?)))
}

/// What the mean adds to the median: `, 3.2 µs on average`.
fn on_average(estimate: &Estimate) -> String {
    estimate.mean.map_or_else(String::new, |mean| format!(", {} on average", text::ns(mean)))
}

fn of_response(response: &Response) -> String {
    let cost = plainest(response).map(|(measurement, net)| {
        let count = measurement.task_count;
        format!(
            "In {}, a switch between {} {} (method {}) costs {} in the median{}, its read and write left out.",
            language(&response.handler.language),
            if count == 2 { "two".to_owned() } else { count.to_string() },
            measurement.tasks,
            measurement.method,
            with_interval(&net),
            on_average(&net),
        )
    });
    let none = || "No method found what a switch costs; the last section says why.".to_owned();
    let sentences: Vec<String> = [cost.unwrap_or_else(none)].into_iter().chain(quota(response)).collect();
    sentences.join(" ")
}

/// How it was stopped, as it saw itself, and what the cgroup says.
fn quota(response: &Response) -> Option<String> {
    let seen = response.inferred()?;
    let Some((quota, period)) = seen.quota_ns.zip(seen.period_ns) else {
        let received = seen.cpus.or_else(|| Some(response.cpu.as_ref()?.share?.median))?;
        let received = text::amount(received);
        return Some(format!("No quota stopped it while it spun: it received {received}\u{a0}CPUs."));
    };
    let beside = match response.set().and_then(|set| set.quota_ns.zip(set.period_ns)) {
        Some((quota, period)) => {
            format!("its cgroup allows {} in each {}", text::ns(quota as f64), text::ns(period as f64))
        }
        None => "its cgroup cannot be read from inside".to_owned(),
    };
    let still = response.timeline().map_or_else(String::new, |timeline| {
        format!("It stood still for {} of the time it spun: ", text::percent(timeline.share_in_gaps()))
    });
    let interval = seen.quota_ci_low_ns.zip(seen.quota_ci_high_ns);
    let interval =
        interval.map_or_else(String::new, |(low, high)| format!(" ({})", text::ns_range(low, high)));
    let (quota, period) = (text::ns(quota), text::ns(period));
    let saw = format!("seen from inside, the quota is {quota}{interval} of every {period}; {beside}.");
    Some(text::capitalised(&format!("{still}{saw}")))
}

/// Rows of the usual work, from the tier with the least memory to that with the most.
fn usual_rows(tiers: &Tiers) -> Vec<&TierRow> {
    let Some(work_ms) = usual_work(tiers) else { return Vec::new() };
    let mut ordered: Vec<_> = tiers.tiers.iter().collect();
    ordered.sort_by_key(|tier| tier.memory_mb);
    ordered.into_iter().filter_map(|tier| tiers.row(&tier.name, work_ms)).collect()
}

fn of_tiers(tiers: &Tiers) -> String {
    let rows = usual_rows(tiers);
    let mut sentences = Vec::new();
    let costs: Vec<_> = rows.iter().filter_map(|row| switch_cost(row)).collect();
    let whose = if tiers.switches_are_the_handlers() {
        "In swtch’s own handler, next to the function: "
    } else {
        ""
    };
    match costs.as_slice() {
        [] => {}
        [(tier, median, mean)] => sentences.push(format!(
            "{whose}At {tier} a switch with its read and write costs {} in the median, {} on average.",
            text::ns(*median),
            text::ns(*mean)
        )),
        [(least, low, low_mean), .., (most, high, high_mean)] => sentences.push(format!(
            "{whose}A switch with its read and write costs {} at {least} and {} at {most} in the median; on average, with the time the quota stops it, {} and {}.",
            text::ns(*low),
            text::ns(*high),
            text::ns(*low_mean),
            text::ns(*high_mean),
        )),
    }
    sentences.extend(standing_still(tiers, &rows));
    sentences.extend(worst_error(tiers).map(|(worst, tier)| {
        format!(
            "Seen from inside, quota and period are within {} of the cgroup’s own at every tier{}.",
            text::percent(worst),
            if worst > 0.02 { format!(" ({} is the worst)", tier_name(tier)) } else { String::new() }
        )
    }));
    if sentences.is_empty() {
        return "No invocation is complete, or nothing of it could be measured; “How it was measured” says why.".to_owned();
    }
    sentences.join(" ")
}

/// Tier, median and mean.
fn switch_cost(row: &TierRow) -> Option<(String, f64, f64)> {
    let cost = row.switch_ns.as_ref()?;
    Some((tier_name(&row.tier), cost.median?.median, cost.mean?.median))
}

/// `128 MB`, so that no line breaks in it.
fn tier_name(name: &str) -> String {
    name.replace(' ', "\u{a0}")
}

/// Where throttling is worst, and from which tier on there is none.
fn standing_still(tiers: &Tiers, rows: &[&TierRow]) -> Option<String> {
    let known = rows.iter().filter_map(|row| Some((row.tier.as_str(), throttled_share(row)?)));
    let shares: Vec<(&str, f64)> = known.collect();
    let ((worst, _), most) = largest(&shares, |(_, share)| Some(*share))?;
    let with = of_work(usual_work(tiers)?);
    if most <= HARDLY {
        return Some(format!(
            "With {with} no tier is throttled in more than {} of its periods.",
            text::percent(HARDLY)
        ));
    }
    let free = shares.iter().rposition(|(_, share)| *share > HARDLY).and_then(|last| shares.get(last + 1));
    let until = match free {
        Some((tier, _)) => format!("from {} on it is hardly throttled", tier_name(tier)),
        None => "the largest tier is throttled too".to_owned(),
    };
    Some(format!(
        "With {with} the quota stops the function in {} of the periods at {}; {until}.",
        text::percent(most),
        tier_name(worst)
    ))
}

fn throttled_share(row: &TierRow) -> Option<f64> {
    Some(row.throttled_periods_share?.median)
}

/// The largest relative error of what is seen from inside, and at which tier.
fn worst_error(tiers: &Tiers) -> Option<(f64, &str)> {
    let (check, worst) = largest(&tiers.quota_check, |check| {
        let period = check.error_period.or_else(|| error(check.inferred_period_us, check.period_us));
        let quota = check.error_quota.or_else(|| error(check.inferred_quota_us, check.quota_us));
        [period, quota].into_iter().flatten().map(f64::abs).max_by(f64::total_cmp)
    })?;
    Some((worst, &check.tier))
}

/// Which tier to take for which work.
pub(super) fn advice(subjects: Functions<'_>) -> Option<Section> {
    let intro =
        "Invocations of the tiers took turns, so slow phases of the machine affected all of them alike.";
    Section::new("advice", "Which tier to take", intro)
        .put(studies(subjects).flat_map(|(one, tiers)| {
            tiers.advice.iter().map(move |advice| one.prefixed(&sentence(&advice.text)))
        }))
        .unless_empty()
}

/// A line as a sentence, whether or not it is written as one.
fn sentence(text: &str) -> String {
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{}{end}", text::capitalised(&text::flowing(text)))
}

/// The key figures.
pub(super) const TILES: [KeyFigure<Document>; 4] = [
    ("A switch", "in the median", switch),
    ("Standing still", "share of the time, or of a tier's periods, in which a quota stopped it", still),
    ("Slow-down", "time taken, relative to the time without throttling", slow_down),
    ("Quota from inside", "how far from the cgroup’s own", seen),
];

/// The least and the most of figures; one of them where they read alike.
fn span(values: impl Iterator<Item = f64>) -> Option<String> {
    let (low, high) = values.fold(None, |span: Option<(f64, f64)>, value| {
        Some(span.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    })?;
    Some(if text::ns(low) == text::ns(high) { text::ns(low) } else { text::ns_range(low, high) })
}

fn switch(document: &Document) -> Known {
    let none = "not measured";
    match document {
        Document::Response(response) => {
            let (measurement, net) = plainest(response).ok_or(none)?;
            let detail = format!("{} without read and write{}", measurement.method, on_average(&net));
            Ok((text::ns(net.median), detail))
        }
        Document::Tiers(tiers) => {
            let rows = usual_rows(tiers);
            let costs = || rows.iter().filter_map(|row| switch_cost(row));
            let median = span(costs().map(|(_, median, _)| median)).ok_or(none)?;
            let mean = span(costs().map(|(.., mean)| mean)).ok_or(none)?;
            Ok((median, format!("with read and write, {mean} on average")))
        }
    }
}

fn still(document: &Document) -> Known {
    match document {
        Document::Response(response) => {
            let timeline = response.timeline().ok_or("nothing spun")?;
            let (count, length) = (timeline.gaps.len(), text::ns(timeline.length_ns as f64));
            let gaps = if count == 1 { "gap" } else { "gaps" };
            Ok((text::percent(timeline.share_in_gaps()), format!("{count} {gaps} in {length}")))
        }
        Document::Tiers(tiers) => {
            let (share, at) = worst(tiers, throttled_share)?;
            Ok((text::percent(share), format!("of the periods, {at}")))
        }
    }
}

/// The largest figure among rows, and whose it is.
fn worst(tiers: &Tiers, of: fn(&TierRow) -> Option<f64>) -> Result<(f64, String), String> {
    let (row, most) = largest(&tiers.rows, of).ok_or("not known of any tier")?;
    Ok((most, format!("at most, at {} with {}", tier_name(&row.tier), of_work(row.work_ms))))
}

fn slow_down(document: &Document) -> Known {
    match document {
        Document::Response(response) => {
            let work =
                response.work.as_ref().filter(|work| work.cpu_ns > 0).ok_or("no work was asked for")?;
            let (wall_ns, cpu_ns) = (work.wall_ns as f64, work.cpu_ns as f64);
            let detail = format!("{} of CPU time took {}", text::ns(cpu_ns), text::ns(wall_ns));
            Ok((text::times(wall_ns / cpu_ns), detail))
        }
        Document::Tiers(tiers) => {
            let (slowdown, at) = worst(tiers, |row| Some(row.slowdown?.median))?;
            Ok((text::times(slowdown), at))
        }
    }
}

fn seen(document: &Document) -> Known {
    match document {
        Document::Response(response) => {
            let inferred = response.inferred();
            let (quota, period) =
                inferred.and_then(|seen| seen.quota_ns.zip(seen.period_ns)).ok_or_else(|| {
                    let received = inferred.and_then(|seen| seen.cpus);
                    let received = received.map(|cpus| format!("{} CPUs received", text::amount(cpus)));
                    format!("no quota seen; {}", received.as_deref().unwrap_or("not told"))
                })?;
            let set = response.set().and_then(|set| set.quota_ns);
            let detail = format!("{} of {}", text::ns(quota), text::ns(period));
            Ok(match error(Some(quota), set.map(|quota| quota as f64)) {
                Some(error) => (text::percent_signed(error), detail),
                None => (detail, "nothing to compare with".to_owned()),
            })
        }
        Document::Tiers(tiers) => {
            let (worst, tier) = worst_error(tiers).ok_or("no quota was seen")?;
            Ok((text::percent(worst), format!("at most, at {}", tier_name(tier))))
        }
    }
}
