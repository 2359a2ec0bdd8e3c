//! What a file or directory is.

use std::path::{Path, PathBuf};
use swtch_faas::is_faas;
use swtch_study::is_study;

/// A directory without a document in it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} has none of swtch's documents: neither a Trace (header.json) nor a study (study.json, tiers.json); check the path",
    path.display()
)]
pub struct NoDocument {
    path: PathBuf,
}

/// What a file or directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// What a switch costs on a machine.
    Profile,
    /// What ran where and when.
    Trace,
    /// Workloads under many settings.
    Study,
    /// Functions.
    Faas,
}

impl FileKind {
    /// A Trace is a directory called `NAME.swtch`, or any with a header in it; a file that is nothing else is read as a Profile.
    ///
    /// # Errors
    /// When a directory has no document in it.
    pub fn of(path: &Path) -> Result<Self, NoDocument> {
        let is_named = path.extension().is_some_and(|extension| extension == "swtch");
        match path {
            path if is_named || path.join("header.json").is_file() => Ok(Self::Trace),
            path if is_study(path) => Ok(Self::Study),
            path if is_faas(path) => Ok(Self::Faas),
            path if path.is_dir() => Err(NoDocument { path: path.to_owned() }),
            _ => Ok(Self::Profile),
        }
    }

    /// The kinds among some files, each once.
    ///
    /// # Errors
    /// When a directory has no document in it.
    pub fn among<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<Self>, NoDocument> {
        let mut kinds = Vec::new();
        for path in paths {
            let kind = Self::of(path)?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(kinds)
    }

    /// Several of it, for messages.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Profile => "Profiles",
            Self::Trace => "Traces",
            Self::Study => "studies",
            Self::Faas => "measurements of functions",
        }
    }

    /// Several kinds, for messages.
    pub fn names(kinds: &[Self]) -> String {
        kinds.iter().map(|kind| kind.plural()).collect::<Vec<_>>().join(" and ")
    }
}
