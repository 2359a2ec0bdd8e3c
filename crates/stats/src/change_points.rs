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
/// line. The squares of all residuals together are least. Sources: Bellman, "On the approximation of curves by line
/// segments using dynamic programming", Communications of the ACM 4 (1961). Bai and Perron, "Computation and analysis
/// of multiple structural change models", J. Applied Econometrics 18 (2003). `x` must ascend; give logarithms of size
/// and cost for the curve of a cache. The segments cover every point in order.
///
/// The lines need not meet. A cache curve may step between two neighbouring sizes or rise over two octaves, and free
/// lines describe both. Where a curve does bend without a step, its knee still shows within one point.
///
/// `noise` is the standard deviation of a point, known from its own repetitions. The number of segments minimises Schwarz's criterion with
/// that variance ("Estimating the dimension of a model", Annals of Statistics 6 (1978)). A knee and its line, three numbers, must explain
/// `3 ln n` squared deviations. A short curve with several rises keeps them apart, where a variance estimated from the misfit would swallow
/// the smaller one.
///
/// Single points off the course of their neighbours are left out of the fit and belong to the segment around them.
///
/// ```
/// use swtch_stats::piecewise_linear;
/// let x: Vec<f64> = (0..20).map(f64::from).collect();
/// let y: Vec<f64> = x.iter().map(|x| (x - 6.0).clamp(0.0, 4.0) + 3.0 * (x - 15.0).max(0.0)).collect();
/// let slopes: Vec<f64> = piecewise_linear(&x, &y, 0.2, 6, 2).iter().map(|run| run.slope.round()).collect();
/// assert_eq!(slopes, [0.0, 1.0, 0.0, 3.0]);
/// ```
pub fn piecewise_linear(
    x: &[f64],
    y: &[f64],
    noise: f64,
    max_segments: usize,
    min_points: usize,
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
    let price = 3.0 * (kept.len() as f64).ln();
    let criterion =
        |division: &Division| division.residual / (noise * noise) + price * division.starts.len() as f64;
    let best = divisions.iter().min_by(|a, b| criterion(a).total_cmp(&criterion(b)));
    let starts = best.map_or(&[][..], |division| &division.starts);
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

#[cfg(test)]
mod tests;
