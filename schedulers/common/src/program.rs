//! A scheduler's program from beginning to end.

use crate::attach::{Running, Settings};
use crate::counters::total;
use crate::error::SchedulerError;
use crate::options::Options;
use crate::partial::Members;
use crate::reporter::Reporter;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_sched_ext::{EndCause, ExitInfo, SchedulerEvent, Status};

/// How often the loop checks whether the kernel has ended the scheduler, a signal came or time is up.
const CHECK_EVERY: Duration = Duration::from_millis(50);
/// How often the loop looks for threads that joined the cgroup.
const ADOPT_EVERY: Duration = Duration::from_secs(1);

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

/// Loads the scheduler, runs it, and reports why it ended. Exit status 0 when the end was asked for, else 1.
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

/// Prints what is wrong with the arguments; exit status 2, or 0 when help was asked for.
pub fn report_usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// One line on standard error, in the name of the program `scx_NAME`.
pub fn complain(name: &str, text: &str) {
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
    Status::read(Path::new("/")).permits(source.name, is_root())?;
    let stop = signals()?;
    let members = Members::of(options)?;
    let mut settings = Settings::open(source)?;
    let shown = worker.configure(&mut settings)?;
    if options.verify {
        for verified in settings.verify()? {
            reporter.report(&SchedulerEvent::Verified(verified));
        }
        return Ok(true);
    }
    if members.is_some() {
        settings.set_partial()?;
    }
    let loaded = settings.load()?;
    reporter.report(&SchedulerEvent::Loaded { scheduler: source.name.to_owned(), settings: shown });
    let mut attached = Attached { running: loaded.attach()?, members, stop, start: Instant::now() };
    let threads = attached.members.as_mut().map(Members::adopt).transpose()?;
    reporter.report(&SchedulerEvent::Enabled {
        scheduler: source.name.to_owned(),
        ops: Status::read(Path::new("/")).ops,
        partial: options.is_partial(),
        threads,
    });
    let because = attached.until_the_end(options, worker, reporter);
    attached.end(options, reporter, because)
}

/// A scheduler that runs, and what ends it.
struct Attached {
    running: Running,
    members: Option<Members>,
    stop: Arc<AtomicBool>,
    start: Instant,
}

impl Attached {
    /// What ended it.
    fn until_the_end(
        &mut self,
        options: &Options,
        worker: &mut dyn Worker,
        reporter: &Reporter,
    ) -> Result<EndCause, SchedulerError> {
        let every = options.stats.map(|seconds| Duration::from_secs(seconds.into()));
        let (mut next_stats, mut next_adoption) = (every, ADOPT_EVERY);
        loop {
            let elapsed = self.start.elapsed();
            if self.running.is_over()? {
                return Ok(EndCause::Kernel);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(EndCause::Signal);
            }
            if options.duration.is_some_and(|duration| elapsed >= duration) {
                return Ok(EndCause::Time);
            }
            worker.work(&self.running, reporter, elapsed)?;
            if let (Some(next), Some(every)) = (next_stats, every)
                && elapsed >= next
            {
                self.report_counters(reporter, elapsed)?;
                next_stats = Some(next + every);
            }
            if let (Some(members), true) = (&mut self.members, elapsed >= next_adoption) {
                members.adopt()?;
                next_adoption = elapsed + ADOPT_EVERY;
            }
            let left = options.duration.map_or(CHECK_EVERY, |duration| duration.saturating_sub(elapsed));
            std::thread::sleep(left.min(CHECK_EVERY));
        }
    }

    /// Detaches, gives tasks their policies back, and reports the end.
    fn end(
        mut self,
        options: &Options,
        reporter: &Reporter,
        because: Result<EndCause, SchedulerError>,
    ) -> Result<bool, SchedulerError> {
        let elapsed = self.start.elapsed();
        self.running.detach();
        drop(self.members.take());
        if options.stats.is_some() {
            self.report_counters(reporter, elapsed)?;
        }
        let exit = self.running.exit_info()?.unwrap_or_else(|| ExitInfo {
            reason: "the kernel gave no account of the end".to_owned(),
            ..ExitInfo::default()
        });
        let is_error = exit.is_error();
        let cause = because.as_ref().copied().unwrap_or(EndCause::Failure);
        reporter.report(&SchedulerEvent::Ended { because: cause, seconds: elapsed.as_secs_f64(), exit });
        because.map(|because| because != EndCause::Kernel && !is_error)
    }

    fn report_counters(&self, reporter: &Reporter, elapsed: Duration) -> Result<(), SchedulerError> {
        let cpus = self.running.counters()?;
        reporter.report(&SchedulerEvent::Counters {
            seconds: elapsed.as_secs_f64(),
            total: total(&cpus),
            cpus,
        });
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
