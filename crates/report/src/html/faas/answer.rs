//! The answer: what a switch costs by tier, which tier is best for which work, how much time is throttled, the quota from inside.

use super::super::page::Section;
use super::super::subjects::KeyFigure;
use super::super::text;
use super::figures::{of_work, usual_work};
use super::quota::error;
use super::{Functions, NamedFaas, language, studies};
use swtch_faas::response::{Measurement, Response};
use swtch_faas::tiers::{TierRow, Tiers};
use swtch_faas::{Document, Estimate};

/// Pieces of advice at the top; the others are in the section.
const AT_TOP: usize = 2;
/// Throttled in less than this share of the periods is as good as not at all.
const HARDLY: f64 = 0.01;

/// What a document answers; less advice where it is not alone.
pub(super) fn sentences(named: &NamedFaas, alone: bool) -> Vec<String> {
    match &named.document {
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

/// What the mean says beside the median: `, 3.2 µs on average`.
fn on_average(estimate: &Estimate) -> String {
    estimate.mean.map_or_else(String::new, |mean| format!(", {} on average", text::ns(mean)))
}

fn of_response(response: &Response) -> String {
    let mut words = match plainest(response) {
        Some((measurement, net)) => {
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
        }
        None => "No method found what a switch costs; the last section says why.".to_owned(),
    };
    if let Some(sentence) = quota(response) {
        words.push_str(&format!(" {sentence}"));
    }
    words
}

/// How it was stopped, as it saw itself, and what the control group says.
fn quota(response: &Response) -> Option<String> {
    let throttling = response.throttling.as_ref()?;
    let seen = throttling.inferred.as_ref()?;
    let Some((quota, period)) = seen.quota_ns.zip(seen.period_ns) else {
        let received = seen.cpus.or_else(|| Some(response.cpu.as_ref()?.share?.median))?;
        return Some(format!(
            "No quota stopped it while it spun: it received {}\u{a0}CPUs.",
            text::amount(received)
        ));
    };
    let set = throttling.platform.as_ref().and_then(|set| set.quota_ns.zip(set.period_ns));
    let beside = set.map_or_else(
        || "; its control group cannot be read from inside".to_owned(),
        |(quota, period)| {
            format!("; its control group says {} of {}", text::ns(quota as f64), text::ns(period as f64))
        },
    );
    let still = response.timeline().map_or_else(String::new, |timeline| {
        format!("It stood still for {} of the time it spun: ", text::percent(timeline.share_in_gaps()))
    });
    let saw =
        format!("seen from inside, the quota is {} of every {}{beside}.", text::ns(quota), text::ns(period));
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
        "In swtch’s own handler, beside the function: "
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
            "Seen from inside, quota and period are within {} of the control group’s own at every tier{}.",
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
    let shares: Vec<(&str, f64)> = rows
        .iter()
        .filter_map(|row| Some((row.tier.as_str(), row.throttled_periods_share?.median)))
        .collect();
    let (worst, most) = shares.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let with = of_work(usual_work(tiers)?);
    if *most <= HARDLY {
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
        text::percent(*most),
        tier_name(worst)
    ))
}

/// The largest relative error of what is seen from inside, and at which tier.
fn worst_error(tiers: &Tiers) -> Option<(f64, &str)> {
    let errors = tiers.quota_check.iter().flat_map(|check| {
        [
            check.error_period.or_else(|| error(check.inferred_period_us, check.period_us)),
            check.error_quota.or_else(|| error(check.inferred_quota_us, check.quota_us)),
        ]
        .into_iter()
        .flatten()
        .map(|error| (error.abs(), check.tier.as_str()))
    });
    errors.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Which tier to take for which work.
pub(super) fn advice(subjects: Functions<'_>) -> Option<Section> {
    let intro = "Invocations of the tiers took turns, so that slow stretches of the machine met all of them.";
    let mut section = Section::new("advice", "Which tier to take", intro);
    for (i, tiers) in studies(subjects) {
        for advice in &tiers.advice {
            section.say(subjects.prefixed(i, &sentence(&advice.text)));
        }
    }
    section.unless_empty()
}

/// A line as a sentence, whether or not it is written as one.
fn sentence(text: &str) -> String {
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{}{end}", text::capitalised(&text::flowing(text)))
}

/// The key figures.
pub(super) const TILES: [KeyFigure<NamedFaas>; 4] = [
    ("A switch", "in the median", switch),
    ("Standing still", "share of the time, or of a tier's periods, in which a quota stopped it", still),
    ("Slow-down", "time taken to time had nothing stopped it", slow_down),
    ("Quota from inside", "how far from the control group’s own", seen),
];

/// The least and the most of figures; one of them where they read alike.
fn span(values: impl Iterator<Item = f64>) -> Option<String> {
    let (low, high) = values.fold(None, |span: Option<(f64, f64)>, value| {
        Some(span.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    })?;
    Some(if text::ns(low) == text::ns(high) { text::ns(low) } else { text::ns_range(low, high) })
}

fn switch(named: &NamedFaas) -> (Option<String>, String) {
    match &named.document {
        Document::Response(response) => match plainest(response) {
            Some((measurement, net)) => {
                let detail = format!("{} without read and write{}", measurement.method, on_average(&net));
                (Some(text::ns(net.median)), detail)
            }
            None => (None, "not measured".to_owned()),
        },
        Document::Tiers(tiers) => {
            let rows = usual_rows(tiers);
            let costs = || rows.iter().filter_map(|row| switch_cost(row));
            let mean = span(costs().map(|(.., mean)| mean));
            let detail = mean.map_or_else(
                || "not measured".to_owned(),
                |mean| format!("with read and write, {mean} on average"),
            );
            (span(costs().map(|(_, median, _)| median)), detail)
        }
    }
}

fn still(named: &NamedFaas) -> (Option<String>, String) {
    match &named.document {
        Document::Response(response) => match response.timeline() {
            Some(timeline) => {
                let (count, length) = (timeline.gaps.len(), text::ns(timeline.length_ns as f64));
                let gaps = if count == 1 { "gap" } else { "gaps" };
                (Some(text::percent(timeline.share_in_gaps())), format!("{count} {gaps} in {length}"))
            }
            None => (None, "nothing spun".to_owned()),
        },
        Document::Tiers(tiers) => {
            let shares = tiers.rows.iter().filter_map(|row| Some((row, row.throttled_periods_share?.median)));
            let (share, of) = worst(shares, text::percent, "not known of any tier");
            let of = if share.is_some() { format!("of the periods, {of}") } else { of };
            (share, of)
        }
    }
}

/// The largest figure among rows, and whose it is.
fn worst<'a>(
    rows: impl Iterator<Item = (&'a TierRow, f64)>,
    words: fn(f64) -> String,
    none: &str,
) -> (Option<String>, String) {
    match rows.max_by(|one, other| one.1.total_cmp(&other.1)) {
        Some((row, most)) => {
            (Some(words(most)), format!("at most, at {} with {}", tier_name(&row.tier), of_work(row.work_ms)))
        }
        None => (None, none.to_owned()),
    }
}

fn slow_down(named: &NamedFaas) -> (Option<String>, String) {
    match &named.document {
        Document::Response(response) => match response.work.as_ref().filter(|work| work.cpu_ns > 0) {
            Some(done) => {
                let (wall_ns, cpu_ns) = (done.wall_ns as f64, done.cpu_ns as f64);
                let detail = format!("{} of CPU time took {}", text::ns(cpu_ns), text::ns(wall_ns));
                (Some(text::times(wall_ns / cpu_ns)), detail)
            }
            None => (None, "no work was asked for".to_owned()),
        },
        Document::Tiers(tiers) => {
            let slow = tiers.rows.iter().filter_map(|row| Some((row, row.slowdown?.median)));
            worst(slow, text::times, "not known of any tier")
        }
    }
}

fn seen(named: &NamedFaas) -> (Option<String>, String) {
    match &named.document {
        Document::Response(response) => {
            let throttling = response.throttling.as_ref();
            let inferred = throttling.and_then(|throttling| throttling.inferred.as_ref());
            let Some((quota, period)) = inferred.and_then(|seen| seen.quota_ns.zip(seen.period_ns)) else {
                let received = inferred.and_then(|seen| seen.cpus);
                let detail = received.map_or_else(
                    || "not told".to_owned(),
                    |cpus| format!("{} CPUs received", text::amount(cpus)),
                );
                return (None, format!("no quota seen; {detail}"));
            };
            let set = throttling.and_then(|throttling| throttling.platform.as_ref()?.quota_ns);
            let detail = format!("{} of {}", text::ns(quota), text::ns(period));
            match error(Some(quota), set.map(|quota| quota as f64)) {
                Some(error) => (Some(text::percent_signed(error)), detail),
                None => (Some(detail), "nothing to compare with".to_owned()),
            }
        }
        Document::Tiers(tiers) => match worst_error(tiers) {
            Some((worst, tier)) => (Some(text::percent(worst)), format!("at most, at {}", tier_name(tier))),
            None => (None, "no quota was seen".to_owned()),
        },
    }
}
