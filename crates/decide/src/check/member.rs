//! In the guest: runs a command as the members of an ensemble, each with its own small disturbance, and counts what each did.
//!
//! A schedule is chaotic: a few instructions more, and a program makes other switches. One run of a changed program is one sample of that, however
//! exact its figures are. So each member begins at another place of the timer tick, with another layout of its memory, and finds its files made in another order.

use super::CheckError;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use swtch_record::{CommandStart, Options, STACK_ENTRIES, Target, record};
use swtch_stats::Rng;
use swtch_units::{Silent, last_lines};

/// The longest delay of a start: a tick of a kernel with `CONFIG_HZ=250`.
const TICK: Duration = Duration::from_millis(4);
/// The longest variable that is added to the environment: with it, the stack moves by up to a page.
const LAYOUT_BYTES: u64 = 4096;
const LAYOUT_VARIABLE: &str = "SWTCH_LAYOUT";
/// The directory that a deterministic guest runs in, and where its files are kept while each member gets its own copy.
const HERE: &str = "/here";
const ORIGINAL: &str = "/.swtch/original";
const LAYOUT_SETTING: &str = "/proc/sys/kernel/randomize_va_space";

/// What one member did. The guest's clock counts instructions, one a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Member {
    /// Switches of the command and all its descendants, because they waited for something.
    pub(super) voluntary: u64,
    /// And those where they could have gone on.
    pub(super) involuntary: u64,
    /// Their time on a CPU, us. On a single CPU these are thousands of instructions.
    pub(super) cpu_us: u64,
    /// From the start to the end, ns.
    pub(super) elapsed_ns: u64,
}

/// What a guest is to run.
#[derive(Clone, Debug)]
pub struct MemberJob {
    /// The command, its program first.
    pub command: Vec<OsString>,
    /// Members that are counted, after one that is not.
    pub members: usize,
    /// Members that are recorded together afterwards, and the Trace they go to.
    pub recorded: Option<(usize, PathBuf)>,
    /// Whether the recording has stacks, which take time: it is then a recording of its own, for the reason only.
    pub stacks: bool,
}

/// Runs the members of an ensemble and returns what they did, as JSON for the program that started the guest. To be called in a guest.
///
/// # Errors
/// When the command cannot be started or fails, or recording fails.
pub fn run_members(job: &MemberJob, program: &Path) -> Result<String, CheckError> {
    if !swtch_vm::guest::is_in_guest() {
        return Err(CheckError::Guest(
            "an ensemble runs in a virtual machine only; see swtch check --help".to_owned(),
        ));
    }
    // Orphans of the command end here, so that their switches are counted.
    set_child_subreaper(Some(rustix::process::getpid())).map_err(CheckError::system("adopting orphans"))?;
    fs::write(LAYOUT_SETTING, "2").map_err(CheckError::system("turning address randomisation on"))?;
    let files = Files::keep().map_err(CheckError::system("keeping the files of the command"))?;
    let mut members = Vec::with_capacity(job.members);
    for seed in 0..=job.members as u64 {
        let member = run_member(&job.command, seed, &files)?;
        // The first finds nothing of its files in memory.
        if seed > 0 {
            members.push(member);
        }
    }
    if let Some((count, trace)) = &job.recorded {
        let mut command: Vec<OsString> = vec![program.into()];
        command.extend(["check", "--member-runs"].map(OsString::from));
        command.extend([count.to_string().into(), "--".into()]);
        command.extend(job.command.iter().cloned());
        let mut complaints = complaints()?;
        let quiet = complaints.try_clone().map_err(CheckError::system("making a file for complaints"))?;
        let start = CommandStart { quiet: Some(Arc::new(quiet)), ..CommandStart::default() };
        let stacks = job.stacks.then_some(STACK_ENTRIES);
        let options = Options { start, stacks, ..Options::new(Target::Command(command), trace.clone()) };
        if record(&options, &mut Silent)?.header.exit_status != Some(0) {
            let said = last_lines(&mut complaints);
            return Err(CheckError::Guest(format!("the recorded runs failed{said}")));
        }
    }
    serde_json::to_string(&members).map_err(|error| CheckError::system("writing the figures")(error))
}

