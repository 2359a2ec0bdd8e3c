//! Pure statistics for noisy, one-sided measurements. It has quantiles, distribution-free and bootstrap intervals,
//! a test of normality, a rank test, a test of pairs and the correction for many tests. It also has autocorrelation, change points,
//! and the comparison of two builds or machines.
//!
//! Everything takes `&[f64]`, apart from the histogram and its quantiles, whose values are whole numbers. Functions named
//! `*_sorted` need ascending input (see [`sorted`]). Keeping NaN out of the input is the caller's duty; a NaN makes figures
//! meaningless but never causes a panic. The random methods take a seed and give the same answer for the same seed on every
//! machine.
//!
//! Modules: `quantiles`, `histogram` and `class_quantile`; `intervals`, `quantile_interval`, `cluster_ratio`; `comparison`, `rank_sum`, `sign_flips`, `multiple_tests`;
//! `moments`, `normality`, `normal_distribution`, `student_distribution`; `autocorrelation`, `change_points`, `line_fit`, `outliers`;
//! `rng`.
#![forbid(unsafe_code)]

mod autocorrelation;
mod change_points;
mod class_quantile;
mod cluster_ratio;
mod comparison;
mod histogram;
mod intervals;
mod line_fit;
mod moments;
mod multiple_tests;
mod normal_distribution;
mod normality;
mod outliers;
mod quantile_interval;
mod quantiles;
mod rank_sum;
mod rng;
mod sign_flips;
mod student_distribution;

pub use autocorrelation::lag1_autocorrelation;
pub use change_points::{Segment, piecewise_linear};
pub use class_quantile::{class_quantile, middle_of_class, order_statistic};
pub use cluster_ratio::{ClusterRatio, LEAST_WINDOWS};
pub use comparison::{
    Difference, LEAST_LAUNCHES, LEAST_PAIRS, RATIO_CONFIDENCE, Side, Undecided, compare_launches,
    compare_pairs, compare_runs, difference_of_runs,
};
pub use histogram::{Histogram, class_bounds, class_of, classes};
pub use intervals::{
    Interval, MedianInterval, bootstrap_interval, median_interval_or_extremes, median_interval_sorted,
};
pub use moments::{coefficient_of_variation, mean, series_mean_interval, standard_deviation, variance};
pub use multiple_tests::holm;
pub use normality::{ShapiroWilk, shapiro_wilk_sorted};
pub use quantile_interval::{QuantileInterval, quantile_interval_sorted};
pub use quantiles::{median, median_in_place, quantile_sorted, sorted};
pub use rank_sum::rank_sum;
pub use rng::Rng;
pub use sign_flips::sign_flips;
