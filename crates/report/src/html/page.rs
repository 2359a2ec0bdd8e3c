//! The page as data: what the template lays out. Every text here is plain and is escaped by the template; only the
//! pictures are markup, made by [`super::svg`], which escapes what it is given.

use std::borrow::Cow;

use serde::Serialize;

use super::charts::{Chart, LegendItem, picture};
use super::svg::Size;
use super::text;

/// Everything on the page.
#[derive(Serialize)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) subtitle: String,
    /// What the reader must know before anything else.
    pub(super) notices: Vec<Notice>,
    pub(super) sentences: Vec<Sentence>,
    pub(super) tiles: Vec<Tile>,
    pub(super) profiles: Vec<LegendItem>,
    pub(super) sections: Vec<Section>,
    pub(super) footer: String,
    pub(super) style: &'static str,
    pub(super) script: &'static str,
}

/// The answer of one profile or Trace.
#[derive(Serialize)]
pub(super) struct Sentence {
    /// Its name when there are several.
    pub(super) profile: Option<String>,
    pub(super) text: String,
}

/// A key figure.
#[derive(Serialize)]
pub(super) struct Tile {
    pub(super) label: &'static str,
    pub(super) values: Vec<TileValue>,
    pub(super) meaning: &'static str,
}

/// A key figure's value in one profile.
#[derive(Serialize)]
pub(super) struct TileValue {
    pub(super) profile: Option<String>,
    /// Absent when the profile does not hold the figure.
    pub(super) value: Option<String>,
    pub(super) detail: String,
}

/// A part of the page under a heading.
#[derive(Serialize)]
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) blocks: Vec<Block>,
}

impl Section {
    /// A section that begins with a paragraph.
    pub(super) fn new(id: &'static str, title: &'static str, intro: impl Into<String>) -> Self {
        Self { id, title, blocks: vec![intro.into().into()] }
    }

    /// A section that begins with a figure or a table.
    pub(super) fn bare(id: &'static str, title: &'static str) -> Self {
        Self { id, title, blocks: Vec::new() }
    }

    /// Adds what there is.
    pub(super) fn put<B: Into<Block>>(mut self, blocks: impl IntoIterator<Item = B>) -> Self {
        let blocks = blocks.into_iter().map(Into::into);
        self.blocks
            .extend(blocks.filter(|block| !matches!(block, Block::Table(table) if table.rows.is_empty())));
        self
    }

    /// Adds a paragraph.
    pub(super) fn say(self, text: impl Into<String>) -> Self {
        self.put([text.into()])
    }

    /// Adds paragraphs.
    pub(super) fn say_all<T: Into<String>>(self, lines: impl IntoIterator<Item = T>) -> Self {
        lines.into_iter().fold(self, Self::say)
    }

    /// Adds a heading.
    pub(super) fn heading(self, text: impl Into<String>) -> Self {
        self.put([Block::Heading { text: text.into() }])
    }

    /// The section, unless there is nothing in it but its first paragraph.
    pub(super) fn unless_empty(self) -> Option<Self> {
        (self.blocks.len() > 1).then_some(self)
    }
}

/// A piece of a section.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Block {
    Paragraph {
        text: String,
    },
    Heading {
        text: String,
    },
    Figure(Figure),
    Flame(Flame),
    Table(Table),
    /// A table that is closed at first.
    Folded {
        summary: String,
        table: Table,
    },
    Notice(Notice),
    Definitions {
        items: Vec<Definition>,
    },
}

impl Block {
    /// A table that is closed at first; nothing where it has no row.
    pub(super) fn folded(summary: impl Into<String>, table: Table) -> Option<Self> {
        (!table.rows.is_empty()).then(|| Self::Folded { summary: summary.into(), table })
    }
}

macro_rules! blocks {
    ($($kind:ident)*) => {
        $(impl From<$kind> for Block {
            fn from(block: $kind) -> Self {
                Self::$kind(block)
            }
        })*
    };
}

blocks! { Figure Flame Table Notice }

impl From<String> for Block {
    fn from(text: String) -> Self {
        Self::Paragraph { text }
    }
}

/// A term and what it means.
#[derive(Serialize)]
pub(super) struct Definition {
    pub(super) term: String,
    pub(super) text: String,
}

impl Definition {
    pub(super) fn new(term: impl Into<String>, text: impl Into<String>) -> Self {
        Self { term: term.into(), text: text.into() }
    }
}

/// Something the reader must know: what is missing, and why.
#[derive(Serialize)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) items: Vec<String>,
}

impl Notice {
    pub(super) fn new(text: impl Into<String>, items: Vec<String>) -> Self {
        Self { text: text.into(), items }
    }
}

/// A chart in a wide and a narrow drawing, and its numbers.
#[derive(Serialize)]
pub(super) struct Figure {
    pub(super) id: String,
    pub(super) caption: String,
    pub(super) legend: Vec<LegendItem>,
    pub(super) notes: Vec<String>,
    pub(super) wide: String,
    pub(super) narrow: String,
    pub(super) table: Table,
}

impl Figure {
    /// Draws the chart twice: text in a picture shrinks with it, so a phone gets a drawing of its own. `label` is its accessible name.
    pub(super) fn new(
        id: impl Into<String>,
        caption: impl Into<String>,
        label: &str,
        table: Table,
        chart: &impl Chart,
    ) -> Self {
        Self {
            id: id.into(),
            caption: caption.into(),
            legend: chart.legend(),
            notes: Vec::new(),
            wide: picture(chart, Size::Wide, label),
            narrow: picture(chart, Size::Narrow, label),
            table,
        }
    }

