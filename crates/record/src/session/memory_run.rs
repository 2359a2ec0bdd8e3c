//! A recording of any source, with the memory that its tasks use between two switches where that is asked for.

use super::header::unavailable;
use super::{Progress, Run};
use crate::error::RecordError;
use crate::options::{Options, Target};
use crate::system::Cgroup;
use crate::working_set::{Whose, WorkingSets};
use std::time::Duration;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::Header;
use swtch_trace::tables::SwitchRow;

pub(super) struct MemoryRun {
    run: Box<dyn Run>,
    asked: bool,
    working_sets: Option<WorkingSets>,
    /// Why there are none.
    why: String,
}

impl MemoryRun {
    /// Begins to look at processes that are there; a command's later, when it is.
    pub(super) fn begin(run: Box<dyn Run>, options: &Options, group: Option<&Cgroup>) -> Self {
        let why = "not asked for; --working-set estimates it".to_owned();
        let mut new = Self { run, asked: options.working_set, working_sets: None, why };
        if !matches!(options.target, Target::Command(_)) {
            new.look_at(Whose::of(&options.target, group), false);
        }
        new
    }

    fn look_at(&mut self, whose: Whose, since_birth: bool) {
        if !self.asked {
            return;
        }
        match WorkingSets::begin(whose, since_birth) {
            Ok(begun) => self.working_sets = Some(begun),
            Err(error) => self.why = format!("no thread could be started to look at it: {error}"),
        }
    }
}

impl Run for MemoryRun {
    fn before_start(&mut self) {
        self.run.before_start();
    }

    fn started(&mut self, pid: u32) -> Result<(), RecordError> {
        self.run.started(pid)?;
        self.look_at(Whose::Descendants(vec![pid]), true);
        Ok(())
    }

    fn look(&mut self) {
        self.run.look();
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
        if let Some(working_sets) = &mut self.working_sets {
            working_sets.finish();
        }
        self.run.finish(end_ns);
    }

    fn fill(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        let mut tables = self.run.fill(now_ns, header);
        match &self.working_sets {
            Some(working_sets) => working_sets.fill(&mut tables.tasks, header),
            None => header.unavailable.push(unavailable("tasks.working_set_bytes", self.why.clone())),
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
