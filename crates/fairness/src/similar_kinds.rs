//! Applications with similar speeds on several kinds of cores share what they have alike. Kim and Huh (2018) have that for two kinds, and leave more as
//! future work.

use std::cmp::Reverse;

/// What of a result above 1 is rounding: the linear program's.
const ROUNDING: f64 = 1e-9;

/// An application.
pub(crate) struct One<'a> {
    /// Its speed on each kind of core, in any unit.
    pub(crate) speeds: &'a [f64],
    /// Its CPU time, in cores.
    pub(crate) cpus: f64,
    /// What it achieves, relative to what it is entitled to.
    pub(crate) performance: f64,
}

impl One<'_> {
    /// How many times faster it is on a kind than on the last one.
    fn speedup(&self, kind: usize) -> f64 {
        self.speeds[kind] / self.speeds[self.speeds.len() - 1]
    }

    /// Whether it is about as much faster on every kind.
    fn is_like(&self, other: &Self, similarity: f64) -> bool {
        (0..self.speeds.len()).all(|kind| (self.speedup(kind) - other.speedup(kind)).abs() < similarity)
    }
}

/// Groups of similar applications, by their places. Each is begun by one that has more than it is entitled to, the one that achieves most of those
/// that are in no group yet.
pub(crate) fn groups(all: &[One<'_>], similarity: f64) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..all.len()).collect();
    // Bits of numbers that are not negative sort as the numbers do.
    left.sort_by_key(|place| Reverse(all[*place].performance.to_bits()));
    let mut groups = Vec::new();
    while let Some(first) = left.first().copied().filter(|first| all[*first].performance > 1.0 + ROUNDING) {
        // With a similarity of 0 it is like none, not even itself.
        let joins = |place: &usize| *place == first || all[*place].is_like(&all[first], similarity);
        let (group, others) = left.into_iter().partition(joins);
        groups.push(group);
        left = others;
    }
    groups
}

/// The shares that everyone of a group has when its time on each kind is divided by CPU time.
pub(crate) fn alike(group: &[usize], all: &[One<'_>], shares: &[Vec<f64>]) -> Vec<f64> {
    let whole: f64 = group.iter().map(|place| all[*place].cpus).sum();
    let of_kind = |kind: usize| -> f64 {
        group.iter().map(|place| shares[*place][kind] * all[*place].cpus).sum::<f64>() / whole
    };
    (0..all[group[0]].speeds.len()).map(of_kind).collect()
}

/// How much of the way to sharing alike keeps a guarantee: `before` and `after` are what an application achieves at its ends.
pub(crate) fn part_of_the_way(before: f64, after: f64, guarantee: f64) -> f64 {
    if after >= guarantee { 1.0 } else { ((before - guarantee) / (before - after)).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(speeds: &[f64], performance: f64) -> One<'_> {
        One { speeds, cpus: 1.0, performance }
    }

    #[test]
    fn a_group_is_begun_by_one_with_more_than_it_is_entitled_to() {
        let (fast, like, other, slow) = ([3.0, 2.0, 1.0], [5.8, 4.1, 2.0], [3.0, 1.5, 1.0], [1.2, 1.1, 1.0]);
        let all = [one(&slow, 0.85), one(&like, 0.9), one(&fast, 1.3), one(&other, 1.1), one(&slow, 0.9)];
        assert_eq!(groups(&all, 0.2), [vec![2, 1], vec![3]]);
        assert!(groups(&all[..2], 0.2).is_empty(), "none has more");
        assert_eq!(groups(&all, 0.0), [vec![2], vec![3]]);
        assert_eq!(groups(&all, 10.0), [vec![2, 3, 1, 4, 0]]);
    }

    #[test]
    fn the_way_ends_at_the_guarantee() {
        assert_eq!(part_of_the_way(1.2, 1.0, 0.85), 1.0);
        assert_eq!(part_of_the_way(1.0, 0.5, 0.75), 0.5);
        assert_eq!(part_of_the_way(0.85, 0.8, 0.85), 0.0);
    }
}
