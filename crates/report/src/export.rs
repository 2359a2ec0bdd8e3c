//! Formats that a Trace is exported to: one row of [`EXPORTERS`] each, from which help, completions and errors come.

use crate::EXPORTERS;
use crate::stack_weight::StackWeight;
use serde_json::{Map, Value};
use std::io::{self, Write};
use swtch_cost::{CostModel, WhyError};
use swtch_trace::spans::Spans;
use swtch_trace::tables::TABLES;
use swtch_trace::{Trace, TraceError};

/// A format.
#[derive(Debug)]
pub struct Exporter {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, for help.
    pub about: &'static str,
    /// Whether it is text, which may go to standard output.
    pub is_text: bool,
    /// Whether it holds one table of the Trace, which `--table` chooses.
    pub has_table: bool,
    /// Whether it has one weight for each stack, which `--weight` chooses.
    pub has_weight: bool,
    /// Whether it has prices, from a Profile.
    pub has_prices: bool,
    /// Whether it has spans.
    pub has_spans: bool,
    /// Writes the Trace.
    pub write: ExportFn,
}

/// Writes a Trace in a format.
pub type ExportFn = fn(&Trace, &ExportOptions<'_>, &mut SendWrite<'_>) -> Result<Exported, ExportError>;
/// Where an export goes.
pub type SendWrite<'a> = dyn Write + Send + 'a;

/// What a user chooses of an export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions<'a> {
    /// The table, where the format holds one; the switches by default.
    pub table: Option<&'static str>,
    /// What the stacks are weighed by, where the format has one weight; time off the CPU by default.
    pub weight: Option<StackWeight>,
    /// Prices, where the format has them.
    pub model: Option<&'a CostModel>,
    /// Spans, where the format has them, and the share of them that counts as slow.
    pub spans: Option<(&'a Spans, f64)>,
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exported {
    /// In words.
    pub text: String,
    /// In numbers, for JSON.
    pub figures: Map<String, Value>,
    /// What is missing in the file, in words.
    pub left_out: Vec<String>,
}

impl Exported {
    pub(crate) fn new<const N: usize>(
        text: String,
        figures: [(&str, Value); N],
        left_out: Vec<String>,
    ) -> Self {
        Self {
            text,
            figures: figures.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
            left_out,
        }
    }
}

impl Exporter {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        EXPORTERS.iter().find(|exporter| exporter.name == name)
    }

    /// Checks that the format has what was chosen.
    ///
    /// # Errors
    /// What it does not have, which formats do, and what to do.
    #[allow(clippy::fn_params_excessive_bools, reason = "each is an option of the command")]
    pub fn check(
        &self,
        table: bool,
        weight: bool,
        profile: bool,
        spans: bool,
        to_file: bool,
    ) -> Result<(), String> {
        let having = |has: fn(&Self) -> bool| {
            let names: Vec<&str> = EXPORTERS.iter().filter(|one| has(one)).map(|one| one.name).collect();
            names.join(" or ")
        };
        let name = self.name;
        if table && !self.has_table {
            let names = having(|one| one.has_table);
            return Err(format!("--to {name} writes the whole Trace; --table goes with --to {names}"));
        }
        if weight && !self.has_weight {
            let names = having(|one| one.has_weight);
            return Err(format!(
                "--to {name} does not weigh stacks by one figure; --weight goes with --to {names}"
            ));
        }
        if profile && !self.has_prices {
            let names = having(|one| one.has_prices);
            return Err(format!("--to {name} writes no prices; --profile goes with --to {names}"));
        }
        if spans && !self.has_spans {
            let names = having(|one| one.has_spans);
            return Err(format!("--to {name} has no spans; --spans goes with --to {names}"));
        }
        if !to_file && !self.is_text {
            return Err(format!("--to {name} is not text for a terminal; name the file with -o FILE"));
        }
        Ok(())
    }
}

/// Why a Trace could not be put into another format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The Trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// There is no table of that name.
    #[error("there is no table '{name}'; the tables are {}", TABLES.join(", "))]
    NoTable {
        /// What was asked for.
        name: String,
    },
    /// The table is one of those that this Trace does not have.
    #[error("this Trace has no table '{table}': {why}")]
    Absent {
        /// The table.
        table: &'static str,
        /// Why it is not there.
        why: String,
    },
    /// The spans cannot be divided.
    #[error(transparent)]
    Why(#[from] WhyError),
    /// What came out could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl From<ExportError> for io::Error {
    /// For callers that write files; the message stays.
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Write(error) => error,
            other => Self::other(other),
        }
    }
}
