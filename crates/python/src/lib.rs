//! `swtch._native`, the native half of the Python package: conversion only.
//!
//! Documents cross the border as JSON and Parquet, the same as in files; `python/swtch` makes typed objects of them.
//!
//! Modules: `measuring`, `recording`, `simulating`, `sweeping`, `sharing`, `statistics`, `studies`, `trace`, `reading`, `schemas`, `files`, `doctor`
//! (a call each); `overrides`, `listener`, `errors`, `libelf`.
#![deny(unsafe_code)]
// PyO3 converts what Python hands over into values of ours; a reference would be to the same value.
#![allow(clippy::needless_pass_by_value)]

mod doctor;
mod errors;
mod files;
#[allow(unsafe_code)]
mod libelf;
mod listener;
mod measuring;
mod overrides;
mod reading;
mod recording;
mod schemas;
mod sharing;
mod simulating;
mod statistics;
mod studies;
mod sweeping;
mod trace;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::doctor::{doctor, sched_status};
    #[pymodule_export]
    use crate::errors::{MeasureError, ProfileError, RecordError, SimulationError, TraceError, UsageError};
    #[pymodule_export]
    use crate::files::{load, report, save};
    #[pymodule_export]
    use crate::measuring::measure;
    #[pymodule_export]
    use crate::overrides::seconds_of;
    #[pymodule_export]
    use crate::reading::{diff, diff_profiles, own_profile, summary};
    #[pymodule_export]
    use crate::recording::record;
    #[pymodule_export]
    use crate::schemas::schemas;
    #[pymodule_export]
    use crate::sharing::shares;
    #[pymodule_export]
    use crate::simulating::{fair_class, simulate};
    #[pymodule_export]
    use crate::statistics::{estimate, holm_adjusted, median, quantiles, rank_tests, sign_flip_tests};
    #[pymodule_export]
    use crate::studies::{check_run, check_study, check_tiers, complete_answer, disturbed};
    #[pymodule_export]
    use crate::sweeping::sweep;
    #[pymodule_export]
    use crate::trace::{Trace, price};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const LONG_MS: f64 = swtch_faas::tiers::LONG_MS;
    #[pymodule_export]
    const DISTURBED_SHARE: f64 = swtch_cost::Caveat::DISTURBED;
    #[pymodule_export]
    const MONTH_HOURS: f64 = swtch_cost::MONTH_HOURS;
}
