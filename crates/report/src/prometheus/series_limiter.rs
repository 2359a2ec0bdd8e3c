//! Decides which of many names have a series of their own. Their number never exceeds the limit, and the other names share the label `other`.
//!
//! A name keeps its series while it does something and there is room. A name's counter counts the events while the name is shown, and `other`
//! counts them while it is not. So neither counter ever goes back, and each event is counted in exactly one of them. A name that is given up
//! for a busier one stays unchanged for [`STILL_NS`] before its series ends. A scraper that reads less often therefore misses none of its counts.
//! Events of that time are already counted in `other`.

use std::collections::HashMap;

/// The label of all that have none of their own. Cgroups begin with a slash, and no interrupt is called so.
pub(super) const OTHER: &str = "other";
/// How long a series stays unchanged before it ends. Also the interval between two searches for the busiest names.
pub(super) const STILL_NS: u64 = 300_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// A series of its own, though it may be unchanged.
    shown: bool,
    /// When it was given up for another; nothing is added any more.
    left_ns: Option<u64>,
    /// When it was last there.
    seen_ns: u64,
    /// Its events since the last search for the busiest names.
    weight: u64,
}

impl Entry {
    /// Whether it has a series to which something can be added.
    fn grows(&self) -> bool {
        self.shown && self.left_ns.is_none()
    }
}

/// The names.
#[derive(Clone, Debug)]
pub(super) struct SeriesLimiter {
    most: usize,
    /// Whether names that are absent for a while lose their series, even if no other name needs it.
    come_and_go: bool,
    entries: HashMap<String, Entry>,
    /// Entries with a series of their own.
    count: usize,
    reviewed_ns: Option<u64>,
}

impl SeriesLimiter {
    pub(super) fn new(most: usize, come_and_go: bool) -> Self {
        Self { most, come_and_go, entries: HashMap::new(), count: 0, reviewed_ns: None }
    }

    /// Whether `name`, which did so much, has a series of its own; otherwise it belongs to [`OTHER`].
    pub(super) fn note(&mut self, name: &str, weight: u64, now_ns: u64) -> bool {
        let new = Entry { shown: false, left_ns: None, seen_ns: now_ns, weight: 0 };
        let entry = self.entries.entry(name.to_owned()).or_insert(new);
        entry.seen_ns = now_ns;
        entry.weight = entry.weight.saturating_add(weight);
        if !entry.shown && self.count < self.most {
            self.count += 1;
            entry.shown = true;
        }
        entry.grows()
    }

