//! The memory that tasks use between two switches, where that is asked for.

use super::collector::Collector;
use crate::options::{Options, Target, TargetTasks};
use crate::system::{Cgroup, Snapshot};
use crate::working_set::WorkingSets;
use swtch_trace::accumulate::Tables;
use swtch_trace::fields;
use swtch_trace::model::Header;

/// The estimate, or why there is none.
pub(super) struct WorkingSetEstimate {
    asked: bool,
    drop_capabilities: bool,
    estimated: Result<WorkingSets, String>,
}

impl WorkingSetEstimate {
    /// Begins with processes that are there; a command's later, when it is.
    pub(super) fn begin(options: &Options, group: Option<&Cgroup>) -> Self {
        let estimated = Err("not asked for; --working-set estimates it".to_owned());
        let (asked, drop_capabilities) = (options.working_set, options.drop_capabilities);
        let mut new = Self { asked, drop_capabilities, estimated };
        if !matches!(options.target, Target::Command(_)) {
            new.estimate(TargetTasks::of(&options.target, group), false);
        }
        new
    }

    fn estimate(&mut self, processes: TargetTasks, since_birth: bool) {
        if self.asked {
            let begun = WorkingSets::begin(processes, since_birth, self.drop_capabilities);
            self.estimated =
                begun.map_err(|error| format!("no thread could be started to look at it: {error}"));
        }
    }
}

impl Collector for WorkingSetEstimate {
    fn started(&mut self, pid: u32) {
        self.estimate(TargetTasks::Processes(vec![pid]), true);
    }

    fn finish(&mut self, _: &Snapshot) {
        if let Ok(working_sets) = &mut self.estimated {
            working_sets.finish();
        }
    }

    fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        match &self.estimated {
            Ok(working_sets) => working_sets.fill(&mut tables.tasks, header),
            Err(why) => header.miss(fields::TASKS_WORKING_SET_BYTES, why.as_str()),
        }
    }
}
