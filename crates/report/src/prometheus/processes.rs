//! What single processes did: exact over all their threads. Only OTLP has them, whose convention is by process; the busiest have series.

use super::series_limiter::SeriesLimiter;
use std::collections::BTreeMap;
use swtch_trace::tables::TaskRow;

/// What a process did since it was noted first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessSums {
    /// Name of its program; absent where it ended before anyone could look.
    pub name: Option<String>,
    /// Voluntary switches of its threads.
    pub voluntary: u64,
    /// Involuntary ones.
    pub involuntary: u64,
}

/// The processes with series of their own.
#[derive(Clone, Debug)]
pub(super) struct Processes {
    limiter: SeriesLimiter,
    sums: BTreeMap<u32, ProcessSums>,
}

impl Processes {
    pub(super) fn new(most: usize) -> Self {
        Self { limiter: SeriesLimiter::new(most, true), sums: BTreeMap::new() }
    }

    /// Adds what tasks did up to `now_ns`. `program` names the program of a process that is there.
    pub(super) fn add<'a>(
        &mut self,
        tasks: impl Iterator<Item = &'a TaskRow>,
        program: &dyn Fn(u32) -> Option<String>,
        now_ns: u64,
    ) {
        if self.limiter.is_closed() {
            return;
        }
        let mut since: BTreeMap<u32, ProcessSums> = BTreeMap::new();
        for task in tasks.filter(|task| !task.kernel_thread) {
            let process = since.entry(task.pid).or_default();
            process.voluntary += task.voluntary;
            process.involuntary += task.involuntary;
            if task.tid == task.pid {
                process.name = Some(task.comm.clone());
            }
        }
        let names: Vec<String> = since.keys().map(u32::to_string).collect();
        let did = since.values().map(|process| process.voluntary + process.involuntary);
        self.limiter.note_all(names.iter().map(String::as_str).zip(did), now_ns);
        for (name, (pid, more)) in names.iter().zip(since) {
            if !self.limiter.has(name) {
                continue;
            }
            let sums = self.sums.entry(pid).or_default();
            if sums.name.is_none() {
                sums.name = program(pid).or(more.name);
            }
            sums.voluntary = sums.voluntary.saturating_add(more.voluntary);
            sums.involuntary = sums.involuntary.saturating_add(more.involuntary);
        }
        for pid in self.limiter.review(now_ns) {
            if let Ok(pid) = pid.parse() {
                self.sums.remove(&pid);
            }
        }
    }

    /// Those with series, by their numbers.
    pub(super) fn sums(&self) -> &BTreeMap<u32, ProcessSums> {
        &self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_the_sum_of_its_threads_and_named_by_its_first() {
        let task = |tid, pid, comm: &str, voluntary| TaskRow {
            tid,
            pid,
            comm: comm.to_owned(),
            voluntary,
            involuntary: 1,
            ..TaskRow::default()
        };
        let mut processes = Processes::new(1);
        let tasks = [task(7, 7, "server", 10), task(8, 7, "worker", 5), task(9, 9, "quiet", 1)];
        processes.add(tasks.iter(), &|_| None, 1);
        processes.add(tasks[1..].iter(), &|_| Some("other".to_owned()), 2);
        let server = ProcessSums { name: Some("server".to_owned()), voluntary: 20, involuntary: 3 };
        assert_eq!(processes.sums(), &BTreeMap::from([(7, server)]), "there is room for one");
    }
}
