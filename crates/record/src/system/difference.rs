//! What happened between two snapshots.

use super::{CgroupCounters, CounterRow, CounterTable, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use swtch_trace::fields;
use swtch_trace::growth::Growth;
use swtch_trace::model::{CpuTime, Field, Pressure, Totals, Unavailable};

/// What happened between two snapshots. Where one of them lacks a figure, the difference lacks it too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// The time between the two, ns.
    pub length_ns: u64,
    /// Times of all CPUs together.
    pub total: CpuTime,
    /// Times of each CPU that was on at both ends.
    pub cpus: BTreeMap<u32, CpuTime>,
    /// Context switches of the whole machine.
    pub context_switches: Option<u64>,
    /// Hardware interrupts of the whole machine.
    pub interrupts_total: Option<u64>,
    /// Processes and threads created.
    pub forks: Option<u64>,
    /// Threads that ran or were ready to, at the end.
    pub procs_running: Option<u64>,
    /// Threads that waited for a disk, at the end.
    pub procs_blocked: Option<u64>,
    /// Hardware interrupts by line, of CPUs that were on at both ends.
    pub interrupts: Option<CounterTable>,
    /// Soft interrupts by kind.
    pub softirqs: Option<CounterTable>,
    /// Time in which work waited for a resource.
    pub pressure: Vec<Pressure>,
    /// The counters of the cgroup.
    pub cgroup: Option<CgroupCounters>,
    /// Counters that fell, which no honest counter does; times are not among them, for the kernel estimates those. What such a one gained
    /// counts as nothing.
    pub fell: u64,
    /// What is missing above, and why.
    pub unavailable: Vec<Unavailable>,
}

/// What happened between two snapshots, the earlier one first.
///
/// Times that went back, as the kernel's estimates of idle time may, count as nothing. A CPU that came or went has no
/// figures of its own, since what it counted outside the two snapshots is unknown; totals include it.
pub fn difference(earlier: &Snapshot, later: &Snapshot) -> Difference {
    let mut rows: BTreeSet<Unavailable> =
        earlier.unavailable.iter().chain(&later.unavailable).cloned().collect();
    came_and_went(earlier, later, &mut rows);
    let growth = Growth::default();
    let gain = |later: u64, earlier: u64| growth.of(earlier, later);
    let mut count = |what: Field, earlier: Option<u64>, later: Option<u64>| {
        let (earlier, later) = (earlier?, later?);
        if later < earlier {
            let why = format!(
                "the kernel's counter fell from {earlier} to {later}; was this a move to another machine?"
            );
            rows.insert(Unavailable::new(what, why));
        }
        let gained = gain(later, earlier);
        (later >= earlier).then_some(gained)
    };
    let context_switches =
        count(fields::MACHINE_CONTEXT_SWITCHES, earlier.context_switches, later.context_switches);
    let interrupts_total =
        count(fields::MACHINE_INTERRUPTS, earlier.interrupts_total, later.interrupts_total);
    let forks = count(fields::MACHINE_FORKS, earlier.forks, later.forks);
    let totals =
        |at: &Snapshot| Totals { cpu_ns: at.total, pressure: at.pressure.clone(), ..Totals::default() };
    let totals = totals(later).delta(&totals(earlier), &Growth::default());
    Difference {
        length_ns: later.monotonic_ns.saturating_sub(earlier.monotonic_ns),
        total: totals.cpu_ns,
        cpus: (later.cpus.iter())
            .filter_map(|(cpu, after)| Some((*cpu, cpu_time(earlier.cpus.get(cpu)?, after))))
            .collect(),
        context_switches,
        interrupts_total,
        forks,
        procs_running: later.procs_running,
        procs_blocked: later.procs_blocked,
        interrupts: tables(earlier.interrupts.as_ref(), later.interrupts.as_ref(), &mut rows, &growth),
        softirqs: tables(earlier.softirqs.as_ref(), later.softirqs.as_ref(), &mut rows, &growth),
        pressure: totals.pressure,
        cgroup: earlier.cgroup.as_ref().zip(later.cgroup.as_ref()).map(|(one, other)| other.both(one, gain)),
        fell: growth.fell(),
        unavailable: rows.into_iter().collect(),
    }
}

