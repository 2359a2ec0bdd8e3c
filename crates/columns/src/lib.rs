//! Tables as Parquet files.
//!
//! A table is declared once, with [`table!`]: a struct whose fields are its columns, each with its unit, what it means and how it merges.
//! From that come the Parquet schema, writing ([`encode`], [`Encoder`]), reading ([`TableFile`]), merging and differences ([`rules`]), and
//! the page that explains the columns ([`reference()`]). What a field may be is in [`Value`]: `u64`, `u32`, `f64`, `bool`, `String`, a
//! few enums ([`Word`]), and an `Option` of any of these.
//!
//! Unsigned numbers are stored in signed columns, without a note that they are unsigned. No count or time reaches 2^63, and
//! unsigned columns that are subtracted in pandas or DuckDB give wrapped numbers or errors.
//!
//! Modules: `values` (what a cell may hold), `decode` (reads files that may be damaged), `encode` (writes them), `physical` (the code
//! of each stored type, compiled once), `growth` (differences of counters that only grow).
#![forbid(unsafe_code)]

mod decode;
mod encode;
pub mod growth;
mod physical;
pub mod rules;
mod values;

pub use decode::{TableError, TableFile, note};
pub use encode::{Encoder, Layout, encode, encode_columns};
pub use physical::Physical;
pub use swtch_units::Word;
pub use values::{Cell, Scalar, Value, found_word, stored_word};

use parquet::basic::Type as PhysicalType;
use parquet::column::page::PageReader;
use parquet::data_type::DataType;
pub use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::ColumnDescPtr;

/// Most rows in a row group, and so in memory while a table is streamed. The reader refuses larger groups, so that a damaged count
/// cannot fill the memory.
pub const GROUP_ROWS: usize = 1 << 16;

/// A row of a table: something with columns.
pub trait Columns: Clone + Default + 'static {
    /// The table's name.
    const TABLE: &'static str;

    /// The formats whose files have this table, the latest first.
    const FORMATS: &'static [&'static str];

    /// Kinds of columns that are optional in the files although every row has them.
    const NULLABLE: &'static [&'static str] = &[];

    /// What a row is.
    const MEANING: &'static str;

    /// The columns, in order.
    fn columns() -> Vec<Box<dyn Column<Self>>>;

    /// The columns of earlier versions, which are still read: the latest first.
    fn earlier() -> Vec<Vec<Box<dyn Column<Self>>>> {
        Vec::new()
    }
}

/// A column without its values: name, type, unit, rule, meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Its type: `u64`, `u32`, `f64`, `bool`, `text`, or the kind of a [`Word`].
    pub kind: &'static str,
    /// Whether a value may be absent.
    pub optional: bool,
    /// Its unit: `ns`, `bytes`, `count`, `share`, `id` for what names something; empty for texts and words.
    pub unit: &'static str,
    /// How it merges.
    pub rule: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Its Parquet type.
    physical: PhysicalType,
    /// Whether it is optional in the file.
    nullable: bool,
}

/// One column of the rows `R`.
pub trait Column<R>: Send {
    /// Its name, type, unit, rule and meaning.
    fn about(&self) -> &About;

    /// Its value in a row; `None` when absent.
    fn cell<'r>(&self, row: &'r R) -> Option<Cell<'r>>;

    /// Writes it for all `rows`; with `wide`, numbers of 32 bits as such of 64.
    ///
    /// # Errors
    /// When a text is too long, or the sink does not take it.
    fn write(
        &self,
        rows: &[R],
        wide: bool,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError>;

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

/// A field of type `V` in the row `R`. The accessors are pointers: columns of one type share their code, which is much to compile.
struct Field<R, V> {
    about: About,
    get: fn(&R) -> &V,
    set: fn(&mut R, V),
}

/// The column for a field: its name, unit, rule and meaning, and how it is got and set.
pub fn column<R, V>(
    [name, unit, rule, meaning]: [&'static str; 4],
    get: fn(&R) -> &V,
    set: fn(&mut R, V),
) -> Box<dyn Column<R>>
where
    R: Columns,
    V: Value + 'static,
{
    let nullable = V::OPTIONAL || R::NULLABLE.contains(&V::KIND);
    let physical = V::Physical::get_physical_type();
    let (kind, optional) = (V::KIND, V::OPTIONAL);
    let unit = if unit == "none" { "" } else { unit };
    let about = About { name, kind, optional, unit, rule, meaning, physical, nullable };
    Box::new(Field { about, get, set })
}

impl<R: Default, V: Value + 'static> Column<R> for Field<R, V> {
    fn about(&self) -> &About {
        &self.about
    }

    fn cell<'r>(&self, row: &'r R) -> Option<Cell<'r>> {
        (self.get)(row).cell()
    }

    fn write(
        &self,
        rows: &[R],
        wide: bool,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let nullable = self.about.nullable;
        let mut values = Vec::with_capacity(rows.len());
        let mut levels = Vec::with_capacity(if nullable { rows.len() } else { 0 });
        for row in rows {
            let value = (self.get)(row).store().map_err(|why| wrong(self.about.name, &why))?;
            if nullable {
                levels.push(i16::from(value.is_some()));
            }
            values.extend(value);
        }
        let levels = nullable.then_some(levels.as_slice());
        if wide && self.about.physical == PhysicalType::INT32 {
            return physical::write_wide(writer, &mut rows.iter().map(|row| self.cell(row)), levels);
        }
        V::Physical::write(writer, &values, levels)
    }

    fn read(
        &self,
        description: ColumnDescPtr,
        pages: Box<dyn PageReader>,
        count: usize,
        rows: &mut Vec<R>,
    ) -> Result<(), ParquetError> {
        let About { name, nullable, .. } = self.about;
        let (values, levels) = V::Physical::read(description, pages, count, nullable)?;
        let found = if nullable { levels.len() } else { values.len() };
        if found != count {
            return Err(wrong(name, &format!("{found} values for {count} rows")));
        }
        // Only now is it known that the rows are really there.
        rows.resize_with(count, R::default);
        let mut values = values.into_iter();
        for (index, row) in rows.iter_mut().enumerate() {
            let present = levels.get(index).is_none_or(|level| *level == 1);
            let value = V::load(if present { values.next() } else { None });
            (self.set)(row, value.map_err(|why| wrong(name, &why))?);
        }
        Ok(())
    }
}

