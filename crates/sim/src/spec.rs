//! What to simulate, as a file in TOML: the machine, what its kernel takes, the workload, the policies.
//!
//! ```
//! use swtch_sim::spec::Spec;
//! use swtch_topology::Host;
//!
//! let text = r#"
//! machine = "2f4s"
//! policies = ["eevdf", "rr"]
//! duration = "1s"
//!
//! [pipes]
//! requests = {}
//!
//! [[task]]
//! name = "client"
//! program = "forever { compute 200us; send requests 100; sleep 1ms..3ms }"
//!
//! [[task]]
//! name = "server"
//! nice = -5
//! program = """
//! forever {
//!     receive requests 100
//!     request { compute 2ms }
//! }
//! """
//! "#;
//! let spec = Spec::read("example.toml", text)?;
//! let machine = spec.machine(&Host::default())?;
//! assert_eq!(spec.workload(&machine)?.tasks.len(), 2);
//! # Ok::<(), swtch_sim::SimError>(())
//! ```
//!
//! Steps are on lines of their own or are parted by `;`; `#` begins a comment. A time may be a range, `1ms..2ms`.
//!
//! | step | what it does |
//! | --- | --- |
//! | `compute 2ms` | works for that long on the reference core |
//! | `sleep 1ms` | sleeps |
//! | `period 10ms` | sleeps until the next multiple of the period since it first came here; not at all when it is late |
//! | `every 10ms` | sleeps until the next multiple of the period that is still to come: a task that is late skips some |
//! | `send PIPE 100`, `receive PIPE 100` | writes or reads a message of that many bytes |
//! | `lock LOCK`, `unlock LOCK` | a mutex |
//! | `wait CONDITION LOCK`, `signal CONDITION`, `broadcast CONDITION` | a condition variable |
//! | `barrier BARRIER` | waits until all members are there |
//! | `open TEAM 4` | opens a loop of that many pieces for the tasks of a team |
//! | `share TEAM 50us` | takes pieces of the team's loop, of that much work each, until none is left |
//! | `join TEAM` | waits until all pieces of the loop are done |
//! | `attend TEAM` | waits until there is a loop with pieces left |
//! | `post SEMAPHORE`, `acquire SEMAPHORE` | a semaphore |
//! | `ask SEMAPHORE OWN`, `answer SEMAPHORE` | posts SEMAPHORE, and the answer goes to OWN; `answer` posts the OWN that has been awaited longest |
//! | `fork TASK`, `wait-children` | starts a task; waits until all such have ended |
//! | `wait-for TASK` | waits until all children that are called so have ended |
//! | `kill TASK` | ends all that are called so, wherever they are in their programs |
//! | `become APPLICATION` | runs at other speeds from here on |
//! | `new-session` | begins a session of its own, which puts the task behind its equals under real-time classes |
//! | `yield`, `exit` | lets others run; ends |
//! | `loop 100 { ... }`, `forever { ... }` | again and again, four deep at most |
//! | `request { ... }` | the time it takes is reported |

pub(crate) mod cgroups;
mod costs;
mod machine;
pub mod rt_app;
mod steps;
mod tasks;

use crate::assumption::Assumption;
use crate::costs::Costs;
use crate::error::SimError;
use crate::jitter::Jitter;
use crate::machine::Machine;
use crate::workload::Workload;
use crate::workloads::{Named, WORKLOADS};
use costs::CostsTable;
use machine::MachineChoice;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::ops::Range;
use swtch_profile::Profile;
use swtch_topology::Host;
use tasks::{ApplicationTable, TaskTable};
use toml::Spanned;

/// A specification that has been read.
#[derive(Clone, Debug)]
pub struct Spec {
    file: File,
    pub(crate) document: SpecDocument,
}

