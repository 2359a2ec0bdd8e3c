//! A command under several schedulers in turn, and what differs.
//!
//! Times and switches come from runs without a recorder: a recorder is a task of its own and changes the schedule that it observes. Waits
//! and the bill come from one more run of each policy, which is recorded.

pub(crate) mod counted;
mod figures;
mod guest;
mod metric;
mod policy;
mod recorded;

pub use figures::{Comparison, Machine, MetricRuns, PolicyRuns, RunFigure};
pub use guest::run_in_guest;
pub use guest::{Guest, compare_in_vm, take_along};
pub use metric::Metric;
pub use policy::Policy;
pub(crate) use recorded::record_into;
pub use recorded::{BillFigures, Waits};

use crate::SchedProgress;
use crate::error::SchedError;
use crate::find::SearchPath;
use crate::lock::{Lock, permit};
use crate::process::Scheduler;
use counted::{Counted, Stop};
use policy::Prepared;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use swtch_cost::CostModel;
use swtch_sched_ext::{Refusal, Status};
use swtch_units::Observer;

/// What to compare on.
#[derive(Clone, Debug)]
pub struct ComparisonJob {
    /// The command, its program first.
    pub command: Vec<OsString>,
    /// The policies; figures are relative to the first.
    pub policies: Vec<Policy>,
    /// Counted runs of each, after one that is not counted.
    pub runs: usize,
    /// Whether each is recorded once more, for waits and the bill.
    pub record: bool,
    /// Figures of the command's output, besides those that are known of its program.
    pub metrics: Vec<Metric>,
    /// Where the Traces are kept, `POLICY.swtch`, and the output, `POLICY.txt`; nowhere when not given.
    pub out: Option<PathBuf>,
    /// Prices of this machine, where there are any.
    pub model: Option<CostModel>,
    /// This program: it records, and ties schedulers to this process.
    pub program: PathBuf,
    /// Where schedulers are looked for.
    pub search_path: SearchPath,
}

/// What one policy's runs gave so far.
#[derive(Debug, Default)]
struct Collected {
    ops: Option<String>,
    counted: Vec<Counted>,
    /// Of each counted run, what it printed.
    outputs: Vec<String>,
    recorded: Option<recorded::Recorded>,
}

/// One run among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    WarmUp,
    Counted,
    Recorded,
}

/// Runs the command under each policy in turn, again and again.
///
/// # Errors
/// When this machine does not permit a policy, before anything is run; when a scheduler or the command fails.
pub fn compare(
    job: &ComparisonJob,
    observer: &mut dyn Observer<SchedProgress>,
) -> Result<Comparison, SchedError> {
    check(job)?;
    let prepared: Vec<Prepared> =
        job.policies.iter().map(|policy| policy.prepare(&job.search_path)).collect::<Result<_, _>>()?;
    let lock = permit_all(&prepared)?;
    let order = order(prepared.len(), job.runs, job.record);
    let mut collected: Vec<Collected> = prepared.iter().map(|_| Collected::default()).collect();
    let count = order.len();
    for (done, (index, step)) in order.into_iter().enumerate() {
        let one = &prepared[index];
        let doing = match step {
            Step::WarmUp => "warming up",
            Step::Counted => "counting",
            Step::Recorded => "recording",
        };
        observer.event(&SchedProgress::Step { done, of: count, next: format!("{}: {doing}", one.name) });
        run_step(job, one, step, &mut collected[index], observer)?;
    }
    observer.event(&SchedProgress::Step { done: count, of: count, next: String::new() });
    drop(lock);
    figures::comparison(job, &prepared, collected)
}

