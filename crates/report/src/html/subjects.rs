//! What a page is about, one or several side by side, and the page that any of them makes.

use swtch_topology::{Field, Unavailable};

use super::charts::markers::{Look, Shape, block_item};
use super::page::{Block, Cell, LegendItem, Notice, Page, Section, Sentence, Table, Tile, TileValue};
use super::{ReportError, SCRIPT, STYLE, text};

/// A key figure: its label, its meaning, and the value of a subject with a detail; no value where it is not known.
pub(super) type KeyFigure<T> = (&'static str, &'static str, fn(&T) -> (Option<String>, String));

/// What a page is about: a Profile, a Trace, a study, a document of functions.
pub(super) trait Subject: Sized + 'static {
    /// What such a thing is called.
    const KIND: &'static str;
    /// The same at the head of a column.
    const HEAD: &'static str;
    /// That there is none.
    const NOTHING: ReportError;
    /// The key figures.
    const TILES: &'static [KeyFigure<Self>];

    /// The name it goes by on the page.
    fn name(&self) -> &str;

    /// How it came about, in two words.
    fn origin(&self) -> String;

    /// What it lacks, and why.
    fn unavailable(&self) -> Vec<&Unavailable>;

    /// Its circumstances in a line.
    fn line(&self) -> String;

    /// What must be known before a figure is read.
    fn notices(&self) -> Vec<String>;

    /// The answer, shorter where it is not `alone` on the page.
    fn answer(&self, alone: bool) -> Vec<String>;

    /// What wrote it.
    fn written(&self) -> String;

    /// The page's title.
    fn title(subjects: Subjects<'_, Self>) -> String;

    /// The sections, from the answer to the evidence.
    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section>;

    /// The line at the foot, from what wrote each.
    fn footer(written: &[String]) -> String;
}

/// A figure of a tile that a subject has or has not.
pub(super) fn known<T: Subject>(found: Option<(String, String)>) -> (Option<String>, String) {
    match found {
        Some((value, detail)) => (Some(value), detail),
        None => (None, format!("not in this {}", T::KIND)),
    }
}

/// The subjects of a page.
pub(super) struct Subjects<'a, T>(pub(super) &'a [T]);

// Derived, they would ask the same of T.
impl<T> Clone for Subjects<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Subjects<'_, T> {}

impl<'a, T: Subject> Subjects<'a, T> {
    /// The page as data.
    pub(super) fn page(self) -> Page {
        let each = |of: &dyn Fn(&T) -> Vec<String>| -> Vec<(usize, String)> {
            self.iter().flat_map(|(i, subject)| of(subject).into_iter().map(move |text| (i, text))).collect()
        };
        let notice = |(i, text): (usize, String)| Notice::new(self.prefixed(i, &text), Vec::new());
        let sentence = |(i, text)| Sentence { profile: self.name(i), text };
        let tile = |(label, meaning, of): &KeyFigure<T>| {
            let values = self.iter().map(|(i, subject)| {
                let (value, detail) = of(subject);
                TileValue { profile: self.name(i), value, detail }
            });
            Tile { label, values: values.collect(), meaning }
        };
        let written: Vec<String> =
            self.iter().map(|(i, subject)| self.prefixed(i, &subject.written())).collect();
        let (subtitle, profiles) = self.in_lines();
        Page {
            title: T::title(self),
            subtitle,
            notices: each(&T::notices).into_iter().map(notice).collect(),
            sentences: each(&|subject| subject.answer(!self.several())).into_iter().map(sentence).collect(),
            tiles: T::TILES.iter().map(tile).collect(),
            profiles,
            sections: T::sections(self),
            footer: T::footer(&written),
            style: STYLE,
            script: SCRIPT,
        }
    }

    /// What each subject is, in a line: beneath the title when there is one, in a list with their colours when there are several.
    fn in_lines(self) -> (String, Vec<LegendItem>) {
        if !self.several() {
            return (self.iter().map(|(_, subject)| subject.line()).collect(), Vec::new());
        }
        (String::new(), self.blocks(|subject| format!("{}: {}", subject.name(), subject.line())))
    }

    fn blocks(self, label: impl Fn(&T) -> String) -> Vec<LegendItem> {
        let item = |(i, subject)| block_item(&format!("fill {}", self.colour(i)), label(subject));
        self.iter().map(item).collect()
    }

    /// One colour for each subject; nothing for one alone.
    pub(super) fn legend(self) -> Vec<LegendItem> {
        if self.several() { self.blocks(|subject| subject.name().to_owned()) } else { Vec::new() }
    }

    /// Whether figures need to say which subject they belong to.
    pub(super) fn several(self) -> bool {
        self.0.len() > 1
    }

    /// The subjects by position.
    pub(super) fn iter(self) -> impl Iterator<Item = (usize, &'a T)> {
        self.0.iter().enumerate()
    }