fn wrong(column: &str, why: &str) -> ParquetError {
    ParquetError::General(format!("column {column}: {why}"))
}

/// Names a format, the table and its columns in one line. Every file holds this line. It distinguishes a file of another table or version
/// from a damaged file, without trusting the file's own schema.
pub fn signature<R: Columns>(format: &str, columns: &[Box<dyn Column<R>>]) -> String {
    let columns = columns.iter().map(|column| {
        let About { name, kind, optional, .. } = column.about();
        format!(" {name}:{kind}{}", if *optional { "?" } else { "" })
    });
    format!("{format} {}{}", R::TABLE, columns.collect::<String>())
}

/// The key under which a file holds its table's [`signature`].
const SIGNATURE_KEY: &str = "swtch.table";

/// The columns of a table as a section of a page in Markdown.
pub fn reference<R: Columns>() -> String {
    let mut text = format!("## {}\n{}\n\n", R::TABLE, R::MEANING.trim());
    text.push_str("| column | type | unit | meaning | merges |\n| --- | --- | --- | --- | --- |\n");
    for column in R::columns() {
        let About { name, kind, optional, unit, rule, meaning, .. } = column.about();
        let absent = if *optional { ", may be absent" } else { "" };
        let meaning = meaning.trim();
        text.push_str(&format!("| `{name}` | {kind}{absent} | {unit} | {meaning} | {rule} |\n"));
    }
    text
}

