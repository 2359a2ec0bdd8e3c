//! What the kernel says of sched_ext, read from sysfs under any root.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use swtch_topology::Unavailable;
use swtch_units::TextTable;

/// Where the kernel says it, below the root directory.
pub const DIRECTORY: &str = "sys/kernel/sched_ext";

/// Why no scheduler can be loaded here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Loading needs root.
    #[error(
        "only root can load a scheduler; run it with sudo, or try it in a virtual machine: swtch vm --sched {name} -- COMMAND"
    )]
    NotRoot {
        /// The scheduler.
        name: String,
    },
    /// The kernel has no sched_ext.
    #[error(
        "the kernel here, {release}, has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12 and later); try {name} in a virtual machine: swtch vm --sched {name} -- COMMAND, or swtch sched compare --vm -- COMMAND"
    )]
    NoSchedExt {
        /// The kernel's release, as `uname -r` prints it.
        release: String,
        /// The scheduler.
        name: String,
    },
    /// There can be only one.
    #[error(
        "another sched_ext scheduler is loaded, {ops}; end its program first, or write S to /proc/sysrq-trigger to have the kernel end it"
    )]
    AnotherLoaded {
        /// The kernel's name for it.
        ops: String,
    },
}

/// The `swtch sched` that runs a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The scheduler.
    pub name: String,
    /// The process.
    pub pid: u32,
    /// When it began, seconds since 1970.
    pub since_unix: u64,
}

/// The state of sched_ext. What is `None` has its reason in [`Status::unavailable`], except where nothing is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The kernel's release.
    pub kernel: String,
    /// Whether the kernel has sched_ext.
    pub sched_ext: bool,
    /// `enabled`, `disabled`, `enabling` or `disabling`.
    pub state: Option<String>,
    /// The loaded scheduler, as the kernel names it; absent when none is.
    pub ops: Option<String>,
    /// Whether it has every normal task; otherwise only those with the policy SCHED_EXT.
    pub switch_all: Option<bool>,
    /// Tasks that schedulers refused since the machine started.
    pub rejected: Option<u64>,
    /// Schedulers that were enabled since the machine started.
    pub enabled_count: Option<u64>,
    /// What happened since it was loaded, as the kernel counts it, by its names (`SCX_EV_...`).
    pub events: Option<BTreeMap<String, u64>>,
    /// The `swtch sched` that runs it, and since when. The kernel does not report it, so the caller of [`Status::read`] fills it in.
    pub holder: Option<Holder>,
    /// The fields that are unavailable, and why.
    pub unavailable: Vec<Unavailable>,
}

impl Status {
    /// Reads it.
    pub fn read(root: &Path) -> Self {
        let kernel = read(root, "proc/sys/kernel/osrelease").unwrap_or_default();
        let mut status = Self { kernel, ..Self::default() };
        status.sched_ext = root.join(DIRECTORY).is_dir();
        if !status.sched_ext {
            let why = format!(
                "the kernel here, {}, has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12 and later); swtch vm boots one that has",
                status.kernel
            );
            status.miss("sched_ext", why);
            return status;
        }
        status.state = status.word(root, "state", "state");
        status.switch_all = status.number(root, "switch_all", "switch_all").map(|all| all != 0);
        status.rejected = status.number(root, "rejected", "nr_rejected");
        status.enabled_count = status.number(root, "enabled_count", "enable_seq");
        if status.state.as_deref().is_some_and(|state| state != "disabled") {
            status.ops = status.word(root, "ops", "root/ops");
            status.events = status.word(root, "events", "root/events").map(|text| events(&text));
        }
        status
    }

    /// Whether a scheduler can be loaded here.
    ///
    /// # Errors
    /// When not, with the reason; `name` is the scheduler's, for the advice.
    pub fn permits(&self, name: &str, is_root: bool) -> Result<(), Refusal> {
        if !self.sched_ext {
            return Err(Refusal::NoSchedExt { release: self.kernel.clone(), name: name.to_owned() });
        }
        if self.is_loaded() {
            let ops = self.ops.clone().unwrap_or_else(|| "of unknown name".to_owned());
            return Err(Refusal::AnotherLoaded { ops });
        }
        if is_root { Ok(()) } else { Err(Refusal::NotRoot { name: name.to_owned() }) }
    }

    /// Whether a scheduler is loaded, or coming or going.
    pub fn is_loaded(&self) -> bool {
        self.state.as_deref().is_some_and(|state| state != "disabled")
    }

