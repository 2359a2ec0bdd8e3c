//! Parts: the rows of consecutive runs, a Parquet file each, written beside its place, flushed to the disk and renamed.

use crate::error::{Error, reading};
use crate::range::Range;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use swtch_columns::TableFile;
use swtch_sim::sweep::{RunRow, write_table};

/// The directory's name.
pub(crate) const FOLDER: &str = "parts";
/// Under which a part says what it is.
const KEY: &str = "swtch.sweep.part";
const SUFFIX: &str = ".parquet";

/// What a part says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    /// The identity of the sweep.
    pub(crate) sweep: String,
    /// How many of its runs failed.
    pub(crate) failed: u64,
    /// What it cost.
    pub(crate) cpu_s: f64,
    /// The machine that made it.
    pub(crate) host: String,
}

/// The runs that each part has, in order.
pub(crate) fn list(directory: &Path) -> io::Result<Vec<Range>> {
    let mut ranges = Vec::new();
    for entry in fs::read_dir(directory.join(FOLDER))? {
        let name = entry?.file_name();
        ranges.extend(name.to_str().and_then(|name| name.strip_suffix(SUFFIX)).and_then(Range::parse));
    }
    ranges.sort_unstable();
    Ok(ranges)
}

pub(crate) fn path(directory: &Path, range: Range) -> PathBuf {
    directory.join(FOLDER).join(range.name() + SUFFIX)
}

/// Writes the rows of a range, which is also on the disk after this.
pub(crate) fn write(
    directory: &Path,
    range: Range,
    rows: Vec<RunRow>,
    receipt: &Receipt,
) -> Result<(), Error> {
    debug_assert_eq!(rows.len() as u64, range.len());
    let text = serde_json::to_string(receipt).map_err(|error| Error::Worker(error.to_string()))?;
    let mut rows = Some(rows);
    write_table(&path(directory, range), (KEY, &text), &mut || Ok(rows.take()))?;
    let folder = directory.join(FOLDER);
    // A rename is on the disk once the directory is. Some file systems cannot flush one, and do so themselves.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// What a part says about itself.
pub(crate) fn receipt(directory: &Path, range: Range, sweep: &str) -> Result<Receipt, Error> {
    let path = path(directory, range);
    let file = File::open(&path).map_err(reading(&path))?;
    let found = swtch_columns::note(file, KEY).and_then(|text| serde_json::from_str::<Receipt>(&text).ok());
    match found {
        Some(receipt) if receipt.sweep == sweep => Ok(receipt),
        Some(_) => Err(Error::Wrong(format!("{} is a part of another sweep; delete it", path.display()))),
        None => Err(Error::Wrong(format!(
            "{} is damaged or not a part of a sweep; delete it, and its runs are made again",
            path.display()
        ))),
    }
}

/// The rows of a part.
pub(crate) fn rows(directory: &Path, range: Range, sweep: &str) -> Result<Vec<RunRow>, Error> {
    receipt(directory, range, sweep)?;
    let path = path(directory, range);
    let rows = TableFile::<RunRow>::open(&path)?.rows()?;
    let expected =
        rows.len() as u64 == range.len() && rows.iter().zip(range.first..).all(|(row, run)| row.run == run);
    if expected {
        Ok(rows)
    } else {
        Err(Error::Wrong(format!("{} has other runs than its name says; delete it", path.display())))
    }
}

/// Removes what processes that were killed in the middle of writing left behind.
pub(crate) fn clean(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory.join(FOLDER)) else { return };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(".swtch-")) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
