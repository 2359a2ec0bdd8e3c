//! Closed vocabularies: enums whose values have one name each, in files, on command lines, in help and in errors.

use thiserror::Error;

/// A value of a closed vocabulary. [`words!`](crate::words) implements it.
pub trait Word: Copy + Eq + 'static {
    /// What the vocabulary is of, such as `method`.
    const KIND: &'static str;
    /// Every value, in the order in which a reader expects them.
    const WORDS: &'static [Self];

    /// The name.
    fn name(self) -> &'static str;

    /// What it means, in one line.
    fn meaning(self) -> &'static str;
}

/// A text that is not a word of a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown {kind} '{text}'; expected {known}")]
pub struct UnknownWord {
    kind: &'static str,
    text: String,
    known: String,
}

/// The word of that name.
///
/// # Errors
/// When there is none; the message lists those there are.
pub fn parse_word<W: Word>(text: &str) -> Result<W, UnknownWord> {
    let text = text.trim();
    W::WORDS.iter().copied().find(|word| word.name() == text).ok_or_else(|| {
        let known = W::WORDS.iter().map(|word| word.name()).collect::<Vec<_>>().join(", ");
        UnknownWord { kind: W::KIND, text: text.to_owned(), known }
    })
}

/// Declares a closed vocabulary: an enum with a name and a meaning for each value, and optionally facts about each, which are read with
/// `facts()`. Files hold the names. The crate that uses it needs serde and schemars.
///
/// ```
/// swtch_units::words! {
///     /// How hot it is.
///     pub enum Heat("heat"): u32 {
///         /// Below 20 degrees.
///         Cool = "cool" => 20,
///         /// Up to 40 degrees.
///         Warm = "warm" => 40,
///     }
/// }
/// assert_eq!("warm".parse::<Heat>().map(Heat::facts), Ok(40));
/// assert_eq!((Heat::Cool.to_string(), Heat::Cool.meaning()), ("cool".to_owned(), "Below 20 degrees."));
/// assert_eq!("hot".parse::<Heat>().unwrap_err().to_string(), "unknown heat 'hot'; expected cool, warm");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident($kind:literal): $Facts:ty {
            $($(#[doc = $doc:literal])+ $Word:ident = $word:literal => $facts:expr),+ $(,)?
        }
    ) => {
        $crate::words! {
            $(#[$meta])*
            pub enum $Name($kind) {
                $($(#[doc = $doc])+ $Word = $word),+
            }
        }

        impl $Name {
            /// What there is to know of it.
            pub const fn facts(self) -> $Facts {
                match self { $(Self::$Word => $facts),+ }
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub enum $Name:ident($kind:literal) {
            $($(#[doc = $doc:literal])+ $Word:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Name {
            $($(#[doc = $doc])+ $Word),+
        }

        impl $Name {
            /// Every value.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$Word),+];

            /// The name, in files and on command lines.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Word => $word),+ }
            }

            /// What it means, in one line.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$Word => concat!($($doc),+).trim()),+ }
            }
        }

        impl $crate::Word for $Name {
            const KIND: &'static str = $kind;
            const WORDS: &'static [Self] = &Self::ALL;

            fn name(self) -> &'static str {
                Self::name(self)
            }

            fn meaning(self) -> &'static str {
                Self::meaning(self)
            }
        }

        impl ::std::fmt::Display for $Name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $Name {
            type Err = $crate::UnknownWord;

            fn from_str(text: &str) -> ::std::result::Result<Self, $crate::UnknownWord> {
                $crate::parse_word(text)
            }
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> ::std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> ::std::result::Result<Self, D::Error> {
                let text = <::std::borrow::Cow<'de, str> as ::serde::Deserialize<'de>>::deserialize(from)?;
                $crate::parse_word(&text).map_err(::serde::de::Error::custom)
            }
        }

        /// Any text: a file of a newer version may have words that this one does not know.
        impl ::schemars::JsonSchema for $Name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                <String as ::schemars::JsonSchema>::schema_name()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                <String as ::schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}
