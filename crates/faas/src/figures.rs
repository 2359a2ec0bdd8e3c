//! The figures of an answer, from its batches and intervals. A handler has neither statistics nor inference of its own: with new ones here an
//! old answer is read anew.

use crate::Estimate;
use crate::quota::{self, Interval};
use crate::response::{Inferred, Measurement, Normality, OLD_SCHEMA, Response, SCHEMA};
use serde_json::{Map, Value, json};
use swtch_stats::{
    coefficient_of_variation, lag1_autocorrelation, mean, median_interval_sorted, quantile_sorted,
    shapiro_wilk_sorted, sorted,
};
use swtch_topology::Unavailable;

/// Of an interval of a median, where there are values enough for it.
const CONFIDENCE: f64 = 0.95;
/// Significance from which on a sample may be normal.
const NORMAL_P: f64 = 0.05;
/// Gaps that are kept; the longest.
const MOST_GAPS: usize = 2000;
/// Without a period, shares of CPUs are of this many windows.
const WINDOWS: f64 = 10.0;

/// Why an answer could not be completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// It is not JSON of this type.
    #[error("the answer is not a function's response: {0}")]
    Parse(#[from] serde_json::Error),
    /// It is another document, or one of another version.
    #[error(
        "the answer has the schema '{0}', not '{SCHEMA}' or '{OLD_SCHEMA}'; handler and swtch are of different versions"
    )]
    Schema(String),
}

/// A median with its interval. Below 6 values the interval is their range, with the confidence that it has. `None` for no values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let ordered = sorted(values);
    let (smallest, largest) = (*ordered.first()?, *ordered.last()?);
    let interval = median_interval_sorted(&ordered, CONFIDENCE);
    let range = 1.0 - 0.5_f64.powi(i32::try_from(ordered.len() - 1).unwrap_or(i32::MAX));
    let cov = coefficient_of_variation(values);
    Some(Estimate {
        median: quantile_sorted(&ordered, 0.5),
        ci_low: interval.map_or(smallest, |one| one.low),
        ci_high: interval.map_or(largest, |one| one.high),
        confidence: Some(if interval.is_some() { CONFIDENCE } else { range }),
        mean: Some(mean(values)),
        minimum: Some(smallest),
        cov: Some(cov).filter(|cov| cov.is_finite()),
        n: u32::try_from(ordered.len()).ok(),
    })
}

/// Adds the figures to an answer that has batches and intervals. One that has its figures already stays as it is.
pub fn add(response: &mut Response) {
    for one in &mut response.measurements {
        measurement(one);
    }
    let Some(throttling) = &mut response.throttling else { return };
    let Some(spun) = &throttling.spun else { return };
    let Some(intervals) = &spun.intervals else { return };
    let (inferred, why, window) = infer(intervals, spun.others_cpus, spun.span_ns as f64);
    throttling.inferred = Some(inferred);
    response.unavailable.extend(why.map(|why| Unavailable::new("throttling.inferred.quota_ns", why)));
    if !intervals.iter().all(|each| quota::is_in_order(each)) {
        return;
    }
    let mut gaps = quota::idle(intervals);
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap[1]));
    throttling.gaps_left_out = gaps.len().saturating_sub(MOST_GAPS) as u64;
    gaps.truncate(MOST_GAPS);
    gaps.sort_unstable();
    throttling.gaps = gaps;
    let shares = quota::shares(intervals, window.0, window.1, spun.span_ns as f64);
    if let Some(cpu) = &mut response.cpu {
        cpu.share = estimate(&shares);
        if cpu.share.is_none() {
            let why = "the spinning was shorter than a period";
            response.unavailable.push(Unavailable::new("cpu.share", why));
        }
    }
}

/// An answer of a handler with its figures, as JSON. Batches and intervals stay only where the request asked for samples. What an older
/// handler answered has its figures; they get the names of this version.
///
/// # Errors
/// When it is no such document.
pub fn complete(answer: &str) -> Result<Value, AnswerError> {
    let mut document: Value = serde_json::from_str(answer)?;
    let schema = document["schema"].as_str().unwrap_or_default().to_owned();
    if schema == OLD_SCHEMA {
        upgrade(&mut document);
        return Ok(document);
    }
    if schema != SCHEMA {
        return Err(AnswerError::Schema(schema));
    }
    let mut response: Response = serde_json::from_str(answer)?;
    let known = response.unavailable.len();
    add(&mut response);
    let samples = response.request.get("samples") == Some(&Value::Bool(true));
    let rows = document["measurements"].as_array_mut();
    for (row, found) in rows.into_iter().flatten().zip(&response.measurements) {
        let Some(row) = row.as_object_mut().filter(|_| found.batches_ns.is_some()) else { continue };
        of_measurement(row, found);
        if !samples {
            row.remove("batches_ns");
        }
    }
    if let (Some(into), Some(cpu)) = (document["cpu"].as_object_mut(), &response.cpu) {
        into.insert("share".to_owned(), json!(cpu.share));
    }
    if let (Some(into), Some(found)) = (document["throttling"].as_object_mut(), &response.throttling) {
        into.insert("inferred".to_owned(), json!(found.inferred));
        into.insert("gaps".to_owned(), json!(found.gaps));
        into.insert("gaps_left_out".to_owned(), json!(found.gaps_left_out));
        if let Some(spun) = into.get_mut("spun").and_then(Value::as_object_mut).filter(|_| !samples) {
            spun.remove("intervals");
        }
    }
    if let Some(rows) = document["unavailable"].as_array_mut() {
        rows.extend(response.unavailable[known..].iter().map(|row| json!(row)));
    }
    Ok(document)
}

