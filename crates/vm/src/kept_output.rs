//! What the command in a guest prints, kept for a program that reads it.

use crate::event::Event;
use crate::protocol::Stream;
use swtch_units::Observer;

/// Keeps the output of a guest's command. What the guest does meanwhile, such as `booting`, goes to another observer as one of its own events.
pub struct KeptOutput<'a, Progress, Say> {
    observer: &'a mut dyn Observer<Progress>,
    say: Say,
    /// Its output.
    pub stdout: Vec<u8>,
    /// Its complaints.
    pub stderr: Vec<u8>,
}

impl<'a, Progress, Say: Fn(&str) -> Progress> KeptOutput<'a, Progress, Say> {
    /// Nothing yet; `say` makes an event of what the guest does.
    pub fn new(observer: &'a mut dyn Observer<Progress>, say: Say) -> Self {
        Self { observer, say, stdout: Vec::new(), stderr: Vec::new() }
    }
}

impl<Progress, Say: Fn(&str) -> Progress> Observer<Event> for KeptOutput<'_, Progress, Say> {
    fn event(&mut self, event: &Event) {
        let doing = match event {
            Event::Output { stream: Stream::Stdout, bytes } => return self.stdout.extend(bytes),
            Event::Output { stream: Stream::Stderr, bytes } => return self.stderr.extend(bytes),
            Event::Preparing { text } => text.as_str(),
            Event::Booting { .. } => "booting",
            Event::Started => "running",
            _ => return,
        };
        self.observer.event(&(self.say)(doing));
    }

    fn stop(&mut self) -> bool {
        self.observer.stop()
    }
}

/// The last line of what this program complained of in a guest, without its name.
pub fn last_complaint(errors: &[u8]) -> Option<String> {
    let errors = String::from_utf8_lossy(errors);
    let last = errors.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(last.trim_start_matches("swtch: ").to_owned())
}
