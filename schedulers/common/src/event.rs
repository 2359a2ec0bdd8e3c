//! What is told while a scheduler runs: for people, or as JSON, one object a line.

use crate::counters::{CpuCounters, total};
use crate::exit::ExitInfo;
use crate::verifier::Verified;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::Write;

/// Something that happened; in JSON the field `event` says what.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The kernel has verified and loaded the scheduler.
    Loaded {
        /// Its name.
        scheduler: String,
        /// How it is set, by name; times are in nanoseconds.
        settings: Map<String, Value>,
    },
    /// It schedules.
    Enabled {
        /// Its name.
        scheduler: String,
        /// As the kernel names it, in /sys/kernel/sched_ext/root/ops.
        ops: Option<String>,
        /// Whether it has only the tasks that were asked for.
        partial: bool,
        /// How many threads were handed to it, where it has only those.
        threads: Option<usize>,
    },
    /// What was decided so far.
    Counters {
        /// Since it was enabled, s.
        seconds: f64,
        /// Sums over all CPUs.
        total: Map<String, Value>,
        /// By CPU.
        cpus: Vec<CpuCounters>,
    },
    /// Something of this scheduler's own.
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
    Verified(Verified),
    /// It is over, and all tasks are with the kernel's own scheduler.
    Ended {
        /// What ended it: `time`, `signal`, `kernel` or `failure`.
        because: &'static str,
        /// After being enabled, s.
        seconds: f64,
        /// The kernel's account.
        #[serde(flatten)]
        exit: ExitInfo,
    },
}

/// Tells events on standard output.
#[derive(Clone, Debug)]
pub struct Reporter {
    name: &'static str,
    json: bool,
}

impl Reporter {
    /// For a scheduler of this name; as JSON or for people.
    pub fn new(name: &'static str, json: bool) -> Self {
        Self { name, json }
    }

    /// Tells one event. A reader that has gone away is no failure of the scheduler.
    pub fn tell(&self, event: &Event) {
        let line = if self.json {
            serde_json::to_string(event).unwrap_or_default()
        } else {
            format!("{}: {}", self.name, in_words(event))
        };
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

fn in_words(event: &Event) -> String {
    let list = |map: &Map<String, Value>| {
        let pairs: Vec<String> =
            map.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
        pairs.join(", ")
    };
    match event {
        Event::Loaded { settings, .. } if settings.is_empty() => "loaded".to_owned(),
        Event::Loaded { settings, .. } => format!("loaded; {}", list(settings)),
        Event::Enabled { threads: Some(threads), .. } => {
            format!("schedules {threads} threads and what they start; Ctrl-C ends it")
        }
        Event::Enabled { .. } => "schedules every normal task of this machine; Ctrl-C ends it".to_owned(),
        Event::Counters { seconds, cpus, .. } => format!("{seconds:.1} s: {}", list(&total(cpus))),
        Event::Note { seconds, about, fields } => format!("{seconds:.1} s: {about}: {}", list(fields)),
        Event::Verified(one) => format!(
            "{}: {} instructions verified, {} states, {} at most at once",
            one.program, one.instructions, one.states, one.peak_states
        ),
        Event::Ended { because, seconds, exit } => ended(because, *seconds, exit),
    }
}

fn ended(because: &str, seconds: f64, exit: &ExitInfo) -> String {
    let why = match because {
        "time" => "time is up",
        "signal" => "interrupted",
        "failure" => "its own half failed",
        _ => "ended by the kernel",
    };
    let mut line = format!("{why} after {seconds:.1} s; the kernel says: {}", exit.reason);
    if !exit.message.is_empty() {
        line.push_str(&format!(" ({})", exit.message));
    }
    line.push_str("; the kernel's own scheduler is back");
    if let (true, Some(dump)) = (exit.is_error(), &exit.dump) {
        line.push_str(&format!("\n{dump}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall() -> ExitInfo {
        ExitInfo {
            kind: "error_stall".into(),
            kind_number: 1026,
            reason: "runnable task stall".into(),
            message: "a[7] failed to run for 30.1s".into(),
            dump: Some("CPU 0".into()),
            ..ExitInfo::default()
        }
    }

    #[test]
    fn an_end_is_one_object_with_the_kernels_words() {
        let event = Event::Ended { because: "kernel", seconds: 31.5, exit: stall() };
        let json: Value = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        let of = |key: &str| json[key].clone();
        assert_eq!(
            (of("event"), of("kind"), of("because")),
            ("ended".into(), "error_stall".into(), "kernel".into())
        );
        assert_eq!((of("reason"), of("message")), ("runnable task stall".into(), stall().message.into()));
    }

    #[test]
    fn people_are_told_that_the_kernel_schedules_again() {
        let words = in_words(&Event::Ended { because: "kernel", seconds: 31.5, exit: stall() });
        assert!(
            words.starts_with("ended by the kernel after 31.5 s; the kernel says: runnable task stall (a[7]"),
            "{words}"
        );
        assert!(words.contains("own scheduler is back") && words.ends_with("\nCPU 0"), "{words}");
    }

    #[test]
    fn settings_and_counters_are_named() {
        let settings = Map::from_iter([("slice_ns".to_owned(), Value::from(5))]);
        assert_eq!(in_words(&Event::Loaded { scheduler: "x".into(), settings }), "loaded; slice ns 5");
    }
}
