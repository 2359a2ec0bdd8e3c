//! Makes a Trace of what other recorders wrote down as text.
//!
//! Read are the text of `perf script` from what `perf sched record` recorded, and ftrace's own: `trace-cmd report` and
//! `/sys/kernel/tracing/trace`. Their lines become [events](swtch_trace::event), as a source of our own would see them, and go the same
//! way from there. What such a text does not say is unavailable, never zero.

mod body;
mod convert;
mod error;
mod figures;
mod line;
mod lines;
mod order;
mod summary;
mod tasks;
#[cfg(test)]
mod tests;

pub use error::ImportError;

use convert::Converter;
use line::Text;
use lines::Lines;
use std::io::Read;
use std::path::{Path, PathBuf};
use swtch_trace::Writer;
use swtch_trace::model::{Header, Provenance, Scope};

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `perf script`.
    PerfScript,
    /// `trace-cmd report` and `/sys/kernel/tracing/trace`.
    Ftrace,
}

impl Format {
    /// Its name in files: `perf-script` or `ftrace`.
    ///
    /// ```
    /// assert_eq!(swtch_record::import::Format::PerfScript.name(), "perf-script");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::PerfScript => "perf-script",
            Self::Ftrace => "ftrace",
        }
    }
}

/// What was found in a text, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All lines.
    pub lines: u64,
    /// Context switches.
    pub switches: u64,
    /// Wake-ups. A `sched_wakeup` that ends what a `sched_waking` began is the same one.
    pub wakeups: u64,
    /// Forks.
    pub forks: u64,
    /// Programs executed.
    pub execs: u64,
    /// Tasks that ended.
    pub exits: u64,
    /// Events that add nothing to a Trace, `sched_migrate_task` and `sched_stat_runtime` among them.
    pub other_events: u64,
    /// Lines that could not be understood, and were left out.
    pub malformed: u64,
    /// Events so far from their place in time that they were left out.
    pub misplaced: u64,
}

/// A Trace that was made of a text.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Totals and circumstances; the same is in the directory.
    pub header: Header,
    /// Whose text it was.
    pub format: Format,
    /// What was in it.
    pub counts: Counts,
    /// Where the Trace is.
    pub folder: PathBuf,
}

/// Reads `text`, called `name` in messages, and writes the Trace `directory`. An older Trace of that name is replaced when the new one is
/// whole. Memory is bounded by the number of tasks, not by that of lines.
///
/// ```
/// let text = "  <idle>-0  [001] d..2.  7.000001: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
///             next_comm=make next_pid=12 next_prio=120\n";
/// let place = tempfile::tempdir()?;
/// let directory = place.path().join("make.swtch");
/// let imported = swtch_record::import::import(text.as_bytes(), "trace.txt".as_ref(), &directory)?;
/// assert_eq!((imported.counts.switches, imported.counts.malformed), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the text cannot be read, is a recording in binary form, or has no switch in it; or when the Trace cannot be written.
pub fn import(text: impl Read, name: &Path, folder: &Path) -> Result<Imported, ImportError> {
    let mut lines = Lines::begin(text, name)?;
    let header = Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine);
    let mut converter = Converter::new(Writer::create_aside(folder, &header)?);
    while let Some(line) = lines.next_line()? {
        match line {
            // Longer than any line of such a text.
            None => converter.malformed(),
            Some(line) => match Text::of(&line) {
                Text::Remark => converter.remark(),
                Text::Lost { cpu, events } => converter.lost(cpu, events),
                Text::Malformed => converter.malformed(),
                Text::Event(event) => converter.take(&event)?,
            },
        }
    }
    let (header, format, counts) = converter.finish(name)?;
    Ok(Imported { header, format, counts, folder: folder.to_owned() })
}
