//! What a page is about, one or several side by side, and the page that any of them makes.

use swtch_topology::{Field, Unavailable};

use super::charts::{LegendItem, Look, block_item};
use super::page::{Block, Cell, Notice, Page, Section, Sentence, Table, TableRow, Tile, TileValue};
use super::values::gathered;
use super::{ReportError, SCRIPT, STYLE, text};

/// A document and the name it goes by on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<D> {
    /// A label: the file's stem, the directory's name or the machine's.
    pub name: String,
    /// The figures.
    pub document: D,
}

/// A figure in words with a detail, or why there is none.
pub(super) type Known = Result<(String, String), String>;

/// A key figure: its label, its meaning, and what a document has of it.
pub(super) type KeyFigure<D> = (&'static str, &'static str, fn(&D) -> Known);

/// What a page is about: a Profile, a Trace, a study, a document of functions.
pub(super) trait Subject: Sized + 'static {
    /// What such a thing is called.
    const KIND: &'static str;
    /// The same at the head of a column.
    const HEAD: &'static str;
    /// That there is none.
    const NOTHING: ReportError;
    /// The key figures.
    const TILES: &'static [KeyFigure<Self>] = &[];

    /// How it came about, in two words.
    fn origin(&self) -> String;

    /// What it lacks, and why.
    fn unavailable(&self) -> Vec<&Unavailable> {
        Vec::new()
    }

    /// Its circumstances in a line.
    fn line(&self) -> String;

    /// Notices that the reader needs before any figure.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// The answer, shorter where it is not `alone` on the page.
    fn answer(&self, alone: bool) -> Vec<String>;

    /// What wrote it.
    fn written(&self) -> String;

    /// The page's title.
    fn title(subjects: Subjects<'_, Self>) -> String;

    /// The sections, from the answer to the evidence.
    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section>;

    /// The line at the foot, from what wrote each.
    fn footer(written: &[String]) -> String {
        written.join(" · ")
    }
}

/// A figure that a document holds or not.
pub(super) fn known<D: Subject>(found: Option<(String, String)>) -> Known {
    found.ok_or_else(|| format!("not in this {}", D::KIND))
}

/// The subjects of a page.
pub(super) struct Subjects<'a, D>(pub(super) &'a [Named<D>]);

/// One of them.
pub(super) struct One<'a, D> {
    page: Subjects<'a, D>,
    /// Its place among them.
    pub(super) index: usize,
    /// What it is.
    pub(super) of: &'a D,
}

// Derived, they would ask the same of D.
impl<D> Clone for Subjects<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Subjects<'_, D> {}

impl<D> Clone for One<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for One<'_, D> {}

impl<D: Subject> One<'_, D> {
    /// Its name where one is needed.
    pub(super) fn name(self) -> Option<String> {
        self.page.several().then(|| self.page.0[self.index].name.clone())
    }

    /// `text`, with its name before it where one is needed.
    pub(super) fn prefixed(self, text: &str) -> String {
        self.name().map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"))
    }

    /// Colour stands for the subject when there are several, and for the series when there is one.
    pub(super) fn look(self, series: usize) -> Look {
        let (colour, dash) = if self.page.several() { (self.index, series) } else { (series, 0) };
        Look::new(colour, series, dash)
    }

    /// The class of its first colour.
    pub(super) fn colour(self) -> String {
        self.look(0).class()
    }

    /// A row of a table, with its name where one is needed.
    pub(super) fn row(self, head: impl Into<String>, cells: Vec<Cell>) -> TableRow {
        let name = self.name().map(|name| Cell::text(D::HEAD, name));
        TableRow::new(head, name.into_iter().chain(cells).collect())
    }

    /// Why it lacks one of these fields, a line for each reason.
    pub(super) fn reasons(self, fields: &[Field]) -> Vec<String> {
        reasons([self], |field| field.is_of(fields))
    }
}

