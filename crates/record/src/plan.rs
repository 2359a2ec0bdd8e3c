//! From facts to the source that is used, and why.

use crate::options::{SourceKind, Target};
use crate::sources::bpf::{BpfError, Tracepoints};

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

/// The source asked for, or the best one the facts allow.
pub fn plan(wish: Option<SourceKind>, target: &Target, facts: &Facts) -> Plan {
    if let Some(source) = wish {
        return Plan { source, why: "asked for".to_owned() };
    }
    let without_bpf = match &facts.bpf {
        Err(why) => why.clone(),
        Ok(_) if facts.own_task_numbers && *target != Target::Machine => {
            "this container numbers its tasks by itself, so BPF cannot tell which are meant".to_owned()
        }
        Ok(Tracepoints { bracket: true, .. }) => {
            let why =
                "BPF is permitted, and the cost of every switch can be measured where it happens".to_owned();
            return Plan { source: SourceKind::BpfEvents, why };
        }
        Ok(_) => {
            let why = "BPF is permitted; this kernel lacks sched_entry_tp and sched_exit_tp, so costs come from the Profile";
            return Plan { source: SourceKind::BpfEvents, why: why.to_owned() };
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

    #[test]
    fn the_best_that_is_allowed_is_chosen_and_says_why() {
        let chosen = plan(None, &Target::Machine, &facts(true));
        assert_eq!(chosen.source, SourceKind::BpfEvents);
        assert!(chosen.why.contains("where it happens"));
        assert!(plan(None, &Target::Machine, &facts(false)).why.contains("the Profile"));
        let none = Facts { bpf: Err("not permitted".into()), own_task_numbers: false };
        let chosen = plan(None, &Target::Machine, &none);
        assert_eq!((chosen.source, chosen.why.as_str()), (SourceKind::Procfs, "not permitted"));
    }

    #[test]
    fn a_container_with_its_own_numbers_is_not_asked_of_bpf() {
        let inside = Facts { own_task_numbers: true, ..facts(true) };
        assert_eq!(plan(None, &Target::Processes(vec![1]), &inside).source, SourceKind::Procfs);
        assert_eq!(plan(None, &Target::Machine, &inside).source, SourceKind::BpfEvents);
    }

    #[test]
    fn a_wish_is_a_wish() {
        let none = Facts { bpf: Err("not permitted".into()), own_task_numbers: false };
        let chosen = plan(Some(SourceKind::BpfEvents), &Target::Machine, &none);
        assert_eq!((chosen.source, chosen.why.as_str()), (SourceKind::BpfEvents, "asked for"));
    }
}
