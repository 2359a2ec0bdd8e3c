//! Knees and steps in a curve.

use crate::line_fit::LineFits;
use crate::outliers::outliers;

/// A run of points that lie along one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Index of the first point.
    pub first: usize,
    /// Index of the last point, inclusive.
    pub last: usize,
    /// Change of y for a unit of x.
    pub slope: f64,
    /// y of the line at x = 0.
    pub intercept: f64,
}

/// Divides a curve into at most `max_segments` runs of at least `min_points` points, each with its own least-squares
/// line, so that the squares of all residuals together are least: Bellman, "On the approximation of curves by line
/// segments using dynamic programming", Communications of the ACM 4 (1961); Bai and Perron, "Computation and
/// analysis of multiple structural change models", J. Applied Econometrics 18 (2003). `x` must ascend; give logarithms
/// of size and cost for the curve of a cache. The segments cover every point in order.
///
/// The lines need not meet. A cache curve may step between two neighbouring sizes or rise over two octaves; free lines
/// describe both, and where a curve does bend without a step its knee still shows within one point.
///
/// Their number minimises the modified information criterion of Zhang and Siegmund, "A modified Bayes information
/// criterion with applications to the analysis of comparative genomic hybridization data", Biometrics 63 (2007): a line
/// costs its two coefficients, a knee three more, since its place is searched for (plain BIC counts a knee as one
/// parameter and on noise alone invented knees in 9 of 100 curves of 25 points; this does in 1). The residual variance
/// has its degrees of freedom corrected as by Liu, Wu and Zidek, "On segmented multivariate regressions", Statistica
/// Sinica 7 (1997), without which short curves are overfitted.
///
/// Single points off the course of their neighbours are left out of the fit and belong to the segment around them.
///
/// ```
/// use swtch_stats::piecewise_linear;
/// let x: Vec<f64> = (0..24).map(f64::from).collect();
/// let y: Vec<f64> = x.iter().map(|x| (x - 8.0).clamp(0.0, 6.0) + 0.01 * (x * 7.0).sin()).collect();
/// let segments = piecewise_linear(&x, &y, 5, 3);
/// assert_eq!(segments.len(), 3);
/// assert!((segments[1].slope - 1.0).abs() < 0.05 && segments[2].slope.abs() < 0.05);
/// ```
pub fn piecewise_linear(x: &[f64], y: &[f64], max_segments: usize, min_points: usize) -> Vec<Segment> {
    divide(x, y, max_segments, min_points, |divisions, y| fewest_that_explain(divisions, y))
}

/// [`piecewise_linear`] for points whose standard deviation `noise` is known from their own repetitions. The number of segments
/// minimises Schwarz's criterion with that variance ("Estimating the dimension of a model", Annals of Statistics 6 (1978)): a knee and its
/// line, three numbers, must explain `3 ln n` squared deviations. A short curve with several rises keeps them apart, where a variance
/// estimated from the misfit would swallow the smaller one.
///
/// ```
/// use swtch_stats::piecewise_linear_with_noise;
/// let x: Vec<f64> = (0..20).map(f64::from).collect();
/// let y: Vec<f64> = x.iter().map(|x| (x - 6.0).clamp(0.0, 4.0) + 3.0 * (x - 15.0).max(0.0)).collect();
/// let slopes: Vec<f64> = piecewise_linear_with_noise(&x, &y, 0.2, 6, 2).iter().map(|run| run.slope.round()).collect();
/// assert_eq!(slopes, [0.0, 1.0, 0.0, 3.0]);
/// ```
pub fn piecewise_linear_with_noise(
    x: &[f64],
    y: &[f64],
    noise: f64,
    max_segments: usize,
    min_points: usize,
) -> Vec<Segment> {
    divide(x, y, max_segments, min_points, |divisions, y| {
        let price = 3.0 * (y.len() as f64).ln();
        let criterion =
            |division: &Division| division.residual / (noise * noise) + price * division.starts.len() as f64;
        let best = divisions.iter().min_by(|a, b| criterion(a).total_cmp(&criterion(b)));
        best.map_or(&[][..], |division| &division.starts)
    })
}

