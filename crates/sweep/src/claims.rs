//! Claims: which process works on which runs. A file each, made with `O_CREAT|O_EXCL`, which also network file systems do atomically.
//!
//! `claims/FIRST-LAST.ATTEMPT` is a claim. Its holder changes the file's time as a sign of life, and removes the file when it leaves the runs
//! alone, done or not. `FIRST-LAST.ATTEMPT.died` says that the holder of this attempt died, and how: written once by whichever process
//! finds out. The next attempt has the next number, so that of two processes which want to take over only one can.

use crate::owner::Owner;
use crate::range::Range;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The directory's name.
pub(crate) const FOLDER: &str = "claims";
const DIED: &str = "died";

/// What has happened to some runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// The latest attempt that left a trace.
    pub(crate) latest: u32,
    /// Whether it is claimed: its holder has neither left nor is known to have died.
    pub(crate) held: bool,
    /// How many holders died.
    pub(crate) deaths: u32,
}

/// All claims of a directory, from the names of its files alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims(BTreeMap<Range, Attempts>);

impl Claims {
    pub(crate) fn list(directory: &Path) -> io::Result<Self> {
        let mut found: BTreeMap<Range, (u32, BTreeMap<u32, bool>)> = BTreeMap::new();
        for entry in fs::read_dir(directory.join(FOLDER))? {
            let name = entry?.file_name();
            let Some((range, attempt, died)) = name.to_str().and_then(parse) else { continue };
            let (latest, dead) = found.entry(range).or_default();
            *latest = attempt.max(*latest);
            *dead.entry(attempt).or_default() |= died;
        }
        let attempts = |(latest, dead): (u32, BTreeMap<u32, bool>)| Attempts {
            latest,
            held: dead.get(&latest) == Some(&false),
            deaths: dead.values().filter(|died| **died).count() as u32,
        };
        Ok(Self(found.into_iter().map(|(range, found)| (range, attempts(found))).collect()))
    }

    pub(crate) fn of(&self, range: Range) -> Attempts {
        self.0.get(&range).copied().unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Range, Attempts)> {
        self.0.iter().map(|(range, attempts)| (*range, *attempts))
    }
}

fn parse(name: &str) -> Option<(Range, u32, bool)> {
    let mut words = name.split('.');
    let range = Range::parse(words.next()?)?;
    let attempt = words.next()?.parse().ok()?;
    let died = match words.next() {
        None => false,
        Some(DIED) => true,
        Some(_) => return None,
    };
    words.next().is_none().then_some((range, attempt, died))
}

/// Where a claim is.
pub(crate) fn path(directory: &Path, range: Range, attempt: u32) -> PathBuf {
    directory.join(FOLDER).join(format!("{}.{attempt}", range.name()))
}

/// The file which says that the holder of a claim died.
fn death_path(directory: &Path, range: Range, attempt: u32) -> PathBuf {
    directory.join(FOLDER).join(format!("{}.{attempt}.{DIED}", range.name()))
}

/// A claim that this process holds.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) range: Range,
    pub(crate) attempt: u32,
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

impl Claim {
    /// Claims runs; `None` when another process was quicker.
    pub(crate) fn take(
        directory: &Path,
        range: Range,
        attempt: u32,
        own: &Owner,
    ) -> io::Result<Option<Self>> {
        let path = path(directory, range, attempt);
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(error),
        };
        let written = serde_json::to_string(own)
            .map_err(io::Error::other)
            .and_then(|text| file.write_all(text.as_bytes()));
        if let Err(error) = written {
            // On a full disk the empty file is there: others would have to wait for its lease.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(Some(Self { range, attempt, path, file }))
    }

    /// Leaves the runs to others.
    pub(crate) fn release(self) {
        // Without it the others wait until the lease is over; nothing is lost.
        let _ = fs::remove_file(&self.path);
    }
}

/// The process that holds a claim; `None` when the claim is gone, or not yet written.
pub(crate) fn owner(directory: &Path, range: Range, attempt: u32) -> Option<Owner> {
    serde_json::from_str(&fs::read_to_string(path(directory, range, attempt)).ok()?).ok()
}

/// Records that the holder of a claim died, unless that is known already.
pub(crate) fn record_death(directory: &Path, range: Range, attempt: u32, why: &str) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(death_path(directory, range, attempt)) {
        Ok(mut file) => file.write_all(why.as_bytes())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // Its number stays taken by the record.
    let _ = fs::remove_file(path(directory, range, attempt));
    Ok(())
}

/// How the holder of the latest attempt that is known to have died did.
pub(crate) fn cause_of_death(directory: &Path, range: Range, latest: u32) -> Option<String> {
    (1..=latest)
        .rev()
        .find_map(|attempt| fs::read_to_string(death_path(directory, range, attempt)).ok())
        .filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    const RANGE: Range = Range { first: 3, last: 9 };

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(FOLDER)).unwrap();
        folder
    }

    #[test]
    fn of_many_that_claim_one_gets_it() {
        let folder = folder();
        let own = Owner::own();
        let taken = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    if Claim::take(folder.path(), RANGE, 1, &own).unwrap().is_some() {
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(taken.into_inner(), 1);
        assert_eq!(owner(folder.path(), RANGE, 1), Some(own));
        let attempts = Claims::list(folder.path()).unwrap().of(RANGE);
        assert_eq!(attempts, Attempts { latest: 1, held: true, deaths: 0 });
    }

    #[test]
    fn a_death_stays_known_and_a_claim_that_was_left_does_not() {
        let folder = folder();
        let directory = folder.path();
        let take = |attempt| Claim::take(directory, RANGE, attempt, &Owner::own()).unwrap();
        let of = || Claims::list(directory).unwrap().of(RANGE);
        take(1).unwrap().release();
        assert_eq!(of(), Attempts::default());
        let hung = take(1).unwrap();
        record_death(directory, RANGE, 1, "signal 9").unwrap();
        record_death(directory, RANGE, 1, "its lease lapsed").unwrap();
        assert_eq!(of(), Attempts { latest: 1, held: false, deaths: 1 });
        let next = take(2).unwrap();
        assert_eq!(of(), Attempts { latest: 2, held: true, deaths: 1 });
        // A process that was believed dead and was not does not take away the claim of the one after it.
        hung.release();
        assert_eq!(of(), Attempts { latest: 2, held: true, deaths: 1 });
        next.release();
        assert_eq!(of(), Attempts { latest: 1, held: false, deaths: 1 });
        assert_eq!(cause_of_death(directory, RANGE, 1).as_deref(), Some("signal 9"));
        fs::write(directory.join(FOLDER).join("notes.txt"), "x").unwrap();
        assert_eq!(Claims::list(directory).unwrap().iter().count(), 1);
    }
}
