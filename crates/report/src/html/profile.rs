//! The key figures of a Profile. Nothing is computed that it does not hold: a figure that is absent is called absent.

use swtch_profile::Profile;
use swtch_profile::model::{Direct, Estimate, Total};
use swtch_topology::host::Cache;

use super::prelude::*;
use crate::wording::headline::{at_l2, cross_cpu_row, process_row};

/// The key figures.
pub(super) const TILES: [KeyFigure<Profile>; 4] = [
    (
        "Process switch, same CPU",
        "Two processes take turns; beyond a thread switch, the address space changes.",
        |profile| known::<Profile>(process_row(profile).map(measured_row)),
    ),
    (
        "Wake-up on another CPU",
        "Signal a sleeping CPU and get it going: what spreading work over CPUs costs each time.",
        |profile| known::<Profile>(cross_cpu_row(profile).map(measured_row)),
    ),
    (
        "Indirect cost at L2 size",
        "Refilling caches after a switch, when each task works on as much data as the L2 holds.",
        |profile| known::<Profile>(at_l2(profile).map(|(row, l2)| refill(row, l2))),
    ),
    ("System call", "One getppid, for scale: into the kernel and back, without a switch.", |profile| {
        let estimate = profile.references.syscall_ns.as_ref();
        known::<Profile>(estimate.map(|estimate| (text::ns(estimate.median), undisturbed(estimate))))
    }),
];

fn undisturbed(estimate: &Estimate) -> String {
    format!("{} undisturbed", text::ns(estimate.undisturbed))
}

fn measured_row(row: &Direct) -> (String, String) {
    let estimate = &row.switch_cost_ns;
    let place = naming::placement_phrase(row.placement);
    let detail =
        format!("{}; {}, {}, {place}", undisturbed(estimate), row.method, naming::tasks_and_class(row));
    (text::ns(estimate.median), detail)
}

fn refill(row: &Total, l2: &Cache) -> (String, String) {
    let (array, l2) = (text::bytes(row.array_bytes), text::bytes(l2.bytes));
    (text::ns(row.indirect_cost_ns.median), format!("{array} arrays, {}; L2 holds {l2}", row.access))
}
