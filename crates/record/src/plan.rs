//! From facts to the source that is used, and why.

use crate::options::{Cost, Mode, Options, SourceKind, Target};
use crate::sources::bpf::{BpfError, Tracepoints};
use std::time::Duration;

/// The source of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which.
    pub source: SourceKind,
    /// Why, in a sentence without a full stop.
    pub why: String,
}

/// What decides.
#[derive(Debug)]
pub struct Facts {
    /// What the kernel has for BPF, or why BPF cannot be used.
    pub bpf: Result<Tracepoints, String>,
    /// Whether this process sees tasks by the numbers that the kernel uses: not so in a container with its own.
    pub own_task_numbers: bool,
}

impl Facts {
    /// Of this machine.
    pub fn read() -> Self {
        Self { bpf: bpf(), own_task_numbers: !in_first_pid_namespace() }
    }
}

/// A recording that takes longer is counted, not kept, unless asked otherwise.
const LONGEST_OF_EVENTS: Duration = Duration::from_secs(60);

/// The source asked for, or the best one the facts allow.
pub fn plan(options: &Options, facts: &Facts) -> Plan {
    let bpf = match options.mode {
        Some(Mode::Counts) => SourceKind::BpfCounts,
        // How long a command takes is not known: events at first, and counts when it lasts (`Options::events_for`).
        None if options.duration.is_some_and(|duration| duration > LONGEST_OF_EVENTS) => {
            SourceKind::BpfCounts
        }
        Some(Mode::Events) | None => SourceKind::BpfEvents,
    };
    match options.source {
        Some(SourceKind::Procfs) => {
            return Plan { source: SourceKind::Procfs, why: "asked for".to_owned() };
        }
        Some(_) => return Plan { source: bpf, why: "asked for".to_owned() },
        None => {}
    }
    let without_bpf = match &facts.bpf {
        Err(why) => why.clone(),
        Ok(_) if facts.own_task_numbers && options.target != Target::Machine => {
            "this container numbers its tasks by itself, so BPF cannot tell which are meant".to_owned()
        }
        Ok(has) => {
            let why = if options.cost == Cost::Profile {
                "BPF is permitted; as asked, costs come from the Profile"
            } else if has.bracket {
                "BPF is permitted, and the cost of every switch can be measured where it happens"
            } else {
                "BPF is permitted; this kernel lacks sched_entry_tp and sched_exit_tp, so costs come from the Profile"
            };
            return Plan { source: bpf, why: why.to_owned() };
        }
    };
    Plan { source: SourceKind::Procfs, why: without_bpf }
}

/// Whether programs may be loaded: the tracepoints are there, and so are the capabilities.
fn bpf() -> Result<Tracepoints, String> {
    let tracepoints = Tracepoints::probe().map_err(|error| error.to_string())?;
    if may_use_bpf() {
        return Ok(tracepoints);
    }
    Err(BpfError::NotPermitted(std::io::Error::from_raw_os_error(1)).to_string())
}

/// `CAP_BPF` and `CAP_PERFMON`, or `CAP_SYS_ADMIN` (include/uapi/linux/capability.h), among the effective capabilities.
fn may_use_bpf() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    let has = |capability: u32| set >> capability & 1 == 1;
    has(21) || has(38) && has(39)
}

/// The number of the first pid namespace's file (include/linux/proc_ns.h, v6.18: `PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

fn in_first_pid_namespace() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST_PID_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(bracket: bool) -> Facts {
        Facts { bpf: Ok(Tracepoints { bracket, interrupts: true, timer: true }), own_task_numbers: false }
    }

    fn asked(target: Target) -> Options {
        Options {
            target,
            folder: "x.swtch".into(),
            duration: None,
            source: None,
            mode: None,
            events_for: None,
            buffer_bytes: None,
            cost: Cost::InPlace,
            working_set: false,
        }
    }

    #[test]
    fn the_best_that_is_allowed_is_chosen_and_says_why() {
        let machine = asked(Target::Machine);
        let chosen = plan(&machine, &facts(true));
        assert_eq!(chosen.source, SourceKind::BpfEvents);
        assert!(chosen.why.contains("where it happens"));
        assert!(plan(&machine, &facts(false)).why.contains("the Profile"));
        let priced = Options { cost: Cost::Profile, ..asked(Target::Machine) };
        assert!(plan(&priced, &facts(true)).why.contains("as asked, costs come from the Profile"));
        let none = Facts { bpf: Err("not permitted".into()), own_task_numbers: false };
        let chosen = plan(&machine, &none);
        assert_eq!((chosen.source, chosen.why.as_str()), (SourceKind::Procfs, "not permitted"));
    }

    #[test]
    fn long_recordings_are_counted() {
        let long = Options { duration: Some(Duration::from_secs(3600)), ..asked(Target::Machine) };
        assert_eq!(plan(&long, &facts(true)).source, SourceKind::BpfCounts);
        let kept = Options { mode: Some(Mode::Events), ..long.clone() };
        assert_eq!(plan(&kept, &facts(true)).source, SourceKind::BpfEvents);
        let counted = Options { mode: Some(Mode::Counts), duration: None, ..long };
        assert_eq!(plan(&counted, &facts(true)).source, SourceKind::BpfCounts);
    }

    #[test]
    fn a_container_with_its_own_numbers_is_not_asked_of_bpf() {
        let inside = Facts { own_task_numbers: true, ..facts(true) };
        assert_eq!(plan(&asked(Target::Processes(vec![1])), &inside).source, SourceKind::Procfs);
        assert_eq!(plan(&asked(Target::Machine), &inside).source, SourceKind::BpfEvents);
    }

    #[test]
    fn a_wish_is_a_wish() {
        let none = Facts { bpf: Err("not permitted".into()), own_task_numbers: false };
        let wish = Options { source: Some(SourceKind::BpfEvents), ..asked(Target::Machine) };
        let chosen = plan(&wish, &none);
        assert_eq!((chosen.source, chosen.why.as_str()), (SourceKind::BpfEvents, "asked for"));
    }
}
