//! The loop from a recording to a smaller bill: what stands out, which settings may help, what the simulator predicts, what runs measure.
//! The document of `swtch try`.

mod candidates;
mod cgroups;
mod group;
mod prediction;
mod schedulers;

use crate::compare::{CommandComparison, changes_of, compare};
use crate::runs::{PlannedCommand, RunPlan, RunProgress, RunsError, Stopped, record_first, run_all};
use crate::verdict::{Change, Verdict};
pub use candidates::Wanted;
use candidates::{Candidate, Present, candidates};
use cgroups::Groups;
use group::TrialGroup;
pub use group::{GUARD, guard_group};
use prediction::{Predicted, Predictor};
pub use schedulers::Schedulers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_cost::{Advice, Inputs, advise, bill};
use swtch_profile::Profile;
use swtch_record::{ChildCommand, CommandStart};
use swtch_sched::{Lock, Scheduler};
use swtch_trace::TraceView;
use swtch_units::{Observer, words};

/// The version of the document.
pub const SCHEMA: &str = "swtch/try/1";

words! {
    /// What a setting is to make smaller.
    pub enum Goal("goal") {
        /// The time from start to end.
        Time = "time",
        /// The CPU time of all tasks.
        CpuTime = "cpu-time",
        /// Context switches.
        Switches = "switches",
    }
}

impl Goal {
    /// The figure's name in verdicts.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Time => "elapsed",
            Self::CpuTime => "cpu.time",
            Self::Switches => "switches",
        }
    }
}

/// What was tried on a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedSettings {
    /// `swtch/try/1`.
    pub schema: String,
    /// The command as it is.
    pub command: String,
    /// What is to become smaller: `time`, `cpu-time` or `switches`.
    pub goal: Goal,
    /// What stood out in the recording.
    pub advice: Vec<Advice>,
    /// The settings that were run, in the order in which they promised most.
    pub candidates: Vec<TriedCandidate>,
    /// Those that were not, and why.
    pub not_tried: Vec<NotTried>,
    /// The command line to keep: of the best candidate that is better than the command as it is, else that.
    pub keep: String,
    /// Where it ran in a virtual machine: `kvm` or `emulation`. The figures are of that machine.
    #[serde(default)]
    pub vm: Option<String>,
    /// The runs behind it: the command as it is first, then the candidates.
    pub comparison: CommandComparison,
}

/// A setting that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedCandidate {
    /// The setting, in a few words.
    pub what: String,
    /// The command line that makes it.
    pub command: String,
    /// What in the recording speaks for it.
    pub because: Option<String>,
    /// The goal's figure with the setting over that without, as predicted; absent where nothing predicts it.
    pub predicted_ratio: Option<f64>,
    /// What predicted it, or why nothing did.
    pub predicted_by: String,
    /// The same, measured.
    pub measured_ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub ci_low: Option<f64>,
    /// Upper end of it.
    pub ci_high: Option<f64>,
    /// What it says of the goal's figure.
    pub verdict: Verdict,
    /// Whether the prediction is within the interval, or within 10 % of an end; absent where nothing was predicted.
    pub prediction_holds: Option<bool>,
}

/// A setting that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotTried {
    /// The setting, in a few words.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// What is tried, and how.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// How commands are run. Its first command is the one as it is; others are candidates of the user.
    pub plan: RunPlan,
    /// What is to become smaller.
    pub goal: Goal,
    /// Which settings may be tried.
    pub wanted: Wanted,
    /// This machine's Profile.
    pub profile: Option<Profile>,
    /// Schedulers of sched_ext that may be tried, and this program, which removes what is made even if this process is killed. Without it, none are tried.
    pub schedulers: Option<Schedulers>,
}

/// A prediction is wrong when it is further than this from the interval, as a share.
const PREDICTION_MARGIN: f64 = 0.1;

