//! Scales, and ticks that people can read.

/// Maps a domain to a range of pixels, evenly or logarithmically.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    domain: (f64, f64),
    range: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    /// An even scale. `domain` is ascending; an empty one is widened.
    pub(super) fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        let domain = if domain.1 > domain.0 { domain } else { (domain.0, domain.0 + 1.0) };
        Self { domain, range, logarithmic: false }
    }

    /// A logarithmic scale. `domain` is positive and ascending; one value alone is widened, so that it is in the middle.
    pub(super) fn log(domain: (f64, f64), range: (f64, f64)) -> Self {
        let domain =
            if domain.1 > domain.0 { domain } else { (domain.0 / 2f64.sqrt(), domain.0 * 2f64.sqrt()) };
        Self { domain, range, logarithmic: true }
    }

    /// The position of `value`. A value outside the domain is put on its border, and one that is not a number at its beginning.
    pub(super) fn at(&self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let value = if value > low { value.min(high) } else { low };
        let share = if self.logarithmic {
            (value / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// Whether `value` is inside the domain.
    pub(super) fn holds(&self, value: f64) -> bool {
        in_domain(value, self.domain)
    }

    /// The values the scale covers.
    pub(super) fn domain(&self) -> (f64, f64) {
        self.domain
    }
}

/// Round values from zero to the first that is not below `high`. They are 1, 2 or 5 times a power of ten apart, never less than
/// `least`, with at most `most` steps.
pub(super) fn even_ticks(high: f64, least: f64, most: usize) -> Vec<f64> {
    let high = if high.is_finite() && high > 0.0 { high } else { least };
    let wanted = (high / most.max(1) as f64).max(least);
    let step = steps(wanted, wanted * 10.0).next().unwrap_or(wanted);
    let count = (high / step - 1e-9).ceil().max(1.0) as usize;
    (0..=count).map(|i| i as f64 * step).collect()
}

/// The smallest and largest positive value; `None` when there is none.
pub(super) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite() && *value > 0.0).fold(None, |extent, value| {
        match extent {
            None => Some((value, value)),
            Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
        }
    })
}

/// The positive values' extent, widened to the next of 1, 2, 5, 10, ... with some room on both sides.
pub(super) fn round_extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = extent(values)?;
    let below = steps(low / 100.0, low / 1.08).last().unwrap_or(low);
    let above = steps(high * 1.08, high * 100.0).next().unwrap_or(high);
    Some((below, above))
}

/// Round values inside the domain with their labels, at most `most` of them where that can be had.
pub(super) fn ticks(domain: (f64, f64), most: usize, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    round_values(domain, most).into_iter().map(|value| (value, label(value))).collect()
}

fn round_values(domain: (f64, f64), most: usize) -> Vec<f64> {
    let all: Vec<f64> = steps(domain.0, domain.1).collect();
    if all.len() <= most {
        return all;
    }
    let decades: Vec<f64> = all.into_iter().filter(|tick| is_decade(*tick)).collect();
    let every = decades.len().div_ceil(most.max(1)).max(1);
    decades.into_iter().step_by(every).collect()
}

/// 1, 2, 5, 10, 20, ... (and their tenths) from `low` to `high`.
fn steps(low: f64, high: f64) -> impl Iterator<Item = f64> {
    // A hair of tolerance, because powers of ten below one are not exact.
    let (low, high) = (low * (1.0 - 1e-9), high * (1.0 + 1e-9));
    let first = low.max(1e-12).log10().floor() as i32;
    let last = high.max(1e-12).log10().ceil() as i32;
    (first..=last)
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|mantissa| mantissa * 10f64.powi(exponent)))
        .filter(move |value| *value >= low && *value <= high)
}

fn is_decade(value: f64) -> bool {
    let exponent = value.log10();
    (exponent - exponent.round()).abs() < 1e-6
}

/// Powers of two inside the domain, evenly spaced, at most `most` of them.
pub(super) fn binary_ticks(domain: (f64, f64), most: usize) -> Vec<u64> {
    let all: Vec<u32> = (0..63).filter(|e| in_domain((1u64 << e) as f64, domain)).collect();
    let every = u32::try_from(all.len().div_ceil(most.max(1)).max(1)).unwrap_or(u32::MAX);
    all.into_iter().filter(|exponent| exponent % every == 0).map(|exponent| 1 << exponent).collect()
}

fn in_domain(value: f64, domain: (f64, f64)) -> bool {
    value >= domain.0 && value <= domain.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_scale_halves_at_the_geometric_mean() {
        let scale = Scale::log((10.0, 1000.0), (0.0, 200.0));
        assert!((scale.at(100.0) - 100.0).abs() < 1e-9);
        assert_eq!(scale.at(-5.0), 0.0);
        assert_eq!(scale.at(1e9), 200.0);
        assert!(scale.holds(10.0) && !scale.holds(9.0));
    }

    #[test]
    fn an_even_scale_begins_at_zero_and_ends_at_a_round_value() {
        assert_eq!(even_ticks(950.0, 1.0, 4), [0.0, 500.0, 1000.0]);
        assert_eq!(even_ticks(2.0, 1.0, 4), [0.0, 1.0, 2.0]);
        assert_eq!(even_ticks(0.0, 1.0, 4), [0.0, 1.0]);
        assert_eq!(even_ticks(f64::NAN, 1.0, 4), [0.0, 1.0]);
        let scale = Scale::linear((0.0, 10.0), (100.0, 0.0));
        assert_eq!([-1.0, 5.0, 99.0, f64::NAN].map(|value| scale.at(value)), [100.0, 50.0, 0.0, 100.0]);
    }

    #[test]
    fn one_value_lies_in_the_middle() {
        assert!((Scale::log((8.0, 8.0), (0.0, 100.0)).at(8.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(round_values((500.0, 50_000.0), 9), [500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4]);
        assert_eq!(round_values((500.0, 50_000.0), 4), [1e3, 1e4]);
        assert_eq!(round_values((0.1, 1e6), 4).len(), 4);
        assert_eq!(
            binary_ticks((1024.0, 16_777_216.0), 8),
            [1024, 4096, 16384, 65536, 262_144, 1 << 20, 1 << 22, 1 << 24]
        );
    }

    #[test]
    fn the_extent_ignores_what_no_logarithm_takes() {
        assert_eq!(extent([-3.0, 0.0, f64::NAN, 7.0, 2.0]), Some((2.0, 7.0)));
        assert_eq!(extent([-3.0, 0.0]), None);
        assert_eq!(round_extent([980.0, 28_400.0]), Some((500.0, 50_000.0)));
        assert_eq!(round_extent([1000.0]), Some((500.0, 2000.0)));
    }
}
