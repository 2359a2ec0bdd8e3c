//! Whether a claim still shows signs of life.
//!
//! The clocks of other machines, and that of the file server, may be wrong by any amount, so times are only compared for being the same.
//! A claim lapses when its file's time has not changed while this process watched it, and that took the lease by its own clock.

use crate::range::Range;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Watches claims.
#[derive(Debug)]
pub(crate) struct LeaseWatch {
    lease: Duration,
    seen: HashMap<(Range, u32), (SystemTime, Instant)>,
}

impl LeaseWatch {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { lease, seen: HashMap::new() }
    }

    /// Whether the claim in `path` has shown no sign of life for the time of the lease. One that is gone has not lapsed.
    pub(crate) fn has_lapsed(&mut self, range: Range, attempt: u32, path: &Path) -> io::Result<bool> {
        // A network file system asks the server for the time of a file that is opened, and may keep what it knows otherwise.
        let time = match File::open(path).and_then(|file| file.metadata()?.modified()) {
            Ok(time) => time,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.seen.remove(&(range, attempt));
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let now = Instant::now();
        let (before, since) = self.seen.entry((range, attempt)).or_insert((time, now));
        if *before != time {
            (*before, *since) = (time, now);
        }
        Ok(now.duration_since(*since) >= self.lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    const RANGE: Range = Range { first: 0, last: 0 };
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_clock_that_is_an_hour_off_neither_keeps_a_lease_nor_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("claim");
        let set = |time: SystemTime| File::create(&path).unwrap().set_modified(time).unwrap();
        let now = SystemTime::now();
        for wrong in [now - HOUR, now + HOUR] {
            let lease = Duration::from_millis(40);
            let mut watch = LeaseWatch::new(lease);
            set(wrong);
            assert!(!watch.has_lapsed(RANGE, 1, &path).unwrap());
            // Signs of life with the same wrong clock.
            for beat in 1..5 {
                std::thread::sleep(lease * 2);
                set(wrong + Duration::from_secs(beat));
                assert!(!watch.has_lapsed(RANGE, 1, &path).unwrap());
            }
            std::thread::sleep(lease * 2);
            assert!(watch.has_lapsed(RANGE, 1, &path).unwrap());
            // The next attempt begins anew.
            assert!(!watch.has_lapsed(RANGE, 2, &path).unwrap());
        }
        fs::remove_file(&path).unwrap();
        assert!(!LeaseWatch::new(Duration::ZERO).has_lapsed(RANGE, 1, &path).unwrap());
    }
}
