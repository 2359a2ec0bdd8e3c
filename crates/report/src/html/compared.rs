//! The page of compared commands: the answer, the figures of each, and each against the first.

use super::prelude::*;
use crate::compared::{FIGURES, answer, circumstances, name, ratio};
use swtch_decide::compare::CommandComparison;
use swtch_topology::Unavailable;

impl Subject for CommandComparison {
    const KIND: &'static str = "comparison";
    const HEAD: &'static str = "Comparison";
    const NOTHING: ReportError = ReportError::NoComparisons;

    fn origin(&self) -> String {
        "compared".to_owned()
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        self.unavailable.iter().collect()
    }

    fn line(&self) -> String {
        format!("{} commands · Linux {} · {} CPUs", self.runs.len(), self.kernel, self.cpus)
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        answer(self)
    }

    fn written(&self) -> String {
        format!("swtch {}", self.swtch_version)
    }

    fn title(_subjects: Subjects<'_, Self>) -> String {
        "Commands compared by their context switches".to_owned()
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        let mut sections = Vec::new();
        for one in subjects.iter() {
            sections.push(Section::bare("figures", "Figures").put([figures(one.of)]));
            sections.extend(
                Section::new(
                    "ratios",
                    "Each command against the first",
                    "The ratio of the medians, and its 95\u{a0}% interval. The verdicts are corrected for all figures of all commands, by Holm’s method.",
                )
                .put(ratios(one.of))
                .unless_empty(),
            );
            sections.push(Section::bare("how", "How it was measured").say_all(circumstances(one.of)));
        }
        sections
    }
}

fn figures(comparison: &CommandComparison) -> Table {
    let rows = comparison.runs.iter().map(|run| {
        let cell = |figure: &crate::compared::ComparedFigure| {
            let Some((median, ends)) = figure.words(run) else { return Cell::dash(figure.title) };
            let text =
                ends.map_or_else(|| median.clone(), |[low, high]| format!("{median} ({low} to {high})"));
            let key = (figure.of)(run).map_or(0.0, |found| found.median);
            Cell::sorted(figure.title, text, key)
        };
        TableRow::new(name(run), FIGURES.iter().map(cell).collect())
    });
    Table::new("The median of each figure, and the 95\u{a0}% interval of it in brackets", "Command", rows)
        .sortable()
}

fn ratios(comparison: &CommandComparison) -> Vec<Block> {
    let compared = comparison.runs.iter().skip(1).filter(|run| !run.changes.is_empty());
    let table = |run: &swtch_decide::compare::ComparedCommand| {
        let rows = run.changes.iter().map(|change| {
            let title = FIGURES
                .iter()
                .find(|figure| figure.metric == change.metric)
                .map_or("", |figure| figure.title);
            let (ratio, interval) = ratio(change);
            let cells = vec![
                Cell::or_dash("Ratio", ratio),
                Cell::or_dash("95\u{a0}% interval", interval),
                Cell::text("Verdict", change.verdict.name()),
            ];
            TableRow::new(title, cells)
        });
        Block::from(Table::new(name(run), "Figure", rows))
    };
    compared.map(table).collect()
}
