//! Whether pairs differ in their mean, by turning the signs of their differences.

use crate::Rng;

/// All signs are tried for up to this number of pairs; beyond, random ones.
const MOST_EXACT: usize = 14;
const RESAMPLES: u32 = 20_000;
/// Sums that are equal but for rounding count as equal.
const CLOSE: f64 = 1e-12;

/// The two-sided p-value of the randomisation test that the mean of differences of pairs is zero. Were both sides of each pair alike, each
/// difference could as well have the other sign. The value is the part of all choices of signs whose sum is at least as far from zero. It is exact for up
/// to 14 pairs; beyond, of 20,000 random choices, the one seen among them. Fisher, "The Design of Experiments" (1935), §21.
///
/// `None` without a pair.
///
/// ```
/// // All of one sign: two of the 2^6 choices are as far from zero.
/// assert_eq!(swtch_stats::sign_flips(&[1.0, 2.0, 1.5, 1.0, 3.0, 2.0]), Some(2.0 / 64.0));
/// assert_eq!(swtch_stats::sign_flips(&[1.0, -1.0]), Some(1.0));
/// ```
#[must_use]
pub fn sign_flips(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let size: f64 = differences.iter().map(|one| one.abs()).sum();
    let found = differences.iter().sum::<f64>().abs() - CLOSE * size;
    let as_far = |signs: u64, of: &[f64]| -> f64 {
        of.iter().enumerate().map(|(place, one)| if (signs >> place) & 1 == 1 { -one } else { *one }).sum()
    };
    if differences.len() <= MOST_EXACT {
        let all = 1_u64 << differences.len();
        let far = (0..all).filter(|signs| as_far(*signs, differences).abs() >= found).count();
        return Some(far as f64 / all as f64);
    }
    let mut rng = Rng::new(1);
    let mut far = 1;
    for _ in 1..RESAMPLES {
        let sum: f64 = differences.chunks(64).map(|part| as_far(rng.next_u64(), part)).sum();
        far += u32::from(sum.abs() >= found);
    }
    Some(f64::from(far) / f64::from(RESAMPLES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_has_no_value_and_equal_pairs_do_not_differ() {
        assert_eq!(sign_flips(&[]), None);
        assert_eq!(sign_flips(&[0.0; 20]), Some(1.0));
    }

    #[test]
    fn exact_and_random_choices_agree() {
        // Fisher's own example, Darwin's maize: 863 of 2^15 choices on one side, p = 0.0527.
        let maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from);
        let p = sign_flips(&maize).unwrap();
        assert!((p - 0.0527).abs() < 0.005, "{p}");
        // Fourteen of them are counted out, and no random choice differs from that by more than chance.
        let exact = sign_flips(&maize[..14]).unwrap();
        let doubled: Vec<f64> = maize[..14].iter().copied().chain([0.0]).collect();
        assert!((sign_flips(&doubled).unwrap() - exact).abs() < 0.005);
    }

    #[test]
    fn pairs_that_are_alike_pass_in_one_of_twenty_studies() {
        let mut rng = Rng::new(7);
        let passed = (0..400).filter(|_| {
            let pairs: Vec<f64> = (0..12).map(|_| rng.unit_f64() - rng.unit_f64()).collect();
            sign_flips(&pairs).unwrap() <= 0.05
        });
        let count = passed.count();
        assert!((8..=34).contains(&count), "{count} of 400");
    }
}
