//! Waits behind something that can give way.

use super::Advice;
use crate::bill::{Bill, Inputs};
use crate::waits::{ProgramWaits, WaitPart};
use swtch_trace::tables::{InFront, SchedPolicy};
use swtch_units::format_ns;

/// Programs that are looked at, those that suffered most.
const PROGRAMS: usize = 3;
/// A part of a program's waiting that is smaller than this is not worth a change to what was in front.
const LEAST_SHARE: f64 = 0.2;
/// Nor is one that is a smaller part of the recording than this.
const LEAST_OF_DURATION: f64 = 0.02;
/// Above this part of the waiting, another CPU was idle often enough to take the task.
const IDLE_ENOUGH: f64 = 0.3;

/// What to do about waits, the most waiting first.
pub(super) fn shorter_waits(inputs: Inputs<'_>, bill: &Bill) -> Vec<Advice> {
    let Some(waits) = &bill.waits else { return Vec::new() };
    let least_ns = (LEAST_OF_DURATION * inputs.trace.header.duration_ns as f64) as u64;
    let online = inputs.trace.header.host.cpus.iter().filter(|cpu| cpu.online).count();
    // A program that only waits when it is preempted works longer; nothing of it comes late.
    let late = |program: &ProgramWaits| program.woken_ns >= program.preempted_ns;
    let programs = waits.programs.iter().enumerate().take(PROGRAMS);
    let programs =
        programs.filter(|(place, program)| *place == 0 || late(program)).map(|(_, program)| program);
    let parts = programs.flat_map(|waiting| waiting.behind.iter().map(move |part| (waiting, part)));
    let large = parts.filter(|(_, part)| part.share >= LEAST_SHARE && part.ns >= least_ns);
    let mut found: Vec<Advice> = large.filter_map(|(waiting, part)| of_part(waiting, part, online)).collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.saves_wait_ns));
    found
}

fn of_part(waiting: &ProgramWaits, part: &WaitPart, online: usize) -> Option<Advice> {
    let name = &waiting.program;
    let few_cpus = few_cpus(waiting, online);
    let (what, try_this) = match (part.cause, part.program.as_deref()) {
        (InFront::Interrupt, _) => (
            format!("interrupts run before {name}"),
            format!(
                "the interrupts on another CPU (/proc/irq/N/smp_affinity_list; RPS for packets), or {name} on another one (taskset)"
            ),
        ),
        (InFront::Task, Some(_)) if part.is_of(waiting) => (
            format!("the tasks of {name} wait for each other"),
            match few_cpus {
                Some(cpus) => {
                    format!("more CPUs for them (they may use {cpus}; taskset, cpuset), or fewer threads")
                }
                None => "fewer threads: no more that run at a time than there are CPUs".to_owned(),
            },
        ),
        (InFront::Task, Some(front)) if part.kernel_threads => (
            format!("the kernel's {front} runs before {name}"),
            format!("{name} on another CPU (taskset), or less of the work that {front} does"),
        ),
        (InFront::Task, Some(front)) => {
            (format!("{front} runs before {name}"), yielding(waiting, part, front, few_cpus.as_deref()))
        }
        _ => return None,
    };
    Some(Advice {
        what,
        evidence: evidence(waiting, part),
        try_this,
        cost: None,
        saving: format!("It takes away at most {} of waiting", format_ns(part.ns as f64)),
        saves_wait_ns: Some(part.ns),
    })
}

/// The CPUs that the program may use, where they are not all.
fn few_cpus(waiting: &ProgramWaits, online: usize) -> Option<String> {
    let allowed = waiting.cpus_allowed.as_ref()?;
    let count = allowed.parse::<swtch_units::CpuList>().ok()?.numbers().len();
    (count < online).then(|| format!("CPU {allowed} only"))
}

/// How another program can give way.
fn yielding(waiting: &ProgramWaits, part: &WaitPart, front: &str, few_cpus: Option<&str>) -> String {
    let idle = waiting.idle_elsewhere_ns.is_some_and(|ns| ns as f64 >= IDLE_ENOUGH * waiting.wait_ns as f64);
    let mut ways = Vec::new();
    if part.policy.is_some_and(SchedPolicy::is_realtime) {
        ways.push(format!("the ordinary class for {front} (chrt -o -p 0 PID), or shorter bursts"));
    } else if part.nice.unwrap_or(0) < waiting.nice.unwrap_or(0) {
        ways.push(format!("SCHED_IDLE for {front} (chrt -i -p 0 PID), or a higher nice value (renice)"));
    }
    match few_cpus {
        Some(cpus) => {
            ways.push(format!("more CPUs for {} (it may use {cpus}; taskset, cpuset)", waiting.program));
        }
        None if idle => ways.push(format!("{front} on a CPU of its own (taskset): another CPU was idle")),
        None => ways.push(format!("{front} on other CPUs (taskset, cpuset)")),
    }
    if ways.len() < 2 {
        ways.push(format!("SCHED_IDLE for {front} (chrt -i -p 0 PID) or a nice value (renice)"));
    }
    ways.join("; or ")
}

fn evidence(waiting: &ProgramWaits, part: &WaitPart) -> String {
    let idle = waiting.idle_elsewhere_ns.map_or(
        "whether another CPU was idle meanwhile is not known (-a records all CPUs)".to_owned(),
        |ns| {
            let share = 100.0 * ns as f64 / waiting.wait_ns.max(1) as f64;
            match &waiting.cpus_allowed {
                Some(_) => format!("for {share:.0} % of the waiting another CPU was idle that it may use"),
                None => format!(
                    "for {share:.0} % of the waiting another CPU was idle; whether it may use it is not known"
                ),
            }
        },
    );
    format!(
        "{} of the {} that {} waited, {:.0} %; {idle}",
        format_ns(part.ns as f64),
        format_ns(waiting.wait_ns as f64),
        waiting.program,
        100.0 * part.share
    )
}
