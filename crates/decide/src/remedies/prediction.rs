//! What a setting is predicted to do: by the simulator, which runs the recorded work again, or by the bill.

use super::Goal;
use super::candidates::Setting;
use super::cgroups::WEIGHT;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use swtch_cost::{Bill, Waits};
use swtch_profile::Profile;
use swtch_sim::plan::{Overrides, Plan, Work};
use swtch_sim::recorded::Recorded;
use swtch_sim::simulate;
use swtch_sim::summary::Summary;
use swtch_sim::workloads::replay::HandOver;
use swtch_trace::tables::InFront;
use swtch_trace::{Trace, TraceView};
use swtch_units::{CpuList, Silent};

/// A prediction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Predicted {
    pub(super) ratio: Option<f64>,
    /// What predicted it, or why nothing did.
    pub(super) by: String,
}

impl Predicted {
    fn none(why: impl std::fmt::Display) -> Self {
        Self { ratio: None, by: format!("{CANNOT}: {why}") }
    }
}

/// Why nothing predicts what threads that may spin do otherwise.
const MAY_SPIN: &str =
    "the threads hardly ever sleep; whether they work or wait for each other in a loop is not in a recording";
/// A thread that sleeps less often for each second on a CPU may spin while it waits.
const MOST_SLEEPS_PER_S: f64 = 20.0;
/// Times that any thread sleeps when it starts and ends.
const LEAST_SLEEPS: f64 = 3.0;
/// Of a thread that ran for less, nothing says how often it sleeps.
const LEAST_RUN_NS: u64 = 20_000_000;

/// What [`Predicted::by`] begins with where nothing predicts.
pub(super) const CANNOT: &str = "cannot predict";

/// The recorded work under the recorded policy, simulated.
struct Present {
    policy: String,
    summary: Summary,
    /// Where the prices of the simulated kernel come from.
    costs_from: String,
    hand_over: HandOver,
}

/// Predicts from one recording.
pub(super) struct Predictor<'a> {
    trace: String,
    view: TraceView<'a>,
    bill: &'a Bill,
    profile: Option<&'a Profile>,
    /// CPUs that the tasks may use.
    cpus: usize,
    present: Result<Present, String>,
}

impl<'a> Predictor<'a> {
    pub(super) fn new(
        trace: &Path,
        view: TraceView<'a>,
        bill: &'a Bill,
        profile: Option<&'a Profile>,
    ) -> Self {
        let mut new = Self {
            trace: trace.display().to_string(),
            view,
            bill,
            profile,
            cpus: cpus_of(view),
            present: Err(String::new()),
        };
        new.present = new.present(trace);
        new
    }

    pub(super) fn predict(&self, setting: &Setting, goal: Goal) -> Predicted {
        let reschedules = match setting {
            Setting::Cpus { elsewhere, .. } => !elsewhere,
            Setting::Fifo => !self.waits_behind_others(),
            Setting::Threads(_) | Setting::Slice(_) | Setting::Scheduler(_) => true,
            _ => false,
        };
        if reschedules && self.may_spin() {
            return Predicted::none(MAY_SPIN);
        }
        match setting {
            Setting::Threads(threads) => self.of_threads(*threads, goal),
            Setting::Cpus { cpus, elsewhere: false } => self.simulated(cpus.len(), None, goal),
            Setting::Cpus { elsewhere: true, .. } => {
                let by = "the bill: the waits behind interrupts and other programs, which it leaves";
                self.without(&[InFront::Task, InFront::Interrupt], 1.0, goal, by)
            }
            Setting::Slice(ns) => self.simulated(self.cpus, Some(Policy::Slice(*ns)), goal),
            Setting::Fifo if self.waits_behind_others() => {
                let by = "the bill: the waits behind other programs, which it goes before";
                self.without(&[InFront::Task], 1.0, goal, by)
            }
            Setting::Fifo => self.simulated(self.cpus, Some(Policy::Fifo), goal),
            Setting::Quota { times, cpus, stopped } => self.of_quota(*times, *cpus, *stopped, goal),
            Setting::Weight => {
                let by =
                    format!("the bill: the waits behind other programs, of which it leaves one in {WEIGHT}");
                self.without(&[InFront::Task], 1.0 - 1.0 / f64::from(WEIGHT), goal, &by)
            }
            Setting::Scheduler(name) if name == "flsched" => {
                self.simulated(self.cpus, Some(Policy::Named(name)), goal)
            }
            Setting::Scheduler(name) => Predicted::none(format!("the simulator does not have {name}")),
            Setting::Batch => Predicted::none("the simulator has no class for batches"),
            Setting::Named => Predicted::none("nothing says what the value does"),
        }
    }

    fn present(&self, trace: &Path) -> Result<Present, String> {
        let trace = Trace::open(trace).map_err(|error| error.to_string())?;
        let policy = Recorded::of(&trace).policy;
        let policy = policy.ok_or("the simulator does not have the policy that it was recorded under")?;
        let plan = self.plan(self.cpus, &policy)?;
        let summary = replayed(&plan)?;
        let hand_over = plan.replay.map_or_else(HandOver::default, |replay| replay.hand_over);
        Ok(Present { policy, summary, costs_from: plan.costs_from, hand_over })
    }

