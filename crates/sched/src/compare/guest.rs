//! The same comparison in a virtual machine: this program runs it there, and its document comes back.

use super::figures::Comparison;
use super::policy::{CHRT, Policy};
use super::{ComparisonJob, check};
use crate::SchedProgress;
use crate::better::Better;
use crate::error::SchedError;
use crate::file::take_program;
use crate::find::SearchPath;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use swtch_units::Observer;
use swtch_vm::{KeptOutput, Outcome, Spec, VmError, last_complaint};

/// Where the guest keeps Traces, below the current directory.
const TRACES: &str = "compared-traces";

/// The guest to compare in.
#[derive(Clone, Debug)]
pub struct Guest {
    /// CPUs, memory, kernel, what travels; its command is replaced.
    pub spec: Spec,
}

/// Compares in a virtual machine, all policies in one boot. Where the guest is deterministic, each policy has a boot of its own, so that
/// none depends on the runs before it. Figures have no intervals then.
///
/// # Errors
/// When a guest, a scheduler or the command fails.
pub fn compare_in_vm(
    job: &ComparisonJob,
    guest: &Guest,
    observer: &mut dyn Observer<SchedProgress>,
) -> Result<Comparison, SchedError> {
    check(job)?;
    for policy in &job.policies {
        policy.prepare(&job.search_path)?;
    }
    let boots: Vec<&[Policy]> =
        if guest.spec.deterministic { job.policies.chunks(1).collect() } else { vec![&job.policies[..]] };
    let count = boots.len();
    let mut whole: Option<Comparison> = None;
    for (done, policies) in boots.into_iter().enumerate() {
        let names: Vec<String> = policies.iter().map(Policy::to_string).collect();
        let names = names.join(", ");
        let say = |doing: &str| SchedProgress::Step { done, of: count, next: format!("{names}: {doing}") };
        let part = boot(job, guest, policies, &names, KeptOutput::new(observer, say))?;
        match &mut whole {
            Some(whole) => whole.runs.extend(part.runs),
            None => whole = Some(part),
        }
    }
    observer.event(&SchedProgress::Step { done: count, of: count, next: String::new() });
    let mut whole = whole.ok_or_else(|| SchedError::Wish("there is nothing to compare".to_owned()))?;
    if guest.spec.deterministic {
        whole.exact = true;
        whole.runs = whole.runs.into_iter().map(super::PolicyRuns::exact).collect();
    }
    Ok(whole)
}

fn boot(
    job: &ComparisonJob,
    guest: &Guest,
    policies: &[Policy],
    names: &str,
    printed: KeptOutput<'_, SchedProgress, impl Fn(&str) -> SchedProgress>,
) -> Result<Comparison, SchedError> {
    let mut spec = Spec { command: command(job, policies), ..guest.spec.clone() };
    let made = tempfile::tempdir().map_err(SchedError::system("making a directory for schedulers"))?;
    for policy in policies {
        take_along(&mut spec, policy, &job.search_path, made.path())?;
    }
    if let Some(out) = job.out.as_ref().filter(|_| job.record) {
        fs::create_dir_all(out)
            .map_err(SchedError::system(format!("making the directory {}", out.display())))?;
        spec.fetch = vec![TRACES.into()];
        spec.fetch_into = Some(out.clone());
    }
    let (printed, outcome) = run_in_guest(&spec, &job.program, names, printed)?;
    let mut part: Comparison = serde_json::from_slice(&printed).map_err(|error| {
        SchedError::InGuest(format!("{names}: the guest's comparison cannot be read: {error}"))
    })?;
    part.command = job.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    part.machine.vm = Some(outcome.accelerator.name().to_owned());
    if let Some(out) = job.out.as_ref().filter(|_| job.record) {
        keep(&mut part, out)?;
    }
    Ok(part)
}

/// What a policy needs in a guest travels there; `made` is a directory for what has to be made.
///
/// # Errors
/// When its scheduler is not here, or cannot be made of its file.
pub fn take_along(
    spec: &mut Spec,
    policy: &Policy,
    search_path: &SearchPath,
    made: &Path,
) -> Result<(), SchedError> {
    match policy {
        Policy::Stock => {}
        Policy::Fifo | Policy::RoundRobin => spec.copy.extend(swtch_vm::program_on_path(CHRT)),
        Policy::Scheduler { name, file: None, .. } => {
            let found = search_path.find(name)?;
            spec.kernel_config |= !found.own;
            // The guest knows no cache.
            if found.version.is_some() { &mut spec.beside } else { &mut spec.copy }.push(found.path);
        }
        Policy::Scheduler { file: Some(file), .. } => {
            take_program(spec, &search_path.find(file)?, made)?;
        }
    }
    Ok(())
}

