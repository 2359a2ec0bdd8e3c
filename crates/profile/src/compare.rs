//! What changed between two Profiles, and whether the change is larger than the differences between runs that measure the same.

use crate::model::{Estimate, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_stats::{Side, Undecided, compare_launches, holm};
use swtch_topology::Host;
use swtch_units::Bytes;
use swtch_units::input_error::{Checks, Refused};

/// One figure that both Profiles have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Which figure.
    pub what: String,
    /// Its median then, ns.
    pub old_ns: f64,
    /// Its median now, ns.
    pub new_ns: f64,
    /// `new_ns` over `old_ns`; absent where `verdict` is `cannot-decide`.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's 95 % interval; positive.
    pub ratio_low: Option<f64>,
    /// Upper end of it.
    pub ratio_high: Option<f64>,
    /// Probability of so large a difference between two runs that measure the same, corrected for the number of figures by Holm's method.
    pub p_holm: Option<f64>,
    /// What the interval says.
    pub verdict: Verdict,
    /// Why it says nothing.
    pub reason: Option<String>,
}

/// What a ratio's interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval is above 1, after the correction for the number of figures too.
    Slower,
    /// The interval is below 1, after the correction for the number of figures too.
    Faster,
    /// The interval is above 1, but among this many figures one may be so by chance.
    PerhapsSlower,
    /// The interval is below 1, but among this many figures one may be so by chance.
    PerhapsFaster,
    /// The interval contains 1.
    NoDifference,
    /// There is no interval; `reason` says why.
    CannotDecide,
}

impl Verdict {
    /// In words: `perhaps slower`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::PerhapsSlower => "perhaps slower",
            Self::PerhapsFaster => "perhaps faster",
            Self::NoDifference => "no difference",
            Self::CannotDecide => "cannot decide",
        }
    }

    /// From an interval and the corrected probability.
    fn of(low: f64, high: f64, p_holm: f64) -> Self {
        match (low > 1.0, high < 1.0, p_holm < LARGEST_P) {
            (true, _, true) => Self::Slower,
            (true, _, false) => Self::PerhapsSlower,
            (_, true, true) => Self::Faster,
            (_, true, false) => Self::PerhapsFaster,
            _ => Self::NoDifference,
        }
    }
}

impl Change {
    /// Decimals with which the ratio and its interval are to be printed: two, or as many as it takes for an end that is not 1 to differ from 1.
    pub fn ratio_decimals(&self) -> usize {
        const FEWEST: usize = 2;
        const MOST: usize = 7;
        let ends = [self.ratio_low, self.ratio_high].into_iter().flatten();
        let shows = |end: f64, decimals: usize| format!("{end:.decimals$}") != format!("{:.decimals$}", 1.0);
        let needed =
            |end: f64| (FEWEST..MOST).find(|decimals| end == 1.0 || shows(end, *decimals)).unwrap_or(MOST);
        ends.map(needed).max().unwrap_or(FEWEST)
    }
}

/// Two Profiles set side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The figures both have.
    pub changes: Vec<Change>,
    /// Figures that only the old one has.
    pub only_old: Vec<String>,
    /// Figures that only the new one has.
    pub only_new: Vec<String>,
    /// What differs between the machines or their settings: a difference here may explain every change above.
    pub circumstances: Vec<String>,
}

/// With at most this probability is any figure called slower or faster when none is.
const LARGEST_P: f64 = 1.0 - swtch_stats::RATIO_CONFIDENCE;

impl Comparison {
    /// Checks that every verdict follows from its figures.
    ///
    /// # Errors
    /// [`Refused`] when a figure cannot be true.
    pub fn check(&self) -> Result<(), Refused> {
        let mut checks = Checks::default();
        for change in &self.changes {
            let name = |field: &str| format!("{} {field}", change.what);
            match (change.ratio, change.ratio_low, change.ratio_high, change.p_holm) {
                (Some(ratio), Some(low), Some(high), Some(p_holm)) => {
                    checks.require(ratio == change.new_ns / change.old_ns, &name("ratio"), || {
                        format!("{ratio} is not {} / {}", change.new_ns, change.old_ns)
                    });
                    let held = 0.0 < low && low <= ratio && ratio <= high && high.is_finite();
                    checks.require(held, &name("ratio"), || format!("{ratio} is not within {low} to {high}"));
                    let follows = change.verdict == Verdict::of(low, high, p_holm) && change.reason.is_none();
                    checks.require(follows, &name("verdict"), || {
                        format!("{} of an interval from {low} to {high}", change.verdict.words())
                    });
                }
                (None, None, None, None) => {
                    let said = change.verdict == Verdict::CannotDecide && change.reason.is_some();
                    checks.require(said, &name("verdict"), || {
                        format!("{} without a ratio", change.verdict.words())
                    });
                }
                _ => checks
                    .require(false, &name("ratio"), || "only a part of its interval is there".to_owned()),
            }
        }
        checks.finish()
    }

