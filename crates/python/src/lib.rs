//! `swtch._native`, the native half of the Python package: conversion only.
//!
//! Documents cross the border as JSON and Parquet, the same as in files; `python/swtch` makes typed objects of them.
//!
//! Modules: `measuring`, `recording`, `simulating`, `sweeping`, `sharing`, `statistics`, `studies`, `trace`, `reading`, `files`, `doctor`
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
mod sharing;
mod simulating;
mod statistics;
mod studies;
mod sweeping;
mod trace;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("UsageError", py.get_type::<errors::UsageError>())?;
    module.add("MeasureError", py.get_type::<errors::MeasureError>())?;
    module.add("ProfileError", py.get_type::<errors::ProfileError>())?;
    module.add("SimulationError", py.get_type::<errors::SimulationError>())?;
    module.add("RecordError", py.get_type::<errors::RecordError>())?;
    module.add("TraceError", py.get_type::<errors::TraceError>())?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("LONG_MS", swtch_faas::tiers::LONG_MS)?;
    module.add("DISTURBED_SHARE", swtch_cost::Caveat::DISTURBED)?;
    module.add_class::<trace::Trace>()?;
    module.add_function(wrap_pyfunction!(recording::record, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_schema, module)?)?;
    module.add_function(wrap_pyfunction!(trace::bill_schema, module)?)?;
    module.add_function(wrap_pyfunction!(trace::price, module)?)?;
    module.add_function(wrap_pyfunction!(overrides::seconds_of, module)?)?;
    module.add_function(wrap_pyfunction!(studies::check_tiers, module)?)?;
    module.add_function(wrap_pyfunction!(studies::check_study, module)?)?;
    module.add_function(wrap_pyfunction!(studies::check_run, module)?)?;
    module.add_function(wrap_pyfunction!(studies::disturbed, module)?)?;
    module.add_function(wrap_pyfunction!(measuring::measure, module)?)?;
    module.add_function(wrap_pyfunction!(files::load, module)?)?;
    module.add_function(wrap_pyfunction!(files::save, module)?)?;
    module.add_function(wrap_pyfunction!(files::report, module)?)?;
    module.add_function(wrap_pyfunction!(reading::summary, module)?)?;
    module.add_function(wrap_pyfunction!(reading::compare, module)?)?;
    module.add_function(wrap_pyfunction!(reading::profile_schema, module)?)?;
    module.add_function(wrap_pyfunction!(reading::comparison_schema, module)?)?;
    module.add_function(wrap_pyfunction!(sharing::shares, module)?)?;
    module.add_function(wrap_pyfunction!(simulating::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(sweeping::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::estimate, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::median, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::rank_tests, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::doctor, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::doctor_schema, module)?)?;
    module.add_function(wrap_pyfunction!(doctor::sched_status, module)?)?;
    Ok(())
}
