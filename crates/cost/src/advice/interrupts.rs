//! Interrupts of devices on the CPU that the tasks need most.

use super::Advice;
use crate::bill::{Bill, Inputs};
use crate::model::Range;
use std::collections::BTreeMap;
use swtch_trace::tables::{CpuRow, InterruptKind, InterruptRow};

/// A CPU with fewer tasks' time than this, as a share of the run, is not needed.
const LEAST_BUSY: f64 = 0.3;
/// So much of all device interrupts, or of the time in them, on one CPU is most of it.
const MOST_OF_THEM: f64 = 0.6;
/// Time in interrupts that stands out by itself, and that which does when most of them are here; as shares of the CPU's time.
const LEAST_TIME: f64 = 0.05;
const LEAST_TIME_OF_MOST: f64 = 0.01;
/// Where their time is not known: interrupts a second that stand out.
const LEAST_RATE: f64 = 5000.0;
/// Soft interrupts that devices cause. The others are each CPU's own.
const OF_DEVICES: [&str; 6] = ["NET_RX", "NET_TX", "BLOCK", "IRQ_POLL", "TASKLET", "HI"];

/// What devices did to one CPU.
#[derive(Clone, Copy, Default)]
struct Served {
    count: u64,
    ns: Option<u64>,
}

pub(super) fn on_the_busy_cpu(inputs: Inputs<'_>, bill: &Bill) -> Option<Advice> {
    let duration_ns = inputs.trace.header.duration_ns as f64;
    let (cpu, busy_ns) = busiest(&inputs.trace.cpus)?;
    if inputs.trace.cpus.len() < 2 || duration_ns <= 0.0 || busy_ns as f64 / duration_ns < LEAST_BUSY {
        return None;
    }
    let served = served(inputs);
    let here = *served.get(&cpu)?;
    let all: u64 = served.values().map(|one| one.count).sum();
    let of_all = here.count as f64 / (all as f64).max(1.0);
    let rate = here.count as f64 / (duration_ns / 1e9);
    let all_ns: u64 = served.values().filter_map(|one| one.ns).sum();
    let stands_out = match here.ns {
        Some(ns) => {
            let (part, of_time) = (ns as f64 / duration_ns, ns as f64 / (all_ns as f64).max(1.0));
            (of_all >= MOST_OF_THEM && part >= LEAST_TIME_OF_MOST)
                || (of_time >= MOST_OF_THEM && part >= LEAST_TIME)
        }
        None => of_all >= MOST_OF_THEM && rate >= LEAST_RATE,
    };
    if !stands_out {
        return None;
    }
    let took = here.ns.map_or(String::new(), |ns| {
        format!("; they and the work they leave took {:.1} % of its time", 100.0 * ns as f64 / duration_ns)
    });
    let line = largest(&inputs.trace.interrupts, cpu);
    let named = line.map_or(String::new(), |row| format!(", most of them {} ({})", row.line, row.name));
    let number = line.map_or("N", |row| &row.line);
    Some(Advice {
        saves_wait_ns: None,
        what: super::stands_out::INTERRUPTS.to_owned(),
        evidence: format!(
            "CPU {cpu} ran tasks for {:.0} % of the time, more than any other, and served {:.0} % of the device interrupts, {rate:.0} a \
             second{named}{took}",
            100.0 * busy_ns as f64 / duration_ns,
            100.0 * of_all,
        ),
        try_this: format!(
            "another CPU for the line (echo CPU > /proc/irq/{number}/smp_affinity_list, or irqbalance), its packets spread over CPUs \
             (RPS: rps_cpus of the queue), or the tasks elsewhere (taskset)"
        ),
        cost: here.ns.map(|ns| {
            let cpu_ns = bill.cpu_ns.max(busy_ns as f64);
            Range::exactly((ns as f64 / cpu_ns).min(1.0))
        }),
        saving: "The saving cannot be bounded: entering and leaving an interrupt, and the caches that it leaves cold, come on top"
            .to_owned(),
    })
}

/// The CPU on which tasks ran longest, and how long.
fn busiest(cpus: &[CpuRow]) -> Option<(u32, u64)> {
    let recorded = cpus.iter().any(|row| row.run_ns > 0);
    // Where the tasks' own time is not known by CPU, that of all tasks is.
    let time = |row: &CpuRow| if recorded { Some(row.run_ns) } else { Some(row.user_ns? + row.system_ns?) };
    cpus.iter().filter_map(|row| Some((row.cpu, time(row)?))).max_by_key(|(_, ns)| *ns)
}

fn is_device(row: &InterruptRow) -> bool {
    row.kind == InterruptKind::Hard && row.line.bytes().all(|byte| byte.is_ascii_digit())
}

/// The interrupts of devices on each CPU. The count is that of their lines. The time is that of their lines and of the soft interrupts they
/// cause. If the Trace has no such times, the kernel's accounting of all interrupts gives the time.
fn served(inputs: Inputs<'_>) -> BTreeMap<u32, Served> {
    let mut served: BTreeMap<u32, Served> = BTreeMap::new();
    let timed = inputs.trace.interrupts.iter().any(|row| row.cpu.is_some() && row.ns.is_some());
    for row in &inputs.trace.interrupts {
        let soft = row.kind == InterruptKind::Soft && OF_DEVICES.contains(&row.line.as_str());
        let Some(cpu) = row.cpu.filter(|_| soft || is_device(row)) else { continue };
        let one = served.entry(cpu).or_default();
        one.count += if soft { 0 } else { row.count };
        if timed {
            one.ns = Some(one.ns.unwrap_or(0) + row.ns.unwrap_or(0));
        }
    }
    if !timed {
        for row in &inputs.trace.cpus {
            // A kernel without that accounting shows zeros.
            let ns = row.irq_ns.unwrap_or(0) + row.softirq_ns.unwrap_or(0);
            if let Some(one) = served.get_mut(&row.cpu) {
                one.ns = (ns > 0).then_some(ns);
            }
        }
    }
    served
}