/// Records the command, chooses candidates, and runs the best of them in turn with the command as it is. Every setting is made in the
/// process of a run. Absent when it was stopped before all had run once.
///
/// # Errors
/// When a run fails or cannot be recorded.
pub fn try_settings(
    trial: &TrialPlan,
    observer: &mut dyn Observer<RunProgress>,
) -> Result<Option<TriedSettings>, RunsError> {
    let folder = tempfile::tempdir().map_err(RunsError::Scratch)?;
    let trace = folder.path().join("present.swtch");
    let groups = Groups::read();
    let Some(recording) = record_first(&trial.plan, &trace, observer)? else { return Ok(None) };
    let view = recording.tables.view(&recording.header);
    let inputs = Inputs { trace: view, model: trial.plan.model.as_ref(), price: None };
    let bill = bill(inputs);
    let advice = advise(inputs, &bill);
    let predictor = Predictor::new(&trace, view, &bill, trial.profile.as_ref());
    let mut not_tried = Vec::new();
    let (candidates, _lock) = all_candidates(trial, view, &advice, &groups, &mut not_tried);
    let mut found: Vec<Prepared> = Vec::new();
    for candidate in candidates {
        match Prepared::new(candidate, trial, &predictor) {
            Ok(prepared) => found.push(prepared),
            Err(refused) => not_tried.push(refused),
        }
    }
    // What stands out in the recording and what a user names come first, then what promises most.
    found.sort_by(|one, other| one.rank().partial_cmp(&other.rank()).unwrap_or(std::cmp::Ordering::Equal));
    for left_out in found.split_off(found.len().min(trial.wanted.most)) {
        not_tried.push(left_out.not_among_the_best());
    }
    let mut plan = trial.plan.clone();
    plan.commands.truncate(1);
    plan.commands.extend(found.iter().map(|prepared| prepared.candidate.run.clone()));
    for command in &mut plan.commands {
        // All start alike.
        command.scheduling.get_or_insert_default();
    }
    let runs = run_all(&plan, observer)?;
    let Some(comparison) = compare(&plan, &[], &runs) else { return Ok(None) };
    let changes = changes_of(trial.goal.metric(), plan.commands.len(), &runs);
    let tried: Vec<TriedCandidate> = found
        .into_iter()
        .zip(changes)
        .map(|(prepared, change)| tried(prepared.candidate, prepared.predicted, change.as_ref()))
        .collect();
    Ok(Some(TriedSettings {
        schema: SCHEMA.to_owned(),
        command: plan.commands[0].name.clone(),
        goal: trial.goal,
        advice,
        keep: keep(&tried).map_or_else(|| plan.commands[0].name.clone(), |best| best.command.clone()),
        candidates: tried,
        not_tried,
        vm: None,
        comparison,
    }))
}

/// The best of those that are better.
fn keep(tried: &[TriedCandidate]) -> Option<&TriedCandidate> {
    let better = tried.iter().filter(|one| one.verdict == Verdict::Better);
    better.min_by(|one, other| {
        one.measured_ratio.partial_cmp(&other.measured_ratio).unwrap_or(std::cmp::Ordering::Equal)
    })
}

fn tried(candidate: Candidate, predicted: Predicted, change: Option<&Change>) -> TriedCandidate {
    let (ci_low, ci_high) =
        (change.and_then(|change| change.ci_low), change.and_then(|change| change.ci_high));
    let holds = |ratio: f64| {
        let (low, high) = (ci_low?, ci_high?);
        Some((low * (1.0 - PREDICTION_MARGIN)..=high * (1.0 + PREDICTION_MARGIN)).contains(&ratio))
    };
    TriedCandidate {
        what: candidate.what,
        command: candidate.command,
        because: candidate.because,
        predicted_ratio: predicted.ratio,
        predicted_by: predicted.by,
        measured_ratio: change.and_then(|change| change.ratio),
        ci_low,
        ci_high,
        verdict: change.map_or(Verdict::Unclear, |change| change.verdict),
        prediction_holds: predicted.ratio.and_then(holds),
    }
}

