//! The diverse and the similar mix of Kim and Huh (slides 13 and 14): six applications on two fast and four slow cores.

use crate::mix::{FAST_CORES, Percent, SIZE, SLOW_CORES, published_policies};
use crate::registry::Options;
use crate::speedups::{self, Application};
use crate::table::{Row, Table};
use anyhow::{Context, Result};

/// Points of percent: the applications are not the published ones.
const TOLERANCE: f64 = 5.0;

/// Published throughput, minimum fairness and uniformity, a row for each of [`published_policies`].
pub(crate) type Figures = [[f64; 3]; 3];
/// The diverse mix.
pub(crate) const DIVERSE: Figures = [[107.0, 62.0, 43.0], [106.0, 85.0, 72.0], [104.0, 85.0, 78.0]];
/// The similar mix.
pub(crate) const SIMILAR: Figures = [[100.0, 56.0, 33.0], [100.0, 85.0, 72.0], [100.0, 87.0, 90.0]];

const AVERAGED: &str =
    "no ideal schedule of a mix with the published max-perf row is that even; see the last two tables";
const NOBODY_ALIKE: &str =
    "at most two of those with most are within 0.2; more of the published ones must have been";
const ALL_ALIKE: &str = "all six are estimated alike and share alike; on the real machine estimates differ";
const DIFFERENT: &str = "the six most alike of the M1 gain less than those from 0.8 to 2.8 GHz";

/// Rows that do not come out: file, mix and figure.
const DEPARTURES: [(&str, &str); 9] = [
    ("2.8 over 0.8 GHz, diverse, min-fair(85 %): uniformity", AVERAGED),
    ("2.8 over 0.8 GHz, diverse, similar-min-fair(0.2, 85 %): uniformity", NOBODY_ALIKE),
    ("2.8 over 0.8 GHz, similar, min-fair(85 %): uniformity", AVERAGED),
    ("2.8 over 0.8 GHz, similar, similar-min-fair(0.2, 85 %): minimum fairness", ALL_ALIKE),
    ("2.8 over 0.8 GHz, similar, similar-min-fair(0.2, 85 %): uniformity", ALL_ALIKE),
    ("Apple M1, diverse, min-fair(85 %): uniformity", AVERAGED),
    ("Apple M1, diverse, similar-min-fair(0.2, 85 %): uniformity", NOBODY_ALIKE),
    ("Apple M1, similar, max-perf: uniformity", DIFFERENT),
    ("Apple M1, similar, min-fair(85 %): uniformity", AVERAGED),
];

/// Both mixes by a rule, from two collections of applications; then what the published figures allow, whatever the applications.
///
/// # Errors
/// When the speedups cannot be read.
pub(crate) fn run(_options: Options) -> Result<Vec<Table>> {
    let sources = [
        ("2.8 over 0.8 GHz", speedups::estimated()?),
        ("Apple M1", speedups::spec_2017("Apple_M1_P-Core_O3", "bookworm")?),
    ];
    let mut tables = Vec::new();
    for (name, applications) in sources {
        tables.push(by_rule(name, &applications)?);
    }
    tables.push(crate::allowed::table("diverse", &DIVERSE)?);
    tables.push(crate::allowed::table("similar", &SIMILAR)?);
    Ok(tables)
}

fn by_rule(source: &str, applications: &[Application]) -> Result<Table> {
    let mut table = Table::new(format!(
        "Diverse and similar applications, {source}, on {FAST_CORES} fast and {SLOW_CORES} slow cores, in percent of max-fair"
    ));
    let mixes = [
        ("diverse", DIVERSE, speedups::evenly_spread(applications, SIZE)),
        ("similar", SIMILAR, speedups::most_alike(applications, SIZE)),
    ];
    for (mix, published, applications) in mixes {
        let speedups = speedups::values(&applications);
        for ((policy_name, policy), published) in published_policies().into_iter().zip(published) {
            let obtained = Percent::of(FAST_CORES, SLOW_CORES, &speedups, &policy)?;
            for ((metric, obtained), published) in obtained.named().into_iter().zip(published) {
                let what = format!("{source}, {mix}, {policy_name}: {metric}");
                table.rows.push(Row::new(what, published, obtained, "%", TOLERANCE));
            }
        }
        let members: Vec<String> =
            applications.iter().map(|one| format!("{} {:.2}", one.name, one.speedup)).collect();
        table.notes.push(format!("{mix}: {}", members.join(", ")));
    }
    for (what, why) in DEPARTURES.iter().filter(|(what, _)| what.starts_with(source)) {
        table.depart(what, why).context("a departure of no row")?;
    }
    Ok(table)
}
