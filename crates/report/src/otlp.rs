//! The metrics of `swtch serve` as messages of OTLP, OpenTelemetry's protocol, in protobuf.
//!
//! Source: opentelemetry-proto 1.7, `metrics/v1/metrics.proto` and `collector/metrics/v1/metrics_service.proto`. Names are those of the
//! semantic conventions 1.44 where they have one (`process.context_switches`, by process) and `swtch.*` elsewhere. Sums are cumulative, since
//! the watch began: a message that is lost costs resolution and no counts.

use crate::prometheus::{Counters, Exposition, Family, FamilyKind, Gauges, ProcessSums, SeriesValue};
use crate::proto::Message;
use std::collections::BTreeMap;
use thiserror::Error;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;
/// Their labels are attributes of resources and points here.
const NOT_SENT: [&str; 2] = ["swtch_build_info", "swtch_cgroup_info"];

/// The labels of `swtch_cgroup_info`; the first, the path, is an attribute already.
const CGROUP_ATTRIBUTES: [Option<&str>; 6] = [
    None,
    Some("swtch.cgroup.kind"),
    Some("swtch.cgroup.name"),
    Some("k8s.namespace.name"),
    Some("k8s.pod.name"),
    Some("k8s.container.name"),
];

/// The time that the sums of a message cover, ns since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When the watch began.
    pub start_ns: u64,
    /// When it looked last.
    pub end_ns: u64,
}

/// A message (`ExportMetricsServiceRequest`) with everything that was counted.
///
/// resource: attributes of the machine, as names and values. Processes have theirs besides.
pub fn request(counters: &Counters, gauges: &Gauges, resource: &[(String, String)], span: Span) -> Vec<u8> {
    let exposition = counters.exposition(gauges);
    let cgroups = cgroups(&exposition);
    let mut message = Message::default();
    message.message(1, |metrics| {
        metrics.message(1, |written| attributes(written, resource.iter()));
        metrics.message(2, |scope| {
            write_scope(scope);
            for (family, series) in exposition.families() {
                if !NOT_SENT.contains(&family.stem) {
                    scope.message(2, |metric| write_metric(metric, family, series, &cgroups, span));
                }
            }
        });
    });
    for (pid, process) in counters.processes() {
        message.message(1, |metrics| write_process(metrics, resource, *pid, process, span));
    }
    message.bytes().to_vec()
}

/// What is known of the cgroups, as attributes of the conventions, by path.
fn cgroups(exposition: &Exposition) -> BTreeMap<&str, Vec<(&'static str, &str)>> {
    let info = exposition.families().find(|(family, _)| family.stem == "swtch_cgroup_info");
    let series = info.map_or(&[][..], |(_, series)| series);
    series.iter().filter_map(|(values, _)| Some((values.first()?.as_str(), named(values)))).collect()
}

/// The labels of `swtch_cgroup_info` by their names here.
fn named(values: &[String]) -> Vec<(&'static str, &str)> {
    let named = CGROUP_ATTRIBUTES.iter().zip(values).filter(|(_, value)| !value.is_empty());
    named.filter_map(|(name, value)| Some(((*name)?, value.as_str()))).collect()
}

/// Attributes of a resource.
fn attributes<'a>(written: &mut Message, of: impl Iterator<Item = &'a (String, String)>) {
    for (name, value) in of {
        attribute(written, 1, name, value);
    }
}

/// The time that a point covers.
fn write_span(point: &mut Message, span: Span) {
    point.fixed(2, span.start_ns);
    point.fixed(3, span.end_ns);
}

fn write_scope(scope: &mut Message) {
    scope.message(1, |written| {
        written.text(1, "swtch");
        written.text(2, env!("CARGO_PKG_VERSION"));
    });
}

fn write_metric(
    metric: &mut Message,
    family: &Family,
    series: &[(Vec<String>, SeriesValue)],
    cgroups: &BTreeMap<&str, Vec<(&'static str, &str)>>,
    span: Span,
) {
    metric.text(1, &name(family));
    metric.text(2, family.help);
    metric.text(3, unit(family));
    let kind = match family.kind {
        FamilyKind::Gauge => 5,
        FamilyKind::Counter => 7,
        FamilyKind::Histogram => 9,
    };
    metric.message(kind, |data| {
        for (values, value) in series {
            let of_cgroup =
                (family.labels.first() == Some(&"cgroup")).then(|| cgroups.get(values[0].as_str()));
            let more = of_cgroup.flatten().into_iter().flatten().copied();
            let labels = family.labels.iter().copied().zip(values.iter().map(String::as_str)).chain(more);
            data.message(1, |point| write_point(point, family, value, labels, span));
        }
        if family.kind != FamilyKind::Gauge {
            data.number(2, CUMULATIVE);
        }
        if family.kind == FamilyKind::Counter {
            data.number(3, 1);
        }
    });
}

fn write_point<'a>(
    point: &mut Message,
    family: &Family,
    value: &SeriesValue,
    labels: impl Iterator<Item = (&'static str, &'a str)>,
    span: Span,
) {
    write_span(point, span);
    let mut field = 7;
    match value {
        SeriesValue::Count(ns) if family.unit == Some("seconds") => point.double(4, *ns as f64 / 1e9),
        SeriesValue::Count(count) => point.fixed(6, *count),
        SeriesValue::Number(number) => point.double(4, *number),
        SeriesValue::Distribution(distribution) => {
            field = 9;
            point.fixed(4, distribution.counts.iter().sum());
            point.double(5, distribution.sum_ns as f64 / 1e9);
            point.packed(6, distribution.counts.iter().map(|count| count.to_le_bytes()));
            point.packed(7, distribution.bounds_ns.iter().map(|ns| (*ns as f64 / 1e9).to_le_bytes()));
        }
    }
    for (name, value) in labels {
        attribute(point, field, name, value);
    }
}

