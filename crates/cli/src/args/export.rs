//! Arguments of `swtch export`.

use super::JsonArgs;
use super::why::SpanArgs;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use swtch_report::EXPORTERS;
use swtch_report::export::Exporter;
use swtch_report::stack_weight::StackWeight;
use swtch_trace::tables::TABLES;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch export run.swtch --to perfetto -o run.pftrace     to open at https://ui.perfetto.dev\n  \
    swtch export shop.swtch --to perfetto --spans spans.jsonl -o shop.pftrace\n  \
    swtch export run.swtch --to parquet -o switches.parquet\n  \
    swtch export run.swtch --to csv --table tasks           to standard output\n  \
    swtch export run.swtch --to csv --table wakes -o wakes.csv --json\n  \
    swtch export run.swtch --to folded --weight switches    stacks, for flamegraph.pl and others\n  \
    swtch export run.swtch --to prometheus -o swtch.prom    totals, for node_exporter\n\n\
    FILE is replaced only when the export is complete. Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct ExportArgs {
    /// The Trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) to: &'static Exporter,
    /// The table, for formats of one table [default: switches]
    #[arg(long, value_name = "NAME", value_parser = tables())]
    pub(crate) table: Option<&'static str>,
    /// What stacks are weighed by, for formats of one weight [default: off-cpu]
    #[arg(long, value_name = "WEIGHT", value_parser = weights())]
    pub(crate) weight: Option<StackWeight>,
    /// The file to write; - is standard output, the default of text formats
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) spans: SpanArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Price with this Profile instead of this machine's, for formats with prices
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
}

fn formats() -> impl TypedValueParser<Value = &'static Exporter> {
    let values = EXPORTERS.iter().map(|exporter| PossibleValue::new(exporter.name).help(exporter.about));
    PossibleValuesParser::new(values).try_map(|name| Exporter::named(&name).ok_or("not a format"))
}

fn weights() -> impl TypedValueParser<Value = StackWeight> {
    let values = StackWeight::ALL.map(|weight| PossibleValue::new(weight.name()).help(weight.meaning()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<StackWeight>())
}

fn tables() -> impl TypedValueParser<Value = &'static str> {
    let named = |name: String| TABLES.iter().copied().find(|table| *table == name).ok_or("not a table");
    PossibleValuesParser::new(TABLES).try_map(named)
}
