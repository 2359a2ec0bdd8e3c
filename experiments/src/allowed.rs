//! What a published row allows, whatever the applications were. It takes every mix of six speedups that gives that row under max-perf. It
//! shows what the other policies can give then.

use crate::mix::{Evaluator, Percent, SIZE, published_policies};
use crate::table::{Row, Table};
use anyhow::Result;
use swtch_fairness::{FairnessError, Policy};

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

const UNEVEN: &str = "no ideal schedule is both that uneven under max-perf, which never swaps, and that even here; real estimates waver (see estimation)";
const SHARED: &str = "the same, less pronounced";

/// Rows that do not come out, by how they begin.
const DEPARTURES: [(&str, &str); 4] = [
    ("diverse, min-fair(85 %): uniformity", UNEVEN),
    ("diverse, similar-min-fair(0.2, 85 %): uniformity", SHARED),
    ("similar, min-fair(85 %): uniformity", UNEVEN),
    ("similar, similar-min-fair(0.2, 85 %): uniformity", "five mixes are left, all of them more even"),
];

/// How many mixes give the row of max-perf within `slack`, and what they give under each policy.
fn search(max_perf: [f64; 3], slack: f64) -> Result<(usize, [Span; 3]), FairnessError> {
    let policies = published_policies().map(|(_, policy)| policy);
    let mut evaluator = Evaluator::new()?;
    let mut figures = |speedups: &[f64; SIZE], policy: &Policy| -> Result<[f64; 3], FairnessError> {
        Ok(Percent::from(evaluator.metrics(speedups, policy)?).named().map(|(_, value)| value))
    };
    let is_near = |(obtained, published): (f64, f64)| (obtained - published).abs() <= slack;
    let mut spans = [Span { least: [f64::INFINITY; 3], most: [f64::NEG_INFINITY; 3] }; 3];
    let mut found = 0;
    each_mix(&mut |speedups| {
        if !figures(speedups, &policies[0])?.into_iter().zip(max_perf).all(is_near) {
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
    })?;
    Ok((found, spans))
}

/// All mixes of six, each once, in falling order of speedup, until one fails.
fn each_mix<E>(visit: &mut impl FnMut(&[f64; SIZE]) -> Result<(), E>) -> Result<(), E> {
    fn fill<E>(
        mix: &mut [f64; SIZE],
        place: usize,
        most: u8,
        visit: &mut impl FnMut(&[f64; SIZE]) -> Result<(), E>,
    ) -> Result<(), E> {
        if place == mix.len() {
            return visit(mix);
        }
        for twentieths in *TWENTIETHS.start()..=most {
            mix[place] = f64::from(twentieths) / 20.0;
            fill(mix, place + 1, twentieths, visit)?;
        }
        Ok(())
    }
    fill(&mut [0.0; SIZE], 0, *TWENTIETHS.end(), visit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mix_is_visited_once() {
        let mut count = 0_u32;
        let outcome: Result<(), ()> = each_mix(&mut |mix| {
            assert!(mix.windows(2).all(|pair| pair[0] >= pair[1]));
            count += 1;
            Ok(())
        });
        outcome.unwrap();
        // 37 speedups, six of them with repetition: C(42, 6).
        assert_eq!(count, 5_245_786);
    }
}
