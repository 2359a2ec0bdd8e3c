//! Whether neighbouring values depend on each other.

use crate::moments::mean;

/// The correlation of each value with its successor, -1..=1: `r1` of Box and Jenkins, "Time Series Analysis" (1970),
/// §2.1.5. Values near 0 are consistent with independence; beyond about `2 / sqrt(n)` they are not (Bartlett 1946).
///
/// `None` with fewer than 3 values or when all are equal.
///
/// ```
/// use swtch_stats::lag1_autocorrelation;
/// let alternating = lag1_autocorrelation(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).unwrap();
/// assert!(alternating < -0.8);
/// assert_eq!(lag1_autocorrelation(&[1.0, 1.0, 1.0]), None);
/// ```
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    if values.len() < 3 || values.iter().all(|value| *value == values[0]) {
        return None;
    }
    let centre = mean(values);
    let total: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let shared: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    (total > 0.0).then_some(shared / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn a_drift_is_seen_and_noise_is_not() {
        let drift: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(lag1_autocorrelation(&drift).unwrap() > 0.9);
        let mut rng = Rng::new(1);
        let noise: Vec<f64> = (0..1000).map(|_| rng.unit_f64()).collect();
        assert!(lag1_autocorrelation(&noise).unwrap().abs() < 0.1);
    }

    #[test]
    fn too_few_or_equal_values_have_none() {
        assert_eq!(lag1_autocorrelation(&[1.0, 2.0]), None);
        // 0.1 is not exact in binary, so its mean may differ from it: equality is checked on the values themselves.
        assert_eq!(lag1_autocorrelation(&[0.1; 7]), None);
    }
}
