//! The pages whose marked blocks are generated.

use crate::registry::EXPERIMENTS;
use crate::table::Table;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The page that lists the others, and the directory of the others, below `docs`.
const INDEX: &str = "experiments.md";
const RESULTS: &str = "results";

/// The pages of published tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages(BTreeMap<PathBuf, String>);

impl Pages {
    /// Reads them, below `docs`.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub fn read(docs: &Path) -> Result<Self> {
        let results = docs.join(RESULTS);
        let listed =
            std::fs::read_dir(&results).with_context(|| format!("cannot list {}", results.display()))?;
        let mut paths = vec![docs.join(INDEX)];
        for entry in listed {
            paths.push(entry?.path());
        }
        let read = |path: PathBuf| {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok((path, text))
        };
        paths.into_iter().map(read).collect::<Result<_>>().map(Self)
    }

    /// Each page with its path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.0.iter().map(|(path, text)| (path.as_path(), text.as_str()))
    }

    /// The pages with the tables of `results` in their blocks, and all counts again.
    ///
    /// # Errors
    /// When no page has the block of a result.
    pub fn update(&self, results: &[(&str, Vec<Table>)]) -> Result<Self> {
        let mut pages = self.0.clone();
        for (name, tables) in results {
            let tables: Vec<String> = tables.iter().map(Table::markdown).collect();
            let mark = begin(name);
            let Some(page) = pages.values_mut().find(|page| page.contains(&mark)) else {
                bail!("no page has the line {mark}");
            };
            *page = replaced(page, name, &format!("\n{}\n", tables.join("\n")))?;
        }
        let mut index = vec!["| page | rows that come out |".to_owned(), "| --- | --- |".to_owned()];
        for (path, page) in pages.iter_mut().filter(|(path, _)| !path.ends_with(INDEX)) {
            let count = Counted::of(page).sentence();
            let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            index.push(format!(
                "| [{title}]({RESULTS}/{name}) | {} |",
                count.as_deref().unwrap_or("see there")
            ));
            *page =
                replaced(page, "count", &count.map(|count| format!("**{count}**\n")).unwrap_or_default())?;
        }
        for page in pages.iter_mut().filter(|(path, _)| path.ends_with(INDEX)).map(|(_, page)| page) {
            *page = replaced(page, "count", &(index.join("\n") + "\n"))?;
        }
        Ok(Self(pages))
    }

    /// Writes all.
    ///
    /// # Errors
    /// When a page cannot be written.
    pub fn write(&self) -> Result<()> {
        self.iter().try_for_each(|(path, page)| {
            std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))
        })
    }
}

fn begin(name: &str) -> String {
    format!("<!-- begin {name} -->\n")
}

/// The page with another text between its marks.
fn replaced(page: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (begin(name), format!("<!-- end {name} -->"));
    let (before, rest) = page.split_once(&begin).with_context(|| format!("no line {}", begin.trim()))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("no line {end}"))?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

/// How many rows of a page's tables come out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Rows that come out by themselves.
    pub come_out: usize,
    /// Rows that could: these and those that depart.
    pub compared: usize,
    /// Rows by which a parameter was chosen.
    pub calibrated: usize,
}

impl Counted {
    /// Counts a page's rows: those that say `within`, `departs` or `calibrated` in their last cell, and `confirmed` in their second. It
    /// also counts the rows of tables of differences, where bold figures miss their aim.
    pub fn of(page: &str) -> Self {
        let mut counted = Self::default();
        let mut of_differences = false;
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix('|')) else {
                continue;
            };
            let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
            let last = cells.last().copied().unwrap_or_default();
            if lines.peek().is_some_and(|next| next.starts_with("| ---")) {
                of_differences = cells.contains(&"difference") && !last.is_empty();
                continue;
            }
            let verdict = cells.get(1).copied().unwrap_or_default();
            counted.calibrated += usize::from(last == "calibrated");
            let comes_out = match () {
                () if last.starts_with("within ") || verdict.starts_with("**confirmed") => Some(true),
                () if last.starts_with("departs: ") || verdict.starts_with("**not confirmed") => Some(false),
                () if of_differences && !line.starts_with("| ---") => Some(!line.contains("**")),
                () => None,
            };
            counted.compared += usize::from(comes_out.is_some());
            counted.come_out += usize::from(comes_out == Some(true));
        }
        counted
    }

    /// In words; nothing where nothing is compared.
    pub fn sentence(self) -> Option<String> {
        let Self { come_out, compared, calibrated } = self;
        let beside = match calibrated {
            0 => String::new(),
            1 => "; 1 more was calibrated".to_owned(),
            more => format!("; {more} more were calibrated"),
        };
        (compared > 0).then(|| format!("{come_out} of {compared} rows come out{beside}."))
    }
}

/// The names of all experiments, for messages.
pub fn names() -> String {
    EXPERIMENTS.map(|experiment| experiment.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX_PAGE: &str = "# All\n<!-- begin count -->\n<!-- end count -->\n";

    fn pages(text: &str) -> Pages {
        let one = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
        Pages(BTreeMap::from([one("experiments.md", INDEX_PAGE), one("results/a.md", text)]))
    }

    #[test]
    fn only_blocks_change() {
        let page = "# Title\n<!-- begin count -->\n<!-- end count -->\n<!-- begin a -->\nold\n<!-- end a -->\nbetween `<!-- begin x -->`\n<!-- begin b -->\n<!-- end b -->\nend\n";
        let results = [("a", vec![Table::new("A")]), ("b", vec![Table::new("B"), Table::new("C")])];
        let updated = pages(page).update(&results).unwrap();
        assert_eq!(
            updated.0[Path::new("results/a.md")],
            "# Title\n<!-- begin count -->\n<!-- end count -->\n<!-- begin a -->\n\n**A**\n\n<!-- end a -->\nbetween `<!-- begin x -->`\n<!-- begin b -->\n\n**B**\n\n**C**\n\n<!-- end b -->\nend\n"
        );
        assert!(updated.0[Path::new("experiments.md")].contains("| [Title](results/a.md) | see there |"));
        assert_eq!(updated.update(&results).unwrap(), updated, "twice is as good as once");
    }

    #[test]
    fn a_missing_block_is_an_error() {
        let results = [("a", Vec::new())];
        for text in ["nothing", "<!-- begin a -->\n", "<!-- begin b -->\n<!-- end b -->"] {
            assert!(pages(text).update(&results).is_err());
        }
    }

    #[test]
    fn rows_are_counted_by_what_they_say_of_themselves() {
        let page = "| figure | published | obtained | difference | unit |  |\n| --- | ---: | ---: | ---: | --- | --- |\n\
            | a | 1 | 1.0 | 0.0 |  | within 1 |\n| b | 1 | 9.0 | +8.0 |  | departs: why |\n| c | 1 | 1.0 | 0.0 |  | calibrated |\n\
            | d | – | 1.0 | – |  | computed |\n\n| statement | here |\n| --- | --- |\n| x | **confirmed**: y |\n\
            | z | **not confirmed** |\n| v | **cannot be tested here** |\n\n| program | time | difference |\n| --- | ---: | ---: |\n\
            | p | 1 | -7 % |\n| q | 1 | **-25 %** |\n\nText\n\n| other | table |\n| --- | --- |\n| 1 | 2 |\n";
        let counted = Counted::of(page);
        assert_eq!(counted, Counted { come_out: 3, compared: 6, calibrated: 1 });
        assert_eq!(counted.sentence().unwrap(), "3 of 6 rows come out; 1 more was calibrated.");
        assert_eq!(Counted::of("no table").sentence(), None);
    }
}
