//! Makes one table of all parts: the same bytes as `swtch simulate --sweep` on one machine.

use crate::error::{Error, reading};
use crate::parts;
use crate::range::Range;
use crate::state::Opened;
use std::fs::File;
use std::io;
use std::path::Path;
use swtch_columns::GROUP_ROWS;
use swtch_sim::sweep::{IDENTITY, RunRow, describe_failure, write_table};

/// What was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Runs in the table.
    pub runs: u64,
    /// What failed, a line each, the first ones.
    pub failures: Vec<String>,
    /// How many failed.
    pub failed: u64,
}

/// How many failures are described.
const DESCRIBED: usize = 10;

/// Writes the table. With `so_far`, runs may be missing.
///
/// # Errors
/// When runs are missing, something else is at the table's place, or something cannot be read or written.
pub fn merge(opened: &Opened, out: &Path, so_far: bool) -> Result<Merged, Error> {
    let (manifest, state) = (&opened.manifest, opened.state()?);
    let done = state.done.len();
    if done < manifest.runs && !so_far {
        return Err(Error::Worker(format!(
            "{} of {} runs are missing; see swtch sweep status {}",
            manifest.runs - done,
            manifest.runs,
            opened.directory.display()
        )));
    }
    let incomplete = format!("incomplete {}", manifest.identity);
    let whole = opened.manifest.prepare(&opened.directory)?.identity((1, 1));
    check_place(out, &[&whole, &incomplete])?;
    let identity = if done == manifest.runs { &whole } else { &incomplete };
    let mut rows = Rows { opened, parts: state.parts.into_iter(), next: 0, kept: Vec::new(), failure: None };
    let mut merged = Merged { runs: 0, failures: Vec::new(), failed: 0 };
    let written = write_table(out, (IDENTITY, identity), &mut || {
        let group = rows.group()?;
        for row in group.iter().flatten() {
            merged.runs += 1;
            if let Some(line) = describe_failure(row) {
                merged.failed += 1;
                merged.failures.extend((merged.failures.len() < DESCRIBED).then_some(line));
            }
        }
        Ok(group)
    });
    if let Some(failure) = rows.failure {
        return Err(failure);
    }
    written?;
    if done == manifest.runs {
        parts::clean(&opened.directory);
    }
    Ok(merged)
}

/// Only a table of this sweep is replaced.
fn check_place(out: &Path, allowed: &[&str]) -> Result<(), Error> {
    let file = match File::open(out) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(reading(out)(error)),
    };
    let refuse = |what: &str| {
        Err(Error::Wrong(format!(
            "{} is {what}; delete it or choose another place for the table",
            out.display()
        )))
    };
    match swtch_columns::note(file, IDENTITY) {
        Some(found) if allowed.contains(&found.as_str()) => Ok(()),
        Some(_) => refuse("the table of another sweep"),
        None => refuse("not a table of a sweep"),
    }
}

/// The rows of all parts in the order of their runs, each once, however the parts overlap.
struct Rows<'a> {
    opened: &'a Opened,
    parts: std::vec::IntoIter<Range>,
    /// No earlier run is wanted.
    next: u64,
    kept: Vec<RunRow>,
    /// Why a part could not be read.
    failure: Option<Error>,
}

impl Rows<'_> {
    fn group(&mut self) -> io::Result<Option<Vec<RunRow>>> {
        while self.kept.len() < GROUP_ROWS {
            let Some(part) = self.parts.next() else { break };
            if part.last < self.next {
                continue;
            }
            match parts::rows(&self.opened.directory, part, &self.opened.manifest.identity) {
                Ok(rows) => self.kept.extend(rows.into_iter().filter(|row| row.run >= self.next)),
                Err(error) => {
                    self.failure = Some(error);
                    return Err(io::Error::other("a part cannot be read"));
                }
            }
            self.next = part.last + 1;
        }
        let rest = self.kept.split_off(self.kept.len().min(GROUP_ROWS));
        let group = std::mem::replace(&mut self.kept, rest);
        Ok((!group.is_empty()).then_some(group))
    }
}
