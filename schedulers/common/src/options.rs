//! Options that every scheduler has.

use std::path::PathBuf;
use std::time::Duration;

/// When to end, which tasks to have, and what to tell.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// End after this time, e.g. 60s or 5m; without it, when interrupted.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,
    /// Schedule only this process and what it starts from now on; everything else stays with the kernel's own scheduler.
    #[arg(long, value_name = "PID", conflicts_with = "only_cgroup")]
    pub only_pid: Option<u32>,
    /// Schedule only this cgroup, e.g. /sys/fs/cgroup/app.slice.
    #[arg(long, value_name = "PATH")]
    pub only_cgroup: Option<PathBuf>,
    /// Print the counters every N seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub stats: Option<u32>,
    /// Tell everything as JSON, one object a line.
    #[arg(long)]
    pub json: bool,
    /// Only load: say what the kernel's verifier made of each program, and end.
    #[arg(long)]
    pub verify: bool,
}

impl Options {
    /// Whether only some tasks are to be scheduled.
    pub fn is_partial(&self) -> bool {
        self.only_pid.is_some() || self.only_cgroup.is_some()
    }
}

/// Reads `60s`, `1.5s`, `20ms`, `100us`, `2m`.
///
/// # Errors
/// When the text has no unit, or the duration is 0.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(swtch_scx::parse_duration("20ms"), Ok(Duration::from_millis(20)));
/// assert!(swtch_scx::parse_duration("20").is_err() && swtch_scx::parse_duration("0s").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match swtch_units::parse_ns(text) {
        Ok(0) => Err(format!("'{text}' is 0; write 20ms, 1.5s, 250us or 5m")),
        Ok(ns) => Ok(Duration::from_nanos(ns)),
        Err(error) => Err(error.to_string()),
    }
}
