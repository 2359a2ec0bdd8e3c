//! What a published row allows, whatever the applications were: every mix of six speedups that gives that row under max-perf, and what the
//! other policies then can give.

use crate::mix::{FAST_CORES, Percent, SLOW_CORES, published_policies};
use crate::table::{Row, Table};
use anyhow::Result;
use swtch_fairness::{Allocator, Cores, Ddof, FairnessError, Metrics, Policy, performance};

/// The speedups that slide 20 names: 1.7 to 3.5, in twentieths.
const TWENTIETHS: std::ops::RangeInclusive<u8> = 34..=70;
const ROUNDING: f64 = 0.5;
/// What measurement may have added to it, in points.
const SLACK: f64 = 3.0;

/// Least and most of each metric over many mixes.
#[derive(Clone, Copy, Debug)]
struct Span {
    least: [f64; 3],
    most: [f64; 3],
}

/// Searches all mixes of six speedups; `published` has the rows of max-perf, min-fair and similar-min-fair.
///
/// # Errors
/// When the policies refuse, which they do not.
pub(crate) fn table(mix: &str, published: &[[f64; 3]; 3]) -> Result<Table> {
    let (found, spans) = search(published[0], ROUNDING)?;
    let mut table = Table::new(format!(
        "What the max-perf row of the {mix} mix allows: all mixes of six speedups from 1.7 to 3.5 in steps of 0.05 that give it when rounded"
    ));
    table.rows.push(Row::computed("mixes that give it", found as f64, "mixes").decimals(0));
    if found == 0 {
        table.notes.push("No such mix exists.".to_owned());
        return Ok(table);
    }
    let policies = published_policies();
    for (index, (name, _)) in policies.iter().enumerate().skip(1) {
        for (metric, (what, _)) in Percent::default().named().into_iter().enumerate() {
            let (least, most) = (spans[index].least[metric], spans[index].most[metric]);
            // How far the published figure is outside of what is possible; its own rounding is allowed for.
            let value = published[index][metric];
            let nearest = value.clamp(least, most);
            let what = format!("{mix}, {name}: {what}, nearest possible of {least:.1} to {most:.1}");
            table.rows.push(Row::new(what, value, nearest, "%", ROUNDING));
        }
    }
    let (_, with_slack) = search(published[0], SLACK)?;
    let most = with_slack[1].most[2];
    let what = format!(
        "{mix}, {}: most uniformity if the max-perf row may be off by {SLACK:.0} points",
        policies[1].0
    );
    table.rows.push(Row::computed(what, most, "%"));
    for (what, why) in DEPARTURES {
        let full = table.rows.iter().map(|row| row.what.clone()).find(|name| name.starts_with(what));
        if let Some(full) = full {
            table.depart(&full, why)?;
        }
    }
    Ok(table)
}

const UNEVEN: &str = "no ideal schedule is both that uneven under max-perf, which never swaps, and that even here; real swaps may leave the leader short of its share";
const SHARED: &str = "the same, less pronounced";

/// Rows that do not come out, by how they begin.
const DEPARTURES: [(&str, &str); 4] = [
    ("diverse, min-fair(85 %): uniformity", UNEVEN),
    ("diverse, similar-min-fair(0.2, 85 %): uniformity", SHARED),
    ("similar, min-fair(85 %): uniformity", UNEVEN),
    ("similar, similar-min-fair(0.2, 85 %): uniformity", "five mixes are left, all of them more even"),
];

fn search(max_perf: [f64; 3], slack: f64) -> Result<(usize, [Span; 3]), FairnessError> {
    let cores = Cores::new(FAST_CORES, SLOW_CORES)?;
    let mut allocator = Allocator::with_capacity(6);
    let mut figures = |speedups: &[f64; 6], policy: &Policy| -> Result<[f64; 3], FairnessError> {
        let (mut shares, mut achieved) = ([0.0; 6], [0.0; 6]);
        allocator.allocate(cores, speedups, policy, &mut shares)?;
        performance(cores, speedups, &shares, &mut achieved);
        Ok(Percent::from(Metrics::of(&achieved, Ddof::One)).named().map(|(_, value)| value))
    };
    let policies = published_policies().map(|(_, policy)| policy);
    let mut spans = [Span { least: [f64::INFINITY; 3], most: [f64::NEG_INFINITY; 3] }; 3];
    let mut found = 0;
    let mut failed = Ok(());
    each_mix(&mut |speedups| {
        let mut one = || -> Result<(), FairnessError> {
            let fits = |obtained: [f64; 3]| {
                obtained
                    .iter()
                    .zip(max_perf)
                    .all(|(obtained, published)| (obtained - published).abs() <= slack)
            };
            if !fits(figures(speedups, &policies[0])?) {
                return Ok(());
            }
            found += 1;
            for (span, policy) in spans.iter_mut().zip(&policies) {
                for (metric, value) in figures(speedups, policy)?.into_iter().enumerate() {
                    span.least[metric] = span.least[metric].min(value);
                    span.most[metric] = span.most[metric].max(value);
                }
            }
            Ok(())
        };
        if let Err(error) = one() {
            failed = Err(error);
        }
    });
    failed.map(|()| (found, spans))
}

/// All mixes of six, each once, in falling order of speedup.
fn each_mix(visit: &mut impl FnMut(&[f64; 6])) {
    fn fill(mix: &mut [f64; 6], place: usize, most: u8, visit: &mut impl FnMut(&[f64; 6])) {
        if place == mix.len() {
            visit(mix);
            return;
        }
        for twentieths in *TWENTIETHS.start()..=most {
            mix[place] = f64::from(twentieths) / 20.0;
            fill(mix, place + 1, twentieths, visit);
        }
    }
    fill(&mut [0.0; 6], 0, *TWENTIETHS.end(), visit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mix_is_visited_once() {
        let mut count = 0_u32;
        each_mix(&mut |mix| {
            assert!(mix.windows(2).all(|pair| pair[0] >= pair[1]));
            count += 1;
        });
        // 37 speedups, six of them with repetition: C(42, 6).
        assert_eq!(count, 5_245_786);
    }
}
