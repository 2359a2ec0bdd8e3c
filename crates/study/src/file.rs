//! Reads a study from its directory, or from the file in it.

use crate::check::check;
use crate::model::{OLDER, SCHEMA, Study};
use std::path::{Path, PathBuf};
use swtch_topology::Unavailable;
use swtch_units::input_error::{Document, DocumentKind, ReadError, Refused};

/// The file's name in a study's directory.
const NAME: &str = "study.json";
/// Why an [`OLDER`] study lacks CPU times.
const WINDOWS: &str = "this study was written by an older swtch, which watched the workload and the others for different lengths of time, so that \
                       their CPU times together exceeded the CPUs'; run it again";
/// A further warning about an [`OLDER`] study.
const UNCORRECTED: &str = "advice of this study was made by an older swtch, without a correction for the number of comparisons; run it again";

impl Document for Study {
    const KIND: &'static DocumentKind = &DocumentKind {
        schema: SCHEMA,
        name: "a study",
        written_by: "'swtch ai run'",
        again: "run the study again",
    };
}

/// A study of the version before.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Older(Study);

impl Document for Older {
    const KIND: &'static DocumentKind = &DocumentKind { schema: OLDER, ..*Study::KIND };
}

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its figures contradict each other.
    #[error("{} cannot be true: {refused}; none of its figures is shown: run the study again, or report this with the file", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// The figures.
        refused: Refused,
    },
}

/// Whether a path is a study: a directory with `study.json` in it, or that file.
pub fn is_study(path: &Path) -> bool {
    path.join(NAME).is_file() || path.file_name().is_some_and(|name| name == NAME)
}

/// Reads a study from its directory or its file, and checks it ([`check`]).
///
/// # Errors
/// When it cannot be read, is not a study of this version or of the one before, or has figures that cannot be true.
pub fn read(path: &Path) -> Result<Study, StudyError> {
    let path = if path.is_dir() { path.join(NAME) } else { path.to_owned() };
    let contents = swtch_units::input_error::contents(&path)?;
    let study = if swtch_units::input_error::schema(&contents).as_deref() == Some(OLDER) {
        without_cpu_times(swtch_units::input_error::parse::<Older>(&contents, &path)?.0)
    } else {
        swtch_units::input_error::parse(&contents, &path)?
    };
    check(&study).finish().map_err(|refused| StudyError::Impossible { path, refused })?;
    Ok(study)
}

/// Takes the figures away that an older swtch got wrong. Marks of disturbed runs stay: they only warn.
fn without_cpu_times(mut study: Study) -> Study {
    for run in &mut study.runs {
        if run.cpu.take().is_some() {
            run.unavailable.push(Unavailable::new("cpu", WINDOWS));
        }
        if let Some(per_inference) = &mut run.per_inference {
            per_inference.cpu_ns = None;
        }
    }
    if !study.advice.is_empty() {
        study.unavailable.push(Unavailable::new("advice", UNCORRECTED));
    }
    study
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read_text(text: &str) -> Result<Study, StudyError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), text).unwrap();
        assert!(is_study(folder.path()) && is_study(&folder.path().join(NAME)));
        read(folder.path())
    }

    #[test]
    fn a_study_is_read_whole() {
        let study = read_text(include_str!("../fixtures/board.json")).unwrap();
        assert_eq!(study.schema, SCHEMA);
        assert!(!study.runs.is_empty() && !study.summaries.is_empty());
        assert!(study.host.cpus.iter().any(|cpu| cpu.online));
        assert!(study.runs.iter().all(|run| run.cpu.and_then(|cpu| cpu.capacity_ns()).is_some()));
    }

    #[test]
    fn an_older_study_is_read_without_its_cpu_times() {
        let study = read_text(include_str!("../fixtures/cloud.json")).unwrap();
        assert!(study.runs.iter().all(|run| run.cpu.is_none() && run.latency_ns.is_some()));
        assert!(study.runs.iter().any(|run| run.disturbed.is_some()));
        assert!(study.runs[0].unavailable.iter().any(|missing| missing.reason == WINDOWS));
        assert!(study.unavailable.iter().any(|missing| missing.reason == UNCORRECTED));
    }

    #[test]
    fn what_is_none_says_why() {
        let read_error = |text: &str| match read_text(text).unwrap_err() {
            StudyError::Read(error) => error,
            other => panic!("{other}"),
        };
        assert!(matches!(
            read(Path::new("/no/such/directory")),
            Err(StudyError::Read(ReadError::Read { .. }))
        ));
        assert!(matches!(read_error("{"), ReadError::NotJson { .. }));
        assert!(matches!(read_error(r#"{"schema":"swtch/profile/2"}"#), ReadError::Foreign { .. }));
        for schema in [SCHEMA, OLDER] {
            let error = read_error(&format!(r#"{{"schema":"{schema}"}}"#));
            assert!(
                matches!(error, ReadError::Damaged { .. }) && error.to_string().contains("line 1"),
                "{error}"
            );
        }
        assert!(!is_study(Path::new("/tmp")));
    }

    #[test]
    fn figures_that_contradict_each_other_are_refused_in_a_line() {
        let text = include_str!("../fixtures/board.json");
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["runs"][0]["switches"]["voluntary"] = 4_294_970_917_u64.into();
        let error = read_text(&value.to_string()).unwrap_err();
        let line = error.to_string();
        assert!(matches!(error, StudyError::Impossible { .. }) && line.lines().count() == 1, "{line}");
        assert!(line.contains("cannot be true") && line.contains("4294970917"), "{line}");
    }
}