    /// Whether `name` has a series to which something can be added.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(Entry::grows)
    }

    /// Those that have a series to which something can be added.
    pub(super) fn names(&self) -> Vec<String> {
        self.weights(Entry::grows).into_iter().map(|(_, name)| name).collect()
    }

    /// The entries that are wanted, with what each did.
    fn weights(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<(u64, String)> {
        let wanted = self.entries.iter().filter(|(_, entry)| wanted(entry));
        wanted.map(|(name, entry)| (entry.weight, name.clone())).collect()
    }

    /// Finds the busiest names, at most once in [`STILL_NS`]. Returns the names whose series end.
    pub(super) fn review(&mut self, now_ns: u64) -> Vec<String> {
        let last_ns = *self.reviewed_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(last_ns) < STILL_NS {
            return Vec::new();
        }
        self.reviewed_ns = Some(now_ns);
        let old = |since_ns: u64| now_ns.saturating_sub(since_ns) >= STILL_NS;
        let come_and_go = self.come_and_go;
        let gone = |entry: &Entry| old(entry.seen_ns) && (come_and_go || !entry.shown);
        let over = |entry: &Entry| entry.left_ns.is_some_and(old) || gone(entry);
        let ended = self.weights(|entry| entry.shown && over(entry)).into_iter();
        let ended: Vec<String> = ended.map(|(_, name)| name).collect();
        for name in &ended {
            if let Some(entry) = self.entries.get_mut(name) {
                (entry.shown, entry.left_ns) = (false, None);
            }
        }
        self.count -= ended.len();
        self.entries.retain(|_, entry| !gone(entry));
        self.give_room(now_ns);
        for entry in self.entries.values_mut() {
            entry.weight = 0;
        }
        ended
    }

    /// Gives the free series to the busiest names without one. If none is free, names with less than half as many events begin to leave.
    fn give_room(&mut self, now_ns: u64) {
        let mut hidden = self.weights(|entry| !entry.shown && entry.weight > 0);
        hidden.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.cmp(b)));
        let mut hidden = hidden.into_iter();
        for (_, name) in hidden.by_ref().take(self.most.saturating_sub(self.count)) {
            self.count += 1;
            if let Some(entry) = self.entries.get_mut(&name) {
                entry.shown = true;
            }
        }
        // Each name that is already leaving makes room for one of these.
        let leaving = self.entries.values().filter(|entry| entry.left_ns.is_some()).count();
        let mut quiet = self.weights(Entry::grows);
        quiet.sort();
        for ((busy, _), (weight, name)) in hidden.skip(leaving).zip(quiet) {
            if busy <= weight.saturating_mul(2) {
                break;
            }
            if let Some(entry) = self.entries.get_mut(&name) {
                entry.left_ns = Some(now_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn there_are_never_more_than_asked_for() {
        let mut shown = SeriesLimiter::new(2, true);
        let given: Vec<bool> = ["/a", "/b", "/c"].iter().map(|name| shown.note(name, 1, 0)).collect();
        assert_eq!(given, [true, true, false]);
        assert!(shown.note("/a", 1, SECOND) && !shown.note("/c", 100, SECOND));
        assert_eq!(shown.review(SECOND), Vec::<String>::new());
        assert!(!SeriesLimiter::new(0, true).note("/a", 1, 0));
    }

    #[test]
    fn a_busier_one_takes_the_place_after_it_stood_still() {
        let mut shown = SeriesLimiter::new(2, true);
        let work = |shown: &mut SeriesLimiter, now_ns: u64, weights: [u64; 3]| {
            let mut given = Vec::new();
            for (name, weight) in ["/a", "/b", "/c"].into_iter().zip(weights) {
                given.push(shown.note(name, weight, now_ns));
            }
            given
        };
        work(&mut shown, 0, [1, 1, 1]);
        shown.review(0);
        assert_eq!(work(&mut shown, SECOND, [10, 3, 9]), [true, true, false]);
        assert_eq!(shown.review(STILL_NS), Vec::<String>::new(), "it begins to leave");
        assert_eq!(work(&mut shown, STILL_NS, [10, 3, 9]), [true, false, false], "/b stands still");
        assert!(shown.has("/a") && !shown.has("/b"));
        work(&mut shown, 2 * STILL_NS, [10, 3, 9]);
        assert_eq!(shown.review(2 * STILL_NS), ["/b"]);
        assert_eq!(work(&mut shown, 2 * STILL_NS + 1, [10, 3, 9]), [true, false, true]);
        // A little more is not enough.
        assert_eq!(shown.review(3 * STILL_NS), Vec::<String>::new());
        assert_eq!(work(&mut shown, 4 * STILL_NS - 1, [10, 11, 9]), [true, false, true]);
        assert_eq!(shown.review(4 * STILL_NS), Vec::<String>::new());
        assert_eq!(work(&mut shown, 4 * STILL_NS, [10, 11, 9]), [true, false, true]);
    }

    #[test]
    fn who_is_gone_leaves_its_place_and_no_trace() {
        let mut shown = SeriesLimiter::new(1, true);
        assert!(shown.note("/gone", 5, 0));
        assert!(!shown.note("/next", 1, 0));
        shown.review(0);
        for second in 1..=300 {
            assert!(!shown.note("/next", 1, second * SECOND));
        }
        assert_eq!(shown.review(STILL_NS), ["/gone"]);
        assert_eq!(shown.entries.len(), 1);
        assert!(shown.note("/next", 1, STILL_NS));
    }

    #[test]
    fn what_does_not_come_and_go_keeps_its_series_while_it_is_quiet() {
        let mut shown = SeriesLimiter::new(1, false);
        assert!(shown.note("quiet", 5, 0));
        shown.review(0);
        assert_eq!(shown.review(STILL_NS), Vec::<String>::new());
        assert!(!shown.note("busy", 1, STILL_NS + 1) && shown.has("quiet"));
        assert_eq!(shown.review(2 * STILL_NS), Vec::<String>::new());
        assert!(!shown.has("quiet"), "it gives way to a busy one");
    }
}