/// Whether this machine permits all of them; where one is a scheduler, no other `swtch sched` runs from now on.
fn permit_all(prepared: &[Prepared]) -> Result<Option<Lock>, SchedError> {
    if let Some(scheduler) = prepared.iter().find(|one| one.found.is_some()) {
        return permit(&scheduler.name, "compare");
    }
    // Under a scheduler that is loaded, stock would not be what its name says.
    let status = Status::read(Path::new("/"));
    if status.is_loaded() {
        return Err(Refusal::AnotherLoaded { ops: status.ops.unwrap_or_default() }.into());
    }
    Ok(None)
}

/// Requests that cannot be met.
fn check(job: &ComparisonJob) -> Result<(), SchedError> {
    let wish = |text: &str| Err(SchedError::Wish(text.to_owned()));
    if job.command.is_empty() {
        return wish("no command given; say what to run: swtch sched compare -- COMMAND");
    }
    if job.policies.is_empty() || job.runs == 0 {
        return wish("there is nothing to compare; give at least one policy and one run");
    }
    // A guest knows a scheduler by its name alone.
    for (index, one) in job.policies.iter().enumerate() {
        let Policy::Scheduler { name, file, .. } = one else { continue };
        let is_other = |other: &&Policy| matches!(other, Policy::Scheduler { name: other, file: of, .. } if other == name && of != file);
        if job.policies[..index].iter().any(|other| is_other(&other)) {
            return wish(&format!("two schedulers are called {name}; rename the file of one"));
        }
    }
    let names: Vec<String> = job.policies.iter().map(Policy::to_string).collect();
    let twice = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
    match twice {
        Some((_, name)) => wish(&format!("{name} is given twice; name each policy once")),
        None => Ok(()),
    }
}

/// Every policy once to warm up, then rounds of all, then each recorded. Each round begins with another policy, so that none always follows
/// the same one.
fn order(policies: usize, runs: usize, record: bool) -> Vec<(usize, Step)> {
    let warm_up = (0..policies).map(|index| (index, Step::WarmUp));
    let rounds = (0..runs)
        .flat_map(|round| (0..policies).map(move |place| ((round + place) % policies, Step::Counted)));
    let recorded = (0..policies).filter(|_| record).map(|index| (index, Step::Recorded));
    warm_up.chain(rounds).chain(recorded).collect()
}

fn run_step(
    job: &ComparisonJob,
    one: &Prepared,
    step: Step,
    collected: &mut Collected,
    observer: &mut dyn Observer<SchedProgress>,
) -> Result<(), SchedError> {
    let mut stop = || observer.stop();
    let scheduler = match &one.found {
        None => None,
        Some(found) => {
            let mut scheduler = Scheduler::start(found, &one.arguments, &job.program)?;
            collected.ops = Some(scheduler.wait_enabled(&mut stop)?);
            Some(scheduler)
        }
    };
    match step {
        Step::WarmUp => {
            counted::run(one, &job.command, Stdio::null(), Stop::at_any_time(&mut stop))?;
        }
        Step::Counted => {
            let file = || tempfile::tempfile().map_err(SchedError::system("making a file for output"));
            let mut output = file()?;
            let stdout = output.try_clone().map_err(SchedError::system("making a file for output"))?;
            let counted = counted::run(one, &job.command, stdout.into(), Stop::at_any_time(&mut stop))?;
            collected.outputs.push(counted::output_of(&mut output)? + &counted.complaints);
            collected.counted.push(counted);
        }
        Step::Recorded => collected.recorded = Some(recorded::run(job, one, &mut stop)?),
    }
    if let Some(mut scheduler) = scheduler {
        scheduler.check()?;
        scheduler.stop()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_begin_with_another_policy_each() {
        let order = order(3, 2, true);
        let counted: Vec<usize> =
            order.iter().filter(|(_, step)| *step == Step::Counted).map(|(index, _)| *index).collect();
        assert_eq!(counted, [0, 1, 2, 1, 2, 0]);
        assert_eq!(order.len(), 3 + 6 + 3);
        assert_eq!(order[0].1, Step::WarmUp);
        assert_eq!(order.last(), Some(&(2, Step::Recorded)));
    }
}
