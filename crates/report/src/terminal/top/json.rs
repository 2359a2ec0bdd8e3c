//! A window for machines.

use super::rates::TopRow;
use super::window::Window;
use serde_json::{Value, json};

/// A window as `swtch top --json` prints it, one object. What the source does not see is `null` and has its reason in `unavailable`. Tasks that
/// did nothing are left out; rates are a second, shares of one CPU unless they say otherwise.
pub fn json(window: &Window) -> Value {
    let active = |rows: Vec<TopRow>| rows.into_iter().filter(TopRow::is_active).collect::<Vec<_>>();
    json!({
        "schema": "swtch/top/1",
        "unix_ns": window.unix_ns,
        "length_ns": window.length_ns,
        "source": window.source,
        "why": window.why,
        "cost_source": window.cost_source,
        "switches_per_s": window.switches_per_s(),
        "totals": window.totals,
        "tasks": active(window.tasks.clone()),
        "processes": active(window.processes()),
        "cgroups": active(window.cgroups()),
        "cpus": window.cpus,
        "spinning": window.spinning,
        "unavailable": window.unavailable,
    })
}