    /// The recorded work again on this number of CPUs, under this policy.
    fn plan(&self, cpus: usize, policy: &str) -> Result<Plan, String> {
        let overrides = Overrides {
            machine: Some(cpus.to_string()),
            policies: vec![policy.to_owned()],
            // A prediction compares single runs, of which it has that under the recorded policy already.
            seeds: Some(0),
            only_policies: true,
            ..Overrides::default()
        };
        Plan::of(Work::Recording(&self.trace), "", &overrides, self.profile)
            .map_err(|error| error.to_string())
    }

    /// Simulated with the setting over simulated as it was recorded. A simulation that misses the recording by more than it finds proves nothing.
    fn simulated(&self, cpus: usize, policy: Option<Policy<'_>>, goal: Goal) -> Predicted {
        let present = match &self.present {
            Ok(present) => present,
            Err(why) => return Predicted::none(why),
        };
        let policy = policy.map_or_else(|| present.policy.clone(), |policy| policy.of(&present.policy));
        if present.hand_over.is_most() {
            return Predicted::none(format!(
                "its tasks mostly hand over to each other ({}), and a recording has no message that found its reader awake",
                present.hand_over.amount()
            ));
        }
        let other = match self.plan(cpus, &policy).and_then(|plan| replayed(&plan)) {
            Ok(other) => other,
            Err(why) => return Predicted::none(why),
        };
        let (recorded, before) = (self.recorded(goal), figure(&present.summary, goal));
        if recorded == 0 || before == 0 {
            return Predicted::none(format!("the recording has no {}", goal.metric()));
        }
        let ratio = figure(&other, goal) as f64 / before as f64;
        let (error, difference) = ((before as f64 / recorded as f64 - 1.0).abs(), (ratio - 1.0).abs());
        if error > difference {
            return Predicted::none(format!(
                "under {} the simulator misses the recording by {:.1} %, more than the {:.1} % that the setting changes in it",
                present.policy,
                100.0 * error,
                100.0 * difference
            ));
        }
        let on = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
        Predicted {
            ratio: Some(ratio),
            by: format!(
                "the simulator, which runs the recording again under {policy} on {on} with the costs of {}, and misses it by {:.1} % under {}",
                present.costs_from,
                100.0 * error,
                present.policy
            ),
        }
    }

    /// The goal's figure in the recording.
    fn recorded(&self, goal: Goal) -> u64 {
        match goal {
            Goal::Time => self.view.header.duration_ns,
            Goal::CpuTime => self.run_ns(),
            Goal::Switches => self.view.in_scope().map(swtch_trace::tables::TaskRow::switches).sum(),
        }
    }

    fn run_ns(&self) -> u64 {
        self.view.in_scope().map(|task| task.run_ns).sum()
    }

    fn wait_ns(&self) -> u64 {
        self.view.in_scope().map(|task| task.wait_ns).sum()
    }

    /// How long the tasks waited behind what is not theirs, ns.
    fn behind_ns(&self, causes: &[InFront]) -> u64 {
        let programs = self.bill.waits.iter().flat_map(|waits| &waits.programs);
        let parts = programs.flat_map(|program| &program.behind);
        parts.filter(|part| !part.in_scope && causes.contains(&part.cause)).map(|part| part.ns).sum()
    }

    /// Without a share of the waits behind what is not theirs: the time in which the tasks run or want to becomes shorter by them.
    fn without(&self, causes: &[InFront], share: f64, goal: Goal, by: &str) -> Predicted {
        if goal != Goal::Time {
            return Predicted::none(format!("waits do not say what becomes of {}", goal.metric()));
        }
        let stopped =
            self.view.header.totals.throttled.is_some_and(|throttled| throttled.throttled_periods > 0);
        if stopped && self.bill.waits.as_ref().map_or(0, Waits::behind_quota_ns) == 0 {
            return Predicted::none(
                "a quota stops the command, and the recording has that time behind what ran meanwhile",
            );
        }
        if self.bill.waits.is_none() {
            return Predicted::none("the recording does not say what it waited behind");
        }
        let wanted_ns = (self.run_ns() + self.wait_ns()).max(self.view.header.duration_ns).max(1);
        let ratio = (1.0 - share * self.behind_ns(causes) as f64 / wanted_ns as f64).max(0.0);
        Predicted { ratio: Some(ratio), by: by.to_owned() }
    }

    fn waits_behind_others(&self) -> bool {
        self.behind_ns(&[InFront::Task]) * 2 > self.wait_ns()
    }

