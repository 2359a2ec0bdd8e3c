//! `swtch schema`.

use crate::args::{SchemaArgs, SchemaOf};
use crate::output;
use std::process::ExitCode;

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<ExitCode> {
    let schema = match args.of {
        SchemaOf::Profile => swtch_profile::json_schema(),
        SchemaOf::Compare => swtch_decide::compare::json_schema(),
        SchemaOf::Check => swtch_decide::check::json_schema(),
        SchemaOf::Probe => swtch_decide::probe_schema(),
        SchemaOf::Try => swtch_decide::remedies::json_schema(),
        SchemaOf::Trace => swtch_trace::json_schema(),
        SchemaOf::Accuracy => swtch_decide::accuracy_schema(),
        SchemaOf::Diff => swtch_decide::diff_schema(),
    };
    output::print(&(serde_json::to_string_pretty(&schema)? + "\n"));
    Ok(ExitCode::SUCCESS)
}
