//! Hardware counters beside whatever source records.

use super::header::unavailable;
use super::{Progress, Run};
use crate::error::RecordError;
use crate::options::Target;
use crate::sources::perf::counters::{COLUMNS, Counter, Counters, Root};
use crate::task_info;
use std::io;
use std::time::Duration;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{Header, Lost};
use swtch_trace::tables::SwitchRow;

/// A run, and counters of its tasks.
pub(super) struct CountedRun {
    run: Box<dyn Run>,
    counters: Result<Counters, String>,
}

impl CountedRun {
    /// Opens the counters of the target beside `run`. For a command, the calling thread is the one to start it.
    pub(super) fn begin(run: Box<dyn Run>, target: &Target, counters: [Counter; 2]) -> Self {
        let opened = match target {
            Target::Command(_) => Counters::open(counters, &[Root::Started]),
            Target::Processes(pids) => {
                let tids = pids.iter().flat_map(|pid| task_info::threads(*pid));
                Counters::open(counters, &tids.map(Root::Task).collect::<Vec<_>>())
            }
            Target::Machine | Target::Cgroup(_) => {
                let why =
                    "hardware counters are read for a command and for processes (-p); not of others' tasks";
                return Self { run, counters: Err(why.to_owned()) };
            }
        };
        Self { run, counters: opened.map_err(|error| why_not(&error)) }
    }
}

/// Why, where the kernel has no driver for any.
const NONE: &str = "this machine has no hardware counters; 'swtch doctor' says what would give it some";

fn why_not(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            format!("hardware counters are not permitted here: {error}; kernel.perf_event_paranoid or a sandbox forbids them")
        }
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine has no hardware counters, or hides them; 'swtch doctor' says what would give it some"
                .to_owned()
        }
        _ => format!("hardware counters cannot be opened: {error}"),
    }
}

impl Run for CountedRun {
    fn before_start(&mut self) {
        self.run.before_start();
    }

    fn started(&mut self, pid: u32) -> Result<(), RecordError> {
        self.run.started(pid)
    }

    fn look(&mut self) {
        self.run.look();
        if let Ok(counters) = &mut self.counters {
            counters.look();
        }
    }

    fn period(&self) -> Duration {
        self.run.period()
    }

    fn alive(&self) -> bool {
        self.run.alive()
    }

    fn switches(&mut self) -> Vec<SwitchRow> {
        self.run.switches()
    }

    fn finish(&mut self, end_ns: u64) {
        self.run.finish(end_ns);
        if let Ok(counters) = &mut self.counters {
            counters.look();
        }
    }

    fn fill(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        let mut tables = self.run.fill(now_ns, header);
        let counters = match &self.counters {
            Ok(counters) => counters,
            Err(why) => {
                // No target and no permission would give it some.
                let why = match header.host.kernel.hardware_counters {
                    Some(false) => NONE,
                    _ => why,
                };
                header.unavailable.extend(COLUMNS.iter().map(|column| unavailable(column, why)));
                return tables;
            }
        };
        counters.fill(&mut tables.tasks, header.provenance.started_monotonic_ns);
        let source = if counters.user_only() { "perf, in programs only" } else { "perf" };
        for column in COLUMNS {
            header.sources.insert(column.to_owned(), source.to_owned());
        }
        let mut counted = tables.tasks.iter().filter(|row| row.in_scope);
        if counted.any(|row| row.instructions.is_none() || row.cache_misses.is_none()) {
            let why = "missing for tasks that were made meanwhile and still ran at the end, and where the counters had no turn";
            header.unavailable.extend(COLUMNS.iter().map(|column| unavailable(column, why)));
        }
        if counters.lost() > 0 {
            let what =
                "ends of tasks with their hardware counters, because too many ended at once".to_owned();
            header.lost.push(Lost { cpu: None, events: counters.lost(), what });
        }
        tables
    }

    fn recent(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        self.run.recent(now_ns, header)
    }

    fn progress(&self) -> Progress {
        self.run.progress()
    }
}
