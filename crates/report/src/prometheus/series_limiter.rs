//! Decides which of many names have a series of their own. At most `most` of them grow, and the other names share the label `other`.
//!
//! A name keeps its series while it is there and does something. A name's counter counts the events while its series grows, and `other`
//! counts them while it does not. So neither counter ever goes back, and each event is counted in exactly one of them. A name that is gone, or
//! that is given up for a busier one, gives its place away at once. Its series stays unchanged for [`STILL_NS`] before it ends, so that a scraper
//! that reads less often misses none of its counts. Half as many series as grow may stand still like that; those that did least end earlier.

use std::collections::HashMap;

/// The label of all that have none of their own. Cgroups begin with a slash, and no interrupt is called so.
pub(super) const OTHER: &str = "other";
/// How long a series stays unchanged before it ends. Also the interval between two searches for names that are busier than those shown.
pub(super) const STILL_NS: u64 = 300_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// A series of its own, though it may be unchanged.
    shown: bool,
    /// When it gave its place away; nothing is added any more.
    left_ns: Option<u64>,
    /// Whether it was noted since the last review.
    there: bool,
    /// Its events since the last search for the busiest names.
    weight: u64,
}

impl Entry {
    /// Whether it has a series to which something can be added.
    fn grows(&self) -> bool {
        self.shown && self.left_ns.is_none()
    }

    /// Whether it is there, does something and has no series that grows.
    fn wants(&self) -> bool {
        !self.grows() && self.weight > 0 && self.there
    }
}

/// The names.
#[derive(Clone, Debug)]
pub(super) struct SeriesLimiter {
    most: usize,
    /// Whether names that are absent lose their series, even if no other name needs it.
    come_and_go: bool,
    entries: HashMap<String, Entry>,
    /// Entries whose series grow.
    count: usize,
    /// When busier names were searched for last.
    searched_ns: Option<u64>,
}

impl SeriesLimiter {
    pub(super) fn new(most: usize, come_and_go: bool) -> Self {
        Self { most, come_and_go, entries: HashMap::new(), count: 0, searched_ns: None }
    }

    /// Whether no name ever has a series.
    pub(super) fn is_closed(&self) -> bool {
        self.most == 0
    }

    /// Whether `name`, which did so much, has a series of its own; otherwise it belongs to [`OTHER`].
    pub(super) fn note(&mut self, name: &str, weight: u64) -> bool {
        let free = self.count < self.most;
        let entry = self.noted(name, weight);
        let begins = !entry.grows() && free;
        if begins {
            (entry.shown, entry.left_ns) = (true, None);
        }
        let grows = entry.grows();
        self.count += usize::from(begins);
        grows
    }

    fn noted(&mut self, name: &str, weight: u64) -> &mut Entry {
        let new = Entry { shown: false, left_ns: None, there: true, weight: 0 };
        let entry = self.entries.entry(name.to_owned()).or_insert(new);
        entry.there = true;
        entry.weight = entry.weight.saturating_add(weight);
        entry
    }

