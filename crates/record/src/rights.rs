//! Capabilities that are given up once the source is attached, and those that the rest of a recording needs.

use crate::options::{Options, Target};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
};
use swtch_trace::SourceKind;
use swtch_trace::model::{Field, Header};

const DROPPED: Field = Field::new("dropped capabilities");
/// From Linux 5.19 on, bpf(2) asks for capabilities only to make maps and load programs (kernel/bpf/syscall.c, `__sys_bpf`).
const MAPS_NEED_NO_CAPABILITY: (u32, u32) = (5, 19);

/// Gives up all capabilities of this thread that are not in `kept`, for itself and for what it starts. A capability that cannot be given up is
/// data in the header.
pub(crate) fn keep_only(kept: CapabilitySet, header: &mut Header) {
    if let Err(error) = drop_all_but(kept)
        && !header.lacks(&DROPPED)
    {
        header.miss(DROPPED, format!("capset: {error}; let the sandbox permit capset"));
    }
}

/// The same for a thread without a header.
pub(crate) fn drop_all_but(kept: CapabilitySet) -> rustix::io::Result<()> {
    let now = capabilities(None)?;
    let permitted = now.permitted & kept;
    let sets =
        CapabilitySets { effective: now.effective & kept, permitted, inheritable: CapabilitySet::empty() };
    if now != sets {
        set_capabilities(None, sets)?;
    }
    // What is not inheritable cannot be ambient (capabilities(7)), so this can only fail where there is no such set.
    let _ = clear_ambient_capability_set();
    Ok(())
}

/// What a watch of that source needs.
pub(crate) fn of_watch(source: SourceKind, header: &Header) -> CapabilitySet {
    let mut kept = CapabilitySet::empty();
    match source {
        // Events of tasks that begin later are opened later.
        SourceKind::Perf => kept |= observing(CapabilitySet::PERFMON) | CapabilitySet::IPC_LOCK,
        SourceKind::BpfEvents | SourceKind::BpfCounts | SourceKind::BpfEventsThenCounts
            if release(header) < MAPS_NEED_NO_CAPABILITY =>
        {
            kept |= observing(CapabilitySet::BPF);
        }
        _ => {}
    }
    if hides_processes(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()) {
        kept |= CapabilitySet::SYS_PTRACE;
    }
    kept
}

/// What a recording of that source needs.
pub(crate) fn of_recording(options: &Options, source: SourceKind, header: &Header) -> CapabilitySet {
    // The Trace is written, and the Profile read, where the caller could.
    let mut kept = of_watch(source, header) | FILES;
    if matches!(source, SourceKind::BpfEvents | SourceKind::BpfEventsThenCounts)
        && options.events_for.is_some()
    {
        // The programs that count are loaded when events have been kept for long enough.
        kept |= observing(CapabilitySet::BPF | CapabilitySet::PERFMON);
    }
    if let Target::Command(_) = options.target {
        // Signals are passed on to it, although it may run as another user by then.
        kept |= CapabilitySet::KILL;
    }
    if options.stacks.is_some() {
        // Mappings and code of other processes are read when their stacks come; the addresses of the kernel's functions, when they are named.
        kept |= MEMORY_MAPS | CapabilitySet::SYSLOG;
        if release(header) < MAPS_NEED_NO_CAPABILITY {
            kept |= observing(CapabilitySet::BPF);
        }
    }
    if options.measures_later {
        kept |= CapabilitySet::SYS_NICE | CapabilitySet::IPC_LOCK;
    }
    kept
}

/// Files of other users.
const FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

/// What it takes to read the memory maps of other processes.
pub(crate) const MEMORY_MAPS: CapabilitySet = FILES.union(CapabilitySet::SYS_PTRACE);

/// These, or before Linux 5.8 the one that had all of it.
fn observing(these: CapabilitySet) -> CapabilitySet {
    let held = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
    if held.contains(these) { these } else { CapabilitySet::SYS_ADMIN }
}

/// The kernel's major and minor version; the latest where the release says none.
fn release(header: &Header) -> (u32, u32) {
    let mut numbers = header.host.kernel.release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => (u32::MAX, 0),
    }
}

/// Whether `/proc` is mounted so that processes of others are not seen (proc(5), hidepid).
fn hides_processes(mounts: &str) -> bool {
    let options = |line: &str| line.split_once(" - proc ").map(|(_, rest)| rest.to_owned());
    let hidden =
        |option: &str| option.strip_prefix("hidepid=").is_some_and(|how| !matches!(how, "0" | "off"));
    mounts.lines().filter_map(options).any(|options| options.split([',', ' ']).any(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_trace::model::{Provenance, Scope};

    #[test]
    fn a_proc_that_hides_processes_is_found() {
        for (options, hides) in [
            ("rw", false),
            ("rw,hidepid=invisible", true),
            ("rw,gid=3,hidepid=2", true),
            ("rw,hidepid=off", false),
        ] {
            let line = format!("21 26 0:20 / /proc rw,nosuid - proc proc {options}\n");
            assert_eq!(hides_processes(&line), hides, "{line}");
        }
        assert!(!hides_processes("21 26 0:20 / /x rw - ext4 /dev/vda rw,hidepid=2\n"));
    }

    #[test]
    fn what_is_opened_later_decides_what_is_kept() {
        let at = |release: &str| {
            let mut host = swtch_topology::Host::default();
            host.kernel.release = release.to_owned();
            Header::new(Provenance::default(), host, Scope::Machine)
        };
        let new = at("6.18.44-x");
        assert_eq!(of_watch(SourceKind::BpfCounts, &new) - CapabilitySet::SYS_PTRACE, CapabilitySet::empty());
        assert!(
            !of_watch(SourceKind::BpfCounts, &at("5.15.0-9-generic")).is_empty(),
            "maps are asked for with bpf(2)"
        );
        assert!(!of_watch(SourceKind::Perf, &new).is_empty());
        let mut options = Options::new(Target::Machine, std::path::PathBuf::new());
        let kept = |options: &Options| {
            of_recording(options, SourceKind::BpfEvents, &new) - CapabilitySet::SYS_PTRACE
        };
        assert_eq!(kept(&options), FILES);
        options.events_for = Some(std::time::Duration::from_secs(60));
        assert!(kept(&options) != FILES, "counting programs are loaded after a minute");
        options.events_for = None;
        options.target = Target::Command(vec!["true".into()]);
        assert_eq!(kept(&options), FILES | CapabilitySet::KILL);
    }
}
