//! The profile's terms in words.

use swtch_profile::model::{Direct, RegionKind};
use swtch_profile::vocabulary::Class;
use swtch_topology::Placement;
use swtch_topology::host::{Cache, CacheKind, Host};

/// A placement as a heading, inside a sentence ("a switch between two threads ...") and as part of a label.
fn placement_words(placement: Placement) -> [&'static str; 3] {
    match placement {
        Placement::SameCpu => ["Same CPU", "on one CPU", "same CPU"],
        Placement::SmtSibling => {
            ["SMT siblings of one core", "on two SMT siblings of one core", "SMT sibling"]
        }
        Placement::SharedL2 => ["Two cores that share an L2", "on two cores that share an L2", "shared L2"],
        Placement::SharedL3 => ["Two cores that share an L3", "on two cores that share an L3", "shared L3"],
        Placement::SamePackage => ["Two cores of one package", "on two cores of one package", "same package"],
        Placement::OtherPackage => ["Two packages", "on two packages", "other package"],
        Placement::OtherCoreKind => ["Two kinds of core", "on two kinds of core", "other core kind"],
        Placement::Unpinned => ["Unpinned", "left unpinned", "unpinned"],
    }
}

/// A placement as a heading.
pub(crate) fn placement_title(placement: Placement) -> &'static str {
    placement_words(placement)[0]
}

/// A placement inside a sentence.
pub(crate) fn placement_phrase(placement: Placement) -> &'static str {
    placement_words(placement)[1]
}

/// A placement as part of a label.
pub(crate) fn placement_short(placement: Placement) -> &'static str {
    placement_words(placement)[2]
}

/// `thread`, `process, FIFO`.
pub(crate) fn tasks_and_class(row: &Direct) -> String {
    match row.class {
        Class::Normal => row.tasks.to_string(),
        Class::Fifo => format!("{}, FIFO", row.tasks),
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