/// What a CPU did with its time, by the rule of the totals.
fn cpu_time(earlier: &CpuTime, later: &CpuTime) -> CpuTime {
    let totals = |cpu_ns: &CpuTime| Totals { cpu_ns: *cpu_ns, ..Totals::default() };
    totals(later).delta(&totals(earlier), &Growth::default()).cpu_ns
}

/// Says which CPUs came and which went.
fn came_and_went(earlier: &Snapshot, later: &Snapshot, rows: &mut BTreeSet<Unavailable>) {
    // A snapshot without any CPU lacks the file; its reason is there already.
    if earlier.cpus.is_empty() || later.cpus.is_empty() {
        return;
    }
    for (of, others, what) in [(later, earlier, "came online"), (earlier, later, "went offline")] {
        for cpu in of.cpus.keys().filter(|cpu| !others.cpus.contains_key(cpu)) {
            rows.insert(Unavailable::new(
                format!("cpu.{cpu}"),
                format!("CPU {cpu} {what} meanwhile; what it counted is in the totals only"),
            ));
        }
    }
}

fn tables(
    earlier: Option<&CounterTable>,
    later: Option<&CounterTable>,
    rows: &mut BTreeSet<Unavailable>,
    growth: &Growth,
) -> Option<CounterTable> {
    let (earlier, later) = (earlier?, later?);
    // Each CPU that both tables have, with its positions.
    let position = |cpu: &u32| earlier.cpus.iter().position(|earlier| earlier == cpu);
    let shared: Vec<(u32, usize, usize)> = (later.cpus.iter().enumerate())
        .filter_map(|(after, cpu)| Some((*cpu, position(cpu)?, after)))
        .collect();
    let before: BTreeMap<&str, &CounterRow> =
        earlier.rows.iter().map(|row| (row.line.as_str(), row)).collect();
    let now: BTreeSet<&str> = later.rows.iter().map(|row| row.line.as_str()).collect();
    for line in before.keys().filter(|line| !now.contains(*line)) {
        rows.insert(Unavailable::new(
            format!("interrupts.{line}"),
            format!("line {line} was given up meanwhile; what it counted is in the total only"),
        ));
    }
    let row = |after: &CounterRow| {
        // A line that is new has counted since it was asked for.
        let before = before.get(after.line.as_str());
        let count_before =
            |position: usize| before.and_then(|row| row.counts.get(position)).copied().unwrap_or(0);
        let gain = |(_, early, late): &(u32, usize, usize)| {
            Some(wrapped(count_before(*early), *after.counts.get(*late)?, growth))
        };
        let machine_before = before.and_then(|row| row.machine).unwrap_or(0);
        CounterRow {
            counts: shared.iter().filter_map(gain).collect(),
            machine: after.machine.map(|count| wrapped(machine_before, count, growth)),
            ..after.clone()
        }
    };
    Some(CounterTable {
        cpus: shared.iter().map(|(cpu, ..)| *cpu).collect(),
        rows: later.rows.iter().map(row).collect(),
    })
}

/// The growth of a counter that the kernel keeps in 32 bits (`struct irqstat`, `kernel_stat.softirqs`). One that fell wrapped, which is a
/// small step, or began again with another device, and then all of it is new. One that fell by less than half did neither: it fell.
fn wrapped(earlier: u64, later: u64, growth: &Growth) -> u64 {
    const PERIOD: u64 = 1 << 32;
    if later >= earlier {
        return later - earlier;
    }
    if earlier < PERIOD && PERIOD - earlier + later < PERIOD / 2 {
        return PERIOD - earlier + later;
    }
    if later > earlier / 2 {
        return growth.of(earlier, later);
    }
    later
}
