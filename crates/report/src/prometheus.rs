//! Metrics for Prometheus: the OpenMetrics text of a machine that is watched, or of a Trace's totals.
//!
//! A [`Counters`] adds up what happened, in the types of a Trace; what it counts never goes back. [`reference()`] is the list of all metrics, and
//! `docs/metrics.md` holds it. The number of series is bounded: the busiest cgroups and interrupt lines have their own, the others
//! share one with the label `other`.

mod cgroups;
mod counters;
mod exposition;
mod family;
mod labels;
mod older_text;
mod processes;
mod series_limiter;
#[cfg(test)]
mod tests;
mod unavailable;

pub use counters::{Counters, Delta, Gauges, GroupUse, KernelCounts, Limits, OtlpExports};
pub(crate) use exposition::{Exposition, SeriesValue};
pub use family::{Family, FamilyKind, families, reference};
pub use older_text::{CONTENT_TYPE as OLDER_CONTENT_TYPE, older_text, wants_older_text};
pub(crate) use processes::ProcessSums;

use crate::export::{Exported, Exporter};
use crate::tables::left_out;
use swtch_cost::CostModel;
use swtch_trace::Trace;

/// The name of the format, for `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The row of the table of formats.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "prometheus",
    about: "Totals as OpenMetrics text",
    is_text: true,
    has_table: false,
    has_weight: false,
    has_prices: true,
    has_spans: false,
    write: |trace, options, sink| {
        let text = of_trace(trace, options.model, Limits::default());
        sink.write_all(text.as_bytes())?;
        sink.flush()?;
        let samples = text.lines().filter(|line| !line.starts_with('#')).count();
        Ok(Exported::new(
            format!("{samples} samples of metrics"),
            [("samples", samples.into())],
            left_out(trace),
        ))
    },
};

/// The totals of a Trace as OpenMetrics text. Without prices, the estimate of the cost is missing.
pub fn of_trace(trace: &Trace, model: Option<&CostModel>, limits: Limits) -> String {
    let mut counters = Counters::new(limits);
    counters.add(
        &Delta { trace: trace.view(), cost_ns_by_kind: None, quota_ns: None, group_waits: None },
        model,
        0,
    );
    let kernel = |source: &str| {
        let row = trace.header.reconciliation.iter().find(|row| row.source == source);
        row.map(|row| row.kernel)
    };
    counters.add_kernel(&KernelCounts {
        context_switches: kernel("/proc/stat ctxt"),
        interrupts: kernel("/proc/stat intr"),
        forks: None,
    });
    counters.text(&Gauges::default())
}
