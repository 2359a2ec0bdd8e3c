//! A switch beside other operations of the kernel.

use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Estimate;
use swtch_topology::Placement;

use super::super::charts::bars::{self, Bar, Operation};
use super::super::naming;
use super::super::page::{Figure, Section};
use super::super::text;
use super::{Profiles, estimate_cells, tip};
use crate::wording::headline;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "What a switch costs is easier to judge beside what a program does anyway: enter the kernel, start a thread, start \
                 a process.";
    let mut section = Section::new("references", "For scale: other operations", intro);
    let operations = operations(subjects);
    section.put((!operations.is_empty()).then(|| figure(subjects, &operations)));
    let has = |p: &Profile| {
        p.references.syscall_ns.is_some()
            || p.references.fork_ns.is_some()
            || p.references.thread_create_ns.is_some()
    };
    section.put(subjects.missing("reference operation", ProfilePart::References, has));
    section
}

/// An operation and its estimate in each profile that has it.
struct Entry<'a> {
    label: String,
    switch: bool,
    estimates: Vec<(usize, &'a Estimate)>,
}

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

fn operations(subjects: Profiles<'_>) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (index, named) in subjects.iter() {
        for (label, switch, estimate) in entries_of(&named.profile) {
            match entries.iter_mut().find(|entry| entry.label == label) {
                Some(entry) => entry.estimates.push((index, estimate)),
                None => entries.push(Entry { label, switch, estimates: vec![(index, estimate)] }),
            }
        }
    }
    // Ordered by the first profile's figure, so that the bars rise.
    entries.sort_by(|a, b| a.estimates[0].1.median.total_cmp(&b.estimates[0].1.median));
    entries
}

fn figure(subjects: Profiles<'_>, entries: &[Entry<'_>]) -> Figure {
    let colour = |index: usize, switch: bool| match (subjects.several(), switch) {
        (true, _) => subjects.colour(index),
        (false, true) => "c0".to_owned(),
        (false, false) => "c-neutral".to_owned(),
    };
    let operations: Vec<Operation> = entries
        .iter()
        .map(|entry| Operation {
            label: text::capitalised(&entry.label),
            bars: entry
                .estimates
                .iter()
                .map(|(index, estimate)| Bar {
                    colour: colour(*index, entry.switch),
                    value: (*estimate).into(),
                    tip: tip(subjects, *index, &entry.label, estimate),
                })
                .collect(),
        })
        .collect();
    let rows = entries.iter().flat_map(|entry| {
        let row = |(index, estimate): &(usize, &Estimate)| {
            (*index, text::capitalised(&entry.label), estimate_cells(estimate))
        };
        entry.estimates.iter().map(row)
    });
    let table = subjects.table("Operations of the kernel", "Operation", rows);
    let label =
        "Time of a system call, a switch, a thread’s and a process’s creation, as bars on a logarithmic axis";
    let caption = "Time of each operation (median). The axis is logarithmic: each step between powers of ten is ten times \
                   the one before, so compare the numbers rather than the lengths.";
    Figure::new("figure-references", caption, table, |size| bars::draw(&operations, label, size))
        .legend(subjects.legend())
}
