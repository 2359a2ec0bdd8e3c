//! Temporary.
use serde_json::Value;
use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let done = swtch_faas::figures::complete(&row["answer"].to_string()).unwrap();
        let i = &done["throttling"]["inferred"];
        println!("{} {} {} {} {} {} {}", row["answer"]["handler"]["language"].as_str().unwrap(), row["cpus"], row["period_ms"],
            i["period_ns"].as_f64().map_or(f64::NAN, |p| 100.0 * (p / (row["period_ms"].as_f64().unwrap() * 1e6) - 1.0)),
            i["quota_ns"].as_f64().map_or(f64::NAN, |q| 100.0 * (q / (row["quota_us"].as_f64().unwrap() * 1e3) - 1.0)),
            i["quota_ci_low_ns"].as_f64().map_or(f64::NAN, |q| 100.0 * (q / (row["quota_us"].as_f64().unwrap() * 1e3) - 1.0)),
            i["quota_ci_high_ns"].as_f64().map_or(f64::NAN, |q| 100.0 * (q / (row["quota_us"].as_f64().unwrap() * 1e3) - 1.0)));
    }
}
