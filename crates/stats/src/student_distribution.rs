//! Student's t distribution, to about 12 digits.

/// Probability of a value farther from 0 than `t`, on either side, with `degrees` of freedom (any positive number). It is the incomplete
/// beta function `I_x(degrees / 2, 1 / 2)` at `x = degrees / (degrees + t^2)`. Source: Abramowitz and Stegun, "Handbook of Mathematical
/// Functions" (1964), 26.7.1 and 26.5.27.
pub(crate) fn two_sided_tail(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// The point beyond which, on either side, `tail` of the distribution is: by bisection, which cannot leave the interval.
pub(crate) fn two_sided_point(tail: f64, degrees: f64) -> f64 {
    let (mut below, mut above) = (0.0, 1.0);
    while two_sided_tail(above, degrees) > tail && above < 1e12 {
        above *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (below + above);
        if two_sided_tail(middle, degrees) > tail {
            below = middle;
        } else {
            above = middle;
        }
    }
    above
}

/// The regularised incomplete beta function: the continued fraction 26.5.8 of Abramowitz and Stegun (1964), on the side where it converges.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let log_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front.exp() * fraction(a, b, x) / a
    } else {
        1.0 - log_front.exp() * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction by Lentz's method: Thompson and Barnett, "Coulomb and Bessel functions of complex arguments and order", Journal of
/// Computational Physics 64 (1986).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut result = lower;
    for level in (1..500).map(f64::from) {
        let place = a + 2.0 * level;
        let even = level * (b - level) * x / ((place - 1.0) * place);
        let odd = -(a + level) * (a + b + level) * x / (place * (place + 1.0));
        let mut step = 1.0;
        for coefficient in [even, odd] {
            lower = 1.0 / away(1.0 + coefficient * lower);
            upper = away(1.0 + coefficient / upper);
            step = upper * lower;
            result *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// The logarithm of the gamma function from 0.5 on: Stirling's series 6.1.41 of Abramowitz and Stegun (1964), after a shift to where it is exact.
fn ln_gamma(x: f64) -> f64 {
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 10.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / shifted;
    (shifted - 0.5) * shifted.ln() - shifted + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 95 % and 99.9 % points of published tables (Abramowitz and Stegun 1964, table 26.10).
    #[test]
    fn points_match_tables() {
        for (degrees, tail, expected) in [
            (1.0, 0.05, 12.706),
            (2.0, 0.05, 4.303),
            (5.0, 0.05, 2.571),
            (11.0, 0.05, 2.201),
            (30.0, 0.05, 2.042),
            (1e7, 0.05, 1.960),
            (3.0, 0.001, 12.924),
            (10.0, 0.001, 4.587),
        ] {
            let found = two_sided_point(tail, degrees);
            assert!((found - expected).abs() < 6e-4, "{degrees} {tail}: {found}");
            assert!((two_sided_tail(found, degrees) - tail).abs() < 1e-10);
        }
    }

    /// With one degree of freedom the distribution is Cauchy's, with two it has a closed form too.
    #[test]
    fn tails_match_closed_forms_far_out() {
        for t in [0.0, 0.1, 1.0, 7.0, 100.0, 1e5] {
            let cauchy = 2.0 / std::f64::consts::PI * (1.0_f64 / t).atan();
            assert!((two_sided_tail(t, 1.0) / cauchy - 1.0).abs() < 1e-9, "{t}");
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((two_sided_tail(t, 2.0) - two).abs() < 1e-12, "{t}");
        }
        assert_eq!(two_sided_tail(f64::INFINITY, 4.0), 0.0);
        assert!(two_sided_tail(f64::NAN, 4.0).is_nan() && two_sided_tail(1.0, 0.0).is_nan());
    }
}