/// Where the work comes from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Source<'a> {
    /// From the specification itself: a workload by name, or tasks.
    Here,
    /// From a file of rt-app, at this path; see [`rt_app::read`].
    RtApp(&'a str),
    /// From a recording, at this path; see [`replay`](crate::workloads::replay::replay).
    Recording(&'a str),
}

/// The file as it is written. Maps of TOML are read in the order of their keys, so that nothing depends on anything else.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpecDocument {
    /// Which machine; without it, the host.
    pub(crate) machine: Option<Spanned<MachineChoice>>,
    /// The policies, in order; without any, the caller chooses them.
    #[serde(default)]
    policies: Vec<Spanned<String>>,
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// The jitter, which the seed drives, where the specification names one.
    #[serde(default, deserialize_with = "jitter")]
    pub(crate) jitter: Option<Jitter>,
    /// When the run ends at the latest, ns.
    #[serde(default, deserialize_with = "crate::quantity::some_ns")]
    pub(crate) duration: Option<u64>,
    /// When a run that has not ended is given up, ns.
    #[serde(default, deserialize_with = "crate::quantity::some_ns")]
    pub(crate) limit: Option<u64>,
    /// What the kernel's work takes.
    pub(crate) costs: Option<Spanned<CostsTable>>,
    workload: Option<Spanned<Named>>,
    rt_app: Option<Spanned<String>>,
    recording: Option<Spanned<String>>,
    #[serde(default, rename = "application")]
    applications: Vec<Spanned<ApplicationTable>>,
    #[serde(default, rename = "task")]
    tasks: Vec<Spanned<TaskTable>>,
    #[serde(default)]
    pipes: tasks::Pipes,
    #[serde(default)]
    locks: Vec<Spanned<String>>,
    #[serde(default)]
    conditions: Vec<Spanned<String>>,
    #[serde(default)]
    barriers: tasks::Barriers,
    #[serde(default)]
    teams: tasks::Teams,
    #[serde(default)]
    semaphores: tasks::Semaphores,
    #[serde(default)]
    cgroups: cgroups::Cgroups,
}

fn one() -> u64 {
    1
}

/// `jitter = "none"`.
pub(crate) fn jitter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Jitter>, D::Error> {
    let name = String::deserialize(deserializer)?;
    Jitter::named(&name).map(Some).map_err(D::Error::custom)
}

/// Something wrong at a place in the file, bytes.
#[derive(Clone, Debug)]
struct Fault {
    at: Range<usize>,
    problem: String,
}

impl Fault {
    fn new(at: Range<usize>, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into() }
    }
}

/// `file:line:column`, counted from 1, columns in characters.
pub(crate) fn place(file: &str, text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
    format!("{file}:{line}:{column}")
}

/// The text that places are in.
#[derive(Clone, Debug)]
struct File {
    name: String,
    text: String,
    /// Whether a user wrote its lines; if not, the name is the place.
    lines: bool,
}

impl File {
    fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), lines: true }
    }

    fn place(&self, offset: usize) -> String {
        if self.lines { place(&self.name, &self.text, offset) } else { self.name.clone() }
    }

    fn error(&self, fault: Fault) -> SimError {
        SimError::input(self.place(fault.at.start), fault.problem)
    }
}

impl Spec {
    /// Reads a specification. `file` is its name, for messages only.
    ///
    /// # Errors
    /// When it is not TOML, has a key that is not known, or a value that cannot be; the place is in the message.
    pub fn read(file: &str, text: &str) -> Result<Self, SimError> {
        let file = File::new(file, text);
        let document: SpecDocument = toml::from_str(text).map_err(|error| {
            let problem = error.message().lines().collect::<Vec<_>>().join(" ");
            file.error(Fault::new(error.span().unwrap_or(0..0), problem))
        })?;
        document.sources().map_err(|fault| file.error(fault))?;
        Ok(Self { file, document })
    }