fn write_process(
    metrics: &mut Message,
    resource: &[(String, String)],
    pid: u32,
    process: &ProcessSums,
    span: Span,
) {
    metrics.message(1, |written| {
        // The service of another process is not known here.
        attributes(written, resource.iter().filter(|(name, _)| !name.starts_with("service.")));
        written.message(1, |pair| {
            pair.text(1, "process.pid");
            pair.message(2, |value| value.number(3, u64::from(pid)));
        });
        if let Some(name) = &process.name {
            attribute(written, 1, "process.executable.name", name);
        }
    });
    metrics.message(2, |scope| {
        write_scope(scope);
        scope.message(2, |metric| {
            metric.text(1, "process.context_switches");
            metric.text(2, "Context switches of all threads of the process.");
            metric.text(3, "{context_switch}");
            metric.message(7, |sum| {
                for (kind, count) in [("voluntary", process.voluntary), ("involuntary", process.involuntary)]
                {
                    sum.message(1, |point| {
                        write_span(point, span);
                        point.fixed(6, count);
                        attribute(point, 7, "process.context_switch.type", kind);
                    });
                }
                sum.number(2, CUMULATIVE);
                sum.number(3, 1);
            });
        });
    });
}

/// A `KeyValue` with a text.
fn attribute(message: &mut Message, field: u32, name: &str, value: &str) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any.text(1, value));
    });
}

/// `swtch_cgroup_run` is `swtch.cgroup_run`: what stands before the first underscore is the namespace.
fn name(family: &Family) -> String {
    family.stem.replacen('_', ".", 1)
}

/// By UCUM, as the conventions have it.
fn unit(family: &Family) -> &'static str {
    match family.unit {
        Some("seconds") => "s",
        Some("bytes") => "By",
        _ => "",
    }
}

/// What a receiver says in its answer that it did not take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialSuccess {
    /// Points that it rejected.
    pub rejected_points: u64,
    /// Why, in its words.
    pub why: String,
}

/// An answer that is not a message of the protocol.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "the answer is not an ExportMetricsServiceResponse: it ends in the middle of a field, or has a field of an unknown type"
)]
pub struct NotAnAnswer;

/// Reads an answer (`ExportMetricsServiceResponse`).
///
/// # Errors
/// When it is something else.
pub fn partial_success(answer: &[u8]) -> Result<PartialSuccess, NotAnAnswer> {
    let mut found = PartialSuccess::default();
    for (field, value) in fields(answer)? {
        let (1, Value::Bytes(inner)) = (field, value) else { continue };
        for (field, value) in fields(inner)? {
            match (field, value) {
                (1, Value::Number(points)) => found.rejected_points = points,
                (2, Value::Bytes(text)) => found.why = String::from_utf8_lossy(text).into_owned(),
                _ => {}
            }
        }
    }
    Ok(found)
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, those of fixed length left out.
fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Value<'_>)>, NotAnAnswer> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        match tag & 7 {
            0 => found.push((tag >> 3, Value::Number(varint(&mut bytes)?))),
            1 => drop(take(&mut bytes, 8)?),
            2 => {
                let length = varint(&mut bytes)?;
                found.push((tag >> 3, Value::Bytes(take(&mut bytes, length)?)));
            }
            5 => drop(take(&mut bytes, 4)?),
            _ => return Err(NotAnAnswer),
        }
    }
    Ok(found)
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], NotAnAnswer> {
    let length = usize::try_from(length).map_err(|_| NotAnAnswer)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(NotAnAnswer)?;
    *bytes = rest;
    Ok(taken)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, NotAnAnswer> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(NotAnAnswer)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(NotAnAnswer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_what_is_none_is_refused() {
        assert_eq!(partial_success(&[]), Ok(PartialSuccess::default()));
        let mut answer = Message::default();
        answer.message(1, |partial| {
            partial.number(1, 300);
            partial.text(2, "too many");
        });
        answer.fixed(9, 7);
        let told = PartialSuccess { rejected_points: 300, why: "too many".to_owned() };
        assert_eq!(partial_success(answer.bytes()), Ok(told));
        for broken in [&[0x0a, 5, 1][..], b"<html>", &[0xff; 12], &[0x09, 1]] {
            assert_eq!(partial_success(broken), Err(NotAnAnswer), "{broken:?}");
        }
    }
}
