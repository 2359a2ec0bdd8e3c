//! The profile's terms in words, and the order in which a reader expects them.

use swtch_profile::model::{Direct, RegionKind};
use swtch_topology::host::{Cache, CacheKind, Host};

/// From the plainest method to the one that says least about a switch.
const METHODS: [&str; 7] = ["pipe", "eventfd", "futex", "condvar", "ring", "pid-sum-ring", "yield"];
/// From near to far.
const PLACEMENTS: [&str; 8] = [
    "same-cpu",
    "smt-sibling",
    "shared-l2",
    "shared-l3",
    "same-package",
    "other-package",
    "other-core-kind",
    "unpinned",
];
const TASKS: [&str; 2] = ["thread", "process"];
const CLASSES: [&str; 2] = ["normal", "fifo"];
const ACCESSES: [&str; 3] = ["read", "write", "read-modify-write"];

fn rank(order: &[&str], term: &str) -> usize {
    order.iter().position(|known| *known == term).unwrap_or(order.len())
}

/// Position among the methods; unknown ones come last.
pub(super) fn method_rank(term: &str) -> usize {
    rank(&METHODS, term)
}

/// Position among the placements.
pub(super) fn placement_rank(term: &str) -> usize {
    rank(&PLACEMENTS, term)
}

/// Threads before processes.
pub(super) fn tasks_rank(term: &str) -> usize {
    rank(&TASKS, term)
}

/// Normal before FIFO.
pub(super) fn class_rank(term: &str) -> usize {
    rank(&CLASSES, term)
}

/// Reads before writes before both.
pub(super) fn access_rank(term: &str) -> usize {
    rank(&ACCESSES, term)
}

/// A placement as a heading.
pub(super) fn placement_title(term: &str) -> String {
    match term {
        "same-cpu" => "Same CPU".to_owned(),
        "smt-sibling" => "SMT siblings of one core".to_owned(),
        "shared-l2" => "Two cores that share an L2".to_owned(),
        "shared-l3" => "Two cores that share an L3".to_owned(),
        "same-package" => "Two cores of one package".to_owned(),
        "other-package" => "Two packages".to_owned(),
        "other-core-kind" => "Two kinds of core".to_owned(),
        "unpinned" => "Unpinned".to_owned(),
        other => other.to_owned(),
    }
}

/// A placement as part of a label.
pub(super) fn placement_short(term: &str) -> String {
    match term {
        "same-cpu" => "same CPU".to_owned(),
        "smt-sibling" => "SMT sibling".to_owned(),
        "shared-l2" => "shared L2".to_owned(),
        "shared-l3" => "shared L3".to_owned(),
        other => super::text::shortened(&other.replace('-', " "), 16),
    }
}

/// A placement inside a sentence: "a switch between two threads ...".
pub(super) fn placement_phrase(term: &str) -> String {
    match term {
        "same-cpu" => "on one CPU".to_owned(),
        "smt-sibling" => "on two SMT siblings of one core".to_owned(),
        "shared-l2" => "on two cores that share an L2".to_owned(),
        "shared-l3" => "on two cores that share an L3".to_owned(),
        "same-package" => "on two cores of one package".to_owned(),
        "other-package" => "on two packages".to_owned(),
        "other-core-kind" => "on two kinds of core".to_owned(),
        "unpinned" => "left unpinned".to_owned(),
        other => format!("placed '{other}'"),
    }
}

/// `thread`, `process, FIFO`.
pub(super) fn tasks_and_class(row: &Direct) -> String {
    match row.class.as_str() {
        "normal" => row.tasks.clone(),
        "fifo" => format!("{}, FIFO", row.tasks),
        other => format!("{}, {other}", row.tasks),
    }
}

/// `threads`, `processes`.
pub(super) fn plural(tasks: &str) -> String {
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
pub(super) fn reason_meaning(reason: &str) -> String {
    match reason {
        "foreign-cpu-time" => "another task ran on the processor".to_owned(),
        "slow-clock" => "the spin loop ran slow".to_owned(),
        "migrated" => "a task was moved to another processor".to_owned(),
        "switch-count" => "the switches counted were not those the method makes".to_owned(),
        other => other.to_owned(),
    }
}

/// `L1d`, `L2`.
pub(super) fn cache_name(cache: &Cache) -> String {
    match cache.kind {
        CacheKind::Data => format!("L{}d", cache.level),
        CacheKind::Instruction => format!("L{}i", cache.level),
        CacheKind::Unified => format!("L{}", cache.level),
    }
}

/// The caches that hold data, each name and size once, nearest first.
pub(super) fn data_caches(host: &Host) -> Vec<&Cache> {
    let mut found: Vec<&Cache> = Vec::new();
    for cache in host.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction && cache.bytes > 0) {
        if !found.iter().any(|known| known.level == cache.level && known.bytes == cache.bytes) {
            found.push(cache);
        }
    }
    found.sort_by_key(|cache| (cache.level, cache.bytes));
    found
}
