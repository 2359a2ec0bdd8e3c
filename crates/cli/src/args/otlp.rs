//! Where `swtch serve` sends its metrics by OTLP.

use super::duration;
use clap::Args;
use std::time::Duration;

/// Stands for an address that the environment has.
pub(crate) const ENVIRONMENT: &str = "env";

#[derive(Debug, Args)]
#[command(next_help_heading = "To an OpenTelemetry collector")]
pub(crate) struct OtlpArgs {
    /// Send the metrics there too, by OTLP over HTTP (/v1/metrics where no path is given); 'env' takes address, headers and attributes from the variables OTEL_EXPORTER_OTLP_* and OTEL_RESOURCE_ATTRIBUTES
    #[arg(long, value_name = "URL", conflicts_with_all = ["once", "dashboard"])]
    pub(crate) otlp: Option<String>,
    /// Send this often, 1s to 1h
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = interval, requires = "otlp")]
    pub(crate) otlp_interval: Duration,
    /// A header of each message; may be given several times. Others can read a command line: what is secret belongs into OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "otlp")]
    pub(crate) otlp_header: Vec<(String, String)>,
    /// An attribute of the machine, such as deployment.environment.name=test; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "otlp")]
    pub(crate) otlp_attribute: Vec<(String, String)>,
    /// Processes with series of their own; only OTLP has them
    #[arg(long, value_name = "N", default_value_t = 25, requires = "otlp")]
    pub(crate) max_processes: usize,
}

fn interval(text: &str) -> Result<Duration, String> {
    let found = duration(text)?;
    let allowed = Duration::from_secs(1)..=Duration::from_secs(3600);
    if allowed.contains(&found) { Ok(found) } else { Err(format!("{text} is not between 1s and 1h")) }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let found = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = found.ok_or_else(|| format!("'{text}' is not NAME=VALUE"))?;
    let plain = |text: &str| text.chars().all(|c| !c.is_control());
    if !plain(name) || !plain(value) {
        return Err("a name or value has a control character".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}