    /// Whether most of the CPU time is that of threads of one process that hardly ever sleep, and so may wait for each other on the CPU: in a loop, or by
    /// `sched_yield`, which the kernel counts as an involuntary switch. Such waiting looks like work in a recording.
    fn may_spin(&self) -> bool {
        let mut by_process: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
        let sleepless = self.view.in_scope().filter(|task| {
            task.run_ns >= LEAST_RUN_NS
                && task.voluntary as f64 <= LEAST_SLEEPS + MOST_SLEEPS_PER_S * task.run_ns as f64 / 1e9
        });
        for task in sleepless {
            let (threads, run_ns) = by_process.entry(task.pid).or_default();
            *threads += 1;
            *run_ns += task.run_ns;
        }
        by_process.values().any(|(threads, run_ns)| *threads > 1 && run_ns * 2 > self.run_ns())
    }

    /// With another quota, as far as the present one bound the command: in the periods in which it stopped it. In those, the command gets the quota's CPUs of
    /// those that it can use; then it gets more of them, or all.
    fn of_quota(&self, times: Option<u32>, cpus: f64, stopped: f64, goal: Goal) -> Predicted {
        if goal != Goal::Time {
            return Predicted::none(format!("a quota does not say what becomes of {}", goal.metric()));
        }
        let most = self.view.in_scope().map(|task| task.run_ns).max().unwrap_or(0);
        let busy = self.view.in_scope().filter(|task| task.run_ns * 20 > most).count();
        let gets = (cpus / busy.clamp(1, self.cpus.max(1)) as f64).min(1.0);
        let left = times.map_or(gets, |times| gets.max(1.0 / f64::from(times)));
        Predicted {
            ratio: Some(1.0 - stopped * (1.0 - left)),
            by: format!(
                "the recording: the quota stopped the command in {:.0} % of the periods",
                100.0 * stopped
            ),
        }
    }

    /// As many threads as CPUs take the CPU from each other no more: their involuntary switches go, and what these cost. With fewer, the rest of the
    /// work has fewer CPUs.
    fn of_threads(&self, threads: u32, goal: Goal) -> Predicted {
        let involuntary: u64 = self.view.in_scope().map(|task| task.involuntary).sum();
        let (switches, run_ns) = (self.recorded(Goal::Switches), self.run_ns());
        if switches == 0 {
            return Predicted::none("nothing switched");
        }
        let of_switches = involuntary as f64 / switches as f64;
        let share = match (goal, self.bill.share) {
            (Goal::Switches, _) => 0.0,
            (_, Some(share)) => share.low,
            (_, None) => {
                return Predicted::none("nothing says what a switch costs; 'swtch measure --quick' does");
            }
        };
        let saved = share * of_switches;
        let duration_ns = (self.view.header.duration_ns as f64).max(1.0);
        let used = (run_ns as f64 / duration_ns).max(1.0);
        let slower = (used / f64::from(threads)).max(1.0);
        let ratio = match goal {
            Goal::Time => (1.0 - saved) * slower,
            Goal::CpuTime => 1.0 - saved,
            Goal::Switches => 1.0 - of_switches,
        };
        Predicted {
            ratio: Some(ratio),
            by: "the bill: involuntary switches are saved, at the least that they cost".to_owned(),
        }
    }
}

/// Runs a plan of one policy; its only run.
fn replayed(plan: &Plan) -> Result<Summary, String> {
    let (mut document, _) = simulate(plan, None, &mut Silent).map_err(|error| error.to_string())?;
    let under = plan.policies.join(", ");
    match document.runs.pop() {
        Some(summary) if summary.complete => Ok(summary),
        _ => Err(format!("the recorded work does not end in the simulator under {under}")),
    }
}

/// Another policy than the recorded one.
enum Policy<'a> {
    Slice(u64),
    Fifo,
    Named(&'a str),
}

impl Policy<'_> {
    /// Its name in the simulator, where ordinary tasks are under `fair`.
    fn of(&self, fair: &str) -> String {
        match self {
            Self::Slice(ns) => format!("{fair}:slice-ms={}", *ns as f64 / 1e6),
            Self::Fifo => "fifo".to_owned(),
            Self::Named(name) => (*name).to_owned(),
        }
    }
}

/// The goal's figure of a simulation.
fn figure(summary: &Summary, goal: Goal) -> u64 {
    match goal {
        Goal::Time => summary.makespan_ns,
        Goal::CpuTime => summary.cpu_ns.sum_ns() - summary.cpu_ns.idle_ns,
        Goal::Switches => summary.context_switches,
    }
}

/// How many CPUs the tasks that ran may use: those of this process, where the recording does not say.
fn cpus_of(view: TraceView<'_>) -> usize {
    let ran = view.in_scope().filter(|task| task.run_ns > 0);
    let lists = ran.filter_map(|task| task.cpus_allowed.as_ref()?.parse::<CpuList>().ok());
    let cpus: BTreeSet<u32> = lists.flat_map(|list| list.numbers()).collect();
    let online = view.header.host.cpus.iter().filter(|cpu| cpu.online && cpus.contains(&cpu.id)).count();
    if online > 0 { online } else { std::thread::available_parallelism().map_or(1, usize::from) }
}
