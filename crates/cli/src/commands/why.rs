//! `swtch why`.

use crate::args::why::WhyArgs;
use crate::output;
use anyhow::bail;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_cost::{has_switches, why};
use swtch_report::why::{document, terminal};
use swtch_trace::Trace;
use swtch_trace::spans::{SpanSource, Spans};

/// The ending of the file beside a Trace that holds the spans of its command.
pub(crate) const SPANS: &str = "spans.jsonl";

pub(crate) fn run(args: &WhyArgs) -> anyhow::Result<ExitCode> {
    let trace = Trace::open(&args.trace)?;
    has_switches(&trace)?;
    let spans = match &args.spans {
        Some(spans) => spans.clone(),
        None => beside(&args.trace)?,
    };
    let source = SpanSource { log_format: args.log_format.as_ref(), program: args.program.as_deref() };
    let spans = Spans::read(&spans, source, trace.view())?;
    let why = why(&trace, &spans, args.span.as_deref(), args.slowest)?;
    if args.json.asked() {
        output::json(&args.json, &document(&why))?;
    } else {
        output::print(&terminal(&why));
    }
    Ok(ExitCode::SUCCESS)
}

/// The spans that the recorded command wrote.
fn beside(trace: &Path) -> anyhow::Result<PathBuf> {
    let path = trace.with_extension(SPANS);
    if !path.exists() {
        bail!(
            "{} has no spans: {} does not exist; name their file with --spans FILE",
            trace.display(),
            path.display()
        );
    }
    Ok(path)
}