    /// Notes all that are there and what each did. Places of those that are gone are free at once, and the busiest get what is free.
    pub(super) fn note_all<'a>(&mut self, all: impl Iterator<Item = (&'a str, u64)>, now_ns: u64) {
        for (name, weight) in all {
            self.noted(name, weight);
        }
        if self.come_and_go {
            self.take_leave(|entry| entry.grows() && !entry.there, now_ns);
        }
        self.give_room();
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

    /// After every name that is there was noted: gives the places of those that are gone to the busiest, and once in [`STILL_NS`] those of quiet
    /// ones to busier ones. Returns the names whose series end.
    pub(super) fn review(&mut self, now_ns: u64) -> Vec<String> {
        if self.come_and_go {
            self.take_leave(|entry| entry.grows() && !entry.there, now_ns);
        }
        let searched_ns = *self.searched_ns.get_or_insert(now_ns);
        let searches = now_ns.saturating_sub(searched_ns) >= STILL_NS;
        if searches {
            self.make_way(now_ns);
        }
        self.give_room();
        if searches {
            self.searched_ns = Some(now_ns);
            self.entries.values_mut().for_each(|entry| entry.weight = 0);
        }
        let ended = self.ended(now_ns);
        // A name without a series that is not there now leaves nothing behind.
        self.entries.retain(|_, entry| entry.shown || entry.there);
        self.entries.values_mut().for_each(|entry| entry.there = false);
        ended
    }

    /// Their series stand still from now on.
    fn take_leave(&mut self, wanted: impl Fn(&Entry) -> bool, now_ns: u64) {
        for entry in self.entries.values_mut().filter(|entry| wanted(entry)) {
            entry.left_ns = Some(now_ns);
            self.count -= 1;
        }
    }

    /// Quiet names leave for those without a series that have more than twice as many events.
    fn make_way(&mut self, now_ns: u64) {
        let free = self.most.saturating_sub(self.count);
        let mut hidden = self.weights(Entry::wants);
        hidden.sort_by(|one, other| other.cmp(one));
        let mut quiet = self.weights(Entry::grows);
        quiet.sort();
        for ((busy, _), (weight, name)) in hidden.into_iter().skip(free).zip(quiet) {
            if busy <= weight.saturating_mul(2) {
                break;
            }
            if let Some(entry) = self.entries.get_mut(&name) {
                entry.left_ns = Some(now_ns);
                self.count -= 1;
            }
        }
    }

    /// Gives the free places to the busiest names without a growing series. One that stood still goes on.
    fn give_room(&mut self) {
        let free = self.most.saturating_sub(self.count);
        if free == 0 {
            return;
        }
        let mut hidden = self.weights(Entry::wants);
        hidden.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.cmp(b)));
        for (_, name) in hidden.into_iter().take(free) {
            if let Some(entry) = self.entries.get_mut(&name) {
                (entry.shown, entry.left_ns) = (true, None);
                self.count += 1;
            }
        }
    }

    /// Takes out the series that stood still for long enough, and of those beyond the limit the ones that did least, the oldest first.
    fn ended(&mut self, now_ns: u64) -> Vec<String> {
        let still = self
            .entries
            .iter()
            .filter_map(|(name, entry)| Some((entry.weight, entry.left_ns?, name.clone())));
        let mut still: Vec<(u64, u64, String)> = still.collect();
        still.sort();
        let beyond = still.len().saturating_sub(self.most.div_ceil(2));
        let old = |left_ns: u64| now_ns.saturating_sub(left_ns) >= STILL_NS;
        let over =
            still.into_iter().enumerate().filter(|(at, (_, left_ns, _))| *at < beyond || old(*left_ns));
        let ended: Vec<String> = over.map(|(_, (_, _, name))| name).collect();
        for name in &ended {
            if let Some(entry) = self.entries.get_mut(name) {
                (entry.shown, entry.left_ns) = (false, None);
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn there_are_never_more_than_asked_for() {
        let mut shown = SeriesLimiter::new(2, true);
        let given: Vec<bool> = ["/a", "/b", "/c"].iter().map(|name| shown.note(name, 1)).collect();
        assert_eq!(given, [true, true, false]);
        assert!(shown.note("/a", 1) && !shown.note("/c", 100));
        assert_eq!(shown.review(SECOND), Vec::<String>::new());
        assert!(!SeriesLimiter::new(0, true).note("/a", 1));
    }

    fn work(shown: &mut SeriesLimiter, weights: [u64; 3]) -> [bool; 3] {
        let mut given = [false; 3];
        for ((given, name), weight) in given.iter_mut().zip(["/a", "/b", "/c"]).zip(weights) {
            *given = shown.note(name, weight);
        }
        given
    }

    #[test]
    fn a_busier_one_takes_the_place_of_a_quiet_one() {
        let mut shown = SeriesLimiter::new(2, true);
        work(&mut shown, [1, 1, 1]);
        shown.review(1);
        assert_eq!(work(&mut shown, [10, 3, 9]), [true, true, false]);
        assert_eq!(shown.review(STILL_NS), Vec::<String>::new(), "too early");
        assert_eq!(work(&mut shown, [10, 3, 9]), [true, true, false]);
        assert_eq!(shown.review(STILL_NS + 1), Vec::<String>::new(), "/b stands still");
        assert_eq!(work(&mut shown, [10, 3, 9]), [true, false, true]);
        assert_eq!(work(&mut shown, [10, 3, 9]), [true, false, true]);
        assert_eq!(shown.review(2 * STILL_NS + 2), ["/b"]);
        // A little more is not enough.
        assert_eq!(work(&mut shown, [10, 11, 9]), [true, false, true]);
        assert_eq!(shown.review(3 * STILL_NS + 2), Vec::<String>::new());
        assert_eq!(work(&mut shown, [10, 11, 9]), [true, false, true]);
    }

    #[test]
    fn the_place_of_one_that_is_gone_goes_to_the_busiest_at_once() {
        let mut shown = SeriesLimiter::new(1, true);
        assert!(shown.note("/gone", 5));
        assert!(!shown.note("/next", 1) && !shown.note("/busy", 2));
        shown.review(1);
        assert!(!shown.note("/next", 1) && !shown.note("/busy", 2));
        assert_eq!(shown.review(SECOND), Vec::<String>::new(), "its series stands still");
        assert!(!shown.note("/next", 1) && shown.note("/busy", 2));
        assert!(!shown.note("/gone", 1), "what comes back finds its place taken");
        shown.note("/busy", 2);
        assert_eq!(shown.review(SECOND + STILL_NS), ["/gone"]);
    }

    #[test]
    fn a_service_that_is_started_again_goes_on_where_it_was() {
        let mut shown = SeriesLimiter::new(2, true);
        assert!(shown.note("/service", 5));
        shown.review(1);
        assert_eq!(shown.review(SECOND), Vec::<String>::new());
        assert!(!shown.has("/service"), "it is gone");
        assert!(shown.note("/service", 5));
        assert_eq!(shown.review(2 * STILL_NS), Vec::<String>::new());
    }

    #[test]
    fn ten_thousand_that_come_and_go_are_bounded_and_blind_to_no_busy_one() {
        let mut shown = SeriesLimiter::new(20, true);
        let mut ended = 0;
        for second in 1..=1_000 {
            let now_ns = second * 10 * SECOND;
            for number in 0..10 {
                shown.note(&format!("/burst/{second}-{number}"), 1);
            }
            if second > 500 {
                shown.note("/busy", 1_000);
            }
            ended += shown.review(now_ns).len();
            let series = shown.entries.values().filter(|entry| entry.shown).count();
            assert!(series <= 30 && shown.entries.len() <= 50, "{series} of {}", shown.entries.len());
            assert!(second < 502 || shown.has("/busy"), "after {second}");
        }
        assert!(ended > 9_000, "{ended}");
    }

    #[test]
    fn one_that_was_busy_once_is_not_lost_among_many_that_come_and_go() {
        let mut shown = SeriesLimiter::new(20, true);
        for second in 1..=20 {
            let burst: Vec<String> = (0..100).map(|number| format!("{second}-{number}")).collect();
            let busy = (second == 5).then_some(("busy", 1_000));
            shown.note_all(burst.iter().map(|name| (name.as_str(), 2)).chain(busy), second * SECOND);
            assert_eq!(shown.has("busy"), second == 5, "after {second}");
            let ended = shown.review(second * SECOND);
            assert!(!ended.contains(&"busy".to_owned()), "its series stands still, after {second}");
            let series = shown.entries.values().filter(|entry| entry.shown).count();
            assert!(series <= 30, "{series}");
        }
    }

    #[test]
    fn what_does_not_come_and_go_keeps_its_series_while_it_is_quiet() {
        let mut shown = SeriesLimiter::new(1, false);
        assert!(shown.note("quiet", 5));
        shown.review(1);
        assert_eq!(shown.review(STILL_NS + 1), Vec::<String>::new());
        assert!(!shown.note("busy", 1) && shown.has("quiet"));
        assert_eq!(shown.review(2 * STILL_NS + 1), Vec::<String>::new());
        assert!(!shown.has("quiet") && shown.has("busy"), "it gives way to a busy one");
    }
}
