//! The layer between rows and Parquet columns.
//!
//! A table is declared once, with [`table!`]: a struct whose fields are its columns. From that come the Parquet schema, writing
//! ([`encode`]) and reading ([`decode`]). What a field may be is in [`values`]: `u64`, `u32`, `bool`, `String`, a few enums,
//! and an `Option` of any of these.
//!
//! Unsigned numbers are stored in signed columns without a note that they are unsigned: no count or time reaches 2^63, and people
//! who subtract unsigned columns in pandas or DuckDB get wrapped numbers or errors.

pub(crate) mod decode;
pub(crate) mod encode;
mod values;

pub use values::Cell;
pub(crate) use values::Scalar;

use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{ColumnDescPtr, Type};
use std::marker::PhantomData;
use std::sync::Arc;
use values::Value;

/// Most rows in a row group, and so in memory while a table is streamed. The reader refuses larger groups, so that a damaged count
/// cannot fill the memory.
pub(crate) const GROUP_ROWS: usize = 1 << 16;

/// A row of a table: something with columns.
pub trait Columns: Clone + Default + 'static {
    /// The table's name.
    const TABLE: &'static str;

    /// The columns, in order.
    fn columns() -> Vec<Box<dyn Column<Self>>>;

    /// The columns of earlier versions, which are still read: the latest first.
    fn earlier() -> Vec<Vec<Box<dyn Column<Self>>>> {
        Vec::new()
    }
}

/// One column of the rows `R`.
pub trait Column<R>: Send {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its type: `u64`, `u32`, `bool`, `text`, or `word` and `kind`, which are words; with a `?` where it may be absent.
    fn kind(&self) -> String;

    /// Its Parquet type.
    ///
    /// # Errors
    /// Never, for the types that there are.
    fn field(&self) -> Result<Type, ParquetError>;

    /// Its physical type.
    fn physical(&self) -> PhysicalType;

    /// Its value in a row; `None` when absent.
    fn cell<'r>(&self, row: &'r R) -> Option<Cell<'r>>;

    /// Writes it for all `rows`.
    ///
    /// # Errors
    /// When a text is too long, or the sink does not take it.
    fn write(&self, rows: &[R], writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>;

    /// Reads it from `pages` into `rows`, of which there are `count`; makes the rows when there are none yet.
    ///
    /// # Errors
    /// When what is there is not such a column.
    fn read(
        &self,
        description: ColumnDescPtr,
        pages: Box<dyn PageReader>,
        count: usize,
        rows: &mut Vec<R>,
    ) -> Result<(), ParquetError>;
}

/// A field of type `V` in the row `R`. The accessors are type parameters so that loops over rows are compiled without calls.
struct Field<R, V, G, S> {
    name: &'static str,
    get: G,
    set: S,
    types: PhantomData<fn(R) -> V>,
}

/// The column for a field.
pub(crate) fn column<R, V>(
    name: &'static str,
    get: impl Fn(&R) -> &V + Send + 'static,
    set: impl Fn(&mut R, V) + Send + 'static,
) -> Box<dyn Column<R>>
where
    R: Default + 'static,
    V: Value + 'static,
{
    Box::new(Field { name, get, set, types: PhantomData })
}

