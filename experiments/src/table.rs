//! A table of published and obtained figures, and how it is shown.

use anyhow::{Context, Result};
use serde::Serialize;
use swtch_units::TextTable;

/// Figures that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What the figures are of.
    pub title: String,
    /// Instead of "published" above the column, where the comparison is with something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<&'static str>,
    /// Each against what was published.
    pub rows: Vec<Row>,
    /// Unpublished figures, for the shape of things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// Remarks that hold for all rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the computation took, where that is worth knowing; not part of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// What was published; none where the table adds a figure of its own.
    pub published: Option<Published>,
    /// What comes out here.
    pub obtained: f64,
    /// The unit of both.
    pub unit: &'static str,
    /// Decimals that are shown.
    #[serde(skip)]
    pub decimals: usize,
    /// What the comparison is worth.
    #[serde(flatten)]
    pub standing: Standing,
}

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Published {
    /// A figure.
    Value(f64),
    /// From the first to the second.
    Range(f64, f64),
}

/// What a comparison is worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "standing", rename_all = "lowercase")]
pub enum Standing {
    /// Nothing was published.
    Computed,
    /// A parameter was chosen so that this comes out.
    Calibrated {
        /// How near.
        tolerance: f64,
    },
    /// It comes out by itself.
    Reproduced {
        /// Within this.
        tolerance: f64,
    },
    /// It does not come out.
    Departs {
        /// It is further away than this.
        tolerance: f64,
        /// The reason, as far as it is known.
        why: &'static str,
    },
}

/// Cells without anything to compare with.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Grid {
    /// Above each column.
    pub header: Vec<String>,
    /// As many cells as columns.
    pub rows: Vec<Vec<String>>,
}

impl Row {
    /// A figure that should come out within `tolerance`.
    pub fn new(
        what: impl Into<String>,
        published: f64,
        obtained: f64,
        unit: &'static str,
        tolerance: f64,
    ) -> Self {
        let standing = Standing::Reproduced { tolerance };
        Self {
            what: what.into(),
            published: Some(Published::Value(published)),
            obtained,
            unit,
            decimals: 1,
            standing,
        }
    }

    /// An unpublished figure.
    pub fn computed(what: impl Into<String>, obtained: f64, unit: &'static str) -> Self {
        Self { what: what.into(), published: None, obtained, unit, decimals: 1, standing: Standing::Computed }
    }

    /// The same, published as a range.
    #[must_use]
    pub fn within(mut self, least: f64, most: f64) -> Self {
        self.published = Some(Published::Range(least, most));
        self
    }

    /// The same, as what a parameter was chosen by.
    #[must_use]
    pub fn calibrated(mut self) -> Self {
        self.standing = Standing::Calibrated { tolerance: self.tolerance().unwrap_or(0.0) };
        self
    }

    /// The same, as what does not come out.
    #[must_use]
    pub fn departs(mut self, why: &'static str) -> Self {
        self.standing = Standing::Departs { tolerance: self.tolerance().unwrap_or(0.0), why };
        self
    }

    /// The same, as what does not come out if it is outside of its tolerance; for figures of which many share one reason.
    #[must_use]
    pub fn judged(self, why: &'static str) -> Self {
        if self.complaint().is_some() { self.departs(why) } else { self }
    }

    /// The same with this many decimals.
    #[must_use]
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = decimals;
        self
    }

    /// The obtained figure less the published one; against a range, less its nearer end, and 0 inside.
    pub fn difference(&self) -> Option<f64> {
        Some(match self.published? {
            Published::Value(value) => self.obtained - value,
            Published::Range(least, most) => self.obtained - self.obtained.clamp(least, most),
        })
    }

    /// The tolerance that the row claims.
    pub fn tolerance(&self) -> Option<f64> {
        match self.standing {
            Standing::Computed => None,
            Standing::Calibrated { tolerance }
            | Standing::Reproduced { tolerance }
            | Standing::Departs { tolerance, .. } => Some(tolerance),
        }
    }

    /// What is wrong with the claim of this row: one outside of its tolerance that should be within, or the other way round.
    pub fn complaint(&self) -> Option<String> {
        let (difference, tolerance) = (self.difference(), self.tolerance());
        let (Some(difference), Some(tolerance)) = (difference, tolerance) else {
            let consistent = difference.is_none() && tolerance.is_none();
            return (!consistent).then(|| format!("{}: one of figure and tolerance is missing", self.what));
        };
        // What is published to whole numbers may be off by exactly half of one.
        let inside = difference.abs() <= tolerance + 1e-9;
        let departs = matches!(self.standing, Standing::Departs { .. });
        (inside == departs).then(|| {
            let claim = if departs { "should depart" } else { "should come out" };
            format!("{}: {difference} with a tolerance of {tolerance} {claim}", self.what)
        })
    }

    fn cells(&self) -> [String; 6] {
        let number = |value: f64| format!("{value:.*}", self.decimals);
        let published = match self.published {
            None => "–".to_owned(),
            Some(Published::Value(value)) => shortest(value),
            Some(Published::Range(least, most)) if least == f64::NEG_INFINITY => {
                format!("≤ {}", shortest(most))
            }
            Some(Published::Range(least, most)) if most == f64::INFINITY => format!("≥ {}", shortest(least)),
            Some(Published::Range(least, most)) => format!("{} to {}", shortest(least), shortest(most)),
        };
        let difference = self.difference().map_or("–".to_owned(), |difference| {
            // No "-0.0".
            let zero = difference.abs() < 0.5 * 10_f64.powi(-(self.decimals as i32));
            if zero { number(0.0) } else { format!("{difference:+.*}", self.decimals) }
        });
        let standing = match &self.standing {
            Standing::Computed => "computed".to_owned(),
            Standing::Calibrated { .. } => "calibrated".to_owned(),
            Standing::Reproduced { tolerance } => format!("within {}", shortest(*tolerance)),
            Standing::Departs { why, .. } => format!("departs: {why}"),
        };
        [self.what.clone(), published, number(self.obtained), difference, self.unit.to_owned(), standing]
    }
}

