//! Writes rows as a Parquet file.

use super::{Column, Columns, GROUP_ROWS, SIGNATURE_KEY, schema, signature};
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::io::{self, Write};
use std::sync::Arc;

/// Writes `rows` to `sink`, in row groups of [`GROUP_ROWS`].
///
/// # Errors
/// When `sink` does not take it (a full disk; the error's kind is then the system's), or a text is too long.
pub(crate) fn encode<R: Columns, W: Write + Send>(rows: &[R], sink: W) -> io::Result<()> {
    encode_with(&R::columns(), rows, sink).map_err(|error| match error {
        // The system's error, not parquet's wrapping of it: callers ask whether the disk is full.
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    })
}

/// The same with the columns named, which may be those of an earlier version.
pub(super) fn encode_with<R: Columns, W: Write + Send>(
    columns: &[Box<dyn Column<R>>],
    rows: &[R],
    sink: W,
) -> Result<(), ParquetError> {
    let schema = Arc::new(schema(columns)?);
    let mut writer = SerializedFileWriter::new(sink, schema, Arc::new(properties(columns)))?;
    for rows in rows.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for column in columns {
            let mut writer = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
            column.write(rows, &mut writer)?;
            writer.close()?;
        }
        group.close()?;
    }
    writer.close().map(drop)
}

/// No compression: times as packed differences and everything else by dictionary are about as small, and are read at once.
fn properties<R: Columns>(columns: &[Box<dyn Column<R>>]) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by("swtch".to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(SIGNATURE_KEY.to_owned(), signature(columns))]))
        // The smallest and largest value of a row group let readers skip it; those of every page only cost space.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in columns {
        let path = ColumnPath::from(column.name());
        if !matches!(column.physical(), PhysicalType::INT32 | PhysicalType::INT64) {
            continue;
        }
        // A time has hardly a value twice. Other numbers fall back to packed differences when a dictionary grows too large.
        if column.name().ends_with("_ns") {
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        builder = builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}
