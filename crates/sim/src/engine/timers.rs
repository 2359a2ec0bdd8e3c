//! Tasks that wake up at a time.

use super::events::NEVER;

/// Values that a digit has.
const DIGITS: usize = 16;
/// Tasks that are fetched before their timers ring.
const AHEAD: usize = 4;
/// Digits of a time.
const PLACES: usize = 16;

/// Timers whose times have a digit in common, in the order of their setting.
#[derive(Clone, Debug, Default)]
struct TimerGroup {
    /// When, and whose.
    timers: Vec<(u64, u32)>,
    least_ns: u64,
}

/// Tasks to wake at a time. At the same time, the one that was set first goes first.
///
/// There may be a timer for every task, more than the cache holds. A heap of them would fetch a line at every step down. Time only goes
/// on, so this is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: "Faster algorithms for the shortest path problem", J. ACM 37, 1990): a
/// timer is kept by the highest digit in which it differs from the present, and by that digit. When its group's turn comes, the whole
/// group is read once, from the beginning to the end, and divided by lower digits.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// By place and digit.
    groups: Vec<TimerGroup>,
    /// Places, and digits of each place, with timers.
    places: u32,
    digits: [u32; PLACES],
    /// The time of the last one that was taken, which may be ahead of the run by the slack.
    now_ns: u64,
    /// How many of those for that very time have been taken.
    taken: usize,
    spare: Vec<(u64, u32)>,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            groups: vec![TimerGroup::default(); PLACES * DIGITS],
            places: 0,
            digits: [0; PLACES],
            now_ns: 0,
            taken: 0,
            spare: Vec::new(),
        }
    }
}

impl Timers {
    /// Sets a timer. One for an earlier time than that of the last one that was taken rings as soon as it can.
    #[inline]
    pub(crate) fn add(&mut self, at_ns: u64, task: usize) {
        let at_ns = at_ns.max(self.now_ns);
        let place = (at_ns ^ self.now_ns).checked_ilog2().unwrap_or(0) as usize / 4;
        let digit = (at_ns >> (4 * place)) as usize % DIGITS;
        self.places |= 1 << place;
        let group = &mut self.groups[place * DIGITS + digit];
        if self.digits[place] >> digit & 1 == 0 {
            self.digits[place] |= 1 << digit;
            group.least_ns = at_ns;
        }
        group.least_ns = group.least_ns.min(at_ns);
        group.timers.push((at_ns, task as u32));
    }

    /// The group of the first timer: the lowest place's lowest digit.
    #[inline]
    fn first_group(&self) -> Option<usize> {
        if self.places == 0 {
            return None;
        }
        let place = self.places.trailing_zeros() as usize;
        Some(place * DIGITS + self.digits[place].trailing_zeros() as usize)
    }

    /// The task that [`take`](Self::take) would take.
    pub(crate) fn first(&self) -> Option<usize> {
        let TimerGroup { timers, least_ns } = &self.groups[self.first_group()?];
        let first = timers[self.taken..].iter().find(|(at_ns, _)| at_ns == least_ns);
        first.map(|(_, task)| *task as usize)
    }

    #[inline]
    pub(crate) fn first_ns(&self) -> u64 {
        self.first_group().map_or(NEVER, |group| self.groups[group].least_ns)
    }

    /// Some tasks whose turn comes soon, with luck the next.
    #[inline]
    pub(crate) fn soon(&self) -> impl Iterator<Item = usize> {
        let timers = self.first_group().map(|group| &self.groups[group].timers[self.taken..]);
        timers.into_iter().flatten().take(AHEAD).map(|(_, task)| *task as usize)
    }

    /// All tasks with a timer, and some whose timers have rung at this very time.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = usize> {
        self.groups.iter().flat_map(|group| &group.timers).map(|(_, task)| *task as usize)
    }

    pub(crate) fn take(&mut self) -> Option<usize> {
        let mut group = self.first_group()?;
        if group >= DIGITS {
            self.divide(group);
            group = self.first_group()?;
        }
        // All of a group of the lowest place have the same time.
        let TimerGroup { timers, least_ns } = &mut self.groups[group];
        self.now_ns = *least_ns;
        let (_, task) = timers[self.taken];
        self.taken += 1;
        if self.taken == timers.len() {
            self.taken = 0;
            timers.clear();
            self.forget(group);
        }
        Some(task as usize)
    }

    /// Divides the first group by lower digits than it has in common.
    fn divide(&mut self, group: usize) {
        let spare = std::mem::take(&mut self.spare);
        let timers = std::mem::replace(&mut self.groups[group].timers, spare);
        self.now_ns = self.groups[group].least_ns;
        self.forget(group);
        for (at_ns, task) in &timers {
            self.add(*at_ns, *task as usize);
        }
        self.spare = timers;
        self.spare.clear();
    }

    fn forget(&mut self, group: usize) {
        let place = group / DIGITS;
        self.digits[place] &= !(1 << (group % DIGITS));
        if self.digits[place] == 0 {
            self.places &= !(1 << place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timers_ring_by_time_and_then_by_turn(steps in proptest::collection::vec((prop_oneof![0_u64..30, 0_u64..70_000, any::<u64>()], 0_u8..3), 0..400)) {
            let mut timers = Timers::default();
            let mut plain: Vec<(u64, usize)> = Vec::new();
            let mut now_ns = 0_u64;
            for (number, (in_ns, what)) in steps.into_iter().enumerate() {
                if what == 0 {
                    let first = (!plain.is_empty()).then(|| plain.remove(0));
                    now_ns = first.map_or(now_ns, |(at_ns, _)| at_ns);
                    prop_assert_eq!(timers.first(), first.map(|(_, task)| task));
                    prop_assert_eq!(timers.take(), first.map(|(_, task)| task));
                } else {
                    let at_ns = now_ns.saturating_add(in_ns);
                    timers.add(at_ns, number);
                    let place = plain.partition_point(|(known_ns, _)| *known_ns <= at_ns);
                    plain.insert(place, (at_ns, number));
                }
                prop_assert_eq!(timers.first_ns(), plain.first().map_or(NEVER, |(at_ns, _)| *at_ns));
            }
            let rest: Vec<usize> = plain.into_iter().map(|(_, task)| task).collect();
            prop_assert_eq!(std::iter::from_fn(|| timers.take()).collect::<Vec<_>>(), rest);
        }
    }
}
