//! What our schedulers tell with `--json`, one object a line. They are other programs, perhaps of another version, and may be killed in the
//! middle of a line: whatever comes is taken as it is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something that a scheduler told.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The kernel has verified and loaded it.
    Loaded {
        /// How it is set, by name; times are in nanoseconds.
        #[serde(default)]
        settings: Map<String, Value>,
    },
    /// It schedules.
    Enabled {
        /// As the kernel names it.
        ops: Option<String>,
        /// Whether it has only the tasks that were asked for.
        #[serde(default)]
        partial: bool,
        /// How many threads were handed to it, where it has only those.
        threads: Option<u64>,
    },
    /// What it decided so far.
    Counters {
        /// Since it was enabled, s.
        seconds: f64,
        /// Sums over all CPUs.
        #[serde(default)]
        total: Map<String, Value>,
    },
    /// Something of its own.
    Note {
        /// Since it was enabled, s.
        seconds: f64,
        /// What it is about.
        about: String,
        /// The matter.
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
    /// What the verifier made of a program.
    Verified {
        /// The program.
        program: String,
        /// The rest, by name.
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
    /// It is over.
    Ended {
        /// What ended it: `time`, `signal`, `kernel` or `failure`.
        because: String,
        /// After being enabled, s.
        seconds: f64,
        /// The kernel's account.
        #[serde(flatten)]
        exit: ExitInfo,
    },
}

/// The kernel's account of an end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct ExitInfo {
    /// What kind of end: `unreg`, `error_stall`.
    pub kind: String,
    /// What the kernel says: `runnable task stall`.
    pub reason: String,
    /// More of it: which task, for how long.
    pub message: String,
    /// What the scheduler or the kernel handed along.
    pub exit_code: i64,
    /// The state of the queues when an error ended it.
    pub dump: Option<String>,
}

/// What came from a scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// An event, and the line it was.
    Event(Event, String),
    /// A line of JSON that says something this version does not know.
    Unknown(String),
    /// A line of text, on standard output.
    Text(String),
    /// A line on standard error.
    Complaint(String),
}

/// Takes a line of one of our schedulers. Damaged lines are text.
///
/// ```
/// use swtch_sched::{Told, parse};
///
/// assert!(matches!(parse(r#"{"event":"loaded","settings":{"slice_ns":5}}"#), Told::Event(..)));
/// assert!(matches!(parse(r#"{"event":"enab"#), Told::Text(_)));
/// ```
pub fn parse(line: &str) -> Told {
    if let Ok(event) = serde_json::from_str(line) {
        return Told::Event(event, line.to_owned());
    }
    match serde_json::from_str::<Map<String, Value>>(line) {
        Ok(_) => Told::Unknown(line.to_owned()),
        Err(_) => Told::Text(line.to_owned()),
    }
}

impl Event {
    /// For people, without the scheduler's name.
    pub fn in_words(&self) -> String {
        match self {
            Self::Loaded { settings } if settings.is_empty() => "loaded".to_owned(),
            Self::Loaded { settings } => format!("loaded; {}", list(settings)),
            Self::Enabled { threads: Some(threads), .. } => {
                format!("schedules {threads} threads and what they start; Ctrl-C ends it")
            }
            Self::Enabled { .. } => "schedules every normal task of this machine; Ctrl-C ends it".to_owned(),
            Self::Counters { seconds, total } => format!("{seconds:.1} s: {}", list(total)),
            Self::Note { seconds, about, fields } => format!("{seconds:.1} s: {about}: {}", list(fields)),
            Self::Verified { program, fields } => format!("{program}: {}", list(fields)),
            Self::Ended { because, seconds, exit } => {
                let why = match because.as_str() {
                    "time" => "time is up",
                    "signal" => "interrupted",
                    "failure" => "its own half failed",
                    _ => "ended by the kernel",
                };
                let mut line = format!(
                    "{why} after {seconds:.1} s; the kernel says: {}; the kernel's own scheduler is back",
                    exit.in_words()
                );
                if let (true, Some(dump)) = (exit.is_error(), &exit.dump) {
                    line.push_str(&format!("\n{dump}"));
                }
                line
            }
        }
    }
}

impl ExitInfo {
    /// Whether something went wrong.
    pub fn is_error(&self) -> bool {
        self.kind.starts_with("error")
    }

    /// The kernel's words.
    pub fn in_words(&self) -> String {
        match (self.reason.as_str(), self.message.as_str()) {
            ("", "") => "nothing".to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason} ({message})"),
        }
    }
}

fn list(map: &Map<String, Value>) -> String {
    let pairs: Vec<String> =
        map.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
    pairs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> Event {
        match parse(line) {
            Told::Event(event, kept) => {
                assert_eq!(kept, line);
                event
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn events_are_put_into_words() {
        let said = |line| event(line).in_words();
        assert_eq!(
            said(r#"{"event":"loaded","scheduler":"x","settings":{"slice_ns":5}}"#),
            "loaded; slice ns 5"
        );
        let enabled = r#"{"event":"enabled","scheduler":"x","ops":"x_1","partial":true,"threads":3}"#;
        assert!(said(enabled).starts_with("schedules 3 threads"));
        let counters =
            r#"{"event":"counters","seconds":2.04,"total":{"local":7},"cpus":[{"cpu":0,"local":7}]}"#;
        assert_eq!(said(counters), "2.0 s: local 7");
        let note = r#"{"event":"note","seconds":2.0,"about":"shares","fast":0.5}"#;
        assert_eq!(said(note), "2.0 s: shares: fast 0.5");
    }

    #[test]
    fn an_end_has_the_kernels_words() {
        let line = r#"{"event":"ended","because":"kernel","seconds":31.5,"kind":"error_stall","kind_number":1026,"reason":"runnable task stall","message":"a[7] failed to run for 30.1s","exit_code":0,"exit_cpu":null,"dump":"CPU 0"}"#;
        let Event::Ended { exit, .. } = event(line) else { panic!() };
        assert!(exit.is_error());
        let words = event(line).in_words();
        assert!(words.contains("runnable task stall (a[7] failed to run for 30.1s)"), "{words}");
        assert!(words.contains("own scheduler is back") && words.ends_with("\nCPU 0"), "{words}");
    }

    #[test]
    fn damaged_and_unknown_lines_are_kept() {
        let whole = r#"{"event":"ended","because":"time","seconds":1.0}"#;
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), Told::Text(whole[..end].to_owned()));
        }
        assert!(matches!(parse(r#"{"event":"hotplug","cpu":3}"#), Told::Unknown(_)));
        assert!(matches!(parse(r#"{"event":"counters","seconds":"soon"}"#), Told::Unknown(_)));
        assert!(matches!(parse("3"), Told::Text(_)));
        // Of a later version, with more in it.
        assert!(matches!(event(r#"{"event":"loaded","new":1}"#), Event::Loaded { .. }));
    }
}
