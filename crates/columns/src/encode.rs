//! Writes rows as a Parquet file.

use super::{About, Column, Columns, GROUP_ROWS, SIGNATURE_KEY, signature};
use parquet::basic::{ConvertedType, Encoding, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
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
pub fn encode<R: Columns, W: Write + Send>(rows: &[R], sink: W) -> io::Result<()> {
    encode_columns(R::columns(), rows, sink, Layout::default())
}

/// The same with the columns named, which may be those of an earlier version, and with a layout.
///
/// # Errors
/// As [`encode`].
pub fn encode_columns<R: Columns, W: Write + Send>(
    columns: Vec<Box<dyn Column<R>>>,
    rows: &[R],
    sink: W,
    layout: Layout<'_>,
) -> io::Result<()> {
    let mut encoder = Encoder::new(columns, sink, layout)?;
    for rows in rows.chunks(GROUP_ROWS) {
        encoder.group(rows)?;
    }
    encoder.finish()
}

/// A file that is being written, a row group at a time.
pub struct Encoder<R, W: Write> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Box<dyn Column<R>>>,
    wide: bool,
}

impl<R: Columns, W: Write + Send> Encoder<R, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When `sink` does not take it.
    pub fn new(columns: Vec<Box<dyn Column<R>>>, sink: W, layout: Layout<'_>) -> io::Result<Self> {
        let schema = schema(&columns, layout.wide).map_err(system_error)?;
        let properties = properties(&columns, layout);
        let writer = SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties));
        Ok(Self { writer: writer.map_err(system_error)?, columns, wide: layout.wide })
    }

    /// Writes the rows of a group: some, and at most [`GROUP_ROWS`].
    ///
    /// # Errors
    /// When the sink does not take it, or a text is too long.
    pub fn group(&mut self, rows: &[R]) -> io::Result<()> {
        self.write(rows).map_err(system_error)
    }

    fn write(&mut self, rows: &[R]) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in &self.columns {
            let mut writer = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
            column.write(rows, self.wide, &mut writer)?;
            writer.close()?;
        }
        group.close().map(drop)
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// When the sink does not take it.
    pub fn finish(self) -> io::Result<()> {
        self.writer.close().map(drop).map_err(system_error)
    }
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
pub(crate) fn schema<R: Columns>(columns: &[Box<dyn Column<R>>], wide: bool) -> Result<Type, ParquetError> {
    let field = |about: &About| {
        let text = about.physical == PhysicalType::BYTE_ARRAY;
        let is_wide = wide && about.physical == PhysicalType::INT32;
        Type::primitive_type_builder(about.name, if is_wide { PhysicalType::INT64 } else { about.physical })
            .with_converted_type(if text { ConvertedType::UTF8 } else { ConvertedType::NONE })
            .with_repetition(if about.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(|column| field(column.about())).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(R::TABLE).with_fields(fields).build()
}

/// No compression: times as packed differences and everything else by dictionary are about as small, and are read at once.
fn properties<R: Columns>(columns: &[Box<dyn Column<R>>], layout: Layout<'_>) -> WriterProperties {
    let signature = (!layout.wide).then(|| (SIGNATURE_KEY, signature(R::FORMATS[0], columns)));
    let note = layout.note.map(|(key, text)| (key, text.to_owned()));
    let pairs: Vec<KeyValue> =
        signature.into_iter().chain(note).map(|(key, text)| KeyValue::new(key.to_owned(), text)).collect();
    let mut builder = WriterProperties::builder()
        .set_created_by("swtch".to_owned())
        .set_key_value_metadata((!pairs.is_empty()).then_some(pairs))
        // The smallest and largest value of a row group let readers skip it; those of every page only cost space.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for about in columns.iter().map(|column| column.about()) {
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
