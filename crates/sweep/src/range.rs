//! Runs of consecutive numbers, and sets of them.

/// Runs of consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    /// The first run.
    pub first: u64,
    /// The last run; at least the first.
    pub last: u64,
}

impl Range {
    /// How many runs: at least one.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(self) -> u64 {
        self.last - self.first + 1
    }

    /// Both halves; nothing for a run alone.
    pub(crate) fn halves(self) -> Option<[Self; 2]> {
        let middle = self.first + (self.len() / 2).checked_sub(1)?;
        (middle < self.last).then_some([
            Self { first: self.first, last: middle },
            Self { first: middle + 1, last: self.last },
        ])
    }

    /// As file names have it; names sort as numbers do.
    pub(crate) fn name(self) -> String {
        format!("{:09}-{:09}", self.first, self.last)
    }

    /// Reads a [`name`](Self::name).
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (first, last) = name.split_once('-')?;
        let range = Self { first: first.parse().ok()?, last: last.parse().ok()? };
        (range.first <= range.last && range.name() == name).then_some(range)
    }
}

/// A set of runs: ranges in order that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet(Vec<Range>);

impl FromIterator<Range> for RangeSet {
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> Self {
        let mut ranges: Vec<Range> = ranges.into_iter().collect();
        ranges.sort_unstable();
        let mut set: Vec<Range> = Vec::new();
        for range in ranges {
            match set.last_mut() {
                Some(before) if range.first <= before.last + 1 => before.last = before.last.max(range.last),
                _ => set.push(range),
            }
        }
        Self(set)
    }
}

impl RangeSet {
    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(|range| range.len()).sum()
    }

    /// What of a range is not in the set.
    pub(crate) fn missing_in(&self, range: Range) -> Vec<Range> {
        let mut missing = Vec::new();
        let mut next = range.first;
        let from = self.0.partition_point(|one| one.last < range.first);
        for one in self.0[from..].iter().take_while(|one| one.first <= range.last) {
            if one.first > next {
                missing.push(Range { first: next, last: one.first - 1 });
            }
            next = one.last + 1;
        }
        if next <= range.last {
            missing.push(Range { first: next, last: range.last });
        }
        missing
    }

    pub(crate) fn covers(&self, range: Range) -> bool {
        let place = self.0.partition_point(|one| one.last < range.first);
        self.0.get(place).is_some_and(|one| one.first <= range.first && one.last >= range.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u64, last: u64) -> Range {
        Range { first, last }
    }

    #[test]
    fn halves_make_up_the_whole_down_to_one_run() {
        for last in 0..40 {
            let mut left = vec![range(3, 3 + last)];
            let mut alone = Vec::new();
            while let Some(one) = left.pop() {
                match one.halves() {
                    Some(halves) => left.extend(halves),
                    None => alone.push(one),
                }
            }
            assert!(alone.iter().all(|one| one.len() == 1));
            let all: RangeSet = alone.iter().copied().collect();
            assert_eq!((all, alone.len() as u64), (RangeSet(vec![range(3, 3 + last)]), last + 1));
        }
    }

    #[test]
    fn a_name_is_read_back_and_nothing_else_is() {
        assert_eq!(Range::parse(&range(7, 1_234_567_890_123).name()), Some(range(7, 1_234_567_890_123)));
        for name in ["", "-", "1-2", "000000002-000000001", "000000001-000000002.1", "x00000001-000000002"] {
            assert_eq!(Range::parse(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_found_whatever_overlaps() {
        let set: RangeSet = [range(5, 9), range(0, 1), range(7, 12), range(2, 2)].into_iter().collect();
        assert_eq!(set.0, [range(0, 2), range(5, 12)]);
        assert_eq!(set.len(), 11);
        assert_eq!(set.missing_in(range(0, 20)), [range(3, 4), range(13, 20)]);
        assert_eq!(set.missing_in(range(4, 12)), [range(4, 4)]);
        assert!(set.missing_in(range(6, 7)).is_empty() && set.covers(range(6, 7)));
        assert!(!set.covers(range(2, 5)) && !set.covers(range(12, 13)));
        assert_eq!(RangeSet::default().missing_in(range(1, 1)), [range(1, 1)]);
    }
}