/// Runs this program in the guest, and returns what it printed there.
///
/// # Errors
/// When the guest or the program in it fails.
pub fn run_in_guest(
    spec: &Spec,
    program: &Path,
    names: &str,
    mut printed: KeptOutput<'_, SchedProgress, impl Fn(&str) -> SchedProgress>,
) -> Result<(Vec<u8>, Outcome), SchedError> {
    let failed = |source: VmError| match source {
        VmError::Interrupted => SchedError::Interrupted,
        source => SchedError::Vm { policies: names.to_owned(), source: Box::new(source) },
    };
    let outcome = swtch_vm::run(spec, program, &mut printed).map_err(failed)?;
    if outcome.exited.shell_status() != 0 {
        return Err(SchedError::InGuest(complaint(names, outcome.exited.shell_status(), &printed.stderr)));
    }
    Ok((printed.stdout, outcome))
}

/// What the guest is to run: this program, for these policies.
fn command(job: &ComparisonJob, policies: &[Policy]) -> Vec<OsString> {
    let names: Vec<String> = policies.iter().map(Policy::to_string).collect();
    let mut command: Vec<OsString> = vec![job.program.clone().into()];
    command.extend(["sched", "compare", "--json", "--policies"].map(OsString::from));
    command.push(names.join(",").into());
    command.extend(["--runs".into(), job.runs.to_string().into()]);
    if !job.record {
        command.push("--no-record".into());
    }
    for metric in &job.metrics {
        // In one word: a pattern may begin with a dash.
        let option = if metric.better == Better::Larger { "--rate" } else { "--metric" };
        command.push(format!("{option}={}", metric.text()).into());
    }
    if job.out.is_some() && job.record {
        command.extend(["--out", TRACES].map(OsString::from));
    }
    command.push("--".into());
    command.extend(job.command.iter().cloned());
    command
}

/// Moves Traces to where they were asked for.
fn keep(part: &mut Comparison, out: &Path) -> Result<(), SchedError> {
    let from = out.join(TRACES);
    for run in &mut part.runs {
        let Some(name) = run.trace.as_ref().and_then(|trace| trace.file_name()) else { continue };
        let place = out.join(name);
        fs::rename(from.join(name), &place)
            .map_err(SchedError::system(format!("keeping the Trace {}", place.display())))?;
        run.trace = Some(place);
    }
    // Empty by now.
    let _ = fs::remove_dir(&from);
    Ok(())
}

fn complaint(names: &str, status: i32, errors: &[u8]) -> String {
    last_complaint(errors).unwrap_or_else(|| format!("{names}: the comparison ended with status {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Metric;
    use std::ffi::OsStr;

    #[test]
    fn the_guest_runs_the_same_comparison() {
        let job = ComparisonJob {
            command: vec!["hackbench".into(), "-p".into()],
            policies: vec![],
            runs: 3,
            record: false,
            metrics: vec![Metric::by_pattern(r"p99: (\d+)", Better::Smaller).unwrap()],
            out: None,
            model: None,
            program: "/bin/swtch".into(),
            search_path: SearchPath::new(Path::new("/bin/swtch"), OsStr::new("")),
        };
        let policies: Vec<Policy> = ["stock", "flsched --slice 5ms"].map(|name| name.parse().unwrap()).into();
        let words: Vec<String> =
            command(&job, &policies).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            words.join("|"),
            "/bin/swtch|sched|compare|--json|--policies|stock,flsched --slice 5ms|--runs|3|--no-record|--metric=p99: (\\d+)|--|hackbench|-p"
        );
    }

    #[test]
    fn a_failure_is_told_in_the_guests_words() {
        let text = complaint("rr", 1, b"noise\nswtch: under rr, x ended with status 3\n\n");
        assert_eq!(text, "under rr, x ended with status 3");
        assert!(complaint("rr", 7, b"").contains("status 7"));
    }
}
