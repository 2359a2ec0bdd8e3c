//! Signals that end it.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

    pub(super) fn came(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// Ctrl-C is how one leaves; the other signals show in the status as a shell has it.
pub(super) fn status(signal: i32) -> ExitCode {
    if signal == SIGINT { ExitCode::SUCCESS } else { ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)) }
}
