//! Prints `functions/vectors/statistics.json`: samples and what this crate says of them, for the serverless handlers, which
//! compute the same in four languages.
//!
//! `cargo run --release -p swtch-stats --example golden_vectors > functions/vectors/statistics.json`
#![expect(clippy::print_stdout, reason = "an example prints what it is about")]

use swtch_stats::{
    Rng, coefficient_of_variation, lag1_autocorrelation, mean, median, median_interval_sorted,
    shapiro_wilk_sorted, sorted,
};

const CONFIDENCE: f64 = 0.95;

fn main() {
    print!("{}", text());
}

/// The file.
pub(crate) fn text() -> String {
    let vectors: Vec<String> = samples().iter().map(|(name, values)| vector(name, values)).collect();
    format!("{{\n  \"confidence\": {CONFIDENCE},\n  \"vectors\": [\n{}\n  ]\n}}\n", vectors.join(",\n"))
}

/// Samples by name: times in whole nanoseconds, but for one with fractions and one with negative values.
fn samples() -> Vec<(String, Vec<f64>)> {
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    for n in [3, 4, 5, 6, 11, 12, 25, 50, 200, 1000] {
        found.push((format!("skewed-{n}"), skewed(n)));
    }
    for n in [7, 20, 200] {
        found.push((format!("normal-{n}"), normal(n)));
    }
    found.push(("one".to_owned(), vec![1234.0]));
    found.push(("two".to_owned(), vec![1000.0, 1500.0]));
    found.push(("all-equal".to_owned(), vec![1300.0; 20]));
    found
        .push(("ties".to_owned(), skewed(100).iter().map(|value| (value / 200.0).round() * 200.0).collect()));
    found.push(("drift".to_owned(), (0..60).map(|i| f64::from(1000 + 7 * i + i % 3)).collect()));
    found.push(("alternating".to_owned(), (0..40).map(|i| f64::from(1000 + 300 * (i % 2) + i)).collect()));
    // Short batches under a quota: most run through, some wait for the next period. The mean shows it, the median does not.
    let throttled =
        (0..200).map(|i| if i % 16 == 9 { 92_000_000.0 } else { f64::from(260_000 + 977 * (i % 31)) });
    found.push(("throttled-200".to_owned(), throttled.collect()));
    found.push(("fractions".to_owned(), skewed(30).iter().map(|value| value / 64.0).collect()));
    let both = normal(40).iter().map(|value| value - 20_000.0).collect();
    found.push(("around-zero".to_owned(), both));
    found
}

/// Exponential above a floor, as a noisy host makes times.
fn skewed(n: u64) -> Vec<f64> {
    let mut rng = Rng::new(n);
    (0..n).map(|_| (1200.0 - 150.0 * (1.0 - rng.unit_f64()).ln()).round()).collect()
}

/// The sum of twelve uniform numbers.
fn normal(n: u64) -> Vec<f64> {
    let mut rng = Rng::new(n);
    (0..n).map(|_| ((0..12).map(|_| rng.unit_f64()).sum::<f64>() * 500.0 + 17_000.0).round()).collect()
}

fn vector(name: &str, values: &[f64]) -> String {
    let ascending = sorted(values);
    let interval = median_interval_sorted(&ascending, CONFIDENCE).map_or_else(
        || "null".to_owned(),
        |found| {
            format!(
                "{{\"low\": {}, \"high\": {}, \"low_rank\": {}, \"high_rank\": {}, \"coverage\": {}}}",
                found.low, found.high, found.low_rank, found.high_rank, found.coverage
            )
        },
    );
    let normality = shapiro_wilk_sorted(&ascending).map_or_else(
        || "null".to_owned(),
        |found| format!("{{\"w\": {}, \"p\": {}}}", found.w, number(found.p)),
    );
    let lag1 = lag1_autocorrelation(values).map_or_else(|| "null".to_owned(), number);
    let cov = coefficient_of_variation(values);
    let cov = if cov.is_finite() { number(cov) } else { "null".to_owned() };
    format!(
        "    {{\n      \"name\": \"{name}\",\n      \"n\": {},\n      \"median\": {},\n      \"interval\": {interval},\n      \
         \"mean\": {},\n      \"minimum\": {},\n      \"cov\": {cov},\n      \"shapiro_wilk\": {normality},\n      \
         \"lag1\": {lag1},\n      \"samples\": [{}]\n    }}",
        values.len(),
        median(values),
        mean(values),
        ascending[0],
        values.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
    )
}

/// With an exponent, so that a tiny probability takes no line of zeros.
fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-5 { format!("{value:e}") } else { value.to_string() }
}
