//! Reads responses and studies of tiers, from files or from the directory that `swtch faas tiers` writes.

use crate::checks::check;
use crate::figures;
use crate::response::{self, Response};
use crate::tiers::{self, Tiers};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use swtch_units::input_error::{DocumentKind, ReadError, Refused};

/// The file's name in a directory of `swtch faas tiers`.
const NAME: &str = "tiers.json";
/// The journal next to it, by which an interrupted study goes on.
const JOURNAL: &str = "journal.jsonl";
/// What a handler answers when it could not measure.
const ERROR_SCHEMA: &str = "swtch/faas-error/1";

/// Either document.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// What a handler measured in one invocation.
    Response(Box<Response>),
    /// A function under many tiers.
    Tiers(Box<Tiers>),
}

impl Document {
    /// The study of tiers that it is.
    pub fn tiers(&self) -> Option<&Tiers> {
        match self {
            Self::Tiers(tiers) => Some(tiers),
            Self::Response(_) => None,
        }
    }

    /// The response that it is.
    pub fn response(&self) -> Option<&Response> {
        match self {
            Self::Response(response) => Some(response),
            Self::Tiers(_) => None,
        }
    }

    /// Whether it ran where functions are deployed.
    pub fn deployed(&self) -> bool {
        match self {
            Self::Response(response) => response.deployed(),
            Self::Tiers(tiers) => tiers.function.deployed,
        }
    }
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read, or is none of this version.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The study was interrupted before it was written for the first time.
    #[error("{} holds a study that has only begun; go on with 'swtch faas tiers --resume {}'", folder.display(), folder.display())]
    Unfinished {
        /// Its directory.
        folder: PathBuf,
    },
    /// A figure in it cannot be true.
    #[error("{} cannot be true: {refused}; please report this defect with the directory that it is in", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// The figures.
        refused: Refused,
    },
    /// The function answered that it could not measure.
    #[error("{} is the answer of a function that failed: {error}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the function says.
        error: String,
    },
}

impl swtch_units::input_error::Document for Response {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: response::SCHEMA,
        name: "a function's response",
        written_by: "a handler of swtch (functions/)",
        again: "invoke the function again",
    };
}

/// An answer of an older handler, which has its figures.
#[derive(Deserialize)]
#[serde(transparent)]
struct OldResponse(Response);

impl swtch_units::input_error::Document for OldResponse {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: response::OLD_SCHEMA,
        ..*<Response as swtch_units::input_error::Document>::KIND
    };
}

/// A study of version 1.
#[derive(Deserialize)]
#[serde(transparent)]
struct OldTiers(Tiers);

/// A study of version 2.
#[derive(Deserialize)]
#[serde(transparent)]
struct PreviousTiers(Tiers);

impl swtch_units::input_error::Document for OldTiers {
    const KIND: &'static DocumentKind =
        &DocumentKind { schema: tiers::OLD_SCHEMA, ..*<Tiers as swtch_units::input_error::Document>::KIND };
}

impl swtch_units::input_error::Document for PreviousTiers {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: tiers::PREVIOUS_SCHEMA,
        ..*<Tiers as swtch_units::input_error::Document>::KIND
    };
}

impl swtch_units::input_error::Document for Tiers {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: tiers::SCHEMA,
        name: "a study of tiers",
        written_by: "'swtch faas tiers'",
        again: "'swtch faas tiers --resume DIRECTORY' writes it again from its journal",
    };
}

/// The studies in a directory that `swtch faas tiers` wrote for several languages, one directory each; else the path itself.
pub fn studies_in(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    if !path.join(NAME).is_file() && path.join(JOURNAL).is_file() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path()).filter(|folder| folder.join(NAME).is_file()));
        found.sort();
    }
    if found.is_empty() { vec![path.to_owned()] } else { found }
}

/// Whether a path is one of these documents. It may be a directory of `swtch faas tiers`, finished or not, the file in it, or a file that
/// names one of the schemas.
pub fn is_faas(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(NAME).is_file() || path.join(JOURNAL).is_file();
    }
    if path.file_name().is_some_and(|name| name == NAME) {
        return true;
    }
    // A pipe could be read only once.
    path.is_file()
        && swtch_units::input_error::contents(path)
            .ok()
            .and_then(|contents| swtch_units::input_error::schema(&contents))
            .is_some_and(|schema| schema.starts_with("swtch/faas"))
}

