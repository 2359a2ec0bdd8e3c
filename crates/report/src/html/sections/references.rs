//! A switch next to other operations of the kernel.

use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Estimate;
use swtch_topology::Placement;

use super::{Profiles, estimate_cells, tip};
use crate::html::prelude::*;
use crate::wording::headline;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "A switch is easier to judge next to what a program does anyway: enter the kernel, start a thread, start a \
                 process.";
    let operations = operations(subjects);
    let has = |profile: &Profile| {
        let references = &profile.references;
        [&references.syscall_ns, &references.fork_ns, &references.thread_create_ns]
            .iter()
            .any(|one| one.is_some())
    };
    Section::new("references", "For scale: other operations", intro)
        .put((!operations.is_empty()).then(|| figure(subjects, &operations)))
        .put(subjects.missing("reference operation", ProfilePart::References, has))
}

/// An operation, whether it is a switch, and its estimate in each profile that has it.
type OperationOf<'a> = ((String, bool), Vec<(One<'a, Profile>, &'a Estimate)>);

/// What a profile holds for one operation, with the words for it.
fn entries_of(profile: &Profile) -> Vec<(String, bool, &Estimate)> {
    let references = &profile.references;
    let mut found: Vec<(String, bool, &Estimate)> = Vec::new();
    found.extend(references.syscall_ns.as_ref().map(|e| ("system call".to_owned(), false, e)));
    for row in [headline::headline_row(profile), headline::cross_cpu_row(profile)].into_iter().flatten() {
        let what = if row.placement == Placement::SameCpu { "switch" } else { "wake-up" };
        let label = format!("{what}, {}", naming::placement_short(row.placement));
        // A profile without a same-CPU row may have one and the same row for both.
        if !found.iter().any(|(known, _, _)| *known == label) {
            found.push((label, true, &row.switch_cost_ns));
        }
    }
    // One message of few: the deep queues are in the Profile, for the simulator.
    let few = profile.messages.iter().filter(|row| row.depth == 1);
    found.extend(few.map(|row| {
        let where_it_goes = naming::placement_short(row.placement);
        (format!("message by {}, {where_it_goes}", row.carrier), false, &row.message_ns)
    }));
    found.extend(
        references.thread_create_ns.as_ref().map(|e| ("thread: create and join".to_owned(), false, e)),
    );
    found.extend(references.fork_ns.as_ref().map(|e| ("process: fork, exit, wait".to_owned(), false, e)));
    found
}

fn operations(subjects: Profiles<'_>) -> Vec<OperationOf<'_>> {
    let mut operations: Vec<OperationOf<'_>> = Vec::new();
    for one in subjects.iter() {
        for (label, switch, estimate) in entries_of(one.of) {
            gathered(&mut operations, (label, switch)).push((one, estimate));
        }
    }
    // Ordered by the first profile's figure, so that the bars rise.
    operations.sort_by(|(_, a), (_, b)| a[0].1.median.total_cmp(&b[0].1.median));
    operations
}

fn figure(subjects: Profiles<'_>, operations: &[OperationOf<'_>]) -> Figure {
    let mut rows = Vec::new();
    let mut bars = Vec::new();
    for ((label, switch), estimates) in operations {
        let title = text::capitalised(label);
        rows.extend(estimates.iter().map(|(one, estimate)| one.row(&title, estimate_cells(estimate))));
        let bar = |(one, estimate): &(One<'_, Profile>, &Estimate)| {
            let colour = match (subjects.several(), switch) {
                (true, _) => one.colour(),
                (false, true) => "c0".to_owned(),
                (false, false) => "c-neutral".to_owned(),
            };
            Bar { colour, value: (*estimate).into(), tip: tip(*one, label, estimate) }
        };
        bars.push(Operation { label: title, bars: estimates.iter().map(bar).collect() });
    }
    let table = Table::new("Operations of the kernel", "Operation", rows);
    let label =
        "Time of a system call, a switch, a thread’s and a process’s creation, as bars on a logarithmic axis";
    let caption = "Time of each operation (median). The axis is logarithmic: each step between powers of ten is ten times \
                   the one before, so compare the numbers rather than the lengths.";
    Figure::new("figure-references", caption, label, table, &bars).legend(subjects.legend())
}
