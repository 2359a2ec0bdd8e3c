//! Files that give commands numbers: `NAME NUMBER...`, one a line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Numbers of at least 1 by name, the same count for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedNumbers(BTreeMap<String, Vec<f64>>);

/// Why such a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamesError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is something else.
    #[error("{}:{line}: '{text}', expected a command's name and {}, such as '{}'", path.display(), wanted(*.count), example(*.count))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What it says.
        text: String,
        /// How many numbers there should be.
        count: usize,
    },
    /// What stands for all has another count of numbers, or one that is none.
    #[error("{text}: expected {}; every kind of core but the fastest has one", wanted(*.count))]
    ForAll {
        /// As given.
        text: String,
        /// How many numbers there should be.
        count: usize,
    },
}

fn wanted(count: usize) -> String {
    if count == 1 { "a number of at least 1".to_owned() } else { format!("{count} numbers of at least 1") }
}

fn example(count: usize) -> String {
    let numbers = ["3.0", "1.9", "1.4"];
    format!("gcc {}", numbers[numbers.len() - count.clamp(1, numbers.len())..].join(" "))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 1.0)
}

impl NamedNumbers {
    /// Reads a file with this many numbers a line. Empty lines and what follows a `#` are left aside; the name `*` stands for all others.
    ///
    /// # Errors
    /// When it cannot be read, or a line is something else.
    pub fn read(path: &Path, count: usize) -> Result<Self, NamesError> {
        let unreadable = |source| NamesError::Unreadable { path: path.to_owned(), source };
        Self::parse(&std::fs::read_to_string(path).map_err(unreadable)?, path, count)
    }

    /// As [`read`](Self::read), of a text from that file.
    ///
    /// # Errors
    /// When a line is something else.
    pub fn parse(text: &str, path: &Path, count: usize) -> Result<Self, NamesError> {
        let mut all = BTreeMap::new();
        for (index, full) in text.lines().enumerate() {
            let line = full.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (name, numbers) = named(line, count).ok_or_else(|| NamesError::Malformed {
                path: path.to_owned(),
                line: index + 1,
                text: full.to_owned(),
                count,
            })?;
            all.insert(name.to_owned(), numbers);
        }
        Ok(Self(all))
    }

    /// The same numbers for all, with commas between.
    ///
    /// # Errors
    /// When the count of numbers differs.
    pub fn for_all(text: &str, count: usize) -> Result<Self, NamesError> {
        let numbers: Option<Vec<f64>> = text.split(',').map(number).collect();
        match numbers.filter(|numbers| numbers.len() == count) {
            Some(numbers) => Ok(Self([("*".to_owned(), numbers)].into())),
            None => Err(NamesError::ForAll { text: text.to_owned(), count }),
        }
    }

    /// All names with their numbers, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.0.iter().map(|(name, numbers)| (name.as_str(), numbers.as_slice()))
    }

    /// The numbers of a name.
    pub fn get(&self, name: &str) -> Option<&[f64]> {
        self.0.get(name).or_else(|| self.0.get("*")).map(Vec::as_slice)
    }
}

/// A line as its name, which may have blanks, and this many numbers.
fn named(line: &str, count: usize) -> Option<(&str, Vec<f64>)> {
    let (mut name, mut numbers) = (line, Vec::new());
    for _ in 0..count {
        let (before, last) = name.rsplit_once(char::is_whitespace)?;
        name = before.trim_end();
        numbers.insert(0, number(last)?);
    }
    Some((name, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_blanks_and_a_star_is_for_the_rest() {
        let text = "# measured\ngcc 1.9\nWeb Content\t2.5 # a browser\n\n* 1.2\n";
        let numbers = NamedNumbers::parse(text, Path::new("x"), 1).unwrap();
        let of = |name| numbers.get(name).unwrap()[0];
        assert_eq!((of("gcc"), of("Web Content"), of("mcf")), (1.9, 2.5, 1.2));
        assert_eq!(NamedNumbers::default().get("gcc"), None);
    }

    #[test]
    fn a_wrong_line_is_named_with_its_place() {
        for wrong in ["gcc", "gcc fast", "gcc 0.5", "gcc nan"] {
            let error = NamedNumbers::parse(&format!("a 1\n{wrong}\n"), Path::new("s.txt"), 1).unwrap_err();
            assert!(error.to_string().starts_with(&format!("s.txt:2: '{wrong}'")), "{error}");
        }
    }

    #[test]
    fn three_kinds_need_two_numbers() {
        let numbers = NamedNumbers::parse("Web Content 3.0\t2\n* 1.2 1", Path::new("x"), 2).unwrap();
        assert_eq!(
            (numbers.get("Web Content"), numbers.get("gcc")),
            (Some(&[3.0, 2.0][..]), Some(&[1.2, 1.0][..]))
        );
        for wrong in ["gcc 1.9", "3.0 2.0", "gcc fast 2.0"] {
            let error = NamedNumbers::parse(wrong, Path::new("s.txt"), 2).unwrap_err().to_string();
            let expected = "expected a command's name and 2 numbers of at least 1, such as 'gcc 1.9 1.4'";
            assert_eq!(error, format!("s.txt:1: '{wrong}', {expected}"));
        }
        assert_eq!(NamedNumbers::for_all("2,4", 2).unwrap().get("gcc"), Some(&[2.0, 4.0][..]));
        for (wrong, count) in [("2", 2), ("2,4", 1), ("2,x", 2), ("0.5", 1)] {
            assert!(matches!(NamedNumbers::for_all(wrong, count), Err(NamesError::ForAll { .. })), "{wrong}");
        }
    }
}
