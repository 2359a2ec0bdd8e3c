//! Signals that end it, and a terminal that goes away.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A signal that is not obeyed for so long, because the terminal takes nothing any more, is obeyed without regard to it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether a signal came.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// Which signal came, if one did.
#[derive(Clone, Debug)]
pub(super) struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// # Errors
    /// When they cannot be caught.
    pub(super) fn listen() -> io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&came), signal as usize)?;
        }
        Ok(Self(came))
    }

    /// Ends this process when its terminal is gone, because reading keys would never return. Ends it also when a signal has no effect in
    /// time, because the terminal does not take what is drawn.
    pub(super) fn guard(&self) {
        let signals = self.clone();
        std::thread::spawn(move || {
            let mut since = None;
            loop {
                if hung_up() {
                    end(SIGHUP);
                }
                let Some(signal) = signals.came() else { continue };
                if since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                    end(signal);
                }
            }
        });
    }

    pub(super) fn came(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// Waits for a while, and returns whether the terminal was closed.
fn hung_up() -> bool {
    let out = std::io::stdout();
    let mut terminal = [PollFd::new(&out, PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR;
    poll(&mut terminal, Some(&LOOK_EVERY)).is_ok() && terminal[0].revents().intersects(gone)
}

/// As if the signal had not been caught.
fn end(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Ctrl-C is how one leaves; the other signals show in the status as a shell has it.
pub(super) fn status(signal: i32) -> ExitCode {
    if signal == SIGINT { ExitCode::SUCCESS } else { ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)) }
}
