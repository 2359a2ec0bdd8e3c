//! What of a sweep is done, claimed and left, from the names of its files.

use crate::claims::{self, Attempts, Claims};
use crate::error::{Error, reading};
use crate::manifest::{FILE, Manifest};
use crate::parts;
use crate::range::{Range, RangeSet};
use std::path::{Path, PathBuf};

/// A shard is halved when this many of its workers died, and its halves likewise.
pub(crate) const DEATHS_TO_HALVE: u32 = 2;
/// A run alone is given up after this many.
pub(crate) const DEATHS_TO_GIVE_UP: u32 = 3;

/// A sweep's directory.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Where it is.
    pub directory: PathBuf,
    /// What it is.
    pub manifest: Manifest,
}

impl Opened {
    /// Opens a directory that has a plan.
    ///
    /// # Errors
    /// When it has none, or it cannot be read.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let Some(manifest) = Manifest::read(directory)? else {
            return Err(Error::Wrong(format!(
                "{} has no {FILE}; plan the sweep first: swtch sweep plan grid.toml {}",
                directory.display(),
                directory.display()
            )));
        };
        Ok(Self { directory: directory.to_owned(), manifest })
    }

    /// How many runs are done.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn done(&self) -> Result<u64, Error> {
        Ok(self.state()?.done.len())
    }

    /// What is done and claimed now.
    pub(crate) fn state(&self) -> Result<State, Error> {
        let folder = |name: &str| self.directory.join(name);
        // Claims first: a worker writes its part and then removes its claim, so that one of the two is seen.
        let claims = Claims::list(&self.directory).map_err(reading(&folder(claims::FOLDER)))?;
        let parts = parts::list(&self.directory).map_err(reading(&folder(parts::FOLDER)))?;
        Ok(State { claims, done: parts.iter().copied().collect(), parts })
    }
}

/// What is done and claimed.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) claims: Claims,
    pub(crate) parts: Vec<Range>,
    pub(crate) done: RangeSet,
}

/// Runs that one worker takes: a shard, or a part of one whose workers died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) range: Range,
    pub(crate) attempts: Attempts,
}

impl Unit {
    /// Whether its run is alone and kills its workers.
    pub(crate) fn is_given_up(&self) -> bool {
        self.range.len() == 1 && self.attempts.deaths >= DEATHS_TO_GIVE_UP
    }
}

impl State {
    /// What is left of a shard: the shard itself, or where its workers died, its halves, and so on.
    pub(crate) fn units(&self, shard: Range) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut stack = vec![shard];
        while let Some(range) = stack.pop() {
            if self.done.covers(range) {
                continue;
            }
            let attempts = self.claims.of(range);
            match range.halves() {
                Some([first, second]) if attempts.deaths >= DEATHS_TO_HALVE => stack.extend([second, first]),
                _ => units.push(Unit { range, attempts }),
            }
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owner::Owner;
    use std::fs;

    fn range(first: u64, last: u64) -> Range {
        Range { first, last }
    }

    #[test]
    fn a_shard_is_halved_until_the_run_that_kills_is_alone() {
        let folder = tempfile::tempdir().unwrap();
        for name in [claims::FOLDER, parts::FOLDER] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let poison = 11;
        let mut deaths = 0;
        let shard = range(0, 15);
        let mut done: Vec<Range> = Vec::new();
        // One worker after the other takes the first that is left, and dies where the run is among them.
        let given_up = loop {
            let claims = Claims::list(folder.path()).unwrap();
            let state = State { claims, parts: done.clone(), done: done.iter().copied().collect() };
            let unit = state.units(shard)[0];
            assert!(!unit.attempts.held);
            if unit.is_given_up() {
                break unit;
            }
            let attempt = unit.attempts.latest + 1;
            let claim =
                claims::Claim::take(folder.path(), unit.range, attempt, &Owner::own()).unwrap().unwrap();
            if (unit.range.first..=unit.range.last).contains(&poison) {
                deaths += 1;
                claims::record_death(folder.path(), unit.range, attempt, "signal 9").unwrap();
            } else {
                done.push(unit.range);
                claim.release();
            }
        };
        assert_eq!(given_up.range, range(poison, poison));
        // Two for 16, 8, 4 and 2 runs, three for the run alone.
        assert_eq!(deaths, 2 * 4 + 3);
        assert_eq!(done, [range(0, 7), range(8, 9), range(10, 10)]);
        assert_eq!(claims::cause_of_death(folder.path(), given_up.range, 3).as_deref(), Some("signal 9"));
    }
}
