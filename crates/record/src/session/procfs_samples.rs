//! A recording by samples of `/proc`, for those who may do nothing else.

use super::source::{Progress, Source, Status, own_cost};
use crate::error::RecordError;
use crate::options::Target;
use crate::sources::procfs::{self, Collected, Counters, ProcfsError, Sampled, Sampler};
use crate::system::Cgroup;
use std::path::Path;
use std::time::Duration;
use swtch_trace::accumulate::{History, Tables};
use swtch_trace::fields;
use swtch_trace::model::{Header, MigrationTotals, ProcessTotals, SwitchTotals};
use swtch_trace::tables::SwitchRow;

pub(super) struct ProcfsSamples {
    /// None until the command is there, and after the end.
    sampler: Option<Sampler>,
    sampled: Option<Sampled>,
    collected: Option<Collected>,
    /// Voluntary and involuntary switches of threads that were forgotten.
    gone: (u64, u64),
    start_ns: u64,
    history: History,
}

impl ProcfsSamples {
    pub(super) fn begin(
        target: &Target,
        history: History,
        group: Option<&Cgroup>,
        header: &Header,
    ) -> Result<Self, RecordError> {
        let target = match target {
            Target::Command(_) => None,
            Target::Processes(pids) => Some(procfs::SampleTarget::Processes(pids.clone())),
            Target::Cgroup(_) => group.cloned().map(procfs::SampleTarget::Cgroup),
            Target::Machine => Some(procfs::SampleTarget::Machine),
        };
        let mut new = Self {
            sampler: target.map(|target| Sampler::new(Path::new("/"), target)).transpose()?,
            sampled: None,
            collected: None,
            gone: (0, 0),
            start_ns: header.provenance.started_monotonic_ns,
            history,
        };
        new.poll();
        Ok(new)
    }
}

impl Source for ProcfsSamples {
    fn launch(&mut self, start: &mut dyn FnMut() -> Result<u32, RecordError>) -> Result<(), RecordError> {
        let target = procfs::SampleTarget::Descendants { pid: start()?, since_birth: true };
        match Sampler::new(Path::new("/"), target) {
            Ok(sampler) => self.sampler = Some(sampler),
            // It was over before the first sample.
            Err(ProcfsError::NoProcess { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.poll();
        Ok(())
    }

    fn poll(&mut self) -> Vec<SwitchRow> {
        self.sampled = self.sampler.as_mut().map(Sampler::sample);
        Vec::new()
    }

    fn status(&self) -> Status {
        Status {
            period: self.sampler.as_ref().map_or(Duration::from_millis(100), Sampler::period),
            alive: self.sampled.as_ref().is_some_and(|sampled| sampled.alive),
            progress: Progress {
                tasks: self.sampled.as_ref().map_or(0, |sampled| sampled.threads),
                ..Progress::default()
            },
        }
    }

    fn finish(&mut self, _: u64) -> Vec<SwitchRow> {
        self.collected = self.sampler.take().map(Sampler::finish);
        Vec::new()
    }

    fn snapshot(&mut self, _: u64, header: &mut Header) -> Tables {
        header.recorder = own_cost(None);
        // Until the end the samples are with the sampler.
        let so_far = self.sampler.as_ref().map(Sampler::so_far);
        let Some(collected) = so_far.as_ref().or(self.collected.as_ref()) else {
            return Tables::default();
        };
        fill_totals(collected, self.gone, header);
        header.unavailable.clear();
        header.unavailable.extend(collected.unavailable.iter().cloned());
        let why = "samples of /proc do not see single events; BPF does";
        let unseen = [
            fields::SWITCHES,
            fields::WAKES,
            fields::PREEMPTIONS,
            fields::WAITS,
            fields::TASKS_IDLE_ELSEWHERE_NS,
            fields::TASKS_SPINNING,
            fields::TASKS_YIELDS,
            fields::TASKS_NICE,
            fields::HISTOGRAMS,
            fields::TASKS_WAKEUPS,
            fields::TASKS_WAIT_P50_NS,
        ];
        header.miss_all(unseen, why);
        for table in ["tasks", "intervals"] {
            header.set_source(table, "procfs");
        }
        for column in ["user_ns", "system_ns", "runnable"] {
            header.set_source(&format!("intervals.{column}"), "procfs, the recorded tasks");
        }
        let mut tables = Tables {
            tasks: collected.threads.iter().map(|thread| thread.row(self.start_ns)).collect(),
            intervals: collected.intervals.iter().map(|interval| interval.row(self.start_ns)).collect(),
            ..Tables::default()
        };
        if self.history == History::Recent {
            tables.intervals.clear();
            let ended = self.sampler.as_mut().map(Sampler::forget).unwrap_or_default();
            self.gone.0 += ended.iter().filter_map(|thread| thread.counted.voluntary).sum::<u64>();
            self.gone.1 += ended.iter().filter_map(|thread| thread.counted.involuntary).sum::<u64>();
        }
        tables
    }
}

fn fill_totals(collected: &Collected, gone: (u64, u64), header: &mut Header) {
    let sum = |of: fn(&Counters) -> Option<u64>| {
        let known: Vec<u64> = collected.threads.iter().filter_map(|thread| of(&thread.counted)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<u64>())
    };
    header.totals.context_switches = SwitchTotals {
        voluntary: sum(|counted| counted.voluntary).map(|sum| sum + gone.0),
        involuntary: sum(|counted| counted.involuntary).map(|sum| sum + gone.1),
        idle: None,
    };
    // The kernel does not say of which kind they were.
    header.totals.migrations = MigrationTotals::default();
    header.totals.processes =
        ProcessTotals { peak: Some(collected.processes_peak), ..ProcessTotals::default() };
    header.totals.threads_created = collected.threads_created;
}
