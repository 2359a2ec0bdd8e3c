//! Stacks of a Trace in the formats of other programs.

mod folded;

pub(crate) use folded::EXPORTER as FOLDED;

use crate::export::ExportError;
use swtch_trace::model::Unavailable;
use swtch_trace::tables::{Columns, StackRow};
use swtch_trace::{Trace, fields};

/// The stacks of a Trace.
fn rows(trace: &Trace) -> Result<&[StackRow], ExportError> {
    if !trace.stacks.is_empty() {
        return Ok(&trace.stacks);
    }
    let why = Unavailable::reason_in(&trace.header.unavailable, &fields::STACKS);
    let why = why.unwrap_or("it was recorded without them; swtch record --stacks records them");
    Err(ExportError::Absent { table: StackRow::TABLE, why: why.to_owned() })
}
