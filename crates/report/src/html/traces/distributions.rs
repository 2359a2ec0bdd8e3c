//! How long waits and slices are and what switches cost, as distributions.

use swtch_stats::{class_bounds, class_of};
use swtch_trace::model::Field;
use swtch_trace::tables::TASK_CLASS_BITS;
use swtch_trace::{Trace, fields, figures};

use super::{PricedTrace, Traces};
use crate::html::prelude::*;

/// A class: from, to, count.
type Class = (u64, u64, u64);

/// What is distributed, and of what.
struct Distributed {
    metric: &'static str,
    /// `all`, or the kinds of switches.
    of: &'static [(&'static str, &'static str)],
    id: &'static str,
    caption: &'static str,
    x_name: &'static str,
    /// In the tips.
    values: &'static str,
}

const DISTRIBUTED: [Distributed; 3] = [
    Distributed {
        metric: "wait",
        of: &[("all", "All waits")],
        id: "figure-wait",
        caption: "How long tasks that were ready waited for a CPU.",
        x_name: "wait, logarithmic",
        values: "waits",
    },
    Distributed {
        metric: "slice",
        of: &[("all", "All slices")],
        id: "figure-slice",
        caption: "How long tasks were on a CPU until the next switch. Short slices leave little time between switches.",
        x_name: "slice, logarithmic",
        values: "slices",
    },
    Distributed {
        metric: "cost",
        of: &[
            ("kind thread", "Thread to thread"),
            ("kind process", "Process to process"),
            ("kind idle", "From idle"),
        ],
        id: "figure-cost",
        caption: "What each switch itself cost, measured where it happened.",
        x_name: "cost of one switch, logarithmic",
        values: "switches",
    },
];

const WAITS: [Field; 3] = [fields::HISTOGRAMS, fields::TASKS_WAIT_NS, fields::TASKS_WAIT_P50_NS];
const COST: [Field; 2] = [fields::SWITCHES_COST_NS, fields::TASKS_SWITCH_COST_NS];

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let intro = "The area of a bar shows how many of the values lie in it, on this axis of time. A \
                 percentile is the middle of the class it lies in; the longest is as it was measured.";
    let has = |priced: &PricedTrace| !priced.trace.histograms.is_empty();
    let no_cost =
        |priced: &PricedTrace| has(priced) && priced.trace.histograms.iter().all(|row| row.metric != "cost");
    Section::new("distributions", "Waits, slices and costs", intro)
        .put(DISTRIBUTED.iter().filter_map(|kind| figure(subjects, kind)))
        .put(subjects.lacking("distributions", &WAITS, has))
        .put(subjects.iter().filter(|one| no_cost(one.of)).map(|one| {
        let text =
            "The cost of single switches is not known: this Trace holds no figures that were measured in place.";
        Notice::new(one.prefixed(text), one.reasons(&COST))
    }))
}

/// The classes of a distribution, ascending, four an octave at most.
fn classes(trace: &Trace, metric: &str, of: &str) -> Vec<Class> {
    merged::<TASK_CLASS_BITS>(&figures::classes(&trace.histograms, metric, of))
}

/// The median, two high percentiles and the longest of all values of a metric, ns. Nothing without values.
pub(super) fn quantiles(trace: &Trace, metric: &str, of: &str) -> Vec<(&'static str, f64)> {
    let at = |share| figures::quantile_ns(&trace.tasks, &trace.histograms, metric, of, share);
    let longest = figures::longest_ns(&trace.tasks, metric, of).filter(|_| at(1.0).is_some());
    [("p50", at(0.5)), ("p90", at(0.9)), ("p99", at(0.99)), ("max", longest.or(at(1.0)))]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value? as f64)))
        .collect()
}

/// In the wider classes of another layout. A class that is wider than those keeps its width.
fn merged<const BITS: u32>(classes: &[Class]) -> Vec<Class> {
    let mut bins: Vec<Class> = Vec::new();
    for (from, to, count) in classes {
        let (low, high) = class_bounds::<BITS>(class_of::<BITS>(*from));
        match bins.last_mut() {
            Some(last) if last.0 == low => {
                last.1 = last.1.max(*to);
                last.2 += count;
            }
            _ => bins.push((low, high.max(*to), *count)),
        }
    }
    bins
}

/// Two bars to a doubling at most, so that chance makes no comb of a small recording. What took no time is in the first: the axis is logarithmic.
fn bars(classes: &[Class]) -> Vec<Class> {
    let positive: Vec<Class> =
        classes.iter().map(|(from, to, count)| ((*from).max(1), *to, *count)).collect();
    merged::<1>(&positive)
}

fn figure(subjects: Traces<'_>, kind: &Distributed) -> Option<Figure> {
    let mut all = Vec::new();
    let mut rows = Vec::new();
    for one in subjects.iter() {
        for (series, (of, name)) in kind.of.iter().enumerate() {
            let classes = classes(&one.of.trace, kind.metric, of);
            if classes.is_empty() {
                continue;
            }
            let total: u64 = classes.iter().map(|class| class.2).sum();
            rows.extend(up_to(&classes).map(|((from, to, count), before)| {
                let share = |part: u64| text::percent(part as f64 / total as f64);
                let cells = vec![
                    Cell::number("To", text::ns(to as f64)),
                    Cell::text("Of", *name),
                    Cell::number("Count", text::count(count)),
                    Cell::number("Share", share(count)),
                    Cell::number("Up to here", share(before)),
                ];
                one.row(text::ns(from as f64), cells)
            }));
            all.push(Distribution {
                title: format!("{}: {} {}", one.prefixed(name), text::count(total), kind.values),
                colour: one.look(series).class(),
                bins: bins(&bars(&classes), total, kind.values),
                quantiles: quantiles(&one.of.trace, kind.metric, of),
            });
        }
    }
    let table = Table::new(format!("Classes of {}", kind.values), "From", rows);
    let label = format!("{} Bars on a logarithmic axis of time", kind.caption);
    let chart = Histogram { all, x_name: kind.x_name };
    (!chart.all.is_empty())
        .then(|| Figure::new(kind.id, kind.caption, &label, table, &chart).legend(subjects.legend()))
}

/// The classes, each with the count of all up to its end.
fn up_to(classes: &[Class]) -> impl Iterator<Item = (Class, u64)> {
    classes.iter().scan(0, |before, class| {
        *before += class.2;
        Some((*class, *before))
    })
}

fn bins(classes: &[Class], total: u64, values: &str) -> Vec<Bin> {
    let bin = |((from, to, count), before): (Class, u64)| {
        let (from, to, share) = (from as f64, to as f64, count as f64 / total as f64);
        let tip = vec![
            text::ns_range(from, to),
            format!("{} of the {values}", text::percent(share)),
            format!("{} {values}", text::count(count)),
            format!("{} at most {}", text::percent(before as f64 / total as f64), text::ns(to)),
        ];
        Bin { from, to, density: share / (to / from).log2().max(1e-9), tip }
    };
    up_to(classes).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_merged_to_halves_of_doublings() {
        let fine = [(0, 1, 1), (1, 2, 1), (1024, 1152, 2), (1408, 1536, 3), (1536, 1664, 4), (4096, 8192, 5)];
        assert_eq!(bars(&fine), [(1, 2, 2), (1024, 1536, 5), (1536, 2048, 4), (4096, 8192, 5)]);
        assert_eq!(bars(&[(u64::MAX - 1, u64::MAX, 1)]).len(), 1);
    }
}
