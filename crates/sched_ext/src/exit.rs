//! Why the kernel says that a scheduler ended.

use serde::{Deserialize, Serialize};

/// The kernel's account of an end (`struct scx_exit_info`, Linux kernel/sched/ext).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct ExitInfo {
    /// The kind of end, as the kernel's `enum scx_exit_kind` names it, without `SCX_EXIT_` and in lower case: `unreg`, `error_stall`.
    pub kind: String,
    /// The number of the kind.
    pub kind_number: i32,
    /// The kernel's reason: `unregistered from user space`, `runnable task stall`.
    pub reason: String,
    /// Details: which task, for how long.
    pub message: String,
    /// The code that the scheduler or the kernel passed.
    pub exit_code: i64,
    /// The CPU on which the exit began; `None` where the kernel does not say.
    pub exit_cpu: Option<i32>,
    /// The state of the queues when an error ended it.
    pub dump: Option<String>,
}

impl ExitInfo {
    /// Whether an error ended it, not a request.
    pub fn is_error(&self) -> bool {
        // Errors are SCX_EXIT_ERROR and above; a scheduler of another version may print the name alone.
        const SCX_EXIT_ERROR: i32 = 1024;
        self.kind_number >= SCX_EXIT_ERROR || self.kind.starts_with("error")
    }

    /// The kernel's words, in one line.
    pub fn in_words(&self) -> String {
        match (self.reason.as_str(), self.message.as_str()) {
            ("", "") => "nothing".to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason} ({message})"),
        }
    }
}
