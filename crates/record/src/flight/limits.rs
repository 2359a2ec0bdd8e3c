//! How many Traces are written, and when a condition asks for one.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Limits of what a flight recorder writes.
#[derive(Clone, Copy, Debug)]
pub struct DumpLimits {
    /// Traces for a condition in `per`, at most.
    pub most: usize,
    /// The time of that.
    pub per: Duration,
    /// Bytes of all Traces in the directory, at most.
    pub bytes: u64,
}

/// Why a Trace was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suppression {
    /// As many as are allowed were written.
    Rate,
    /// The directory is full.
    Bytes,
    /// Nothing was kept yet.
    Empty,
    /// It could not be written.
    Failed,
}

impl Suppression {
    pub(super) const ALL: [Self; 4] = [Self::Rate, Self::Bytes, Self::Empty, Self::Failed];

    /// Its word, for labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Empty => "empty",
            Self::Failed => "failed",
        }
    }
}

/// When Traces for a condition were written, ns.
#[derive(Debug, Default)]
pub(super) struct RateLimit(VecDeque<u64>);

impl RateLimit {
    /// Whether one more is allowed now. It counts then.
    pub(super) fn admits(&mut self, limits: &DumpLimits, now_ns: u64) -> bool {
        let per_ns = limits.per.as_nanos() as u64;
        self.0.retain(|written_ns| now_ns.saturating_sub(*written_ns) < per_ns);
        let admitted = self.0.len() < limits.most;
        if admitted {
            self.0.push_back(now_ns);
        }
        admitted
    }
}

/// How long a condition holds before a message says so, ns.
pub(super) const STILL_NS: u64 = 5_000_000_000;

/// What a condition asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Nothing,
    /// It began to hold.
    ForTrace,
    /// It has held for [`STILL_NS`]. This comes once.
    Still,
}

/// A condition asks when it begins to hold: one that always holds asks once.
#[derive(Debug, Default)]
pub(super) struct Edge {
    holds_since_ns: Option<u64>,
    complained: bool,
}

impl Edge {
    /// Takes whether it holds now.
    pub(super) fn step(&mut self, holds: bool, now_ns: u64) -> Asks {
        match self.holds_since_ns {
            _ if !holds => self.holds_since_ns = None,
            None => {
                self.holds_since_ns = Some(now_ns);
                return Asks::ForTrace;
            }
            Some(since_ns) if now_ns - since_ns >= STILL_NS && !self.complained => {
                self.complained = true;
                return Asks::Still;
            }
            Some(_) => {}
        }
        Asks::Nothing
    }
}

/// Bytes of the Traces in a directory.
pub(super) fn bytes_of_traces(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "swtch") {
            let files = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            bytes += files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum::<u64>();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_always_holds_asks_once_and_one_that_flaps_is_limited() {
        let mut edge = Edge::default();
        let asked: Vec<Asks> = (0..1000).map(|second| edge.step(true, second * 1_000_000_000)).collect();
        assert_eq!((asked[0], asked[5]), (Asks::ForTrace, Asks::Still));
        assert_eq!(asked.iter().filter(|asks| **asks != Asks::Nothing).count(), 2);
        let limits = DumpLimits { most: 4, per: Duration::from_nanos(3600), bytes: 0 };
        let (mut edge, mut rate) = (Edge::default(), RateLimit::default());
        let written = |now_ns: &u64| {
            edge.step(now_ns.is_multiple_of(2), *now_ns) == Asks::ForTrace && rate.admits(&limits, *now_ns)
        };
        let written: Vec<u64> = (0..7200).filter(written).collect();
        assert_eq!(written, [0, 2, 4, 6, 3600, 3602, 3604, 3606]);
    }

    #[test]
    fn only_traces_count() {
        let place = tempfile::tempdir().unwrap();
        for (folder, bytes) in [("a.swtch", 10), ("b.swtch", 7), ("other", 100)] {
            fs::create_dir(place.path().join(folder)).unwrap();
            fs::write(place.path().join(folder).join("table"), vec![0; bytes]).unwrap();
        }
        assert_eq!(bytes_of_traces(place.path()).unwrap(), 17);
        assert!(bytes_of_traces(&place.path().join("none")).is_err());
    }
}
