//! Arguments of `swtch serve`.

use super::keep::KeepArgs;
use super::otlp::OtlpArgs;
use super::record::{source_but, source_help};
use super::{SAMPLE, duration, part};
use clap::Args;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use swtch_report::prometheus::Limits;
use swtch_trace::SourceKind;

const LIMITS: Limits = Limits::DEFAULT;

/// Outside of what Prometheus's list gives to exporters (9100 to 9999), which is given away to the last.
pub(crate) const ADDRESS: &str = "127.0.0.1:17982";

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch serve                                  at http://127.0.0.1:17982/metrics, until Ctrl-C\n  \
    swtch serve --listen 0.0.0.0:17982           for other machines; anyone who connects can read it\n  \
    swtch serve --listen 0.0.0.0:17982 --web-config web.yml  by TLS, with passwords\n  \
    swtch serve --once                           one second, to standard output\n  \
    swtch serve --dashboard > swtch-grafana.json  to import into Grafana\n  \
    swtch serve --keep 60s --when 'wait.p99 > 20ms'  also a Trace of the last minute when tasks waited long\n  \
    swtch serve --otlp http://127.0.0.1:4318     also to an OpenTelemetry collector\n\n\
    With --keep, SIGUSR1 and 'swtch dump' also write a Trace.\n\
    Pages: /metrics (OpenMetrics), /healthz. docs/metrics.md says what each metric means.\n\
    Exit status: 0 stopped by Ctrl-C or a termination signal, 1 failed, 2 wrong usage.")]
pub(crate) struct ServeArgs {
    /// Address and port; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = ADDRESS, value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// TLS, passwords and certificates of clients, by the web configuration file of Prometheus's exporters; it is read again when it changes
    #[arg(long, value_name = "FILE", conflicts_with = "once")]
    pub(crate) web_config: Option<PathBuf>,
    /// Take a snapshot at least this often, 1s to 1m; a scrape takes a new one unless the last is less than a second old
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Share of the time in which every switch is seen, in short windows at random places. Waits, slices and costs come from the windows; the other sums are exact without them. 100% sees every switch, 0 sees none
    #[arg(long, value_name = "SHARE", value_parser = part, default_value = SAMPLE)]
    pub(crate) sample: f64,
    #[arg(long, value_name = "SOURCE", value_parser = source, help = source_help(&NO_SOURCES))]
    pub(crate) source: Option<SourceKind>,
    /// Cgroups with series of their own, up to 13 each; the others are summed as 'other'
    #[arg(long, value_name = "N", default_value_t = LIMITS.cgroups)]
    pub(crate) max_cgroups: usize,
    /// Interrupt lines with series of their own; the others are summed as 'other'
    #[arg(long, value_name = "N", default_value_t = LIMITS.irqs)]
    pub(crate) max_irqs: usize,
    /// Price with this Profile instead of this machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Do not estimate costs from a Profile
    #[arg(long, conflicts_with = "profile")]
    pub(crate) no_profile: bool,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Watch for one second, print the metrics to standard output, and exit
    #[arg(long, conflicts_with = "listen")]
    pub(crate) once: bool,
    /// Print a Grafana dashboard and exit
    #[arg(long, conflicts_with_all = ["once", "listen", "source", "profile", "no_profile", "json"])]
    pub(crate) dashboard: bool,
    /// Print the address as JSON
    #[arg(long, conflicts_with = "once")]
    pub(crate) json: bool,
    // Last, for its options have a heading of their own.
    #[command(flatten)]
    pub(crate) otlp: OtlpArgs,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let wrong = || format!("'{text}' is not an address with a port; write 127.0.0.1:17982 or [::1]:17982");
    text.to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(wrong)
}

fn interval(text: &str) -> Result<Duration, String> {
    let found = duration(text)?;
    let allowed = Duration::from_secs(1)..=Duration::from_secs(60);
    if allowed.contains(&found) { Ok(found) } else { Err(format!("{text} is not between 1s and 1m")) }
}

/// Perf events would be read one by one, for days.
const NO_SOURCES: [SourceKind; 1] = [SourceKind::Perf];

fn source(text: &str) -> Result<SourceKind, String> {
    source_but(text, &NO_SOURCES)
}
