//! What a column may hold.

use super::Physical;
use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use swtch_units::Word;

/// Longest text in a column, in bytes: a stack of many long names. It keeps a damaged length from being multiplied by the rows that
/// refer to it.
const MAX_TEXT_BYTES: usize = 1 << 16;
const TOO_LONG: &str = "a text has more than 65536 bytes";

/// A value of a row, for people and for other formats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A whole number.
    Number(u64),
    /// A number with a fraction.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// A text, or the word for a state.
    Text(&'a str),
}

/// The type that Parquet stores a `V` as.
type Stored<V> = <<V as Value>::Physical as DataType>::T;

/// A field of a row: a [`Scalar`] or an `Option` of one.
pub trait Value: Sized {
    /// How Parquet stores it.
    type Physical: Physical;
    /// Its type's name, for the table's signature.
    const KIND: &'static str;
    /// Whether it may be absent.
    const OPTIONAL: bool;

    /// As Parquet stores it; `None` when absent.
    ///
    /// # Errors
    /// Why it cannot be stored.
    fn store(&self) -> Result<Option<Stored<Self>>, String>;

    /// For other formats; `None` when absent.
    fn cell(&self) -> Option<Cell<'_>>;

    /// From what Parquet stored.
    ///
    /// # Errors
    /// Why it is not such a value.
    fn load(stored: Option<Stored<Self>>) -> Result<Self, String>;
}

/// A value that is always there: `u64`, `u32`, `i32`, `f64`, `bool`, `String`, and any [`Word`].
pub trait Scalar: Sized {
    /// How Parquet stores it.
    type Physical: Physical;
    /// Its type's name, for the table's signature.
    const KIND: &'static str;

    /// As Parquet stores it.
    ///
    /// # Errors
    /// Why it cannot be stored.
    fn to_stored(&self) -> Result<<Self::Physical as DataType>::T, String>;

    /// For other formats.
    fn to_cell(&self) -> Cell<'_>;

    /// From what Parquet stored.
    ///
    /// # Errors
    /// Why it is not such a value.
    fn from_stored(stored: <Self::Physical as DataType>::T) -> Result<Self, String>;
}

impl<S: Scalar> Value for S {
    type Physical = S::Physical;
    const KIND: &'static str = S::KIND;
    const OPTIONAL: bool = false;

    fn store(&self) -> Result<Option<Stored<Self>>, String> {
        self.to_stored().map(Some)
    }

    fn cell(&self) -> Option<Cell<'_>> {
        Some(self.to_cell())
    }

    fn load(stored: Option<Stored<Self>>) -> Result<Self, String> {
        S::from_stored(stored.ok_or("a value is missing")?)
    }
}

impl<S: Scalar> Value for Option<S> {
    type Physical = S::Physical;
    const KIND: &'static str = S::KIND;
    const OPTIONAL: bool = true;

    fn store(&self) -> Result<Option<Stored<Self>>, String> {
        self.as_ref().map(S::to_stored).transpose()
    }

    fn cell(&self) -> Option<Cell<'_>> {
        self.as_ref().map(S::to_cell)
    }

    fn load(stored: Option<Stored<Self>>) -> Result<Self, String> {
        stored.map(S::from_stored).transpose()
    }
}

/// Numbers and flags: stored as `$physical`, and shown as `$cell`.
macro_rules! scalars {
    ($($type:ty as $stored:ty, $physical:ident, $kind:literal, $cell:ident;)+) => {$(
        impl Scalar for $type {
            type Physical = $physical;
            const KIND: &'static str = $kind;

            fn to_stored(&self) -> Result<$stored, String> {
                Ok(*self as $stored)
            }

            fn to_cell(&self) -> Cell<'_> {
                Cell::$cell((*self).into())
            }

            fn from_stored(stored: $stored) -> Result<Self, String> {
                Ok(stored as $type)
            }
        }
    )+};
}

scalars! {
    u64 as i64, Int64Type, "u64", Number;
    u32 as i32, Int32Type, "u32", Number;
    i32 as i32, Int32Type, "i32", Real;
    f64 as f64, DoubleType, "f64", Real;
    bool as bool, BoolType, "bool", Flag;
}

impl Scalar for String {
    type Physical = ByteArrayType;
    const KIND: &'static str = "text";

    fn to_stored(&self) -> Result<ByteArray, String> {
        if self.len() > MAX_TEXT_BYTES {
            return Err(TOO_LONG.to_owned());
        }
        Ok(ByteArray::from(self.as_str()))
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Text(self)
    }

    fn from_stored(stored: ByteArray) -> Result<Self, String> {
        if stored.len() > MAX_TEXT_BYTES {
            return Err(TOO_LONG.to_owned());
        }
        stored.as_utf8().map(str::to_owned).map_err(|_| "a text is not UTF-8".to_owned())
    }
}

/// The word of a closed vocabulary as a file has it. Without a copy: there is one for each row.
#[doc(hidden)]
pub fn stored_word<W: Word>(word: W) -> ByteArray {
    ByteArray::from(Bytes::from_static(word.name().as_bytes()))
}

/// The word that a file has.
///
/// # Errors
/// When it is none of the vocabulary.
#[doc(hidden)]
pub fn found_word<W: Word>(stored: &ByteArray) -> Result<W, String> {
    let named = W::WORDS.iter().copied().find(|one| one.name().as_bytes() == stored.data());
    named.ok_or_else(|| {
        let words: Vec<&str> = W::WORDS.iter().map(|one| one.name()).collect();
        format!("a {} is not one of {}", W::KIND, words.join(", "))
    })
}

/// Lets tables have columns of a closed vocabulary, which [`words!`](swtch_units::words) declares: a file has the words. A row that says nothing
/// else has the first.
#[macro_export]
macro_rules! column_of_words {
    ($Word:ty) => {
        impl $crate::Scalar for $Word {
            type Physical = $crate::ByteArrayType;
            const KIND: &'static str = <$Word as $crate::Word>::KIND;

            fn to_stored(&self) -> Result<$crate::ByteArray, String> {
                Ok($crate::stored_word(*self))
            }

            fn to_cell(&self) -> $crate::Cell<'_> {
                $crate::Cell::Text(self.name())
            }

            fn from_stored(stored: $crate::ByteArray) -> Result<Self, String> {
                $crate::found_word(&stored)
            }
        }

        impl Default for $Word {
            fn default() -> Self {
                Self::ALL[0]
            }
        }
    };
}
