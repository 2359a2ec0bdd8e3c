//! Languages side by side, and here beside where functions are deployed.

use super::super::charts::bars::{self, Bar, Operation};
use super::super::page::{Cell, Figure, Section};
use super::super::text;
use super::figures::{TierCost, cells, mean_of, tier_costs, tip};
use super::{Functions, responses};
use swtch_faas::Estimate;

const METHODS: &str = "What a construct of a language does beside the switch is in its figure; only a raw pipe or a FIFO is the same in every language.";
const PLACES: &str = "Quotas of this machine’s control groups beside the platform itself. The processor is another one, and so is who shares it: what can be compared is how much \
                      the mean lies above the median.";

/// Switch costs of single invocations, by method; nothing when there is no response.
pub(super) fn languages(subjects: Functions<'_>) -> Option<Section> {
    let mut methods: Vec<(String, String)> = Vec::new();
    for (_, response) in responses(subjects) {
        for measurement in &response.measurements {
            let tasks = format!("{} {}", measurement.task_count, measurement.tasks);
            if !methods.iter().any(|(known, _)| *known == measurement.method) {
                methods.push((measurement.method.clone(), tasks));
            }
        }
    }
    let caption = "A switch without its read and write, by method. The axis is logarithmic.";
    let mut bars = Bars::new(subjects, caption, "Method");
    for (method, tasks) in &methods {
        for (what, of) in AVERAGES {
            let figures = responses(subjects)
                .filter_map(|(i, response)| Some((i, of(&response.measurement(method)?.net_ns?)?)));
            bars.operation(&format!("{method}, {what}"), &format!("{method} ({tasks}), {what}"), figures);
        }
    }
    let title = if responses(subjects).count() > 1 {
        "Side by side, by method"
    } else {
        "What a switch costs, by method"
    };
    let mut section = Section::new("methods", title, METHODS);
    section.put(bars.figure("figure-methods"));
    section.unless_empty()
}

/// What an average is called, and how it is had.
type Average = (&'static str, fn(&Estimate) -> Option<Estimate>);

/// The two averages, kept apart.
const AVERAGES: [Average; 2] =
    [("median", |estimate| Some(*estimate)), ("mean", |estimate| mean_of(estimate))];

/// Costs by tier where some documents are from here and some from a platform; nothing otherwise.
pub(super) fn places(subjects: Functions<'_>) -> Option<Section> {
    let deployed = subjects.iter().filter(|(_, named)| named.deployed()).count();
    if deployed == 0 || deployed == subjects.0.len() {
        return None;
    }
    let costs = tier_costs(subjects);
    let mut tiers: Vec<(u64, &str, &str)> =
        costs.iter().map(|cost| (cost.memory_mb, cost.tier.as_str(), cost.method.as_str())).collect();
    tiers.sort_unstable();
    tiers.dedup_by_key(|(memory, _, method)| (*memory, (*method).to_owned()));
    let caption = "A switch with the read and write that cause it, at tiers that were measured both here and deployed. The axis is logarithmic.";
    let mut bars = Bars::new(subjects, caption, "Tier");
    for (memory, tier, method) in tiers {
        let at: Vec<&TierCost> =
            costs.iter().filter(|cost| cost.memory_mb == memory && cost.method == method).collect();
        let is_deployed = |cost: &&TierCost| subjects.0[cost.subject].deployed();
        if !at.iter().any(is_deployed) || at.iter().all(is_deployed) {
            continue;
        }
        let name = |what: &str| format!("{tier}, {method}, {what}");
        let medians = at.iter().map(|cost| (cost.subject, cost.median));
        bars.operation(&name("median"), &name("median"), medians);
        let means = at.iter().filter_map(|cost| Some((cost.subject, cost.mean?)));
        bars.operation(&name("mean"), &name("mean"), means);
    }
    let mut section = Section::new("places", "Here and deployed", PLACES);
    section.put(bars.figure("figure-places"));
    section.unless_empty()
}

/// A chart of bars and its table, in the making.
struct Bars<'a> {
    subjects: Functions<'a>,
    caption: &'a str,
    operations: Vec<Operation>,
    /// Whose bars there are.
    drawn: Vec<usize>,
    /// What the first column of the table is.
    first: &'static str,
    rows: Vec<(usize, String, Vec<Cell>)>,
}

impl<'a> Bars<'a> {
    fn new(subjects: Functions<'a>, caption: &'a str, first: &'static str) -> Self {
        Self { subjects, caption, operations: Vec::new(), drawn: Vec::new(), first, rows: Vec::new() }
    }

    /// A bar for each subject that has the figure.
    fn operation(&mut self, label: &str, row: &str, figures: impl Iterator<Item = (usize, Estimate)>) {
        let mut bars = Vec::new();
        let mut first: Option<f64> = None;
        for (i, estimate) in figures {
            let against = first.filter(|first| *first > 0.0).map(|first| estimate.median / first);
            first = first.or(Some(estimate.median));
            if !self.drawn.contains(&i) {
                self.drawn.push(i);
            }
            let mut row_cells: Vec<Cell> = cells("Figure", Some(&estimate), text::ns).into();
            row_cells.push(Cell::figure("Against the first", against, text::times));
            self.rows.push((i, row.to_owned(), row_cells));
            let tip = tip(self.subjects.prefixed(i, row), &estimate, text::ns);
            bars.push(Bar { colour: self.subjects.colour(i), value: (&estimate).into(), tip });
        }
        if !bars.is_empty() {
            self.operations.push(Operation { label: label.to_owned(), bars });
        }
    }

    fn figure(self, id: &str) -> Option<Figure> {
        let operations = &self.operations;
        // A logarithmic axis needs one positive figure.
        if !operations.iter().flat_map(|operation| &operation.bars).any(|bar| bar.value.median > 0.0) {
            return None;
        }
        let draw = |size| bars::draw(operations, self.caption, size);
        let table = self.subjects.table(self.caption, self.first, self.rows);
        let figure = Figure::new(id, self.caption, table, draw);
        let legend = self.subjects.legend().into_iter().enumerate().filter(|(i, _)| self.drawn.contains(i));
        Some(figure.legend(legend.map(|(_, item)| item).collect()))
    }
}
