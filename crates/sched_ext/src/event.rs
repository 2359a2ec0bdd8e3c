//! What swtch's schedulers report while they run: text for people, or JSON, one object a line.

use crate::exit::ExitInfo;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something that happened; in JSON the field `event` names it. A reader accepts events of other versions: fields that it does not know
/// are ignored, and most may be absent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SchedulerEvent {
    /// The kernel has verified and loaded the scheduler.
    Loaded {
        /// Its name.
        #[serde(default)]
        scheduler: String,
        /// Its settings by name; times are in nanoseconds.
        #[serde(default)]
        settings: Map<String, Value>,
    },
    /// It schedules.
    Enabled {
        /// Its name.
        #[serde(default)]
        scheduler: String,
        /// The kernel's name for it, in /sys/kernel/sched_ext/root/ops.
        ops: Option<String>,
        /// Whether it schedules only the tasks that were asked for.
        #[serde(default)]
        partial: bool,
        /// How many threads were moved to it, if it schedules only those.
        threads: Option<usize>,
    },
    /// Its counters so far.
    Counters {
        /// Since it was enabled, s.
        seconds: f64,
        /// Sums over all CPUs.
        #[serde(default)]
        total: Map<String, Value>,
        /// By CPU.
        #[serde(default)]
        cpus: Vec<CpuCounters>,
    },
    /// An event of this scheduler's own.
    Note {
        /// Since it was enabled, s.
        seconds: f64,
        /// The subject.
        about: String,
        /// The figures.
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
    /// The verifier's statistics of a program.
    Verified(Verified),
    /// It has ended, and the kernel's own scheduler has all tasks.
    Ended {
        /// What ended it.
        because: EndCause,
        /// Since it was enabled, s.
        seconds: f64,
        /// The kernel's account.
        #[serde(flatten)]
        exit: ExitInfo,
    },
}

/// What ended a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndCause {
    /// Its duration is over.
    Time,
    /// A signal.
    Signal,
    /// Its user-space half failed.
    Failure,
    /// The kernel.
    #[serde(other)]
    Kernel,
}

/// The counters of one CPU, by the names in the scheduler's source.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CpuCounters {
    /// The CPU's number.
    pub cpu: u32,
    /// Counts since loading, in the source's order; an array where the source has one.
    #[serde(flatten)]
    pub counts: Map<String, Value>,
}

/// What it took to verify one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Verified {
    /// The program's name.
    pub program: String,
    /// Instructions that the verifier walked through; its limit is a million.
    #[serde(default)]
    pub instructions: u64,
    /// States that it visited.
    #[serde(default)]
    pub states: u64,
    /// The most states that it kept at a time.
    #[serde(default)]
    pub peak_states: u64,
}

impl SchedulerEvent {
    /// For people, without the scheduler's name.
    pub fn in_words(&self) -> String {
        match self {
            Self::Loaded { settings, .. } if settings.is_empty() => "loaded".to_owned(),
            Self::Loaded { settings, .. } => format!("loaded; {}", list(settings)),
            Self::Enabled { threads: Some(threads), .. } => {
                format!("schedules {threads} threads and what they start; Ctrl-C ends it")
            }
            Self::Enabled { .. } => "schedules every normal task of this machine; Ctrl-C ends it".to_owned(),
            Self::Counters { seconds, total, .. } => format!("{seconds:.1} s: {}", list(total)),
            Self::Note { seconds, about, fields } => format!("{seconds:.1} s: {about}: {}", list(fields)),
            Self::Verified(Verified { program, instructions, states, peak_states }) => format!(
                "{program}: {instructions} instructions verified, {states} states, at most {peak_states} at a time"
            ),
            Self::Ended { because, seconds, exit } => {
                let cause = match because {
                    EndCause::Time => "time is up",
                    EndCause::Signal => "interrupted",
                    EndCause::Failure => "its user-space half failed",
                    EndCause::Kernel => "ended by the kernel",
                };
                let mut line = format!(
                    "{cause} after {seconds:.1} s; the kernel says: {}; the kernel's own scheduler is back",
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

fn list(map: &Map<String, Value>) -> String {
    let pairs: Vec<String> =
        map.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
    pairs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> String {
        serde_json::from_str::<SchedulerEvent>(line).unwrap().in_words()
    }

    #[test]
    fn events_are_put_into_words() {
        let loaded = r#"{"event":"loaded","scheduler":"x","settings":{"slice_ns":5}}"#;
        assert_eq!(words(loaded), "loaded; slice ns 5");
        let enabled = r#"{"event":"enabled","scheduler":"x","ops":"x_1","partial":true,"threads":3}"#;
        assert!(words(enabled).starts_with("schedules 3 threads"));
        let counters =
            r#"{"event":"counters","seconds":2.04,"total":{"local":7},"cpus":[{"cpu":0,"local":7}]}"#;
        assert_eq!(words(counters), "2.0 s: local 7");
        let note = r#"{"event":"note","seconds":2.0,"about":"shares","fast":0.5}"#;
        assert_eq!(words(note), "2.0 s: shares: fast 0.5");
        let verified = r#"{"event":"verified","program":"tick","instructions":9}"#;
        assert!(words(verified).starts_with("tick: 9 instructions verified"));
    }

    #[test]
    fn events_are_written_as_they_are_read() {
        let exit = ExitInfo { kind: "error_stall".into(), kind_number: 1026, ..ExitInfo::default() };
        let cpus = vec![CpuCounters { cpu: 1, counts: Map::from_iter([("local".to_owned(), 7.into())]) }];
        for event in [
            SchedulerEvent::Ended { because: EndCause::Kernel, seconds: 31.5, exit },
            SchedulerEvent::Counters { seconds: 1.0, total: Map::new(), cpus },
            SchedulerEvent::Verified(Verified { program: "tick".to_owned(), ..Verified::default() }),
        ] {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<SchedulerEvent>(&text).unwrap(), event, "{text}");
        }
    }

    #[test]
    fn an_end_has_the_kernels_words() {
        let line = r#"{"event":"ended","because":"kernel","seconds":31.5,"kind":"error_stall","kind_number":1026,"reason":"runnable task stall","message":"a[7] failed to run for 30.1s","exit_code":0,"exit_cpu":null,"dump":"CPU 0"}"#;
        let words = words(line);
        let start = "ended by the kernel after 31.5 s; the kernel says: runnable task stall (a[7] failed to run for 30.1s);";
        assert!(words.starts_with(start), "{words}");
        assert!(words.contains("own scheduler is back") && words.ends_with("\nCPU 0"), "{words}");
    }

    #[test]
    fn events_of_other_versions_are_read() {
        assert!(words(r#"{"event":"loaded","new":1}"#).starts_with("loaded"));
        let ended = r#"{"event":"ended","because":"hotplug","seconds":1.0,"kind":"error"}"#;
        let event = serde_json::from_str(ended).unwrap();
        let SchedulerEvent::Ended { because, exit, .. } = event else { panic!("{event:?}") };
        assert!(because == EndCause::Kernel && exit.is_error());
    }
}
