//! What is read in addition to the source.

mod cgroups;
mod collector;
mod hardware_counters;
mod interrupts;
mod machine_counters;
mod stacks;
mod system_intervals;
mod working_sets;

use crate::options::{Options, Target};
use crate::system::{Cgroup, Detail, Snapshot};
pub(crate) use cgroups::CgroupSums;
pub(crate) use cgroups::NO_HIERARCHY;
pub(crate) use collector::Collector;
use hardware_counters::HardwareCounters;
use machine_counters::MachineCounters;
pub(crate) use machine_counters::{add_interrupts, add_machine_state};
use stacks::Stacks;
use std::path::Path;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::Header;
pub(crate) use system_intervals::SystemIntervals;
use working_sets::WorkingSetEstimate;

/// The collectors of a recording, in the order in which they add to the tables.
pub(crate) struct Collectors(Vec<Box<dyn Collector>>);

impl Collectors {
    /// Those that have to be there before a command is started: hardware counters are inherited by what this thread starts.
    pub(super) fn begin(options: &Options, group: Option<&Cgroup>) -> Self {
        let mut collectors: Vec<Box<dyn Collector>> = vec![
            Box::new(HardwareCounters::begin(&options.target)),
            Box::new(WorkingSetEstimate::begin(options, group)),
            Box::new(CgroupSums::begin()),
        ];
        if let Some(entries) = options.stacks {
            collectors.push(Box::new(Stacks::begin(options, group, entries)));
        }
        Self(collectors)
    }

    /// Those of a part of the time of a watch, from `begin` on.
    pub(super) fn of_part(begin: &Snapshot, cgroups: CgroupSums, intervals: SystemIntervals) -> Self {
        let options = Options::default();
        Self(vec![
            Box::new(HardwareCounters::begin(&options.target)),
            Box::new(WorkingSetEstimate::begin(&options, None)),
            Box::new(cgroups),
            Box::new(intervals),
            Box::new(MachineCounters::begin(begin.clone(), options.target)),
        ])
    }

    /// Adds those that count from now on, and tells all that the command runs.
    pub(super) fn start(&mut self, target: &Target, group: Option<&Cgroup>, pid: Option<u32>, start_ns: u64) {
        if let Some(pid) = pid {
            self.0.iter_mut().for_each(|collector| collector.started(pid));
        }
        let begin = Snapshot::read(Path::new("/"), group, Detail::Everything);
        self.0.push(Box::new(SystemIntervals::begin(start_ns, &begin, group)));
        self.0.push(Box::new(MachineCounters::begin(begin, target.clone())));
    }

    pub(super) fn poll(&mut self, now_ns: u64) {
        self.0.iter_mut().for_each(|collector| collector.poll(now_ns));
    }

    pub(super) fn finish(&mut self, end: &Snapshot) {
        self.0.iter_mut().for_each(|collector| collector.finish(end));
    }

    pub(super) fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        self.0.iter_mut().for_each(|collector| collector.add(header, tables));
    }
}
