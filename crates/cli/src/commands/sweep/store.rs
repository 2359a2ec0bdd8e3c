//! Sweeps in an object store. The Python package's program `swtch-sweep-store` speaks with it; here the sweep is a copy in the cache.

use crate::commands::external;
use crate::console::ProgressLine;
use crate::output::WrongUsage;
use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use swtch_sim::sweep::hash_of;
use swtch_sweep::{Opened, Supervised, Worked, array};

/// The program of the Python package that speaks with object stores.
const PROGRAM: &str = "swtch-sweep-store";
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Its exit status, as that of every command.
const WRONG: i32 = 2;

/// Where a sweep is.
pub(super) struct Place {
    /// As the command line has it.
    url: Option<String>,
    /// The directory, or the copy of what the store has.
    pub(super) directory: PathBuf,
}

/// What of a sweep is copied from the store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The plan, which need not be there.
    PlanIfAny,
    /// The plan, parts and the names of claims.
    All,
}

impl Place {
    pub(super) fn of(directory: &Path) -> anyhow::Result<Self> {
        let Some(url) = directory.to_str().filter(|text| text.contains("://")) else {
            return Ok(Self { url: None, directory: directory.to_owned() });
        };
        let cache = swtch_vm::cache_folder()
            .context("neither XDG_CACHE_HOME nor HOME says where to keep a copy of the sweep")?;
        let name = hash_of(url.trim_end_matches('/'));
        Ok(Self { url: Some(url.to_owned()), directory: cache.join("sweeps").join(name) })
    }

    /// Whether it is in an object store.
    pub(super) fn is_store(&self) -> bool {
        self.url.is_some()
    }

    /// The copy as the store is now; without effect for a directory.
    pub(super) fn pull(&self, what: What) -> anyhow::Result<()> {
        let Some(url) = &self.url else { return Ok(()) };
        let option = match what {
            What::PlanIfAny => "--may-be-missing",
            What::All => "--all",
        };
        let mut command = program()?;
        command.args(["pull", option, "--", url]).arg(&self.directory);
        ended(start(&mut command)?)
    }

    /// Puts the plan of the copy into the store.
    pub(super) fn push(&self) -> anyhow::Result<()> {
        let Some(url) = &self.url else { return Ok(()) };
        let mut command = program()?;
        command.args(["push", "--", url]).arg(&self.directory);
        ended(start(&mut command)?)
    }

    /// Opens what was copied, or the directory.
    pub(super) fn open(&self, what: What) -> anyhow::Result<Opened> {
        self.pull(what)?;
        Opened::open(&self.directory).map_err(super::error)
    }

    /// An error with the place in the store instead of that of its copy.
    pub(super) fn named(&self, error: anyhow::Error) -> anyhow::Error {
        let Some(url) = &self.url else { return error };
        let text = format!("{error:#}").replace(&self.directory.display().to_string(), url);
        if error.is::<WrongUsage>() { WrongUsage(text).into() } else { anyhow!(text) }
    }

    /// Workers on this machine until nothing in the store is left, or a signal came.
    pub(super) fn work(
        &self,
        jobs: Option<usize>,
        shards: Option<&[usize]>,
        runs: u64,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<Supervised> {
        let own = std::env::current_exe().context("cannot find this program")?;
        let mut command = program()?;
        command.args(["work", "--until-eof", "--jobs", &super::jobs_or_cores(jobs).to_string()]);
        command.arg("--swtch").arg(own).stdin(Stdio::piped());
        if let Some(shards) = shards {
            command.args(["--shards", &array(shards)]);
        }
        command.arg("--").args(&self.url);
        let mut child = start(&mut command)?;
        let said = child.stdout.take().context("no output of the program for object stores")?;
        let mut last = None;
        let over = AtomicBool::new(false);
        let over = &over;
        std::thread::scope(|scope| {
            let stdin = child.stdin.take();
            scope.spawn(move || {
                // It ends as on a signal when its standard input does, also when this process is killed.
                while !interrupted.load(Ordering::Relaxed) && !over.load(Ordering::Relaxed) {
                    std::thread::sleep(LOOK_EVERY);
                }
                drop(stdin);
            });
            let mut line = ProgressLine::new(super::TEMPLATE, Some(runs));
            for text in BufReader::new(said).lines().map_while(Result::ok) {
                match serde_json::from_str(&text) {
                    Ok(Said::Done { done }) => line.show(|bar| bar.set_position(done)),
                    Ok(Said::Worked { runs, failed, deaths, left }) => {
                        last = Some(Supervised { worked: Worked { runs, failed, left }, deaths });
                    }
                    Err(_) => {}
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        ended(child)?;
        last.with_context(|| format!("{PROGRAM} did not say what it did"))
    }
}

/// A line of the program.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Done { done: u64 },
    Worked { runs: u64, failed: u64, deaths: u64, left: bool },
}

fn program() -> anyhow::Result<Command> {
    let Some(program) = external::program(PROGRAM) else {
        return Err(WrongUsage(format!(
            "a sweep in an object store needs the program '{PROGRAM}', which is neither next to swtch nor on PATH: it is in the Python package; \
             pip install 'swtch[store]'"
        ))
        .into());
    };
    Ok(Command::new(program))
}

fn start(command: &mut Command) -> anyhow::Result<Child> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().with_context(|| format!("cannot run {PROGRAM}"))
}

/// Waits for its end; what it complains of is this command's own error.
fn ended(mut child: Child) -> anyhow::Result<()> {
    let mut complaint = String::new();
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(&mut complaint).with_context(|| format!("cannot follow {PROGRAM}"))?;
    }
    let status = child.wait().with_context(|| format!("cannot follow {PROGRAM}"))?;
    if status.success() {
        return Ok(());
    }
    let last = complaint.trim().lines().last().unwrap_or_default();
    let text = last.strip_prefix("swtch: ").unwrap_or(last).to_owned();
    match status.code() {
        Some(WRONG) => Err(WrongUsage(text).into()),
        _ if text.is_empty() => bail!("{PROGRAM} ended ({status}); the same command continues"),
        _ => bail!(text),
    }
}
