//! Throughput, minimum fairness and uniformity.

/// Which standard deviation uniformity is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ddof {
    /// Of the applications as the whole population (divided by n): the published controller.
    Zero,
    /// Of a sample (divided by n - 1): the published figures.
    #[default]
    One,
}

/// What an allocation is measured by. Source: Kim and Huh (ICS 2016), section 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Mean performance relative to max-fair.
    pub throughput: f64,
    /// The least performance relative to max-fair.
    pub min_fairness: f64,
    /// 1 less the coefficient of variation of the performances.
    pub uniformity: f64,
}

impl Metrics {
    /// Of performances relative to max-fair; of none, all is 1.
    ///
    /// ```
    /// use swtch_fairness::{Ddof, Metrics};
    /// let metrics = Metrics::of(&[1.5, 0.8], Ddof::One);
    /// assert!((metrics.uniformity - 0.569_587).abs() < 1e-6);
    /// assert!((Metrics::of(&[1.5, 0.8], Ddof::Zero).uniformity - 0.695_652).abs() < 1e-6);
    /// ```
    pub fn of(performance: &[f64], ddof: Ddof) -> Self {
        let (throughput, deviation) = mean_and_deviation(performance.iter().copied(), ddof);
        Self {
            throughput,
            min_fairness: performance.iter().copied().reduce(f64::min).unwrap_or(1.0),
            uniformity: 1.0 - deviation / throughput,
        }
    }
}

/// Mean and standard deviation; of one value, or of none, the latter is 0.
pub(crate) fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone, ddof: Ddof) -> (f64, f64) {
    let (count, sum) = values.clone().fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    if count == 0 {
        return (1.0, 0.0);
    }
    let mean = sum / count as f64;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    let of = match ddof {
        Ddof::Zero => count,
        Ddof::One => count - 1,
    };
    (mean, if of == 0 { 0.0 } else { (squares / of as f64).sqrt() })
}
