//! `manifest.json`: what a directory's sweep is.

use crate::error::{Error, reading};
use crate::range::Range;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Its schema. The table of a sweep is `swtch/sweep/1`.
pub(crate) const SCHEMA: &str = "swtch/sweep-plan/1";
/// The file's name.
pub(crate) const FILE: &str = "manifest.json";

/// What a directory's sweep is. It never changes once it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    schema: String,
    /// The version of swtch that planned it; workers have the same.
    pub version: String,
    /// The hash of everything that decides about the rows: the sweep and the contents of its files.
    pub identity: String,
    /// Runs.
    pub runs: u64,
    /// The sweep's file, from the directory or absolute.
    pub grid: PathBuf,
    /// The Profile, likewise, where the sweep itself names none.
    pub profile: Option<PathBuf>,
    /// The files that the sweep names, by their paths as written, with the hashes of their contents.
    pub files: BTreeMap<String, String>,
    /// After how many seconds without a sign of life a claim lapses.
    pub lease_s: f64,
    /// What all runs will cost by the prediction, CPU seconds.
    pub predicted_s: f64,
    /// The shards, in the order of their runs.
    pub shards: Vec<Shard>,
}

/// Runs that one worker takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// The first run.
    pub first: u64,
    /// The last run.
    pub last: u64,
    /// What it will cost by the prediction, CPU seconds.
    pub predicted_s: f64,
}

impl Shard {
    pub(crate) fn range(self) -> Range {
        Range { first: self.first, last: self.last }
    }
}

impl Manifest {
    #[allow(clippy::too_many_arguments, reason = "a field each")]
    pub(crate) fn new(
        identity: String,
        runs: u64,
        grid: PathBuf,
        profile: Option<PathBuf>,
        files: BTreeMap<String, String>,
        lease_s: f64,
        shards: Vec<Shard>,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let predicted_s = shards.iter().map(|shard| shard.predicted_s).sum();
        let schema = SCHEMA.to_owned();
        Self { schema, version, identity, runs, grid, profile, files, lease_s, predicted_s, shards }
    }

    /// Reads that of a directory; `None` where there is none.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, Error> {
        let path = directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound) => return Ok(None),
            Err(error) => return Err(reading(&path)(error)),
        };
        let refuse = |why: String| {
            Error::Wrong(format!("{} {why}; plan the sweep into a new directory", path.display()))
        };
        let found: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| refuse(format!("is not a manifest: {error}")))?;
        let schema = found.get("schema").and_then(serde_json::Value::as_str).unwrap_or("none");
        if schema != SCHEMA {
            return Err(refuse(format!("has the schema {schema}, not {SCHEMA}")));
        }
        let manifest: Self =
            serde_json::from_value(found).map_err(|error| refuse(format!("is not a manifest: {error}")))?;
        manifest.check().map_err(refuse)?;
        Ok(Some(manifest))
    }

    /// Shards make up all runs, in order.
    fn check(&self) -> Result<(), String> {
        let mut next = 0;
        for (number, shard) in self.shards.iter().enumerate() {
            if shard.first != next || shard.last < shard.first {
                return Err(format!(
                    "has shard {number} from run {} to {}, expected from {next}",
                    shard.first, shard.last
                ));
            }
            next = shard.last + 1;
        }
        if next != self.runs {
            return Err(format!("has shards of {next} runs, expected {}", self.runs));
        }
        if !(self.lease_s.is_finite() && self.lease_s > 0.0) {
            return Err(format!("has a lease of {} s, expected more than none", self.lease_s));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_cannot_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), None);
        let shards = vec![
            Shard { first: 0, last: 4, predicted_s: 1.0 },
            Shard { first: 5, last: 5, predicted_s: 0.5 },
        ];
        let whole = Manifest::new("x".to_owned(), 6, "grid.toml".into(), None, BTreeMap::new(), 60.0, shards);
        let write = |manifest: &Manifest| {
            fs::write(folder.path().join(FILE), serde_json::to_string(manifest).unwrap()).unwrap();
        };
        write(&whole);
        assert_eq!(Manifest::read(folder.path()).unwrap().as_ref(), Some(&whole));
        assert_eq!(whole.predicted_s, 1.5);
        let mut gap = whole.clone();
        gap.shards[1].first = 6;
        let mut few = whole.clone();
        few.runs = 7;
        let mut other = whole.clone();
        other.schema = "swtch/sweep/1".to_owned();
        for (wrong, expected) in
            [(gap, "shard 1 from run 6"), (few, "of 6 runs, expected 7"), (other, "has the schema")]
        {
            write(&wrong);
            let problem = Manifest::read(folder.path()).unwrap_err();
            assert!(problem.is_wrong_usage() && problem.to_string().contains(expected), "{problem}");
        }
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(Manifest::read(folder.path()).unwrap_err().to_string().contains("is not a manifest"));
    }
}
