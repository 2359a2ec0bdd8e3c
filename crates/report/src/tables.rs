//! A table of a Trace as one file, CSV or Parquet, for programs that know nothing of swtch.
//!
//! The columns are those of [`swtch_trace::tables`]. States and kinds are words; a value that is unavailable is absent (Parquet) or empty
//! (CSV). Rows are streamed: memory does not grow with their number.

mod csv;
mod parquet;

use crate::export::ExportError;
use std::io::Write;
use swtch_trace::tables::{Columns, SwitchRow};
use swtch_trace::{Trace, TraceError};

/// The format of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text: a line of names, then a line a row, divided by commas and quoted as RFC 4180 says; lines end in a line feed.
    Csv,
    /// Parquet, uncompressed.
    Parquet,
}

/// Writes the table `name` of `trace` to `sink`; says how many rows it has.
///
/// # Errors
/// When there is no such table, the Trace is damaged, or `sink` does not take it.
pub fn write<W: Write + Send>(trace: &Trace, name: &str, form: Form, sink: W) -> Result<u64, ExportError> {
    if name == SwitchRow::TABLE {
        if trace.switch_rows().is_none() {
            let why = format!("{} does not see single switches", trace.header.provenance.recorder);
            return Err(ExportError::Absent { table: SwitchRow::TABLE, why });
        }
        return rows(trace.switches(), form, sink);
    }
    match name {
        "tasks" => small(&trace.tasks, form, sink),
        "cpus" => small(&trace.cpus, form, sink),
        "cgroups" => small(&trace.cgroups, form, sink),
        "wakes" => small(&trace.wakes, form, sink),
        "preemptions" => small(&trace.preemptions, form, sink),
        "interrupts" => small(&trace.interrupts, form, sink),
        "intervals" => small(&trace.intervals, form, sink),
        "histograms" => small(&trace.histograms, form, sink),
        _ => Err(ExportError::NoTable { name: name.to_owned() }),
    }
}

fn small<R: Columns, W: Write + Send>(table: &[R], form: Form, sink: W) -> Result<u64, ExportError> {
    rows(table.iter().cloned().map(Ok), form, sink)
}

fn rows<R: Columns, W: Write + Send>(
    rows: impl Iterator<Item = Result<R, TraceError>>,
    form: Form,
    sink: W,
) -> Result<u64, ExportError> {
    match form {
        Form::Csv => csv::write(rows, sink),
        Form::Parquet => parquet::write(rows, sink),
    }
}

/// What a reader of a single table should know is not in it.
pub fn left_out(trace: &Trace) -> Vec<String> {
    let lost: u64 = trace.header.lost.iter().map(|lost| lost.events).sum();
    let mut left_out = Vec::new();
    if lost > 0 {
        left_out.push(format!("{lost} events that the recorder lost"));
    }
    if trace.is_unfinished() {
        left_out.push("what came after the last flush: the recorder did not finish".to_owned());
    }
    left_out
}
