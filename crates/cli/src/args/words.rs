//! Values whose names are in a table: help, completions and errors list what the table has.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use std::ffi::OsStr;
use std::marker::PhantomData;
use swtch_units::{Word, parse_word};

/// A name and what it means.
pub(crate) type NameAndMeaning = (&'static str, &'static str);

/// Takes a word of a closed vocabulary.
#[derive(Clone, Default)]
pub(crate) struct Words<W>(PhantomData<W>);

/// Takes a word of the vocabulary `W`.
pub(crate) fn word<W: Word>() -> Words<W> {
    Words(PhantomData)
}

impl<W: Word + Send + Sync> TypedValueParser for Words<W> {
    type Value = W;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<W, Error> {
        (|text: &str| parse_word::<W>(text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(listed(W::WORDS.iter().map(|word| (word.name(), word.meaning()))))
    }
}

/// Takes any text: a name of the table, or one with parameters, a list, a path.
#[derive(Clone, Copy)]
pub(crate) struct NamesOf(pub(crate) fn() -> Vec<NameAndMeaning>);

impl TypedValueParser for NamesOf {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(listed((self.0)().into_iter()))
    }
}

fn listed(names: impl Iterator<Item = NameAndMeaning>) -> Box<dyn Iterator<Item = PossibleValue>> {
    let values: Vec<PossibleValue> =
        names.map(|(name, meaning)| PossibleValue::new(name).help(meaning)).collect();
    Box::new(values.into_iter())
}
