//! Job arrays of SLURM: each task is a worker on the directory. Which task takes which shard is not SLURM's concern, so that a task that was
//! requeued needs nothing of its first attempt.

use crate::error::Error;
use crate::state::Opened;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Seconds between the signal and the time limit.
const SIGNAL_S: u32 = 90;
/// Work for one task, CPU seconds.
const TASK_S: f64 = 600.0;
/// Most tasks, unless a number was given.
const MOST_TASKS: usize = 64;
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Most looks in a row at which SLURM may be silent.
const SILENT_LOOKS: u32 = 60;

/// What is submitted.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The partition; SLURM's own choice when absent.
    pub partition: Option<String>,
    /// Tasks of the array; by the predicted cost when absent.
    pub tasks: Option<usize>,
    /// Workers of each task, a CPU each.
    pub jobs: usize,
    /// The time limit of a task as SLURM writes it.
    pub time: Option<String>,
    /// More options of sbatch.
    pub more: Vec<String>,
}

impl Job {
    /// How many tasks the array has.
    fn tasks(&self, opened: &Opened) -> usize {
        let needed = (opened.manifest.predicted_s / TASK_S / self.jobs as f64).ceil() as usize;
        self.tasks.unwrap_or(needed.clamp(1, MOST_TASKS)).min(opened.manifest.shards.len()).max(1)
    }

    /// The batch script. The worker takes the shell's place, so that SLURM's signals reach it.
    pub fn script(&self, opened: &Opened, program: &Path, directory: &Path) -> String {
        let tasks = self.tasks(opened);
        let mut text = "#!/bin/sh\n".to_owned();
        let mut option = |name: &str, value: &str| {
            let equals = if value.is_empty() { "" } else { "=" };
            let _ = writeln!(text, "#SBATCH --{name}{equals}{value}");
        };
        option("job-name", "swtch-sweep");
        option("array", &format!("1-{tasks}"));
        option("cpus-per-task", &self.jobs.to_string());
        option("requeue", "");
        // One file for the whole array, to which a requeued task appends.
        option("output", &quoted(&directory.join("slurm-%A.log").display().to_string()));
        option("open-mode", "append");
        option("signal", &format!("B:TERM@{SIGNAL_S}"));
        for (name, value) in [("partition", &self.partition), ("time", &self.time)] {
            if let Some(value) = value {
                option(name, value);
            }
        }
        let _ = writeln!(
            text,
            "exec {} sweep work {} --jobs {} --start \"$SLURM_ARRAY_TASK_ID/{tasks}\"",
            quoted(&program.display().to_string()),
            quoted(&directory.display().to_string()),
            self.jobs
        );
        text
    }

    /// Submits the array and waits until all runs are done. Where a task's time was over before, it is submitted again, as long as that gets on.
    /// `progress`: called with the number of runs that are done.
    ///
    /// # Errors
    /// When SLURM refuses the job or does not answer, runs are left, or `stop` is set: then the job is cancelled, and its workers finish their runs.
    pub fn run(
        &self,
        opened: &Opened,
        program: &Path,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let directory =
            std::fs::canonicalize(&opened.directory).map_err(crate::error::reading(&opened.directory))?;
        let script = directory.join("slurm.sh");
        let text = self.script(opened, program, &directory);
        std::fs::write(&script, text).map_err(crate::error::writing(&script))?;
        let mut before = None;
        loop {
            let done = opened.state()?.done.len();
            if done == opened.manifest.runs {
                return Ok(());
            }
            if before == Some(done) {
                let left = opened.manifest.runs - done;
                let log = directory.join("slurm-*.log");
                return Err(Error::Worker(format!(
                    "the job has ended and {left} of {} runs are left; see {}",
                    opened.manifest.runs,
                    log.display()
                )));
            }
            before = Some(done);
            let job = self.submit(&script)?;
            follow(&job, opened, stop, progress)?;
        }
    }