fn of_measurement(row: &mut Map<String, Value>, found: &Measurement) {
    let mut add = |name: &str, value: Value| drop(row.insert(name.to_owned(), value));
    add("gross_ns", json!(found.gross_ns));
    add("baseline_ns", json!(found.baseline_ns));
    add("net_ns", json!(found.net_ns));
    add("negative", json!(found.net_ns.is_some_and(|net| net.median < 0.0)));
    add("normality", json!(found.normality));
    add("lag1", json!(found.lag1));
}

fn measurement(one: &mut Measurement) {
    let Some(batches) = &one.batches_ns else { return };
    let switches = one.switches_per_batch.max(1) as f64;
    let of = |times: &[u64]| times.iter().map(|ns| *ns as f64 / switches).collect::<Vec<f64>>();
    let (gross, baseline) = (of(&batches.gross), of(&batches.baseline));
    let net: Vec<f64> = gross.iter().zip(&baseline).map(|(gross, baseline)| gross - baseline).collect();
    one.gross_ns = estimate(&gross);
    one.baseline_ns = estimate(&baseline);
    one.net_ns = estimate(&net);
    one.lag1 = lag1_autocorrelation(&gross);
    one.normality = shapiro_wilk_sorted(&sorted(&gross)).map(|found| Normality {
        test: "shapiro-wilk".to_owned(),
        w: found.w,
        p: found.p,
        normal: found.p >= NORMAL_P,
    });
}

/// The quota or why there is none, and the first and the length of the windows to divide the time into.
fn infer(
    spinners: &[Vec<Interval>],
    others_cpus: f64,
    span_ns: f64,
) -> (Inferred, Option<String>, (f64, f64)) {
    match quota::infer(spinners).map(|found| found.with_others(others_cpus)) {
        Ok(found) => {
            let inferred = Inferred {
                period_ns: Some(found.period_ns),
                quota_ns: Some(found.quota_ns),
                quota_ci_low_ns: Some(found.ci_low_ns),
                quota_ci_high_ns: Some(found.ci_high_ns),
                cpus: Some(found.cpus()),
                throttled_ns: found.throttled_ns as u64,
                gaps: found.gaps as u64,
                periods: found.periods,
            };
            let first_ns = found.first_ns.rem_euclid(found.period_ns);
            (inferred, None, (first_ns, found.period_ns))
        }
        Err(why) => {
            let cpus = Some(quota::received(spinners));
            let inferred = Inferred {
                period_ns: None,
                quota_ns: None,
                quota_ci_low_ns: None,
                quota_ci_high_ns: None,
                cpus,
                throttled_ns: 0,
                gaps: 0,
                periods: 0,
            };
            (inferred, Some(why.to_string()), (0.0, span_ns / WINDOWS))
        }
    }
}

/// What swtch 0.1.0 answered, under the names of this version.
fn upgrade(document: &mut Value) {
    rename_ends(document);
    document["schema"] = json!(SCHEMA);
    let span_ns = document["request"]["spin_ms"].as_f64().unwrap_or(0.0) * 1e6;
    if let Some(request) = document["request"].as_object_mut() {
        request.entry("iterations").or_insert_with(|| json!(0));
    }
    for row in document["measurements"].as_array_mut().into_iter().flatten() {
        row["median_ns"] = row["net_ns"]["median"].clone();
    }
    if let Some(cpu) = document["cpu"].as_object_mut() {
        let median = cpu.get("share").and_then(|share| share["median"].as_f64());
        let spun_ns = cpu.get("spun_ns").and_then(Value::as_f64).unwrap_or(0.0);
        cpu.insert("received".to_owned(), json!(median.unwrap_or(spun_ns / span_ns.max(1.0))));
    }
    if let Some(throttling) = document["throttling"].as_object_mut() {
        let mut spun = Value::Null;
        if let Some(inferred) = throttling.get_mut("inferred").and_then(Value::as_object_mut) {
            let from = inferred.remove("from").unwrap_or_default();
            spun = json!({ "span_ns": span_ns as u64, "from": from, "others_cpus": 0.0 });
            inferred.insert("quota_ci_low_ns".to_owned(), Value::Null);
            inferred.insert("quota_ci_high_ns".to_owned(), Value::Null);
        }
        throttling.insert("spun".to_owned(), spun);
    }
}

