//! Writes rows as a Parquet file.

use super::{About, Column, Columns, GROUP_ROWS, SIGNATURE_KEY, signature};
use parquet::basic::{ConvertedType, Encoding, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io::{self, Write};
use std::sync::Arc;

/// How a file is written, beyond what its table says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout<'a> {
    /// Numbers of 32 bits as such of 64, for programs that know nothing of the table. Such a file is not read back.
    pub wide: bool,
    /// A key and a text in the file; see [`note`](crate::note).
    pub note: Option<(&'a str, &'a str)>,
}

/// Writes `rows` to `sink`, in row groups of [`GROUP_ROWS`].
///
/// # Errors
/// When `sink` does not take it (a full disk; the error's kind is then the system's), or a text is too long.
pub fn encode<R: Columns>(rows: &[R], sink: impl Write + Send) -> io::Result<()> {
    encode_columns(R::columns(), rows, sink, Layout::default())
}

/// The same with the columns named, which may be those of an earlier version, and with a layout.
///
/// # Errors
/// As [`encode`].
pub fn encode_columns<R: Columns>(
    columns: Vec<Box<dyn Column<R>>>,
    rows: &[R],
    sink: impl Write + Send,
    layout: Layout<'_>,
) -> io::Result<()> {
    let mut encoder = Encoder::new(columns, sink, layout)?;
    for rows in rows.chunks(GROUP_ROWS) {
        encoder.group(rows)?;
    }
    encoder.finish()
}

/// Where a file goes. One type for all, so that the parquet crate is compiled for it once.
type Sink<'s> = Box<dyn Write + Send + 's>;

/// A file that is being written, a row group at a time.
pub struct Encoder<'s, R> {
    writer: SerializedFileWriter<Sink<'s>>,
    columns: Vec<Box<dyn Column<R>>>,
    wide: bool,
}

impl<'s, R: Columns> Encoder<'s, R> {
    /// Begins a file.
    ///
    /// # Errors
    /// When `sink` does not take it.
    pub fn new(
        columns: Vec<Box<dyn Column<R>>>,
        sink: impl Write + Send + 's,
        layout: Layout<'_>,
    ) -> io::Result<Self> {
        let about: Vec<&About> = columns.iter().map(|column| column.about()).collect();
        let signature = (!layout.wide).then(|| signature(R::FORMATS[0], &columns));
        let writer = begin(R::TABLE, &about, Box::new(sink), layout, signature).map_err(system_error)?;
        Ok(Self { writer, columns, wide: layout.wide })
    }

    /// Writes the rows of a group: some, and at most [`GROUP_ROWS`].
    ///
    /// # Errors
    /// When the sink does not take it, or a text is too long.
    pub fn group(&mut self, rows: &[R]) -> io::Result<()> {
        self.write(rows).map_err(system_error)
    }

    fn write(&mut self, rows: &[R]) -> Result<(), ParquetError> {
        let wide = self.wide;
        let mut group = next_group(&mut self.writer)?;
        for column in &self.columns {
            next_column(&mut group, &mut |writer| column.write(rows, wide, writer))?;
        }
        end_group(group)
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// When the sink does not take it.
    pub fn finish(self) -> io::Result<()> {
        end(self.writer)
    }
}

fn begin<'s>(
    table: &str,
    about: &[&About],
    sink: Sink<'s>,
    layout: Layout<'_>,
    signature: Option<String>,
) -> Result<SerializedFileWriter<Sink<'s>>, ParquetError> {
    let schema = schema(table, about, layout.wide)?;
    SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties(about, layout, signature)))
}

fn next_group<'w, 's>(
    writer: &'w mut SerializedFileWriter<Sink<'s>>,
) -> Result<SerializedRowGroupWriter<'w, Sink<'s>>, ParquetError> {
    writer.next_row_group()
}

/// Writes the next column by `write`.
fn next_column(
    group: &mut SerializedRowGroupWriter<'_, Sink<'_>>,
    write: &mut dyn FnMut(&mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let mut writer = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    write(&mut writer)?;
    writer.close()
}

fn end_group(group: SerializedRowGroupWriter<'_, Sink<'_>>) -> Result<(), ParquetError> {
    group.close().map(drop)
}

fn end(writer: SerializedFileWriter<Sink<'_>>) -> io::Result<()> {
    writer.close().map(drop).map_err(system_error)
}

/// The system's error, not parquet's wrapping of it: callers ask whether the disk is full.
fn system_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}

/// The Parquet schema of a table with these columns.
pub(crate) fn schema(table: &str, columns: &[&About], wide: bool) -> Result<Type, ParquetError> {
    let field = |about: &About| {
        let text = about.physical == PhysicalType::BYTE_ARRAY;
        let is_wide = wide && about.physical == PhysicalType::INT32;
        Type::primitive_type_builder(about.name, if is_wide { PhysicalType::INT64 } else { about.physical })
            .with_converted_type(if text { ConvertedType::UTF8 } else { ConvertedType::NONE })
            .with_repetition(if about.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(|about| field(about)).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(table).with_fields(fields).build()
}

/// No compression: times as packed differences and everything else by dictionary are about as small, and are read at once.
fn properties(columns: &[&About], layout: Layout<'_>, signature: Option<String>) -> WriterProperties {
    let signature = signature.map(|signature| (SIGNATURE_KEY, signature));
    let note = layout.note.map(|(key, text)| (key, text.to_owned()));
    let pairs: Vec<KeyValue> =
        signature.into_iter().chain(note).map(|(key, text)| KeyValue::new(key.to_owned(), text)).collect();
    let mut builder = WriterProperties::builder()
        .set_created_by("swtch".to_owned())
        .set_key_value_metadata((!pairs.is_empty()).then_some(pairs))
        // The smallest and largest value of a row group let readers skip it; those of every page only cost space.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for about in columns {
        let path = ColumnPath::from(about.name);
        if !matches!(about.physical, PhysicalType::INT32 | PhysicalType::INT64) {
            continue;
        }
        // A time has hardly a value twice. Other numbers fall back to packed differences when a dictionary grows too large.
        if about.name.ends_with("_ns") {
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        builder = builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}
