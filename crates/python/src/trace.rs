//! Traces: recorded, imported or simulated.

use crate::errors::{TraceError as NotATrace, UsageError, file_error, mistake, trace_error};
use crate::reading::parse;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::io;
use std::path::{Path, PathBuf};
use swtch_cost::{Advice, Bill, Caveat, CostModel, Inputs, Price, WhyError, advise, bill, caveats, why};
use swtch_profile::file;
use swtch_report::export::ExportError;
use swtch_report::recording::Summary;
use swtch_report::tables::{self, Form};
use swtch_report::terminal;
use swtch_report::why::document;
use swtch_trace::TraceError;
use swtch_trace::spans::{SpanSource, Spans};
use swtch_trace::tables::{Cell, Columns, Visitor};

/// A Trace that was read; its switches stay on the disk.
#[pyclass(frozen, module = "swtch._native")]
pub(crate) struct Trace(swtch_trace::Trace);

impl Trace {
    pub(crate) fn open(py: Python<'_>, path: &Path) -> PyResult<Self> {
        py.detach(|| swtch_trace::Trace::open(path)).map(Self).map_err(|error| trace_error(&error))
    }

    /// What `view` makes of the Trace and its bill, priced by a Profile (JSON), or by this machine's where there is one.
    fn priced<T>(
        &self,
        profile: Option<&str>,
        price: Option<&str>,
        view: impl FnOnce(&Summary<'_>) -> T,
    ) -> PyResult<T> {
        let profile = match profile {
            Some(document) => Some(parse(document)?),
            None => file::read_own().map_err(|error| file_error(&error))?,
        };
        let model = profile.as_ref().map(CostModel::of);
        let price = price.map(parse_price).transpose()?;
        let inputs = Inputs { trace: self.0.view(), model: model.as_ref(), price };
        let bill = bill(inputs);
        let (caveats, advice) = (caveats(inputs, &bill), advise(inputs, &bill));
        let (bill, caveats, advice) = (&bill, caveats.as_slice(), Some(advice.as_slice()));
        Ok(view(&Summary { trace: inputs.trace, bill, caveats, advice }))
    }
}

/// A bill, with what a reader has to know before it and what to do about it.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Priced<'a> {
    #[serde(flatten)]
    bill: &'a Bill,
    caveats: &'a [Caveat],
    advice: &'a [Advice],
}

#[pymethods]
impl Trace {
    /// Reads the Trace in a directory.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::open(py, &path)
    }

    /// The directory it was read from.
    #[getter]
    fn directory(&self) -> &Path {
        self.0.folder()
    }

    /// The header as JSON, `swtch/trace/3`.
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.header).map_err(mistake)
    }

    /// A table, column by column.
    fn columns<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyDict>> {
        tables::visit(&self.0, table, Lists(py)).map_err(export_error)?
    }

    /// A table as a Parquet file.
    fn parquet<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyBytes>> {
        let mut file = Vec::new();
        py.detach(|| tables::write(&self.0, table, Form::Parquet, &mut file)).map_err(export_error)?;
        Ok(PyBytes::new(py, &file))
    }

    /// The bill as JSON.
    #[pyo3(signature = (profile=None, price=None))]
    fn bill(&self, profile: Option<&str>, price: Option<&str>) -> PyResult<String> {
        self.priced(profile, price, |Summary { bill, caveats, advice, .. }| {
            let advice = advice.unwrap_or_default();
            serde_json::to_string(&Priced { bill, caveats, advice }).map_err(mistake)
        })?
    }

    /// What made the slowest spans slow, as the JSON of `swtch why --json`.
    #[allow(clippy::needless_pass_by_value, reason = "PyO3 makes it")]
    fn why(&self, file: PathBuf, span: Option<&str>, slowest: f64) -> PyResult<String> {
        if !(slowest > 0.0 && slowest < 1.0) {
            return Err(UsageError::new_err(format!(
                "slowest is {slowest}; give a share above 0 and below 1"
            )));
        }
        let spans = Spans::read(&file, SpanSource::default(), self.0.view())
            .map_err(|error| NotATrace::new_err(error.to_string()))?;
        let why = why(&self.0, &spans, span, slowest).map_err(|error| match error {
            WhyError::NoSuchSpan { .. } => UsageError::new_err(error.to_string()),
            other => NotATrace::new_err(other.to_string()),
        })?;
        serde_json::to_string(&document(&why)).map_err(mistake)
    }

    /// What `swtch record` prints; its first line is the answer.
    fn text(&self) -> PyResult<String> {
        self.priced(None, None, |summary| terminal::recording(&Summary { advice: None, ..*summary }))
    }
}

/// What a vCPU costs an hour, from `0.05/vcpu-hour`.
#[pyfunction]
pub(crate) fn price(text: &str) -> PyResult<f64> {
    parse_price(text).map(|price| price.per_vcpu_hour)
}

fn parse_price(text: &str) -> PyResult<Price> {
    text.parse().map_err(|error: swtch_cost::ParsePriceError| UsageError::new_err(error.to_string()))
}

/// Makes a dict of lists of a table.
struct Lists<'py>(Python<'py>);

impl<'py> Visitor for Lists<'py> {
    type Output = PyResult<Bound<'py, PyDict>>;

    fn visit<R: Columns>(self, rows: impl Iterator<Item = Result<R, TraceError>>) -> Self::Output {
        let rows = rows.collect::<Result<Vec<R>, _>>().map_err(|error| trace_error(&error))?;
        let found = PyDict::new(self.0);
        let put = |column: &dyn swtch_trace::tables::Column<R>| {
            let values = PyList::empty(self.0);
            for row in &rows {
                match column.cell(row) {
                    None => values.append(self.0.None()),
                    Some(Cell::Number(number)) => values.append(number),
                    Some(Cell::Real(number)) => values.append(number),
                    Some(Cell::Flag(flag)) => values.append(flag),
                    Some(Cell::Text(text)) => values.append(text),
                }?;
            }
            found.set_item(column.about().name, values)
        };
        R::columns().iter().try_for_each(|column| put(column.as_ref()))?;
        Ok(found)
    }
}

/// A table that there never is is a `UsageError`, one that this Trace lacks a `TraceError`.
fn export_error(error: ExportError) -> PyErr {
    match error {
        ExportError::Trace(error) => trace_error(&error),
        ExportError::NoTable { .. } => UsageError::new_err(error.to_string()),
        ExportError::Absent { .. } => NotATrace::new_err(error.to_string()),
        ExportError::Write(error) => error.into(),
        other => io::Error::other(other.to_string()).into(),
    }
}
