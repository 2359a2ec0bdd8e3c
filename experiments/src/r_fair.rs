//! R%-fair (Kwon et al., ISCA 2011, as on slide 22 of Kim and Huh) over R, in both variants.

use crate::mix::{FAST_CORES, Percent, SLOW_CORES};
use crate::registry::Options;
use crate::speedups;
use crate::table::{Grid, Row, Table};
use anyhow::Result;
use swtch_fairness::{Policy, Variant};

const PARTS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Its ends, which are max-perf and max-fair, and what is between.
///
/// # Errors
/// When the speedups cannot be read.
pub(crate) fn run(_options: Options) -> Result<Vec<Table>> {
    Ok(vec![ends()?, between()?])
}

fn policy(r: f64, variant: Variant) -> Policy {
    Policy::RFair { r, variant }
}

fn ends() -> Result<Table> {
    let mut table = Table::new("The ends: R = 0 is max-perf, R = 1 max-fair (speedups 3.0 and 2.9 on 1F1S)");
    for (variant, name) in [(Variant::Greedy, "greedy"), (Variant::Mix, "mix")] {
        for (r, published) in [(0.0, [101.0, 51.0, 31.0]), (1.0, [100.0; 3])] {
            let obtained = Percent::of(1, 1, &[3.0, 2.9], &policy(r, variant))?;
            for ((metric, obtained), published) in obtained.named().into_iter().zip(published) {
                table.rows.push(Row::new(
                    format!("{name}, R = {r}: {metric}"),
                    published,
                    obtained,
                    "%",
                    0.5,
                ));
            }
        }
    }
    Ok(table)
}

fn between() -> Result<Table> {
    let mut table = Table::new(
        "Throughput / minimum fairness / uniformity over R, in percent of max-fair (not published)",
    );
    let spread = speedups::evenly_spread(&speedups::spec_2017("Apple_M1_P-Core_O3", "bookworm")?, 6);
    let six = speedups::values(&spread);
    let sets: [(&str, u32, u32, &[f64]); 4] = [
        ("3.0, 1.5 on 1F1S", 1, 1, &[3.0, 1.5]),
        ("3.0, 2.9 on 1F1S", 1, 1, &[3.0, 2.9]),
        ("3.0, 2.9, 1.5 on 1F2S", 1, 2, &[3.0, 2.9, 1.5]),
        ("six of the Apple M1's on 2F4S", FAST_CORES, SLOW_CORES, &six),
    ];
    let header = ["speedups", "variant"].map(str::to_owned).into_iter();
    let mut grid = Grid {
        header: header.chain(PARTS.map(|r| format!("R = {:.0} %", 100.0 * r))).collect(),
        rows: Vec::new(),
    };
    for (name, fast, slow, speedups) in sets {
        for (variant, variant_name) in [(Variant::Greedy, "greedy"), (Variant::Mix, "mix")] {
            let mut row = vec![name.to_owned(), variant_name.to_owned()];
            for r in PARTS {
                let Percent { throughput, min_fairness, uniformity } =
                    Percent::of(fast, slow, speedups, &policy(r, variant))?;
                row.push(format!("{throughput:.1} / {min_fairness:.1} / {uniformity:.1}"));
            }
            grid.rows.push(row);
        }
    }
    table.grid = Some(grid);
    table.notes.push(
        "At R = 50 % minimum and uniformity differ from set to set: the policy guarantees neither, as slide 22 says. With one fast core both variants are the same."
            .to_owned(),
    );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_differ_only_with_more_than_one_fast_core() {
        let both = |fast, slow, speedups: &[f64]| {
            [Variant::Greedy, Variant::Mix]
                .map(|variant| Percent::of(fast, slow, speedups, &policy(0.5, variant)).unwrap())
        };
        let [greedy, mix] = both(1, 2, &[3.0, 2.9, 1.5]);
        assert!((greedy.uniformity - mix.uniformity).abs() < 1e-9);
        let [greedy, mix] = both(2, 4, &[4.0, 3.0, 2.5, 2.0, 1.5, 1.2]);
        assert!((greedy.uniformity - mix.uniformity).abs() > 1.0, "{greedy:?} {mix:?}");
    }
}