fn run_member(command: &[OsString], seed: u64, files: &Files) -> Result<Member, CheckError> {
    let mut rng = Rng::new(seed);
    let delay = Duration::from_nanos(rng.below(TICK.as_nanos() as u64));
    let layout = "x".repeat(rng.below(LAYOUT_BYTES) as usize);
    files.lay_out(&mut rng).map_err(CheckError::system("laying out the files of the command"))?;
    let (name, arguments) = command.split_first().ok_or(CheckError::NoCommand)?;
    let failed = |how: String| CheckError::Command { command: name.to_string_lossy().into_owned(), how };
    let mut complaints = complaints()?;
    let errors = complaints.try_clone().map_err(CheckError::system("making a file for complaints"))?;
    let mut child = Command::new(name);
    child
        .args(arguments)
        .env(LAYOUT_VARIABLE, layout)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    thread::sleep(delay);
    let before = usage()?;
    let began = Instant::now();
    let mut child = child.spawn().map_err(|error| failed(format!("cannot be started: {error}")))?;
    let status = child.wait().map_err(CheckError::system("waiting for the command"))?;
    let elapsed_ns = began.elapsed().as_nanos() as u64;
    end_descendants();
    let after = usage()?;
    files.clear().map_err(CheckError::system("clearing the files of the command"))?;
    if !status.success() {
        return Err(failed(in_words(status) + &last_lines(&mut complaints)));
    }
    Ok(Member {
        voluntary: after.voluntary - before.voluntary,
        involuntary: after.involuntary - before.involuntary,
        cpu_us: after.cpu_us - before.cpu_us,
        elapsed_ns,
    })
}

pub(super) fn complaints() -> Result<File, CheckError> {
    tempfile::tempfile().map_err(CheckError::system("making a file for complaints"))
}

/// Of all descendants that have ended.
struct Usage {
    voluntary: u64,
    involuntary: u64,
    cpu_us: u64,
}

fn usage() -> Result<Usage, CheckError> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|error| CheckError::system("asking for the switches of children")(error))?;
    let us = |time: TimeVal| time.num_microseconds() as u64;
    Ok(Usage {
        voluntary: usage.voluntary_context_switches() as u64,
        involuntary: usage.involuntary_context_switches() as u64,
        cpu_us: us(usage.user_time()) + us(usage.system_time()),
    })
}

/// Ends what the command left behind: the next member would not run alone.
fn end_descendants() {
    loop {
        let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        for pid in children.split_whitespace().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

/// The files of the current directory, of which each member gets a copy of its own.
struct Files {
    /// Below the directory, parents first; none where the directory is one of the system's.
    paths: Option<Vec<PathBuf>>,
}

impl Files {
    fn keep() -> io::Result<Self> {
        if std::env::current_dir()? != Path::new(HERE) {
            return Ok(Self { paths: None });
        }
        if !Path::new(ORIGINAL).exists() {
            fs::create_dir(ORIGINAL)?;
            mount_bind(HERE, ORIGINAL)?;
        }
        let mut paths = Vec::new();
        below(Path::new(ORIGINAL), Path::new(""), &mut paths)?;
        Ok(Self { paths: Some(paths) })
    }

    /// Makes the directory anew, its files in a random order.
    fn lay_out(&self, rng: &mut Rng) -> io::Result<()> {
        let Some(paths) = &self.paths else { return Ok(()) };
        mount("tmpfs", HERE, "tmpfs", MountFlags::empty(), None)?;
        let mut paths = paths.clone();
        rng.shuffle(&mut paths);
        for path in paths {
            let (from, to) = (Path::new(ORIGINAL).join(&path), Path::new(HERE).join(&path));
            if from.is_dir() {
                fs::create_dir_all(to)?;
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(Path::new(HERE)))?;
            fs::copy(from, to)?;
        }
        std::env::set_current_dir(HERE)
    }

    fn clear(&self) -> io::Result<()> {
        if self.paths.is_some() {
            std::env::set_current_dir("/")?;
            unmount(HERE, UnmountFlags::DETACH)?;
            std::env::set_current_dir(HERE)?;
        }
        Ok(())
    }
}

fn below(root: &Path, folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut names: Vec<OsString> =
        fs::read_dir(root.join(folder))?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort();
    for name in names {
        let path = folder.join(name);
        paths.push(path.clone());
        if root.join(&path).is_dir() {
            below(root, &path, paths)?;
        }
    }
    Ok(())
}

/// How a command ended that failed.
pub(super) fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
