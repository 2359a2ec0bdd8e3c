//! Least-squares lines over runs of points.

/// Running sums over points, from which the best line through any run of them follows in constant time.
pub(crate) struct LineFits {
    /// `sums[i]` holds the sums over points `0..i` of 1 (implied), x, y, xx, xy, yy.
    sums: Vec<[f64; 5]>,
    x_centre: f64,
    y_centre: f64,
}

/// A least-squares line and what it leaves unexplained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FittedLine {
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
    /// Sum of squared residuals.
    pub(crate) residual: f64,
}

impl LineFits {
    pub(crate) fn new(x: &[f64], y: &[f64]) -> Self {
        // Sums about the middle of the data keep the digits that sums of large coordinates would lose.
        let x_centre = crate::mean(x);
        let y_centre = crate::mean(y);
        let mut sums = vec![[0.0; 5]];
        let mut running = [0.0; 5];
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (x - x_centre, y - y_centre);
            for (sum, term) in running.iter_mut().zip([x, y, x * x, x * y, y * y]) {
                *sum += term;
            }
            sums.push(running);
        }
        Self { sums, x_centre, y_centre }
    }

    /// The line through points `from..to`; level when fewer than two different x leave the slope open.
    pub(crate) fn line(&self, from: usize, to: usize) -> FittedLine {
        let count = (to - from) as f64;
        let (start, end) = (&self.sums[from], &self.sums[to]);
        let [x, y, xx, xy, yy] = std::array::from_fn(|term| end[term] - start[term]);
        let spread = xx - x * x / count;
        let shared = xy - x * y / count;
        let total = (yy - y * y / count).max(0.0);
        let slope =
            if to - from >= 2 && spread > 1e-12 * xx.max(f64::MIN_POSITIVE) { shared / spread } else { 0.0 };
        let residual = (total - slope * shared).max(0.0);
        let intercept = self.y_centre + (y - slope * x) / count - slope * self.x_centre;
        FittedLine { slope, intercept, residual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_any_run_of_points() {
        let x = [100.0, 101.0, 102.0, 103.0, 104.0];
        let y = [0.0, 2.0, 4.0, 7.0, 7.0];
        let fits = LineFits::new(&x, &y);
        let start = fits.line(0, 3);
        assert!((start.slope - 2.0).abs() < 1e-12 && (start.intercept + 200.0).abs() < 1e-9);
        assert!(start.residual < 1e-12);
        // By hand: y - mean = -2, 1, 1 and x - mean = -1, 0, 1 give slope 1.5 and residual 6 - 4.5.
        let end = fits.line(2, 5);
        assert!((end.slope - 1.5).abs() < 1e-12 && (end.residual - 1.5).abs() < 1e-12);
    }

    #[test]
    fn equal_x_and_single_points_give_a_level_line() {
        let fits = LineFits::new(&[3.0, 3.0], &[1.0, 5.0]);
        let line = fits.line(0, 2);
        assert_eq!((line.slope, line.intercept, line.residual), (0.0, 3.0, 8.0));
        assert_eq!(fits.line(1, 2).intercept, 5.0);
    }
}
