//! The sources of recordings: one table for help, errors, documents and reports.

use crate::model::Provenance;
use swtch_units::words;

/// What is known of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFacts {
    /// Its name in `--source`, which sources of several modes share.
    pub option: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Why its Trace has no single switches, and what to do; absent where it has them.
    pub without_switches: Option<(&'static str, &'static str)>,
    /// What `--source` says of it in the help; absent for another mode of the same option.
    pub help: Option<&'static str>,
}

words! {
    /// Where the figures of a recording come from. The names are those in `provenance.recorder`.
    pub enum SourceKind("source"): SourceFacts {
        /// BPF programs that write down every event.
        BpfEvents = "bpf-events" => SourceFacts {
            option: "bpf",
            what: "by BPF, every event",
            without_switches: None,
            help: Some("BPF programs: every switch and wake-up, or counts of them; they need privileges"),
        },
        /// BPF programs that only count.
        BpfCounts = "bpf-counts" => SourceFacts {
            option: "bpf",
            what: "by BPF, counts",
            without_switches: Some(("it has counts only, as --counts asked", "record again with --events")),
            help: None,
        },
        /// BPF programs that write down every event for a time, and then only count.
        BpfEventsThenCounts = "bpf-events-then-counts" => SourceFacts {
            option: "bpf",
            what: "by BPF, events and then counts",
            without_switches: None,
            help: None,
        },
        /// The kernel's perf events.
        Perf = "perf" => SourceFacts {
            option: "perf",
            what: "by perf events",
            without_switches: None,
            help: Some("perf events: every switch but no wake-up; for your own tasks mostly without privileges"),
        },
        /// Samples of `/proc`, without privilege.
        Procfs = "procfs" => SourceFacts {
            option: "procfs",
            what: "by samples of /proc",
            without_switches: Some((
                "it was recorded with the source procfs, which sees no single switch",
                "record again with --source bpf or --source perf (swtch doctor says what they need)",
            )),
            help: Some("samples of /proc: the kernel's counts, without privileges; no single switch or wake-up"),
        },
    }
}

impl SourceKind {
    /// The values of `--source`, and what each is.
    ///
    /// ```
    /// use swtch_trace::SourceKind;
    /// let options: Vec<&str> = SourceKind::options().map(|(option, _)| option).collect();
    /// assert_eq!(options, ["bpf", "perf", "procfs"]);
    /// ```
    pub fn options() -> impl Iterator<Item = (&'static str, &'static str)> {
        Self::ALL.into_iter().filter_map(|source| Some((source.facts().option, source.facts().help?)))
    }

    /// The source of an option's value; the mode of BPF is chosen apart.
    ///
    /// ```
    /// use swtch_trace::SourceKind;
    /// assert_eq!(SourceKind::from_option("bpf"), Some(SourceKind::BpfEvents));
    /// assert_eq!(SourceKind::from_option("magic"), None);
    /// ```
    pub fn from_option(option: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.facts().option == option)
    }

    /// Whether it samples counters: it sees no single event, so it loses none, and knows of no CPU how often it switched.
    pub fn is_sampled(self) -> bool {
        self == Self::Procfs
    }
}

impl Provenance {
    /// The source of a recording; absent for what was simulated or imported, and for sources of other versions.
    ///
    /// ```
    /// use swtch_trace::{SourceKind, model::Provenance};
    /// let by = |recorder: &str| Provenance { recorder: recorder.to_owned(), ..Provenance::default() }.source();
    /// assert_eq!((by("bpf-counts"), by("perf-script")), (Some(SourceKind::BpfCounts), None));
    /// ```
    pub fn source(&self) -> Option<SourceKind> {
        self.recorder.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_an_option_with_help() {
        for source in SourceKind::ALL {
            assert!(
                SourceKind::from_option(source.facts().option)
                    .is_some_and(|kind| kind.facts().help.is_some())
            );
        }
    }
}
