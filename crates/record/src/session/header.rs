//! How the header of a recording begins.

use crate::clock::monotonic_ns;
use crate::options::Target;
use std::time::{SystemTime, UNIX_EPOCH};
use swtch_topology::Host;
use swtch_trace::SourceKind;
use swtch_trace::model::{Header, Origin, Provenance, Scope};

/// A header for a recording that begins now.
pub(super) fn begin(target: &Target, host: Host, source: SourceKind, why: String) -> Header {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let provenance = Provenance {
        origin: Origin::Recorded,
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        recorder: source.name().to_owned(),
        why,
        started_unix_ns: unix.map_or(0, |since| since.as_nanos() as u64),
        started_monotonic_ns: monotonic_ns(),
        ..Provenance::default()
    };
    let scope = match target {
        Target::Command(command) => Scope::Command {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            pid: 0,
        },
        Target::Processes(pids) => Scope::Processes { pids: pids.clone() },
        Target::Cgroup(path) => Scope::Cgroup { path: path.clone() },
        Target::Machine => Scope::Machine,
    };
    Header::new(provenance, host, scope)
}
