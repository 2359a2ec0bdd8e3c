//! Lines that a scheduler prints. It is another program, perhaps of another version, and may be killed in the middle of a line: no line is
//! an error.

use serde_json::{Map, Value};
use swtch_sched_ext::SchedulerEvent;

/// A line from a scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulerMessage {
    /// An event, and its line.
    Event(SchedulerEvent, String),
    /// A line of JSON that this version does not know.
    Unknown(String),
    /// A line of text, on standard output.
    Text(String),
    /// A line on standard error.
    Complaint(String),
}

impl SchedulerMessage {
    /// Parses a line that one of swtch's schedulers printed. A damaged line is text.
    ///
    /// ```
    /// use swtch_sched::SchedulerMessage;
    ///
    /// let line = r#"{"event":"loaded","settings":{"slice_ns":5}}"#;
    /// assert!(matches!(SchedulerMessage::parse(line), SchedulerMessage::Event(..)));
    /// assert!(matches!(SchedulerMessage::parse(r#"{"event":"enab"#), SchedulerMessage::Text(_)));
    /// ```
    pub fn parse(line: &str) -> Self {
        if let Ok(event) = serde_json::from_str(line) {
            return Self::Event(event, line.to_owned());
        }
        match serde_json::from_str::<Map<String, Value>>(line) {
            Ok(_) => Self::Unknown(line.to_owned()),
            Err(_) => Self::Text(line.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_and_unknown_lines_are_kept() {
        let parse = SchedulerMessage::parse;
        let whole = r#"{"event":"ended","because":"time","seconds":1.0}"#;
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), SchedulerMessage::Text(whole[..end].to_owned()));
        }
        let SchedulerMessage::Event(_, kept) = parse(whole) else { panic!("{whole} is not an event") };
        assert_eq!(kept, whole);
        assert!(matches!(parse(r#"{"event":"hotplug","cpu":3}"#), SchedulerMessage::Unknown(_)));
        let damaged = parse(r#"{"event":"counters","seconds":"soon"}"#);
        assert!(matches!(damaged, SchedulerMessage::Unknown(_)));
        assert!(matches!(parse("3"), SchedulerMessage::Text(_)));
    }
}
