//! From what was recorded to what is shown.

use std::time::{SystemTime, UNIX_EPOCH};
use swtch_record::{live, system};
use swtch_report::terminal::top::Snapshot;
use swtch_trace::model::{CpuTime, Pressure};
use swtch_trace::tables::CpuRow;

/// What a live recording knows, with the system's own counters in the places where a Trace has them.
pub(super) fn snapshot(recorded: live::Snapshot) -> Snapshot {
    let live::Snapshot { mut header, tables, system } = recorded;
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    header.totals.cpu_ns = CpuTime {
        user: system.total.user_ns,
        system: system.total.system_ns,
        irq: system.total.irq_ns,
        softirq: system.total.softirq_ns,
        idle: system.total.idle_ns,
        steal: system.total.steal_ns,
        iowait: system.total.iowait_ns,
    };
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
    let cpus = cpus(&system, &tables.cpus);
    Snapshot {
        at_ns: system.monotonic_ns,
        unix_ns: unix.map_or(0, |since| since.as_nanos() as u64),
        header,
        tasks: tables.tasks,
        cpus,
        wakes: tables.wakes,
        preemptions: tables.preemptions,
    }
}

/// Processors that are on; all that had a switch where the system does not say which those are.
fn cpus(system: &system::Snapshot, counted: &[CpuRow]) -> Vec<CpuRow> {
    if system.cpus.is_empty() {
        return counted.to_vec();
    }
    let row = |cpu: u32| counted.iter().find(|row| row.cpu == cpu).cloned();
    let on = system.cpus.iter().map(|(cpu, times)| CpuRow {
        user_ns: times.user_ns,
        system_ns: times.system_ns,
        irq_ns: times.irq_ns,
        softirq_ns: times.softirq_ns,
        steal_ns: times.steal_ns,
        iowait_ns: times.iowait_ns,
        idle_ns: times.idle_ns.unwrap_or(0),
        ..row(*cpu).unwrap_or(CpuRow { cpu: *cpu, ..CpuRow::default() })
    });
    on.collect()
}

/// The time of day, which is the same wherever the machine stands.
pub(super) fn clock(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_record::system::CpuTimes;

    #[test]
    fn processors_that_are_on_have_their_times_and_their_switches() {
        let mut system = system::Snapshot::default();
        system.cpus.insert(0, CpuTimes { user_ns: Some(5), ..CpuTimes::default() });
        system.cpus.insert(2, CpuTimes::default());
        let counted = [
            CpuRow { cpu: 1, switches: 7, ..CpuRow::default() },
            CpuRow { cpu: 2, switches: 9, ..CpuRow::default() },
        ];
        let found = cpus(&system, &counted);
        let figures: Vec<_> = found.iter().map(|row| (row.cpu, row.switches, row.user_ns)).collect();
        assert_eq!(figures, [(0, 0, Some(5)), (2, 9, None)]);
        assert_eq!(cpus(&system::Snapshot::default(), &counted).len(), 2);
    }

    #[test]
    fn the_clock_is_of_the_day() {
        assert_eq!(clock(86_400_000_000_000 * 3 + 3_723_000_000_000), "01:02:03 UTC");
    }
}
