//! Boots, several at a time: each is a process that uses one CPU of this machine, and none sees the others.

use super::load::file_of;
use super::{BenchJob, Boot, Load};
use crate::SchedProgress;
use crate::better::Better;
use crate::compare::{Policy, run_in_guest, take_along};
use crate::error::SchedError;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use swtch_units::Observer;
use swtch_vm::{KeptOutput, Spec};

/// How often it is looked whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A guest that shares its CPU with others needs this many times as long to boot.
const PATIENCE: u32 = 10;

/// A boot that is to be made.
#[derive(Clone, Debug)]
pub(super) struct Task<'a> {
    /// The column's place in the table.
    pub(super) column: usize,
    /// The column's name.
    pub(super) name: &'a str,
    pub(super) policy: &'a Policy,
    /// The boot's number in its column.
    pub(super) number: usize,
}

/// What came of a task.
pub(super) struct Booted {
    pub(super) boot: Boot,
    /// The guest's kernel.
    pub(super) kernel: String,
}

enum Word {
    Doing(String),
    /// Of a column.
    Done(usize, Result<Booted, SchedError>),
}

/// Whether the other boots of a column are still wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    GoOn,
    GivenUp,
}

/// How many guests this machine has CPUs and free memory for.
pub fn guests_at_a_time(memory_mib: u64) -> usize {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free_kib = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let guests = free_kib.map_or(1, |free| (free >> 10) / memory_mib.max(1));
    cpus.min(usize::try_from(guests).unwrap_or(usize::MAX)).max(1)
}