impl<'a, D: Subject> Subjects<'a, D> {
    /// The page as data.
    pub(super) fn page(self) -> Page {
        let each = |of: &dyn Fn(&D) -> Vec<String>| -> Vec<(One<'a, D>, String)> {
            self.iter().flat_map(|one| of(one.of).into_iter().map(move |text| (one, text))).collect()
        };
        let notice = |(one, text): (One<'a, D>, String)| Notice::new(one.prefixed(&text), Vec::new());
        let sentence = |(one, text): (One<'a, D>, String)| Sentence { profile: one.name(), text };
        let tile = |(label, meaning, of): &KeyFigure<D>| {
            let values = self.iter().map(|one| {
                let (value, detail) = match of(one.of) {
                    Ok((value, detail)) => (Some(value), detail),
                    Err(reason) => (None, reason),
                };
                TileValue { profile: one.name(), value, detail }
            });
            Tile { label, values: values.collect(), meaning }
        };
        let written: Vec<String> = self.iter().map(|one| one.prefixed(&one.of.written())).collect();
        // A single subject is described beneath the title, several in a list with their colours.
        let (subtitle, profiles) = match self.0 {
            [only] => (only.document.line(), Vec::new()),
            _ => (String::new(), self.blocks(|named| format!("{}: {}", named.name, named.document.line()))),
        };
        Page {
            title: D::title(self),
            subtitle,
            notices: each(&D::notices).into_iter().map(notice).collect(),
            sentences: each(&|document| document.answer(!self.several())).into_iter().map(sentence).collect(),
            tiles: D::TILES.iter().map(tile).collect(),
            profiles,
            sections: D::sections(self),
            footer: D::footer(&written),
            style: STYLE,
            script: SCRIPT,
        }
    }

    fn blocks(self, label: impl Fn(&Named<D>) -> String) -> Vec<LegendItem> {
        let colours = self.iter().map(|one| format!("fill {}", one.colour()));
        colours.zip(self.0).map(|(colour, named)| block_item(&colour, label(named))).collect()
    }

    /// One colour for each subject; nothing for one alone.
    pub(super) fn legend(self) -> Vec<LegendItem> {
        if self.several() { self.blocks(|named| named.name.clone()) } else { Vec::new() }
    }

    /// Whether figures need to say which subject they belong to.
    pub(super) fn several(self) -> bool {
        self.0.len() > 1
    }

    /// One after the other.
    pub(super) fn iter(self) -> impl Iterator<Item = One<'a, D>> {
        let one = move |(index, named): (usize, &'a Named<D>)| One { page: self, index, of: &named.document };
        self.0.iter().enumerate().map(one)
    }

    /// Whether one of them is such.
    pub(super) fn any(self, such: impl Fn(&D) -> bool) -> bool {
        self.iter().any(|one| such(one.of))
    }

    /// The names of all.
    pub(super) fn names(self) -> String {
        text::joined(&self.0.iter().map(|named| named.name.clone()).collect::<Vec<_>>())
    }

    /// Each thing of each subject.
    pub(super) fn each<R: 'a>(
        self,
        things: impl Fn(&'a D) -> &'a [R],
    ) -> impl Iterator<Item = (One<'a, D>, &'a R)> {
        self.iter().flat_map(move |one| things(one.of).iter().map(move |thing| (one, thing)))
    }

    /// A table with facts as rows and a column for each subject.
    pub(super) fn fact_table(
        self,
        caption: &str,
        facts: impl Fn(&D) -> Vec<(&'static str, String)>,
    ) -> Table {
        let columns: Vec<_> = self.iter().map(|one| (one, facts(one.of))).collect();
        let names = columns.iter().take(1).flat_map(|(_, facts)| facts.iter().map(|(name, _)| *name));
        let rows = names.enumerate().map(|(row, name)| {
            let cell = |(one, facts): &(One<'_, D>, Vec<(&str, String)>)| {
                Cell::text(one.name().unwrap_or_else(|| "Value".to_owned()), &facts[row].1)
            };
            TableRow::new(name, columns.iter().map(cell).collect())
        });
        Table::new(caption, "Fact", rows)
    }

    /// Says which subjects lack a kind of figures, and why: their reasons for these fields. Nothing when every one has them.
    pub(super) fn lacking(self, what: &str, fields: &[Field], has: impl Fn(&D) -> bool) -> Option<Block> {
        self.lacking_about(what, |field| field.is_of(fields), has)
    }

    /// The same, for fields that are `about` them.
    pub(super) fn lacking_about(
        self,
        what: &str,
        about: impl Fn(&Field) -> bool,
        has: impl Fn(&D) -> bool,
    ) -> Option<Block> {
        let lacking: Vec<_> = self.iter().filter(|one| !has(one.of)).collect();
        if lacking.is_empty() {
            return None;
        }
        let items = reasons(lacking.iter().copied(), about);
        let whose = lacking.iter().map(|one| {
            let name = one.name().unwrap_or_else(|| format!("This {}", D::KIND));
            format!("{name} ({})", one.of.origin())
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

    /// Everything that is missing and why; nothing where nothing is.
    pub(super) fn all_reasons(self) -> Option<Notice> {
        let items = reasons(self.iter(), |_| true);
        (!items.is_empty()).then(|| Notice::new("What is missing, and why:", items))
    }

    /// The same as a table, a row for each.
    pub(super) fn unavailable(self, caption: &str) -> Table {
        let rows = self.iter().flat_map(|one| {
            let row = move |row: &Unavailable| {
                one.row(row.field.to_string(), vec![Cell::text("Why, and what would allow it", &row.reason)])
            };
            one.of.unavailable().into_iter().map(row)
        });
        Table::new(caption, "What", rows)
    }
}

/// What could not be measured, of some subjects, that is `about` something; one line a reason, with the names of those
/// that give it.
pub(super) fn reasons<'a, D: Subject>(
    of: impl IntoIterator<Item = One<'a, D>>,
    about: impl Fn(&Field) -> bool,
) -> Vec<String> {
    let mut by_line: Vec<(String, Vec<String>)> = Vec::new();
    for one in of {
        for line in reasons_of(&one.of.unavailable(), &about) {
            gathered(&mut by_line, line).extend(one.name());
        }
    }
    let line = |(line, names): (String, Vec<String>)| {
        if names.is_empty() { line } else { format!("{}: {line}", text::joined(&names)) }
    };
    by_line.into_iter().map(line).collect()
}

/// Reasons, each with all the fields it is given for.
fn reasons_of(unavailable: &[&Unavailable], about: impl Fn(&Field) -> bool) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in unavailable.iter().filter(|row| about(&row.field)) {
        gathered(&mut by_reason, &row.reason).push(row.field.as_str());
    }
    by_reason.into_iter().map(|(reason, fields)| format!("{}: {reason}", fields.join(", "))).collect()
}
