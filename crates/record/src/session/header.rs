//! What the header says beyond the source's own figures.

use super::{Observer, interrupts};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::{SourceKind, Target};
use crate::system::Difference;
use crate::workload::Workload;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swtch_topology::Host;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{
    CpuTime, Header, Origin, Pressure, Provenance, Reconciliation, Scope, Throttled, Unavailable,
};

/// A header for a recording that begins now.
pub(super) fn begin(target: &Target, host: Host, source: SourceKind, why: String) -> Header {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let provenance = Provenance {
        origin: Origin::Recorded,
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        recorder: match source {
            SourceKind::BpfEvents => "bpf-events".to_owned(),
            SourceKind::BpfCounts => "bpf-counts".to_owned(),
            SourceKind::Perf => "perf".to_owned(),
            SourceKind::Procfs => "procfs".to_owned(),
        },
        why,
        started_unix_ns: unix.map_or(0, |since| since.as_nanos() as u64),
        started_monotonic_ns: monotonic_ns(),
        ..Provenance::default()
    };
    let scope = match target {
        Target::Command(command) => Scope::Command {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            pid: 0,
        },
        Target::Processes(pids) => Scope::Processes { pids: pids.clone() },
        Target::Cgroup(path) => Scope::Cgroup { path: path.clone() },
        Target::Machine => Scope::Machine,
    };
    Header::new(provenance, host, scope)
}

/// A missing figure.
pub(crate) fn unavailable(what: &str, why: impl Into<String>) -> Unavailable {
    Unavailable { what: what.to_owned(), why: why.into() }
}

/// Waits for the command and collects it.
pub(super) fn collect(workload: Workload, observer: &mut dyn Observer) -> Result<Option<i32>, RecordError> {
    while !workload.ends_within(Duration::from_millis(100)) {
        match observer.signal() {
            Some(signal) => workload.signal(signal),
            // The recording was ended before the command, which goes on.
            None if observer.stop() => return Ok(None),
            None => {}
        }
    }
    let status = workload.collect();
    status.map(Some).map_err(|source| RecordError::System { doing: "waiting for the command", source })
}

/// The kernel's own counters over the same time.
pub(crate) fn add_system(system: &Difference, target: &Target, header: &mut Header, tables: &mut Tables) {
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
        header.sources.insert(what.to_owned(), "/proc/stat, the whole machine".to_owned());
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
    let rows = system.unavailable.iter().map(|row| unavailable(&row.what, row.why.clone()));
    header.unavailable.extend(rows);
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
