//! The guest's side: the first process of the virtual machine. It mounts what programs expect, runs the command, tells the host, and
//! powers off.

mod command;
mod energy;
mod files;
mod kept;
mod mounts;
mod settle;
mod unpack;

use crate::protocol::{Message, Report, Trouble};
use rustix::system::{RebootCommand, reboot};
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// Where the first process is in the guest.
pub(crate) const FIRST_PROCESS: &str = "/.swtch/init";
/// What it is to do.
pub(crate) const JOB_FILE: &str = "/.swtch/job.json";
/// The kernel's configuration, where it travels.
pub(crate) const KERNEL_CONFIG: &str = "/.swtch/kernel-config";
/// The driver of CPUs' frequencies, where the kernel is to have an energy model.
pub(crate) const FREQUENCY_DRIVER: &str = "/.swtch/cpufreq-dt.ko.xz";
/// The name of the channel's port; the host gives it to QEMU.
pub(crate) const PORT: &str = "swtch";
/// How often the guest says that it lives, in its own time.
const ALIVE_EVERY: Duration = Duration::from_secs(2);
/// The port is there when the kernel starts us, or soon after.
const PORT_PATIENCE: Duration = Duration::from_secs(10);
const PORT_LOOK_EVERY: Duration = Duration::from_millis(5);

/// As many as the kernel's generator has as its key.
const RANDOM_BYTES: usize = 32;

/// What the guest is to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GuestJob {
    pub(crate) command: Vec<OsString>,
    /// The command's program, found by the host.
    pub(crate) program: OsString,
    pub(crate) working_folder: OsString,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Empty: the kernel's own.
    pub(crate) scheduler: Vec<OsString>,
    /// What slows CPUs down, before the scheduler comes; empty where all are alike.
    pub(crate) slowing: Vec<OsString>,
    pub(crate) fetch: Vec<OsString>,
    /// Where the machine resumes from a boot that was kept, and its clock and random numbers are not to be the same each time.
    pub(crate) resumed: Option<Resumed>,
}

/// What a machine that goes on cannot know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Resumed {
    /// Nanoseconds since 1970.
    pub(crate) now_ns: u64,
    /// For the kernel's random numbers.
    pub(crate) random: Vec<u8>,
}

impl Resumed {
    /// On the host.
    pub(crate) fn now() -> io::Result<Self> {
        let mut random = vec![0; RANDOM_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Self { now_ns: now.as_nanos() as u64, random })
    }
}

impl GuestJob {
    pub(crate) fn folder(&self) -> PathBuf {
        PathBuf::from(&self.working_folder)
    }
}

/// The way to the host; frames of several threads do not mix.
#[derive(Clone, Debug)]
pub(crate) struct Channel(Arc<Mutex<File>>);

impl Channel {
    /// Without the host no message can be delivered, so a failure to send ends nothing.
    pub(crate) fn send(&self, message: &Message) {
        let port = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = message.write_to(&*port);
    }

    pub(crate) fn report(&self, report: Report) {
        self.send(&Message::Report(report));
    }

    pub(crate) fn trouble(&self, trouble: Trouble) {
        self.report(Report::Trouble(trouble));
    }
}

/// Whether this program was started by a kernel as a guest's first process.
pub fn is_first_process() -> bool {
    std::process::id() == 1 && env::args_os().next().is_some_and(|name| name == FIRST_PROCESS)
}

/// Whether this program runs in a guest.
pub fn is_in_guest() -> bool {
    Path::new(JOB_FILE).is_file()
}

/// Does what the host asked for, and powers the machine off.
///
/// # Errors
/// Only where there is no way to tell the host: the kernel then panics, as its first process ends.
pub fn run() -> io::Result<()> {
    let missing = mounts::all();
    let channel = Channel(Arc::new(Mutex::new(port()?)));
    kept::have_random_numbers()?;
    if !is_in_guest() {
        kept::stop_and_unpack()?;
    }
    let job: GuestJob = serde_json::from_slice(&fs::read(JOB_FILE)?)?;
    let cpus = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    if let Some(resumed) = &job.resumed {
        kept::catch_up(resumed);
    }
    if Path::new(KERNEL_CONFIG).is_file() {
        // Where libbpf looks for it. Without it, what needs it says so.
        let _ = fs::create_dir_all("/boot");
        let _ = symlink(KERNEL_CONFIG, format!("/boot/config-{kernel}"));
    }
    compile_programs_of_the_kernel();
    channel.report(Report::Booted { kernel, cpus, uptime_ns: uptime_ns() });
    for (place, error) in missing {
        channel.trouble(Trouble::Mount { place, why: error.to_string() });
    }
    let heartbeat = channel.clone();
    thread::Builder::new().name("alive".into()).spawn(move || {
        loop {
            thread::sleep(ALIVE_EVERY);
            heartbeat.report(Report::Alive { uptime_ns: uptime_ns() });
        }
    })?;
    if let Err(trouble) = command::run(&job, &channel) {
        channel.trouble(trouble);
    }
    files::send(&job, &channel);
    channel.report(Report::Done);
    reboot(RebootCommand::PowerOff)?;
    Ok(())
}

/// Some kernels interpret BPF programs unless a setting has them compile these (riscv64), and then refuse those that call the kernel's functions.
fn compile_programs_of_the_kernel() {
    const SWITCH: &str = "/proc/sys/net/core/bpf_jit_enable";
    if fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() == "0") {
        // Where that fails, what needs it says so.
        let _ = fs::write(SWITCH, "1");
    }
}

/// The guest's monotonic clock, which begins with its kernel.
fn uptime_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Opens the port by its name; the kernel numbers ports as it finds them.
fn port() -> io::Result<File> {
    let mut waited = Duration::ZERO;
    loop {
        for entry in fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten() {
            let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            if name.trim() == PORT {
                return OpenOptions::new().write(true).open(Path::new("/dev").join(entry.file_name()));
            }
        }
        if waited >= PORT_PATIENCE {
            return Err(io::Error::other("the guest's kernel shows no virtio port"));
        }
        thread::sleep(PORT_LOOK_EVERY);
        waited += PORT_LOOK_EVERY;
    }
}
