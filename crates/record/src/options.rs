//! What is asked of a recording.

use crate::scheduling::Scheduling;
use crate::system::Cgroup;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use swtch_trace::SourceKind;
use swtch_trace::model::ProbedRefill;

/// How many stacks the kernel holds at once, unless another number is asked for.
pub const STACK_ENTRIES: u32 = 1 << 16;

/// What to record, how, and where to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose switches.
    pub target: Target,
    /// Directory of the Trace, `NAME.swtch`.
    pub folder: PathBuf,
    /// When to stop, if the target does not end before. A command is then asked to end (SIGTERM), as `perf stat --timeout` does.
    pub duration: Option<Duration>,
    /// The source to use; the best that is allowed when absent.
    pub source: Option<SourceKind>,
    /// Whether to keep every event or only to count; by the length of the recording when absent.
    pub mode: Option<Mode>,
    /// How long BPF keeps single events before it only counts; the whole recording when absent.
    pub events_for: Option<Duration>,
    /// Whether events are only kept while the recording lasts, and the Trace is made of them at the end. The recorder takes less than half of the CPU
    /// time until then; one that is killed leaves no events. With BPF, where every event of the whole recording is kept.
    pub defer: bool,
    /// Memory for events that have not been read yet, over all CPUs, in bytes; chosen by the number of CPUs when absent.
    pub buffer_bytes: Option<u64>,
    /// Where the cost of a switch comes from.
    pub cost: Cost,
    /// Whether to estimate the memory that tasks use between two switches.
    pub working_set: bool,
    /// Whether the calling thread gives up, once the source is attached, the capabilities that the rest of the recording does not need. A
    /// library's caller needs them for other things.
    pub drop_capabilities: bool,
    /// Whether the caller measures a Profile afterwards, and so keeps what that needs.
    pub measures_later: bool,
    /// How many stacks the kernel holds at once, where stacks are recorded.
    pub stacks: Option<u32>,
    /// The file for the spans of a recorded command, unless the environment names one already.
    pub spans: Option<PathBuf>,
    /// The share of the time in which counting sees every switch, from 0 to 1.
    pub sample: f64,
    /// How a command is started.
    pub start: CommandStart,
    /// What `swtch probe` found for the command; it narrows the bill.
    pub probed: Option<ProbedRefill>,
}

/// How a command is started: as a shell would, unless something else is asked for.
#[derive(Clone, Debug, Default)]
pub struct CommandStart {
    /// Where what it writes to standard error goes. It then reads and prints nothing.
    pub quiet: Option<Arc<File>>,
    /// It leads a process group, which gets the signals that are passed on.
    pub own_group: bool,
    /// The kernel ends it when the thread that starts it ends. Starting it then copies this process's page tables.
    pub dies_with_parent: bool,
    /// Variables of its environment, in addition to those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory of a cgroup that it goes into before it is the command.
    pub cgroup: Option<PathBuf>,
    /// The scheduler's settings. Where they are given, even without any, it is started by fork and exec: those that are compared start alike.
    pub scheduling: Option<Scheduling>,
}

/// The share of the time in which counting sees every switch, when nothing else is asked for. It adds less than 15 ns to a switch then.
pub const DEFAULT_SAMPLE: f64 = 0.02;

impl Options {
    /// The options when nothing else is asked for.
    pub fn new(target: Target, folder: PathBuf) -> Self {
        Self {
            target,
            folder,
            duration: None,
            source: None,
            mode: None,
            events_for: None,
            defer: false,
            buffer_bytes: None,
            cost: Cost::default(),
            working_set: false,
            drop_capabilities: false,
            measures_later: false,
            stacks: None,
            spans: None,
            sample: DEFAULT_SAMPLE,
            start: CommandStart::default(),
            probed: None,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new(Target::default(), PathBuf::new())
    }
}

/// Where the direct cost of a switch comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// It is measured where it happens; from the Profile where the kernel does not allow that, or without BPF.
    #[default]
    InPlace,
    /// From the Profile only: with BPF, one program less at every switch.
    Profile,
}

impl Cost {
    /// The value of this name.
    ///
    /// ```
    /// use swtch_record::Cost;
    /// assert_eq!(Cost::from_name("profile"), Some(Cost::Profile));
    /// assert_eq!(Cost::from_name("free"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "in-place" => Some(Self::InPlace),
            "profile" => Some(Self::Profile),
            _ => None,
        }
    }

    /// Why the cost of switches was not measured where they happened.
    pub(crate) fn why_not_in_place(self) -> &'static str {
        match self {
            Self::InPlace => {
                "this kernel has no sched_entry_tp and sched_exit_tp; the Profile gives the cost"
            }
            Self::Profile => "not asked for: with --cost profile, the Profile gives the cost",
        }
    }
}

/// Whose switches to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Those of a command that is started for it, and its descendants.
    Command(Vec<OsString>),
    /// Those of running processes and what descends from them.
    Processes(Vec<u32>),
    /// Those of a cgroup, by its path below the hierarchy's root.
    Cgroup(String),
    /// All.
    #[default]
    Machine,
}

/// The running tasks of a target, as far as it names them beforehand.
#[derive(Clone, Debug)]
pub(crate) enum TargetTasks {
    /// All of the machine.
    All,
    /// Those of these processes; none yet of a command.
    Processes(Vec<u32>),
    /// Those of a cgroup, by its directory.
    Group(PathBuf),
}

impl TargetTasks {
    /// Those of the target; `group` is its cgroup.
    pub(crate) fn of(target: &Target, group: Option<&Cgroup>) -> Self {
        match (target, group) {
            (Target::Machine, _) => Self::All,
            (Target::Cgroup(_), Some(group)) => Self::Group(PathBuf::from(&group.folder)),
            (Target::Processes(pids), _) => Self::Processes(pids.clone()),
            (Target::Command(_) | Target::Cgroup(_), _) => Self::Processes(Vec::new()),
        }
    }
}

/// The use of the events that are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Keep them: every switch and wake-up.
    Events,
    /// Count them: BPF counts in the kernel; perf events are counted as they are read.
    Counts,
}
