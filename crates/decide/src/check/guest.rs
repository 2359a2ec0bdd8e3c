//! The ensemble of a budget in one deterministic guest.

use super::budget::Budget;
use super::member::Member;
use super::who::{self, Who};
use super::{CheckError, CheckProgress};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;
use swtch_trace::Trace;
use swtch_trace::model::Scope;
use swtch_units::Observer;
use swtch_vm::{KeptOutput, Outcome, Spec, VmError, last_complaint};

/// Members that are recorded together, after those that are counted: a recorder is a task of its own and changes the schedule.
const RECORDED: usize = 4;
/// Where the guest keeps their Trace, below the current directory.
const TRACE: &str = "check.swtch";
/// And the one with stacks.
const STACKS: &str = "stacks.swtch";

/// What an ensemble did, wherever it ran.
#[derive(Clone, Debug)]
pub(super) struct Ensemble {
    /// What else decides the figures.
    pub(super) made_with: BTreeMap<String, String>,
    /// A digest of everything that decides them; only of a guest.
    pub(super) inputs: Option<String>,
    /// Values of the figures, one a run.
    pub(super) figures: BTreeMap<String, Vec<f64>>,
    pub(super) who: Vec<Who>,
    /// The recorded members.
    pub(super) trace: Option<PathBuf>,
    /// How long all of it took on this machine.
    pub(super) seconds: f64,
}

/// Boots a guest and runs the members in it. The Trace goes into the directory.
pub(super) fn run(
    budget: &Budget,
    program: &Path,
    folder: &Path,
    observer: &mut dyn Observer<CheckProgress>,
) -> Result<Ensemble, CheckError> {
    let began = Instant::now();
    let spec = spec(budget, program, folder, TRACE, false);
    let (outcome, printed) = boot(budget, &spec, program, observer)?;
    let members: Vec<Member> = serde_json::from_slice(&printed)
        .map_err(|error| CheckError::Guest(format!("the guest's figures cannot be read: {error}")))?;
    let trace = folder.join(TRACE);
    Ok(Ensemble {
        made_with: BTreeMap::from(
            [
                ("cpus", budget.cpus.to_string()),
                ("kernel", outcome.kernel),
                ("memory_mib", spec.memory_mib.to_string()),
                ("qemu", swtch_vm::emulator_version()?),
                ("runs", budget.runs.to_string()),
                ("swtch", env!("CARGO_PKG_VERSION").to_owned()),
                ("where", "vm".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        ),
        inputs: Some(outcome.inputs),
        figures: figures(budget, &members),
        who: recorded(&trace)?,
        trace: Some(trace),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// In which functions the programs switch: a guest of its own, whose programs have their symbols and whose recorder walks stacks. Both would change
/// the figures.
pub(super) fn functions(
    budget: &Budget,
    program: &Path,
    folder: &Path,
    observer: &mut dyn Observer<CheckProgress>,
) -> Result<Vec<Who>, CheckError> {
    boot(budget, &spec(budget, program, folder, STACKS, true), program, observer)?;
    let mut found = recorded(&folder.join(STACKS))?;
    found.retain(|who| who.function.is_some());
    Ok(found)
}

fn recorded(trace: &Path) -> Result<Vec<Who>, CheckError> {
    let recorded = Trace::open(trace).map_err(|error| CheckError::Guest(error.to_string()))?;
    let runner = match recorded.header.scope {
        Scope::Command { pid, .. } => Some(pid),
        _ => None,
    };
    Ok(who::who(recorded.view(), RECORDED, runner))
}

/// Runs a guest to its end, and returns what its command printed.
fn boot(
    budget: &Budget,
    spec: &Spec,
    program: &Path,
    observer: &mut dyn Observer<CheckProgress>,
) -> Result<(Outcome, Vec<u8>), CheckError> {
    let say = |doing: &str| CheckProgress { text: format!("{}: {doing}", budget.name) };
    let mut printed = KeptOutput::new(observer, say);
    let outcome = swtch_vm::run(spec, program, &mut printed)?;
    if let Some(warning) = outcome.memory_warning(spec.memory_mib) {
        return Err(CheckError::Guest(warning));
    }
    if outcome.exited.shell_status() != 0 {
        let last = last_complaint(&printed.stderr).unwrap_or_else(|| "it says nothing".to_owned());
        return Err(CheckError::Guest(last));
    }
    Ok((outcome, printed.stdout))
}

fn spec(budget: &Budget, program: &Path, folder: &Path, trace: &str, symbols: bool) -> Spec {
    let mut command: Vec<OsString> = vec![program.into()];
    let counted = if symbols { 0 } else { budget.runs };
    let runs = [("--member-runs", counted), ("--member-recorded", RECORDED)];
    command.push("check".into());
    command.extend(runs.iter().flat_map(|(option, count)| [(*option).into(), count.to_string().into()]));
    command.extend(symbols.then(|| "--member-stacks".into()));
    command.extend(["--member-trace", trace, "--"].map(OsString::from));
    command.extend(budget.command.iter().cloned());
    Spec {
        cpus: budget.cpus,
        memory_mib: budget.memory_bytes >> 20,
        kernel: budget.kernel.clone(),
        copy: budget.copy.clone(),
        fetch: vec![trace.into()],
        fetch_into: Some(folder.to_owned()),
        deterministic: true,
        symbols,
        timeout: Some(budget.timeout),
        // It gives a sign every two seconds of its own time, which may be a minute of a busy machine's.
        silence: budget.timeout,
        boot_timeout: budget.timeout,
        ..Spec::new(command)
    }
}

/// The values of the budget's figures, one a member.
fn figures(budget: &Budget, members: &[Member]) -> BTreeMap<String, Vec<f64>> {
    let value = |name: &str, member: &Member| {
        let switches = (member.voluntary + member.involuntary) as f64;
        let cpu_ns = member.cpu_us as f64 * 1e3;
        match name {
            "voluntary" => member.voluntary as f64,
            "involuntary" => member.involuntary as f64,
            "elapsed" => member.elapsed_ns as f64,
            "cpu.time" | "instructions" => cpu_ns,
            "instructions_per_switch" => cpu_ns / switches.max(1.0),
            "switches_per_request" => switches / budget.requests.unwrap_or(1) as f64,
            _ => switches,
        }
    };
    let names = budget.limits.iter().map(|limit| limit.figure.to_string());
    names.map(|name| (name.clone(), members.iter().map(|member| value(&name, member)).collect())).collect()
}

impl From<VmError> for CheckError {
    fn from(error: VmError) -> Self {
        match error {
            VmError::Interrupted => Self::Interrupted,
            error => Self::Guest(error.to_string()),
        }
    }
}
