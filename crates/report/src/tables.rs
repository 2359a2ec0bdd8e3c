//! A table of a Trace as one file, CSV or Parquet, for programs that know nothing of swtch.
//!
//! The columns are those of [`swtch_trace::tables`]. States and kinds are words; a value that is unavailable is absent (Parquet) or empty
//! (CSV). Rows are streamed: memory does not grow with their number.

mod csv;

use crate::export::{ExportError, ExportOptions, Exported, Exporter, SendWrite};
use crate::recording::windows;
use std::collections::BTreeMap;
use std::io::Write;
use swtch_columns::{Encoder, GROUP_ROWS, Layout};
use swtch_trace::model::Sampled;
use swtch_trace::tables::{Columns, SwitchRow, Visitor};
use swtch_trace::{Trace, TraceError};

/// The key under which a Parquet file names the columns that are estimates from windows of time. Its JSON says how they were sampled, as in
/// the Trace's header.
pub const SAMPLED_KEY: &str = "swtch.sampled";

/// The format of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text: a line of names, then a line a row, divided by commas and quoted as RFC 4180 says; lines end in a line feed.
    Csv,
    /// Parquet, uncompressed, with types that any reader takes: 64-bit integers, booleans, UTF-8.
    Parquet,
}

/// Hands the rows of the table `name` to `visitor`.
///
/// # Errors
/// When there is no such table.
pub fn visit<V: Visitor>(trace: &Trace, name: &str, visitor: V) -> Result<V::Output, ExportError> {
    if name != SwitchRow::TABLE {
        let small = trace.tables.visit(name, visitor);
        return small.ok_or_else(|| ExportError::NoTable { name: name.to_owned() });
    }
    if trace.switch_rows().is_none() {
        let why = format!("{} does not see single switches", trace.header.provenance.recorder);
        return Err(ExportError::Absent { table: SwitchRow::TABLE, why });
    }
    Ok(visitor.visit(trace.switches()))
}

/// The row of the table of formats.
pub(crate) const PARQUET: Exporter = Exporter {
    name: "parquet",
    about: "A table with typed columns",
    is_text: false,
    has_table: true,
    has_weight: false,
    has_prices: false,
    has_spans: false,
    write: |trace, options, sink| export(trace, options, Form::Parquet, sink),
};

/// The row of the table of formats.
pub(crate) const CSV: Exporter = Exporter {
    name: "csv",
    about: "A table as text",
    is_text: true,
    has_table: true,
    has_weight: false,
    has_prices: false,
    has_spans: false,
    write: |trace, options, sink| export(trace, options, Form::Csv, sink),
};

fn export(
    trace: &Trace,
    options: &ExportOptions<'_>,
    form: Form,
    sink: &mut SendWrite<'_>,
) -> Result<Exported, ExportError> {
    let table = options.table.unwrap_or(SwitchRow::TABLE);
    let rows = write(trace, table, form, &mut *sink)?;
    sink.flush()?;
    let figures = [("table", table.into()), ("rows", rows.into())];
    let mut notices = left_out(trace);
    if sampled_columns(trace, table).is_some() {
        notices.extend(
            windows(&trace.header)
                .map(|of| format!("exact values of the columns that are estimates from {of}")),
        );
    }
    Ok(Exported::new(format!("{rows} rows of the table {table}"), figures, notices))
}

/// Writes the table `name` of `trace` to `sink`; says how many rows it has.
///
/// # Errors
/// When there is no such table, the Trace is damaged, or `sink` does not take it.
pub fn write<W: Write + Send>(trace: &Trace, name: &str, form: Form, sink: W) -> Result<u64, ExportError> {
    visit(trace, name, TableWriter { form, sink, sampled: sampled_columns(trace, name) })?
}

/// Writes rows of a table that belongs to no Trace.
pub(crate) fn write_rows<R: Columns, W: Write + Send>(
    rows: impl Iterator<Item = R>,
    form: Form,
    sink: W,
) -> Result<u64, ExportError> {
    TableWriter { form, sink, sampled: None }.visit(rows.map(Ok))
}

/// The columns of a table that are sampled, as JSON; nothing where none is.
fn sampled_columns(trace: &Trace, table: &str) -> Option<String> {
    let of_table = |name: &str| name.split('.').next() == Some(table);
    let columns: BTreeMap<&String, &Sampled> =
        trace.header.sampled.iter().filter(|(name, _)| of_table(name)).collect();
    (!columns.is_empty()).then(|| serde_json::json!(columns).to_string())
}

/// Writes a file of that form to the sink.
struct TableWriter<W> {
    form: Form,
    sink: W,
    sampled: Option<String>,
}

impl<W: Write + Send> Visitor for TableWriter<W> {
    type Output = Result<u64, ExportError>;

    fn visit<R: Columns>(self, rows: impl Iterator<Item = Result<R, TraceError>>) -> Self::Output {
        match self.form {
            Form::Csv => csv::write(rows, self.sink),
            Form::Parquet => parquet(rows, self.sink, self.sampled.as_deref()),
        }
    }
}

fn parquet<R: Columns, W: Write + Send>(
    mut rows: impl Iterator<Item = Result<R, TraceError>>,
    sink: W,
    sampled: Option<&str>,
) -> Result<u64, ExportError> {
    let note = sampled.map(|text| (SAMPLED_KEY, text));
    let mut encoder = Encoder::new(R::columns(), sink, Layout { wide: true, note })?;
    let mut count = 0;
    loop {
        let group = rows.by_ref().take(GROUP_ROWS).collect::<Result<Vec<R>, _>>()?;
        if group.is_empty() {
            break;
        }
        count += group.len() as u64;
        encoder.group(&group)?;
    }
    encoder.finish()?;
    Ok(count)
}

/// What a reader of a single table should know is not in it.
pub fn left_out(trace: &Trace) -> Vec<String> {
    let unfinished = "what came after the last flush: the recorder did not finish";
    lost(trace).into_iter().chain(trace.is_unfinished().then(|| unfinished.to_owned())).collect()
}

/// The events that no format has.
pub(crate) fn lost(trace: &Trace) -> Option<String> {
    let lost = trace.header.lost_events();
    (lost > 0).then(|| format!("{lost} events that the recorder lost"))
}
