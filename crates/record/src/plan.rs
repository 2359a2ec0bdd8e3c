//! From facts to the source that is used, and why.

use crate::options::{Cost, Mode, Options, Target};
use crate::sources::bpf::{self, BpfError, Tracepoints};
use crate::sources::perf;
use crate::sources::privileges::Privileges;
use crate::task_info::in_first_pid_namespace;
use std::path::Path;
use std::time::Duration;
use swtch_trace::SourceKind;

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
    /// Whether perf events of the target can be had, or why not.
    pub perf: Result<(), String>,
    /// Whether this process sees tasks by the numbers that the kernel uses: not so in a container with its own.
    pub own_task_numbers: bool,
}

impl Facts {
    /// Of this machine, for a command.
    pub fn read() -> Self {
        Self::of(&Target::Command(Vec::new()))
    }

    /// Of this machine, for a target.
    pub fn of(target: &Target) -> Self {
        let own_task_numbers = in_first_pid_namespace(Path::new("/")) != Some(true);
        Self { bpf: bpf(), perf: perf_of(target, own_task_numbers), own_task_numbers }
    }

    /// Of this machine as a whole, where perf events are out of the question.
    pub(crate) fn of_machine() -> Self {
        Self {
            bpf: bpf(),
            perf: Err(String::new()),
            own_task_numbers: in_first_pid_namespace(Path::new("/")) != Some(true),
        }
    }
}

/// A recording that takes longer is counted, not kept, unless asked otherwise.
const LONGEST_OF_EVENTS: Duration = Duration::from_secs(60);

/// The source asked for, or the best one the facts allow.
pub fn plan(options: &Options, facts: &Facts) -> Plan {
    let bpf = if only_counts(options) { SourceKind::BpfCounts } else { SourceKind::BpfEvents };
    let (source, why) = match options.source {
        Some(SourceKind::Procfs) => (SourceKind::Procfs, "asked for".to_owned()),
        Some(SourceKind::Perf) => (SourceKind::Perf, format!("asked for{}", outside_the_kernel(options))),
        Some(_) => (bpf, "asked for".to_owned()),
        None => match (bpf_reason(options, facts), &facts.perf) {
            (Ok(why), _) => (bpf, why.to_owned()),
            (Err(without_bpf), Ok(())) => {
                let how = outside_the_kernel(options);
                (SourceKind::Perf, format!("{without_bpf}; perf events are permitted{how}"))
            }
            (Err(without_bpf), Err(without_perf)) => {
                (SourceKind::Procfs, format!("{without_bpf}; {without_perf}"))
            }
        },
    };
    Plan { source, why }
}

/// Why BPF is the best, or why it cannot be used.
fn bpf_reason<'a>(options: &Options, facts: &'a Facts) -> Result<&'static str, &'a str> {
    let has = facts.bpf.as_ref().map_err(String::as_str)?;
    if facts.own_task_numbers && options.target != Target::Machine {
        return Err(
            "this container has its own process ids (a PID namespace), so BPF cannot tell which tasks they name",
        );
    }
    Ok(if options.cost == Cost::Profile {
        "BPF is permitted; as asked, costs come from the Profile"
    } else if has.entry_exit {
        "BPF is permitted, and the cost of every switch can be measured where it happens"
    } else {
        "BPF is permitted; this kernel lacks sched_entry_tp and sched_exit_tp, so costs come from the Profile"
    })
}

/// Whether single events are not to be kept.
pub(crate) fn only_counts(options: &Options) -> bool {
    match options.mode {
        Some(mode) => mode == Mode::Counts,
        // How long a command takes is not known: events at first, and counts when it lasts (`Options::events_for`).
        None => options.duration.is_some_and(|duration| duration > LONGEST_OF_EVENTS),
    }
}

fn outside_the_kernel(options: &Options) -> &'static str {
    if only_counts(options) {
        "; they are not counted in the kernel, so every switch is read and none is kept"
    } else {
        ""
    }
}

/// Whether events of the target can be had: they are opened, and closed again.
fn perf_of(target: &Target, own_task_numbers: bool) -> Result<(), String> {
    let opened = match target {
        Target::Machine if own_task_numbers => {
            return Err(
                "perf events of the whole machine do not name tasks outside of this container".to_owned()
            );
        }
        Target::Machine => perf::may_watch_machine(),
        Target::Processes(pids) => perf::may_watch_tasks(pids),
        Target::Command(_) | Target::Cgroup(_) => perf::may_watch_tasks(&[]),
    };
    opened.map_err(|error| error.to_string())
}

/// Whether programs may be loaded: the tracepoints are there, the capabilities too, and no sandbox refuses the system call in spite of them.
fn bpf() -> Result<Tracepoints, String> {
    let tracepoints = Tracepoints::probe().map_err(|error| error.to_string())?;
    if !Privileges::read().may_use_bpf() {
        return Err(BpfError::NotPermitted(std::io::Error::from_raw_os_error(1)).to_string());
    }
    bpf::try_call().map_err(|error| error.to_string())?;
    Ok(tracepoints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(entry_exit: bool) -> Facts {
        let bpf =
            Ok(Tracepoints { entry_exit, interrupts: true, timer: true, names: true, keeps_tasks: true });
        Facts { bpf, perf: Ok(()), own_task_numbers: false }
    }

    fn asked(target: Target) -> Options {
        Options::new(target, "x.swtch".into())
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
        let no_bpf = Facts { bpf: Err("no BPF".into()), ..facts(true) };
        let chosen = plan(&machine, &no_bpf);
        assert_eq!(
            (chosen.source, chosen.why.as_str()),
            (SourceKind::Perf, "no BPF; perf events are permitted")
        );
        let counted = Options { mode: Some(Mode::Counts), ..machine.clone() };
        assert!(plan(&counted, &no_bpf).why.contains("none is kept"));
        let neither = Facts { perf: Err("nor perf".into()), ..no_bpf };
        let chosen = plan(&machine, &neither);
        assert_eq!((chosen.source, chosen.why.as_str()), (SourceKind::Procfs, "no BPF; nor perf"));
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
        assert_eq!(plan(&asked(Target::Processes(vec![1])), &inside).source, SourceKind::Perf);
        assert_eq!(plan(&asked(Target::Machine), &inside).source, SourceKind::BpfEvents);
    }

    #[test]
    fn a_wish_is_a_wish() {
        let none = Facts { bpf: Err("no BPF".into()), perf: Err("nor perf".into()), own_task_numbers: false };
        for source in [SourceKind::BpfEvents, SourceKind::Perf, SourceKind::Procfs] {
            let wish = Options { source: Some(source), ..asked(Target::Machine) };
            let chosen = plan(&wish, &none);
            assert_eq!((chosen.source, chosen.why.as_str()), (source, "asked for"));
        }
    }
}