    /// The specification of a workload by name with parameters, as on a command line: `hackbench:groups=20,tasks=threads`.
    ///
    /// # Errors
    /// When there is no such workload, or it has no such parameter.
    pub fn of_name(text: &str) -> Result<Self, SimError> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        if !WORKLOADS.iter().any(|row| row.name == name) {
            let known: Vec<_> = WORKLOADS.iter().map(|row| row.name).collect();
            return Err(SimError::unknown("workload", name, known.join(", ")));
        }
        let mut lines = format!("[workload.{name}]\n");
        for parameter in split_outside_brackets(parameters) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (key, value) = (key.trim(), value.trim());
            // Numbers, lists and truth are written alike in TOML; all else is text.
            let plain =
                value.starts_with('[') || matches!(value, "true" | "false") || value.parse::<f64>().is_ok();
            let value = if plain { value.to_owned() } else { format!("{value:?}") };
            lines.push_str(&format!("{key} = {value}\n"));
        }
        let mut spec = Self::read(text, &lines).map_err(|error| match error {
            // Line and column would be those of the lines above.
            SimError::Input { problem, .. } => SimError::input(text, problem),
            other => other,
        })?;
        spec.file.lines = false;
        Ok(spec)
    }

    /// The names of the policies, in order; empty: the caller chooses them.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        self.document.policies.iter().map(|name| name.get_ref().as_str())
    }

    /// The error that a policy has no such name, with its place.
    pub(crate) fn unknown_policy(&self, name: &str, known: &str) -> SimError {
        let at =
            self.document.policies.iter().find(|given| given.get_ref() == name).map_or(0..0, Spanned::span);
        self.file.error(Fault::new(at, format!("there is no policy \"{name}\"; expected one of {known}")))
    }

    /// The machine; the host if none is given.
    ///
    /// # Errors
    /// When there is no such machine, or it cannot be.
    pub fn machine(&self, host: &Host) -> Result<Machine, SimError> {
        match &self.document.machine {
            None => crate::machine::named("host", host),
            Some(choice) => {
                choice.get_ref().build(host, &choice.span()).map_err(|fault| self.file.error(fault))
            }
        }
    }

    /// What the kernel's work takes, by the specification and a Profile, and what had to be assumed.
    ///
    /// # Errors
    /// When figures contradict each other.
    pub fn costs(&self, profile: Option<&Profile>) -> Result<(Costs, Vec<Assumption>), SimError> {
        let default = CostsTable::default();
        let (table, at) = match &self.document.costs {
            Some(table) => (table.get_ref(), table.span()),
            None => (&default, 0..0),
        };
        table.apply(profile).map_err(|problem| self.file.error(Fault::new(at, problem)))
    }

    /// Where the work comes from.
    pub fn source(&self) -> Source<'_> {
        match (&self.document.rt_app, &self.document.recording) {
            (Some(path), _) => Source::RtApp(path.get_ref()),
            (_, Some(path)) => Source::Recording(path.get_ref()),
            (None, None) => Source::Here,
        }
    }

    /// The workload on this machine, where [`source`](Self::source) is [`Source::Here`].
    ///
    /// # Errors
    /// When it refers to something that is not there, or has a figure that cannot be; or when the work comes from another file.
    pub fn workload(&self, machine: &Machine) -> Result<Workload, SimError> {
        let mut workload = match &self.document.workload {
            Some(named) => named.get_ref().build(machine).map_err(|error| {
                let problem = match error {
                    SimError::Input { problem, .. } => problem,
                    other => other.to_string(),
                };
                self.file.error(Fault::new(named.span(), problem))
            })?,
            None => self.document.tasks(machine, &self.file).map_err(|fault| self.file.error(fault))?,
        };
        if let Some(duration_ns) = self.document.duration {
            workload.duration_ns = Some(duration_ns);
        }
        Ok(workload)
    }
}

/// Parts at commas that are in no list.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|character| {
        depth += i32::from(character == '[') - i32::from(character == ']');
        character == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

impl SpecDocument {
    /// The work comes from one place.
    fn sources(&self) -> Result<(), Fault> {
        let mut places = [
            ("workload", self.workload.as_ref().map(Spanned::span)),
            ("rt_app", self.rt_app.as_ref().map(Spanned::span)),
            ("recording", self.recording.as_ref().map(Spanned::span)),
            ("task", self.tasks.first().map(Spanned::span)),
        ]
        .into_iter()
        .filter_map(|(name, span)| Some((name, span?)));
        let expected = "expected one of workload, rt_app, recording and task";
        let Some((first, _)) = places.next() else {
            return Err(Fault::new(0..0, format!("nothing says what runs; {expected}")));
        };
        match places.next() {
            Some((second, at)) => {
                Err(Fault::new(at, format!("{second} and {first} are both given; {expected}")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