/// Estimates of the first version have `low` and `high`.
fn rename_ends(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("median") {
                for (old, new) in [("low", "ci_low"), ("high", "ci_high")] {
                    if let Some(end) = fields.remove(old) {
                        fields.insert(new.to_owned(), end);
                    }
                }
            }
            fields.values_mut().for_each(rename_ends);
        }
        Value::Array(values) => values.iter_mut().for_each(rename_ends),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn fixture(name: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/faas");
        std::fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn an_answer_gets_the_figures_of_its_batches_and_intervals() {
        let document = complete(&fixture("rust.json")).unwrap();
        let raw: Value = serde_json::from_str(&fixture("rust.json")).unwrap();
        let rows = document["measurements"].as_array().unwrap();
        assert!(rows.len() == 3 && raw["measurements"][0].get("net_ns").is_none());
        for row in rows {
            let net = &row["net_ns"];
            let close = |one: &Value, other: &Value| {
                (one.as_f64().unwrap() / other.as_f64().unwrap() - 1.0).abs() < 1e-9
            };
            assert!(close(&net["median"], &row["median_ns"]), "{row}");
            assert!(net["ci_low"].as_f64() <= net["median"].as_f64() && net["n"] == row["batches"], "{row}");
            assert!(
                row["normality"]["w"].is_f64() && row["lag1"].is_f64() && row.get("batches_ns").is_none()
            );
        }
        let throttling = &document["throttling"];
        let (inferred, set) = (&throttling["inferred"], &throttling["platform"]);
        for name in ["quota_ns", "period_ns"] {
            let (seen, set) = (inferred[name].as_f64().unwrap(), set[name].as_f64().unwrap());
            assert!((seen / set - 1.0).abs() < 0.005, "{name}: {seen}, not {set}");
        }
        assert!(inferred["quota_ci_low_ns"].as_f64() <= inferred["quota_ns"].as_f64());
        assert!(
            throttling["gaps"].as_array().unwrap().len() > 5 && throttling["spun"].get("intervals").is_none()
        );
        assert!(document["cpu"]["share"]["median"].is_f64());
        let typed: Response = serde_json::from_value(document).unwrap();
        assert_eq!(typed.inferred().unwrap().quota_ns, inferred_of(&raw).quota_ns);
    }

    fn inferred_of(raw: &Value) -> Inferred {
        let mut response: Response = serde_json::from_value(raw.clone()).unwrap();
        add(&mut response);
        response.throttling.unwrap().inferred.unwrap()
    }

    #[test]
    fn samples_stay_where_they_were_asked_for() {
        let mut raw: Value = serde_json::from_str(&fixture("rust.json")).unwrap();
        raw["request"]["samples"] = json!(true);
        let document = complete(&raw.to_string()).unwrap();
        assert!(document["measurements"][0]["batches_ns"]["gross"].is_array());
        assert!(document["throttling"]["spun"]["intervals"].is_array());
        // With its raw values it can be completed again, to the same.
        assert_eq!(complete(&document.to_string()).unwrap()["measurements"], document["measurements"]);
    }

    #[test]
    fn the_answer_of_an_older_handler_keeps_its_figures_under_the_names_of_this_version() {
        let old: Value = serde_json::from_str(&fixture("go.json")).unwrap();
        let document = complete(&old.to_string()).unwrap();
        let (was, is) = (&old["measurements"][0]["net_ns"], &document["measurements"][0]["net_ns"]);
        assert!(is["ci_low"] == was["low"] && is["ci_high"] == was["high"] && is.get("low").is_none());
        assert_eq!(document["schema"], SCHEMA);
        assert_eq!(document["throttling"]["inferred"]["quota_ns"], old["throttling"]["inferred"]["quota_ns"]);
    }

    #[test]
    fn no_quota_has_its_reason_and_what_is_no_answer_an_error() {
        let mut raw: Value = serde_json::from_str(&fixture("rust.json")).unwrap();
        raw["throttling"]["spun"]["intervals"] = json!([[[0, 1_000_000_000, 990_000_000]]]);
        let document = complete(&raw.to_string()).unwrap();
        let last = document["unavailable"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["what"], "throttling.inferred.quota_ns");
        assert!(last["why"].as_str().unwrap().contains("nothing was throttled"));
        assert!((document["throttling"]["inferred"]["cpus"].as_f64().unwrap() - 0.99).abs() < 1e-9);
        assert!(matches!(complete("{"), Err(AnswerError::Parse(_))));
        let other = complete("{\"schema\":\"swtch/faas/9\"}").unwrap_err().to_string();
        assert!(other.contains("'swtch/faas/9', not 'swtch/faas/2'"), "{other}");
    }

    #[test]
    fn an_estimate_of_few_values_is_their_range() {
        let three = estimate(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (three.median, three.ci_low, three.ci_high, three.confidence),
            (2.0, 1.0, 3.0, Some(0.75))
        );
        assert_eq!(estimate(&[]), None);
    }
}
