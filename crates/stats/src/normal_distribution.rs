//! The standard normal distribution, to about 14 digits.

use std::f64::consts::{PI, SQRT_2};

/// Density at `z`: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.2.1.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// Probability of a value above `z`, accurate also far out. It uses series of Abramowitz and Stegun (1964): the
/// power series 26.2.11 near the centre, the continued fraction 26.2.14 in the tail.
pub(crate) fn upper_tail(z: f64) -> f64 {
    if z.is_nan() {
        return f64::NAN;
    }
    let distance = z.abs();
    let beyond = if distance < 3.0 { 0.5 - centre_mass(distance) } else { far_tail(distance) };
    if z < 0.0 { 1.0 - beyond } else { beyond }
}

/// Probability between 0 and `z`, 26.2.11: the terms are all positive, so nothing cancels.
fn centre_mass(z: f64) -> f64 {
    let mut term = z;
    let mut sum = z;
    let mut divisor = 1.0;
    while term > sum * 1e-17 {
        divisor += 2.0;
        term *= z * z / divisor;
        sum += term;
    }
    density(z) * sum
}

/// Probability above `z >= 3`, 26.2.14, evaluated from the innermost level; 60 levels reach full precision at 3.
fn far_tail(z: f64) -> f64 {
    let mut fraction = 0.0;
    for level in (1..=60).rev() {
        fraction = f64::from(level) / (z + fraction);
    }
    density(z) / (z + fraction)
}

/// The value below which a normal variable falls with probability `p`: the rational start 26.2.23 of Abramowitz and
/// Stegun (1964, error below 4.5e-4), then Halley's method to full precision. Infinite at 0 and 1.
pub(crate) fn quantile(p: f64) -> f64 {
    if p.is_nan() || p <= 0.0 {
        return if p.is_nan() { f64::NAN } else { f64::NEG_INFINITY };
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let tail = p.min(1.0 - p);
    let t = SQRT_2 * (-tail.ln()).sqrt();
    let start = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let mut z = start;
    for _ in 0..2 {
        let step = (upper_tail(z) - tail) / density(z);
        z += step / (1.0 - 0.5 * z * step);
    }
    if p < 0.5 { -z } else { z }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.norm.sf and norm.ppf, scipy 1.17.1.
    #[test]
    fn matches_reference_values() {
        for (z, expected) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_05),
            (2.999, 0.001_354_336_533_727_105_7),
            (3.001, 0.001_345_472_825_084_965_3),
            (-1.96, 0.975_002_104_851_779_7),
            (8.0, 6.220_960_574_271_74e-16),
            (30.0, 4.906_713_927_147_908e-198),
        ] {
            assert!((upper_tail(z) / expected - 1.0).abs() < 1e-12, "{z}: {}", upper_tail(z));
        }
        for (p, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.0001, -3.719_016_485_455_680_4),
            (1e-10, -6.361_340_902_404_056),
            (0.3, -0.524_400_512_708_040_9),
        ] {
            assert!((quantile(p) - expected).abs() < 1e-12, "{p}: {}", quantile(p));
        }
    }

    #[test]
    fn ends_are_infinite_and_nan_stays() {
        assert_eq!(quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(quantile(1.0), f64::INFINITY);
        assert!(quantile(f64::NAN).is_nan() && upper_tail(f64::NAN).is_nan());
        assert_eq!(upper_tail(f64::INFINITY), 0.0);
    }
}
