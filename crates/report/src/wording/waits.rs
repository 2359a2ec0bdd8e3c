//! Waits for a CPU in words: the same ones in the terminal and on the page.

use super::text::{count as grouped, joined};
use super::wrap::paragraph;
use swtch_cost::{ProgramWaits, WaitPart, Waits};
use swtch_trace::tables::{InFront, SchedPolicy};
use swtch_units::format_ns;

/// Parts that are named beside the largest.
const PARTS: usize = 2;
/// Smaller parts of the waiting are not named.
const LEAST_SHARE: f64 = 0.05;

/// The headline of the waits, as lines for a terminal: the program that suffered most, how long it waited and behind what.
pub(crate) fn headline(waits: &Waits, duration_ns: u64) -> String {
    let Some(worst) = waits.worst() else { return String::new() };
    let behind = worst.behind.first().map_or(String::new(), |part| {
        format!(", {} of it ({:.0} %) {}", time(part.ns), 100.0 * part.share, place(part, worst))
    });
    let first = format!(
        "{} waited {} for a CPU in {}{behind}.",
        worst.program,
        time(worst.wait_ns),
        time(duration_ns)
    );
    let first = paragraph("", &first, 2);
    let rest = worst.behind.iter().skip(1).filter(|part| part.share >= LEAST_SHARE).take(PARTS);
    let rest: Vec<String> = rest
        .map(|part| format!("{} ({:.0} %) {}", time(part.ns), 100.0 * part.share, place(part, worst)))
        .collect();
    let rest = if rest.is_empty() { String::new() } else { format!(" Also {}.", joined(&rest)) };
    let details = format!(
        "Its waits: {}{} after wake-ups, {} after preemptions.{rest} {}",
        quantiles([worst.p50_ns, worst.p99_ns, worst.max_ns]),
        time(worst.woken_ns),
        time(worst.preempted_ns),
        elsewhere(worst)
    );
    let all = format!(
        "All tasks waited {} times: {}in all {}.",
        grouped(waits.waits),
        quantiles([waits.p50_ns, waits.p99_ns, waits.max_ns]),
        time(waits.wait_ns)
    );
    let of = match &waits.longest_of {
        Some(longest) if *longest != worst.program => format!(" The longest was one of {longest}."),
        _ => String::new(),
    };
    format!("{first}{}{}", paragraph("", &details, 2), paragraph("", &format!("{all}{of}"), 2))
}

/// What had the CPU, with what there is to know of it.
pub(crate) fn place(part: &WaitPart, waiting: &ProgramWaits) -> String {
    match (part.cause, &part.program) {
        (InFront::Task, Some(_)) if part.is_of(waiting) => "behind its own tasks".to_owned(),
        (InFront::Task, Some(program)) => format!("behind {}{}", named(program), facts(part)),
        (InFront::Interrupt, _) => "behind interrupts".to_owned(),
        (InFront::Quota, _) => "while its cgroup's quota stopped it".to_owned(),
        (InFront::Idle, _) => "for an idle CPU to wake up, or in another CPU's run queue".to_owned(),
        _ => "behind what was not recorded".to_owned(),
    }
}

/// A task that was gone before it could be named has no name.
pub(crate) fn named(program: &str) -> &str {
    if program.is_empty() { "a task that was gone" } else { program }
}

/// ` (24 tasks, children of 23224, nice -10)`
fn facts(part: &WaitPart) -> String {
    let mut facts = Vec::new();
    if part.kernel_threads {
        facts.push("kernel".to_owned());
    }
    if part.tasks > 1 {
        facts.push(format!("{} tasks", grouped(part.tasks)));
    }
    facts.extend(part.parent_pid.map(|parent| format!("children of {parent}")));
    facts.extend(part.policy.filter(|policy| *policy != SchedPolicy::Other).map(|policy| policy.to_string()));
    facts.extend(part.nice.filter(|nice| *nice != 0).map(|nice| format!("nice {nice}")));
    if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) }
}

/// Whether another CPU was idle meanwhile.
fn elsewhere(worst: &ProgramWaits) -> String {
    let Some(ns) = worst.idle_elsewhere_ns else {
        return "Whether another CPU was idle meanwhile is not known; -a records all CPUs.".to_owned();
    };
    let share = 100.0 * ns as f64 / worst.wait_ns.max(1) as f64;
    match &worst.cpus_allowed {
        Some(cpus) => {
            format!("For {share:.0} % of it another CPU was idle that it may use (it may use {cpus}).")
        }
        None => format!("For {share:.0} % of it another CPU was idle; which CPUs it may use is not known."),
    }
}

fn quantiles(values: [Option<u64>; 3]) -> String {
    let known = ["p50", "p99", "longest"].into_iter().zip(values);
    let known: Vec<String> = known.filter_map(|(name, ns)| Some(format!("{name} {}", time(ns?)))).collect();
    if known.is_empty() { String::new() } else { format!("{}; ", known.join(", ")) }
}

fn time(ns: u64) -> String {
    format_ns(ns as f64)
}
