//! A scheduler's program from beginning to end.

use crate::attach::{Running, Settings};
use crate::counters::total;
use crate::error::SchedulerError;
use crate::event::{Event, Reporter};
use crate::exit::ExitInfo;
use crate::kernel;
use crate::options::Options;
use crate::partial::Members;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether the kernel has ended the scheduler, a signal came or time is up.
const LOOK: Duration = Duration::from_millis(50);
/// How often threads that joined the control group are looked for.
const ADOPT: Duration = Duration::from_secs(1);

/// A scheduler's name and compiled object.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// As users know it.
    pub name: &'static str,
    /// What the compiler made of its `.bpf.c`.
    pub object: &'static [u8],
}

/// What a scheduler's own half does while it runs.
pub trait Worker {
    /// Sets variables before loading; returns how the scheduler is set, for the event `loaded`.
    ///
    /// # Errors
    /// When the object lacks one.
    fn configure(&mut self, settings: &mut Settings) -> Result<Map<String, Value>, SchedulerError>;

    /// Called every 50 ms while it runs, with the time since it was enabled.
    ///
    /// # Errors
    /// When it cannot go on; the scheduler is detached then.
    fn work(
        &mut self,
        running: &Running,
        reporter: &Reporter,
        elapsed: Duration,
    ) -> Result<(), SchedulerError> {
        let (_, _, _) = (running, reporter, elapsed);
        Ok(())
    }
}

/// Loads the scheduler, runs it, and tells why it ended. Status 0 when somebody asked for the end, else 1.
pub fn run(source: &Source, options: &Options, worker: &mut dyn Worker) -> ExitCode {
    let reporter = Reporter::new(source.name, options.json);
    match try_run(source, options, worker, &reporter) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(source.name, &error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Tells what is wrong with the arguments; status 2, or 0 when help was asked for.
pub fn report_usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

fn complain(name: &str, text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "scx_{name}: {}", text.replace('\n', " "));
}

/// Whether it ended as it was asked to.
fn try_run(
    source: &Source,
    options: &Options,
    worker: &mut dyn Worker,
    reporter: &Reporter,
) -> Result<bool, SchedulerError> {
    kernel::check(Path::new("/"), is_root())?;
    let stop = signals()?;
    let members = Members::of(options)?;
    let mut settings = Settings::open(source)?;
    let told = worker.configure(&mut settings)?;
    if options.verify {
        for verified in settings.verify()? {
            reporter.tell(&Event::Verified(verified));
        }
        return Ok(true);
    }
    if members.is_some() {
        settings.set_partial()?;
    }
    let loaded = settings.load()?;
    reporter.tell(&Event::Loaded { scheduler: source.name.to_owned(), settings: told });
    let mut watch = Watch { running: loaded.attach()?, members, stop, start: Instant::now() };
    let threads = watch.members.as_mut().map(Members::adopt).transpose()?;
    reporter.tell(&Event::Enabled {
        scheduler: source.name.to_owned(),
        ops: kernel::loaded(Path::new("/")),
        partial: options.is_partial(),
        threads,
    });
    let because = watch.until_the_end(options, worker, reporter);
    watch.end(options, reporter, because)
}

/// A scheduler that runs and is watched.
struct Watch {
    running: Running,
    members: Option<Members>,
    stop: Arc<AtomicBool>,
    start: Instant,
}

impl Watch {
    /// What ended it.
    fn until_the_end(
        &mut self,
        options: &Options,
        worker: &mut dyn Worker,
        reporter: &Reporter,
    ) -> Result<&'static str, SchedulerError> {
        let every = options.stats.map(|seconds| Duration::from_secs(seconds.into()));
        let (mut next_stats, mut next_adoption) = (every, ADOPT);
        loop {
            let elapsed = self.start.elapsed();
            if self.running.exit_info()?.is_some() {
                return Ok("kernel");
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok("signal");
            }
            if options.duration.is_some_and(|duration| elapsed >= duration) {
                return Ok("time");
            }
            worker.work(&self.running, reporter, elapsed)?;
            if let (Some(next), Some(every)) = (next_stats, every)
                && elapsed >= next
            {
                self.tell_counters(reporter, elapsed)?;
                next_stats = Some(next + every);
            }
            if let (Some(members), true) = (&mut self.members, elapsed >= next_adoption) {
                members.adopt()?;
                next_adoption = elapsed + ADOPT;
            }
            let left = options.duration.map_or(LOOK, |duration| duration.saturating_sub(elapsed));
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// Detaches, gives tasks their policies back, and tells about the end.
    fn end(
        mut self,
        options: &Options,
        reporter: &Reporter,
        because: Result<&'static str, SchedulerError>,
    ) -> Result<bool, SchedulerError> {
        let elapsed = self.start.elapsed();
        self.running.detach();
        drop(self.members.take());
        if options.stats.is_some() {
            self.tell_counters(reporter, elapsed)?;
        }
        let exit = self.running.exit_info()?.unwrap_or_else(|| ExitInfo {
            reason: "the kernel gave no account of the end".to_owned(),
            ..ExitInfo::default()
        });
        let is_error = exit.is_error();
        let told = because.as_ref().copied().unwrap_or("failure");
        reporter.tell(&Event::Ended { because: told, seconds: elapsed.as_secs_f64(), exit });
        because.map(|because| because != "kernel" && !is_error)
    }

    fn tell_counters(&self, reporter: &Reporter, elapsed: Duration) -> Result<(), SchedulerError> {
        let cpus = self.running.counters()?;
        reporter.tell(&Event::Counters { seconds: elapsed.as_secs_f64(), total: total(&cpus), cpus });
        Ok(())
    }
}

fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Set when the program is asked to end.
fn signals() -> Result<Arc<AtomicBool>, SchedulerError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(SchedulerError::Signals)?;
    }
    Ok(stop)
}