    /// The verdicts in one line: how many figures changed, how many may have, how many cannot be judged, and how that was decided.
    pub fn summary(&self) -> String {
        let count = |wanted: &[Verdict]| {
            self.changes.iter().filter(|change| wanted.contains(&change.verdict)).count()
        };
        let (all, tested) =
            (self.changes.len(), self.changes.iter().filter(|change| change.ratio.is_some()).count());
        let changed = count(&[Verdict::Slower, Verdict::Faster]);
        let perhaps = count(&[Verdict::PerhapsSlower, Verdict::PerhapsFaster]);
        let undecided = count(&[Verdict::CannotDecide]);
        let mut text = format!(
            "{changed} of {all} figures changed (95 %, corrected for {tested} figures by Holm's method)"
        );
        if perhaps > 0 {
            text.push_str(&format!("; {perhaps} more may have (95 % each, not corrected)"));
        }
        if undecided > 0 {
            text.push_str(&format!("; {undecided} cannot be decided"));
        }
        text.push('.');
        text
    }
}

/// Compares two Profiles figure by figure.
pub fn compare(old: &Profile, new: &Profile) -> Comparison {
    let (old_rows, new_rows) = (figures(old), figures(new));
    let mut changes = Vec::new();
    let mut only_old = Vec::new();
    for (what, before) in &old_rows {
        match new_rows.iter().find(|(name, _)| name == what) {
            Some((_, after)) => changes.push(change(what, before, after)),
            None => only_old.push(what.clone()),
        }
    }
    correct_for_many(&mut changes);
    let is_new = |(name, _): &&(String, &Estimate)| old_rows.iter().all(|(what, _)| what != name);
    let only_new = new_rows.iter().filter(is_new).map(|(name, _)| name.clone()).collect();
    Comparison { changes, only_old, only_new, circumstances: circumstances(old, new) }
}

fn change(what: &str, before: &Estimate, after: &Estimate) -> Change {
    // A difference of two medians, as a cost without its baseline is, may be anything down to zero within its interval.
    let found = match (before.ci_low > 0.0, after.ci_low > 0.0) {
        (false, _) => Err(Undecided::OldNotPositive),
        (_, false) => Err(Undecided::NewNotPositive),
        _ => compare_launches(side(before), side(after)),
    };
    let ok = found.as_ref().ok();
    Change {
        what: what.to_owned(),
        old_ns: before.median,
        new_ns: after.median,
        ratio: ok.map(|found| found.ratio),
        ratio_low: ok.map(|found| found.interval.low),
        ratio_high: ok.map(|found| found.interval.high),
        p_holm: ok.map(|found| found.p),
        verdict: Verdict::CannotDecide,
        reason: found.err().map(|why| why.to_string()),
    }
}

fn side(estimate: &Estimate) -> Side<'_> {
    Side { figure: estimate.median, launches: &estimate.launch_medians }
}

/// Corrects the probabilities for their number, and gives the verdicts.
fn correct_for_many(changes: &mut [Change]) {
    let decided = || changes.iter().filter_map(|change| change.p_holm);
    let mut corrected = holm(&decided().collect::<Vec<_>>()).into_iter();
    for change in changes {
        if let (Some(low), Some(high), Some(p_holm)) =
            (change.ratio_low, change.ratio_high, change.p_holm.and_then(|_| corrected.next()))
        {
            change.p_holm = Some(p_holm);
            change.verdict = Verdict::of(low, high, p_holm);
        }
    }
}

