//! Watching what takes long.

/// Receives the events of a long operation, and may stop it.
pub trait Observer<Event: ?Sized> {
    /// Called for each event.
    fn event(&mut self, event: &Event);

    /// Whether the operation should stop; asked several times a second.
    fn stop(&mut self) -> bool {
        false
    }

    /// A signal to pass on to the command that the operation runs.
    fn signal(&mut self) -> Option<i32> {
        None
    }
}

/// Ignores every event and never stops anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl<Event: ?Sized> Observer<Event> for Silent {
    fn event(&mut self, _: &Event) {}
}
