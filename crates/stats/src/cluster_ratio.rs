//! A ratio of two sums that were seen in windows of time only, with an interval clustered by window.

use crate::intervals::Interval;
use crate::student_distribution::two_sided_point;

/// Below this number of windows an interval is too wide to decide by.
pub const LEAST_WINDOWS: u64 = 5;

/// The ratio of two sums over windows, such as the cost and the number of the switches in each. Only moments are kept, so windows may be many.
///
/// Events in one window are alike, so a window, not an event, is the unit of the sample: Cochran, "Sampling Techniques" (1977), §2.11 and §9A.
///
/// ```
/// let mut ratio = swtch_stats::ClusterRatio::default();
/// for (cost, switches) in [(10.0, 5.0), (21.0, 10.0), (29.0, 15.0), (41.0, 20.0), (50.0, 25.0)] {
///     ratio.add(cost, switches);
/// }
/// let interval = ratio.interval(0.95).unwrap();
/// assert!(interval.low < ratio.value().unwrap() && ratio.value().unwrap() < interval.high);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterRatio {
    windows: u64,
    above: f64,
    below: f64,
    above_squared: f64,
    product: f64,
    below_squared: f64,
}

impl ClusterRatio {
    /// Adds a window's two sums. A window with nothing in it is one, too.
    pub fn add(&mut self, above: f64, below: f64) {
        self.windows += 1;
        self.above += above;
        self.below += below;
        self.above_squared += above * above;
        self.product += above * below;
        self.below_squared += below * below;
    }

    /// That of sums which others kept: over all windows, of the two figures, and of their squares and product.
    pub fn of_sums(
        windows: u64,
        [above, below]: [f64; 2],
        [above_squared, product, below_squared]: [f64; 3],
    ) -> Self {
        Self { windows, above, below, above_squared, product, below_squared }
    }

    /// How many windows there were.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// The ratio; absent where the sum below is 0.
    pub fn value(&self) -> Option<f64> {
        (self.below > 0.0).then(|| self.above / self.below)
    }

    /// The interval of the ratio by the linearised variance and Student's distribution; absent without a ratio, or with fewer than two windows of some weight.
    /// Degrees of freedom are by the windows' weights, after Satterthwaite: of many windows of which one holds nearly all, they are few.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let ratio = self.value()?;
        // Of one window that holds nearly all, nothing shows how much windows differ.
        let effective = self.below * self.below / self.below_squared;
        if self.windows < 2 || effective < 1.5 {
            return None;
        }
        let count = self.windows as f64;
        let residuals = self.above_squared - 2.0 * ratio * self.product + ratio * ratio * self.below_squared;
        let error = (residuals.max(0.0) * count / (count - 1.0)).sqrt() / self.below;
        let width = error * two_sided_point(1.0 - confidence, (effective - 1.0).clamp(1.0, count - 1.0));
        Some(Interval { low: (ratio - width).max(0.0), high: ratio + width })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// Uniform in 0 to 1.
    fn uniform(rng: &mut Rng) -> f64 {
        rng.below(1 << 40) as f64 / (1_u64 << 40) as f64
    }

    /// Synthetic workloads in which windows differ: in their rate, in the cost of their switches, and in both together. The true ratio is that of
    /// all windows; one in twenty is seen.
    #[test]
    fn nine_of_ten_intervals_hold_the_whole() {
        type Window = fn(&mut Rng) -> (f64, f64);
        let even: Window = |rng| {
            let switches = 900.0 + 200.0 * uniform(rng);
            (switches * (1000.0 + 100.0 * uniform(rng)), switches)
        };
        let bursts: Window = |rng| {
            let switches = if uniform(rng) < 0.2 { 5000.0 } else { 50.0 } * (0.5 + uniform(rng));
            (switches * (800.0 + 400.0 * uniform(rng)), switches)
        };
        let dearer_when_busy: Window = |rng| {
            let load = uniform(rng);
            let switches = 100.0 + 900.0 * load;
            (switches * (700.0 + 900.0 * load + 100.0 * uniform(rng)), switches)
        };
        for (name, window) in [("even", even), ("bursts", bursts), ("dearer", dearer_when_busy)] {
            let mut rng = Rng::new(1);
            // Of windows of which one holds nearly all there is none.
            let found = (0..600).filter_map(|_| {
                let mut seen = ClusterRatio::default();
                let mut all = ClusterRatio::default();
                for place in 0..600 {
                    let (above, below) = window(&mut rng);
                    all.add(above, below);
                    if place % 20 == 7 {
                        seen.add(above, below);
                    }
                }
                let (interval, whole) = (seen.interval(0.95)?, all.value().unwrap());
                Some(interval.low <= whole && whole <= interval.high)
            });
            let found: Vec<bool> = found.collect();
            let held = found.iter().filter(|held| **held).count() + 600 - found.len();
            assert!(found.len() > 580, "{name}: {}", found.len());
            assert!((540..=599).contains(&held), "{name}: {held} of 600");
        }
    }

    #[test]
    fn the_interval_is_that_of_the_mean_where_windows_are_equal() {
        let mut ratio = ClusterRatio::default();
        let values = [3.0, 5.0, 4.0, 8.0];
        for value in values {
            ratio.add(value, 1.0);
        }
        // Mean 5, standard deviation sqrt(14/3), Student's point of three degrees 3.18245.
        let width = 3.182_45 * (14.0_f64 / 3.0).sqrt() / 2.0;
        let interval = ratio.interval(0.95).unwrap();
        assert_eq!((ratio.value(), ratio.windows()), (Some(5.0), 4));
        assert!((interval.low - (5.0 - width)).abs() < 1e-3 && (interval.high - (5.0 + width)).abs() < 1e-3);
    }

    #[test]
    fn without_windows_or_events_there_is_no_interval() {
        let mut ratio = ClusterRatio::default();
        assert_eq!((ratio.value(), ratio.interval(0.95)), (None, None));
        ratio.add(7.0, 2.0);
        assert_eq!((ratio.value(), ratio.interval(0.95)), (Some(3.5), None));
        // A second one with hardly anything in it leaves the first alone.
        ratio.add(0.1, 0.1);
        assert_eq!(ratio.interval(0.95), None);
        assert_eq!(
            ratio,
            ClusterRatio::of_sums(2, [7.1, 2.1], [49.0 + 0.1 * 0.1, 14.0 + 0.1 * 0.1, 4.0 + 0.1 * 0.1])
        );
        let mut empty = ClusterRatio::default();
        for _ in 0..9 {
            empty.add(0.0, 0.0);
        }
        assert_eq!((empty.value(), empty.interval(0.95)), (None, None));
    }
}
