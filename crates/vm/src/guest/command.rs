//! Runs the scheduler and the command, and counts what happens meanwhile.

use super::{Channel, GuestJob, energy, settle::settle, uptime_ns};
use crate::protocol::{Exited, Message, PIECE_BYTES, Report, Stream, Trouble};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The kernel's account of its sched_ext scheduler.
const SCHED_EXT: &str = "/sys/kernel/sched_ext";
/// Loading and verifying takes seconds under emulation.
const SCHEDULER_PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Output that is still in the pipes when a command has ended is read at once. Pipes that its descendants hold open are not waited for.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(1);
/// A scheduler ends when it is asked to, or not at all.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(5);

/// Runs the command under its scheduler.
pub(super) fn run(job: &GuestJob, channel: &Channel) -> Result<(), Trouble> {
    energy::begin()?;
    let _slowing = slow_down(job)?;
    let scheduler = Scheduler::load(job, channel)?;
    if let Some(busy_percent) = settle() {
        channel.report(Report::Busy { percent: busy_percent });
    }
    let counted = Counts::read();
    let cannot = |error: io::Error| Trouble::Command { why: error.to_string() };
    channel.report(Report::Started);
    let began_ns = uptime_ns();
    let arguments = job.command.iter().skip(1);
    let mut child = command(&job.program, job).args(arguments).spawn().map_err(cannot)?;
    let outputs = pump(&mut child, channel);
    let status = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if is(pid, &child) => break status,
            // Orphans end here, as with any first process; and perhaps the scheduler, which is looked after below.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(cannot(error.into())),
        }
    };
    let elapsed_ns = uptime_ns().saturating_sub(began_ns);
    let counts = Counts::read();
    drained(&outputs);
    channel.report(Report::Exited(Exited {
        status: status.exit_status(),
        signal: status.terminating_signal(),
        elapsed_ns,
        context_switches: counts.switches.saturating_sub(counted.switches),
        forks: counts.forks.saturating_sub(counted.forks),
        oom_kills: counts.oom_kills.saturating_sub(counted.oom_kills),
    }));
    scheduler.map_or(Ok(()), Scheduler::end)
}

/// Has CPUs held up from now on, where some are to be slower; they are until the machine ends.
fn slow_down(job: &GuestJob) -> Result<Option<Child>, Trouble> {
    let Some((program, slowed)) = job.slowing.split_first() else { return Ok(None) };
    let trouble = |why: String| Trouble::Slowing { why };
    let mut child = command(program, job).args(slowed).spawn().map_err(|error| trouble(error.to_string()))?;
    // It says so of each kind once it holds them up, and says nothing where it cannot.
    let begun = child.stdout.take().map_or(0, |pipe| {
        io::BufRead::lines(io::BufReader::new(pipe)).map_while(Result::ok).take(slowed.len()).count()
    });
    if begun == slowed.len() {
        return Ok(Some(child));
    }
    let mut said = String::new();
    if let Some(mut pipe) = child.stderr.take() {
        let _ = pipe.read_to_string(&mut said);
    }
    Err(trouble(said.lines().last().unwrap_or("it said nothing").to_owned()))
}

fn is(pid: Pid, child: &Child) -> bool {
    pid.as_raw_nonzero().get() as u32 == child.id()
}

/// With its input and outputs as every command of the guest has them.
fn command(program: &OsStr, job: &GuestJob) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(job.folder())
        .env_clear()
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Passes both outputs on while they come. The receiver hears when one has ended.
fn pump(child: &mut Child, channel: &Channel) -> Receiver<()> {
    let (ended, heard) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        pass_on(pipe, Stream::Stdout, channel.clone(), ended.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        pass_on(pipe, Stream::Stderr, channel.clone(), ended);
    }
    heard
}

fn pass_on(mut pipe: impl Read + Send + 'static, stream: Stream, channel: Channel, ended: Sender<()>) {
    thread::spawn(move || {
        let mut piece = vec![0; PIECE_BYTES];
        while let Ok(length @ 1..) = pipe.read(&mut piece) {
            channel.send(&Message::Output(stream, piece[..length].to_vec()));
        }
        let _ = ended.send(());
    });
}

/// Waits until both outputs have ended, but not for ever.
fn drained(outputs: &Receiver<()>) {
    for _ in 0..2 {
        if outputs.recv_timeout(OUTPUT_PATIENCE).is_err() {
            return;
        }
    }
}

