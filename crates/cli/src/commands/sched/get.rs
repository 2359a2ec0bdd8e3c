//! `swtch sched get`.

use super::usage;
use crate::args::sched_get::GetArgs;
use crate::output;
use std::process::ExitCode;
use swtch_sched::{Gotten, get, registry_table};

pub(super) fn run(args: &GetArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        output::print(&registry_table());
        return Ok(ExitCode::SUCCESS);
    }
    let gotten = get(&args.names).map_err(usage)?;
    if args.json.asked() {
        output::json(&args.json, &gotten)?;
        return Ok(ExitCode::SUCCESS);
    }
    for Gotten { name, version, path, was_there } in &gotten {
        let how = if *was_there { "was there already" } else { "is installed" };
        output::print(&format!("{name} {version} {how}: {}\n", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
