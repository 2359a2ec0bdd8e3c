//! Time in which tasks could not go on: pressure, and the quota of a control group.

use swtch_trace::fields;
use swtch_trace::model::{Field, Pressure};

use super::super::page::{Cell, Section, Table};
use super::super::text;
use super::{NamedTrace, Traces};

const PRESSURE: [Field; 3] = [fields::PRESSURE, fields::CGROUP_CPU_PRESSURE, fields::CGROUPS_PRESSURE];

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let intro = "Pressure is the time in which at least one task (some), or every one (full), waited for a resource; it is the whole \
                 machine’s, or the control group’s that was recorded. A quota stops a control group until its next period.";
    let mut section = Section::new("stalls", "Pressure and throttling", intro);
    section.put([pressure(subjects)]);
    let has = |named: &NamedTrace| !named.trace.header.totals.pressure.is_empty();
    section.put(subjects.lacking("pressure", |field| field.is_of(&PRESSURE), has));
    for (i, named) in subjects.iter() {
        section.say(subjects.prefixed(i, &throttling(named)));
    }
    section
}

fn pressure(subjects: Traces<'_>) -> Table {
    let rows = subjects.iter().flat_map(|(i, named)| {
        let row = move |row: &Pressure| {
            let time = |ns: u64| if ns > 0 { text::ns(ns as f64) } else { "none".to_owned() };
            let share = |ns: u64| text::percent(ns as f64 / named.duration_ns());
            let cells = vec![
                Cell::or_dash("Some waited", row.some_ns.map(time)),
                Cell::or_dash("Share of the run", row.some_ns.map(share)),
                Cell::or_dash("All waited", row.full_ns.map(time)),
                Cell::or_dash("Share of the run", row.full_ns.map(share)),
            ];
            (i, row.resource.clone(), cells)
        };
        named.trace.header.totals.pressure.iter().map(row)
    });
    subjects.table("Pressure", "Resource", rows)
}

fn throttling(named: &NamedTrace) -> String {
    let Some(throttled) = &named.trace.header.totals.throttled else {
        return "No quota was seen: the control group has none, or its files do not say.".to_owned();
    };
    if throttled.throttled_periods == 0 {
        return "No quota stopped these tasks.".to_owned();
    }
    format!(
        "A quota stopped the control group in {} of {} periods, for {} in all, summed over CPUs.",
        text::count(throttled.throttled_periods),
        text::count(throttled.periods),
        text::ns(throttled.throttled_ns as f64)
    )
}
