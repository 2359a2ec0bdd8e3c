//! `swtch dump`: asks a running `swtch serve --keep` for a Trace.

use crate::args::keep::DumpArgs;
use crate::output;
use anyhow::bail;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_profile::file;
use swtch_record::flight::{DumpAnswer, RequestError, ask};

/// The state directory of the packaged unit.
const UNIT: &str = "/var/lib/swtch-serve";

pub(crate) fn run(args: &DumpArgs) -> anyhow::Result<ExitCode> {
    let DumpAnswer { trace, seconds } = match &args.dumps {
        Some(folder) => ask(folder)?,
        None => match ask(&own_folder()?) {
            Err(own @ RequestError::NoServer { .. }) => match ask(Path::new(UNIT)) {
                Err(RequestError::NoServer { .. }) => return Err(own.into()),
                answer => answer?,
            },
            answer => answer?,
        },
    };
    if args.json.asked() {
        let document = serde_json::json!({ "schema": "swtch/dump/1", "trace": trace, "seconds": seconds });
        output::json(&args.json, &document)?;
    } else {
        output::print(&format!("{}\n", trace.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Where Traces of this user's flight recorder go: into the unit's directory for a systemd unit, or beside the Profile.
pub(crate) fn own_folder() -> anyhow::Result<PathBuf> {
    // Of several directories the first one is the unit's own (systemd.exec(5)).
    let unit =
        std::env::var("STATE_DIRECTORY").ok().and_then(|list| Some(list.split(':').next()?.to_owned()));
    if let Some(unit) = unit.filter(|unit| !unit.is_empty()) {
        return Ok(unit.into());
    }
    match file::own_path() {
        Some(profile) => Ok(profile.with_file_name("dumps")),
        None => {
            bail!("no directory for Traces: neither XDG_STATE_HOME nor HOME is set; name one with --dumps")
        }
    }
}