    /// The names of all.
    pub(super) fn names(self) -> String {
        let names: Vec<String> = self.0.iter().map(|subject| subject.name().to_owned()).collect();
        text::joined(&names)
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
        let (colour, dash) = if self.several() { (index, series) } else { (series, 0) };
        Look { colour, shape: Shape::nth(series), dash }
    }

    /// The class of a subject's first colour.
    pub(super) fn colour(self, index: usize) -> String {
        self.look(index, 0).class()
    }

    /// A table with a row for each thing of each subject: the subject's position, the row's head and its titled cells.
    pub(super) fn table(
        self,
        caption: impl Into<String>,
        first: &'static str,
        rows: impl IntoIterator<Item = (usize, String, Vec<Cell>)>,
    ) -> Table {
        let mut table = Table::new(caption, first);
        for (i, head, cells) in rows {
            let subject = self.name(i).map(|name| Cell::text(T::HEAD, name));
            table.row(head, subject.into_iter().chain(cells).collect());
        }
        table
    }

    /// The rows of such a table: `row` makes the head and the cells of a thing.
    pub(super) fn rows<R: 'a>(
        self,
        things: impl Fn(&'a T) -> &'a [R],
        row: impl Fn(&'a R) -> (String, Vec<Cell>),
    ) -> impl Iterator<Item = (usize, String, Vec<Cell>)> {
        let of = move |(i, subject)| things(subject).iter().map(move |thing| (i, thing));
        self.iter().flat_map(of).map(move |(i, thing)| {
            let (head, cells) = row(thing);
            (i, head, cells)
        })
    }

    /// A table with facts as rows and a column for each subject.
    pub(super) fn fact_table(
        self,
        caption: &str,
        facts: impl Fn(&T) -> Vec<(&'static str, String)>,
    ) -> Table {
        let columns: Vec<_> = self.iter().map(|(_, subject)| facts(subject)).collect();
        let mut table = Table::new(caption, "Fact");
        for (row, (fact, _)) in columns.iter().flatten().take(columns.first().map_or(0, Vec::len)).enumerate()
        {
            let title = |i| self.name(i).unwrap_or_else(|| "Value".to_owned());
            let cells = columns.iter().enumerate().map(|(i, facts)| Cell::text(title(i), &facts[row].1));
            table.row(*fact, cells.collect());
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
    ) -> Option<Block> {
        let lacking: Vec<_> = self.iter().filter(|(_, subject)| !has(subject)).collect();
        if lacking.is_empty() {
            return None;
        }
        let items = self.reasons(lacking.iter().map(|(i, _)| *i), about);
        let whose = lacking.iter().map(|(i, subject)| {
            let name = self.name(*i).unwrap_or_else(|| format!("This {}", T::KIND));
            format!("{name} ({})", subject.origin())
        });
        let whose = text::joined(&whose.collect::<Vec<_>>());
        let text = match (lacking.len() > 1, items.is_empty()) {
            (false, true) => format!("{whose} holds no {what} and gives no reason for it."),
            (false, false) => format!("{whose} holds no {what}. The reason given:"),
            (true, true) => format!("{whose} hold no {what} and give no reason for it."),
            (true, false) => format!("{whose} hold no {what}. The reasons given:"),
        };
        Some(Notice::new(text, items).into())
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
            for line in reasons_of(&self.0[index].unavailable(), &about) {
                gathered(&mut by_line, line).extend(self.name(index));
            }
        }
        let line = |(line, names): (String, Vec<String>)| {
            if names.is_empty() { line } else { format!("{}: {line}", text::joined(&names)) }
        };
        by_line.into_iter().map(line).collect()
    }

    /// Everything that is missing and why; nothing where nothing is.
    pub(super) fn all_reasons(self) -> Option<Block> {
        let items = self.reasons(0..self.0.len(), |_| true);
        (!items.is_empty()).then(|| Notice::new("What could not be had, and why:", items).into())
    }

    /// The same as a table, a row for each.
    pub(super) fn unavailable(self, caption: &str) -> Table {
        let rows = self.iter().flat_map(|(i, subject)| {
            let row = move |row: &Unavailable| {
                let cell = Cell::text("Why, and what would allow it", &row.reason);
                (i, row.field.to_string(), vec![cell])
            };
            subject.unavailable().into_iter().map(row)
        });
        self.table(caption, "What", rows)
    }
}

/// What is gathered under a key, in the order in which keys were met.
pub(super) fn gathered<K: PartialEq, V: Default>(all: &mut Vec<(K, V)>, key: K) -> &mut V {
    let place = all.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        all.push((key, V::default()));
        all.len() - 1
    });
    &mut all[place].1
}

/// Reasons, each with all the fields it is given for.
fn reasons_of(unavailable: &[&Unavailable], about: impl Fn(&Field) -> bool) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in unavailable.iter().filter(|row| about(&row.field)) {
        gathered(&mut by_reason, &row.reason).push(row.field.as_str());
    }
    by_reason.into_iter().map(|(reason, fields)| format!("{}: {reason}", fields.join(", "))).collect()
}
