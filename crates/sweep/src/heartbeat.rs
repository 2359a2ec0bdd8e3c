//! Signs of life of the claim that this process holds.
//!
//! Only a simulation that goes on gives them: where it hangs, its claim lapses, and this process ends so that another one takes its place.

use crate::claims;
use crate::range::Range;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The exit status of a worker whose run hangs.
pub const HUNG: u8 = 75;
/// A sign of life this often in a lease.
const BEATS: u32 = 6;
/// And at least this often.
const LONGEST: Duration = Duration::from_secs(10);

/// Gives signs of life while it exists.
#[derive(Debug)]
pub(crate) struct Heartbeat(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    lease: Duration,
    /// Counts what the simulation does.
    steps: AtomicU64,
    /// Rows are being written: a disk may be slow.
    writes: AtomicBool,
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    range: Range,
    attempt: u32,
    file: File,
    /// The steps at the last sign of life.
    steps: u64,
    since: Instant,
}

impl Heartbeat {
    pub(crate) fn start(directory: &Path, lease: Duration) -> Self {
        let shared = Shared {
            directory: directory.to_owned(),
            lease,
            steps: AtomicU64::new(0),
            writes: AtomicBool::new(false),
            held: Mutex::default(),
        };
        let shared = Arc::new(shared);
        let weak = Arc::downgrade(&shared);
        let every = (lease / BEATS).min(LONGEST);
        std::thread::spawn(move || beat(&weak, every));
        Self(shared)
    }

    /// The simulation does something.
    pub(crate) fn step(&self) {
        self.0.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Rows are being written, or no longer.
    pub(crate) fn writes(&self, writes: bool) {
        self.step();
        self.0.writes.store(writes, Ordering::Relaxed);
    }

    /// From now on this claim is held.
    pub(crate) fn hold(&self, claim: &claims::Claim) -> std::io::Result<()> {
        let file = claim.file.try_clone()?;
        let steps = self.0.steps.load(Ordering::Relaxed);
        let held = Held { range: claim.range, attempt: claim.attempt, file, steps, since: Instant::now() };
        *self.0.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        Ok(())
    }

    /// No claim is held.
    pub(crate) fn leave(&self) {
        *self.0.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Gives signs of life until its owner is gone.
fn beat(shared: &Weak<Shared>, every: Duration) {
    loop {
        std::thread::sleep(every);
        let Some(shared) = shared.upgrade() else { return };
        let mut held = shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = held.as_mut() else { continue };
        let steps = shared.steps.load(Ordering::Relaxed);
        if steps != held.steps || shared.writes.load(Ordering::Relaxed) {
            (held.steps, held.since) = (steps, Instant::now());
            sign(&held.file);
        } else if held.since.elapsed() > shared.lease {
            let why = hung(shared.lease);
            let _ = claims::record_death(&shared.directory, held.range, held.attempt, &why);
            end();
        }
    }
}

/// How a worker died whose run hangs.
pub(crate) fn hung(lease: Duration) -> String {
    format!("no sign of life for {} s", lease.as_secs_f64())
}

#[allow(clippy::exit, reason = "the thread that hangs cannot be ended in another way")]
fn end() -> ! {
    std::process::exit(i32::from(HUNG))
}

/// The file system's own time, whatever this machine's clock says.
fn sign(file: &File) {
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    };
    // Where it fails the claim lapses, and its runs are made twice.
    let _ = futimens(file, &times);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owner::Owner;

    #[test]
    fn a_claim_shows_life_only_while_the_simulation_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(claims::FOLDER)).unwrap();
        let range = Range { first: 0, last: 3 };
        let claim = claims::Claim::take(folder.path(), range, 1, &Owner::own()).unwrap().unwrap();
        // A lease so long that the process of the test does not end.
        let heartbeat = Heartbeat::start(folder.path(), Duration::from_secs(60));
        heartbeat.hold(&claim).unwrap();
        let time = || std::fs::metadata(&claim.path).unwrap().modified().unwrap();
        let wrong = std::time::SystemTime::now() - Duration::from_secs(3600);
        claim.file.set_modified(wrong).unwrap();
        sign(&claim.file);
        assert!(time() > wrong + Duration::from_secs(3000), "the file system's time is taken");
        let shared = Arc::clone(&heartbeat.0);
        let weak = Arc::downgrade(&shared);
        claim.file.set_modified(wrong).unwrap();
        let thread = std::thread::spawn(move || beat(&weak, Duration::from_millis(5)));
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(time(), wrong, "no step, no sign of life");
        heartbeat.step();
        let deadline = Instant::now() + Duration::from_secs(20);
        while time() == wrong {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
        heartbeat.leave();
        drop((heartbeat, shared));
        thread.join().unwrap();
    }
}
