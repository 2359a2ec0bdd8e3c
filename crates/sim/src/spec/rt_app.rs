//! Files of rt-app (github.com/scheduler-tools/rt-app), as they are.
//!
//! Keys may come twice or carry a suffix (`run0`), and values that mean nothing may be left out. Comments and commas before a closing
//! bracket are allowed. rt-app and its workgen accept all of this.
//! An event that cannot be simulated becomes computing for a stated time, or is left out. [`RtApp::assumed`] lists every such case.

mod convert;
mod event_names;
mod events;
mod json;

use super::File;
use crate::assumption::Assumption;
use crate::error::SimError;
use crate::machine::Machine;
use crate::workload::Workload;

/// A file of rt-app as a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct RtApp {
    /// The workload.
    pub workload: Workload,
    /// The parts of the file that are simulated differently or left out.
    pub assumed: Vec<Assumption>,
}

/// Reads a file of rt-app for a machine: its calibration's CPU says what a `run` is worth. `file` is its name, for messages only.
///
/// ```
/// use swtch_sim::machine::Machine;
/// use swtch_sim::spec::rt_app;
///
/// let text = r#"{ "tasks": { "worker": { "instance": 2, "loop": 10, "run": 1000, "sleep": 500, "run": 200 } } }"#;
/// let rt_app = rt_app::read("example.json", text, &Machine::uniform(2))?;
/// assert_eq!(rt_app.workload.tasks.len(), 2);
/// assert!(rt_app.assumed.is_empty());
/// # Ok::<(), swtch_sim::SimError>(())
/// ```
///
/// # Errors
/// When it is not such JSON, or an event has a value of another type; with the place.
pub fn read(file: &str, text: &str, machine: &Machine) -> Result<RtApp, SimError> {
    let file = File::new(file, text);
    let read = json::read(text).and_then(|json| convert::convert(&json, machine, &file));
    read.map_err(|fault| file.error(fault))
}

#[cfg(test)]
mod tests;
