//! The sections of the page: each chooses figures, words and tables; the charts draw.

pub(super) mod comparison;
pub(super) mod direct;
pub(super) mod host;
pub(super) mod knees;
pub(super) mod method;
pub(super) mod noise;
pub(super) mod references;
pub(super) mod ring;
pub(super) mod stride;
pub(super) mod total;

use swtch_profile::Profile;
use swtch_profile::fields::Part;
use swtch_profile::model::{Estimate, Field, Unavailable};

use super::NamedProfile;
use super::charts::markers::{Look, Shape, block_item};
use super::page::{Cell, LegendItem, Notice, Table};
use super::text;

/// The profiles on the page, or the Traces.
pub(super) struct Subjects<'a, T = NamedProfile>(pub(super) &'a [T]);

// Derived, they would ask the same of T.
impl<T> Clone for Subjects<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Subjects<'_, T> {}

/// What a page is about.
pub(super) trait Subject {
    /// What such a thing is called.
    const KIND: &'static str;
    /// The same at the head of a column.
    const HEAD: &'static str;

    /// The name it goes by on the page.
    fn name(&self) -> &str;

    /// How it came about, in two words.
    fn origin(&self) -> String;

    /// What it lacks, and why.
    fn unavailable(&self) -> Vec<&Unavailable>;
}

impl Subject for NamedProfile {
    const KIND: &'static str = "profile";
    const HEAD: &'static str = "Profile";

    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> String {
        format!("preset {}", self.profile.provenance.preset)
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        self.profile.unavailable.iter().collect()
    }
}

impl Subjects<'_> {
    /// As [`Subjects::lacking`], by what a profile holds.
    pub(super) fn missing(self, what: &str, part: Part, has: impl Fn(&Profile) -> bool) -> Option<Notice> {
        self.lacking(what, |field| Part::of(field).contains(&part), |named| has(&named.profile))
    }
}

impl<'a, T: Subject> Subjects<'a, T> {
    /// Whether figures need to say which subject they belong to.
    pub(super) fn several(self) -> bool {
        self.0.len() > 1
    }

    /// The subjects by position.
    pub(super) fn iter(self) -> impl Iterator<Item = (usize, &'a T)> {
        self.0.iter().enumerate()
    }

    /// The subject's name where one is needed.
    pub(super) fn name(self, index: usize) -> Option<String> {
        self.several().then(|| self.0[index].name().to_owned())
    }

    /// `text`, with the subject's name before it where one is needed.
    pub(super) fn prefixed(self, index: usize, text: &str) -> String {
        self.name(index).map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"))
    }

    /// Colour stands for the subject when there are several, and for the series when there is one.
    pub(super) fn look(self, index: usize, series: usize) -> Look {
        let dash = if self.several() { series } else { 0 };
        Look { colour: if self.several() { index } else { series }, shape: Shape::nth(series), dash }
    }

    /// What each subject is, in a line: beneath the title when there is one, in a list with their colours when there are several.
    pub(super) fn in_lines(self, line: impl Fn(&T) -> String) -> (String, Vec<LegendItem>) {
        if !self.several() {
            return (self.iter().map(|(_, named)| line(named)).collect(), Vec::new());
        }
        let item = |(i, named): (usize, &T)| {
            let label = format!("{}: {}", named.name(), line(named));
            block_item(&format!("fill {}", self.look(i, 0).class()), label)
        };
        (String::new(), self.iter().map(item).collect())
    }

    /// One colour for each subject; nothing for one alone.
    pub(super) fn legend(self) -> Vec<LegendItem> {
        if !self.several() {
            return Vec::new();
        }
        self.iter()
            .map(|(i, named)| block_item(&format!("fill {}", self.look(i, 0).class()), named.name()))
            .collect()
    }

