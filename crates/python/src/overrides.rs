//! What the caller asks for, from Python's words and numbers.

use crate::errors::UsageError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;
use swtch_measure::{Options, OptionsError, Preset};
use swtch_units::Bytes;

/// The overrides as Python hands them over: a dict with all of these keys. What they hold stays as it is here, so that a
/// mistake in it gets a message of ours.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Overrides<'py> {
    preset: String,
    methods: Option<Vec<Bound<'py, PyAny>>>,
    sizes: Option<Vec<Bound<'py, PyAny>>>,
    strides: Option<Vec<Bound<'py, PyAny>>>,
    accesses: Option<Vec<Bound<'py, PyAny>>>,
    placements: Option<Vec<Bound<'py, PyAny>>>,
    classes: Option<Vec<Bound<'py, PyAny>>>,
    precision: Option<Bound<'py, PyAny>>,
    time_limit_s: Option<Bound<'py, PyAny>>,
    max_array: Option<Bound<'py, PyAny>>,
    seed: Option<Bound<'py, PyAny>>,
}

impl Overrides<'_> {
    pub(crate) fn options(&self) -> PyResult<Options> {
        Ok(Options {
            preset: preset(&self.preset)?,
            methods: words(self.methods.as_deref())?,
            with_calls: false,
            sizes_bytes: sizes(self.sizes.as_deref())?,
            strides_bytes: sizes(self.strides.as_deref())?,
            accesses: words(self.accesses.as_deref())?,
            placements: words(self.placements.as_deref())?,
            classes: words(self.classes.as_deref())?,
            precision: self.precision.as_ref().map(|value| number("precision", value)).transpose()?,
            time_limit: self.time_limit_s.as_ref().map(time_limit).transpose()?,
            max_array_bytes: self.max_array.as_ref().map(size).transpose()?,
            order_seed: self.seed.as_ref().map(seed).transpose()?,
        })
    }
}

fn preset(name: &str) -> PyResult<Preset> {
    [Preset::Quick, Preset::Default, Preset::Full]
        .into_iter()
        .find(|preset| preset.name() == name)
        .ok_or_else(|| UsageError::new_err(format!("unknown preset '{name}'; write quick, default or full")))
}

fn words<T: FromStr<Err: Display>>(list: Option<&[Bound<'_, PyAny>]>) -> PyResult<Option<Vec<T>>> {
    let word = |value: &Bound<'_, PyAny>| {
        let text = value.str()?.to_string();
        text.trim().parse().map_err(|error: T::Err| UsageError::new_err(error.to_string()))
    };
    list.map(|list| list.iter().map(word).collect()).transpose()
}

fn sizes(list: Option<&[Bound<'_, PyAny>]>) -> PyResult<Option<Vec<u64>>> {
    list.map(|list| list.iter().map(size).collect()).transpose()
}

/// Bytes as a whole number, or as people write them: `64K`.
pub(crate) fn size(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(bytes) = value.extract() {
        return Ok(bytes);
    }
    // What is neither goes through the same parser, for the same message.
    let text = value.str()?.to_string();
    text.parse::<Bytes>().map(Bytes::get).map_err(|error| UsageError::new_err(error.to_string()))
}

fn time_limit(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds = number("time limit", value)?;
    if seconds < 0.0 {
        return Err(UsageError::new_err(OptionsError::time_limit(seconds).to_string()));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        UsageError::new_err(format!("a time limit of {value} s is not a length of time; give for example 30"))
    })
}

/// A time as it is typed, `500ms` or `2m`, in seconds; a number is one of seconds.
#[pyfunction]
pub(crate) fn seconds_of(text: &str) -> PyResult<f64> {
    let time = swtch_units::parse_duration(text).map_err(|error| UsageError::new_err(error.to_string()))?;
    Ok(time.as_secs_f64())
}

/// A length of time above zero.
pub(crate) fn seconds(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let given = number(what, value)?;
    Duration::try_from_secs_f64(given).ok().filter(|time| !time.is_zero()).ok_or_else(|| {
        UsageError::new_err(format!("{what} is {value} s; give seconds above 0, for example 10"))
    })
}

fn number(what: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.extract().map_err(|_| UsageError::new_err(format!("{what} '{value}' is not a number")))
}

fn seed(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract().map_err(|_| {
        UsageError::new_err(format!(
            "seed {value} is not a whole number from 0 to {}; give for example 1",
            u64::MAX
        ))
    })
}
