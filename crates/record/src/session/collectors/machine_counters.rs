//! The kernel's own counters over the time of a recording.

use super::collector::Collector;
use super::interrupts;
pub(crate) use super::interrupts::add as add_interrupts;
use crate::options::Target;
use crate::system::{Difference, Snapshot, difference};
use std::collections::BTreeMap;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{CpuTime, Header, Reconciliation};
use swtch_trace::tables::CpuRow;

/// The counters at the beginning and, once it is there, at the end.
pub(super) struct MachineCounters {
    begin: Snapshot,
    end: Option<Snapshot>,
    target: Target,
}

impl MachineCounters {
    pub(super) fn begin(begin: Snapshot, target: Target) -> Self {
        Self { begin, end: None, target }
    }
}

impl Collector for MachineCounters {
    fn finish(&mut self, end: &Snapshot) {
        self.end = Some(end.clone());
    }

    /// Adds nothing before the end: until then the sums of a Trace are the source's alone.
    fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        if let Some(end) = &self.end {
            add_machine_counters(&difference(&self.begin, end), &self.target, header, tables);
        }
    }
}

/// Enters the kernel's counters as they are, since the machine was started, into the tables of a watch. A CPU that is on has a row, and
/// its times.
pub(crate) fn add_machine_state(system: &Snapshot, header: &mut Header, tables: &mut Tables) {
    header.totals.cpu_ns = system.total;
    header.totals.pressure.clone_from(&system.pressure);
    header.unavailable.extend(system.unavailable.iter().cloned());
    let mut rows: BTreeMap<u32, CpuRow> = tables.cpus.drain(..).map(|row| (row.cpu, row)).collect();
    for (cpu, times) in &system.cpus {
        enter_times(times, rows.entry(*cpu).or_insert_with(|| CpuRow { cpu: *cpu, ..CpuRow::default() }));
    }
    tables.cpus = rows.into_values().collect();
}

fn enter_times(times: &CpuTime, row: &mut CpuRow) {
    row.user_ns = times.user;
    row.system_ns = times.system;
    row.irq_ns = times.irq;
    row.softirq_ns = times.softirq;
    row.steal_ns = times.steal;
    row.iowait_ns = times.iowait;
    row.idle_ns = times.idle.unwrap_or(0);
}

/// The kernel's own counters over the same time.
fn add_machine_counters(system: &Difference, target: &Target, header: &mut Header, tables: &mut Tables) {
    header.totals.cpu_ns = system.total;
    header.totals.pressure.clone_from(&system.pressure);
    for row in &mut tables.cpus {
        if let Some(times) = system.cpus.get(&row.cpu) {
            enter_times(times, row);
        }
    }
    for what in ["totals.cpu_ns", "cpus.user_ns", "cpus.system_ns", "cpus.idle_ns", "cpus.steal_ns"] {
        header.set_source(what, "/proc/stat, the whole machine");
    }
    if *target == Target::Machine {
        reconcile(system, header);
        interrupts::reconcile(system, header);
    }
    add_interrupts(system, header, tables);
    header.totals.throttled = system.cgroup.as_ref().and_then(|group| group.throttling);
    header.unavailable.extend(system.unavailable.iter().cloned());
}

/// Compares our count of switches with the kernel's.
fn reconcile(system: &Difference, header: &mut Header) {
    let totals = &header.totals.context_switches;
    let (Some(kernel), Some(voluntary), Some(involuntary), Some(idle)) =
        (system.context_switches, totals.voluntary, totals.involuntary, totals.idle)
    else {
        return;
    };
    header.reconciliation.push(Reconciliation {
        what: "context switches".to_owned(),
        counted: voluntary + involuntary + idle,
        kernel,
        source: "/proc/stat ctxt".to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_topology::Host;
    use swtch_trace::model::{Provenance, Scope};

    #[test]
    fn cpus_that_are_on_have_their_times_and_all_have_their_switches() {
        let mut system = Snapshot::default();
        system.cpus.insert(0, CpuTime { user: Some(5), ..CpuTime::default() });
        system.cpus.insert(2, CpuTime::default());
        let counted = vec![
            CpuRow { cpu: 1, switches: 7, ..CpuRow::default() },
            CpuRow { cpu: 2, switches: 9, ..CpuRow::default() },
        ];
        let found = |system: &Snapshot| {
            let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
            let mut tables = Tables { cpus: counted.clone(), ..Tables::default() };
            add_machine_state(system, &mut header, &mut tables);
            tables.cpus
        };
        let figures: Vec<_> = found(&system).iter().map(|row| (row.cpu, row.switches, row.user_ns)).collect();
        assert_eq!(figures, [(0, 0, Some(5)), (1, 7, None), (2, 9, None)]);
        assert_eq!(found(&Snapshot::default()), counted);
    }
}