    /// A table's columns, the subject's among them where needed.
    pub(super) fn head<'h>(self, first: &'h str, rest: &[&'h str]) -> Vec<&'h str> {
        let subject = self.several().then_some(T::HEAD);
        std::iter::once(first).chain(subject).chain(rest.iter().copied()).collect()
    }

    /// A row's cells, the subject's name among them where needed.
    pub(super) fn cells(self, index: usize, rest: Vec<Cell>) -> Vec<Cell> {
        self.name(index).map(Cell::text).into_iter().chain(rest).collect()
    }

    /// A table with facts as rows and a column for each subject.
    pub(super) fn fact_table(
        self,
        caption: &str,
        facts: impl Fn(&T) -> Vec<(&'static str, String)>,
    ) -> Table {
        let columns: Vec<_> = self.iter().map(|(_, named)| facts(named)).collect();
        let mut table = Table::new(caption, &["Fact"]);
        let names = self.iter().map(|(i, _)| self.name(i).unwrap_or_else(|| "Value".to_owned()));
        table.head.extend(names.map(Cell::text));
        let rows = columns.first().map_or(0, Vec::len);
        for i in 0..rows {
            let cells = columns.iter().map(|facts| Cell::text(facts[i].1.clone())).collect();
            table.row(columns[0][i].0, cells);
        }
        table
    }

    /// Says which subjects lack a kind of figures, and what they say about it: those of their reasons whose field is
    /// `about` it. Nothing when every one has them.
    pub(super) fn lacking(
        self,
        what: &str,
        about: impl Fn(&Field) -> bool,
        has: impl Fn(&T) -> bool,
    ) -> Option<Notice> {
        let lacking: Vec<_> = self.iter().filter(|(_, named)| !has(named)).collect();
        if lacking.is_empty() {
            return None;
        }
        let items = self.reasons(lacking.iter().map(|(i, _)| *i), about);
        let whose: Vec<String> = lacking
            .iter()
            .map(|(i, named)| {
                let name = self.name(*i).unwrap_or_else(|| format!("This {}", T::KIND));
                format!("{name} ({})", named.origin())
            })
            .collect();
        let whose = text::joined(&whose);
        let text = match (lacking.len() > 1, items.is_empty()) {
            (false, true) => format!("{whose} holds no {what} and gives no reason for it."),
            (false, false) => format!("{whose} holds no {what}. The reason given:"),
            (true, true) => format!("{whose} hold no {what} and give no reason for it."),
            (true, false) => format!("{whose} hold no {what}. The reasons given:"),
        };
        Some(Notice { text, items })
    }

    /// What could not be measured, of the subjects that are `about` something; one line a reason, with the names of those
    /// that give it.
    pub(super) fn reasons(
        self,
        indices: impl Iterator<Item = usize>,
        about: impl Fn(&Field) -> bool,
    ) -> Vec<String> {
        let mut by_line: Vec<(String, Vec<String>)> = Vec::new();
        for index in indices {
            let names = || self.name(index).into_iter();
            for line in reasons_of(&self.0[index].unavailable(), &about) {
                match by_line.iter_mut().find(|(known, _)| *known == line) {
                    Some((_, givers)) => givers.extend(names()),
                    None => by_line.push((line, names().collect())),
                }
            }
        }
        by_line
            .into_iter()
            .map(
                |(line, names)| {
                    if names.is_empty() { line } else { format!("{}: {line}", text::joined(&names)) }
                },
            )
            .collect()
    }
}

/// Reasons, each with all the fields it is given for.
fn reasons_of(unavailable: &[&Unavailable], about: impl Fn(&Field) -> bool) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in unavailable.iter().filter(|row| about(&row.field)) {
        match by_reason.iter_mut().find(|(known, _)| *known == row.reason) {
            Some((_, fields)) => fields.push(row.field.as_str()),
            None => by_reason.push((&row.reason, vec![row.field.as_str()])),
        }
    }
    by_reason.into_iter().map(|(reason, fields)| format!("{}: {reason}", fields.join(", "))).collect()
}

/// The lines that a mark shows about its figure.
pub(super) fn tip(subjects: Subjects<'_>, index: usize, name: &str, estimate: &Estimate) -> Vec<String> {
    let mut lines = vec![
        subjects.prefixed(index, name),
        format!(
            "{} (95\u{a0}%: {})",
            text::ns(estimate.median),
            text::ns_range(estimate.ci_low, estimate.ci_high)
        ),
        format!("undisturbed {}", text::ns(estimate.low)),
        format!("{} batches from {} launches", text::count(estimate.batches.into()), estimate.launches),
    ];
    if !estimate.flags.is_empty() {
        lines.push(format!("flagged: {}", estimate.flags.join(", ")));
    }
    lines
}

/// Titles of the columns that [`estimate_cells`] fills.
pub(super) const ESTIMATE_HEAD: [&str; 7] =
    ["Median", "95\u{a0}% interval", "Undisturbed", "Mean", "Variation", "Batches (left out)", "Flags"];

/// A figure's cells in a table.
pub(super) fn estimate_cells(estimate: &Estimate) -> Vec<Cell> {
    vec![
        Cell::number(text::ns(estimate.median)),
        Cell::number(text::ns_range(estimate.ci_low, estimate.ci_high)),
        Cell::number(text::ns(estimate.low)),
        Cell::number(text::ns(estimate.mean)),
        Cell::number(text::percent(estimate.cov)),
        Cell::number(format!("{} ({})", estimate.batches, estimate.rejected)),
        Cell::text(estimate.flags.join(", ")),
    ]
}

/// A count of switches, or a dash where the kernel does not count.
pub(super) fn switches_cell(switches: Option<f64>) -> Cell {
    Cell::number(switches.map_or_else(|| "not counted".to_owned(), |count| format!("{count:.2}")))
}
