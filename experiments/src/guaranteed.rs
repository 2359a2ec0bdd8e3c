//! Guaranteed fairness (Van Craeynest et al., PACT 2013, as on slide 23 of Kim and Huh): interval by interval, and in the long run.

use crate::registry::Options;
use crate::speedups;
use crate::table::{Row, Table};
use anyhow::Result;
use swtch_fairness::{Cores, Ddof, Guaranteed, Interval, Policy, Solution};

/// Uniformities before each interval, as published.
const SEEN: [f64; 8] = [0.93, 0.86, 0.79, 0.83, 0.87, 0.80, 0.85, 0.82];
/// What ran in each, as published: `P` max-perf, `f` max-fair.
const RAN: &str = "PPffPfPf";
const THRESHOLD: f64 = 0.85;
const LONG_RUN: usize = 100_000;

/// The published sequence, and the part of max-perf intervals over thresholds.
///
/// # Errors
/// When the speedups cannot be read.
pub(crate) fn run(_options: Options) -> Result<Vec<Table>> {
    Ok(vec![sequence(), long_run()?])
}

fn sequence() -> Table {
    let mut table = Table::new("The published sequence, threshold 85 % (slide 23)");
    for (index, (uniformity, ran)) in SEEN.into_iter().zip(RAN.chars()).enumerate() {
        let decided = Interval::after(uniformity, THRESHOLD);
        let fair = |fair| f64::from(u8::from(fair));
        let what = format!("interval {}, uniformity {uniformity:.2}: is it max-fair", index + 1);
        let row = Row::new(what, fair(ran == 'f'), fair(decided == Interval::MaxFair), "1 is yes", 0.0);
        table.rows.push(row.decimals(0));
    }
    table
}

fn long_run() -> Result<Table> {
    let mut table = Table::new(format!(
        "Part of {LONG_RUN} intervals that are max-perf, against the mix `a` of uni-fair, by threshold"
    ));
    // Derived for this project; the slides give none.
    table.compared_with = Some("closed form");
    let spread = speedups::evenly_spread(&speedups::spec_2017("Apple_M1_P-Core_O3", "bookworm")?, 6);
    let sets = [
        ("3.0 and 1.5 on 1F1S", Cores::new(1, 1)?, vec![3.0, 1.5]),
        ("3.0 and 2.9 on 1F1S", Cores::new(1, 1)?, vec![3.0, 2.9]),
        ("six of the Apple M1's on 2F4S", Cores::new(2, 4)?, speedups::values(&spread)),
    ];
    for (name, cores, speedups) in sets {
        for threshold in [0.3, 0.5, 0.7, THRESHOLD, 0.95] {
            let ddof = Ddof::One;
            let policy = Policy::Guaranteed { threshold, ddof };
            let mix = Solution::of(cores, &speedups, &policy, ddof, 0)?.mix.unwrap_or(f64::NAN);
            let intervals = Guaranteed::new(cores, &speedups, threshold, ddof)?.take(LONG_RUN);
            let perf = intervals.filter(|interval| *interval == Interval::MaxPerf).count();
            let what = format!("{name}, threshold {:.0} %", 100.0 * threshold);
            let obtained = 100.0 * perf as f64 / LONG_RUN as f64;
            // Of a finite run at most one interval may be on the wrong side, and the first is max-perf in any case.
            table.rows.push(Row::new(what, 100.0 * mix, obtained, "%", 0.01).decimals(3));
        }
    }
    Ok(table)
}
