//! Whose process holds a claim, and whether it still runs.

use serde::{Deserialize, Serialize};
use std::fs;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// The machine's name, for people.
    pub(crate) host: String,
    /// The kernel since its start, and the namespace of process numbers: where both are the same, numbers name the same processes.
    pub(crate) processes: String,
    /// Its number.
    pub(crate) pid: u32,
    /// When it began, in ticks since the kernel's start: numbers are used again.
    pub(crate) began: u64,
}

impl Owner {
    /// This process.
    pub(crate) fn own() -> Self {
        let pid = std::process::id();
        let text =
            |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").map(|path| path.display().to_string());
        Self {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            processes: format!(
                "{} {}",
                text("/proc/sys/kernel/random/boot_id"),
                namespace.unwrap_or_default()
            ),
            pid,
            began: began(pid).unwrap_or(0),
        }
    }

    /// Whether the process has ended, as far as that can be known from here: not for a process of another machine.
    pub(crate) fn has_ended(&self, own: &Self) -> bool {
        self.processes == own.processes && began(self.pid) != Some(self.began)
    }
}

/// When a process began; `None` when there is no such process.
fn began(pid: u32) -> Option<u64> {
    // A zombie's parent knows how it died, and records that before it lets the number go.
    stat(pid)?.get(19)?.parse().ok()
}

/// The fields of `/proc/PID/stat` from the third on, its state (proc(5)); `None` when there is no such process.
pub(crate) fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold anything.
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_ended_is_known_to_have_ended_only_here() {
        let own = Owner::own();
        assert!(own.began > 0 && !own.has_ended(&own));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let began = began(child.id()).unwrap();
        let owner = Owner { pid: child.id(), began, ..own.clone() };
        assert!(!owner.has_ended(&own));
        child.kill().unwrap();
        assert!(!owner.has_ended(&own), "its parent has not recorded how it died");
        child.wait().unwrap();
        assert!(owner.has_ended(&own));
        assert!(!Owner { processes: "elsewhere".to_owned(), ..owner }.has_ended(&own));
        assert!(Owner { began: own.began + 1, ..own.clone() }.has_ended(&own));
    }
}