    /// For people.
    pub fn in_words(&self) -> String {
        let mut table = TextTable::untitled().left([1]).at_least(0, 10);
        if !self.sched_ext {
            table.row(["sched_ext", "missing"]);
            table.row(["", &self.unavailable[0].reason]);
            return table.to_string();
        }
        let mut row = |name: &str, value: &str| table.row([name, value]);
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        row("kernel", &self.kernel);
        row("state", &known(self.state.clone()));
        if self.is_loaded() {
            row("scheduler", &known(self.ops.clone()));
            let tasks = self.switch_all.map(|all| {
                if all { "every normal task" } else { "only tasks that were given to it" }.to_owned()
            });
            row("tasks", &known(tasks));
        }
        if let Some(holder) = &self.holder {
            row("run by", &format!("swtch sched {}, process {}", holder.name, holder.pid));
        }
        let times = self.enabled_count.map(|count| format!("{count} times since the start"));
        row("enabled", &known(times));
        row("refused", &known(self.rejected.map(|count| format!("{count} tasks since the start"))));
        for (name, count) in self.events.iter().flatten().filter(|(_, count)| **count > 0) {
            row("event", &format!("{name} {count}"));
        }
        for missing in &self.unavailable {
            row("unknown", &format!("{}: {}", missing.field, missing.reason));
        }
        table.to_string()
    }

    fn word(&mut self, root: &Path, what: &'static str, file: &str) -> Option<String> {
        let path = format!("{DIRECTORY}/{file}");
        match read(root, &path) {
            Ok(text) => Some(text),
            Err(error) => {
                self.miss(what, format!("cannot read /{path}: {error}"));
                None
            }
        }
    }

    fn number(&mut self, root: &Path, what: &'static str, file: &str) -> Option<u64> {
        let text = self.word(root, what, file)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.miss(what, format!("/{DIRECTORY}/{file} holds '{text}', which is not a number"));
        }
        number
    }

    /// Notes that a field is unavailable, and why.
    pub fn miss(&mut self, what: &'static str, why: impl Into<String>) {
        self.unavailable.push(Unavailable::new(what, why));
    }
}

fn read(root: &Path, path: &str) -> std::io::Result<String> {
    std::fs::read_to_string(root.join(path)).map(|text| text.trim().to_owned())
}

/// `NAME COUNT`, a line each; a line that is not is left out.
fn events(text: &str) -> BTreeMap<String, u64> {
    let one = |line: &str| {
        let (name, count) = line.split_once(char::is_whitespace)?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    };
    text.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    const LOADED: [(&str, &str); 7] = [
        ("proc/sys/kernel/osrelease", "7.3.4\n"),
        ("sys/kernel/sched_ext/state", "enabled\n"),
        ("sys/kernel/sched_ext/switch_all", "1\n"),
        ("sys/kernel/sched_ext/nr_rejected", "0\n"),
        ("sys/kernel/sched_ext/enable_seq", "3\n"),
        ("sys/kernel/sched_ext/root/ops", "flsched_1.0_x86_64\n"),
        ("sys/kernel/sched_ext/root/events", "SCX_EV_SELECT_CPU_FALLBACK 0\nSCX_EV_DISPATCH_KEEP_LAST 12\n"),
    ];

    #[test]
    fn what_is_loaded_is_told() {
        let root = machine(&LOADED);
        let mut status = Status::read(root.path());
        status.holder = Some(Holder { name: "flsched".to_owned(), pid: 7, since_unix: 1 });
        assert_eq!(status.ops.as_deref(), Some("flsched_1.0_x86_64"));
        assert_eq!((status.switch_all, status.enabled_count), (Some(true), Some(3)));
        assert_eq!(status.events.as_ref().unwrap()["SCX_EV_DISPATCH_KEEP_LAST"], 12);
        assert_eq!(status.unavailable, []);
        let words = status.in_words();
        for part in
            ["flsched_1.0_x86_64", "every normal task", "KEEP_LAST 12", "3 times", "swtch sched flsched"]
        {
            assert!(words.contains(part), "{part}: {words}");
        }
        let error = status.permits("fair", true).unwrap_err().to_string();
        assert!(error.contains("flsched_1.0_x86_64"), "{error}");
    }

    #[test]
    fn a_kernel_without_it_is_data_and_advice() {
        let root = machine(&[("proc/sys/kernel/osrelease", "6.1.0\n")]);
        let status = Status::read(root.path());
        assert!(!status.sched_ext && status.state.is_none());
        assert!(status.unavailable[0].reason.contains("6.1.0") && status.in_words().contains("swtch vm"));
        let error = status.permits("flsched", true).unwrap_err().to_string();
        assert!(error.contains("6.1.0") && error.contains("swtch vm --sched flsched"), "{error}");
    }

    #[test]
    fn an_older_or_damaged_kernel_folder_says_what_it_lacks() {
        let files = [("sys/kernel/sched_ext/state", "enabled"), ("sys/kernel/sched_ext/nr_rejected", "many")];
        let root = machine(&files);
        let status = Status::read(root.path());
        let missing: Vec<&str> = status.unavailable.iter().map(|missing| missing.field.as_str()).collect();
        assert_eq!(missing, ["switch_all", "rejected", "enabled_count", "ops", "events"]);
        assert!(status.in_words().contains("unknown"));
        assert!(matches!(status.permits("x", true), Err(Refusal::AnotherLoaded { .. })));
    }

    #[test]
    fn root_may_where_nothing_is_loaded() {
        let root = machine(&[("sys/kernel/sched_ext/state", "disabled\n")]);
        let status = Status::read(root.path());
        assert!(status.permits("x", true).is_ok());
        assert!(matches!(status.permits("x", false), Err(Refusal::NotRoot { .. })));
    }
}
