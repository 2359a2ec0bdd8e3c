//! QEMU's monitor, as programs speak with it: a JSON object a line, over its standard input and output
//! (docs/interop/qmp-spec.txt, 7.2).

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// QEMU's options for it.
pub(crate) const QEMU_ARGUMENTS: [&str; 4] =
    ["-chardev", "stdio,id=monitor,signal=off", "-mon", "chardev=monitor,mode=control"];
/// QEMU answers at once, unless its machine is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The monitor of one QEMU.
#[derive(Debug)]
pub(crate) struct Qmp {
    to: ChildStdin,
    from: Receiver<Value>,
    /// Names of events that came while an answer was waited for.
    events: Vec<String>,
}

/// Why it did not do what it was asked.
pub(crate) type Refusal = String;

impl Qmp {
    /// The other ends of its input and output.
    pub(crate) fn new(to: ChildStdin, from: ChildStdout) -> Result<Self, Refusal> {
        let (tell, told) = mpsc::channel();
        let spawned = thread::Builder::new().name("qmp".into()).spawn(move || {
            // It ends with QEMU.
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str(&line) else { continue };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        spawned.map_err(|error| format!("no thread can listen to it: {error}"))?;
        let mut monitor = Self { to, from: told, events: Vec::new() };
        monitor.ask("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// Does one command, and returns its answer.
    pub(crate) fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value, Refusal> {
        let text = json!({ "execute": command, "arguments": arguments }).to_string() + "\n";
        self.to.write_all(text.as_bytes()).map_err(|error| format!("{command}: {error}"))?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut message = self.from.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("{command}: no answer within {PATIENCE:?}"),
                RecvTimeoutError::Disconnected => format!("{command}: QEMU ended"),
            })?;
            if let Some(refusal) = message.get("error") {
                return Err(format!("{command}: {}", refusal["desc"].as_str().unwrap_or("refused")));
            }
            if message.get("return").is_some() {
                return Ok(message["return"].take());
            }
            self.events.extend(message["event"].as_str().map(str::to_owned));
        }
    }

    /// Asks until the answer is as wanted; `Err` with the answer where it can no longer become so.
    pub(crate) fn ask_until(
        &mut self,
        command: &str,
        is_wanted: impl Fn(&Value) -> Result<bool, Refusal>,
    ) -> Result<(), Refusal> {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask(command, &json!({}))?;
            if is_wanted(&answer)? {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!("{command} says {answer} after {PATIENCE:?}"));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether this event has come so far.
    pub(crate) fn has_come(&mut self, event: &str) -> bool {
        let new = self.from.try_iter().filter_map(|message| message["event"].as_str().map(str::to_owned));
        self.events.extend(new);
        self.events.iter().any(|name| name == event)
    }
}
