//! Folded stacks: a line each, for flamegraph.pl, inferno and what else draws flame graphs.

use super::rows;
use crate::export::Exported;
use crate::export::Exporter;
use crate::stack_weight::StackWeight;
use crate::tables::left_out;

/// The row of the table of formats.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "folded",
    about: "Stacks as folded text, for flamegraph.pl and others",
    is_text: true,
    has_table: false,
    has_weight: true,
    has_prices: false,
    has_spans: false,
    write: |trace, options, sink| {
        let weight_of = options.weight.unwrap_or(StackWeight::OffCpu);
        let mut lines = 0_u64;
        for row in rows(trace)? {
            let weight = weight_of.of(row);
            if weight > 0 {
                writeln!(sink, "{};{};{} {weight}", row.task.replace(';', ":"), row.reason, row.frames)?;
                lines += 1;
            }
        }
        sink.flush()?;
        let figures = [("stacks", lines.into()), ("weight", weight_of.name().into())];
        Ok(Exported::new(format!("{lines} stacks, weighed by {weight_of}"), figures, left_out(trace)))
    },
};
