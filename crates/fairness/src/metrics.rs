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
        Self::from_pairs(performance.iter().map(|one| (*one, 1.0)), ddof)
    }

    /// The same with a weight for each: the CPU time that it is entitled to ([`Entitled::cpus`](crate::Entitled)). Throughput is then what all get
    /// done together. Each application's unit of work is what it gets done in a second of CPU time under max-fair.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn weighted(performance: &[f64], cpus: &[f64], ddof: Ddof) -> Self {
        assert_eq!(performance.len(), cpus.len(), "one of each for an application");
        Self::from_pairs(performance.iter().copied().zip(cpus.iter().copied()), ddof)
    }

    pub(crate) fn from_pairs(pairs: impl Iterator<Item = (f64, f64)> + Clone, ddof: Ddof) -> Self {
        let (throughput, deviation) = mean_and_deviation(pairs.clone(), ddof);
        let min_fairness = pairs.map(|(one, _)| one).reduce(f64::min).unwrap_or(1.0);
        Self { throughput, min_fairness, uniformity: 1.0 - deviation / throughput }
    }
}

/// Mean and standard deviation of values with weights; of one value, or of none, the latter is 0. With equal weights these are the plain ones.
pub(crate) fn mean_and_deviation(pairs: impl Iterator<Item = (f64, f64)> + Clone, ddof: Ddof) -> (f64, f64) {
    let add = |(count, weights, sum): (usize, f64, f64), (value, weight): (f64, f64)| {
        (count + 1, weights + weight, sum + weight * value)
    };
    let (count, weights, sum) = pairs.clone().fold((0_usize, 0.0, 0.0), add);
    if count == 0 {
        return (1.0, 0.0);
    }
    let mean = sum / weights;
    let squares: f64 = pairs.map(|(value, weight)| weight * ((value - mean) * (value - mean))).sum();
    let of = match ddof {
        Ddof::Zero => count,
        Ddof::One => count - 1,
    };
    (mean, if of == 0 { 0.0 } else { (squares / (weights * of as f64 / count as f64)).sqrt() })
}
