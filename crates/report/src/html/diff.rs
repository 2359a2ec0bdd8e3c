//! The page of a difference: the verdict, how much, and which tasks.

use swtch_decide::{Change, Diff, Difference, LimitResult, Verdict};

use super::prelude::*;
use crate::wording::diff::{figures, signed, within};

/// Rows of the chart.
const CHARTED: usize = 24;

impl Subject for Diff {
    const KIND: &'static str = "difference";
    const HEAD: &'static str = "Difference";
    const NOTHING: ReportError = ReportError::NoDifferences;
    const TILES: &'static [KeyFigure<Self>] = &[
        ("Context switches", "new against old", |diff| tile(diff, "switches")),
        ("CPU time", "new against old", |diff| tile(diff, "cpu.time")),
        ("Time", "from start to end, new against old", |diff| tile(diff, "elapsed")),
        ("Longest waits", "99th percentile, new against old", |diff| tile(diff, "wait.p99")),
    ];

    fn origin(&self) -> String {
        self.verdict.name().to_owned()
    }

    fn line(&self) -> String {
        format!("{} → {}", self.old.files.join(", "), self.new.files.join(", "))
    }

    fn notices(&self) -> Vec<String> {
        let limits = self.limits.iter().filter(|limit| limit.holds);
        let words = |limit: &LimitResult| match &limit.change {
            Some(change) => format!("The limit {} holds: {}.", limit.limit, change.words()),
            None => format!("The limit holds: the verdict is {}.", limit.limit),
        };
        limits.map(words).collect()
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        vec![self.answer.clone()]
    }

    fn written(&self) -> String {
        format!("swtch {}", env!("CARGO_PKG_VERSION"))
    }

    fn title(subjects: Subjects<'_, Self>) -> String {
        format!("What changed: {}", subjects.names())
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        subjects
            .0
            .iter()
            .flat_map(|one| {
                let other = other_differences(&one.document);
                let other = other.map(|notice| Section::bare("other", "What else differs").put([notice]));
                [changes(&one.document), who(&one.document), other]
            })
            .flatten()
            .collect()
    }
}

fn tile(diff: &Diff, metric: &str) -> Known {
    let of = |change: &&Change| change.metric.trim_end_matches(".rate") == metric;
    let change = diff.changes.iter().find(of);
    known::<Diff>(change.and_then(|change| {
        let ratio = change.ratio?;
        let detail = format!("{} → {}", change.show(change.old), change.show(change.new));
        Some((text::percent_signed(ratio - 1.0), detail))
    }))
}

/// A row a figure, with the names of both sides.
pub(super) fn change_table(title: String, [old, new]: [&str; 2], changes: &[&Change]) -> Table {
    let row = |change: &&Change| {
        let decimals = change.ratio_decimals();
        let ratio = |value: f64| format!("{value:.decimals$}×");
        let undecided = change.reason.as_ref().filter(|_| change.p_holm.is_none());
        let reason = undecided.map_or_else(String::new, |reason| format!(": {reason}"));
        let cells = vec![
            Cell::number(old.to_owned(), change.show(change.old)),
            Cell::number(new.to_owned(), change.show(change.new)),
            Cell::or_dash("Ratio", change.ratio.map(ratio)),
            Cell::or_dash("95\u{a0}% interval", within(change.ci_low, change.ci_high, ratio)),
            Cell::text("Verdict", format!("{}{reason}", change.verdict)),
        ];
        TableRow::new(&change.metric, cells)
    };
    Table::new(title, "Figure", changes.iter().map(row))
}

/// Every figure, as a chart of ratios and as a table.
fn changes(diff: &Diff) -> Option<Section> {
    let all: Vec<&Change> = diff.changes.iter().collect();
    let table = change_table("Every figure of both sides".to_owned(), ["Old", "New"], &all);
    let charted = diff.changes.iter().filter(|change| change.ratio.is_some_and(|ratio| ratio > 0.0));
    let ratios: Vec<Ratio> = charted.take(CHARTED).map(ratio).collect();
    let section =
        Section::new("changes", "What changed", format!("{}. A ratio above 1 is worse.", figures(diff)));
    if ratios.is_empty() {
        return section.put([Block::from(table)]).unless_empty();
    }
    let caption = "Each figure of the new side as a multiple of the old one, with its 95\u{a0}% interval where there are repeats";
    let legend = Vec::<LegendItem>::new();
    Some(
        section.put([Figure::new("ratios", caption, "Ratios of all figures", table, &ratios).legend(legend)]),
    )
}

fn ratio(change: &Change) -> Ratio {
    let series = match change.verdict {
        Verdict::Worse => 1,
        Verdict::Better => 2,
        _ => 0,
    };
    Ratio {
        look: Look::new(series, series, 0),
        label: change.metric.clone(),
        value: change.ratio.unwrap_or(1.0),
        interval: change.ci_low.zip(change.ci_high),
        tip: vec![change.words(), format!("{} → {}", change.show(change.old), change.show(change.new))],
    }
}

/// Tasks, pairs of tasks and functions.
fn who(diff: &Diff) -> Option<Section> {
    let has_functions = diff.who.iter().any(|row| row.function.is_some());
    let row = |row: &Difference| {
        let show = |value| swtch_decide::show(&row.unit, value);
        let signed = |value| signed(&row.unit, value);
        let function = has_functions.then(|| Cell::or_dash("In", row.function.clone()));
        let by = [Cell::or_dash("By", row.peer.clone())].into_iter().chain(function);
        let figures = [
            Cell::text("Figure", row.metric.clone()),
            Cell::sorted("Old", show(row.old), row.old),
            Cell::sorted("New", show(row.new), row.new),
            Cell::sorted("Difference", signed(row.difference), row.difference),
            Cell::or_dash("95\u{a0}% interval", within(row.ci_low, row.ci_high, signed)),
        ];
        TableRow::new(&row.task, by.chain(figures).collect())
    };
    let table =
        Table::new("Differences of tasks, pairs of tasks and functions", "Task", diff.who.iter().map(row))
            .sortable();
    let intro = "Tasks go by their names, because their numbers differ between runs. “By” is the task that preempted it, woke it, or ran while \
                 it waited; “In” is the function in which it was switched away from.";
    Section::new("tasks", "Which tasks, and where", intro).put([Block::from(table)]).unless_empty()
}

/// Circumstances and notes.
pub(super) fn other_differences(diff: &Diff) -> Option<Notice> {
    let circumstances: Vec<String> =
        diff.circumstances.iter().map(|line| line.replace(" -> ", " → ")).collect();
    let items = circumstances.into_iter().chain(diff.notes.iter().cloned()).collect::<Vec<_>>();
    (!items.is_empty())
        .then(|| Notice::new("What else differs; any of it may explain a difference above:", items))
}