/// Makes all boots, and hands on what came of each as it ends. Where that is an error that `take` returns, the others end.
pub(super) fn make(
    job: &BenchJob,
    tasks: &[Task<'_>],
    observer: &mut dyn Observer<SchedProgress>,
    mut take: impl FnMut(usize, Result<Booted, SchedError>) -> Result<Others, SchedError>,
) -> Result<(), SchedError> {
    let stop = AtomicBool::new(false);
    let queue = Queue(Mutex::new(tasks.iter().collect()));
    let (say, heard) = mpsc::channel();
    let workers = job.at_a_time.clamp(1, tasks.len().max(1));
    thread::scope(|scope| {
        for _ in 0..workers {
            let (say, stop, queue) = (say.clone(), &stop, &queue);
            scope.spawn(move || {
                // A guest ends with the thread that started it; this one waits for it.
                while let Some(task) = queue.next() {
                    let booted = boot(job, task, &mut Speaker { say: &say, stop });
                    let _ = say.send(Word::Done(task.column, booted));
                }
            });
        }
        drop(say);
        let (mut done, mut of) = (0, tasks.len());
        let mut failed = None;
        loop {
            match heard.recv_timeout(LOOK_EVERY) {
                Ok(Word::Doing(next)) => observer.event(&SchedProgress::Step { done, of, next }),
                // Those that end because another failed only say that they were interrupted.
                Ok(Word::Done(..)) if failed.is_some() => {}
                Ok(Word::Done(column, booted)) => {
                    done += 1;
                    match take(column, booted) {
                        Ok(Others::GoOn) => {}
                        Ok(Others::GivenUp) => of -= queue.leave_out(column),
                        Err(error) => failed = Some(error),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if observer.stop() {
                failed.get_or_insert(SchedError::Interrupted);
            }
            if failed.is_some() {
                stop.store(true, Ordering::Relaxed);
                queue.clear();
            }
        }
        observer.event(&SchedProgress::Step { done, of, next: String::new() });
        failed.map_or(Ok(()), Err)
    })
}

/// The boots that have not begun.
struct Queue<'a>(Mutex<VecDeque<&'a Task<'a>>>);

impl<'a> Queue<'a> {
    fn tasks(&self) -> MutexGuard<'_, VecDeque<&'a Task<'a>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<&'a Task<'a>> {
        self.tasks().pop_front()
    }

    /// Forgets those of a column; how many they were.
    fn leave_out(&self, column: usize) -> usize {
        let mut tasks = self.tasks();
        let before = tasks.len();
        tasks.retain(|task| task.column != column);
        before - tasks.len()
    }

    fn clear(&self) {
        self.tasks().clear();
    }
}

/// The observer of one boot, in its thread.
struct Speaker<'a> {
    say: &'a Sender<Word>,
    stop: &'a AtomicBool,
}

impl Observer<SchedProgress> for Speaker<'_> {
    fn event(&mut self, progress: &SchedProgress) {
        if let SchedProgress::Step { next, .. } = progress {
            // The receiver is there until all boots have ended.
            let _ = self.say.send(Word::Doing(next.clone()));
        }
    }

    fn stop(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn boot(job: &BenchJob, task: &Task<'_>, speaker: &mut Speaker<'_>) -> Result<Booted, SchedError> {
    let label = format!("{}, boot {}", task.name, task.number + 1);
    let seed = seed(job.seed, task.name, task.number);
    let mut command: Vec<OsString> = vec![job.program.clone().into()];
    command.extend(["sched", "bench", "--member-seed"].map(OsString::from));
    command.extend([seed.to_string().into(), "--policies".into(), task.policy.to_string().into()]);
    command.extend(["--runs".into(), job.runs.least.to_string().into()]);
    command.extend(["--member-most".into(), job.runs.most.to_string().into()]);
    if job.record && task.number == 0 {
        command.push("--member-record".into());
    }
    command.extend(words_of(&job.loads));
    // The machine's own seed is that of the boot's number: such boots of all schedulers resume from one boot that is kept.
    let machine = self::seed(job.seed, "machine", task.number);
    let mut spec = Spec { command, deterministic: true, seed: machine, ..job.spec.clone() };
    spec.boot_timeout *= PATIENCE;
    spec.silence *= PATIENCE;
    for load in job.loads.iter().filter(|load| !load.is_of_user()) {
        for program in load.programs() {
            let path = file_of(program).ok_or_else(|| load.no_program(program))?;
            if !spec.copy.contains(&path) {
                spec.copy.push(path);
            }
        }
    }
    let made = tempfile::tempdir().map_err(SchedError::system("making a directory for schedulers"))?;
    take_along(&mut spec, task.policy, &job.search_path, made.path())?;
    let say = |doing: &str| SchedProgress::Step { done: 0, of: 0, next: format!("{label}: {doing}") };
    let printed = KeptOutput::new(speaker, say);
    let (printed, outcome) = run_in_guest(&spec, &job.program, &label, printed)?;
    let boot: Boot = serde_json::from_slice(&printed).map_err(|error| {
        SchedError::InGuest(format!("{label}: the guest's figures cannot be read: {error}"))
    })?;
    let boot = Boot { number: task.number, inputs: outcome.inputs, ..boot };
    Ok(Booted { boot, kernel: outcome.kernel })
}

/// What names the loads in a guest. A user's command stands for itself, so that what it names travels.
fn words_of(loads: &[Load]) -> Vec<OsString> {
    if let [load @ Load { command, metrics, .. }] = loads
        && load.is_of_user()
    {
        let patterns = metrics.iter().filter_map(|metric| {
            let option = if metric.better == Better::Larger { "--rate" } else { "--metric" };
            Some(format!("{option}={}", metric.pattern.as_ref()?).into())
        });
        let command = command.iter().map(OsString::from);
        return patterns.chain(["--".into()]).chain(command).collect();
    }
    let names: Vec<&str> = loads.iter().map(|load| load.name.as_str()).collect();
    vec!["--loads".into(), names.join(",").into()]
}

/// Of a boot: by FNV-1a of what names it, so that it depends neither on the other schedulers nor on the compiler.
fn seed(base: u32, scheduler: &str, number: usize) -> u32 {
    let named = format!("{base}/{scheduler}/{number}");
    named.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_boot_has_a_seed_of_its_own() {
        let mut seeds: Vec<u32> = ["stock", "stock again", "rr"]
            .iter()
            .flat_map(|name| {
                (0..2).flat_map(move |base| (0..100).map(move |number| seed(base, name, number)))
            })
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 600);
        assert_eq!(seed(0, "rr", 0), seed(0, "rr", 0));
    }

    #[test]
    fn guests_fit_into_this_machine() {
        let cpus = thread::available_parallelism().unwrap().get();
        assert!((1..=cpus).contains(&guests_at_a_time(1)));
        assert_eq!(guests_at_a_time(u64::MAX), 1);
    }
}
