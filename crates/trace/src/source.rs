//! The sources of recordings: one table for help, errors, documents and reports.

use crate::model::Provenance;

/// Where the figures of a recording come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    /// BPF programs that write down every event.
    BpfEvents,
    /// BPF programs that only count.
    BpfCounts,
    /// BPF programs that write down every event for a time, and then only count.
    BpfEventsThenCounts,
    /// The kernel's perf events.
    Perf,
    /// Samples of `/proc`, without privilege.
    Procfs,
}

/// What is known of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// The source.
    pub kind: SourceKind,
    /// Its name in `provenance.recorder`.
    pub name: &'static str,
    /// Its name in `--source`, which sources of several modes share.
    pub option: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Why its Trace has no single switches, and what to do; absent where it has them.
    pub without_switches: Option<(&'static str, &'static str)>,
    /// What `--source` says of it in the help; absent for another mode of the same option.
    pub help: Option<&'static str>,
}

const SOURCES: [SourceInfo; 5] = [
    SourceInfo {
        kind: SourceKind::BpfEvents,
        name: "bpf-events",
        option: "bpf",
        what: "by BPF, every event",
        without_switches: None,
        help: Some("BPF programs: every switch and wake-up, or counts of them; they need privileges"),
    },
    SourceInfo {
        kind: SourceKind::BpfCounts,
        name: "bpf-counts",
        option: "bpf",
        what: "by BPF, counts",
        without_switches: Some(("it has counts only, as --counts asked", "record again with --events")),
        help: None,
    },
    SourceInfo {
        kind: SourceKind::BpfEventsThenCounts,
        name: "bpf-events-then-counts",
        option: "bpf",
        what: "by BPF, events and then counts",
        without_switches: None,
        help: None,
    },
    SourceInfo {
        kind: SourceKind::Perf,
        name: "perf",
        option: "perf",
        what: "by perf events",
        without_switches: None,
        help: Some("perf events: every switch but no wake-up; for your own tasks mostly without privileges"),
    },
    SourceInfo {
        kind: SourceKind::Procfs,
        name: "procfs",
        option: "procfs",
        what: "by samples of /proc",
        without_switches: Some((
            "it was recorded with the source procfs, which sees no single switch",
            "record again with --source bpf or --source perf (swtch doctor says what they need)",
        )),
        help: Some("samples of /proc: the kernel's counts, without privileges; no single switch or wake-up"),
    },
];

impl SourceKind {
    /// The values of `--source`, and what each is.
    ///
    /// ```
    /// use swtch_trace::SourceKind;
    /// let options: Vec<&str> = SourceKind::options().map(|(option, _)| option).collect();
    /// assert_eq!(options, ["bpf", "perf", "procfs"]);
    /// ```
    pub fn options() -> impl Iterator<Item = (&'static str, &'static str)> {
        SOURCES.iter().filter_map(|info| Some((info.option, info.help?)))
    }

    /// What is known of it.
    pub fn info(self) -> &'static SourceInfo {
        &SOURCES[self as usize]
    }

    /// The source of an option's value; the mode of BPF is chosen apart.
    ///
    /// ```
    /// use swtch_trace::SourceKind;
    /// assert_eq!(SourceKind::from_option("bpf"), Some(SourceKind::BpfEvents));
    /// assert_eq!(SourceKind::from_option("magic"), None);
    /// ```
    pub fn from_option(option: &str) -> Option<Self> {
        SOURCES.iter().find(|info| info.option == option).map(|info| info.kind)
    }

    /// The source of a recorder's name in a document; absent for simulators, imported files and sources of other versions.
    ///
    /// ```
    /// use swtch_trace::SourceKind;
    /// assert_eq!(SourceKind::from_name("bpf-counts"), Some(SourceKind::BpfCounts));
    /// assert_eq!(SourceKind::from_name("perf-script"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        SOURCES.iter().find(|info| info.name == name).map(|info| info.kind)
    }

    /// Whether it samples counters: it sees no single event, so it loses none, and knows of no CPU how often it switched.
    pub fn is_sampled(self) -> bool {
        self == Self::Procfs
    }
}

impl Provenance {
    /// The source of a recording; absent for what was simulated or imported.
    pub fn source(&self) -> Option<SourceKind> {
        SourceKind::from_name(&self.recorder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_is_in_its_place_and_has_a_name_of_its_own() {
        for (index, info) in SOURCES.iter().enumerate() {
            assert_eq!(info.kind as usize, index);
            assert_eq!(SourceKind::from_name(info.name), Some(info.kind));
            assert!(SourceKind::from_option(info.option).is_some_and(|kind| kind.info().help.is_some()));
        }
    }
}