    fn submit(&self, script: &PathBuf) -> Result<String, Error> {
        let mut command = Command::new("sbatch");
        command.arg("--parsable").args(&self.more).arg(script);
        let output = command.output().map_err(no_program("sbatch"))?;
        if !output.status.success() {
            return Err(Error::Worker(format!("sbatch refused the job: {}", last_line(&output))));
        }
        // ID, or ID;CLUSTER.
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.trim().split(';').next().unwrap_or_default().to_owned())
    }
}

/// Waits until all runs are done or the job has left the queue.
fn follow(job: &str, opened: &Opened, stop: &AtomicBool, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
    let mut silent = 0;
    loop {
        std::thread::sleep(LOOK_EVERY);
        let done = opened.state()?.done.len();
        progress(done);
        if stop.load(Ordering::Relaxed) {
            let cancelled = Command::new("scancel").arg(job).output().map_err(no_program("scancel"))?;
            let how = if cancelled.status.success() { "was cancelled" } else { "could not be cancelled" };
            return Err(Error::Worker(format!(
                "interrupted: job {job} {how}; {done} of {} runs are done, and the same command continues",
                opened.manifest.runs
            )));
        }
        let output = Command::new("squeue").args(["--noheader", "--format=%T", "--jobs", job]).output();
        let output = output.map_err(no_program("squeue"))?;
        if output.status.success() {
            silent = 0;
            if output.stdout.iter().all(u8::is_ascii_whitespace) {
                return Ok(());
            }
        } else if last_line(&output).contains("Invalid job id") {
            // It ended long enough ago to be forgotten.
            return Ok(());
        } else {
            silent += 1;
        }
        if done == opened.manifest.runs {
            return Ok(());
        }
        if silent >= SILENT_LOOKS {
            return Err(Error::Worker(format!(
                "SLURM does not answer ({}); {done} of {} runs are done, job {job} may go on, and the same command continues",
                last_line(&output),
                opened.manifest.runs
            )));
        }
    }
}

fn no_program(name: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::File { what: format!("cannot run {name}, a program of SLURM"), source }
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// For a shell: also where a path has spaces.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Manifest, Shard};

    fn opened(predicted_s: f64, shards: u64) -> Opened {
        let shard = |first| Shard { first, last: first, predicted_s: predicted_s / shards as f64 };
        let shards: Vec<Shard> = (0..shards).map(shard).collect();
        let manifest = Manifest::new(
            "x".to_owned(),
            shards.len() as u64,
            "grid.toml".into(),
            None,
            std::collections::BTreeMap::new(),
            60.0,
            shards,
        );
        Opened { directory: "it's here".into(), manifest }
    }

    #[test]
    fn the_script_packs_shards_and_gives_the_signal_to_the_worker() {
        let job = Job { partition: Some("long".to_owned()), jobs: 4, ..Job::default() };
        let opened = opened(10_000.0, 700);
        let text = job.script(&opened, Path::new("/opt/swtch"), &opened.directory);
        let expected = "#!/bin/sh\n#SBATCH --job-name=swtch-sweep\n#SBATCH --array=1-5\n#SBATCH --cpus-per-task=4\n\
            #SBATCH --requeue\n#SBATCH --output='it'\\''s here/slurm-%A.log'\n#SBATCH --open-mode=append\n\
            #SBATCH --signal=B:TERM@90\n#SBATCH --partition=long\n\
            exec '/opt/swtch' sweep work 'it'\\''s here' --jobs 4 --start \"$SLURM_ARRAY_TASK_ID/5\"\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn there_are_no_more_tasks_than_shards() {
        let tasks = |predicted, shards, tasks| {
            Job { tasks, jobs: 1, ..Job::default() }.tasks(&opened(predicted, shards))
        };
        assert_eq!(tasks(1.0, 3, None), 1);
        assert_eq!(tasks(1e6, 10_000, None), 64);
        assert_eq!(tasks(1e6, 10, None), 10);
        assert_eq!(tasks(1.0, 3, Some(2)), 2);
        assert_eq!(tasks(1.0, 3, Some(200)), 3);
    }
}
