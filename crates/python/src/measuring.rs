//! The measurement itself.

use crate::errors::{MeasureError as MeasureFailed, measure_error, mistake};
use crate::listener::Listener;
use crate::overrides::Overrides;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use swtch_measure::{MeasureError, Measurement};
use swtch_profile::check::check_with_samples;
use swtch_profile::samples;

/// The Profile as JSON and its samples as Parquet.
type Documents<'py> = (String, Bound<'py, PyBytes>);

/// Measures this machine. Returns the Profile (JSON) and its samples (Parquet), or None when there is nothing yet; and the
/// exception that stopped the measurement early, or None.
#[pyfunction]
#[pyo3(signature = (overrides, progress=None))]
pub(crate) fn measure<'py>(
    py: Python<'py>,
    overrides: Overrides<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Option<Documents<'py>>, Option<Bound<'py, PyBaseException>>)> {
    let options = overrides.options()?;
    let mut listener = Listener::new(progress);
    let outcome = py.detach(|| swtch_measure::measure(&options, &mut listener));
    let stopped_by = listener.raised.map(|error| error.into_value(py).into_bound(py));
    match outcome {
        Ok(measurement) => {
            check_with_samples(&measurement.profile, &measurement.samples).map_err(|refused| {
                MeasureFailed::new_err(format!(
                    "the measurement is refused: {refused}; please report this defect"
                ))
            })?;
            Ok((Some(documents(py, &measurement)?), stopped_by))
        }
        Err(MeasureError::Interrupted) if stopped_by.is_some() => Ok((None, stopped_by)),
        Err(error) => Err(measure_error(&error)),
    }
}

fn documents<'py>(py: Python<'py>, measurement: &Measurement) -> PyResult<Documents<'py>> {
    let profile = serde_json::to_string(&measurement.profile).map_err(mistake)?;
    let mut table = Vec::new();
    samples::write(&measurement.samples, &mut table).map_err(mistake)?;
    Ok((profile, PyBytes::new(py, &table)))
}
