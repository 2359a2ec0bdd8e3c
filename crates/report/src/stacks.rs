//! Stacks of a Trace in the formats of other programs.

mod firefox;
mod folded;
mod pprof;
mod speedscope;

pub(crate) use firefox::EXPORTER as FIREFOX;
pub(crate) use folded::EXPORTER as FOLDED;
pub(crate) use pprof::EXPORTER as PPROF;
pub(crate) use speedscope::EXPORTER as SPEEDSCOPE;

use crate::export::ExportError;
use std::collections::HashMap;
use swtch_trace::model::{Field, Unavailable};
use swtch_trace::tables::{Columns, StackRow};
use swtch_trace::{Trace, fields};

/// What a Trace may say is missing in its stacks.
pub(crate) const FIELDS: [Field; 3] = [fields::STACKS, fields::STACKS_FRAMES, fields::STACKS_CALLERS];

/// Numbers of texts, by the order in which they come.
#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Numbers {
    pub(crate) fn of(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }
}

/// The stacks of a Trace.
fn rows(trace: &Trace) -> Result<&[StackRow], ExportError> {
    if !trace.stacks.is_empty() {
        return Ok(&trace.stacks);
    }
    let why = Unavailable::reason_in(&trace.header.unavailable, &fields::STACKS);
    let why = why.unwrap_or("it was recorded without them; swtch record --stacks records them");
    Err(ExportError::Absent { table: StackRow::TABLE, why: why.to_owned() })
}
