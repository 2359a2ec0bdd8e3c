//! Single points that lie off the course of their neighbours.

use crate::quantiles::median;

/// How many standard deviations of the noise a point must be away from its neighbours.
const LIMIT: f64 = 5.0;

/// Which points lie off a smooth course: the identifier of Hampel, "The influence curve and its role in robust
/// estimation", JASA 69 (1974), against a running median of five (Tukey, "Exploratory Data Analysis", 1977, §7A).
///
/// A running median leaves every rising or falling course, however steep, as it is, so steps and knees are never
/// taken for outliers. The noise is judged from second differences, which a line does not contribute to.
pub(crate) fn outliers(y: &[f64]) -> Vec<bool> {
    let n = y.len();
    if n < 7 {
        return vec![false; n];
    }
    let bends: Vec<f64> = y.windows(3).map(|run| (run[0] - 2.0 * run[1] + run[2]).abs()).collect();
    // The bend of independent noise has sqrt(6) times its deviation; 1.4826 turns a median deviation into a standard one.
    let noise = 1.4826 * median(&bends) / 6_f64.sqrt();
    let smooth = running_median(y);
    (0..n).map(|i| !y[i].is_finite() || (noise > 0.0 && (y[i] - smooth[i]).abs() > LIMIT * noise)).collect()
}

/// Running median of five, of three next to the ends. At the ends it is Tukey's rule: the median of three
/// values. They are the end point, its smoothed neighbour, and the line through the two next smoothed points
/// continued.
fn running_median(y: &[f64]) -> Vec<f64> {
    let n = y.len();
    let mut smooth = y.to_vec();
    for i in 1..n - 1 {
        let reach = if i == 1 || i == n - 2 { 1 } else { 2 };
        smooth[i] = median(&y[i - reach..=i + reach]);
    }
    smooth[0] = median(&[y[0], smooth[1], 3.0 * smooth[1] - 2.0 * smooth[2]]);
    smooth[n - 1] = median(&[y[n - 1], smooth[n - 2], 3.0 * smooth[n - 2] - 2.0 * smooth[n - 3]]);
    smooth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn noisy(course: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut rng = Rng::new(4);
        (0..30).map(|i| course(f64::from(i)) + 0.02 * (rng.unit_f64() - 0.5)).collect()
    }

    #[test]
    fn a_single_point_is_found_anywhere() {
        for place in 0..30 {
            let mut y = noisy(|_| 1.0);
            y[place] += 0.5;
            let found: Vec<usize> = (0..30).filter(|&i| outliers(&y)[i]).collect();
            assert_eq!(found, [place]);
        }
    }

    #[test]
    fn steps_and_steep_rises_are_not_outliers() {
        for y in [noisy(|i| if i < 15.0 { 0.0 } else { 3.0 }), noisy(|i| (i - 10.0).clamp(0.0, 8.0))] {
            assert!(!outliers(&y).contains(&true));
        }
    }

    #[test]
    fn unusable_points_are_outliers_and_few_points_have_none() {
        let mut y = noisy(|_| 1.0);
        y[9] = f64::NAN;
        assert!(outliers(&y)[9]);
        assert_eq!(outliers(&[1.0, 9.0, 1.0]), [false; 3]);
    }
}