/// Every figure of a Profile by a name that two Profiles share.
pub fn figures(profile: &Profile) -> Vec<(String, &Estimate)> {
    let mut rows = Vec::new();
    for row in &profile.direct {
        let core = profile.core_of(row).map(|core| format!(" ({core})")).unwrap_or_default();
        let name = format!("switch, {}, {}, {}{core}, {}", row.method, row.tasks, row.placement, row.class);
        rows.push((name, &row.switch_cost_ns));
    }
    for row in &profile.total {
        let size = Bytes::new(row.array_bytes);
        let name = format!("c2, {size}, {}, stride {}", row.access, row.stride_bytes);
        rows.push((name, &row.total_cost_ns));
    }
    for row in &profile.ring {
        let name = format!("ring of {}, {}", row.processes, Bytes::new(row.array_bytes));
        rows.push((name, &row.switch_cost_ns));
    }
    for row in &profile.messages {
        rows.push((row.name(), &row.message_ns));
    }
    let references = &profile.references;
    let named = [
        ("system call", &references.syscall_ns),
        ("fork + exit + wait", &references.fork_ns),
        ("thread create + join", &references.thread_create_ns),
    ];
    for (name, estimate) in named {
        rows.extend(estimate.as_ref().map(|estimate| (name.to_owned(), estimate)));
    }
    rows
}

/// What differs between the machines of two Profiles or their settings: a difference here may explain every change.
pub fn circumstances(old: &Profile, new: &Profile) -> Vec<String> {
    let mut found = different_hosts(&old.host, &new.host);
    if old.clock.source != new.clock.source {
        found.push(["clock".to_owned(), old.clock.source.clone(), new.clock.source.clone()]);
    }
    found.iter().map(words).collect()
}

/// The differences between two machines, or two states of one, that change the cost of a switch, as `what: then -> now`. A property that one of
/// the two does not have does not count as a difference.
///
/// ```
/// use swtch_profile::compare::different_machines;
/// use swtch_topology::Host;
/// let (mut then, mut now) = (Host::default(), Host::default());
/// now.kernel.release = "6.12.1".to_owned();
/// assert!(different_machines(&then, &now).is_empty(), "the first does not say");
/// then.kernel.release = "6.1.0".to_owned();
/// assert_eq!(different_machines(&then, &now), ["kernel: 6.1.0 -> 6.12.1"]);
/// ```
pub fn different_machines(then: &Host, now: &Host) -> Vec<String> {
    let known = |found: &&Difference| found[1..].iter().all(|side| side != UNKNOWN);
    different_hosts(then, now).iter().filter(known).map(words).collect()
}

const UNKNOWN: &str = "unknown";

/// A circumstance that is not the same on two sides: what, then and now.
type Difference = [String; 3];

fn words([what, then, now]: &Difference) -> String {
    format!("{what}: {then} -> {now}")
}

fn different_hosts(then: &Host, now: &Host) -> Vec<Difference> {
    let text = |value: &str| if value.is_empty() { UNKNOWN.to_owned() } else { value.to_owned() };
    let show = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
    let isolation = |host: &Host| match host.kernel.page_table_isolation {
        Some(true) => "on".to_owned(),
        Some(false) => "off".to_owned(),
        None => UNKNOWN.to_owned(),
    };
    let online = |cpus: &[swtch_topology::host::Cpu]| match cpus.iter().filter(|cpu| cpu.online).count() {
        0 => UNKNOWN.to_owned(),
        count => count.to_string(),
    };
    let rows = [
        ("CPU model", show(&then.cpu_model), show(&now.cpu_model)),
        ("CPUs online", online(&then.cpus), online(&now.cpus)),
        ("kernel", text(&then.kernel.release), text(&now.kernel.release)),
        ("kernel build", text(&then.kernel.version), text(&now.kernel.version)),
        ("preemption", show(&then.kernel.preemption), show(&now.kernel.preemption)),
        ("page-table isolation", isolation(then), isolation(now)),
        ("governor", show(&then.frequency.governor), show(&now.frequency.governor)),
        ("hypervisor", show(&then.virtualisation.hypervisor), show(&now.virtualisation.hypervisor)),
    ];
    let differs = rows.into_iter().filter(|(_, then, now)| then != now);
    let mut found: Vec<Difference> = differs.map(|(what, then, now)| [what.to_owned(), then, now]).collect();
    for before in &then.kernel.mitigations {
        let after = now.kernel.mitigations.iter().find(|row| row.name == before.name);
        if let Some(after) = after.filter(|after| after.state != before.state) {
            let what = format!("mitigation {}", before.name);
            found.push([what, before.state.clone(), after.state.clone()]);
        }
    }
    found
}

#[cfg(test)]
mod tests;
