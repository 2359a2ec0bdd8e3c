//! Spans as lines of the workload contract (docs/workload-contract.md).

use super::{LineError, RawSpan, SpanClock, SpanFile, checked, each_line};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The name of spans whose program gives none.
const UNNAMED: &str = "work";

/// A process and the number of a span that is open in it.
type OpenKey = (Option<u32>, String);

/// Reads the events that hold spans; the others are for other readers.
pub(super) fn parse(text: &str) -> Result<SpanFile, LineError> {
    let mut reader = ContractReader::default();
    each_line(text, |line| if line.trim().is_empty() { Ok(()) } else { reader.take(line) })?;
    Ok(SpanFile { clock: SpanClock::Monotonic, spans: reader.spans, unended: reader.open.len() })
}

#[derive(Default)]
struct ContractReader {
    /// The process of the last `ready`.
    pid: Option<u32>,
    open: HashMap<OpenKey, RawSpan>,
    spans: Vec<RawSpan>,
}

impl ContractReader {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let event: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| format!("is not a JSON object ({error})"))?;
        match event.get("event").and_then(Value::as_str) {
            Some("ready") => self.pid = number(&event, "pid")?,
            Some("spans") => self.spans_of(&event)?,
            Some("begin") => self.begin(&event)?,
            Some("end") => self.end(&event)?,
            Some("metrics" | "error") => {}
            other => {
                return Err(format!("'{}' is not an event of the contract", other.unwrap_or("no event")));
            }
        }
        Ok(())
    }

    /// A span with what the event says of its name and its tasks.
    fn about(&self, event: &Map<String, Value>) -> Result<RawSpan, String> {
        let name = event.get("name").and_then(Value::as_str).unwrap_or(UNNAMED).to_owned();
        let (pid, tid) = (number(event, "pid")?.or(self.pid), number(event, "tid")?);
        Ok(RawSpan { name, pid, tid, ..RawSpan::default() })
    }

    fn spans_of(&mut self, event: &Map<String, Value>) -> Result<(), String> {
        let list = |name: &str| event.get(name).and_then(Value::as_array);
        let (Some(begins), Some(ends)) = (list("begin_ns"), list("end_ns")) else {
            return Err("'begin_ns' and 'end_ns' must be lists".to_owned());
        };
        let ids = list("id");
        if begins.len() != ends.len() || ids.is_some_and(|ids| ids.len() != ends.len()) {
            return Err("'begin_ns', 'end_ns' and 'id' must be lists of the same length".to_owned());
        }
        let about = self.about(event)?;
        for (index, (begin, end)) in begins.iter().zip(ends).enumerate() {
            let (begin_ns, end_ns) = (time(begin)?, time(end)?);
            checked(begin_ns, end_ns)?;
            let id = ids.and_then(|ids| text(&ids[index]));
            self.spans.push(RawSpan { id, begin_ns, end_ns, ..about.clone() });
        }
        Ok(())
    }

    fn begin(&mut self, event: &Map<String, Value>) -> Result<(), String> {
        let (id, begin_ns) = opened(event)?;
        let about = self.about(event)?;
        let span = RawSpan { id: Some(id.clone()), begin_ns, ..about };
        match self.open.insert((span.pid, id.clone()), span) {
            Some(_) => Err(format!("span {id} began twice")),
            None => Ok(()),
        }
    }

    fn end(&mut self, event: &Map<String, Value>) -> Result<(), String> {
        let (id, end_ns) = opened(event)?;
        let pid = number(event, "pid")?.or(self.pid);
        let span = self.open.remove(&(pid, id.clone()));
        let span = span.ok_or_else(|| format!("span {id} ended, but did not begin"))?;
        checked(span.begin_ns, end_ns)?;
        self.spans.push(RawSpan { end_ns, ..span });
        Ok(())
    }
}

/// The `id` and `t_ns` of a `begin` or `end`.
fn opened(event: &Map<String, Value>) -> Result<(String, u64), String> {
    let id = event.get("id").and_then(text).ok_or("'id' must be a number or a text")?;
    Ok((id, time(event.get("t_ns").unwrap_or(&Value::Null))?))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn time(value: &Value) -> Result<u64, String> {
    let time = value.as_u64().filter(|time| *time < 1 << 63);
    time.ok_or_else(|| format!("a time must be a whole number of nanoseconds, not {value}"))
}

/// The number of a task; absent where the event has none.
fn number(event: &Map<String, Value>, name: &str) -> Result<Option<u32>, String> {
    let Some(value) = event.get(name) else { return Ok(None) };
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| format!("'{name}' must be the number of a task, not {value}"))
}
