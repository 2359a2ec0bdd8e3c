//! The profile's terms in words, and the order in which a reader expects them.

use swtch_profile::model::{Direct, RegionKind};
use swtch_topology::host::{Cache, CacheKind, Host};

/// From the plainest method to the one that says least about a switch.
const METHODS: [&str; 7] = ["pipe", "eventfd", "futex", "condvar", "ring", "pid-sum-ring", "yield"];
/// From near to far: the term, as a heading, inside a sentence ("a switch between two threads ...") and as part of a label.
const PLACEMENTS: [(&str, &str, &str, &str); 8] = [
    ("same-cpu", "Same CPU", "on one CPU", "same CPU"),
    ("smt-sibling", "SMT siblings of one core", "on two SMT siblings of one core", "SMT sibling"),
    ("shared-l2", "Two cores that share an L2", "on two cores that share an L2", "shared L2"),
    ("shared-l3", "Two cores that share an L3", "on two cores that share an L3", "shared L3"),
    ("same-package", "Two cores of one package", "on two cores of one package", "same package"),
    ("other-package", "Two packages", "on two packages", "other package"),
    ("other-core-kind", "Two kinds of core", "on two kinds of core", "other core kind"),
    ("unpinned", "Unpinned", "left unpinned", "unpinned"),
];
const TASKS: [&str; 2] = ["thread", "process"];
const CLASSES: [&str; 2] = ["normal", "fifo"];
const ACCESSES: [&str; 3] = ["read", "write", "read-modify-write"];

fn rank(order: &[&str], term: &str) -> usize {
    order.iter().position(|known| *known == term).unwrap_or(order.len())
}

/// Position among the methods; unknown ones come last.
pub(crate) fn method_rank(term: &str) -> usize {
    rank(&METHODS, term)
}

/// Position among the placements.
pub(crate) fn placement_rank(term: &str) -> usize {
    PLACEMENTS.iter().position(|(known, ..)| *known == term).unwrap_or(PLACEMENTS.len())
}

/// Threads before processes.
pub(crate) fn tasks_rank(term: &str) -> usize {
    rank(&TASKS, term)
}

/// Normal before FIFO.
pub(crate) fn class_rank(term: &str) -> usize {
    rank(&CLASSES, term)
}

/// Reads before writes before both.
pub(crate) fn access_rank(term: &str) -> usize {
    rank(&ACCESSES, term)
}

fn placement(term: &str) -> Option<&'static (&'static str, &'static str, &'static str, &'static str)> {
    PLACEMENTS.iter().find(|(known, ..)| *known == term)
}

/// A placement as a heading.
pub(crate) fn placement_title(term: &str) -> String {
    placement(term).map_or(term, |(_, title, ..)| title).to_owned()
}

/// A placement as part of a label.
pub(crate) fn placement_short(term: &str) -> String {
    let other = || super::text::shortened(&term.replace('-', " "), 16);
    placement(term).map_or_else(other, |(.., short)| (*short).to_owned())
}

/// A placement inside a sentence.
pub(crate) fn placement_phrase(term: &str) -> String {
    placement(term).map_or_else(|| format!("placed '{term}'"), |(_, _, phrase, _)| (*phrase).to_owned())
}

/// `thread`, `process, FIFO`.
pub(crate) fn tasks_and_class(row: &Direct) -> String {
    match row.class.as_str() {
        "normal" => row.tasks.clone(),
        "fifo" => format!("{}, FIFO", row.tasks),
        other => format!("{}, {other}", row.tasks),
    }
}

/// `threads`, `processes`.
pub(crate) fn plural(tasks: &str) -> String {
    match tasks {
        "thread" => "threads".to_owned(),
        "process" => "processes".to_owned(),
        other => format!("'{other}' tasks"),
    }
}

/// Name and style class of a region.
pub(crate) fn region_name(kind: RegionKind) -> &'static str {
    match kind {
        RegionKind::Fits => "fits",
        RegionKind::Interferes => "interferes",
        RegionKind::Exceeds => "exceeds",
    }
}

/// What a flag warns of.
pub(crate) fn flag_meaning(flag: &str) -> &'static str {
    match flag {
        "negative" => {
            "the work without switches took longer than the work with them: noise is larger than the figure"
        }
        "noisy-host" => "other tasks or the hypervisor took processor time during it",
        "unexpected-switch-count" => {
            "the kernel counted more or fewer switches than the method should make; the figure is divided by the true count"
        }
        "few-batches" => "too few batches were left for a narrow interval",
        _ => "see the profile's documentation",
    }
}

/// Why batches were left out.
pub(crate) fn reason_meaning(reason: &str) -> String {
    match reason {
        "foreign-cpu-time" => "another task ran on the processor".to_owned(),
        "slow-clock" => "the spin loop ran slow".to_owned(),
        "migrated" => "a task was moved to another processor".to_owned(),
        "switch-count" => "the switches counted were not those the method makes".to_owned(),
        other => other.to_owned(),
    }
}

/// `L1d`, `L2`.
pub(crate) fn cache_name(cache: &Cache) -> String {
    match cache.kind {
        CacheKind::Data => format!("L{}d", cache.level),
        CacheKind::Instruction => format!("L{}i", cache.level),
        CacheKind::Unified => format!("L{}", cache.level),
    }
}

/// The caches that hold data, each name and size once, nearest first.
pub(crate) fn data_caches(host: &Host) -> Vec<&Cache> {
    let mut found: Vec<&Cache> = Vec::new();
    for cache in host.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction && cache.bytes > 0) {
        if !found.iter().any(|known| known.level == cache.level && known.bytes == cache.bytes) {
            found.push(cache);
        }
    }
    found.sort_by_key(|cache| (cache.level, cache.bytes));
    found
}