/// Declares a table: a row as a struct, whose public fields are the columns.
///
/// ```
/// swtch_columns::table! {
///     /// Wake-ups by pair of tasks.
///     #[derive(Eq)]
///     pub struct WakeRow in "wakes" of ["example/1"];
///     {
///         /// The one that woke.
///         pub waker_tid: u32 [id, Key],
///         /// How often.
///         pub count: u64 [count, Sum],
///     }
/// }
/// let row = WakeRow { waker_tid: 7, count: 3 };
/// let mut file = Vec::new();
/// swtch_columns::encode(&[row], &mut file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Each column has its unit and, where rows merge, its rule, one of [`rules`]; a table has rules for all columns or for none. The struct gets
/// `Clone, Debug, Default, PartialEq`. After the formats, `nullable KINDS` is [`Columns::NULLABLE`], and `earlier FUNCTION` names a
/// function that gives the columns of earlier versions, as [`Columns::earlier`] does.
#[macro_export]
macro_rules! table {
    (
        $(#[$($row_attribute:tt)*])*
        $seen:vis struct $row:ident in $table:literal of $formats:expr
        $(, nullable $nullable:expr)? $(, earlier $earlier:path)?;
        {
            $($(#[$($attribute:tt)*])* $field_seen:vis $field:ident: $type:ty [$unit:ident $(, $rule:ident)?],)+
        }
    ) => {
        $(#[$($row_attribute)*])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $seen struct $row {
            $($(#[$($attribute)*])* $field_seen $field: $type,)+
        }

        impl $crate::Columns for $row {
            const TABLE: &'static str = $table;
            const FORMATS: &'static [&'static str] = &$formats;
            $(const NULLABLE: &'static [&'static str] = &$nullable;)?
            const MEANING: &'static str = $crate::docs!([] $([$($row_attribute)*])*);

            fn columns() -> Vec<Box<dyn $crate::Column<Self>>> {
                vec![$($crate::column::<Self, $type>(
                    [
                        stringify!($field),
                        stringify!($unit),
                        $crate::rule_meaning!($type $(, $rule)?),
                        $crate::docs!([] $([$($attribute)*])*),
                    ],
                    |row| &row.$field,
                    |row, value| row.$field = value,
                )),+]
            }

            $(fn earlier() -> Vec<Vec<Box<dyn $crate::Column<Self>>>> {
                $earlier()
            })?
        }

        $crate::merge_by_rules!($row { $($field: $type $(=> $rule)?,)+ });
    };
}

/// The documentation among attributes, for [`table!`].
#[doc(hidden)]
#[macro_export]
macro_rules! docs {
    ([$($found:literal)*]) => { concat!($($found),*) };
    ([$($found:literal)*] [doc = $doc:literal] $($rest:tt)*) => { $crate::docs!([$($found)* $doc] $($rest)*) };
    ([$($found:literal)*] [$($other:tt)*] $($rest:tt)*) => { $crate::docs!([$($found)*] $($rest)*) };
}

/// What a column's rule means, for [`table!`].
#[doc(hidden)]
#[macro_export]
macro_rules! rule_meaning {
    ($type:ty) => {
        ""
    };
    ($type:ty, $rule:ident) => {
        <$crate::rules::$rule as $crate::rules::Rule<$type>>::MEANING
    };
}

/// Merging by the columns' rules, for [`table!`]; nothing for a table without rules.
#[doc(hidden)]
#[macro_export]
macro_rules! merge_by_rules {
    ($row:ident { $($field:ident: $type:ty,)+ }) => {};
    ($row:ident { $($field:ident: $type:ty => $rule:ident,)+ }) => {
        impl $crate::rules::Merge for $row {
            fn merge(&mut self, later: &Self) {
                $(<$crate::rules::$rule as $crate::rules::Rule<$type>>::merge(&mut self.$field, &later.$field);)+
            }

            fn delta(&self, earlier: &Self, growth: &$crate::growth::Growth) -> Self {
                Self {
                    $($field: <$crate::rules::$rule as $crate::rules::Rule<$type>>::delta(
                        &self.$field, &earlier.$field, growth,
                    ),)+
                }
            }

            fn order(&self, other: &Self) -> std::cmp::Ordering {
                std::cmp::Ordering::Equal
                    $(.then_with(|| {
                        <$crate::rules::$rule as $crate::rules::Rule<$type>>::order(&self.$field, &other.$field)
                    }))+
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    table! {
        /// What a row is, of two lines
        /// of text.
        pub(crate) struct NewRow in "rows" of ["test/1"], earlier earlier;
        {
            /// The task.
            pub(crate) id: u32 [id, Key],
            /// How often.
            pub(crate) count: u64 [count, Sum],
            /// A column that earlier files lack.
            pub(crate) later: Option<u64> [count, Sum],
        }
    }

    fn earlier() -> Vec<Vec<Box<dyn Column<NewRow>>>> {
        let mut columns = NewRow::columns();
        columns.truncate(2);
        vec![columns]
    }

    #[test]
    fn a_file_without_a_column_that_came_later_is_read() {
        let rows = [NewRow { id: 1, count: 2, later: None }];
        let mut file = tempfile::NamedTempFile::new().unwrap();
        encode_columns(earlier().remove(0), &rows, file.as_file_mut(), Layout::default()).unwrap();
        assert_eq!(TableFile::<NewRow>::open(file.path()).unwrap().rows().unwrap(), rows);
        std::fs::write(file.path(), b"PAR1").unwrap();
        assert!(matches!(TableFile::<NewRow>::open(file.path()), Err(TableError::Damaged { .. })));
    }

    #[test]
    fn a_column_says_its_unit_its_meaning_and_its_rule() {
        let page = reference::<NewRow>();
        assert!(page.starts_with("## rows\nWhat a row is, of two lines of text.\n"), "{page}");
        assert!(page.contains("| `count` | u64 | count | How often. | sum |\n"), "{page}");
    }

    #[test]
    fn a_note_stands_in_the_file_and_wide_numbers_have_64_bits() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let layout = Layout { wide: true, note: Some(("whose", "this sweep's")) };
        encode_columns(NewRow::columns(), &[NewRow::default()], file.as_file_mut(), layout).unwrap();
        assert_eq!(note(file.reopen().unwrap(), "whose").as_deref(), Some("this sweep's"));
        assert_eq!(note(file.reopen().unwrap(), "other"), None);
        assert!(matches!(TableFile::<NewRow>::open(file.path()), Err(TableError::Damaged { .. })));
    }
}
