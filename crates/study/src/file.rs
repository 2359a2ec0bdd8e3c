//! Reads a study from its folder, or from the file in it.

use crate::model::{SCHEMA, Study};
use std::path::Path;
use swtch_document::{Document, Kind, ReadError};

/// The file's name in a study's folder.
const NAME: &str = "study.json";

impl Document for Study {
    const KIND: &'static Kind =
        &Kind { schema: SCHEMA, name: "a study", written_by: "'swtch ai run'", again: "run the study again" };
}

/// Whether a path is a study: a folder with `study.json` in it, or that file.
pub fn is_study(path: &Path) -> bool {
    path.join(NAME).is_file() || path.file_name().is_some_and(|name| name == NAME)
}

/// Reads a study from its folder or its file.
///
/// # Errors
/// When it cannot be read, or is not a study of this version.
pub fn read(path: &Path) -> Result<Study, ReadError> {
    if path.is_dir() { swtch_document::read(&path.join(NAME)) } else { swtch_document::read(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read_text(text: &str) -> Result<Study, ReadError> {
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
        assert!(matches!(read(Path::new("/no/such/folder")), Err(ReadError::Read { .. })));
        assert!(matches!(read_text("{"), Err(ReadError::NotJson { .. })));
        assert!(matches!(read_text(r#"{"schema":"swtch/profile/1"}"#), Err(ReadError::Foreign { .. })));
        let error = read_text(r#"{"schema":"swtch/study/1"}"#).unwrap_err();
        assert!(
            matches!(error, ReadError::Damaged { .. }) && error.to_string().contains("line 1"),
            "{error}"
        );
        assert!(!is_study(Path::new("/tmp")));
    }
}
