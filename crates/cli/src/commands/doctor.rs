//! `swtch doctor`.

use crate::args::DoctorArgs;
use crate::output;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use swtch_report::terminal;
use swtch_topology::Host;
use swtch_topology::capability::judge;

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let host = Host::read(Path::new("/"))?;
    let probes = swtch_measure::probe();
    let rows = judge(&host, &probes);
    if args.json.asked() {
        let document = serde_json::json!({
            "schema": "swtch/doctor/1",
            "host": host,
            "probes": probes,
            "capabilities": rows,
        });
        output::json(&args.json, &document)?;
    } else {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        output::print(&terminal::capabilities(&host, &rows, colour));
    }
    Ok(ExitCode::SUCCESS)
}
