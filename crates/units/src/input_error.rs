//! Reads JSON documents that name their schema, and says in one line what is wrong with one: Profiles, studies, responses of functions.
//!
//! Each kind of document has one [`DocumentKind`] with its name and its writer. Every reader therefore fails in the same words, which name
//! the file, the place and what was expected. [`Checks`] finds the figures in a document that cannot be true.

mod check;

pub use check::{Checks, Impossible, Refused};

use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Larger than any document; keeps a mistaken argument (a disk image) from filling the memory.
const LARGEST_FILE_BYTES: u64 = 256 << 20;

/// What a kind of document is, for messages.
#[derive(Debug, PartialEq, Eq)]
pub struct DocumentKind {
    /// The schema that this version reads: `swtch/profile/2`.
    pub schema: &'static str,
    /// What it is called: `a Profile`.
    pub name: &'static str,
    /// What writes it: `'swtch measure --out FILE'`.
    pub written_by: &'static str,
    /// What to do when one is damaged: `measure again`.
    pub again: &'static str,
}

/// A type that is read from a document.
pub trait Document: DeserializeOwned {
    /// What it is.
    const KIND: &'static DocumentKind;
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is not JSON, or is JSON that ends early.
    #[error("{} is not {}: {source}; {} is written by {}", path.display(), kind.name, kind.name, kind.written_by)]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What was expected.
        kind: &'static DocumentKind,
        /// What the parser found and where (line and column).
        source: serde_json::Error,
    },
    /// The file is JSON of another kind or version.
    #[error("{} has the schema '{found}', not '{}'; {}", path.display(), kind.schema, advice(kind, found))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was expected.
        kind: &'static DocumentKind,
        /// The schema it names.
        found: String,
    },
    /// The file names the right schema and breaks it.
    #[error("{} is damaged: {source}; {}", path.display(), kind.again)]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was expected.
        kind: &'static DocumentKind,
        /// What is missing or wrong, and where.
        source: serde_json::Error,
    },
}

/// What to do about a schema that was not expected.
fn advice(kind: &DocumentKind, found: &str) -> String {
    let family = |schema: &str| schema.rsplit_once('/').map(|(family, _)| family.to_owned());
    if family(found) == family(kind.schema) {
        "it was written by another version of swtch".to_owned()
    } else {
        format!("{} is written by {}", kind.name, kind.written_by)
    }
}

/// Reads a document.
///
/// # Errors
/// When it cannot be read, or is not a document of this kind and version.
pub fn read<T: Document>(path: &Path) -> Result<T, ReadError> {
    parse(&contents(path)?, path)
}

/// The bytes of a file. A file that is larger than a document can be is refused.
///
/// # Errors
/// [`ReadError::Read`].
pub fn contents(path: &Path) -> Result<Vec<u8>, ReadError> {
    let fail = |source| ReadError::Read { path: path.to_owned(), source };
    let length = fs::metadata(path).map_err(fail)?.len();
    if length > LARGEST_FILE_BYTES {
        return Err(fail(io::Error::other(format!("{length} bytes are more than any document has"))));
    }
    fs::read(path).map_err(fail)
}

/// Reads a document from the contents of `path`, which is used in messages only.
///
/// # Errors
/// When the contents are not a document of this kind and version.
pub fn parse<T: Document>(contents: &[u8], path: &Path) -> Result<T, ReadError> {
    let (path, kind) = (path.to_owned(), T::KIND);
    let value: serde_json::Value = match serde_json::from_slice(contents) {
        Ok(value) => value,
        Err(source) => return Err(ReadError::NotJson { path, kind, source }),
    };
    let found = named(&value).unwrap_or("none");
    if found != kind.schema {
        return Err(ReadError::Foreign { path, kind, found: found.to_owned() });
    }
    // From the text again, not from the value: the error then has its line and column.
    serde_json::from_slice(contents).map_err(|source| ReadError::Damaged { path, kind, source })
}

fn named(value: &serde_json::Value) -> Option<&str> {
    value.get("schema")?.as_str()
}

/// The schema that a text names, also when it ends early: by it a file is known before it is read as anything.
///
/// ```
/// assert_eq!(swtch_units::input_error::schema(b"{\"schema\": \"swtch/profile/2\", \"dir"), Some("swtch/profile/2".to_owned()));
/// assert_eq!(swtch_units::input_error::schema(b"#!/bin/sh"), None);
/// ```
pub fn schema(contents: &[u8]) -> Option<String> {
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(contents) {
        return named(&value).map(str::to_owned);
    }
    let text = String::from_utf8_lossy(contents);
    let (_, rest) = text.split_once("\"schema\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(schema, _)| schema.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Note {
        text: String,
    }

    impl Document for Note {
        const KIND: &'static DocumentKind = &DocumentKind {
            schema: "swtch/note/1",
            name: "a note",
            written_by: "'swtch note'",
            again: "write it again",
        };
    }

    fn complaint(text: &str) -> String {
        parse::<Note>(text.as_bytes(), Path::new("some.json")).unwrap_err().to_string()
    }

    #[test]
    fn a_document_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.json");
        fs::write(&path, r#"{"schema":"swtch/note/1","text":"hello"}"#).unwrap();
        assert_eq!(read::<Note>(&path).unwrap().text, "hello");
        let missing = read::<Note>(&folder.path().join("gone.json")).unwrap_err();
        assert!(matches!(missing, ReadError::Read { .. }) && missing.to_string().contains("gone.json"));
    }

    #[test]
    fn what_is_none_says_why_in_one_line() {
        assert_eq!(
            complaint(""),
            "some.json is not a note: EOF while parsing a value at line 1 column 0; a note is written by 'swtch note'"
        );
        let other = complaint(r#"{"schema":"swtch/profile/2"}"#);
        assert!(other.ends_with("not 'swtch/note/1'; a note is written by 'swtch note'"), "{other}");
        let newer = complaint(r#"{"schema":"swtch/note/2"}"#);
        assert!(newer.ends_with("another version of swtch"), "{newer}");
        assert!(complaint("[]").contains("the schema 'none'"));
        let damaged = complaint(r#"{"schema":"swtch/note/1"}"#);
        assert!(damaged.contains("missing field `text` at line 1") && damaged.ends_with("write it again"));
    }

    #[test]
    fn a_text_that_ends_early_still_names_its_schema() {
        let whole = r#"{"nested":{"schema":"swtch/other/1"},"schema":"swtch/note/1"}"#;
        assert_eq!(schema(whole.as_bytes()).as_deref(), Some("swtch/note/1"));
        assert_eq!(schema(b"{\"schema\" : \"swtch/note/1\",").as_deref(), Some("swtch/note/1"));
        assert_eq!(schema(b"{\"schema\": 1}"), None);
        assert_eq!(schema(b"\x00\xff"), None);
    }
}
