//! Parquet, with types that any reader takes: 64-bit integers, booleans, UTF-8.

use crate::export::ExportError;
use parquet::basic::{ConvertedType, Encoding, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io::{self, Write};
use std::sync::Arc;
use swtch_trace::TraceError;
use swtch_trace::tables::{Cell, Column, Columns};

/// Rows in a row group, and so in memory.
const GROUP_ROWS: usize = 1 << 16;

pub(super) fn write<R: Columns, W: Write + Send>(
    mut rows: impl Iterator<Item = Result<R, TraceError>>,
    sink: W,
) -> Result<u64, ExportError> {
    let columns = R::columns();
    let properties = Arc::new(properties(&columns));
    let schema = schema::<R>(&columns).map_err(failure)?;
    let mut writer = SerializedFileWriter::new(sink, Arc::new(schema), properties).map_err(failure)?;
    let mut count = 0;
    loop {
        let group = rows.by_ref().take(GROUP_ROWS).collect::<Result<Vec<R>, _>>()?;
        if group.is_empty() {
            break;
        }
        count += group.len() as u64;
        let mut target = writer.next_row_group().map_err(failure)?;
        for column in &columns {
            write_column(column.as_ref(), &group, &mut target).map_err(failure)?;
        }
        target.close().map_err(failure)?;
    }
    writer.close().map_err(failure)?;
    Ok(count)
}

/// The system's error, not parquet's wrapping of it.
fn failure(error: ParquetError) -> ExportError {
    ExportError::Write(match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    })
}

fn physical<R>(column: &dyn Column<R>) -> PhysicalType {
    match column.kind().trim_end_matches('?') {
        "u64" | "u32" => PhysicalType::INT64,
        "bool" => PhysicalType::BOOLEAN,
        _ => PhysicalType::BYTE_ARRAY,
    }
}

fn is_optional<R>(column: &dyn Column<R>) -> bool {
    column.kind().ends_with('?')
}

fn schema<R: Columns>(columns: &[Box<dyn Column<R>>]) -> Result<Type, ParquetError> {
    let field = |column: &dyn Column<R>| {
        let physical = physical(column);
        let text = physical == PhysicalType::BYTE_ARRAY;
        let repetition = if is_optional(column) { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(column.name(), physical)
            .with_converted_type(if text { ConvertedType::UTF8 } else { ConvertedType::NONE })
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(|column| field(column.as_ref())).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(R::TABLE).with_fields(fields).build()
}

/// Numbers as packed differences, as in the Trace; times not by dictionary, since hardly one is there twice.
fn properties<R>(columns: &[Box<dyn Column<R>>]) -> WriterProperties {
    let mut builder = WriterProperties::builder().set_created_by("swtch".to_owned());
    for column in columns.iter().filter(|column| physical(column.as_ref()) == PhysicalType::INT64) {
        let path = ColumnPath::from(column.name());
        if column.name().ends_with("_ns") {
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        builder = builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

fn write_column<R, W: Write + Send>(
    column: &dyn Column<R>,
    rows: &[R],
    target: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("more columns than the schema has".to_owned());
    let mut writer = target.next_column()?.ok_or_else(missing)?;
    let optional = is_optional(column);
    let mut levels = Vec::new();
    if optional {
        levels.extend(rows.iter().map(|row| i16::from(column.cell(row).is_some())));
    }
    let levels = optional.then_some(levels.as_slice());
    let cells = rows.iter().filter_map(|row| column.cell(row));
    match physical(column) {
        PhysicalType::INT64 => {
            let values = cells.filter_map(|cell| match cell {
                Cell::Number(number) => Some(number as i64),
                _ => None,
            });
            write_values::<Int64Type>(&mut writer, &values.collect::<Vec<_>>(), levels)?;
        }
        PhysicalType::BOOLEAN => {
            let values = cells.filter_map(|cell| match cell {
                Cell::Flag(flag) => Some(flag),
                _ => None,
            });
            write_values::<BoolType>(&mut writer, &values.collect::<Vec<_>>(), levels)?;
        }
        _ => {
            let values = cells.filter_map(|cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text)),
                _ => None,
            });
            write_values::<ByteArrayType>(&mut writer, &values.collect::<Vec<_>>(), levels)?;
        }
    }
    writer.close()
}

fn write_values<D: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[D::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    writer.typed::<D>().write_batch(values, levels, None).map(drop)
}
