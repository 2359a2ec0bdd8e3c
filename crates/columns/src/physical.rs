//! What the parquet crate does for each type that a column is stored as. It is compiled here once: as generic code it would be compiled again
//! in every crate that has tables.

use super::Cell;
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::ColumnDescPtr;

/// The values that are there, and for an optional column which rows have one.
type ValuesAndLevels<T> = (Vec<T>, Vec<i16>);

/// A type that columns are stored as.
pub trait Physical: DataType {
    /// Writes a column; `levels` says which rows have a value.
    ///
    /// # Errors
    /// When the sink does not take it.
    fn write(
        writer: &mut SerializedColumnWriter<'_>,
        values: &[Self::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError>;

    /// Reads a column of at most `count` rows.
    ///
    /// # Errors
    /// When what is there is not such a column.
    fn read(
        description: ColumnDescPtr,
        pages: Box<dyn PageReader>,
        count: usize,
        nullable: bool,
    ) -> Result<ValuesAndLevels<Self::T>, ParquetError>;
}

macro_rules! physical {
    ($($type:ty)+) => {$(
        impl Physical for $type {
            fn write(
                writer: &mut SerializedColumnWriter<'_>,
                values: &[Self::T],
                levels: Option<&[i16]>,
            ) -> Result<(), ParquetError> {
                writer.typed::<Self>().write_batch(values, levels, None).map(drop)
            }

            fn read(
                description: ColumnDescPtr,
                pages: Box<dyn PageReader>,
                count: usize,
                nullable: bool,
            ) -> Result<ValuesAndLevels<Self::T>, ParquetError> {
                let (mut values, mut levels) = (Vec::new(), Vec::new());
                let wanted = nullable.then_some(&mut levels);
                ColumnReaderImpl::<Self>::new(description, pages)
                    .read_records(count, wanted, None, &mut values)?;
                Ok((values, levels))
            }
        }
    )+};
}
physical!(BoolType ByteArrayType DoubleType Int32Type Int64Type);

/// Writes numbers of 32 bits as such of 64.
pub(crate) fn write_wide(
    writer: &mut SerializedColumnWriter<'_>,
    cells: &mut dyn Iterator<Item = Option<Cell<'_>>>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let numbers = cells.filter_map(|cell| match cell {
        Some(Cell::Number(number)) => Some(number as i64),
        Some(Cell::Real(number)) => Some(number as i64),
        _ => None,
    });
    Int64Type::write(writer, &numbers.collect::<Vec<_>>(), levels)
}