impl<R, V, G, S> Column<R> for Field<R, V, G, S>
where
    R: Default,
    V: Value + 'static,
    G: Fn(&R) -> &V + Send,
    S: Fn(&mut R, V) + Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> String {
        format!("{}{}", V::KIND, if V::OPTIONAL { "?" } else { "" })
    }

    fn field(&self) -> Result<Type, ParquetError> {
        let converted = if self.physical() == PhysicalType::BYTE_ARRAY {
            ConvertedType::UTF8
        } else {
            ConvertedType::NONE
        };
        Type::primitive_type_builder(self.name, self.physical())
            .with_converted_type(converted)
            .with_repetition(if V::OPTIONAL { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .build()
    }

    fn physical(&self) -> PhysicalType {
        V::Physical::get_physical_type()
    }

    fn cell<'r>(&self, row: &'r R) -> Option<Cell<'r>> {
        (self.get)(row).cell()
    }

    fn write(&self, rows: &[R], writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let mut values = Vec::with_capacity(rows.len());
        let mut levels = Vec::with_capacity(if V::OPTIONAL { rows.len() } else { 0 });
        for row in rows {
            let value = (self.get)(row).store().map_err(|why| wrong(self.name, why))?;
            if V::OPTIONAL {
                levels.push(i16::from(value.is_some()));
            }
            values.extend(value);
        }
        let levels = V::OPTIONAL.then_some(levels.as_slice());
        writer.typed::<V::Physical>().write_batch(&values, levels, None).map(drop)
    }

    fn read(
        &self,
        description: ColumnDescPtr,
        pages: Box<dyn PageReader>,
        count: usize,
        rows: &mut Vec<R>,
    ) -> Result<(), ParquetError> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        ColumnReaderImpl::<V::Physical>::new(description, pages).read_records(
            count,
            V::OPTIONAL.then_some(&mut levels),
            None,
            &mut values,
        )?;
        let found = if V::OPTIONAL { levels.len() } else { values.len() };
        if found != count {
            return Err(wrong(self.name, &format!("{found} values for {count} rows")));
        }
        // Only now is it known that the rows are really there.
        rows.resize_with(count, R::default);
        let mut values = values.into_iter();
        for (index, row) in rows.iter_mut().enumerate() {
            let present = levels.get(index).is_none_or(|level| *level == 1);
            let value = V::load(if present { values.next() } else { None });
            (self.set)(row, value.map_err(|why| wrong(self.name, why))?);
        }
        Ok(())
    }
}

fn wrong(column: &str, why: &str) -> ParquetError {
    ParquetError::General(format!("column {column}: {why}"))
}

/// The Parquet schema of a table with these columns.
fn schema<R: Columns>(columns: &[Box<dyn Column<R>>]) -> Result<Type, ParquetError> {
    let fields = columns.iter().map(|column| column.field().map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(R::TABLE).with_fields(fields).build()
}

/// Names the table and its columns in one line. It stands in every file, so that a file of another table or version is told from
/// a damaged one without trusting the file's own schema.
fn signature<R: Columns>(columns: &[Box<dyn Column<R>>]) -> String {
    let columns: Vec<String> =
        columns.iter().map(|column| format!("{}:{}", column.name(), column.kind())).collect();
    format!("{} {} {}", crate::model::SCHEMA, R::TABLE, columns.join(" "))
}

/// The key under which a file holds its table's [`signature`].
const SIGNATURE_KEY: &str = "swtch.table";

/// Declares a table: a row as a struct, whose public fields are the columns.
///
/// ```text
/// table! {
///     /// What a row is.
///     pub struct WakeRow in "wakes" {
///         /// What the column is, and its unit.
///         pub waker_tid: u32,
///     }
/// }
/// ```
///
/// The struct gets `Clone, Debug, Default, PartialEq, Eq` and serde's traits. After the table's name, `earlier FUNCTION` names a function that
/// gives the columns of earlier versions, as [`Columns::earlier`] does.
macro_rules! table {
    (
        $(#[$row_attribute:meta])*
        pub struct $row:ident in $table:literal $(earlier $earlier:path)? {
            $($(#[$attribute:meta])* pub $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$row_attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $row {
            $($(#[$attribute])* pub $field: $type,)+
        }

        impl $crate::columns::Columns for $row {
            const TABLE: &'static str = $table;

            fn columns() -> Vec<Box<dyn $crate::columns::Column<Self>>> {
                vec![$($crate::columns::column::<Self, $type>(
                    stringify!($field),
                    |row| &row.$field,
                    |row, value| row.$field = value,
                )),+]
            }

            $(fn earlier() -> Vec<Vec<Box<dyn $crate::columns::Column<Self>>>> {
                $earlier()
            })?
        }
    };
}
pub(crate) use table;

#[cfg(test)]
mod tests;
