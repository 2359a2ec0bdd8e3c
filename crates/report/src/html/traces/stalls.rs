//! Time in which tasks could not go on: pressure, and the quota of a cgroup.

use swtch_trace::fields;
use swtch_trace::model::Field;

use super::{PricedTrace, Traces};
use crate::html::prelude::*;

const PRESSURE: [Field; 3] = [fields::PRESSURE, fields::CGROUP_CPU_PRESSURE, fields::CGROUPS_PRESSURE];

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let intro = "Pressure is the time in which at least one task (some), or every one (full), waited for a \
                 resource. It is the whole machine’s, or the cgroup’s that was recorded. A quota stops a \
                 cgroup until its next period.";
    let has = |priced: &PricedTrace| !priced.trace.header.totals.pressure.is_empty();
    Section::new("stalls", "Pressure and throttling", intro)
        .put([pressure(subjects)])
        .put(subjects.lacking("pressure", &PRESSURE, has))
        .put(subjects.iter().map(|one| one.prefixed(&throttling(one.of))))
}

fn pressure(subjects: Traces<'_>) -> Table {
    let rows = subjects.each(|priced| &priced.trace.header.totals.pressure).map(|(one, row)| {
        let time = |ns: u64| if ns > 0 { text::ns(ns as f64) } else { "none".to_owned() };
        let share = |ns: u64| text::percent(ns as f64 / one.of.duration_ns());
        let cells = vec![
            Cell::or_dash("Some waited", row.some_ns.map(time)),
            Cell::or_dash("Share of the run", row.some_ns.map(share)),
            Cell::or_dash("All waited", row.full_ns.map(time)),
            Cell::or_dash("Share of the run", row.full_ns.map(share)),
        ];
        one.row(&row.resource, cells)
    });
    Table::new("Pressure", "Resource", rows)
}

fn throttling(priced: &PricedTrace) -> String {
    let Some(throttled) = &priced.trace.header.totals.throttled else {
        return "No quota was seen: the cgroup has none, or its files do not say.".to_owned();
    };
    if throttled.throttled_periods == 0 {
        return "No quota stopped these tasks.".to_owned();
    }
    format!(
        "A quota stopped the cgroup in {} of {} periods, for {} in all, summed over CPUs.",
        text::count(throttled.throttled_periods),
        text::count(throttled.periods),
        text::ns(throttled.throttled_ns as f64)
    )
}
