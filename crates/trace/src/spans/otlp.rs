//! Spans of OpenTelemetry as OTLP/JSON: the file exporter of a collector writes a line a batch, other programs one document.
//!
//! Names: opentelemetry-proto 1.9 (trace/v1/trace.proto), in protobuf's JSON mapping, where 64-bit numbers are texts. The process is
//! `process.pid` of the resource. `thread.id` may be a number that the language gives, so it counts only if the Trace has such a thread.

use super::{LineError, RawSpan, SpanClock, SpanFile, checked};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Batch {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    #[serde(default)]
    resource: Resource,
    #[serde(default)]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Default, Deserialize)]
struct Resource {
    #[serde(default)]
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default)]
    spans: Vec<OtlpSpan>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OtlpSpan {
    name: String,
    #[serde(default)]
    span_id: Option<String>,
    start_time_unix_nano: Value,
    #[serde(default)]
    end_time_unix_nano: Value,
    #[serde(default)]
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    key: String,
    #[serde(default)]
    value: Value,
}

/// Reads numbered texts, each a document.
pub(super) fn parse<'a>(documents: impl Iterator<Item = (usize, &'a str)>) -> Result<SpanFile, LineError> {
    let mut file = SpanFile { clock: SpanClock::Wall, spans: Vec::new(), unended: 0 };
    for (index, document) in documents.filter(|(_, document)| !document.trim().is_empty()) {
        let batch: Batch = serde_json::from_str(document)
            .map_err(|error| (index + error.line(), format!("is not OTLP/JSON ({error})")))?;
        for resource in batch.resource_spans {
            let pid = attribute(&resource.resource.attributes, "process.pid");
            for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                take(span, pid, &mut file).map_err(|why| (index + 1, why))?;
            }
        }
    }
    Ok(file)
}

fn take(span: OtlpSpan, pid: Option<u32>, file: &mut SpanFile) -> Result<(), String> {
    let time = |name: &str, value: &Value| {
        integer(value)
            .ok_or_else(|| format!("'{name}' must be a number of nanoseconds since 1970, not {value}"))
    };
    let begin_ns = time("startTimeUnixNano", &span.start_time_unix_nano)?;
    let end_ns = if span.end_time_unix_nano.is_null() {
        0
    } else {
        time("endTimeUnixNano", &span.end_time_unix_nano)?
    };
    if end_ns == 0 {
        file.unended += 1;
        return Ok(());
    }
    checked(begin_ns, end_ns)?;
    let pid = attribute(&span.attributes, "process.pid").or(pid);
    let tid = attribute(&span.attributes, "thread.id");
    file.spans.push(RawSpan { name: span.name, id: span.span_id, pid, tid, begin_ns, end_ns });
    Ok(())
}

/// A number of a task among the attributes.
fn attribute(attributes: &[Attribute], key: &str) -> Option<u32> {
    let value = &attributes.iter().find(|attribute| attribute.key == key)?.value;
    integer(value.get("intValue")?).and_then(|number| u32::try_from(number).ok())
}

fn integer(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).filter(|number| *number < 1 << 63)
}
