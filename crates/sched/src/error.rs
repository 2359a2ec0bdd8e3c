//! Why a scheduler was not run, or schedulers were not compared.

use std::io;
use std::path::PathBuf;

/// What went wrong, its likely cause, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedError {
    /// There is no such scheduler here.
    #[error(
        "no scheduler scx_{name}: it is neither next to swtch, on PATH nor in the cache; {}",
        have(found, name)
    )]
    NotFound {
        /// As it was given.
        name: String,
        /// Those that are here.
        found: Vec<String>,
    },
    /// There is no such scheduler's file.
    #[error("{}: there is no such file; swtch sched new NAME writes one to begin with", path.display())]
    NoFile {
        /// As it was given.
        path: PathBuf,
    },
    /// The program that runs schedulers from their files is not here.
    #[error(
        "no scx_file, which runs schedulers from their files: it is neither next to swtch nor on PATH; add its directory to PATH"
    )]
    NoLoader,
    /// No program came of a scheduler's file.
    #[error("{name} is not a scheduler yet: scx_file {how}, and says why above")]
    NotMade {
        /// The file.
        name: String,
        /// How the compiling ended.
        how: String,
    },
    /// A scheduler of Cargo's registry was not installed.
    #[error("{name} is not installed: {why}")]
    NotGotten {
        /// What was to be installed.
        name: String,
        /// Why not.
        why: String,
    },
    /// No scheduler can be loaded here.
    #[error(transparent)]
    Refusal(#[from] swtch_sched_ext::Refusal),
    /// Another `swtch sched` runs.
    #[error("another 'swtch sched' runs: {name}, process {pid}; end it first (kill {pid})")]
    AnotherRuns {
        /// Its scheduler.
        name: String,
        /// Its process.
        pid: u32,
    },
    /// An option that only our own schedulers have.
    #[error(
        "{option} works with swtch's own schedulers; scx_{name} has options of its own: swtch sched {name} --help"
    )]
    Foreign {
        /// The option.
        option: String,
        /// The scheduler.
        name: String,
    },
    /// It did not get going.
    #[error("scx_{name} does not schedule: {why}")]
    Scheduler {
        /// Its name.
        name: String,
        /// Why, in its own or the kernel's words.
        why: String,
    },
    /// There is no such load.
    #[error("no load {name}; there are: {known}")]
    NoLoad {
        /// As it was given.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A load's program is not installed.
    #[error(
        "the load {load} needs {program}, which is not on this machine: apt-get install {packages}, or choose others with --loads"
    )]
    NoProgram {
        /// The load.
        load: String,
        /// The program.
        program: String,
        /// What has it.
        packages: String,
    },
    /// The output of a load lacks a figure.
    #[error(
        "under {policy}, the output of {load} does not have its {metric}; is it another version of the program?"
    )]
    NoMetric {
        /// The load.
        load: String,
        /// The figure.
        metric: String,
        /// Under which policy.
        policy: String,
    },
    /// A command's output lacks a figure that was asked for.
    #[error(
        "under {policy}, the command printed nothing that fits '{pattern}'; --out DIR keeps what it prints"
    )]
    NotPrinted {
        /// The pattern.
        pattern: String,
        /// Under which policy.
        policy: String,
    },
    /// A directory of results cannot be gone on with.
    #[error("cannot go on with {}: {why}; give another directory", path.display())]
    OtherResults {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        why: String,
    },
    /// The ends of a search do not do.
    #[error("there is nothing to search: {0}")]
    Ends(String),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Wish(String),
    /// The command could not be started or failed, so there is nothing to compare.
    #[error("under {policy}, {command} {how}; there is nothing to compare")]
    Command {
        /// Under which policy.
        policy: String,
        /// The program.
        command: String,
        /// What happened, with its last words.
        how: String,
    },
    /// A Profile cannot be read.
    #[error(transparent)]
    Profile(#[from] swtch_profile::FileError),
    /// A recording cannot be read.
    #[error(transparent)]
    Trace(#[from] swtch_trace::TraceError),
    /// The virtual machine failed.
    #[error("{policies} in a virtual machine: {source}")]
    Vm {
        /// What was to run.
        policies: String,
        /// Why.
        source: Box<swtch_vm::VmError>,
    },
    /// A stop was requested.
    #[error("interrupted")]
    Interrupted,
    /// The comparison in the virtual machine failed.
    #[error("in the virtual machine, {0}")]
    InGuest(String),
    /// Something of the system's failed.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl SchedError {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }

    pub(crate) fn scheduler(name: &str, why: impl Into<String>) -> Self {
        Self::Scheduler { name: name.to_owned(), why: why.into() }
    }
}

/// What to do where there is no scheduler. They are programs of their own, which a wheel does not bring.
pub const NO_SCHEDULERS: &str = "schedulers are separate programs; add the directory of scx_NAME to PATH (make build in swtch's \
                                 source tree builds swtch's own)";

fn have(found: &[String], name: &str) -> String {
    if crate::registry::about_in_registry(name).is_some() {
        return format!("swtch sched get {name} installs it");
    }
    if found.is_empty() {
        return format!("there are none: {NO_SCHEDULERS}");
    }
    format!("there are: {}", found.join(", "))
}