/// All settings that may help, and the lock that keeps other schedulers away while some are tried.
fn all_candidates(
    trial: &TrialPlan,
    trace: TraceView<'_>,
    advice: &[Advice],
    groups: &Groups,
    not_tried: &mut Vec<NotTried>,
) -> (Vec<Candidate>, Option<Lock>) {
    let Some(command) = trial.plan.commands.first() else { return (Vec::new(), None) };
    let present = Present { command, advice };
    let mut found = candidates(&trial.plan, &trial.wanted, trace, &present, not_tried);
    found.extend(groups.wider_quotas(&present, trace, not_tried));
    found.extend(groups.more_weight(&present, not_tried));
    let Some(schedulers) = &trial.schedulers else { return (found, None) };
    let place = groups.place();
    let (more, lock) = schedulers::of_the_command_alone(schedulers, &present, place.as_deref(), not_tried);
    found.extend(more);
    (found, lock)
}

/// A candidate that this machine and these rights permit. Its cgroup goes with it.
#[derive(Debug)]
struct Prepared {
    candidate: Candidate,
    predicted: Predicted,
    _group: Option<TrialGroup>,
}

impl Prepared {
    fn new(mut candidate: Candidate, trial: &TrialPlan, predictor: &Predictor<'_>) -> Result<Self, NotTried> {
        let program = trial.schedulers.as_ref().map(|schedulers| schedulers.program.as_path());
        let group = candidate.group.as_ref().map(|plan| TrialGroup::make(plan, program)).transpose();
        let refused = |why: String| NotTried { what: candidate.what.clone(), why };
        let group = group.map_err(refused)?;
        candidate.run.cgroup = group.as_ref().map(|group| group.directory.clone());
        if let Some(why) = refusal(&candidate) {
            return Err(NotTried { what: candidate.what, why });
        }
        let predicted = predictor.predict(&candidate.setting, trial.goal);
        Ok(Self { candidate, predicted, _group: group })
    }

    fn rank(&self) -> (bool, f64) {
        (self.candidate.because.is_none(), self.predicted.ratio.unwrap_or(1.0))
    }

    fn not_among_the_best(self) -> NotTried {
        let promise = match self.predicted.ratio {
            Some(ratio) => format!("a ratio of {ratio:.2} is predicted"),
            None => self.predicted.by,
        };
        NotTried { what: self.candidate.what, why: format!("{promise}; --most takes more of them") }
    }
}

/// Why this machine or these rights do not permit a setting: it is made for a moment.
fn refusal(candidate: &Candidate) -> Option<String> {
    let PlannedCommand { scheduling, cgroup, scheduler, .. } = candidate.run.clone();
    if let Some((scheduler, cgroup)) = scheduler.zip(cgroup.as_ref()) {
        let ended = scheduler.start(cgroup, &mut || false).and_then(Scheduler::stop);
        if let Err(error) = ended {
            return Some(error.to_string());
        }
    }
    let start = CommandStart { scheduling: Some(scheduling?), cgroup, ..CommandStart::default() };
    match ChildCommand::start(&["true".into()], None, &start) {
        Ok(child) => {
            let _ = child.collect();
            None
        }
        Err(error) => Some(error.to_string().replace("cannot start 'true'", "it is not permitted")),
    }
}

impl TriedSettings {
    /// What ended it early.
    pub fn stopped(&self) -> Option<Stopped> {
        self.comparison.stopped
    }

    /// The candidate to keep; absent where that is the command as it is.
    pub fn kept(&self) -> Option<&TriedCandidate> {
        self.candidates.iter().find(|one| one.verdict == Verdict::Better && one.command == self.keep)
    }
}

/// The schema of the document.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(TriedSettings).to_value()
}

#[cfg(test)]
mod tests;
