//! Arguments of the flight recorder: those of `swtch serve --keep`, and `swtch dump`.

use super::{JsonArgs, duration, size};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use swtch_record::flight::{Condition, DumpLimits, FIELDS, FlightOptions};

/// Less would hold less than a chunk of a busy machine.
const LEAST_BYTES: u64 = 16 << 20;

#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Keep all switches and wake-ups of this time in memory, 1s to 10m, and write them as a Trace on request
    #[arg(long, value_name = "TIME", value_parser = keep_time, conflicts_with = "once")]
    keep: Option<Duration>,
    #[arg(long, value_name = "CONDITION", requires = "keep", help = when_help())]
    when: Vec<Condition>,
    /// Most memory for what is kept, at least 16M; where it is too little, the time is shorter
    #[arg(long, value_name = "SIZE", requires = "keep", value_parser = keep_bytes, default_value = "256M")]
    keep_bytes: u64,
    /// Directory of the Traces [default: $STATE_DIRECTORY, or $XDG_STATE_HOME/swtch/dumps]
    #[arg(long, value_name = "DIR", requires = "keep")]
    dumps: Option<PathBuf>,
    /// Most Traces that --when writes in a time, e.g. 4/h, 1/10min
    #[arg(long, value_name = "N/TIME", requires = "keep", value_parser = rate, default_value = "4/h")]
    at_most: (usize, Duration),
    /// Most bytes of all Traces in the directory
    #[arg(long, value_name = "SIZE", requires = "keep", value_parser = size, default_value = "1G")]
    dumps_bytes: u64,
}

impl KeepArgs {
    /// What the flight recorder is to do, where one is asked for; a directory is chosen by `own` where none is named.
    pub(crate) fn options(
        &self,
        own: impl FnOnce() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Option<FlightOptions>> {
        let Some(keep) = self.keep else { return Ok(None) };
        let (most, per) = self.at_most;
        Ok(Some(FlightOptions {
            keep,
            most_bytes: self.keep_bytes,
            when: self.when.clone(),
            folder: self.dumps.clone().map_or_else(own, Ok)?,
            limits: DumpLimits { most, per, bytes: self.dumps_bytes },
        }))
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch dump                                   of the 'swtch serve --keep' of this user, or of the systemd unit\n  \
    swtch dump --dumps traces                    of the one that writes to this directory\n\n\
    The request goes through a socket in that directory: its permissions decide which users may ask.\n\
    Exit status: 0 the Trace is written, 1 it is not, 2 wrong usage.")]
pub(crate) struct DumpArgs {
    /// Directory of the Traces, as 'swtch serve --dumps' has it [default: $XDG_STATE_HOME/swtch/dumps, or /var/lib/swtch-serve]
    #[arg(long, value_name = "DIR")]
    pub(crate) dumps: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// The help of `--when`, from the table of the fields.
fn when_help() -> String {
    let lines: Vec<String> =
        FIELDS.iter().map(|field| format!("{}: {}", field.name, field.meaning)).collect();
    format!(
        "Write a Trace when this begins to hold, e.g. 'wait.p99 > 20ms'; may be given several times\nFields, of the last second:\n{}",
        lines.join("\n")
    )
}

fn keep_time(text: &str) -> Result<Duration, String> {
    let found = duration(text)?;
    let allowed = Duration::from_secs(1)..=Duration::from_secs(600);
    if allowed.contains(&found) { Ok(found) } else { Err(format!("{text} is not between 1s and 10m")) }
}

fn keep_bytes(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes >= LEAST_BYTES { Ok(bytes) } else { Err(format!("{text} is less than 16M")) }
}

fn rate(text: &str) -> Result<(usize, Duration), String> {
    let parsed = text.split_once('/').and_then(|(most, per)| {
        let per =
            if per.starts_with(|c: char| c.is_ascii_digit()) { per.to_owned() } else { format!("1{per}") };
        Some((most.parse().ok()?, swtch_units::parse_ns(&per).ok().filter(|ns| *ns > 0)?))
    });
    let (most, per_ns) =
        parsed.ok_or_else(|| format!("'{text}' is not a number in a time; write 4/h or 1/10min"))?;
    Ok((most, Duration::from_nanos(per_ns)))
}
