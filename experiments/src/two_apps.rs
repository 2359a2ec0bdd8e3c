//! Every number on the slides of Kim and Huh that follows from the mathematics: two and three applications, and sums in the margin.

use crate::mix::{Percent, published_policies};
use crate::registry::Options;
use crate::table::{Row, Table};
use anyhow::Result;
use swtch_fairness::{Policy, Variant};

/// Published in whole percents.
const ROUNDING: f64 = 0.5;

/// Slides 5 and 6 (two applications), 8, 9 and 22 (three), 21 (scaled load) and 32 (the controller's time).
///
/// # Errors
/// None that are expected.
pub(crate) fn run(_options: Options) -> Result<Vec<Table>> {
    Ok(vec![two()?, three()?, margins()])
}

fn two() -> Result<Table> {
    let mut table = Table::new(
        "Two applications on one fast and one slow core, max-perf against max-fair (slides 5 and 6)",
    );
    for (speedups, published) in [([3.0, 1.5], [15.0, -20.0, -43.0]), ([3.0, 2.9], [1.0, -49.0, -69.0])] {
        let obtained = Percent::of(1, 1, &speedups, &Policy::MaxPerf)?;
        for ((name, obtained), published) in obtained.named().into_iter().zip(published) {
            let what = format!("speedups {:.1} and {:.1}: {name}", speedups[0], speedups[1]);
            table.rows.push(Row::new(what, published, obtained - 100.0, "%", ROUNDING));
        }
    }
    Ok(table)
}

fn three() -> Result<Table> {
    let mut table = Table::new(
        "Three applications with speedups 3.0, 2.9 and 1.5 on one fast and two slow cores, in percent of max-fair (slides 8, 9 and 22)",
    );
    let half = Policy::RFair { r: 0.5, variant: Variant::Greedy };
    for (name, policy) in published_policies().into_iter().chain([("50%-fair", half)]) {
        for (metric, obtained) in Percent::of(1, 2, &[3.0, 2.9, 1.5], &policy)?.named() {
            table.rows.push(Row::computed(format!("{name}: {metric}"), obtained, "%"));
        }
    }
    table.notes.push("The slides draw these shares and give no figures.".to_owned());
    Ok(table)
}

fn margins() -> Table {
    let mut table = Table::new("Sums in the margin (slides 21 and 32)");
    // Six threads, one after another to the core with the least load for its power.
    let powers = [2.0, 1.0];
    let mut loads = [0.0_f64; 2];
    for _ in 0..6 {
        let scaled = |core: usize| (loads[core] + 1.0) / powers[core];
        let least = usize::from(scaled(0) > scaled(1));
        loads[least] += 1.0;
    }
    for (core, (load, power)) in ["fast", "slow"].into_iter().zip(loads.into_iter().zip(powers)) {
        let published = if core == "fast" { 4.0 } else { 2.0 };
        table.rows.push(Row::new(
            format!("scaled load balancing: load of the {core} core"),
            published,
            load,
            "threads",
            0.0,
        ));
        table.rows.push(Row::new(
            format!("scaled load balancing: load for its power, {core} core"),
            2.0,
            load / power,
            "",
            0.0,
        ));
    }
    let (worst_ms, interval_ms, cores) = (0.17, 2000.0, 6.0);
    table.rows.push(
        Row::new(
            "CPU time of the controller",
            0.002,
            100.0 * worst_ms / (interval_ms * cores),
            "% of 6 cores",
            0.0005,
        )
        .decimals(4)
        .departs("0.17 ms in 2 s on 6 cores are 0.0014 %, which was rounded up"),
    );
    table
}
