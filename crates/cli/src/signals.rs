//! Signals that end a command in order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// True once one of the signals has come. A second one ends the command at once, with the status a shell expects.
///
/// # Errors
/// When the signals cannot be caught.
pub(crate) fn interrupted_by(signals: &[i32]) -> io::Result<Arc<AtomicBool>> {
    ended_by(signals, signals)
}

/// True once one of the signals has come. A second one of `at_once` ends the command at once; supervisors such as timeout(1) may send the
/// others twice.
///
/// # Errors
/// When the signals cannot be caught.
pub(crate) fn ended_by(signals: &[i32], at_once: &[i32]) -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in signals.iter().copied() {
        if at_once.contains(&signal) {
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupted))?;
        }
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}
