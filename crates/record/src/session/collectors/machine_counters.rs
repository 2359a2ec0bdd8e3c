//! The kernel's own counters over the time of a recording.

use super::collector::Collector;
use super::interrupts;
use crate::options::Target;
use crate::system::{Difference, Snapshot, difference};
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{CpuTime, Header, Pressure, Reconciliation, Throttled};

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

/// The kernel's own counters over the same time.
pub(crate) fn add_machine_counters(
    system: &Difference,
    target: &Target,
    header: &mut Header,
    tables: &mut Tables,
) {
    header.totals.cpu_ns = CpuTime {
        user: system.total.user_ns,
        system: system.total.system_ns,
        irq: system.total.irq_ns,
        softirq: system.total.softirq_ns,
        idle: system.total.idle_ns,
        steal: system.total.steal_ns,
        iowait: system.total.iowait_ns,
    };
    for row in &mut tables.cpus {
        let Some(cpu) = system.cpus.get(&row.cpu) else { continue };
        row.user_ns = cpu.user_ns;
        row.system_ns = cpu.system_ns;
        row.irq_ns = cpu.irq_ns;
        row.softirq_ns = cpu.softirq_ns;
        row.steal_ns = cpu.steal_ns;
        row.iowait_ns = cpu.iowait_ns;
        row.idle_ns = cpu.idle_ns.unwrap_or(0);
    }
    for what in ["totals.cpu_ns", "cpus.user_ns", "cpus.system_ns", "cpus.idle_ns", "cpus.steal_ns"] {
        header.set_source(what, "/proc/stat, the whole machine");
    }
    if *target == Target::Machine {
        reconcile(system, header);
        interrupts::reconcile(system, header);
    }
    interrupts::add(system, header, tables);
    let throttling = system.cgroup.as_ref().and_then(|group| group.throttling);
    header.totals.throttled = throttling.map(|throttling| Throttled {
        periods: throttling.periods,
        throttled_periods: throttling.throttled_periods,
        throttled_ns: throttling.throttled_ns,
    });
    header.totals.pressure = system
        .pressure
        .iter()
        .map(|(resource, pressure)| Pressure {
            resource: resource.name().to_owned(),
            some_ns: pressure.some_ns,
            full_ns: pressure.full_ns,
        })
        .collect();
    header.unavailable.extend(system.unavailable.iter().cloned());
}

/// Sets our count of switches beside the kernel's.
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
