//! Hardware counters of the tasks.

use super::collector::Collector;
use crate::options::Target;
use crate::sources::perf::counters::{COLUMNS, Counters, HARDWARE, Root};
use crate::system::Snapshot;
use crate::task_info;
use std::io;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{Header, Lost};

/// Counters of the target's tasks, or why there are none.
pub(super) struct HardwareCounters(Result<Counters, String>);

impl HardwareCounters {
    /// Opens the counters of the target. For a command, the calling thread is the one to start it.
    pub(super) fn begin(target: &Target) -> Self {
        let opened = match target {
            Target::Command(_) => Counters::open(HARDWARE, &[Root::Started]),
            Target::Processes(pids) => {
                let tids = pids.iter().flat_map(|pid| task_info::threads(*pid));
                Counters::open(HARDWARE, &tids.map(Root::Task).collect::<Vec<_>>())
            }
            Target::Machine | Target::Cgroup(_) => {
                let why =
                    "hardware counters are read for a command or for processes (-p), not for other tasks";
                return Self(Err(why.to_owned()));
            }
        };
        Self(opened.map_err(|error| why_not(&error)))
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

impl Collector for HardwareCounters {
    fn poll(&mut self, _: u64) {
        if let Ok(counters) = &mut self.0 {
            counters.poll();
        }
    }

    fn finish(&mut self, _: &Snapshot) {
        self.poll(0);
    }

    fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        let counters = match &self.0 {
            Ok(counters) => counters,
            Err(why) => {
                // No target and no permission would give it some.
                let why = match header.host.kernel.hardware_counters {
                    Some(false) => NONE,
                    _ => why,
                };
                header.miss_all(COLUMNS, why);
                return;
            }
        };
        counters.fill(&mut tables.tasks, header.provenance.started_monotonic_ns);
        let source = if counters.user_only() { "perf, in programs only" } else { "perf" };
        for column in COLUMNS {
            header.set_source(column.as_str(), source);
        }
        let mut counted = tables.tasks.iter().filter(|row| row.in_scope);
        if counted.any(|row| row.instructions.is_none() || row.cache_misses.is_none()) {
            let why = "missing for tasks that started during the recording and still ran at its end, and where the counters were not scheduled";
            header.miss_all(COLUMNS, why);
        }
        if counters.lost() > 0 {
            let what =
                "ends of tasks with their hardware counters, because too many ended at once".to_owned();
            header.lost.push(Lost { cpu: None, events: counters.lost(), what });
        }
    }
}