/// Divides the points that lie on course; `choose` picks the starts of one of the divisions.
fn divide(
    x: &[f64],
    y: &[f64],
    max_segments: usize,
    min_points: usize,
    choose: impl for<'a> Fn(&'a [Division], &[f64]) -> &'a [usize],
) -> Vec<Segment> {
    let n = x.len().min(y.len());
    let off_course = outliers(&y[..n]);
    let kept: Vec<usize> = (0..n).filter(|&i| !off_course[i] && x[i].is_finite()).collect();
    if kept.is_empty() {
        return Vec::new();
    }
    let kept_x: Vec<f64> = kept.iter().map(|&i| x[i]).collect();
    let kept_y: Vec<f64> = kept.iter().map(|&i| y[i]).collect();
    let fits = LineFits::new(&kept_x, &kept_y);
    let divisions = best_divisions(&fits, kept.len(), max_segments.max(1), min_points.max(1));
    let starts = choose(&divisions, &kept_y);
    let mut segments: Vec<Segment> = Vec::with_capacity(starts.len());
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(kept.len());
        let line = fits.line(start, end);
        // Points left out go to the segment before them, those ahead of all to the first.
        let first = if index == 0 { 0 } else { kept[start] };
        let last = if end == kept.len() { n - 1 } else { kept[end] - 1 };
        segments.push(Segment { first, last, slope: line.slope, intercept: line.intercept });
    }
    segments
}

/// The best division into a given number of runs.
struct Division {
    residual: f64,
    /// Index of the first point of each run.
    starts: Vec<usize>,
}

/// The best division into 1, 2, ... runs, as far as the points allow. Time grows with `max_segments * n^2`.
fn best_divisions(fits: &LineFits, n: usize, max_segments: usize, min_points: usize) -> Vec<Division> {
    // After round `k`, `costs[end]` is the least residual of points `0..end` in `k` runs; `last_starts[k - 1][end]` is
    // where the last of those runs begins.
    let mut costs: Vec<f64> =
        (0..=n).map(|end| if end == 0 { f64::INFINITY } else { fits.line(0, end).residual }).collect();
    let mut last_starts = vec![vec![0; n + 1]];
    let mut divisions = vec![Division { residual: costs[n], starts: vec![0] }];
    for runs in 2..=max_segments.min(n / min_points) {
        let mut next = vec![f64::INFINITY; n + 1];
        let mut starts = vec![0; n + 1];
        for end in runs * min_points..=n {
            let possible = costs.iter().enumerate().take(end - min_points + 1).skip((runs - 1) * min_points);
            for (start, before) in possible {
                let cost = before + fits.line(start, end).residual;
                if cost < next[end] {
                    next[end] = cost;
                    starts[end] = start;
                }
            }
        }
        costs = next;
        last_starts.push(starts);
        divisions.push(Division { residual: costs[n], starts: trace_back(&last_starts, n) });
    }
    divisions
}

fn trace_back(last_starts: &[Vec<usize>], n: usize) -> Vec<usize> {
    let mut end = n;
    let mut starts: Vec<usize> = last_starts
        .iter()
        .rev()
        .map(|round| {
            end = round[end];
            end
        })
        .collect();
    starts.reverse();
    starts
}

/// The starts of the division that the criterion prefers; the fewest runs on a tie.
fn fewest_that_explain<'a>(divisions: &'a [Division], y: &[f64]) -> &'a [usize] {
    let n = y.len() as f64;
    // Without a floor, a curve free of noise would have the rounding of its own arithmetic explained by knees.
    let highest = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = y.iter().copied().fold(f64::INFINITY, f64::min);
    let resolution = 1e-6 * (highest - lowest) + 1e-12 * highest.abs().max(lowest.abs());
    let floor = (n * resolution * resolution).max(f64::MIN_POSITIVE);
    let mut best = (f64::INFINITY, &divisions[0].starts);
    for division in divisions {
        let runs = division.starts.len() as f64;
        let freedom = n - (3.0 * runs - 1.0);
        if freedom < 1.0 {
            break;
        }
        let price = 2.0 * runs + 3.0 * (runs - 1.0);
        let criterion = n * (division.residual.max(floor) / freedom).ln() + price * n.ln();
        if criterion < best.0 {
            best = (criterion, &division.starts);
        }
    }
    best.1
}

#[cfg(test)]
mod tests;
