//! Whether two samples come from one distribution, by their ranks alone.

use crate::normal_distribution::upper_tail;

/// The distribution is counted out for up to this number of values in both samples together. Beyond it, the distribution is taken for normal.
const MOST_EXACT: usize = 60;

/// The two-sided p-value of the rank-sum test of Wilcoxon, Mann and Whitney. It is the chance that two samples of one distribution differ
/// in ranks by at least as much. With up to 60 values it is exact, ties included (the permutation distribution of midranks); beyond, the
/// normal approximation with the correction for ties. Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd edition
/// (2014), §4.1.
///
/// `None` when a sample is empty.
///
/// ```
/// // Three values against three others, all smaller: one of 20 orders, on two sides.
/// assert_eq!(swtch_stats::rank_sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), Some(0.1));
/// ```
#[must_use]
pub fn rank_sum(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let ranks = doubled_midranks(one, other);
    let found: usize = ranks[..one.len()].iter().sum();
    Some(if ranks.len() <= MOST_EXACT {
        exact(&ranks, one.len(), found)
    } else {
        approximate(&ranks, one.len(), found)
    })
}

/// Twice the rank of each value among all, the first sample's before the other's; equal values share the mean of their ranks.
fn doubled_midranks(one: &[f64], other: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = one.iter().chain(other).copied().collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| all[*a].total_cmp(&all[*b]));
    let mut ranks = vec![0; all.len()];
    let mut begin = 0;
    while begin < order.len() {
        let same = order[begin..].iter().take_while(|place| all[**place] == all[order[begin]]).count();
        let end = begin + same.max(1);
        for place in &order[begin..end] {
            ranks[*place] = begin + 1 + end;
        }
        begin = end;
    }
    ranks
}

/// Counts the ways to choose the first sample from all values, by the sum of their ranks.
fn exact(ranks: &[usize], size: usize, found: usize) -> f64 {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0_f64; most + 1]; size + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for chosen in (1..=size).rev() {
            for sum in (*rank..=most).rev() {
                let more = ways[chosen - 1][sum - rank];
                ways[chosen][sum] += more;
            }
        }
    }
    let all: f64 = ways[size].iter().sum();
    let below: f64 = ways[size][..=found].iter().sum();
    let above: f64 = ways[size][found..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

fn approximate(ranks: &[usize], size: usize, found: usize) -> f64 {
    let (n, m, all) = (size as f64, (ranks.len() - size) as f64, ranks.len() as f64);
    let mut ordered = ranks.to_vec();
    ordered.sort_unstable();
    let ties: f64 = ordered
        .chunk_by(|one, other| one == other)
        .map(|same| {
            let count = same.len() as f64;
            count * (count * count - 1.0)
        })
        .sum();
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // Half a step towards the middle, because sums of ranks are whole numbers.
    let away = ((found as f64 / 2.0 - n * (all + 1.0) / 2.0).abs() - 0.5).max(0.0);
    (2.0 * upper_tail(away / variance.sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn the_p_value_is_that_of_all_orders_counted_one_by_one() {
        let mut rng = Rng::new(3);
        for _ in 0..40 {
            // Few different values, so that many are equal.
            let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| rng.below(5) as f64).collect() };
            let (one, other) = (draw(4), draw(5));
            let all: Vec<f64> = one.iter().chain(&other).copied().collect();
            let rank = |value: f64| {
                let below = all.iter().filter(|x| **x < value).count() as f64;
                below + f64::midpoint(all.iter().filter(|x| **x == value).count() as f64, 1.0)
            };
            let found: f64 = one.iter().map(|value| rank(*value)).sum();
            let (mut below, mut above, mut count) = (0.0, 0.0, 0.0);
            for choice in 0..1_u32 << all.len() {
                if choice.count_ones() as usize != one.len() {
                    continue;
                }
                let sum: f64 = (0..all.len())
                    .filter(|place| choice >> place & 1 == 1)
                    .map(|place| rank(all[place]))
                    .sum();
                below += f64::from(u8::from(sum <= found + 1e-9));
                above += f64::from(u8::from(sum >= found - 1e-9));
                count += 1.0;
            }
            let expected = (2.0 * f64::min(below, above) / count).min(1.0);
            let p = rank_sum(&one, &other).unwrap();
            assert!((p - expected).abs() < 1e-12, "{one:?} {other:?}: {p} for {expected}");
        }
    }

    #[test]
    fn equal_samples_do_not_differ() {
        assert_eq!(rank_sum(&[1.0; 4], &[1.0; 4]), Some(1.0));
        assert_eq!(rank_sum(&[1.0; 40], &[1.0; 40]), Some(1.0));
        assert_eq!(rank_sum(&[], &[1.0]), None);
    }

    #[test]
    fn the_approximation_continues_the_exact_distribution() {
        let mut rng = Rng::new(5);
        for _ in 0..20 {
            let one: Vec<f64> = (0..30).map(|_| rng.unit_f64()).collect();
            let other: Vec<f64> = (0..30).map(|_| rng.unit_f64() + 0.15).collect();
            let ranks = doubled_midranks(&one, &other);
            let found: usize = ranks[..30].iter().sum();
            let (exact, near) = (exact(&ranks, 30, found), approximate(&ranks, 30, found));
            assert!((exact - near).abs() < 0.01, "{exact} {near}");
        }
    }
}
