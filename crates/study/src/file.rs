//! Reads a study from its folder, or from the file in it.

use crate::model::{SCHEMA, Study};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file's name in a study's folder.
const NAME: &str = "study.json";
/// Larger than any study; keeps a mistaken argument (a disk image) from filling the memory.
const LARGEST_FILE_BYTES: u64 = 256 << 20;

/// Why a study could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is no JSON, or JSON that ends early.
    #[error("{} is not a study: {source}; a study is written by 'swtch ai run'", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What the parser found and where (line and column).
        source: serde_json::Error,
    },
    /// The file is JSON of another kind or version.
    #[error("{} has the schema '{found}', not '{SCHEMA}'; it was written by another version of swtch, or is something else", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The schema it names.
        found: String,
    },
    /// The file names the right schema and breaks it.
    #[error("{} is damaged: {source}; run the study again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong, and where.
        source: serde_json::Error,
    },
}

/// Whether a path is a study: a folder with `study.json` in it, or that file.
pub fn is_study(path: &Path) -> bool {
    path.join(NAME).is_file() || path.file_name().is_some_and(|name| name == NAME)
}

/// Reads a study from its folder or its file.
///
/// # Errors
/// When it cannot be read, or is not a study of this version.
pub fn read(path: &Path) -> Result<Study, FileError> {
    let path = if path.is_dir() { path.join(NAME) } else { path.to_owned() };
    let fail = |source| FileError::Read { path: path.clone(), source };
    let length = fs::metadata(&path).map_err(fail)?.len();
    if length > LARGEST_FILE_BYTES {
        return Err(fail(io::Error::other(format!("{length} bytes are more than any study has"))));
    }
    let text = fs::read(&path).map_err(fail)?;
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|source| FileError::NotJson { path: path.clone(), source })?;
    let found = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or("none");
    if found != SCHEMA {
        return Err(FileError::Foreign { path, found: found.to_owned() });
    }
    // From the text again, not from the value: the error then has its line and column.
    serde_json::from_slice(&text).map_err(|source| FileError::Damaged { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Study, FileError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), text).unwrap();
        assert!(is_study(folder.path()) && is_study(&folder.path().join(NAME)));
        read(folder.path())
    }

    #[test]
    fn a_study_is_read_whole() {
        let study = read_text(include_str!("../../../fixtures/studies/cloud/study.json")).unwrap();
        assert!(!study.runs.is_empty() && !study.summaries.is_empty());
        assert!(study.host.cpus.iter().any(|cpu| cpu.online));
    }

    #[test]
    fn what_is_none_says_why() {
        assert!(matches!(read(Path::new("/no/such/folder")), Err(FileError::Read { .. })));
        assert!(matches!(read_text("{"), Err(FileError::NotJson { .. })));
        assert!(matches!(read_text(r#"{"schema":"swtch/profile/1"}"#), Err(FileError::Foreign { .. })));
        let error = read_text(r#"{"schema":"swtch/study/1"}"#).unwrap_err();
        assert!(
            matches!(error, FileError::Damaged { .. }) && error.to_string().contains("line 1"),
            "{error}"
        );
        assert!(!is_study(Path::new("/tmp")));
    }
}
