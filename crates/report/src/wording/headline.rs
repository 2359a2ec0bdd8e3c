//! What a switch costs, by the rows of a Profile that say it best, in a sentence.

use super::{naming, text};
use swtch_profile::Profile;
use swtch_profile::model::{Direct, Total};
use swtch_profile::vocabulary::{Class, Flag, Method, Tasks};
use swtch_topology::Placement;
use swtch_topology::host::Cache;

/// An element's size: at this stride the array is walked from end to end.
pub(crate) const SEQUENTIAL: u64 = 8;

/// The direct cost that answers "what does a switch cost here": two threads, one CPU, by pipe, normal class; else the row
/// nearest to that. A figure at or below zero is chosen last.
pub(crate) fn headline_row(profile: &Profile) -> Option<&Direct> {
    best(profile, |_| true)
}

/// The cost of waking a task on another CPU, the nearest one that was measured.
pub(crate) fn cross_cpu_row(profile: &Profile) -> Option<&Direct> {
    best(profile, |row| {
        ![Placement::SameCpu, Placement::SmtSibling, Placement::Unpinned].contains(&row.placement)
    })
    .or_else(|| best(profile, |row| row.placement == Placement::SmtSibling))
}

pub(crate) fn process_row(profile: &Profile) -> Option<&Direct> {
    best(profile, |row| row.tasks == Tasks::Process && row.placement == Placement::SameCpu)
}

fn best(profile: &Profile, wanted: impl Fn(&Direct) -> bool) -> Option<&Direct> {
    profile
        .direct
        .iter()
        .filter(|row| wanted(row))
        .min_by_key(|row| (row.switch_cost_ns.median <= 0.0, row.placement, row.class, row.method, row.tasks))
}

/// The row of c2 whose arrays come nearest to the L2's size, read from end to end, and that L2.
pub(crate) fn at_l2(profile: &Profile) -> Option<(&Total, &Cache)> {
    let l2 = naming::data_caches(&profile.host).into_iter().find(|cache| cache.level == 2)?;
    let distance = |row: &Total| ((row.array_bytes as f64).ln() - (l2.bytes as f64).ln()).abs();
    let row =
        profile.total.iter().filter(|row| row.stride_bytes == SEQUENTIAL && row.array_bytes > 0).min_by(
            |a, b| {
                let by_access = a.access.cmp(&b.access);
                distance(a).total_cmp(&distance(b)).then(by_access)
            },
        )?;
    // Beyond a factor of two it would be a figure about something else.
    (distance(row) <= 2f64.ln() + 1e-9).then_some((row, l2))
}

/// The answer in a sentence, with what it rests on.
pub(crate) fn sentence(profile: &Profile) -> String {
    let Some(row) = headline_row(profile) else {
        return "This profile holds no figure for a switch; what could not be measured, and why, is listed under “Noise”."
            .to_owned();
    };
    let estimate = &row.switch_cost_ns;
    let method = if row.method == Method::Pipe { String::new() } else { format!(" (method {})", row.method) };
    let class = match row.class {
        Class::Normal => "",
        Class::Fifo => ", in the real-time FIFO class,",
    };
    let core = profile.core_of(row).map(|core| format!(" ({core})")).unwrap_or_default();
    let subject = format!(
        "A switch between two {} {}{core}{class}{method}",
        row.tasks.plural(),
        naming::placement_phrase(row.placement)
    );
    if estimate.median <= 0.0 {
        return format!(
            "{subject} cannot be distinguished from noise: the figure is {} ({}, 95\u{a0}%), at or below zero.",
            text::ns(estimate.median),
            text::ns_range(estimate.ci_low, estimate.ci_high)
        );
    }
    let flagged = if estimate.flags.is_empty() {
        String::new()
    } else {
        format!(" (flagged: {})", Flag::list(&estimate.flags))
    };
    let costs = format!(
        "{subject} costs {} (median, 95\u{a0}%), {} undisturbed{flagged}",
        text::ns_plus_minus(estimate),
        text::ns(estimate.undisturbed)
    );
    let wake_up = cross_cpu_row(profile)
        .filter(|cross| row.placement == Placement::SameCpu && cross.switch_cost_ns.median > 0.0)
        .map(|cross| format!("; to wake one on another CPU costs {}", text::ns(cross.switch_cost_ns.median)));
    let refill = at_l2(profile).filter(|(total, _)| total.indirect_cost_ns.median > 0.0).map(|(total, _)| {
        format!(
            " When each task works on {}, refilling the caches adds {}.",
            text::bytes(total.array_bytes),
            text::ns(total.indirect_cost_ns.median)
        )
    });
    let processes = address_space(profile, row);
    format!(
        "{costs}{}.{}{}",
        wake_up.unwrap_or_default(),
        processes.unwrap_or_default(),
        refill.unwrap_or_default()
    )
}

/// What a switch between processes costs more than `row`'s between threads; nothing where the difference is within the intervals.
fn address_space(profile: &Profile, row: &Direct) -> Option<String> {
    let alike = |other: &&Direct| {
        other.tasks == Tasks::Process
            && (other.method, other.placement, other.class, &other.cpus)
                == (row.method, row.placement, row.class, &row.cpus)
    };
    let processes = &profile.direct.iter().find(alike).filter(|_| row.tasks == Tasks::Thread)?.switch_cost_ns;
    let threads = &row.switch_cost_ns;
    (processes.ci_low > threads.ci_high).then(|| {
        format!(
            " Between two processes it costs {}, of which {} is the change of address space.",
            text::ns(processes.median),
            text::ns(processes.median - threads.median)
        )
    })
}
