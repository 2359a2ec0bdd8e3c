//! Which keys of a phase are events.

use super::json::{Entry, Json, JsonValue};

/// The events, in the order in which rt-app compares beginnings of keys.
const EVENTS: [&str; 20] = [
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer", "suspend",
    "resume", "memrun", "mem", "iorun", "yield", "barrier", "fork", "sem_post", "sem_wait",
];
/// The event that a key is, if it is one. rt-app takes any suffix. Where that makes a word of its own, such as `lock_order` of older files,
/// the value decides.
pub(super) fn event_of(entry: &Entry) -> Option<&'static str> {
    let event = EVENTS.into_iter().find(|event| entry.key.starts_with(event))?;
    let plain = entry.key[event.len()..].bytes().all(|byte| byte.is_ascii_digit());
    (plain || fits(event, &entry.value)).then_some(event)
}

/// Whether a value is of the event's type.
fn fits(event: &str, json: &Json) -> bool {
    match event {
        "run" | "runtime" | "sleep" | "mem" | "iorun" => matches!(json.value, JsonValue::Integer(_)),
        "timer" | "wait" | "sync" | "memrun" => matches!(json.value, JsonValue::Object(_)),
        "yield" | "suspend" => true,
        _ => matches!(json.value, JsonValue::Text(_)),
    }
}
