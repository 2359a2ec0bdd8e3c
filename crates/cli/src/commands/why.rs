//! `swtch why`.

use crate::args::why::WhyArgs;
use crate::output;
use anyhow::Context;
use std::process::ExitCode;
use swtch_cost::{has_switches, why};
use swtch_report::why::{document, terminal};
use swtch_trace::Trace;
use swtch_trace::spans::{Spans, beside};

pub(crate) fn run(args: &WhyArgs) -> anyhow::Result<ExitCode> {
    let trace = Trace::open(&args.trace)?;
    has_switches(&trace)?;
    let spans = args.spans.file(&args.trace).with_context(|| {
        let (trace, path) = (args.trace.display(), beside(&args.trace));
        format!("{trace} has no spans: {} does not exist; name their file with --spans FILE", path.display())
    })?;
    let spans = Spans::read(&spans, args.spans.source(), trace.view())?;
    let why = why(&trace, &spans, args.span.as_deref(), args.spans.slowest)?;
    if args.json.asked() {
        output::json(&args.json, &document(&why))?;
    } else {
        output::print(&terminal(&why));
    }
    Ok(ExitCode::SUCCESS)
}
