//! Files that give commands a number: `NAME NUMBER`, one a line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Numbers of at least 1 by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedNumbers(BTreeMap<String, f64>);

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
    #[error("{}:{line}: '{text}', expected a command's name and a number of at least 1, such as 'gcc 1.9'", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What it says.
        text: String,
    },
}

impl NamedNumbers {
    /// Reads a file. Empty lines and what follows a `#` are left aside; the name `*` stands for all others.
    ///
    /// # Errors
    /// When it cannot be read, or a line is something else.
    pub fn read(path: &Path) -> Result<Self, NamesError> {
        let unreadable = |source| NamesError::Unreadable { path: path.to_owned(), source };
        Self::parse(&std::fs::read_to_string(path).map_err(unreadable)?, path)
    }

    /// As [`read`](Self::read), of a text from that file.
    ///
    /// # Errors
    /// When a line is something else.
    pub fn parse(text: &str, path: &Path) -> Result<Self, NamesError> {
        let mut numbers = BTreeMap::new();
        for (index, full) in text.lines().enumerate() {
            let line = full.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let pair = line.rsplit_once(char::is_whitespace);
            let number = pair.and_then(|(_, number)| number.parse::<f64>().ok());
            match (pair, number.filter(|number| number.is_finite() && *number >= 1.0)) {
                (Some((name, _)), Some(number)) => numbers.insert(name.trim().to_owned(), number),
                _ => {
                    return Err(NamesError::Malformed {
                        path: path.to_owned(),
                        line: index + 1,
                        text: full.to_owned(),
                    });
                }
            };
        }
        Ok(Self(numbers))
    }

    /// The same number for all.
    pub fn for_all(number: f64) -> Self {
        Self([("*".to_owned(), number)].into())
    }

    /// The number of a name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).or_else(|| self.0.get("*")).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_blanks_and_a_star_is_for_the_rest() {
        let text = "# measured\ngcc 1.9\nWeb Content\t2.5 # a browser\n\n* 1.2\n";
        let numbers = NamedNumbers::parse(text, Path::new("x")).unwrap();
        let of = |name| numbers.get(name).unwrap();
        assert_eq!((of("gcc"), of("Web Content"), of("mcf")), (1.9, 2.5, 1.2));
        assert_eq!(NamedNumbers::default().get("gcc"), None);
    }

    #[test]
    fn a_wrong_line_is_named_with_its_place() {
        for wrong in ["gcc", "gcc fast", "gcc 0.5", "gcc nan"] {
            let error = NamedNumbers::parse(&format!("a 1\n{wrong}\n"), Path::new("s.txt")).unwrap_err();
            assert!(error.to_string().starts_with(&format!("s.txt:2: '{wrong}'")), "{error}");
        }
    }
}
