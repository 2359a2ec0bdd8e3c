//! Schedulers of sched_ext as settings: for the command alone. Everything else stays with the kernel's own scheduler.

use super::NotTried;
use super::candidates::{Candidate, Present, Setting};
use super::group::GroupPlan;
use crate::runs::PartialScheduler;
use std::path::{Path, PathBuf};
use swtch_cost::stands_out;
use swtch_record::Scheduling;
use swtch_sched::{Lock, SearchPath, permit, status};
use swtch_trace::tables::SchedPolicy;

/// What schedulers that switch less help against.
const SWITCHY: [&str; 5] = [
    stands_out::WAITING_ON_CPUS,
    stands_out::MORE_THREADS_THAN_CPUS,
    stands_out::HANDED_ROUND,
    stands_out::WAKING_ACROSS_CPUS,
    stands_out::TAKING_TURNS,
];

/// Which schedulers, and what starts them.
#[derive(Clone, Debug)]
pub struct Schedulers {
    /// Their names, or their files.
    pub names: Vec<String>,
    /// This program, with which they end.
    pub program: PathBuf,
    /// Where they are looked for.
    pub search_path: SearchPath,
}

/// Each as a candidate, where this kernel and these rights permit it, and the lock that keeps others away meanwhile. `place` is where cgroups can be made.
pub(super) fn of_the_command_alone(
    schedulers: &Schedulers,
    present: &Present<'_>,
    place: Option<&Path>,
    not_tried: &mut Vec<NotTried>,
) -> (Vec<Candidate>, Option<Lock>) {
    let mut refuse = |what: String, why: String| not_tried.push(NotTried { what, why });
    let Some(first) = schedulers.names.first() else { return (Vec::new(), None) };
    let lock = match (permit(first, "try"), place) {
        _ if !status(Path::new("/")).sched_ext => {
            Err("this kernel has no sched_ext; 'swtch try --vm' tries them in a virtual machine".to_owned())
        }
        (Err(error), _) => Err(error.to_string()),
        (Ok(_), None) => Err("they need a cgroup for the command, and none are mounted here".to_owned()),
        (Ok(lock), Some(_)) => Ok(lock),
    };
    let lock = match lock {
        Ok(lock) => lock,
        Err(why) => {
            refuse("schedulers of sched_ext".to_owned(), why);
            return (Vec::new(), None);
        }
    };
    let mut candidates = Vec::new();
    for name in &schedulers.names {
        match schedulers.search_path.find(name) {
            Ok(found) if found.own => {
                let mut one = present.with(
                    format!("the scheduler {}", found.name),
                    &line(name),
                    Setting::Scheduler(found.name.clone()),
                    // From its first moment, not only from when the scheduler adopts it.
                    Scheduling { policy: Some((SchedPolicy::Ext, 0)), ..Scheduling::default() },
                    &SWITCHY,
                );
                one.group = place.map(|place| GroupPlan { parent: place.to_owned(), settings: Vec::new() });
                one.run.scheduler = Some(PartialScheduler::new(found, schedulers.program.clone()));
                candidates.push(one);
            }
            Ok(found) => refuse(
                format!("the scheduler {}", found.name),
                "it schedules the whole machine; 'swtch sched compare -- COMMAND' tries it".to_owned(),
            ),
            Err(error) => refuse(format!("the scheduler {name}"), error.to_string()),
        }
    }
    (candidates, lock)
}

/// What starts a scheduler for a command and ends it with the command; the command follows.
fn line(name: &str) -> String {
    format!("sh -c 'swtch sched {name} --only-pid $$ & sleep 1; \"$@\"; s=$?; kill $!; wait; exit $s' sh")
}
