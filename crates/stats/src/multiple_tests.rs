//! Many tests at once: the chance that any of them errs.

/// Adjusts the p-values of several tests. Those which are at most `a` afterwards reject a true hypothesis, any at all, with a chance
/// of at most `a`. It is the step-down method of Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
/// Journal of Statistics 6 (1979). It needs no independence of the tests. In the order of the input; a NaN counts as 1.
///
/// ```
/// assert_eq!(swtch_stats::holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let value = |place: usize| if p_values[place].is_nan() { 1.0 } else { p_values[place] };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| value(*one).total_cmp(&value(*other)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut so_far = 0.0_f64;
    for (step, place) in order.iter().enumerate() {
        // One that is larger than an accepted one is accepted, too.
        so_far = so_far.max(((p_values.len() - step) as f64 * value(*place)).min(1.0));
        adjusted[*place] = so_far;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, rank_sum};

    #[test]
    fn the_example_of_a_textbook() {
        // R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm").
        let found = holm(&[0.02, 0.01, 0.04, 0.03]);
        for (value, expected) in found.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((value - expected).abs() < 1e-12, "{found:?}");
        }
        assert_eq!(holm(&[f64::NAN, 0.5]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    /// Eight settings that are all alike, compared pair by pair: without a correction nearly every second study finds a difference.
    #[test]
    fn alike_settings_are_told_apart_no_more_often_than_the_level_says() {
        let mut rng = Rng::new(11);
        let (mut corrected, mut bare, studies) = (0, 0, 600);
        for _ in 0..studies {
            let settings: Vec<Vec<f64>> =
                (0..8).map(|_| (0..8).map(|_| 100.0 * (1.0 + 0.1 * rng.gauss())).collect()).collect();
            let pairs = (0..8).flat_map(|one| (0..one).map(move |other| (one, other)));
            let p: Vec<f64> =
                pairs.map(|(one, other)| rank_sum(&settings[one], &settings[other]).unwrap()).collect();
            bare += u32::from(p.iter().any(|p| *p <= 0.05));
            corrected += u32::from(holm(&p).iter().any(|p| *p <= 0.05));
        }
        // Three standard deviations of 5 % in 600 are 2.7 %.
        assert!(f64::from(corrected) / f64::from(studies) < 0.05 + 0.027, "{corrected} of {studies}");
        assert!(f64::from(bare) / f64::from(studies) > 0.3, "{bare} of {studies}");
    }
}
