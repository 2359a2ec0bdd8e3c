//! A cgroup that exists while settings are tried, and goes with this process, for any cause of its end.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The words of this program that make it [`guard_group`]; the directory follows.
pub const GUARD: [&str; 2] = ["try", "--guard-group"];
/// What is killed keeps its cgroup for a moment.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A cgroup to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupPlan {
    /// The directory of the one above it.
    pub(super) parent: PathBuf,
    /// Files of it, and what is written into them, in order.
    pub(super) settings: Vec<(String, String)>,
}

/// A cgroup that was made. When dropped, it is removed, and its processes are killed.
#[derive(Debug)]
pub(super) struct TrialGroup {
    pub(super) directory: PathBuf,
    guard: Option<Child>,
}

impl TrialGroup {
    /// Makes it. `program` is this one, which stays behind as the guard of the group; without it, the group outlives a kill.
    pub(super) fn make(plan: &GroupPlan, program: Option<&Path>) -> Result<Self, String> {
        let directory = plan.parent.join(name());
        let cannot = |error: &io::Error| {
            let advice = match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "; run as root, or in a cgroup that is delegated to this user"
                }
                _ => "",
            };
            format!("cannot create the cgroup {}: {error}{advice}", directory.display())
        };
        // The guard comes first, so that there is no moment without it.
        let guard = program.map(|program| guard(program, &directory)).transpose();
        let made = Self { guard: guard.map_err(|error| cannot(&error))?, directory: directory.clone() };
        fs::create_dir(&directory).map_err(|error| cannot(&error))?;
        for (file, value) in &plan.settings {
            // In place: a file of the kernel cannot be created where its controller is missing.
            let set = OpenOptions::new().write(true).open(directory.join(file));
            set.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|error| {
                let parent = plan.parent.display();
                match error.kind() {
                    io::ErrorKind::NotFound => {
                        format!("the cgroups below {parent} have no {file}: the cpu controller is off there")
                    }
                    _ => format!("{file} of a cgroup below {parent} cannot be {value}: {error}"),
                }
            })?;
        }
        Ok(made)
    }
}

impl Drop for TrialGroup {
    fn drop(&mut self) {
        remove(&self.directory);
        if let Some(mut guard) = self.guard.take() {
            // The end of its input ends it.
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// A name that no other process on this machine gives. Processes of other containers may have the same number, in another namespace.
fn name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |file| file.ino());
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("swtch-try-{namespace}-{}-{number}", std::process::id())
}

fn guard(program: &Path, directory: &Path) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(GUARD).arg(directory);
    // A terminal's Ctrl-C must not end it before its time.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()
}

/// Waits for the end of the input, and removes the cgroup. The input ends with the process that holds its other side.
pub fn guard_group(directory: &Path) {
    let _ = io::stdin().read_to_end(&mut Vec::new());
    remove(directory);
}

/// Kills what is in a cgroup, and removes it.
fn remove(directory: &Path) {
    let began = Instant::now();
    while fs::remove_dir(directory).is_err() && directory.exists() && began.elapsed() < PATIENCE {
        let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
