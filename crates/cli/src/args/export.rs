//! Arguments of `swtch export`.

use super::JsonArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use swtch_trace::tables::TABLES;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch export run.swtch --to perfetto -o run.pftrace     to open at https://ui.perfetto.dev\n  \
    swtch export run.swtch --to parquet -o switches.parquet\n  \
    swtch export run.swtch --to csv --table tasks           to standard output\n  \
    swtch export run.swtch --to csv --table wakes -o wakes.csv --json\n  \
    swtch export run.swtch --to prometheus -o swtch.prom    totals, for node_exporter's textfile collector\n\n\
    Tables: switches, tasks, cpus, cgroups, wakes, preemptions, interrupts, intervals, histograms.\n\
    An older FILE is replaced when the new one is whole. Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct ExportArgs {
    /// The Trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Format,
    /// The table, for parquet and csv; the switches when not given
    #[arg(long, value_name = "NAME", value_parser = table)]
    pub(crate) table: Option<&'static str>,
    /// The file to write; for csv and prometheus standard output when not given, or -
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// With prometheus: price with this Profile instead of this machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tracks of CPUs and threads, for Perfetto's viewer
    Perfetto,
    /// A table with typed columns
    Parquet,
    /// A table as text
    Csv,
    /// Totals as OpenMetrics text
    Prometheus,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Prometheus => "prometheus",
        }
    }
}

fn table(text: &str) -> Result<&'static str, String> {
    let unknown = || format!("unknown table '{text}'; the tables are {}", TABLES.join(", "));
    TABLES.iter().copied().find(|name| *name == text).ok_or_else(unknown)
}
