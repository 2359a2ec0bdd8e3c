//! The events of a run for its observer, and its result.

use crate::protocol::{Exited, Stream};
use crate::qemu::Accelerator;
use serde::{Serialize, Serializer};
use std::path::PathBuf;
use std::time::Duration;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Something takes a while before the guest can boot.
    Preparing {
        /// What.
        text: String,
    },
    /// QEMU starts.
    Booting {
        /// The kernel's name.
        kernel: String,
        /// With what.
        accelerator: Accelerator,
    },
    /// The guest's first process runs.
    Booted {
        /// The kernel's release.
        kernel: String,
        /// CPUs it has.
        cpus: u64,
        /// Since QEMU was started, on the host's clock.
        #[serde(rename = "boot_ns", serialize_with = "nanoseconds")]
        after: Duration,
    },
    /// The kernel lacks a file system that programs may expect; most do without.
    Missing {
        /// Where it would be.
        place: String,
        /// Why it is not.
        why: String,
    },
    /// The scheduler that was asked for schedules.
    Scheduler {
        /// The name its kernel gives it.
        ops: String,
    },
    /// The kernel still had other work when the command started; the command's time and counts contain it.
    Busy {
        /// Of the CPUs' time.
        percent: u64,
    },
    /// The command starts.
    Started,
    /// The command wrote something.
    Output {
        /// Where to.
        stream: Stream,
        /// What.
        #[serde(rename = "text", serialize_with = "text")]
        bytes: Vec<u8>,
    },
    /// The kernel wrote a line on its console.
    Kernel {
        /// The line.
        line: String,
    },
    /// The command ended.
    Exited(Exited),
    /// A file came back.
    Returned {
        /// Where it is now.
        path: PathBuf,
    },
}

fn text<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

fn nanoseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_nanos() as u64)
}

/// The result of a run whose command has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The release of the kernel that ran it.
    pub kernel: String,
    /// With what.
    pub accelerator: Accelerator,
    /// A digest of everything that the guest got: its kernel, its files, what it is to run. Where instructions are counted, the same gives the same run.
    #[serde(skip)]
    pub inputs: String,
    /// How the command ended.
    pub exited: Exited,
    /// The kernel's last messages, where it killed a process for want of memory.
    pub out_of_memory: Option<String>,
    /// A file that was to come back and did not, where the command failed: that is why.
    pub not_returned: Option<String>,
}

impl Outcome {
    /// That the guest's kernel killed processes for want of memory, and what to do; `memory_mib` is what the guest had.
    pub fn memory_warning(&self, memory_mib: u64) -> Option<String> {
        let last = self.out_of_memory.as_ref()?;
        let count = self.exited.oom_kills;
        let killed = if count == 1 { "a process".to_owned() } else { format!("{count} processes") };
        Some(format!(
            "the guest's {memory_mib} MiB of memory were used up, so its kernel killed {killed}; give it more with --memory{last}"
        ))
    }
}
