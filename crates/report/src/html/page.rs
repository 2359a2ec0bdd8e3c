//! The page as data: what the template lays out. Every text here is plain and is escaped by the template; only the
//! pictures are markup, made by [`super::svg`], which escapes what it is given.

use serde::Serialize;

use super::charts::Size;

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
    pub(super) colophon: String,
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
    pub(super) label: String,
    pub(super) values: Vec<TileValue>,
    pub(super) meaning: String,
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
    pub(super) fn paragraph(text: impl Into<String>) -> Self {
        Self::Paragraph { text: text.into() }
    }

    pub(super) fn heading(text: impl Into<String>) -> Self {
        Self::Heading { text: text.into() }
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
    /// Draws the chart twice: text in a picture shrinks with it, so a phone gets a drawing of its own.
    pub(super) fn new(
        id: impl Into<String>,
        caption: impl Into<String>,
        table: Table,
        draw: impl Fn(Size) -> String,
    ) -> Self {
        Self {
            id: id.into(),
            caption: caption.into(),
            legend: Vec::new(),
            notes: Vec::new(),
            wide: draw(Size::Wide),
            narrow: draw(Size::Narrow),
            table,
        }
    }

    pub(super) fn legend(mut self, items: Vec<LegendItem>) -> Self {
        self.legend = items;
        self
    }

    pub(super) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
}

/// A sign and what it stands for.
#[derive(Clone, Serialize)]
pub(super) struct LegendItem {
    /// Markup of the sign.
    pub(super) sign: String,
    pub(super) label: String,
}

/// A table; the first column names the rows.
#[derive(Default, Serialize)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) head: Vec<Cell>,
    pub(super) rows: Vec<Row>,
    /// Rows that sum up, kept below the others.
    pub(super) foot: Vec<Row>,
    /// Whether the script may put the rows in another order.
    pub(super) sortable: bool,
}

impl Table {
    pub(super) fn new(caption: impl Into<String>, head: &[&str]) -> Self {
        Self {
            caption: caption.into(),
            head: head.iter().map(|&text| Cell::text(text)).collect(),
            ..Self::default()
        }
    }

    pub(super) fn row(&mut self, head: impl Into<String>, cells: Vec<Cell>) {
        // A column of numbers has its title to the right, as its numbers are.
        for (title, cell) in self.head.iter_mut().skip(1).zip(&cells) {
            title.number |= cell.number;
        }
        self.rows.push(Row::new(head.into(), cells));
    }

    /// A row that sums up others.
    pub(super) fn sum(&mut self, head: impl Into<String>, cells: Vec<Cell>) {
        self.foot.push(Row::new(head.into(), cells));
    }
}

/// A row under its own heading.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) head: String,
    pub(super) cells: Vec<Cell>,
    /// Whether the heading needs room.
    pub(super) long: bool,
}

impl Row {
    fn new(head: String, cells: Vec<Cell>) -> Self {
        Self { long: head.chars().count() >= LONG / 2, head, cells }
    }
}

/// A cell; numbers are set to the right.
#[derive(Clone, Serialize)]
pub(super) struct Cell {
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
    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { long: text.chars().count() >= LONG, text, number: false, key: None }
    }

    pub(super) fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: true, long: false, key: None }
    }

    /// A number that a table can be sorted by.
    pub(super) fn sorted(text: impl Into<String>, key: f64) -> Self {
        Self { key: Some(key), ..Self::number(text) }
    }
}