/// Reads a document from its file, or from the directory it is in.
///
/// # Errors
/// When it cannot be read, is not a document of this version or one before, or has a figure that cannot be true. Also when it holds a
/// failure, or is not finished.
pub fn read(path: &Path) -> Result<Document, FileError> {
    let in_folder = path.join(NAME);
    if path.is_dir() && !in_folder.exists() && path.join(JOURNAL).exists() {
        return Err(FileError::Unfinished { folder: path.to_owned() });
    }
    let path = if path.is_dir() { &in_folder } else { path };
    let contents = swtch_units::input_error::contents(path)?;
    let schema = swtch_units::input_error::schema(&contents).unwrap_or_default();
    if schema == ERROR_SCHEMA {
        let error = serde_json::from_slice::<Complaint>(&contents).map(|complaint| complaint.error);
        let error = error.unwrap_or_else(|_| "it does not say why".to_owned());
        return Err(FileError::Failed { path: path.to_owned(), error });
    }
    if schema == tiers::OLD_SCHEMA {
        let OldTiers(old) = swtch_units::input_error::parse(&contents, path)?;
        return Ok(Document::Tiers(Box::new(old.without_comparisons())));
    }
    if schema.starts_with("swtch/faas-tiers/") || path.file_name().is_some_and(|name| name == NAME) {
        let tiers = if schema == tiers::PREVIOUS_SCHEMA {
            swtch_units::input_error::parse::<PreviousTiers>(&contents, path)?.0
        } else {
            swtch_units::input_error::parse(&contents, path)?
        };
        check(&tiers).map_err(|refused| FileError::Impossible { path: path.to_owned(), refused })?;
        return Ok(Document::Tiers(Box::new(tiers)));
    }
    if schema == response::OLD_SCHEMA {
        let OldResponse(old) = swtch_units::input_error::parse(&contents, path)?;
        return Ok(Document::Response(Box::new(old)));
    }
    let mut found: Response = swtch_units::input_error::parse(&contents, path)?;
    figures::add(&mut found);
    Ok(Document::Response(Box::new(found)))
}

/// `swtch/faas-error/1`.
#[derive(Deserialize)]
struct Complaint {
    error: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What reading a file of this name and text says.
    fn complaint(name: &str, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        assert!(is_faas(&path), "{text}");
        let message = read(&path).unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    }

    #[test]
    fn what_is_none_says_which_and_why() {
        let cut = complaint("python.json", "{\"schema\":\"swtch/faas/2\",\n\"created_at\"");
        assert!(
            cut.contains("python.json is not a function's response: EOF") && cut.contains("line 2"),
            "{cut}"
        );
        let newer = complaint("python.json", "{\"schema\":\"swtch/faas/3\"}");
        assert!(
            newer.contains("'swtch/faas/3', not 'swtch/faas/2'; it was written by another version"),
            "{newer}"
        );
        let damaged = complaint("other.json", "{\"schema\":\"swtch/faas-tiers/2\"}");
        assert!(damaged.contains("missing field") && damaged.contains("--resume"), "{damaged}");
        let foreign = complaint(NAME, "{\"schema\":\"swtch/study/1\"}");
        assert!(
            foreign.contains("not 'swtch/faas-tiers/3'; a study of tiers is written by 'swtch faas tiers'")
        );
        let failed =
            complaint("go.json", "{\"schema\":\"swtch/faas-error/1\",\"error\":\"no method 'pip'\"}");
        assert!(
            failed.contains("go.json is the answer of a function that failed: no method 'pip'"),
            "{failed}"
        );
    }

    /// The study as version 2 had it.
    fn previous(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                for (new, old) in [("ci_low", "low"), ("ci_high", "high"), ("mean_ci_low", "mean_low")] {
                    if let Some(figure) = fields.remove(new) {
                        fields.insert(old.to_owned(), figure);
                    }
                }
                fields.remove("request_usd");
                fields.values_mut().for_each(previous);
            }
            serde_json::Value::Array(rows) => rows.iter_mut().for_each(previous),
            _ => {}
        }
    }

    #[test]
    fn a_study_of_the_version_before_says_the_same() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/faas/gcf/tiers.json");
        let Document::Tiers(new) = read(&fixture).unwrap() else { panic!("a study") };
        let mut study: serde_json::Value = serde_json::from_slice(&fs::read(&fixture).unwrap()).unwrap();
        previous(&mut study);
        study["schema"] = tiers::PREVIOUS_SCHEMA.into();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), study.to_string()).unwrap();
        let Document::Tiers(old) = read(folder.path()).unwrap() else { panic!("a study") };
        for (row, before) in new.rows.iter().zip(&old.rows) {
            assert_eq!((row.latency_ns, row.cost_usd), (before.latency_ns, before.cost_usd));
            assert!(row.request_usd.is_some() == row.cost_usd.is_some() && before.request_usd.is_none());
        }
        assert_eq!(old.rows.len(), new.rows.len());
    }

    #[test]
    fn a_folder_is_known_by_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_faas(folder.path()));
        assert!(matches!(read(folder.path()), Err(FileError::Read(ReadError::Read { .. }))));
        fs::write(folder.path().join(JOURNAL), "").unwrap();
        assert!(is_faas(folder.path()));
        assert!(matches!(read(folder.path()), Err(FileError::Unfinished { .. })));
        fs::create_dir(folder.path().join("go")).unwrap();
        assert_eq!(studies_in(folder.path()), [folder.path()]);
        fs::write(folder.path().join("go").join(NAME), "{").unwrap();
        assert_eq!(studies_in(folder.path()), [folder.path().join("go")]);
        fs::write(folder.path().join(NAME), "{").unwrap();
        assert_eq!(studies_in(folder.path()), [folder.path()]);
        assert!(read(folder.path()).unwrap_err().to_string().contains("tiers.json is not a study of tiers"));
        fs::write(folder.path().join("profile.json"), "{\"schema\":\"swtch/profile/2\"}").unwrap();
        assert!(!is_faas(&folder.path().join("profile.json")));
    }
}
