//! When enough repetitions have been taken.

use crate::intervals::median_interval_sorted;
use crate::quantiles::quantile_sorted;

/// Take repetitions until the distribution-free interval of the median is narrow enough: Hoefler and Belli,
/// "Scientific benchmarking of parallel computing systems", SC 2015, rule 5 and §4.2.2.
///
/// ```
/// use swtch_stats::StoppingRule;
/// let rule = StoppingRule::default();
/// assert_eq!((rule.relative_half_width, rule.confidence), (0.01, 0.95));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoppingRule {
    /// The wider side of the interval must be within this fraction of the median's magnitude.
    pub relative_half_width: f64,
    /// Never stop before this many batches.
    pub min_batches: usize,
    /// Confidence of the interval, such as 0.95.
    pub confidence: f64,
}

impl Default for StoppingRule {
    /// A 95 % interval within 1 % of the median, of at least 30 batches.
    fn default() -> Self {
        Self { relative_half_width: 0.01, min_batches: 30, confidence: 0.95 }
    }
}

impl StoppingRule {
    /// Whether these ascending values suffice (Hoefler and Belli 2015, §4.2.2). A median of zero never does, as no
    /// width is small relative to it.
    ///
    /// Looking after every batch stops a little early by luck (the interval is taken many times), so look every few
    /// batches, not after each.
    ///
    /// ```
    /// use swtch_stats::StoppingRule;
    /// let rule = StoppingRule { relative_half_width: 0.05, min_batches: 6, confidence: 0.95 };
    /// assert!(rule.satisfied_sorted(&[99.0, 99.5, 100.0, 100.0, 100.5, 101.0]));
    /// assert!(!rule.satisfied_sorted(&[50.0, 80.0, 100.0, 100.0, 120.0, 170.0]));
    /// ```
    pub fn satisfied_sorted(&self, sorted: &[f64]) -> bool {
        if sorted.len() < self.min_batches {
            return false;
        }
        let Some(interval) = median_interval_sorted(sorted, self.confidence) else { return false };
        let middle = quantile_sorted(sorted, 0.5);
        let wider_side = (interval.high - middle).max(middle - interval.low);
        middle != 0.0 && wider_side <= self.relative_half_width * middle.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_least_number_of_batches() {
        let rule = StoppingRule { relative_half_width: 0.01, min_batches: 10, confidence: 0.95 };
        assert!(!rule.satisfied_sorted(&[5.0; 9]));
        assert!(rule.satisfied_sorted(&[5.0; 10]));
    }

    #[test]
    fn too_few_values_for_the_confidence_do_not_satisfy() {
        let rule = StoppingRule { relative_half_width: 1.0, min_batches: 0, confidence: 0.95 };
        assert!(!rule.satisfied_sorted(&[5.0; 5]));
        assert!(!rule.satisfied_sorted(&[]));
        assert!(rule.satisfied_sorted(&[5.0; 6]));
    }

    #[test]
    fn the_wider_side_decides_and_the_sign_does_not() {
        let rule = StoppingRule { relative_half_width: 0.10, min_batches: 6, confidence: 0.95 };
        assert!(!rule.satisfied_sorted(&[100.0, 100.0, 100.0, 100.0, 100.0, 120.0]));
        assert!(rule.satisfied_sorted(&[-105.0, -100.0, -100.0, -100.0, -100.0, -100.0]));
        assert!(!rule.satisfied_sorted(&[-1.0, -1.0, 0.0, 0.0, 1.0, 1.0]));
    }
}
