//! The last probe of each command, beside this machine's Profile.

use super::{Probe, SCHEMA};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use swtch_profile::file;
use swtch_topology::Host;
use swtch_trace::model::ProbedRefill;
use swtch_units::input_error::{self, Document, DocumentKind};

impl Document for Probe {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: SCHEMA,
        name: "a probe",
        written_by: "'swtch probe --json=FILE -- COMMAND'",
        again: "probe again",
    };
}

/// `$XDG_STATE_HOME/swtch/probes/PROGRAM-HASH.json`; the hash is that of the whole command.
fn path(command: &[String]) -> Option<PathBuf> {
    let name = program(command);
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    // FNV-1a, with a separator, so that ["ab"] and ["a", "b"] differ.
    let bytes = command.iter().flat_map(|word| word.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let name: String = name.chars().take(60).map(plain).collect();
    Some(file::own_path()?.with_file_name("probes").join(format!("{name}-{hash:016x}.json")))
}

/// The program's name without its directory.
fn program(command: &[String]) -> String {
    let name = command.first().and_then(|program| Path::new(program).file_name());
    name.map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// Keeps it for `swtch record`; where it is, or none where this user has no place for it.
///
/// # Errors
/// When it cannot be written.
pub fn keep(probe: &Probe) -> io::Result<Option<PathBuf>> {
    let Some(path) = path(&probe.command) else { return Ok(None) };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_vec_pretty(probe)?;
    file::replace(&path, |sink| io::Write::write_all(sink, &text)).map_err(io::Error::other)?;
    Ok(Some(path))
}

/// What a probe of this very command on a CPU of this model found for a bill. A file that cannot be read counts as none: it is only a
/// narrower bound.
pub fn kept(command: &[String], host: &Host) -> Option<ProbedRefill> {
    let probe: Probe = input_error::read(&path(command)?).ok()?;
    if probe.command != command || probe.cpu_model != host.cpu_model {
        return None;
    }
    probed(&probe)
}

/// The highest of what it found, whatever the size.
fn probed(probe: &Probe) -> Option<ProbedRefill> {
    let ends = probe.refill_ns.iter().map(|cost| cost.ci_high);
    Some(ProbedRefill {
        program: program(&probe.command),
        started_unix_s: probe.started_unix_s,
        displaced_bytes: probe.refill_ns.iter().map(|cost| cost.displaced_bytes).max()?,
        refill_high_ns: ends.reduce(f64::max)?.max(0.0),
    })
}