/// As many decimals as the number has, up to four.
fn shortest(value: f64) -> String {
    let rounded = format!("{value:.4}");
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Table {
    /// An empty one.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    fn header(&self) -> [String; 6] {
        let published = self.compared_with.unwrap_or("published");
        ["figure", published, "obtained", "difference", "unit", ""].map(str::to_owned)
    }

    /// Marks a row as one that does not come out.
    ///
    /// # Errors
    /// When there is no row of that name.
    pub fn depart(&mut self, what: &str, why: &'static str) -> Result<()> {
        let row = self.rows.iter_mut().find(|row| row.what == what);
        let row = row.with_context(|| format!("no row is called '{what}'"))?;
        *row = row.clone().departs(why);
        Ok(())
    }

    /// For a document: title, rows, grid, notes.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{}**\n", self.title);
        if !self.rows.is_empty() {
            let cells: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().to_vec()).collect();
            text += &markdown_rows(&self.header(), &cells);
        }
        if let Some(grid) = &self.grid {
            text += &markdown_rows(&grid.header, &grid.rows);
        }
        for note in &self.notes {
            text += &format!("\n{note}\n");
        }
        text
    }

    /// For a terminal: the same in columns.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        if !self.rows.is_empty() {
            let cells: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().to_vec()).collect();
            text += &columns(&self.header(), &cells);
        }
        if let Some(grid) = &self.grid {
            text += &columns(&grid.header, &grid.rows);
        }
        for note in &self.notes {
            text += &format!("  {note}\n");
        }
        if let Some(seconds) = self.wall_seconds {
            text += &format!("  computed in {seconds:.2} s\n");
        }
        text
    }
}

/// Whether a column has numbers, which stand to the right; the first has names.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let begins =
        |cell: &String| cell.starts_with(|first: char| first.is_ascii_digit() || "+-–≤≥".contains(first));
    column > 0 && rows.iter().all(|row| begins(&row[column]))
}

fn markdown_rows(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = |column| if is_numeric(rows, column) { "---:" } else { "---" }.to_owned();
    let rules: Vec<String> = (0..header.len()).map(rule).collect();
    let mut text = format!("\n{}{}", line(header), line(&rules));
    for row in rows {
        text += &line(row);
    }
    text
}

fn columns(header: &[String], rows: &[Vec<String>]) -> String {
    let mut table =
        TextTable::new(header).left((0..header.len()).filter(|column| !is_numeric(rows, *column)));
    for row in rows {
        table.row(row);
    }
    table.indented()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_wrong_on_either_side() {
        let row = Row::new("x", 10.0, 10.4, "%", 0.5);
        assert_eq!(row.complaint(), None);
        assert!(row.clone().departs("it does not").complaint().is_some());
        let far = Row::new("x", 10.0, 10.6, "%", 0.5);
        assert!(far.complaint().is_some());
        assert!(far.clone().calibrated().complaint().is_some());
        assert_eq!(far.clone().judged("it does not"), far.clone().departs("it does not"));
        assert_eq!(row.clone().judged("it does not"), row);
        assert_eq!(far.departs("it does not").complaint(), None);
        assert_eq!(Row::computed("x", 1.0, "%").complaint(), None);
        let no_tolerance = Row { standing: Standing::Computed, ..row };
        assert!(no_tolerance.complaint().is_some());
    }

    #[test]
    fn a_range_differs_only_outside_of_it() {
        let row = |obtained| Row::new("x", 0.0, obtained, "%", 0.0).within(30.0, 40.0);
        assert_eq!(row(35.0).difference(), Some(0.0));
        assert_eq!(row(28.0).difference(), Some(-2.0));
        assert_eq!(row(41.5).difference(), Some(1.5));
    }

    #[test]
    fn tables_read_the_same_in_a_document_and_on_a_terminal() {
        let mut table = Table::new("A title");
        table.rows.push(Row::new("minimum", 85.0, 84.97, "%", 0.5));
        table.rows.push(Row::computed("mean", 1.0, "µs").decimals(2));
        table.rows.push(Row::new("at most", 0.0, 2.0, "%", 0.0).within(f64::NEG_INFINITY, 3.0));
        table.notes.push("A note.".to_owned());
        table.wall_seconds = Some(1.5);
        let markdown = table.markdown();
        assert!(markdown.contains("| minimum | 85 | 85.0 | 0.0 | % | within 0.5 |\n"), "{markdown}");
        assert!(markdown.contains("| mean | – | 1.00 | – | µs | computed |\n"), "{markdown}");
        assert!(markdown.contains("| at most | ≤ 3 | 2.0 | 0.0 | % | within 0 |\n"), "{markdown}");
        assert!(!markdown.contains("1.5"), "times differ from run to run and stay out of the document");
        let text = table.text();
        assert!(text.contains("  minimum         85      85.0         0.0  %     within 0.5\n"), "{text}");
        assert!(text.ends_with("A note.\n  computed in 1.50 s\n"), "{text}");
        let row = serde_json::to_value(&table.rows[0]).unwrap();
        let expected = serde_json::json!({
            "what": "minimum", "published": 85.0, "obtained": 84.97, "unit": "%",
            "standing": "reproduced", "tolerance": 0.5,
        });
        assert_eq!(row, expected);
    }
}
