//! Arguments of `swtch why`.

use super::{JsonArgs, share};
use clap::Args;
use std::path::{Path, PathBuf};
use swtch_trace::spans::{LogFormat, SpanSource, beside};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch why shop.swtch                              spans that 'swtch record -- COMMAND' found in its command\n  \
    swtch why shop.swtch --spans spans.jsonl --span checkout --slowest 5%\n  \
    swtch why machine.swtch --spans traces.json       OpenTelemetry's spans\n  \
    swtch why machine.swtch --spans access.log --log-format '\"$request\" $msec $request_time $pid'\n\n\
    Spans are requests, or any other work with a beginning and an end. These files hold them:\n  \
    lines of the workload contract: 'with swtch.span(\"checkout\"):' in Python;\n  \
    OTLP/JSON, as the file exporter of an OpenTelemetry collector writes it;\n  \
    the access log of nginx or Apache, with --log-format.\n\
    The Trace needs single switches: record with --events.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct WhyArgs {
    /// The Trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) spans: SpanArgs,
    /// Explain the spans of this name [default: those whose slow ones took most time]
    #[arg(long, value_name = "NAME")]
    pub(crate) span: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Where spans are, how they are read, and which are slow.
#[derive(Debug, Args)]
pub(crate) struct SpanArgs {
    /// The file of the spans [default: NAME.spans.jsonl beside the Trace NAME.swtch]
    #[arg(long, value_name = "FILE")]
    pub(crate) spans: Option<PathBuf>,
    /// The share of the spans that counts as slow
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = slow_share)]
    pub(crate) slowest: f64,
    /// The spans are an access log of this format: nginx's log_format, or Apache's LogFormat
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// The program that worked on spans that name neither thread nor process
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
}

impl SpanArgs {
    /// How the file is read.
    pub(crate) fn source(&self) -> SpanSource<'_> {
        SpanSource { log_format: self.log_format.as_ref(), program: self.program.as_deref() }
    }

    /// The file that was named, else the one beside the Trace, if there is one.
    pub(crate) fn file(&self, trace: &Path) -> Option<PathBuf> {
        self.spans.clone().or_else(|| Some(beside(trace)).filter(|path| path.exists()))
    }
}

fn slow_share(text: &str) -> Result<f64, String> {
    let share = share(text)?;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err("must be above 0 and below 100%".to_owned()) }
}