/// What the kernel has counted since it booted.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    switches: u64,
    forks: u64,
    oom_kills: u64,
}

impl Counts {
    fn read() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        Self {
            switches: counter(&stat, "ctxt"),
            forks: counter(&stat, "processes"),
            oom_kills: counter(&vmstat, "oom_kill"),
        }
    }
}

fn counter(text: &str, name: &str) -> u64 {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(value).unwrap_or(0)
}

/// A sched_ext scheduler that runs during the command.
struct Scheduler {
    child: Child,
    /// What it says.
    said: Receiver<String>,
}

impl Scheduler {
    /// Starts it and waits until the kernel says that it schedules; nothing when none was asked for.
    fn load(job: &GuestJob, channel: &Channel) -> Result<Option<Self>, Trouble> {
        let Some((program, arguments)) = job.scheduler.split_first() else { return Ok(None) };
        let trouble = |why: String| Trouble::Scheduler { why };
        if state().is_none() {
            return Err(trouble("the guest's kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT)".to_owned()));
        }
        let mut child =
            command(program, job).args(arguments).spawn().map_err(|error| trouble(error.to_string()))?;
        let said = listen(&mut child);
        let mut scheduler = Self { child, said };
        let began = Instant::now();
        while state().as_deref() != Some("enabled") {
            if let Some(status) = scheduler.ended() {
                return Err(trouble(format!("it ended ({status}){}", scheduler.last_words())));
            }
            if began.elapsed() >= SCHEDULER_PATIENCE {
                return Err(trouble(format!(
                    "the kernel did not enable it within {SCHEDULER_PATIENCE:?}{}",
                    scheduler.last_words()
                )));
            }
            thread::sleep(LOOK_EVERY);
        }
        let ops = fs::read_to_string(format!("{SCHED_EXT}/root/ops")).unwrap_or_default();
        channel.report(Report::Scheduler { ops: ops.trim().to_owned() });
        Ok(Some(scheduler))
    }

    /// Its end, if it has come.
    fn ended(&mut self) -> Option<String> {
        // Collected by the command's wait, or by this one: both mean that it is gone.
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(_) => Some("while the command ran".to_owned()),
        }
    }

    fn last_words(&self) -> String {
        // What it said last may still be on its way.
        thread::sleep(LOOK_EVERY);
        let lines: Vec<String> = self.said.try_iter().collect();
        let last = lines.iter().rev().take(4).rev().map(|line| line.trim()).collect::<Vec<_>>().join(" | ");
        if last.is_empty() { last } else { format!(": {last}") }
    }

    /// Asks it to go; that it had gone before is a failure of the run.
    fn end(mut self) -> Result<(), Trouble> {
        let enabled = state().as_deref() == Some("enabled");
        let gone = match self.ended() {
            Some(status) => Some(format!("it ended before the command did ({status})")),
            None if !enabled => Some("the kernel disabled it while the command ran".to_owned()),
            None => None,
        };
        if let Some(gone) = gone {
            return Err(Trouble::Scheduler { why: gone + &self.last_words() });
        }
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process(pid, Signal::INT);
        }
        let began = Instant::now();
        while self.ended().is_none() && began.elapsed() < FAREWELL_PATIENCE {
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// The state of sched_ext, or nothing where the kernel lacks it.
fn state() -> Option<String> {
    fs::read_to_string(format!("{SCHED_EXT}/state")).ok().map(|text| text.trim().to_owned())
}

/// Its lines, of either output.
fn listen(child: &mut Child) -> Receiver<String> {
    let (say, said) = mpsc::channel();
    for pipe in [
        child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ]
    .into_iter()
    .flatten()
    {
        let say = say.clone();
        thread::spawn(move || {
            let lines = io::BufRead::lines(io::BufReader::new(pipe));
            for line in lines.map_while(Result::ok) {
                if say.send(line).is_err() {
                    return;
                }
            }
        });
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let stat = "cpu 1 2\nctxt 2270\nbtime 7\nprocesses 88\nprocs_running 1\n";
        assert_eq!(counter(stat, "ctxt"), 2270);
        assert_eq!(counter(stat, "processes"), 88);
        assert_eq!(counter("oom_kill_disable 3\noom_kill 2\n", "oom_kill"), 2);
        assert_eq!(counter(stat, "absent"), 0);
    }

    #[test]
    fn this_kernel_counts_switches() {
        let before = Counts::read();
        thread::sleep(LOOK_EVERY);
        assert!(Counts::read().switches > before.switches);
    }
}
