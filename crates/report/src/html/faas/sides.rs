//! Languages side by side, and this machine next to the platform.

use swtch_faas::{Document, Estimate};

use super::figures::{TierCost, cells, mean_of, tier_costs, tip};
use super::{Functions, responses};
use crate::html::prelude::*;

const METHODS: &str = "The figure of a language’s construct includes what it does besides the switch. Only \
     a raw pipe or a FIFO is the same in every language.";
const PLACES: &str = "Quotas of this machine’s cgroups next to those of the platform itself. The platform has another CPU model and other tasks on it. Compare only how far \
                      the mean lies above the median.";

/// Switch costs of single invocations, by method; nothing when there is no response.
pub(super) fn languages(subjects: Functions<'_>) -> Option<Section> {
    let mut methods: Vec<(&str, String)> = Vec::new();
    for measurement in responses(subjects).flat_map(|(_, response)| &response.measurements) {
        let tasks = gathered(&mut methods, &*measurement.method);
        if tasks.is_empty() {
            *tasks = format!("{} {}", measurement.task_count, measurement.tasks);
        }
    }
    let caption = "A switch without its read and write, by method. The axis is logarithmic.";
    let mut bars = Bars::new(subjects, caption, "Method");
    for (method, tasks) in &methods {
        for (what, of) in AVERAGES {
            let figures = responses(subjects)
                .filter_map(|(one, response)| Some((one, of(&response.measurement(method)?.net_ns?)?)));
            bars.operation(&format!("{method}, {what}"), &format!("{method} ({tasks}), {what}"), figures);
        }
    }
    let title = if responses(subjects).count() > 1 {
        "Side by side, by method"
    } else {
        "What a switch costs, by method"
    };
    Section::new("methods", title, METHODS).put(bars.figure("figure-methods")).unless_empty()
}

/// What an average is called, and how it is had.
type Average = (&'static str, fn(&Estimate) -> Option<Estimate>);

/// The two averages, kept apart.
const AVERAGES: [Average; 2] =
    [("median", |estimate| Some(*estimate)), ("mean", |estimate| mean_of(estimate))];

/// Costs by tier where some documents are from here and some from a platform; nothing otherwise.
pub(super) fn places(subjects: Functions<'_>) -> Option<Section> {
    if !subjects.any(Document::deployed) || !subjects.any(|document| !document.deployed()) {
        return None;
    }
    let costs = tier_costs(subjects);
    let mut tiers = distinct(costs.iter().map(|cost| (cost.memory_mb, &*cost.tier, cost.method)));
    tiers.dedup_by_key(|(memory, _, method)| (*memory, *method));
    let caption = "A switch with the read and write that cause it, at tiers that were measured both here and deployed. The axis is logarithmic.";
    let mut bars = Bars::new(subjects, caption, "Tier");
    for (memory, tier, method) in tiers {
        let at: Vec<&TierCost<'_>> =
            costs.iter().filter(|cost| cost.memory_mb == memory && cost.method == method).collect();
        let is_deployed = |cost: &&TierCost<'_>| cost.one.of.deployed();
        if !at.iter().any(is_deployed) || at.iter().all(is_deployed) {
            continue;
        }
        let name = |what: &str| format!("{tier}, {method}, {what}");
        let medians = at.iter().map(|cost| (cost.one, cost.median));
        bars.operation(&name("median"), &name("median"), medians);
        let means = at.iter().filter_map(|cost| Some((cost.one, cost.mean?)));
        bars.operation(&name("mean"), &name("mean"), means);
    }
    Section::new("places", "Here and deployed", PLACES).put(bars.figure("figure-places")).unless_empty()
}

/// A chart of bars and its table, in the making.
struct Bars<'a> {
    subjects: Functions<'a>,
    caption: &'a str,
    /// What the first column of the table is.
    first: &'static str,
    operations: Vec<Operation>,
    rows: Vec<TableRow>,
    /// Whose bars there are.
    drawn: Vec<usize>,
}

impl<'a> Bars<'a> {
    fn new(subjects: Functions<'a>, caption: &'a str, first: &'static str) -> Self {
        Self { subjects, caption, first, operations: Vec::new(), rows: Vec::new(), drawn: Vec::new() }
    }

    /// A bar for each subject that has the figure.
    fn operation(
        &mut self,
        label: &str,
        row: &str,
        figures: impl Iterator<Item = (One<'a, Document>, Estimate)>,
    ) {
        let mut bars = Vec::new();
        let mut first: Option<f64> = None;
        for (one, estimate) in figures {
            let against = first.filter(|first| *first > 0.0).map(|first| estimate.median / first);
            first = first.or(Some(estimate.median));
            self.drawn.push(one.index);
            let mut row_cells: Vec<Cell> = cells("Figure", Some(&estimate), text::ns).into();
            row_cells.push(Cell::figure("Against the first", against, text::times));
            self.rows.push(one.row(row, row_cells));
            let tip = tip(one.prefixed(row), &estimate, text::ns);
            bars.push(Bar { colour: one.colour(), value: (&estimate).into(), tip });
        }
        self.operations.extend((!bars.is_empty()).then(|| Operation { label: label.to_owned(), bars }));
    }

    fn figure(self, id: &str) -> Option<Figure> {
        let mut bars = self.operations.iter().flat_map(|operation| &operation.bars);
        // A logarithmic axis needs one positive figure.
        bars.any(|bar| bar.value.median > 0.0).then(|| {
            let table = Table::new(self.caption, self.first, self.rows);
            let legend = self.subjects.legend().into_iter().enumerate();
            let drawn = legend.filter(|(i, _)| self.drawn.contains(i)).map(|(_, item)| item);
            Figure::new(id, self.caption, self.caption, table, &self.operations).legend(drawn.collect())
        })
    }
}