/// The line that interrupted a CPU most.
fn largest(rows: &[InterruptRow], cpu: u32) -> Option<&InterruptRow> {
    rows.iter().filter(|row| row.cpu == Some(cpu) && is_device(row)).max_by_key(|row| row.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::bill;
    use swtch_topology::Host;
    use swtch_trace::Tables;
    use swtch_trace::model::{Header, Provenance, Scope};
    use swtch_trace::tables::TaskRow;

    fn row(kind: InterruptKind, line: &str, cpu: u32, count: u64, ns: Option<u64>) -> InterruptRow {
        let name = if kind == InterruptKind::Hard { "nic-rx" } else { "" };
        InterruptRow { kind, line: line.into(), name: name.into(), cpu: Some(cpu), count, ns }
    }

    fn cpu(cpu: u32, run_ns: u64) -> CpuRow {
        CpuRow { cpu, run_ns, ..CpuRow::default() }
    }

    /// In a second of recording.
    fn advice(cpus: &[CpuRow], interrupts: &[InterruptRow]) -> Option<Advice> {
        let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
        header.duration_ns = 1_000_000_000;
        let task = TaskRow { in_scope: true, voluntary: 10, run_ns: 1_000_000_000, ..TaskRow::default() };
        let tasks = [task];
        let tables = Tables {
            tasks: tasks.to_vec(),
            interrupts: interrupts.to_vec(),
            cpus: cpus.to_vec(),
            ..Tables::default()
        };
        let inputs = Inputs { trace: tables.view(&header), model: None, price: None };
        on_the_busy_cpu(inputs, &bill(inputs))
    }

    #[test]
    fn the_busy_cpu_that_serves_a_device_is_named_with_its_line() {
        use InterruptKind::{Hard, Soft};
        let all = InterruptRow { cpu: None, ..row(Hard, "36", 0, 20_000, Some(40_000_000)) };
        let interrupts = [
            all,
            row(Hard, "36", 1, 19_000, Some(38_000_000)),
            row(Hard, "36", 0, 1000, Some(2_000_000)),
            row(Soft, "NET_RX", 1, 500, Some(22_000_000)),
            row(Hard, "LOC", 1, 90_000, Some(500_000_000)),
            row(Soft, "TIMER", 1, 900, Some(300_000_000)),
        ];
        let found = advice(&[cpu(0, 200_000_000), cpu(1, 800_000_000)], &interrupts).unwrap();
        let evidence = "CPU 1 ran tasks for 80 % of the time, more than any other, and served 95 % of the device interrupts, 19000 a \
                        second, most of them 36 (nic-rx); they and the work they leave took 6.0 % of its time";
        assert_eq!(found.evidence, evidence);
        assert!(found.try_this.contains("/proc/irq/36/smp_affinity_list"));
        assert!((found.cost.unwrap().high - 0.06).abs() < 1e-9, "{:?}", found.cost);
        // The interrupts are served on a CPU that the tasks do not need.
        assert_eq!(advice(&[cpu(0, 800_000_000), cpu(1, 200_000_000)], &interrupts), None);
        // The tasks need neither CPU.
        assert_eq!(advice(&[cpu(0, 0), cpu(1, 100_000_000)], &interrupts), None);
        assert_eq!(advice(&[cpu(1, 800_000_000)], &interrupts), None, "there is no other CPU");
    }

    #[test]
    fn few_and_short_interrupts_do_not_stand_out() {
        let cpus = [cpu(0, 200_000_000), cpu(1, 800_000_000)];
        let hard = |cpu, count, ns| row(InterruptKind::Hard, "36", cpu, count, ns);
        assert_eq!(advice(&cpus, &[hard(1, 900, Some(900_000)), hard(0, 10, Some(10_000))]), None);
        // Spread evenly.
        let even = [hard(1, 10_000, Some(20_000_000)), hard(0, 10_000, Some(20_000_000))];
        assert_eq!(advice(&cpus, &even), None);
        assert_eq!(advice(&cpus, &[]), None);
    }

    #[test]
    fn without_times_the_rate_decides_and_no_cost_is_given() {
        let hard = |cpu, count| row(InterruptKind::Hard, "36", cpu, count, None);
        let system = |number, user_ns, softirq_ns| CpuRow {
            cpu: number,
            user_ns: Some(user_ns),
            system_ns: Some(0),
            softirq_ns: Some(softirq_ns),
            ..CpuRow::default()
        };
        let cpus = [system(0, 100_000_000, 0), system(1, 700_000_000, 0)];
        assert_eq!(advice(&cpus, &[hard(1, 4000)]), None);
        let found = advice(&cpus, &[hard(1, 9000), hard(0, 1)]).unwrap();
        assert_eq!(found.cost, None);
        // With the kernel's own accounting of time in soft interrupts.
        let cpus = [system(0, 100_000_000, 1_000_000), system(1, 700_000_000, 200_000_000)];
        assert!(
            advice(&cpus, &[hard(1, 400), hard(0, 400)]).unwrap().evidence.contains("20.0 % of its time")
        );
    }
}
