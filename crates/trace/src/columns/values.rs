//! What a column may hold.

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};

/// Longest text in a column, in bytes: the kernel's longest path (PATH_MAX, include/uapi/linux/limits.h). It keeps a damaged length
/// from being multiplied by the rows that refer to it.
pub(super) const MAX_TEXT_BYTES: usize = 4096;

/// A value of a row, for people and for other formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// A text, or the word for a state.
    Text(&'a str),
}

/// The type that Parquet stores a `V` as.
type Stored<V> = <<V as Value>::Physical as DataType>::T;

/// A field of a row: a [`Scalar`] or an `Option` of one.
pub(crate) trait Value: Sized {
    /// How Parquet stores it.
    type Physical: DataType;
    /// Its type's name, for the table's signature.
    const KIND: &'static str;
    /// Whether it may be absent.
    const OPTIONAL: bool;

    /// As Parquet stores it; `None` when absent.
    fn store(&self) -> Result<Option<Stored<Self>>, &'static str>;

    /// For other formats; `None` when absent.
    fn cell(&self) -> Option<Cell<'_>>;

    /// From what Parquet stored.
    fn load(stored: Option<Stored<Self>>) -> Result<Self, &'static str>;
}

/// A value that is always there.
pub(crate) trait Scalar: Sized {
    /// How Parquet stores it.
    type Physical: DataType;
    /// Its type's name, for the table's signature.
    const KIND: &'static str;

    /// As Parquet stores it.
    fn to_stored(&self) -> Result<<Self::Physical as DataType>::T, &'static str>;

    /// For other formats.
    fn to_cell(&self) -> Cell<'_>;

    /// From what Parquet stored.
    fn from_stored(stored: <Self::Physical as DataType>::T) -> Result<Self, &'static str>;
}

impl<S: Scalar> Value for S {
    type Physical = S::Physical;
    const KIND: &'static str = S::KIND;
    const OPTIONAL: bool = false;

    fn store(&self) -> Result<Option<Stored<Self>>, &'static str> {
        self.to_stored().map(Some)
    }

    fn cell(&self) -> Option<Cell<'_>> {
        Some(self.to_cell())
    }

    fn load(stored: Option<Stored<Self>>) -> Result<Self, &'static str> {
        S::from_stored(stored.ok_or("a value is missing")?)
    }
}

impl<S: Scalar> Value for Option<S> {
    type Physical = S::Physical;
    const KIND: &'static str = S::KIND;
    const OPTIONAL: bool = true;

    fn store(&self) -> Result<Option<Stored<Self>>, &'static str> {
        self.as_ref().map(S::to_stored).transpose()
    }

    fn cell(&self) -> Option<Cell<'_>> {
        self.as_ref().map(S::to_cell)
    }

    fn load(stored: Option<Stored<Self>>) -> Result<Self, &'static str> {
        stored.map(S::from_stored).transpose()
    }
}

impl Scalar for u64 {
    type Physical = Int64Type;
    const KIND: &'static str = "u64";

    fn to_stored(&self) -> Result<i64, &'static str> {
        Ok(*self as i64)
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Number(*self)
    }

    fn from_stored(stored: i64) -> Result<Self, &'static str> {
        Ok(stored as u64)
    }
}

impl Scalar for u32 {
    type Physical = Int32Type;
    const KIND: &'static str = "u32";

    fn to_stored(&self) -> Result<i32, &'static str> {
        Ok(*self as i32)
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Number(u64::from(*self))
    }

    fn from_stored(stored: i32) -> Result<Self, &'static str> {
        Ok(stored as u32)
    }
}

impl Scalar for bool {
    type Physical = BoolType;
    const KIND: &'static str = "bool";

    fn to_stored(&self) -> Result<bool, &'static str> {
        Ok(*self)
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Flag(*self)
    }

    fn from_stored(stored: bool) -> Result<Self, &'static str> {
        Ok(stored)
    }
}

impl Scalar for String {
    type Physical = ByteArrayType;
    const KIND: &'static str = "text";

    fn to_stored(&self) -> Result<ByteArray, &'static str> {
        if self.len() > MAX_TEXT_BYTES {
            return Err("a text has more than 4096 bytes");
        }
        Ok(ByteArray::from(self.as_str()))
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }

    fn from_stored(stored: ByteArray) -> Result<Self, &'static str> {
        if stored.len() > MAX_TEXT_BYTES {
            return Err("a text has more than 4096 bytes");
        }
        stored.as_utf8().map(str::to_owned).map_err(|_| "a text is not UTF-8")
    }
}
