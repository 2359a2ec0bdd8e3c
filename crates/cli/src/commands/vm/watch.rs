//! What somebody sees while a guest runs, and the signals that end it.

use crate::args::vm::VmArgs;
use crate::output;
use crate::progress_line::ProgressLine;
use crate::signals::interrupted_by;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use swtch_vm::{Accelerator, Event, Observer, Stream};

/// The spinner turns this often.
const EVERY: Duration = Duration::from_millis(120);

/// Passes the command's output on, and shows on a terminal that a guest boots.
pub(crate) struct Watch {
    spinner: ProgressLine,
    interrupted: Arc<AtomicBool>,
    json: bool,
    console: bool,
    /// While guests are compared, what their commands write is not shown.
    pub(crate) quiet: bool,
    /// Before what the spinner says: which of several guests.
    pub(crate) which: String,
}

impl Watch {
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new(args: &VmArgs) -> io::Result<Self> {
        let interrupted = interrupted_by(&[SIGINT, SIGTERM, SIGHUP])?;
        let spinner = ProgressLine::at_once("{spinner} {wide_msg}", None);
        Ok(Self {
            spinner,
            interrupted,
            json: args.json,
            console: args.console,
            quiet: false,
            which: String::new(),
        })
    }

    /// Takes the spinner off the terminal.
    pub(crate) fn clear(&self) {
        self.spinner.clear();
    }

    fn spin(&mut self, text: &str) {
        let message = format!("{}{text}", self.which);
        self.spinner.show_always(|bar| {
            bar.reset();
            bar.enable_steady_tick(EVERY);
            bar.set_message(message);
        });
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::Preparing { text } => self.spin(text),
            Event::Booting { kernel, accelerator } => {
                let how = match accelerator {
                    Accelerator::Kvm => "with KVM",
                    Accelerator::CountedInstructions => "counting its instructions",
                    _ => "in emulation",
                };
                self.spin(&format!("booting {kernel} {how}"));
            }
            Event::Booted { .. } => self.spin("booted; starting the command"),
            Event::Busy { percent } => output::complain_text(&format!(
                "swtch: the guest's kernel was busy for {percent} % of its CPUs' time when the command started; times and counts contain that"
            )),
            Event::Started if self.quiet => self.spin("measuring"),
            // From here on the terminal is the command's.
            Event::Started => self.clear(),
            Event::Output { stream, bytes } if !self.quiet => pass_on(*stream, bytes),
            Event::Kernel { line } if self.console => output::complain_text(line),
            _ => {}
        }
    }
}

/// Somebody who no longer reads is no failure.
fn pass_on(stream: Stream, bytes: &[u8]) {
    let written = match stream {
        Stream::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        Stream::Stderr => io::stderr().lock().write_all(bytes),
    };
    drop(written);
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        if !self.json || self.quiet {
            self.show(event);
        } else if let Ok(line) = serde_json::to_string(event) {
            output::print(&(line + "\n"));
        }
    }

    fn stop(&mut self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