    /// The same with another legend.
    pub(super) fn legend(mut self, items: Vec<LegendItem>) -> Self {
        self.legend = items;
        self
    }

    /// Adds the notes that there are.
    pub(super) fn notes<N: Into<String>>(mut self, notes: impl IntoIterator<Item = N>) -> Self {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }
}

/// A flame graph, which the page's script draws, and its numbers.
#[derive(Serialize)]
pub(super) struct Flame {
    pub(super) id: String,
    pub(super) caption: String,
    /// The stacks, in JSON: `names`, and for each stack its task, its frames and its weights.
    pub(super) data: String,
    pub(super) summary: String,
    pub(super) table: Table,
}

/// A table; the first column names the rows.
#[derive(Default, Serialize)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) head: Vec<Cell>,
    pub(super) rows: Vec<TableRow>,
    /// Rows that sum up, kept below the others.
    pub(super) foot: Vec<TableRow>,
    /// Whether the script may put the rows in another order.
    pub(super) sortable: bool,
}

impl Table {
    /// A table whose first column has this title; the others have those of the first row's cells.
    pub(super) fn new(
        caption: impl Into<String>,
        first: &'static str,
        rows: impl IntoIterator<Item = TableRow>,
    ) -> Self {
        let rows: Vec<TableRow> = rows.into_iter().collect();
        let mut head = vec![Cell::text(first, first)];
        head.extend(rows.iter().take(1).flat_map(|row| row.cells.iter().map(Cell::head)));
        // A column of numbers has its title to the right, as its numbers are.
        for (title, cell) in rows.iter().flat_map(|row| (1..).zip(&row.cells)) {
            if let Some(title) = head.get_mut(title) {
                title.number |= cell.number;
            }
        }
        Self { caption: caption.into(), head, rows, ..Self::default() }
    }

    /// The same, which the script may put in another order.
    pub(super) fn sortable(mut self) -> Self {
        self.sortable = true;
        self
    }

    /// The table, or a sentence where it has no row.
    pub(super) fn or(self, nothing: &str) -> Block {
        if self.rows.is_empty() { nothing.to_owned().into() } else { self.into() }
    }

    /// The same with rows below the others that sum up.
    pub(super) fn sums(mut self, rows: impl IntoIterator<Item = TableRow>) -> Self {
        self.foot.extend(rows);
        self
    }
}

/// A row under its own heading.
#[derive(Serialize)]
pub(super) struct TableRow {
    pub(super) head: String,
    pub(super) cells: Vec<Cell>,
    /// Whether the heading needs room.
    pub(super) long: bool,
}

impl TableRow {
    pub(super) fn new(head: impl Into<String>, cells: Vec<Cell>) -> Self {
        let head = head.into();
        Self { long: head.chars().count() >= LONG / 2, head, cells }
    }
}

/// A cell under the title of its column; numbers are set to the right.
#[derive(Clone, Serialize)]
pub(super) struct Cell {
    #[serde(skip)]
    pub(super) title: Cow<'static, str>,
    pub(super) text: String,
    pub(super) number: bool,
    /// Needs room, lest it become a tall thin column on a phone.
    pub(super) long: bool,
    /// What to sort by, where the text does not say it.
    pub(super) key: Option<f64>,
}

/// Letters from which a cell counts as long.
const LONG: usize = 40;

impl Cell {
    /// The head of its column.
    fn head(&self) -> Self {
        Self::text("", self.title.clone())
    }

    pub(super) fn text(title: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { title: title.into(), long: text.chars().count() >= LONG, text, number: false, key: None }
    }

    pub(super) fn number(title: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into(), number: true, long: false, key: None }
    }

    /// A number that a table can be sorted by.
    pub(super) fn sorted(title: impl Into<Cow<'static, str>>, text: impl Into<String>, key: f64) -> Self {
        Self { key: Some(key), ..Self::number(title, text) }
    }

    /// A number to sort by, or a dash where it is not known.
    pub(super) fn figure(
        title: &'static str,
        value: impl Into<Option<f64>>,
        words: impl Fn(f64) -> String,
    ) -> Self {
        value.into().map_or_else(|| Self::dash(title), |value| Self::sorted(title, words(value), value))
    }

    /// A count to sort by, or a dash.
    pub(super) fn count(title: &'static str, value: impl Into<Option<u64>>) -> Self {
        Self::figure(title, value.into().map(|value| value as f64), |value| text::count(value as u64))
    }

    /// A time to sort by, ns, or a dash.
    pub(super) fn time(title: &'static str, ns: impl Into<Option<u64>>) -> Self {
        Self::figure(title, ns.into().map(|ns| ns as f64), text::ns)
    }

    /// A size to sort by, or a dash.
    pub(super) fn bytes(title: &'static str, bytes: Option<u64>) -> Self {
        Self::figure(title, bytes.map(|bytes| bytes as f64), |bytes| text::bytes(bytes as u64))
    }

    /// What is not known. Never a zero.
    pub(super) fn dash(title: &'static str) -> Self {
        Self::number(title, text::DASH)
    }

    /// A number that is not sorted by, or a dash.
    pub(super) fn or_dash(title: impl Into<Cow<'static, str>>, text: Option<String>) -> Self {
        Self::number(title, text.unwrap_or_else(|| text::DASH.to_owned()))
    }
}
