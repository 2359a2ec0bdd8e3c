//! `/proc/stat` (fs/proc/stat.c, Linux 6.18).

use super::Snapshot;
use swtch_trace::fields;
use swtch_trace::model::{CpuTime, Unavailable};

/// `user nice system idle iowait irq softirq steal guest guest_nice`; a guest's time is also in `user`. Old kernels and imitations end earlier.
/// Times are in steps of a tick (10 ms). Idle and waiting for a disk are estimates of the kernel and may go back a little.
fn cpu_time(fields: &str, tick_ns: u64) -> CpuTime {
    let times: Vec<Option<u64>> = fields
        .split_whitespace()
        .map(|field| Some(field.parse::<u64>().ok()?.saturating_mul(tick_ns)))
        .collect();
    let time = |index: usize| times.get(index).copied().flatten();
    CpuTime {
        user: time(0).map(|user| user.saturating_add(time(1).unwrap_or(0))),
        system: time(2),
        idle: time(3),
        iowait: time(4),
        irq: time(5),
        softirq: time(6),
        steal: time(7),
    }
}

/// Parses the file; lines that are not understood are passed over.
pub(super) fn parse(text: &str, tick_ns: u64) -> Snapshot {
    let mut stat = Snapshot::default();
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        // `intr` goes on with a number for every line; the first is the sum.
        let first = || rest.split_whitespace().next()?.parse().ok();
        match key {
            "cpu" => stat.total = cpu_time(rest, tick_ns),
            "ctxt" => stat.context_switches = first(),
            "intr" => stat.interrupts_total = first(),
            "processes" => stat.forks = first(),
            "procs_running" => stat.procs_running = first(),
            "procs_blocked" => stat.procs_blocked = first(),
            _ => {
                if let Some(cpu) = key.strip_prefix("cpu").and_then(|number| number.parse().ok()) {
                    stat.cpus.insert(cpu, cpu_time(rest, tick_ns));
                }
            }
        }
    }
    stat
}

/// This many interrupts take some time: ten ticks at a microsecond each. A kernel that shows no time for them did not measure it.
const INTERRUPTS_THAT_TAKE_TIME: u64 = 100_000;

/// Parses the file and takes out what cannot be true: figures that are zero though they cannot be.
pub(super) fn judged(
    text: Result<String, String>,
    tick_ns: u64,
    unavailable: &mut Vec<Unavailable>,
) -> Snapshot {
    let text = text.unwrap_or_else(|why| {
        unavailable.push(Unavailable::new(fields::MACHINE, why));
        String::new()
    });
    if text.is_empty() {
        return Snapshot::default();
    }
    let mut stat = parse(&text, tick_ns);
    no_interrupt_time(&mut stat, unavailable);
    for (what, line, value) in [
        (fields::MACHINE_CONTEXT_SWITCHES, "ctxt", &mut stat.context_switches),
        (fields::MACHINE_INTERRUPTS, "intr", &mut stat.interrupts_total),
        (fields::MACHINE_FORKS, "processes", &mut stat.forks),
        // The reader of the file is running.
        (fields::MACHINE_PROCS_RUNNING, "procs_running", &mut stat.procs_running),
    ] {
        match value {
            None => unavailable.push(Unavailable::new(what, format!("/proc/stat has no line '{line}'"))),
            Some(0) => {
                *value = None;
                unavailable.push(Unavailable::new(what, constant_zero(line)));
            }
            Some(_) => {}
        }
    }
    if stat.procs_blocked.is_none() {
        unavailable
            .push(Unavailable::new(fields::MACHINE_PROCS_BLOCKED, "/proc/stat has no line 'procs_blocked'"));
    }
    let CpuTime { user, system, irq, softirq, idle, steal, iowait } = stat.total;
    if [user, system, irq, softirq, idle, steal, iowait].into_iter().flatten().all(|ns| ns == 0) {
        stat.total = CpuTime::default();
        stat.cpus.clear();
        unavailable.push(Unavailable::new(fields::MACHINE_CPU_NS, constant_zero("cpu")));
    }
    stat
}

fn constant_zero(line: &str) -> String {
    format!(
        "'{line}' in /proc/stat is zero, which cannot be: this kernel, perhaps a sandbox, does not count it"
    )
}

/// Without CONFIG_IRQ_TIME_ACCOUNTING a tick practically never falls into an interrupt, so the time stays zero.
fn no_interrupt_time(stat: &mut Snapshot, unavailable: &mut Vec<Unavailable>) {
    let many = stat.interrupts_total.is_some_and(|count| count >= INTERRUPTS_THAT_TAKE_TIME);
    if !many || stat.total.irq != Some(0) {
        return;
    }
    for times in stat.cpus.values_mut().chain([&mut stat.total]) {
        times.irq = None;
    }
    unavailable.push(Unavailable::new(
        fields::CPU_IRQ_NS,
        "the kernel counts hardware interrupts and no time in them; it is built without CONFIG_IRQ_TIME_ACCOUNTING",
    ));
}
